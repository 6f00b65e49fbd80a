"""The grids that come with swingby, and predicted descents beside observed ones.

Expected counts are products of the lists that the docs name; observed descents come from runs.
"""

from itertools import islice

import pytest

from swingby.errors import InvalidInput
from swingby.sweeping.builtin import BUILTIN
from swingby.sweeping.grid import SweepGrid, as_grid
from swingby.sweeping.measure import measure


def test_the_atlas_has_a_million_points():
    grid = as_grid("atlas")
    assert len(grid) == 100 * 50 * 40 * 5 == 1_000_000
    assert grid.dims == (3,)
    assert (grid.omega[0], grid.omega[-1]) == ("1e-12", "0.1")
    # a = (1, 1/r, 1/r^2)
    first, last = grid.signal[0], grid.signal[-1]
    assert first == ("1", "1", "1")
    assert [float(a) for a in last] == pytest.approx([1, 1 / 2.95, 1 / 2.95**2], rel=1e-5)


@pytest.mark.parametrize(("name", "points"), [("dimension", 6 * 10 * 100), ("descents", 25_000)])
def test_other_grids_are_what_they_say(name, points):
    assert len(as_grid(name)) == points
    assert set(BUILTIN) == {"atlas", "dimension", "descents"}


def test_a_file_of_that_name_goes_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = SweepGrid(signal=[[2, 1]], omega=0.01, eta=0.1).to_toml()
    (tmp_path / "atlas").write_text(text, encoding="utf-8")
    assert len(as_grid("atlas")) == 1


def test_an_unknown_name_is_told_the_known_ones():
    with pytest.raises(InvalidInput, match="atlas, dimension, descents"):
        as_grid("atlsa")


def test_descents_are_predicted_as_observed():
    grid = as_grid({**BUILTIN["dimension"](), "width": [2, 4], "seeds": 25, "signal": [[1, 0.25]]})
    rows = [row.results for row in measure(list(islice(grid.points(), 50)))]
    decided = [row for row in rows if row["predicted_descents"] is not None]
    assert len(decided) >= 45
    assert all(row["predicted_descents"] == row["descents"] for row in decided)
    assert {row["descents"] for row in decided} == {1, 2}
    for row in decided:
        assert row["predicted_transient"] == pytest.approx(row["transient"], rel=0.05)


def test_descents_are_counted_by_dimension(tmp_path):
    from swingby.sweeping.phases.descent_counts import descent_counts
    from swingby.sweeping.sweep import sweep

    grid = {"signal": [[1, 0.25], [1, 0.5, 0.25]], "omega": 1e-3, "eta": 0.05, "seeds": 12}
    result = sweep(
        {**grid, "dynamics": "gd"}, store=tmp_path / "a.sqlite", workers=0, progress=False
    )
    counts = descent_counts(result)
    rows = [row.results for row in result.rows()]
    assert sum(counts.counts.values()) == len(rows) == 24
    said = [(row["predicted_descents"], row["descents"]) for row in rows]
    assert counts.decided == sum(predicted is not None for predicted, _ in said)
    assert counts.agreed == sum(predicted == seen for predicted, seen in said)
    two = [one for one, row in zip(said, rows, strict=True) if len(row["signal"]) == 2]
    decided = [one for one in two if one[0] is not None]
    assert counts.share(2, 2)[1] == sum(seen == 2 for _, seen in decided) / len(decided)
    assert "Descents of the test loss" in counts.to_grid().to_text()
