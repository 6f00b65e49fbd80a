"""Grids: every point once, in one order; the same from Python, a dict and TOML; errors in words."""

import itertools
import json
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from swingby.errors import InvalidInput
from swingby.lab.sweeps.grid import BUILTIN, SweepGrid, as_grid
from swingby.lab.sweeps.point import task_of
from swingby.lab.sweeps.stored_row import StoredRow

SMALL = {"signal": [[4, 1], [3, 2, 1]], "omega": ["1e-6", 0.001], "eta": [0.01]}
RANDOM = {"design": "random", "points": 2}


def test_the_product_by_hand():
    grid = SweepGrid(**SMALL, width=["d", 1], seeds=[5, 7], dynamics=["euler", "gd"])
    by_hand = itertools.product(
        [("4", "1"), ("3", "2", "1")], ["1e-6", "0.001"], ["d", 1], ["euler", "gd"], [5, 7]
    )
    found = [(p.signal, p.omega, p.width, p.dynamics, p.seed) for p in grid.points()]
    expected = [
        (signal, omega, len(signal) if width == "d" else width, dynamics, seed)
        for signal, omega, width, dynamics, seed in by_hand
    ]
    assert found == expected
    assert len(grid) == len(expected) == len({p.key() for p in grid.points()})


def test_mu_is_combined_with_sigma():
    grid = SweepGrid(mu=[[1, 2], [2, 3]], sigma=[0, ["1/3", 0.5]], omega=1e-3, eta="1/100")
    assert [(p.mu, p.sigma) for p in grid.points()] == [
        (("1", "2"), ("0", "0")),
        (("1", "2"), ("1/3", "0.5")),
        (("2", "3"), ("0", "0")),
        (("2", "3"), ("1/3", "0.5")),
    ]
    # a_p = sigma_p^2 + mu_p^2 / s, Sec. 2.1
    assert task_of(list(grid.points())[1]).exact_signal == (
        Fraction(1, 9) + Fraction(1, 2),
        Fraction(1, 4) + 2,
    )


def test_toml_reads_numbers_digit_by_digit(tmp_path):
    path = tmp_path / "grid.toml"
    path.write_text("signal = [4, 1]\nomega = 1e-400\neta = 0.1\nwidth = ['d', 5]\n")
    grid = SweepGrid.from_toml(path)
    assert (grid.omega, grid.eta, grid.width) == (("1e-400",), ("0.1",), ("d", 5))
    assert as_grid(str(path)) == as_grid(grid) == grid


def test_random_points_lie_in_their_ranges_and_do_not_depend_on_each_other():
    content = {
        "design": "random",
        "signal": {"low": 1, "high": 9, "dim": 3},
        "omega": {"low": "1e-400", "high": "1e-300", "spacing": "log"},
        "eta": [0.1, 0.2],
        "width": {"low": 2, "high": 50, "spacing": "log"},
        "dynamics": ["gd", "flow"],
        "seeds": 2,
        "rng": 3,
    }
    grid = SweepGrid(**content, points=100)
    points = list(grid.points())
    assert len(points) == len(grid) == 400
    for p in points:
        assert Fraction(1, 10**400) <= Fraction(p.omega) <= Fraction(1, 10**300)
        assert all(1 <= Fraction(a) <= 9 for a in p.signal)
        assert 2 <= p.width <= 50
        assert p.eta in ("0.1", "0.2")
    assert len({p.omega for p in points}) == 100
    assert {p.dynamics for p in points} == {"gd", "flow"}
    longer = SweepGrid(**content, points=150)
    assert list(itertools.islice(longer.points(), 400)) == points
    assert list(SweepGrid(**{**content, "rng": 4}, points=100).points()) != points


def test_a_log_range_is_uniform_in_the_logarithm():
    """Three decades: each gets a third of 3000 draws, within 5 standard deviations (26 each)."""
    drawn = SweepGrid(
        design="random",
        points=3000,
        signal=[2, 1],
        eta=1,
        omega={"low": 1, "high": 1000, "spacing": "log"},
    )
    values = [Fraction(p.omega) for p in drawn.points()]
    for low in (1, 10, 100):
        assert abs(sum(low <= value < 10 * low for value in values) - 1000) < 130


def test_points_are_not_held():
    grid = SweepGrid(signal=[2, 1], omega=1e-3, eta=0.1, seeds=10**15)
    assert len(grid) == 10**15
    assert next(itertools.islice(grid.points(), 10**4, None)).seed == 10**4
    assert grid.to_dict()["seeds"] == 10**15


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"omgea": 1}, "omgea is not a key of a grid"),
        ({"dynamics": [["gd"]]}, r"dynamics must be one of euler, gd, flow, got \['gd'\]"),
        ({"omega": []}, r"omega must not be empty"),
        ({"omega": [1e-3, -1]}, r"omega\[2\] must be positive, got -1"),
        ({"omega": [1e-3, "1/1000"]}, "omega must not repeat a value, got 0.001 twice"),
        ({"omega": "__import__('os')"}, r"omega\[1\] must be a number such as"),
        ({"eta": "1e-400"}, "eta must lie in the float range"),
        ({"eta": {"low": 1, "high": 2}}, "eta must be a list, unless design = random"),
        ({"signal": [[1, "x"]]}, r"signal\[1\]\[2\] must be a number"),
        ({"signal": [[2, 1], 3]}, r"signal\[2\] must be a list of numbers"),
        ({"signal": [[0, 1]]}, r"signal\[1\] must give a task \(a must have its zeros"),
        ({"signal": None}, "signal and mu must be given one at a time, got neither"),
        ({"mu": [1, 2]}, "signal and mu must be given one at a time, got both"),
        ({"sigma": [1, 2]}, "sigma must not be given together with signal"),
        ({"signal": None, "mu": [1, 2], "sigma": [[1, 2, 3]]}, r"mu\[1\] with sigma\[1\]"),
        ({"signal": None, "mu": [0, 2]}, r"mu\[1\]\[1\] must be positive"),
        ({"width": 0}, r"width\[1\] must be at least 1"),
        ({"width": ["d", 2]}, "width must not name the same width twice"),
        ({"seeds": 0}, "seeds must be at least 1"),
        ({"dynamics": "adam"}, "dynamics"),
        ({"record": "all"}, "record must be"),
        ({"design": "lhs"}, "design must be grid or random"),
        ({"design": np.ones(2)}, "design must be grid or random"),
        ({"points": 3}, "points is for design = random"),
        ({"design": "random"}, "points must be given for design = random"),
        ({**RANDOM, "omega": {"low": 1}}, "omega.high must be given"),
        ({**RANDOM, "omega": {"low": 2, "high": 1}}, "omega.low must be at most high"),
        (
            {**RANDOM, "omega": {"low": 1, "high": 2, "scale": "log"}},
            "omega.scale is not a key of a range",
        ),
        ({**RANDOM, "signal": {"low": 1, "high": 2}}, "signal.dim must be given"),
        (
            {**RANDOM, "omega": {"low": 1, "high": 2, "spacing": "exp"}},
            "omega.spacing must be linear or log",
        ),
        ({**RANDOM, "width": {"low": 1, "high": "d"}}, "width.high must be a number"),
    ],
)
def test_errors_name_the_key(change, words):
    with pytest.raises(InvalidInput, match=words):
        SweepGrid.from_dict({**SMALL, **change})


def test_files_that_are_no_grid(tmp_path):
    path = tmp_path / "grid.toml"
    for content in (b"omega = ", b"\x00", b"a = 1\na = 2", b"\x80\x04\x95\xff"):
        path.write_bytes(content)
        with pytest.raises(InvalidInput, match="grid must be a TOML file"):
            SweepGrid.from_toml(path)
    for missing in (tmp_path, tmp_path / "none", "\0"):
        with pytest.raises(InvalidInput, match=r"grid must be a (readable )?TOML file"):
            SweepGrid.from_toml(missing)


numbers = st.one_of(
    st.integers(1, 10**6),
    st.floats(1e-300, 1e300),
    st.fractions(min_value=Fraction(1, 10**9)).filter(bool).map(str),
    st.integers(-3000, 300).map(lambda exponent: f"7e{exponent}"),
)
rates = st.floats(1e-9, 10)
spacing = st.sampled_from(["linear", "log"])


def ranges(values, **more):
    def table(pair, kind):
        low, high = sorted(pair, key=lambda one: Fraction(str(one)))
        return {"low": low, "high": high, "spacing": kind, **more}

    return st.builds(table, st.tuples(values, values), spacing)


def lists(values):
    return st.lists(values, min_size=1, max_size=4, unique_by=lambda one: Fraction(str(one)))


@st.composite
def contents(draw):
    random = draw(st.booleans())

    def axis(values):
        return draw(st.one_of(lists(values), ranges(values)) if random else lists(values))

    content = {"omega": axis(numbers), "eta": axis(rates)}
    vector = st.lists(st.integers(1, 9), min_size=1, max_size=3)
    if draw(st.booleans()):
        content["signal"] = draw(st.lists(vector, min_size=1, max_size=3, unique_by=tuple))
    else:
        content["mu"] = [draw(vector)]
        content["sigma"] = draw(st.sampled_from([0, ["1/3"], [0, 0.5]]))
    if random:
        content |= {"design": "random", "points": draw(st.integers(1, 5))}
        content["rng"] = draw(st.integers(0, 2**70))
    content["width"] = draw(st.sampled_from(["d", [7], [9, "d", 8]]))
    content["seeds"] = draw(
        st.one_of(st.integers(1, 4), st.lists(st.integers(0, 2**63 - 1), min_size=1, unique=True))
    )
    content["dynamics"] = draw(st.sampled_from(["gd", ["euler", "flow"]]))
    content["steps"] = draw(st.sampled_from([None, 17]))
    content["record"] = draw(st.sampled_from([None, "log", 10]))
    return content


@given(contents())
def test_round_trips(content):
    grid = SweepGrid.from_dict(content)
    again = SweepGrid.from_dict(json.loads(json.dumps(grid.to_dict())))
    assert again == grid
    points = list(grid.points())
    assert len(points) == len(grid)
    assert [p.key() for p in points] == [p.key() for p in again.points()]
    rows = [StoredRow(p.key(), 0, p, None) for p in points]
    assert [StoredRow.from_line(row.to_line()) for row in rows] == rows


def test_built_in_grids_are_what_the_docs_say():
    """Expected counts are products of the lists that the docs name."""
    assert {name: len(as_grid(name)) for name in BUILTIN} == {
        "atlas": 100 * 50 * 40 * 5,
        "dimension": 6 * 10 * 100,
        "descents": 10 * 5 * 500,
    }
    atlas = as_grid("atlas")
    assert (atlas.omega[0], atlas.omega[-1]) == ("1e-12", "0.1")
    assert atlas.signal[0] == ("1", "1", "1")
    # a = (1, 1/r, 1/r^2)
    assert [float(a) for a in atlas.signal[-1]] == pytest.approx(
        [1, 1 / 2.95, 1 / 2.95**2], rel=1e-5
    )


def test_a_file_goes_before_a_built_in_grid(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "atlas").write_text("signal = [[2, 1]]\nomega = 0.01\neta = 0.1\n")
    assert len(as_grid("atlas")) == 1
    with pytest.raises(InvalidInput, match="atlas, dimension, descents"):
        as_grid("atlsa")


def test_containers_of_pandas_hold_values_not_names_of_columns():
    plain = SweepGrid(signal=[[4, 1], [4, 2]], omega=["0.25", "0.125"], eta=1, seeds=[5, 2])
    signal = pd.DataFrame([[4, 1], [4, 2]], columns=[2, 1])
    seeds = pd.Series([5, 2], index=["a", "b"])
    assert SweepGrid(signal=signal, omega=pd.Index([0.25, 0.125]), eta=1, seeds=seeds) == plain
    with pytest.raises(InvalidInput, match=r"omega\[1\] must be a number"):
        SweepGrid(signal=signal, omega=pd.DataFrame({0.5: [0.25, 0.125]}), eta=1)
    assert SweepGrid(signal=[2, 1], omega=1, eta=1, seeds=np.array(3)).seeds == range(3)
