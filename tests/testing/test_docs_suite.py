"""The suites in docs/examples pass as a user has them, in a folder of their own.

The long one notices a theory with one wrong line, and names what broke. The package is copied into
a folder of its own with the metadata that an installed one has.
"""

import ast
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import swingby
from tests.forked import FULL, sample

ROOT = Path(__file__).resolve().parents[2]
SUITE = ROOT / "docs/examples/test_theory.py"
SUITES = sorted(SUITE.parent.glob("test_*.py"))

OPTIONS = ("-x", "-q", "--tb=short", "-p", "no:cacheprovider")
METADATA = f"Metadata-Version: 2.1\nName: swingby\nVersion: {swingby.__version__}\n"
ENTRY_POINTS = "[pytest11]\nswingby = swingby.testing.pytest_plugin\n"


@dataclass(frozen=True)
class Break:
    """One wrong line: `old` occurs exactly once in a file below ``swingby/theory``.

    `test` is the first of the suite to notice, and its message has to hold `names`.
    """

    file: str
    test: str
    names: str
    old: str
    new: str


def breaks(text):
    lines = text.strip().splitlines()
    for head, old, new in zip(lines[::3], lines[1::3], lines[2::3], strict=True):
        place, _, names = head.partition(" says ")
        yield Break(*place.split(": "), names, old.removeprefix("- "), new.removeprefix("+ "))


BREAKS = list(
    breaks("""
task.py: test_signal says (C.13)
- centre**2 / self.s
+ centre**2 * self.s
lemmas.py: test_theorem_4_1 says Theorem 4.1
- (1 - decay) * point
+ (1 + decay) * point
dynamics.py: test_one_step says (D.2)
- + 2 * W * A * W) / 2
+ + W * A * W) / 2
growth.py: test_growth_rates says (D.4)
- = single[..., :, None] +
+ = 2 * single[..., :, None] +
assumptions.py: test_assumption says Assumption D.2
- 1 / (9 * K
+ 1 / (8 * K
assumptions.py: test_assumption says Assumption D.4
- d * beta**2), root
+ d * beta), root
assumptions.py: test_assumption says Assumption D.5
- a_i - 3 * a_j >=
+ a_i - 2 * a_j >=
lemmas.py: test_lemma_windows says Lemma D.1
- (2 * scale.eta * a_i * scale.kappa)
+ (2 * scale.eta * a_i)
lemmas.py: test_lemma_windows says Lemma D.3
- else waiting * scale.kappa
+ else waiting
lemmas.py: test_lemma_windows says Lemma D.5
- 1 + 2 / scale.K
+ 1 + 3 / scale.K
proofs/trajectories.proof: test_lemma_windows says Lemma D.6
- then w_ii(t) >= 1 - 2/K
+ then w_ii(t) >= 1 - 4/K
repaired/theorem_two.py: test_theorem_on_two_concepts says two concepts, E1
- (log_scale - (1 + r)
+ (log_scale - (1 - r)
repaired/theorem_r.py: test_conditions_of_theorem_R says Theorem R, C4
- mean = (a[i] + a[j]) / 2
+ mean = (a[i] - a[j]) / 2
repaired/theorem_two.py: test_theorem_G says Theorem G
- - log_det / (1 - level)
+ - log_det / level
repaired/edition.py: test_one_concept_of_the_repaired_edition says D.4'
- limit = _enclosed(lambda: 1 /
+ limit = _enclosed(lambda: 2 /
initial.py: test_pivots says stage law, exact pivots
- rest[i][j] -= factor * row[j]
+ rest[i][j] += factor * row[j]
law/coordinates.py: test_diagonal_start_is_one_logistic_per_concept says stage law, logistic
- return 2.0 * rate, free * still
+ return 1.9 * rate, free * still
law/coordinates.py: test_diagonal_start_is_one_logistic_per_concept says stage law, logistic
- pair=-total / 2
+ pair=-total / 3
law/coordinates.py: test_steps_of_the_modified_flow says modified flow of
- - flow.first * G + flow.mixed * C
+ - 0.9 * flow.first * G + flow.mixed * C
law/stages.py: test_diagonal_start_is_one_logistic_per_concept says stage law
- np.ceil(self.crossing)
+ np.floor(self.crossing)
gaussian.py: test_gaussian_half_times says Bartlett
- digamma(nu / 2)
+ digamma(nu)
proofs/suppression.proof: test_lines_that_do_not_hold says D.61
- then collected <= -ω α/C
+ then collected <= -ω α/(5 C)
""")
)


def write_profile(folder, examples):
    """As many examples; a failure is shown as drawn, as looking for a smaller one takes time."""
    text = f"""
from hypothesis import Phase, settings
settings.register_profile(
    "as drawn", phases=[Phase.explicit, Phase.generate], max_examples={100 if FULL else examples}
)
settings.load_profile("as drawn")
"""
    (folder / "conftest.py").write_text(text, encoding="utf-8")


def test_the_suites_are_there():
    assert [suite.stem for suite in SUITES] == ["test_diagonal_network", "test_theory"]


def test_a_claim_of_ones_own_takes_thirty_lines():
    text = (SUITE.parent / "test_diagonal_network.py").read_text(encoding="utf-8")
    assert sum(bool(line.strip()) for line in text.splitlines()) <= 30


@pytest.mark.parametrize("suite", SUITES, ids=lambda suite: suite.stem)
def test_a_suite_imports_nothing_that_a_user_does_not_have(suite):
    found = list(ast.walk(ast.parse(suite.read_text(encoding="utf-8"))))
    froms = [node for node in found if isinstance(node, ast.ImportFrom)]
    plain = [alias.name for node in found if isinstance(node, ast.Import) for alias in node.names]
    names = {*plain, *(node.module for node in froms)}
    own = {name for name in names if name.split(".")[0] == "swingby"}
    standard = {"dataclasses", "fractions", "math", "types"}
    assert names - own <= {*standard, "hypothesis", "numpy", "pytest", "sympy"}
    # Of swingby no module or name that is private.
    assert not [name for name in own if "._" in name]
    assert not [alias.name for node in froms for alias in node.names if alias.name.startswith("_")]


@pytest.mark.parametrize("broken", BREAKS, ids=lambda broken: f"{broken.file}: {broken.new}")
def test_the_place_of_every_break_exists_once(broken):
    path = ROOT / "swingby/theory" / broken.file
    assert path.read_text(encoding="utf-8").count(broken.old) == 1


@pytest.fixture(scope="module")
def installed(tmp_path_factory, compiled, link_tree):
    """A copy of the package with the metadata of an installed one; ``make wheel`` tries others."""
    target = tmp_path_factory.mktemp("installed")
    link_tree(ROOT / "swingby", target / "swingby")
    described = target / f"swingby-{swingby.__version__}.dist-info"
    described.mkdir()
    (described / "METADATA").write_text(METADATA, encoding="utf-8")
    (described / "entry_points.txt").write_text(ENTRY_POINTS, encoding="utf-8")
    return target


@pytest.fixture
def folder(tmp_path):
    """A folder that holds the suites and nothing else."""
    made = tmp_path / "empty"
    made.mkdir()
    for suite in SUITES:
        shutil.copy(suite, made)
    return made


# Late like the seeded bugs: most is compiled by then.
@pytest.mark.mutants
def test_the_suites_pass_on_an_installed_copy(installed, folder):
    """In a process of their own, which has the plugin without naming it."""
    write_profile(folder, 5)
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    for name in ("PYTEST_ADDOPTS", "NUMBA_CACHE_DIR", "HYPOTHESIS_PROFILE"):
        environment.pop(name, None)
    asked = [suite.name for suite in SUITES]
    if not FULL:  # of the long one every fifth test, others with each commit
        parts = ast.parse(SUITE.read_text(encoding="utf-8")).body
        names = [one.name for one in parts if getattr(one, "name", "").startswith("test_")]
        asked[1:] = [f"{SUITE.name}::{name}" for name in sample(names, 5)]
    command = [sys.executable, "-m", "pytest", *OPTIONS, "-rp", "--ledger-item=D.62", *asked]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr
    assert "PASSED ledger::D.62" in done.stdout
    assert "PASSED test_diagonal_network.py" in done.stdout
    assert f"PASSED {SUITE.name}" in done.stdout


@pytest.mark.mutants
@pytest.mark.parametrize(
    "broken",
    sample(BREAKS, 5),
    ids=lambda broken: f"{broken.file}: {broken.new}",
)
def test_what_is_broken_is_named(broken, installed, folder, tmp_path, forked_pytest, link_tree):
    """By the test that notices first; in the full profile the whole suite runs up to there.

    Otherwise a fifth of the breaks is drawn, others with each commit.
    """
    copy = tmp_path / "copy"
    link_tree(installed / "swingby", copy / "swingby")
    path = copy / "swingby/theory" / broken.file
    right = path.read_text(encoding="utf-8")
    # A file of its own: the old name stands for the one that is installed.
    path.unlink()
    path.write_text(right.replace(broken.old, broken.new), encoding="utf-8")
    write_profile(folder, 25)
    asked = SUITE.name if FULL else f"{SUITE.name}::{broken.test}"
    code, output, errors = forked_pytest([*OPTIONS, asked], folder, copy)
    shutil.rmtree(copy)
    said = [line for line in output.splitlines() if line.startswith(("E ", "FAILED"))]
    assert code == 1, output + errors
    assert broken.names in "\n".join(said), output
    assert f"::{broken.test}" in said[-1], said
