"""What the tests of the proofs share: records of judged claims."""

from types import SimpleNamespace

import pytest


@pytest.fixture(scope="session")
def record(verdict):
    """``record(claim)``: what an export reads of a line that has been judged."""

    def call(claim):
        judged = vars(verdict(claim))
        return SimpleNamespace(
            id=claim.id, about="", statement=claim, edition=claim.edition, repair=None, **judged
        )

    return call
