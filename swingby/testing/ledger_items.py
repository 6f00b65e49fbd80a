"""Claims as tests of pytest: ``ledger::D.61`` for a line of the paper, ``claims::<id>`` for others.

Claims about whole trajectories are searched for minutes. They are collected, and skipped unless
``--ledger-trajectories`` is given or the claim is named by ``--ledger-item``. Trajectories that
were followed for one claim are kept for the others of the same session.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from swingby.errors import InvalidInput
from swingby.testing.assertions import claim_message, finding, ledger_verdicts
from swingby.theory.claim import AlongTrajectory, Claim
from swingby.theory.derivations import ledger
from swingby.theory.derivations.ledger import find

if TYPE_CHECKING:
    from swingby.verify.prover.trajectories.judge import Runs

#: (claim, the verdict expected of it)
Expected = tuple[Claim, str]

_RUNS = pytest.StashKey["Runs"]()
_NOT_SEARCHED = "a search over whole trajectories takes minutes: --ledger-trajectories runs it"


def ledger_items(session: pytest.Session) -> Iterator[pytest.Item]:
    """The claims that the command line asks for, as tests.

    Raises pytest.UsageError if ``--ledger-item`` names no claim, or the hook returns anything but
    claims and verdicts.
    """
    lines, own = _lines(), _own_claims(session.config)
    named = _named(session.config, [claim.id for claim, _ in (*lines, *own)])
    if named is None and not session.config.option.ledger_repaired:
        lines = [(claim, expected) for claim, expected in lines if claim.edition != "repaired"]
    for name, group in (("ledger", lines), ("claims", own)):
        chosen = [pair for pair in group if named is None or pair[0].id in named]
        if chosen:
            collector = ClaimCollector.from_parent(session, name=name, nodeid=name)
            collector.claims = chosen
            collector.searched = named or frozenset()
            yield from session.genitems(collector)


def _lines() -> list[Expected]:
    known = ledger_verdicts()
    # A line without a verdict on record is one that nobody has looked at: it must not pass.
    return [(claim, known.get(claim.id, "a verdict on record")) for claim in ledger.claims()]


def _own_claims(config: pytest.Config) -> list[Expected]:
    found: list[Expected] = []
    for returned in config.hook.pytest_swingby_claims(config=config):
        try:
            found += [(claim, str(finding(expected))) for claim, expected in returned]
        except (TypeError, ValueError) as error:
            # InvalidInput is a ValueError and says it better.
            reason = error if isinstance(error, InvalidInput) else "must return (claim, verdict)"
            raise pytest.UsageError(f"pytest_swingby_claims: {reason}") from None
    names = []
    for claim, _ in found:
        if not isinstance(claim, Claim):
            raise pytest.UsageError(f"pytest_swingby_claims: {claim!r} is not a Claim")
        names.append(claim.id)
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise pytest.UsageError(f"pytest_swingby_claims: two claims called {', '.join(twice)}")
    return found


def _named(config: pytest.Config, ids: list[str]) -> frozenset[str] | None:
    """The ids that ``--ledger-item`` names; None where it was not given."""
    if not config.option.ledger_item:
        return None
    named: set[str] = set()
    for text in config.option.ledger_item:
        try:
            # One id has a comma of its own, so the whole comes first.
            named.add(find(text, ids))
        except InvalidInput:
            try:
                named |= {find(part, ids) for part in text.split(",") if part.strip()}
            except InvalidInput as error:
                raise pytest.UsageError(f"--ledger-item: {error}") from None
    return frozenset(named)


class ClaimCollector(pytest.Collector):
    """Claims of one kind."""

    claims: list[Expected]
    #: Ids of claims that are searched for although they are about trajectories.
    searched: frozenset[str]

    def collect(self) -> Iterator[pytest.Item]:
        """One test per claim."""
        for claim, expected in self.claims:
            repaired = isinstance(self, ProofFile) and claim.edition != "printed"
            item = ClaimItem.from_parent(self, name=claim.id + ", repaired" * repaired)
            item.claim, item.expected = claim, expected
            item.add_marker("ledger")
            if isinstance(claim.conclusion, AlongTrajectory):
                if self.config.pluginmanager.hasplugin("xdist"):
                    # With --dist loadgroup one worker follows the trajectories for all of them.
                    item.add_marker(pytest.mark.xdist_group("ledger-trajectories"))
                if not (self.config.option.ledger_trajectories or claim.id in self.searched):
                    item.add_marker(pytest.mark.skip(reason=_NOT_SEARCHED))
            yield item


class ProofFile(ClaimCollector, pytest.File):
    """The lines of a proof file: refuted where the file names a flaw, and proved otherwise."""

    searched = frozenset()

    def collect(self) -> Iterator[pytest.Item]:
        """One test per line, and one per repair."""
        from swingby.theory.proofs.reader import load

        try:
            self.claims = [
                (version, "refuted" if version.flaw else "proved")
                for claim in load(self.path).values()
                for version in claim
            ]
        except InvalidInput as error:
            raise self.CollectError(str(error)) from None
        yield from super().collect()


class ClaimItem(pytest.Item):
    """A claim, judged: passes where the verdict is the one expected."""

    claim: Claim
    expected: str

    def runtest(self) -> None:
        """Judge the claim.

        Raises AssertionError if the verdict is another one.
        """
        from swingby.verify.prover.judge import judge

        judged = judge(self.claim, runs=self._runs())
        if judged.verdict != self.expected:
            raise AssertionError(claim_message(self.claim, self.expected, judged))

    def _runs(self) -> Runs | None:
        """Trajectories already followed in this session."""
        if not isinstance(self.claim.conclusion, AlongTrajectory):
            return None
        from swingby.verify.prover.trajectories.judge import Runs

        return self.config.stash.setdefault(_RUNS, Runs())

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The message alone; a traceback only where a prover broke down."""
        if isinstance(excinfo.value, AssertionError) and excinfo.traceback[-1].name == "runtest":
            return excinfo.getrepr(style="value")
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[os.PathLike[str] | str, int | None, str]:
        """Where the claims come from, and a headline."""
        source = Path(ledger.__file__) if self.nodeid.startswith("ledger::") else self.path
        return source, 0, f"{self.name}: {self.claim.about}"
