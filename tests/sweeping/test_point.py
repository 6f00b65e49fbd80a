"""Keys and W(0): a matter of the point alone."""

import subprocess
import sys
from dataclasses import replace
from fractions import Fraction

import numpy as np

from swingby.sweeping.point import Point, initial

POINT = Point(("4", "1"), None, None, "1e-6", 2, 0, "0.01", "gd")


def test_everything_counts_for_the_key():
    changes = [
        {"signal": ("1", "4")},
        {"signal": None, "mu": ("4", "1"), "sigma": ("0", "0")},
        {"omega": "1e-7"},
        {"width": 3},
        {"seed": 1},
        {"eta": "0.02"},
        {"dynamics": "flow"},
        {"steps": 10},
        {"record": "log"},
    ]
    keys = {POINT.key(), *(replace(POINT, **change).key() for change in changes)}
    keys |= {POINT.key("0.0.0"), POINT.key(measure=10**6)}
    assert len(keys) == len(changes) + 3


def test_keys_are_the_same_in_every_process():
    code = f"from swingby.sweeping.point import Point; print({POINT!r}.key().hex())"
    shown = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONHASHSEED": "7", "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown.stdout.strip() == POINT.key().hex()


def test_one_initial_matrix_for_all_dynamics_and_step_sizes():
    matrix = initial(POINT).matrix
    for same in ({"dynamics": "flow"}, {"eta": "0.5"}, {"steps": 9}, {"record": 2}):
        assert np.array_equal(initial(replace(POINT, **same)).matrix, matrix)
    for other in ({"seed": 1}, {"omega": "1e-7"}, {"signal": ("1", "4")}):
        assert not np.array_equal(initial(replace(POINT, **other)).matrix, matrix)


def test_the_rank_is_that_of_the_width_exactly():
    """Rows of d = 4 over 2 columns: every 3 by 3 minor is 0 in exact arithmetic."""
    W0 = initial(replace(POINT, signal=("4", "3", "2", "1"), width=2))
    w = [[Fraction(entry) for entry in row] for row in W0.matrix.tolist()]
    for i, j, k in ((0, 1, 2), (0, 1, 3), (0, 2, 3), (1, 2, 3)):
        minor = (
            w[i][i] * (w[j][j] * w[k][k] - w[j][k] ** 2)
            - w[i][j] * (w[i][j] * w[k][k] - w[j][k] * w[i][k])
            + w[i][k] * (w[i][j] * w[j][k] - w[j][j] * w[i][k])
        )
        assert minor == 0
    assert w[0][0] * w[1][1] - w[0][1] ** 2 > 0


def test_the_expected_diagonal_entry_is_omega():
    """4000 entries of mean 1 and variance 2/d' = 0.5: within 5 standard deviations, 0.056."""
    entries = []
    for seed in range(1000):
        W0 = initial(replace(POINT, signal=("4", "3", "2", "1"), width=4, seed=seed))
        assert W0.omega == Fraction(1, 10**6) / 4
        entries += (np.diag(W0.matrix) / 4).tolist()
    assert abs(np.mean(entries) - 1) < 0.056
