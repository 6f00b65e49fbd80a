"""The fourth dynamics of docs/howto.md: at most three files, and prediction and run agree."""

import os
import re
import shutil
import subprocess
import sys
from fractions import Fraction
from math import factorial
from pathlib import Path

from tests.rooted_trees import modified_field

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "howto.md").read_text(encoding="utf-8")
SECTION = re.search(r"^## A fourth dynamics$(.*?)^## ", PAGE, re.MULTILINE | re.DOTALL)[1]

#: The same steps on U as they are defined, and a start far below the float range.
BY_HAND = """
import sys
assert swingby.__file__.startswith(sys.argv[1]), swingby.__file__
assert abs(crossing - schedule.stages.crossing[k]) < schedule.stages.error[k]
A, U = np.diag(task.signal), U0

def f(U):
    return (A - (A @ U @ U.T + U @ U.T @ A) / 2) @ U

for step in range(1, run.last_step):
    U = U + eta * f(U + eta * f(U) / 2)
    assert np.abs(U @ U.T - run.W[step]).max() < 1e-12

# The field is the series over trees; f is cubic, so four points give its derivatives.
from swingby.theory.law.modified_flow import make_flow, midpoint_on_factors

def along(V, order):
    values = [f(U + s * V).ravel() for s in (-1, 0, 1, 2)]
    return (1, 1, 2)[order] * np.polyfit([-1, 0, 1, 2], values, 3)[3 - order].reshape(3, 3)

U, h, x = np.cos(np.arange(9.0)).reshape(3, 3), 0.3, 0.3 * task.signal
H, Q = along(along(f(U), 1), 1), along(f(U), 2)
expected = f(U) - h**2 * (Q / 24 + H / 6) + h**3 * along(Q / 16 + H / 8, 1)
expected += ((np.log(1 + x + x**2 / 2) - x + x**3 / 6 - x**4 / 8) / h)[:, None] * U
flow = make_flow(task.signal[:, None], np.array([h]), np.array([3]), "midpoint")
N = midpoint_on_factors((U @ U.T)[:, :, None], np.ones((3, 1)), flow)[:, :, 0]
np.testing.assert_allclose(N @ U, expected, rtol=1e-9, atol=1e-9)
# Compiled lanes carry out this list.
from swingby.theory.law.tape import tape_of
assert len(tape_of("midpoint", 3)[0]) > len(tape_of("midpoint", 0)[0])
small = swingby.Scaled(U0 @ U0.T, "1e-400")
run = swingby.simulate(task, small, eta=eta, dynamics="midpoint")
assert run.executed_steps < run.last_step / 2
schedule = swingby.predict(task, small, eta=eta, dynamics="midpoint")
assert (schedule.half_times == run.half_times).all()
"""


def patches(text):
    """(file, old, new) for every hunk of the diffs of a page."""
    for block in re.findall(r"^```diff\n--- (.*?)^```$", text, re.MULTILINE | re.DOTALL):
        file, _, rest = block.partition("\n")
        for hunk in rest.split("@@\n"):
            rows = hunk.splitlines(keepends=True)
            old, new = (
                "".join(row[1:] for row in rows if row[0] in signs) for signs in (" -", " +")
            )
            yield file, old, new


def patched(text, folder):
    """A copy of the package with the diffs of a page, and the files that they touch."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "swingby", folder / "swingby", ignore=ignored)
    touched = set()
    for file, old, new in patches(text):
        before = (folder / file).read_text(encoding="utf-8")
        assert before.count(old) == 1, f"{file} has no longer, or not once:\n{old}"
        (folder / file).write_text(before.replace(old, new), encoding="utf-8")
        touched.add(file)
    return touched


def test_the_fourth_dynamics_takes_three_files(tmp_path):
    touched = patched(SECTION, tmp_path)
    assert len(touched) == 3
    (script,) = re.findall(r"^```python\n(.*?)^```$", SECTION, re.MULTILINE | re.DOTALL)
    where = {**os.environ, "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-c", script + BY_HAND, str(tmp_path)]
    done = subprocess.run(command, env=where, cwd=tmp_path, capture_output=True, text=True)
    assert not done.returncode, done.stderr
    assert len(done.stdout.splitlines()) == 9


def test_the_field_on_the_page_is_the_series_over_trees():
    """Of the midpoint rule, y + h f(y + h f/2): trees whose branches are all leaves."""
    rule = {((),) * k: Fraction(1, 2**k * factorial(k)) for k in range(4)}
    leaf, chain, cherry = (), ((),), ((), ())
    expected = {leaf: 1, cherry: Fraction(-1, 24), (chain,): Fraction(-1, 6)}
    expected |= {(cherry,): Fraction(1, 16), ((chain,),): Fraction(1, 8)}
    found = modified_field(4, rule)
    assert {tree: value for tree, value in found.items() if value} == expected
