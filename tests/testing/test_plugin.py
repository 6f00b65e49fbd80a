"""The pytest plugin, run by a pytest of its own in a folder of its own."""

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from swingby.proofs.language import claims as ledger
from swingby.proofs.language.claim import AlongTrajectory
from swingby.proofs.prover import prove as prover
from swingby.proofs.prover.evidence import ClaimVerdict
from swingby.testing.claim_assertions import ledger_verdicts
from swingby.theory.verdict import Finding
from tests import hand_verdicts

ROOT = Path(__file__).resolve().parents[2]
HEAVY = ("numpy", "sympy", "scipy", "hypothesis", "torch", "flint", "numba", "pandas", "mpmath")

OWN_CLAIMS = """
import sympy
from swingby.proofs.language.claim import Claim

def pytest_swingby_claims(config):
    x = sympy.Symbol("x", positive=True)
    above = sympy.Ge(x**2 + 1, x, evaluate=False)
    yield Claim("above", "step", "a parabola above a line", above), "proved"
    square = sympy.Ge(x**2, x, evaluate=False)
    yield Claim("square", "step", "a square above its root", square), "proved"
"""


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run pytest with the plugin, here, in a folder where no settings lie."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    off = ("cacheprovider", "faulthandler", "threadexception", "unraisableexception")
    options = ["-p", "swingby.testing.pytest_plugin", "--import-mode=importlib"]
    options += [word for name in off for word in ("-p", f"no:{name}")]

    def call(*arguments):
        code = pytest.main([*options, f"--basetemp={tmp_path / 'temporary'}", *arguments])
        return pytest.RunResult(code, *(text.splitlines() for text in capsys.readouterr()), 0.0)

    yield call
    sys.modules.pop("conftest", None)


def test_collecting_an_empty_folder_imports_nothing_heavy(tmp_path):
    code = (
        "import sys, pytest\n"
        "pytest.main(['--collect-only', '-q', '-p', 'swingby.testing.pytest_plugin'])\n"
        "assert 'swingby.testing.pytest_plugin' in sys.modules\n"
        f"print('heavy:', [name for name in {HEAVY!r} if name in sys.modules])\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    environment.pop("PYTEST_ADDOPTS", None)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert "heavy: []" in done.stdout, done.stdout + done.stderr


def test_without_its_options_the_plugin_collects_nothing(run):
    """And its mark leaves out other tests."""
    Path("conftest.py").write_text(OWN_CLAIMS)
    Path("test_of_the_user.py").write_text("def test(): pass")
    run("-q").assert_outcomes(passed=1)
    run("--ledger-item=D.62", "--strict-markers").assert_outcomes(passed=2)
    run("--ledger-item=D.62", "-m", "ledger").assert_outcomes(passed=1, deselected=1)


def test_every_line_of_the_paper_is_a_test(run):
    found = run("--ledger", "--collect-only", "-q").outlines
    ids = [line.removeprefix("ledger::") for line in found if line.startswith("ledger::")]
    printed = [claim.id for claim in ledger.claims() if claim.edition != "repaired"]
    assert ids == printed
    assert len(ids) == 157
    assert {"D.61", "Lemma D.3", "4.2, d = s"} <= set(ids)
    found = run("--ledger-repaired", "--collect-only", "-q").outlines
    assert sum(line.startswith("ledger::") for line in found) == len(ledger.claims())


def test_some_lines_are_picked(run):
    found = run("--ledger-item", "d.61, Eq. (D.62)", "--ledger-item=4.2, d = s", "-v")
    found.assert_outcomes(passed=3)
    found.stdout.fnmatch_lines(["ledger::4.2, d = s PASSED*", "ledger::D.61 PASSED*"])
    found = run("--ledger", "-k", "D.60 or D.62", "--junitxml=report.xml")
    found.assert_outcomes(passed=2, deselected=155)
    cases = ElementTree.parse("report.xml").getroot().iter("testcase")
    shown = [(case.get("classname"), case.get("name")) for case in cases]
    assert shown == [("ledger", "D.60"), ("ledger", "D.62")]


def test_an_unknown_line_is_a_usage_error_that_names_close_ones(run):
    found = run("--ledger-item=D.99")
    assert found.ret == pytest.ExitCode.USAGE_ERROR
    found.stderr.fnmatch_lines(["*--ledger-item: *D.9,*got D.99*"])


def test_searches_over_trajectories_are_skipped_unless_asked_for(run, monkeypatch):
    """Lemma D.3 is refuted, as this judge says of everything; Lemma D.2 is not."""
    refuted = ClaimVerdict(Finding.REFUTED, "no proof at all")
    monkeypatch.setattr(prover, "decide", lambda claim, *, runs=None: refuted)
    found = run("--ledger", "-k", "Lemma and D.3 and not T_1", "-rs")
    found.assert_outcomes(skipped=1, deselected=156)
    found.stdout.fnmatch_lines(["*--ledger-trajectories*"])
    found = run("--ledger-trajectories", "-k", "Lemma and D.3 and not T_1")
    found.assert_outcomes(passed=1, deselected=156)
    found = run("--ledger-item", "Lemma D.3", "--ledger-item", "Lemma D.2")
    found.assert_outcomes(passed=1, failed=1)


def test_claims_of_ones_own_are_judged_and_a_failure_can_be_read(run):
    Path("conftest.py").write_text(OWN_CLAIMS)
    found = run("--ledger", "-k", "claims or D.62", "-v")
    found.assert_outcomes(passed=2, failed=1, deselected=156)
    found.stdout.fnmatch_lines(
        [
            "claims::above PASSED*",
            "claims::square FAILED*",
            "square: expected proved, found refuted",
            "square says: a square above its root.",
            "*x² ≥ x*",
            "Verdict: refuted, by counterexample.",
            "Counterexample:",
            "*x = *",
            "FAILED claims::square - *square: expected proved, found refuted",
        ]
    )
    assert "Traceback" not in found.stdout.str()
    run("--ledger-item=above").assert_outcomes(passed=1)


def test_a_line_without_a_verdict_on_record_fails(run, monkeypatch):
    some = {name: one for name, one in ledger_verdicts().items() if name != "D.60"}
    monkeypatch.setattr("swingby.testing.claim_assertions.ledger_verdicts", lambda: some)
    found = run("--ledger-item=D.60")
    found.assert_outcomes(failed=1)
    found.stdout.fnmatch_lines(["D.60: expected a verdict on record, found proved"])


def test_a_prover_that_breaks_down_shows_its_traceback(run, monkeypatch):
    def judge(claim, *, runs=None):
        raise ArithmeticError("a certificate does not add up")

    monkeypatch.setattr(prover, "decide", judge)
    found = run("--ledger-item=D.60")
    found.assert_outcomes(failed=1)
    found.stdout.fnmatch_lines(["*raise ArithmeticError*", "*does not add up*"])


WRONG_HOOKS = {
    "a claim alone": ("[claim]", "must return (claim, verdict)"),
    "another verdict": ("[(claim, 'true')]", "*verdict must be one of proved*got true*"),
    "text for a claim": ("[('D.61', 'proved')]", "*claim must be a Claim, got D.61*"),
    "one id twice": ("[(claim, 'proved')] * 2", "*claim must have an id of its own, got square*"),
}


@pytest.mark.parametrize("returned", WRONG_HOOKS)
def test_what_the_hook_returns_is_checked(run, returned):
    expression, message = WRONG_HOOKS[returned]
    Path("conftest.py").write_text(
        "import sympy\n"
        "from swingby.proofs.language.claim import Claim\n"
        "claim = Claim('square', 'step', 'a square', sympy.Ge(sympy.Symbol('x')**2, 0))\n"
        f"def pytest_swingby_claims(config):\n    return {expression}\n"
    )
    found = run("--ledger")
    assert found.ret == pytest.ExitCode.USAGE_ERROR
    found.stderr.fnmatch_lines([f"*pytest_swingby_claims: {message}*"])


@pytest.mark.parametrize(
    ("name", "count"), [("swingby", 100), ("swingby-full", 10_000), ("swingby", 7)]
)
def test_the_profile_is_there_when_it_is_asked_for(forked_pytest, tmp_path, name, count):
    """In a process of its own, as Hypothesis has one profile for a whole process.

    A profile of the same name is left alone. It says what it suppresses, as that depends on CI.
    """
    own = f"{name!r}, deadline=None, suppress_health_check=(), max_examples=7"
    before = f"settings.register_profile({own})" if count == 7 else ""
    (tmp_path / "conftest.py").write_text(f"from hypothesis import settings\n{before}\n")
    (tmp_path / "test_profile.py").write_text(
        "from hypothesis import HealthCheck, settings\n"
        "def test_profile():\n"
        f"    assert settings.default.max_examples == {count}\n"
        "    assert settings.default.deadline is None\n"
        "    ignored = HealthCheck.too_slow in settings.default.suppress_health_check\n"
        f"    assert ignored == {count > 7}\n"
    )
    options = (f"--hypothesis-profile={name}", f"--basetemp={tmp_path / 'temporary'}")
    code, *printed = forked_pytest([*options, "-p", "no:cacheprovider"], tmp_path, ROOT)
    assert code == 0, printed


def test_the_verdicts_on_record_are_those_reached_by_hand():
    record, lines = ledger_verdicts(), ledger.claims()
    assert list(record) == [claim.id for claim in lines]
    for claim in hand_verdicts.LINES:
        assert record[claim.id] == ("refuted" if claim.id in hand_verdicts.AS_REFUTED else "proved")
    for claim in lines:
        if isinstance(claim.conclusion, AlongTrajectory):
            # A search proves nothing; a person has said what is wrong where it refutes.
            assert record[claim.id] == ("refuted" if claim.flaw else "tested")
        elif claim.edition == "repaired":
            assert record[claim.id] in ("proved", "tested", "read")
    path = ROOT / "swingby/proofs/audit/ledger_verdicts.json"
    assert json.loads(path.read_text(encoding="utf-8")) == record


def test_the_lines_of_a_proof_file_are_tests(run):
    good = "letters positive: x\nstep 1: holds\n  then x + 1 > 1\n"
    flaw = "  flaw wrong constant, local: It is 1.\n  repair\n    then x + 1 > 1\n"
    wrong = "step 2: holds not\n  then x > 1\n"
    path = Path("mine.proof")
    path.write_text(good + wrong + flaw, encoding="utf-8")
    found = run("--ledger", "mine.proof", "-v")
    found.assert_outcomes(passed=3)
    assert "mine.proof::2, repaired PASSED" in found.stdout.str()
    # It is collected only where it is asked for.
    run("--ledger-item=D.60").assert_outcomes(passed=1)
    path.write_text(good + wrong, encoding="utf-8")
    found = run("--ledger", "mine.proof")
    found.assert_outcomes(passed=1, failed=1)
    assert "2: expected proved, found refuted" in found.stdout.str()
    path.write_text("letters positive: x\nstep 1: none\n  then x <= z\n", encoding="utf-8")
    assert "mine.proof, line 3, column 13" in run("--ledger", "mine.proof").stdout.str()
