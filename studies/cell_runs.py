"""Cells of studies, measured by worker processes and kept in a JSON file, to go on from there."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

from swingby.errors import InvalidInput, SwingbyError
from swingby.report.files import write_json
from swingby.report.seals import unsealed
from swingby.theory.input_files import json_of

#: Seconds between two looks at what workers do.
GLANCE = 0.5
#: Gets a share from 0 to 1 and a few words.
Tell = Callable[[float, str], None]
Cell = TypeVar("Cell")
Result = TypeVar("Result")


def measure_side_by_side(
    jobs: Mapping[str, Cell],
    measure: Callable[[Cell], Result],
    workers: int,
    *,
    begin: tuple[Any, ...] = (),
    glance: Callable[[], None] | None = None,
    end: Callable[[], None] | None = None,
) -> Generator[tuple[str, Result]]:
    """Measure jobs by worker processes; names with results, as they come.

    `begin`: a function and its arguments, called in each worker before its first job. `glance` is
    called every half a second and after each job, `end` before the workers are waited for.
    SwingbyError if a worker dies.
    """
    import multiprocessing

    context = multiprocessing.get_context("spawn")
    start = begin[0] if begin else None
    pool = ProcessPoolExecutor(workers, context, initializer=start, initargs=begin[1:])
    try:
        running: dict[Future[Result], str] = {
            pool.submit(measure, job): name for name, job in jobs.items()
        }
        waiting = set(running)
        while waiting:
            finished, waiting = wait(waiting, timeout=GLANCE, return_when=FIRST_COMPLETED)
            for future in finished:
                # An error of one job ends all.
                yield running[future], future.result()
            if glance is not None:
                glance()
    except BrokenProcessPool:
        raise SwingbyError(
            "a worker died, killed or out of memory; the same call goes on where it stopped"
        ) from None
    finally:
        if end is not None:
            end()
        pool.shutdown(wait=True, cancel_futures=True)


def measure_cells(
    cells: Mapping[str, Cell],
    measure: Callable[[Cell], Any],
    *,
    head: Mapping[str, Any],
    made_by: str,
    store: str | Path | None = None,
    workers: int = 1,
    tell: Tell | None = None,
) -> dict[str, Any]:
    """Measure cells that a file does not hold yet, and keep each there as soon as it is done.

    Parameters
    ----------
    cells : mapping
        By the name under which a result is kept.
    measure : callable
        A cell to what JSON can hold; it can be pickled where there are several workers.
    head : mapping
        What the file says of itself: its format, seed and whatever else decides the results.
    made_by : str
        The command that makes such files, for messages.
    store : path, optional
        A JSON file to go on with, made if it does not exist. InvalidInput if it has another head,
        or cannot be read or written.
    workers : int
        Processes.
    tell : callable, optional
        Gets a share from 0 to 1 and the name of the cell that is done.

    Returns
    -------
    dict
        Results by the names of the cells, in their order.
    """
    path = None if store is None else Path(store)
    results = _kept(path, head, made_by) if path is not None and path.exists() else {}

    def keep() -> None:
        if path is not None:
            write_json(path, {**head, "results": results}, "store")

    keep()  # found out now if it cannot be written, not after the first cell
    waiting = {name: cell for name, cell in cells.items() if name not in results}
    if tell is not None:
        tell(len(results) / len(cells), "start")
    alone = ((name, measure(cell)) for name, cell in waiting.items())
    with closing(
        alone if workers == 1 else measure_side_by_side(waiting, measure, workers)
    ) as fresh:
        for name, result in fresh:
            results[name] = result
            keep()
            if tell is not None:
                tell(len(results) / len(cells), name)
    return {name: results[name] for name in cells}


def _kept(path: Path, head: Mapping[str, Any], made_by: str) -> dict[str, Any]:
    """The results in a file that has this head."""

    def content(plain: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        inside = unsealed(plain)
        return {name: inside[name] for name in head}, dict(inside["results"])

    stated, results = json_of(path, "store", f"file of {made_by}", content)
    for name, value in head.items():
        if stated[name] != value:
            raise InvalidInput("store", path, f"must have {name} {value}; take another file")
    return results
