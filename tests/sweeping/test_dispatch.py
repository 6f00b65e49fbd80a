"""Chunks whose process dies: done again, split, and given up only one point at a time."""

from concurrent.futures import BrokenExecutor, Future

import pytest

from swingby.errors import InvalidInput
from swingby.sweeping.dispatch import MOST_DEATHS, dispatch
from swingby.sweeping.executors import Finished, InProcess
from swingby.sweeping.point import Point
from swingby.sweeping.work import Chunk

POINT = Point(("2", "1"), None, None, "1e-3", 2, 0, "0.1", "gd")


def chunks(*sizes):
    start = 0
    for size in sizes:
        places = tuple(range(start, start + size))
        keys = tuple(bytes([place]) for place in places)
        yield Chunk(places, keys, (POINT,) * size, "")
        start += size


class Scripted(InProcess):
    """Workers of a test: one process for all, lost whenever a killer is measured."""

    def __init__(self, killers=(), slots=3, lose=(), error=None):
        self.slots, self.killers, self.lose, self.error = slots, set(killers), set(lose), error
        self.submitted, self.out = [], []

    def submit(self, chunk):
        self.submitted.append(chunk.places)
        future = Future()
        self.out.append((future, chunk))
        if self.error is not None:
            future.set_exception(self.error)
        elif len(self.submitted) in self.lose or self.killers & set(chunk.places):
            for waiting, _ in self.out:
                if not waiting.done():
                    waiting.set_exception(BrokenExecutor())
        elif len(self.out) >= self.slots or True:
            future.set_result([({"place": place}, None, None) for place in chunk.places])
        return future

    def died(self, error):
        return isinstance(error, BrokenExecutor)

    def collect(self, chunk, result):
        return Finished(chunk.rows(result), 0.0)


def measured(workers, *sizes):
    rows = [row for finished in dispatch(workers, chunks(*sizes)) for row in finished.rows]
    assert sorted(row.place for row in rows) == list(range(sum(sizes)))
    return {row.place: row.reason for row in rows if row.results is None}


def test_all_chunks_are_measured_once():
    workers = Scripted()
    assert measured(workers, 2, 3, 1) == {}
    assert workers.submitted == [(0, 1), (2, 3, 4), (5,)]


def test_nothing_to_do():
    assert list(dispatch(Scripted(), iter(()))) == []


@pytest.mark.parametrize("lose", [{1}, {2}, {1, 2}, {3, 4, 5}, {1, 2, 3, 4}])
def test_a_process_lost_now_and_then_loses_no_point(lose):
    assert measured(Scripted(lose=lose), 4, 4, 4) == {}


@pytest.mark.parametrize("killers", [{0}, {6}, {11}, {0, 11}, {4, 5, 6, 7}, set(range(12))])
def test_only_the_points_at_fault_are_given_up(killers):
    workers = Scripted(killers)
    failed = measured(workers, 4, 4, 4)
    assert failed.keys() == killers
    assert set(failed.values()) == {
        f"WorkerDied: the process died {MOST_DEATHS} times at this point"
    }
    for place in killers:
        assert workers.submitted.count((place,)) == MOST_DEATHS


def test_no_more_chunks_are_taken_than_there_are_slots():
    taken = []

    def counted():
        for chunk in chunks(*[1] * 9):
            taken.append(chunk)
            yield chunk

    finished = dispatch(Scripted(slots=2), counted())
    next(finished)
    assert len(taken) == 2


def test_an_executor_that_cannot_work_is_an_error():
    with pytest.raises(InvalidInput, match=r"executor must be able to measure .*KeyError: 'x'"):
        list(dispatch(Scripted(error=KeyError("x")), chunks(1)))
    refusal = InvalidInput("store", "x", "must be writable")
    with pytest.raises(InvalidInput, match="store must be writable"):
        list(dispatch(Scripted(error=refusal), chunks(1)))
