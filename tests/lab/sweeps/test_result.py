"""What a store holds, as counts, tables and files."""

import csv
import gzip
import io
import sys

import numpy as np
import pandas
import pytest

from swingby.errors import InvalidInput, MissingExtra
from swingby.lab.sweeps.grid import SweepGrid
from swingby.lab.sweeps.measurement import measure
from swingby.lab.sweeps.sweep import sweep
from swingby.lab.sweeps.sweep_result import SweepResult


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path = tmp_path_factory.mktemp("result") / "out"
    content = {
        "signal": [[4, 1], [3, 2, 1]],
        "omega": ["1e-400", "1e301"],
        "eta": 0.1,
        "dynamics": "gd",
    }
    sweep({**content, "seeds": 2}, out=path, workers=0, progress=False)
    other = {"mu": [1, 2], "sigma": "1/3", "omega": "1e-3", "eta": 0.1, "width": 1}
    sweep({**other, "dynamics": "gd"}, out=path, workers=0, progress=False)
    return path


GRID = SweepGrid(
    signal=[[4, 1], [3, 2, 1]], omega=["1e-400", "1e301"], eta=0.1, seeds=3, dynamics="gd"
)


def test_status_counts_the_points_of_the_grid(store):
    status = SweepResult(store, GRID).status()
    assert (status.total, status.done, status.failed, status.missing) == (12, 4, 4, 4)
    assert status.reasons == {"InvalidInput: W0 must be below 1e300": 4}
    assert sum(status.labels.values()) == 4
    every = SweepResult(store).status()
    assert (every.total, every.done, every.failed, every.missing) == (9, 5, 4, 0)
    assert every.labels["trapped", "trapped"] == 1
    assert every.per_second > 0


def test_rows_are_those_of_measure_in_the_order_of_the_grid(store):
    rows = list(SweepResult(store, GRID).rows())
    points = [point for point in GRID.points() if point.seed < 2]
    assert [row.point for row in rows] == points
    assert [row.results for row in rows] == [row.results for row in measure(points)]


def test_frame(store):
    frame = SweepResult(store, GRID).to_frame()
    assert len(frame) == 8
    first = measure([next(GRID.points())])[0].results
    assert frame.loc[0, "omega"] == "1e-400"
    assert frame.loc[0, "log10_omega"] == pytest.approx(-400)
    assert frame.loc[0, "half_time_2"] == first["half_times"][1]
    assert frame.loc[0, "error_1"] == first["error"][0]
    assert frame.loc[0, "order"] == "1 2"
    assert np.isnan(frame.loc[0, "a_3"])
    assert frame.loc[frame.status == "failed", "half_time_1"].isna().all()
    assert frame.loc[frame.status == "failed", "a_1"].tolist() == [4, 4, 3, 3]
    assert SweepResult(store).to_frame()["mu_2"].dropna().tolist() == [2]


def test_files_hold_the_frame(store, tmp_path):
    pytest.importorskip("pyarrow")
    result = SweepResult(store)
    frame = result.to_frame()
    parquet = pandas.read_parquet(result.to_parquet(tmp_path / "a.parquet"))
    assert parquet.columns.tolist() == frame.columns.tolist()
    for name in frame:
        one, other = (table[name].astype(object) for table in (parquet, frame))
        assert one[one.notna()].to_dict() == other[other.notna()].to_dict()
    with open(result.to_csv(tmp_path / "a.csv"), encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    packed = result.to_csv(tmp_path / "a.csv.gz")
    assert gzip.decompress(packed.read_bytes()) == (tmp_path / "a.csv").read_bytes()
    stream = io.StringIO(newline="")
    assert result.to_csv(stream) is None
    assert stream.getvalue().encode() == (tmp_path / "a.csv").read_bytes()
    assert [row["key"] for row in rows] == frame["key"].tolist()
    assert [float(row["a_1"]) for row in rows] == frame["a_1"].tolist()


def test_parquet_without_pyarrow(store, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match="pyarrow is not installed"):
        SweepResult(store).to_parquet(tmp_path / "x")


@pytest.mark.parametrize("method", ["to_csv", "to_parquet"])
def test_an_export_that_breaks_leaves_the_old_file(store, tmp_path, monkeypatch, method):
    pytest.importorskip("pyarrow")
    path = tmp_path / "rows"
    path.write_text("old")

    def broken(frame, target, **options):
        target.write_text("half of ")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pandas.DataFrame, method, broken)
    with pytest.raises(InvalidInput, match=r"out must be writable \(No space left on device\)"):
        getattr(SweepResult(store), method)(path)
    assert path.read_text() == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["rows"]


def test_descents_are_counted_by_dimension(tmp_path):
    grid = {"signal": [[1, 0.25], [1, 0.5, 0.25]], "omega": 1e-3, "eta": 0.05, "seeds": 12}
    result = sweep({**grid, "dynamics": "gd"}, out=tmp_path / "a", workers=0, progress=False)
    table = result.descents()
    rows = [row.results for row in result.rows() if row.point.dimension == 2]
    decided = [row for row in rows if row["predicted_descents"] is not None]
    seen = sum(row["descents"] == 2 for row in decided) / len(decided)
    assert table.rows[0][:3] == ["2", "12", f"{1 - len(decided) / 12:.2%}"]
    assert table.rows[0][4].endswith(f", {seen:.2%}")
    assert [row[0] for row in table.rows] == ["2", "3"]
    assert "decided points" in table.below[1]
