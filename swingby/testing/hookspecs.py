"""The hook that swingby adds to pytest: claims of one's own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from swingby.theory.claim import Claim


@pytest.hookspec
def pytest_swingby_claims(config: pytest.Config) -> Iterable[tuple[Claim, str]] | None:
    """Claims of one's own for ``pytest --ledger``, each with the verdict expected of it.

    Implemented in a conftest.py. The claims become tests ``claims::<id>``, so ids must differ.

    Returns the verdict is ``"proved"``, ``"refuted"``, ``"tested"`` or ``"undecided"``.
    """
