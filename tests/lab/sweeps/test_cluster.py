"""Dask: the same rows, and what is no cluster. Skipped where distributed is missing."""

import pytest

from swingby.errors import InvalidInput, MissingExtra
from swingby.lab.sweeps import workers as module
from swingby.lab.sweeps.sweep import sweep
from swingby.lab.sweeps.sweep_result import SweepResult


def test_without_distributed(grid, tmp_path, monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(module.importlib, "import_module", missing)
    with pytest.raises(MissingExtra, match=r'pip install "swingby\[cluster\]"'):
        sweep(grid, out=tmp_path / "a", executor="dask", workers=1, progress=False)


@pytest.mark.filterwarnings("ignore")
def test_a_cluster_that_is_given(grid, tmp_path, undisturbed, rows_of):
    """In threads of this process, by client, by cluster, by address, and as a plain executor."""
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
        ) as local,
        distributed.Client(local, set_as_default=False) as client,
    ):
        given = {"a": client, "b": local, "d": client.get_executor(pure=False)}
        for name, executor in given.items():
            store = tmp_path / name
            sweep(grid, out=store, executor=executor, workers=2, chunk=9, progress=False)
            assert rows_of(store) == undisturbed
        assert client.submit(int).result() == 0


@pytest.mark.filterwarnings("ignore")
def test_nobody_answers(grid, tmp_path, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(module, "_ANSWER", 0.5)
    with pytest.raises(InvalidInput, match="must be the address of a Dask scheduler"):
        sweep(grid, out=tmp_path / "a", executor="tcp://127.0.0.1:9", progress=False)
    assert SweepResult(tmp_path / "a").status().total == 0


@pytest.mark.filterwarnings("ignore")
def test_no_worker_is_left(grid, tmp_path, monkeypatch):
    """Dask itself would wait for ever."""
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(module, "_NO_WORKER", 0.5)
    with (
        distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=None) as empty,
        pytest.raises(InvalidInput, match="executor must have a worker, but none is left"),
    ):
        sweep(grid, out=tmp_path / "a", executor=empty, workers=1, progress=False)
