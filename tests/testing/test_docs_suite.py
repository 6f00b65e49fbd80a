"""The suite of the docs notices a theory with one wrong line, and names what broke.

The package is installed into a folder of its own, or copied there with its metadata where no
build backend is at hand, and the suite is run from another folder that holds nothing else.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import swingby

ROOT = Path(__file__).resolve().parents[2]
SUITE = ROOT / "docs/examples/test_theory.py"
FULL = os.environ.get("SWINGBY_HYPOTHESIS_PROFILE") == "full"

#: A failure is shown as it was drawn: looking for a smaller one takes time.
PROFILE = """
from hypothesis import Phase, settings
settings.register_profile("as drawn", phases=[Phase.explicit, Phase.generate])
settings.load_profile("as drawn")
"""
OPTIONS = ("-x", "-q", "--tb=short", "-p", "no:cacheprovider")
METADATA = f"Metadata-Version: 2.1\nName: swingby\nVersion: {swingby.__version__}\n"
ENTRY_POINTS = "[pytest11]\nswingby = swingby.testing.pytest_plugin\n"


@dataclass(frozen=True)
class Break:
    """One wrong line.

    Parameters
    ----------
    names : str
        What the message has to name.
    file : str
        Below ``swingby/theory``.
    old, new : str
        ``old`` occurs exactly once in the file.
    test : str
        The first test of the suite to notice, without ``test_``.
    """

    names: str
    file: str
    old: str
    new: str
    test: str


BREAKS = (
    Break("(C.13)", "task.py", "centre**2 / self.s", "centre**2 * self.s", "signal"),
    Break(
        "Theorem 4.1",
        "lemmas.py",
        "(1 - decay) * point",
        "(1 + decay) * point",
        "theorem_4_1",
    ),
    Break("(D.2)", "dynamics.py", "+ 2 * W * A * W) / 2", "+ W * A * W) / 2", "one_step"),
    Break(
        "(D.4)",
        "growth.py",
        "= single[..., :, None] +",
        "= 2 * single[..., :, None] +",
        "growth_rates",
    ),
    Break("Assumption D.2", "assumptions.py", "1 / (9 * K", "1 / (8 * K", "assumption"),
    Break(
        "Assumption D.4",
        "assumptions.py",
        "d * beta**2), root",
        "d * beta), root",
        "assumption",
    ),
    Break("Assumption D.5", "assumptions.py", "a_i - 3 * a_j >=", "a_i - 2 * a_j >=", "assumption"),
    Break(
        "Lemma D.1",
        "lemmas.py",
        "(2 * scale.eta * a_i * scale.kappa)",
        "(2 * scale.eta * a_i)",
        "lemma_windows",
    ),
    Break("Lemma D.3", "lemmas.py", "else waiting * scale.kappa", "else waiting", "lemma_windows"),
    Break("Lemma D.5", "lemmas.py", "1 + 2 / scale.K", "1 + 3 / scale.K", "lemma_windows"),
    Break(
        "Lemma D.6",
        "proofs/trajectories.proof",
        "then w_ii(t) >= 1 - 2/K",
        "then w_ii(t) >= 1 - 4/K",
        "lemma_windows",
    ),
    Break(
        "two concepts, E1",
        "theorem_two.py",
        "(log_scale - (1 + r)",
        "(log_scale - (1 - r)",
        "theorem_on_two_concepts",
    ),
    Break(
        "Theorem R, C4",
        "theorem_r.py",
        "mean = (a[i] + a[j]) / 2",
        "mean = (a[i] - a[j]) / 2",
        "conditions_of_theorem_R",
    ),
    Break(
        "Theorem G", "theorem_two.py", "- log_det / (1 - level)", "- log_det / level", "theorem_G"
    ),
    Break(
        "D.4'",
        "repaired.py",
        "limit = _enclosed(lambda: 1 /",
        "limit = _enclosed(lambda: 2 /",
        "one_concept_of_the_repaired_edition",
    ),
    Break(
        "stage law, exact pivots",
        "initial.py",
        "rest[i][j] -= factor * row[j]",
        "rest[i][j] += factor * row[j]",
        "pivots",
    ),
    Break(
        "stage law, logistic",
        "law/coordinates.py",
        "return 2.0 * rate, free * still",
        "return 1.9 * rate, free * still",
        "diagonal_start_is_one_logistic_per_concept",
    ),
    Break(
        "stage law, logistic",
        "law/coordinates.py",
        "pair=-total / 2",
        "pair=-total / 3",
        "diagonal_start_is_one_logistic_per_concept",
    ),
    Break(
        "modified flow of",
        "law/coordinates.py",
        "- flow.first * G + flow.mixed * C",
        "- 0.9 * flow.first * G + flow.mixed * C",
        "steps_of_the_modified_flow",
    ),
    Break(
        "stage law",
        "law/stages.py",
        "np.ceil(self.crossing)",
        "np.floor(self.crossing)",
        "diagonal_start_is_one_logistic_per_concept",
    ),
    Break("Bartlett", "gaussian.py", "digamma(nu / 2)", "digamma(nu)", "gaussian_half_times"),
    Break(
        "D.61",
        "proofs/suppression.proof",
        "then collected <= -ω α/C",
        "then collected <= -ω α/(5 C)",
        "lines_that_do_not_hold",
    ),
)


def install(target):
    """An installed copy of the package: by pip, or by hand."""
    if importlib.util.find_spec("hatchling") and importlib.util.find_spec("pip"):
        options = ["--no-deps", "--no-build-isolation", "--no-compile", "--quiet"]
        command = [sys.executable, "-m", "pip", "install", *options, "--target", target, ROOT]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return
    shutil.copytree(
        ROOT / "swingby", target / "swingby", ignore=shutil.ignore_patterns("__pycache__")
    )
    described = target / f"swingby-{swingby.__version__}.dist-info"
    described.mkdir()
    (described / "METADATA").write_text(METADATA, encoding="utf-8")
    (described / "entry_points.txt").write_text(ENTRY_POINTS, encoding="utf-8")


def run_suite(installed, folder, *arguments):
    """Exit code and output of the suite, or of other arguments, against an installed copy."""
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    for name in ("PYTEST_ADDOPTS", "NUMBA_CACHE_DIR", "HYPOTHESIS_PROFILE"):
        environment.pop(name, None)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *OPTIONS, *(arguments or (SUITE.name,))],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("broken", BREAKS, ids=lambda broken: f"{broken.file}: {broken.new}")
def test_the_place_of_every_break_exists_once(broken):
    path = ROOT / "swingby/theory" / broken.file
    assert path.read_text(encoding="utf-8").count(broken.old) == 1


@pytest.fixture(scope="module")
def installed(tmp_path_factory, compiled):
    """An installed copy, and what is compiled already: numba knows a file by its age and size."""
    target = tmp_path_factory.mktemp("installed")
    install(target)
    for source in (ROOT / "swingby").rglob("*.py"):
        copy = target / source.relative_to(ROOT)
        assert copy.read_bytes() == source.read_bytes()
        shutil.copystat(source, copy)
    for source in (ROOT / "swingby").rglob("*.nb[ic]"):
        copy = target / source.relative_to(ROOT)
        copy.parent.mkdir(exist_ok=True)
        shutil.copy2(source, copy)
    return target


@pytest.fixture
def folder(tmp_path):
    """A folder that holds the suite and nothing else."""
    made = tmp_path / "empty"
    made.mkdir()
    shutil.copy(SUITE, made)
    return made


# Late like the seeded bugs: most is compiled by then.
@pytest.mark.mutants
def test_the_suite_passes_on_an_installed_copy(installed, folder):
    code, output = run_suite(installed, folder)
    assert code == 0, output[-4000:]
    # Installed, the plugin is there without being named.
    code, output = run_suite(installed, folder, "--ledger-item=D.62", "-m", "ledger")
    assert (code, "1 passed" in output) == (0, True), output


@pytest.mark.mutants
@pytest.mark.parametrize("broken", BREAKS, ids=lambda broken: f"{broken.file}: {broken.new}")
def test_what_is_broken_is_named(broken, installed, folder, tmp_path, forked_pytest, link_tree):
    """By the test that notices first; in the full profile the whole suite runs up to there."""
    copy = tmp_path / "copy"
    link_tree(installed / "swingby", copy / "swingby")
    path = copy / "swingby/theory" / broken.file
    right = path.read_text(encoding="utf-8")
    # A file of its own: the old name stands for the one that is installed.
    path.unlink()
    path.write_text(right.replace(broken.old, broken.new), encoding="utf-8")
    (folder / "conftest.py").write_text(PROFILE, encoding="utf-8")
    asked = SUITE.name if FULL else f"{SUITE.name}::test_{broken.test}"
    code, output, errors = forked_pytest([*OPTIONS, asked], folder, copy)
    shutil.rmtree(copy)
    said = [line for line in output.splitlines() if line.startswith(("E ", "FAILED"))]
    assert code == 1, output + errors
    assert broken.names in "\n".join(said), output
    assert f"::test_{broken.test}" in said[-1], said
