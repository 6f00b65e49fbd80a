"""Chunks whose process dies: done again, split, and given up only one point at a time."""

from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future

import pytest

from swingby.errors import InvalidInput
from swingby.lab.sweeps.chunks import MOST_DEATHS, measured_chunks
from swingby.lab.sweeps.point import Point
from swingby.lab.sweeps.stored_row import StoredRow


def chunks(*sizes):
    start = 0
    for size in sizes:
        yield [
            (bytes([place]), place, Point(("2", "1"), None, None, "1", 2, place, "1", "gd"))
            for place in range(start, start + size)
        ]
        start += size


class Scripted(Executor):
    """Workers of a test: one process for all, lost whenever a killer is measured."""

    def __init__(self, killers=(), lose=(), error=None):
        self.killers, self.lose, self.error = set(killers), set(lose), error
        self.submitted, self.out = [], []

    def submit(self, call, chunk, folder, code):
        places = tuple(point.seed for _, _, point in chunk)
        self.submitted.append(places)
        future = Future()
        self.out.append(future)
        if self.error is not None:
            future.set_exception(self.error)
        elif len(self.submitted) in self.lose or self.killers & set(places):
            for waiting in self.out:
                if not waiting.done():
                    waiting.set_exception(BrokenExecutor())
        else:
            future.set_result(([StoredRow(*one, {"place": one[1]}) for one in chunk], 0.0))
        return future


def failures(workers, *sizes):
    rows = [row for found, _ in measured_chunks(workers, 3, chunks(*sizes), "") for row in found]
    assert sorted(row.place for row in rows) == list(range(sum(sizes)))
    return {row.place: row.reason for row in rows if row.results is None}


@pytest.mark.parametrize("lose", [{1}, {2}, {1, 2}, {3, 4, 5}, {1, 2, 3, 4}])
def test_a_process_lost_now_and_then_loses_no_point(lose):
    assert failures(Scripted(lose=lose), 4, 4, 4) == {}


@pytest.mark.parametrize("killers", [{0}, {6}, {11}, {0, 11}, {4, 5, 6, 7}, set(range(12))])
def test_only_the_points_at_fault_are_given_up(killers):
    workers = Scripted(killers)
    failed = failures(workers, 4, 4, 4)
    assert failed.keys() == killers
    (reason,) = set(failed.values())
    assert reason == f"WorkerDied: the process died {MOST_DEATHS} times at this point"
    for place in killers:
        assert workers.submitted.count((place,)) == MOST_DEATHS


def test_no_more_chunks_are_taken_than_there_are_slots():
    taken = []

    def counted():
        for chunk in chunks(*[1] * 9):
            taken.append(chunk)
            yield chunk

    finished = measured_chunks(Scripted(), 2, counted(), "")
    next(finished)
    assert len(taken) == 2


def test_an_executor_that_cannot_work_is_an_error():
    with pytest.raises(InvalidInput, match=r"executor must be able to import .*KeyError: 'x'"):
        list(measured_chunks(Scripted(error=KeyError("x")), 3, chunks(1), ""))
    refusal = InvalidInput("store", "x", "must be writable")
    with pytest.raises(InvalidInput, match="store must be writable"):
        list(measured_chunks(Scripted(error=refusal), 3, chunks(1), ""))


class Answering(Scripted):
    """Workers whose futures are what a test makes of an honest one."""

    def __init__(self, change):
        super().__init__()
        self.change = change

    def submit(self, call, chunk, folder, code):
        return self.change(super().submit(call, chunk, folder, code))


def answer(make):
    def change(future):
        changed = Future()
        changed.set_result(make(*future.result()))
        return changed

    return change


RUBBISH = {
    "nothing": answer(lambda rows, seconds: None),
    "a word": answer(lambda rows, seconds: "done"),
    "no seconds": answer(lambda rows, seconds: rows),
    "seconds of text": answer(lambda rows, seconds: (rows, "x")),
    "rows that are none": answer(lambda rows, seconds: ([1, 2], seconds)),
    "a row too few": answer(lambda rows, seconds: (rows[1:], seconds)),
    "rows of other points": answer(lambda rows, seconds: (rows[::-1], seconds)),
}


@pytest.mark.parametrize("change", RUBBISH.values(), ids=RUBBISH)
def test_rubbish_is_answered_by_a_sentence(change):
    with pytest.raises(InvalidInput, match="executor must return the rows of the points") as error:
        list(measured_chunks(Answering(change), 3, chunks(2, 2), ""))
    assert "\n" not in str(error.value)


def test_an_executor_without_futures_is_refused():
    with pytest.raises(InvalidInput, match="executor must return futures from submit, not str"):
        list(measured_chunks(Answering(lambda _: "x"), 3, chunks(1), ""))


def cancelled(future):
    """A future that is only cancelled, so that nobody who waits for it is told."""
    future = Future()
    assert future.cancel()
    return future


def told(future):
    """A future whose work was cancelled, as pools and Dask tell it."""
    future = Future()
    future.set_exception(CancelledError())
    return future


@pytest.mark.parametrize("change", [cancelled, told])
def test_what_is_always_cancelled_is_no_death(change):
    with pytest.raises(
        InvalidInput, match="executor must compute points, but cancelled one 3 times"
    ):
        list(measured_chunks(Answering(change), 3, chunks(2), ""))


def test_what_is_cancelled_once_is_measured_again():
    waiting = [cancelled, told]
    workers = Answering(lambda future: waiting.pop()(future) if waiting else future)
    assert failures(workers, 4, 4) == {}
