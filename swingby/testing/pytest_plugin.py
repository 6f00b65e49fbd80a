"""The pytest plugin: the lines of a ledger as tests, and Hypothesis profiles.

``pytest --ledger`` judges every line of the paper's proofs as a test of its own, named
``ledger::D.61`` or ``ledger::Lemma D.3``, and fails where the verdict is not the one on record
(``swingby/proofs/audit/ledger_verdicts.json``). Claims that a conftest.py returns from
``pytest_swingby_claims`` are judged too, as ``claims::<id>``, and so are the lines of a proof file
that is named: ``pytest --ledger my.proof``. All of them carry the mark ``ledger``, so that
``-m ledger`` leaves out everything else.

Claims about whole trajectories are searched for minutes. They are collected, and skipped unless
``--ledger-trajectories`` is given or the claim is named by ``--ledger-item``. Trajectories that
were followed for one claim are kept for the others of the same session.

This module is imported in every run of pytest, so it imports nothing but pytest; without these
options it does nothing.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from swingby.own_theory.theory import Theory
    from swingby.proofs.language.claim import Claim

    #: (claim, the verdict expected of it)
    Expected = tuple[Claim, str]

#: Examples per property, by Hypothesis profile.
_PROFILES = {"swingby": 100, "swingby-full": 10_000}

_FLAGS = {
    "--ledger": "judge the lines of the paper's proofs, and claims of pytest_swingby_claims, as "
    "tests",
    "--ledger-trajectories": "also run the searches over trajectories (minutes), which are skipped "
    "otherwise; implies --ledger",
    "--ledger-repaired": "also the lines of swingby's own proofs; implies --ledger",
}
_RUNS = pytest.StashKey[Any]()
_TESTS = pytest.StashKey[Any]()
_NOT_SEARCHED = "a search over whole trajectories takes minutes: --ledger-trajectories runs it"


def register_profiles() -> None:
    """Register the profiles ``swingby`` and ``swingby-full`` with Hypothesis.

    Both have no deadline, because the first run of the compiled dynamics takes seconds, and no
    check for slow draws; they draw 100 and 10,000 examples. A profile of the same name that is
    there already stays as it is. ``pytest --hypothesis-profile=swingby`` registers them by itself.

    Raises
    ------
    MissingExtra
        If Hypothesis is not installed.

    Examples
    --------
    >>> from hypothesis import settings
    >>> register_profiles()
    >>> settings.get_profile("swingby").max_examples, settings.get_profile("swingby").deadline
    (100, None)
    """
    try:
        from hypothesis import HealthCheck, settings
        from hypothesis.errors import InvalidArgument
    except ImportError:
        from swingby.errors import MissingExtra

        raise MissingExtra("hypothesis", "testing") from None
    for name, examples in _PROFILES.items():
        try:
            settings.get_profile(name)
        except InvalidArgument:
            slow = [HealthCheck.too_slow]
            settings.register_profile(
                name, deadline=None, max_examples=examples, suppress_health_check=slow
            )


class Hooks:
    """The hook that swingby adds to pytest."""

    @pytest.hookspec
    def pytest_swingby_claims(self, config: pytest.Config) -> Iterable[Expected] | None:
        """Claims of a user for ``pytest --ledger``, each with the verdict expected of it.

        Implemented in a conftest.py. The claims become tests ``claims::<id>``, so ids must differ.
        A verdict is ``"proved"``, ``"refuted"``, ``"tested"``, ``"read"`` or ``"undecided"``.
        """


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options to the command line."""
    group = parser.getgroup("swingby", "swingby: ledgers of claims")
    for name, help_text in _FLAGS.items():
        group.addoption(name, action="store_true", help=help_text)
    help_text = (
        "only this line, such as D.61 or 'Lemma D.3'; may be repeated, or list several with "
        "commas; implies --ledger, and runs a search over trajectories where one is named"
    )
    group.addoption("--ledger-item", action="append", default=[], metavar="ID", help=help_text)
    help_text = "test the theories of this Python file, a test for each prediction; may be repeated"
    group.addoption("--theory", action="append", default=[], metavar="FILE", help=help_text)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Declare ``pytest_swingby_claims``."""
    pluginmanager.add_hookspecs(Hooks)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Register the mark, and the profiles before Hypothesis looks for them."""
    config.addinivalue_line("markers", "ledger: a claim that swingby judges, see --ledger")
    if config.getoption("--hypothesis-profile", default=None) in _PROFILES:
        register_profiles()


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """The lines of a proof file that the command line names."""
    on_command_line = file_path.suffix == ".proof" and parent.session.isinitpath(file_path)
    if not on_command_line or not parent.config.option.ledger:
        return None
    return ProofFile.from_parent(parent, path=file_path)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, items: list[pytest.Item]) -> None:
    """Append the claims to the tests collected, before -k and -m choose."""
    option = session.config.option
    for path in option.theory:
        items.extend(session.genitems(TheoryFile.from_parent(session, name=path, nodeid=path)))
    # A proof file that is named stands in place of the paper's lines.
    judge_paper = option.ledger and not any(item.path.suffix == ".proof" for item in items)
    if not (
        judge_paper or option.ledger_item or option.ledger_trajectories or option.ledger_repaired
    ):
        return
    lines, user_claims = _paper_lines(), _user_claims(session.config)
    chosen_ids = _chosen_ids(session.config, [claim.id for claim, _ in (*lines, *user_claims)])
    if chosen_ids is None and not option.ledger_repaired:
        lines = [(claim, expected) for claim, expected in lines if claim.edition != "repaired"]
    for name, group in (("ledger", lines), ("claims", user_claims)):
        chosen = [pair for pair in group if chosen_ids is None or pair[0].id in chosen_ids]
        if chosen:
            collector = ClaimCollector.from_parent(session, name=name, nodeid=name)
            collector.claims, collector.searched = chosen, chosen_ids or frozenset()
            items.extend(session.genitems(collector))


def _paper_lines() -> list[Expected]:
    """The lines of the ledger with the verdicts on record."""
    from swingby.proofs.language import claims as ledger
    from swingby.testing.claim_assertions import ledger_verdicts

    verdicts = ledger_verdicts()
    # A line without a verdict on record is one that nobody has looked at: it must not pass.
    return [(claim, verdicts.get(claim.id, "a verdict on record")) for claim in ledger.claims()]


def _user_claims(config: pytest.Config) -> list[Expected]:
    """The claims that the hook returns, checked."""
    from swingby.errors import InvalidInput
    from swingby.proofs.language.claim import Claim
    from swingby.testing.claim_assertions import finding

    claims: dict[str, Expected] = {}
    for returned in config.hook.pytest_swingby_claims(config=config):
        try:
            for claim, expected in returned:
                if not isinstance(claim, Claim):
                    raise InvalidInput("claim", claim, "must be a Claim")
                if claim.id in claims:
                    raise InvalidInput("claim", claim.id, "must have an id of its own")
                claims[claim.id] = claim, str(finding(expected))
        except InvalidInput as error:
            raise pytest.UsageError(f"pytest_swingby_claims: {error}") from None
        except (TypeError, ValueError):
            requirement = "must return (claim, verdict)"
            raise pytest.UsageError(f"pytest_swingby_claims: {requirement}") from None
    return list(claims.values())


def _chosen_ids(config: pytest.Config, ids: list[str]) -> frozenset[str] | None:
    """The ids that ``--ledger-item`` names; None where it was not given."""
    from swingby.errors import InvalidInput
    from swingby.proofs.language.claims import find

    def named_by(text: str) -> set[str]:
        with contextlib.suppress(InvalidInput):  # one id has a comma of its own
            return {find(text, ids)}
        return {find(name, ids) for name in text.split(",") if name.strip()}

    entries: list[str] = config.option.ledger_item
    try:
        return frozenset().union(*map(named_by, entries)) if entries else None
    except InvalidInput as error:
        raise pytest.UsageError(f"--ledger-item: {error}") from None


class ClaimCollector(pytest.Collector):
    """Claims of one kind; `searched` are ids searched for although about trajectories."""

    claims: list[Expected]
    searched: frozenset[str] = frozenset()

    def collect(self) -> Iterator[pytest.Item]:
        """One test per claim."""
        for claim, expected in self.claims:
            repaired = isinstance(self, ProofFile) and claim.edition != "printed"
            item = ClaimItem.from_parent(self, name=claim.id + ", repaired" * repaired)
            item.claim, item.expected = claim, expected
            item.add_marker("ledger")
            if item.is_along():
                if self.config.pluginmanager.hasplugin("xdist"):
                    # With --dist loadgroup one worker follows the trajectories for all of them.
                    item.add_marker(pytest.mark.xdist_group("ledger-trajectories"))
                if not (self.config.option.ledger_trajectories or claim.id in self.searched):
                    item.add_marker(pytest.mark.skip(reason=_NOT_SEARCHED))
            yield item


class ProofFile(ClaimCollector, pytest.File):
    """The lines of a proof file: refuted where the file names a flaw, and proved otherwise."""

    def collect(self) -> Iterator[pytest.Item]:
        """One test per line, and one per repair."""
        from swingby.errors import InvalidInput
        from swingby.proofs.language.reader import load

        try:
            self.claims = [
                (version, "refuted" if version.flaw else "proved")
                for claim in load(self.path).values()
                for version in claim
            ]
        except InvalidInput as error:
            raise self.CollectError(str(error)) from None
        yield from super().collect()


class TheoryFile(pytest.Collector):
    """The theories of a Python file: a test for each prediction."""

    def collect(self) -> Iterator[pytest.Item]:
        """One test per prediction."""
        from swingby.errors import InvalidInput
        from swingby.own_theory.theory_files import theories_in

        try:
            theories = theories_in(self.name)
        except InvalidInput as error:
            raise pytest.UsageError(f"--theory: {error}") from None
        for name, theory in theories.items():
            for prediction in theory.predict:
                item = PredictionItem.from_parent(self, name=f"{name}::{prediction.name}")
                item.theory, item.prediction = theory, prediction.name
                yield item


class PredictionItem(pytest.Item):
    """A prediction of a theory: passes where it is kept by a test that could have failed."""

    theory: Theory
    prediction: str

    def runtest(self) -> None:
        """Draw settings, once for all predictions of a theory, and fail on every fault."""
        from swingby.own_theory.power import examined

        tests = self.config.stash.setdefault(_TESTS, {})
        if self.theory not in tests:
            tests[self.theory] = examined(self.theory)
        row = next(row for row in tests[self.theory].rows if row.name == self.prediction)
        self.add_report_section("call", "power", row.words)
        if row.faults:
            raise AssertionError("\n".join(row.faults))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The message alone."""
        is_verdict = isinstance(excinfo.value, (AssertionError, ValueError))
        return excinfo.getrepr(style="value") if is_verdict else super().repr_failure(excinfo)


class ClaimItem(pytest.Item):
    """A claim, judged: passes where the verdict is as expected."""

    claim: Claim
    expected: str

    def is_along(self) -> bool:
        """Whether it is about a whole trajectory."""
        from swingby.proofs.language.claim import AlongTrajectory

        return isinstance(self.claim.conclusion, AlongTrajectory)

    def runtest(self) -> None:
        """Judge the claim and its quotations; AssertionError if the verdict differs."""
        from swingby.proofs.audit.audit import Judgements
        from swingby.proofs.audit.quotations import quotations
        from swingby.proofs.prover.prove import decide
        from swingby.testing.claim_assertions import claim_message

        runs = None
        if self.is_along():
            from swingby.proofs.prover.trajectories.trajectory_runs import TrajectoryRuns

            runs = self.config.stash.setdefault(_RUNS, TrajectoryRuns())
        if not isinstance(self.parent, ProofFile):
            judged, unmatched = decide(self.claim, runs=runs), []
        else:
            lines = {claim.id: claim for claim, _ in reversed(self.parent.claims)}
            judge = Judgements(lines, True, False, self.path.name).judged
            judged = judge(self.claim)
            unmatched = [x for x in quotations(self.claim, lines, judge) if x.open]
        if judged.verdict != self.expected:
            raise AssertionError(claim_message(self.claim, self.expected, judged))
        if unmatched:
            quoted = "; ".join(map(str, unmatched))
            raise AssertionError(f"{self.claim.id}: what it quotes does not match: {quoted}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The message alone; a traceback only where a prover broke down."""
        if isinstance(excinfo.value, AssertionError) and excinfo.traceback[-1].name == "runtest":
            return excinfo.getrepr(style="value")
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[os.PathLike[str] | str, int | None, str]:
        """Where the claim comes from, and a headline."""
        return self.path, 0, f"{self.name}: {self.claim.about}"
