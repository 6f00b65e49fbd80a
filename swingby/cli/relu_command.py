"""The command ``swingby relu``: extremal vectors of data, and the study of the threshold."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
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

#: Seconds between two lines where there is no terminal.
_EVERY = 5.0


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

    found = study(
        quick=quick,
        seed=seed,
        store=store,
        workers=workers or min(2, os.cpu_count() or 1),
        tell=_teller(),
    )
    deliver(tables(found), found.to_dict(), as_json=as_json, out=out)
    return exit_code(row["verdict"] for row in rows(found))


def _look(path: str, seed: int, *, as_json: bool, out: str | None) -> int:
    """The extremal vectors of data in a file, and what is asked of them."""
    import numpy as np

    from swingby.relu.results import check, extremal_vectors

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


def _teller() -> Callable[[float, str], None]:
    """A line that is written over on a terminal, and one every few seconds elsewhere."""
    said = -_EVERY

    def tell(share: float, words: str) -> None:
        nonlocal said
        if sys.stderr.isatty():
            end = "\n" if share >= 1 else ""
            click.echo(f"\r\033[Kswingby: {share:4.0%} {words}{end}", err=True, nl=False)
        elif time.monotonic() - said >= _EVERY or share >= 1:
            said = time.monotonic()
            click.echo(f"swingby: {share:4.0%} {words}", err=True)

    return tell
