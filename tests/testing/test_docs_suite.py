"""The suite of the docs notices a theory with one wrong line, and names what broke.

The package is installed into a folder of its own, or copied there with its metadata where no
build backend is at hand, and the suite is run from another folder that holds nothing else.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

import swingby

ROOT = Path(__file__).resolve().parents[2]
SUITE = ROOT / "docs/examples/test_theory.py"

#: A failure is shown as it was drawn: looking for a smaller one takes time.
PROFILE = """
from hypothesis import Phase, settings
settings.register_profile("as drawn", phases=[Phase.explicit, Phase.generate])
settings.load_profile("as drawn")
"""
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
    """

    names: str
    file: str
    old: str
    new: str


BREAKS = (
    Break("(C.13)", "task.py", "centre**2 / self.s", "centre**2 * self.s"),
    Break("Theorem 4.1", "one_layer.py", "(1 - decay) * point", "(1 + decay) * point"),
    Break("(D.2)", "dynamics.py", "+ 2 * W * A * W) / 2", "+ W * A * W) / 2"),
    Break("(D.4)", "growth.py", "return single[:, None] +", "return 2 * single[:, None] +"),
    Break("Assumption D.2", "assumptions.py", "1 / (9 * K", "1 / (8 * K"),
    Break("Assumption D.4", "assumptions.py", "d * beta**2), root", "d * beta), root"),
    Break("Assumption D.5", "assumptions.py", "a_i - 3 * a_j >=", "a_i - 2 * a_j >="),
    Break("Lemma D.1", "lemmas.py", "(2 * scale.eta * a_i * scale.kappa)", "(2 * scale.eta * a_i)"),
    Break("Lemma D.3", "lemmas.py", "else waiting * scale.kappa", "else waiting"),
    Break("Lemma D.5", "lemmas.py", "1 + 2 / scale.K", "1 + 3 / scale.K"),
    Break("Lemma D.6", "derivations/trajectories.py", "ge(v, 1 - _BAND)", "ge(v, 1 - 2 * _BAND)"),
    Break("two concepts, E1", "theorem_two.py", "(log_scale - (1 + r)", "(log_scale - (1 - r)"),
    Break("Theorem R, C4", "theorem_r.py", "mean = (a[i] + a[j]) / 2", "mean = (a[i] - a[j]) / 2"),
    Break("Theorem G", "theorem_g.py", "- log_det / (1 - level)", "- log_det / level"),
    Break("D.4'", "repaired.py", "limit = _enclosed(lambda: 1 /", "limit = _enclosed(lambda: 2 /"),
    Break("stage law, pivots", "pivots.py", "- removed_sign", "+ removed_sign"),
    Break("odds factors", "odds.py", "(1 - ratio) / 4, 0.0)", "(1 - ratio) / 2, 0.0)"),
    Break("finite step of gd", "finite_step.py", "1.5 * log_rest + h", "2 * log_rest + h"),
    Break("stage law", "correction.py", "speed = 2 * Z[", "speed = Z["),
    Break("stage law", "stages.py", "np.ceil(self.crossing)", "np.floor(self.crossing)"),
    Break("Bartlett", "gaussian.py", "digamma(nu / 2)", "digamma(nu)"),
    Break("D.61", "derivations/suppression.py", "-omega * alpha / C)", "-omega * alpha / C / 5)"),
)  # fmt: skip


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
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--tb=short", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, *(arguments or (SUITE.name,))],
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


@pytest.mark.slow
def test_the_suite_passes_on_an_installed_copy_and_names_what_is_broken_in_it(tmp_path):
    installed, folder = tmp_path / "installed", tmp_path / "empty"
    installed.mkdir()
    folder.mkdir()
    install(installed)
    shutil.copy(SUITE, folder)
    code, output = run_suite(installed, folder)
    assert code == 0, output[-4000:]
    # Installed, the plugin is there without being named.
    code, output = run_suite(installed, folder, "--ledger-item=D.62", "-m", "ledger")
    assert (code, "1 passed" in output) == (0, True), output
    # Every break takes a run of the suite: half of them by default, all in the full profile.
    full = os.environ.get("SWINGBY_HYPOTHESIS_PROFILE") == "full"
    chosen = BREAKS if full else BREAKS[::2]
    # What is compiled by now is used again: a break is in one of the plain modules.
    (folder / "conftest.py").write_text(PROFILE, encoding="utf-8")
    copies = [shutil.copytree(installed, tmp_path / name) for name in ("first", "second")]
    with ThreadPoolExecutor(len(copies)) as pool:
        found = pool.map(unnoticed, copies, [folder] * 2, [chosen[::2], chosen[1::2]])
        assert not [broken for half in found for broken in half]


def unnoticed(installed, folder, breaks):
    """Breaks, one at a time, at which the suite passes or names something else."""
    found = []
    for number, broken in enumerate(breaks):
        path = installed / "swingby/theory" / broken.file
        before, right = path.stat().st_mtime, path.read_text(encoding="utf-8")
        path.write_text(right.replace(broken.old, broken.new), encoding="utf-8")
        # Bytecode counts as up to date by seconds and size.
        os.utime(path, (before, before + 10 + number))
        code, output = run_suite(installed, folder)
        path.write_text(right, encoding="utf-8")
        os.utime(path, (before, before))
        said = [line for line in output.splitlines() if line.startswith(("E ", "FAILED"))]
        if code != 1 or broken.names not in "\n".join(said):
            found.append((broken, code, said[:3]))
    return found
