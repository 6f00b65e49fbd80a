"""The command ``swingby relu``: extremal vectors of data, and the study of the threshold."""

from __future__ import annotations

import os
from pathlib import Path

import click

from swingby.cli.given import (
    JSON,
    deliver,
    exit_code,
    flag,
    number,
    out_option,
    refuse_json,
    seed_option,
    target_option,
    text,
)
from swingby.errors import InvalidInput
from swingby.report.progress import EVERY, Progress


class _Told(Progress):
    """A bar on a terminal, and a line every few seconds elsewhere."""

    def tell(self, share: float, words: str) -> None:
        """Say how far the study is."""
        due = self._is_due(EVERY) or share in (0, 1)
        if not self._on_bar(completed=share, what=words) and due:
            self._write(f"{share:4.0%} {words}")


@click.command()
@text("--data", "FILE", "Judge these data: CSV, the last column is y.")
@flag("--quick", "Run a study of minutes, not of an hour.")
@seed_option("all data and networks", 7)
@target_option("--store", "Keep the study in a file, and resume it", (".json",))
@number("--workers", "Number of processes.", shown="cores, two at most")
@JSON
@out_option()
def relu(
    data: str | None,
    quick: bool,
    seed: int,
    store: str | None,
    workers: int | None,
    as_json: bool,
    out: str | None,
) -> int:
    """Study two-layer ReLU networks: alignment and threshold.

    The study asks when the networks align early, and past which threshold they fit no noise. Exit
    code 0: every verdict holds, 1: some fail, 3: none fails, but some are undecided.

    \b
    swingby relu --quick
    swingby relu --store relu.json --out relu.md
    swingby relu --data points.csv
    """  # noqa: D301 (click reads the backspace as a sign to keep the lines)
    refuse_json(out)
    if data is not None:
        for name, value in (("quick", quick), ("store", store), ("workers", workers)):
            if value:
                raise InvalidInput(name, value, "must not be given together with data")
        return _look(data, seed, as_json=as_json, out=out)
    from swingby.relu.verdicts import rows, study, tables

    count = workers or min(2, os.cpu_count() or 1)
    with _Told("relu", 1, "share remaining what", shown=True) as told:
        found = study(quick=quick, seed=seed, store=store, workers=count, tell=told.tell)
    deliver(tables(found), found.to_dict(), as_json=as_json, out=out)
    return exit_code(row["verdict"] for row in rows(found))


def _look(path: str, seed: int, *, as_json: bool, out: str | None) -> int:
    """The extremal vectors of data in a file, and what is asked of them."""
    import numpy as np

    from swingby.relu import check, extremal_vectors

    try:
        table = np.loadtxt(Path(path), delimiter=",", ndmin=2, comments="#")
    except OSError as error:
        reason = error.strerror or "no such file"
        raise InvalidInput("data", path, f"must be readable ({reason})") from None
    except (ValueError, UnicodeDecodeError):
        raise InvalidInput("data", path, "must be numbers between commas, a row a point") from None
    if table.shape[1] < 3:
        raise InvalidInput("data", path, "must have two columns of x or more, and y last")
    found = extremal_vectors(table[:, :-1], table[:, -1], seed=seed)
    report = check(table[:, :-1], table[:, -1], seed=seed)
    content = report.to_dict() | {"extremal_vectors": found.to_dict()}
    deliver([report.to_grid(), found.to_grid()], content, as_json=as_json, out=out)
    return exit_code(one.verdict for one in report.statements)
