"""The command ``swingby sweep``: a grid of points measured into a file, watched, and exported."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from swingby.cli.given import json_text, terminal_width, whole
from swingby.errors import InvalidInput

if TYPE_CHECKING:
    from swingby.sweeping.result import SweepResult

_ENDINGS = (".parquet", ".csv")


@click.command()
@click.argument("grid")
@click.option("--store", required=True, metavar="FILE", help="SQLite file; made or gone on with.")
@click.option("--workers", metavar="N", help="Processes. Default: one per core; 0: this one.")
@click.option("--chunk", metavar="N", help="Points per chunk. Default: about a second of work.")
@click.option("--dask", metavar="ADDRESS", help="A Dask scheduler, tcp://host:8786; or local.")
@click.option("--status", is_flag=True, help="Only say how far the sweep is.")
@click.option("--export", metavar="FILE", help="Write the rows to .parquet or .csv.")
@click.option("--restart", is_flag=True, help="Measure every point again; rows are replaced.")
@click.option("--json", "as_json", is_flag=True, help="Print the status as JSON.")
def sweep(
    grid: str,
    store: str,
    workers: str | None,
    chunk: str | None,
    dask: str | None,
    status: bool,
    export: str | None,
    restart: bool,
    as_json: bool,
) -> int:
    """Predict and run every point of GRID, a TOML file, and keep the rows in a file.

    The same command goes on where it was stopped. Exit code 0: all points done (with --status:
    none failed), 1: some points failed.
    """
    if export is not None and Path(export).suffix not in _ENDINGS:
        raise InvalidInput("export", export, f"must end in {' or '.join(_ENDINGS)}")
    if export is not None and not Path(export).resolve().parent.is_dir():
        raise InvalidInput("export", export, "must lie in a folder that exists")
    if status and restart:
        raise InvalidInput("restart", "status", "must not be given together with status")
    from swingby.sweeping.grid import SweepGrid
    from swingby.sweeping.result import SweepResult

    points = SweepGrid.from_toml(grid)
    if status:
        result = SweepResult(store, points)
    else:
        from swingby.sweeping.sweep import sweep as run_sweep

        result = run_sweep(
            points,
            store=store,
            executor="dask" if dask == "local" else dask,
            resume=not restart,
            workers=whole(workers, "workers", 0),
            chunk=whole(chunk, "chunk"),
        )
    if export is not None:
        (result.to_parquet if Path(export).suffix == ".parquet" else result.to_csv)(export)
    return _tell(result, as_json=as_json)


def _tell(result: SweepResult, *, as_json: bool) -> int:
    from swingby.sweeping.status import status_grid

    status = result.status()
    if as_json:
        labels = [
            {"predicted": said, "observed": seen, "points": count}
            for (said, seen), count in status.labels.items()
        ]
        plain = {name: getattr(status, name) for name in ("total", "done", "failed", "missing")}
        more = {"reasons": status.reasons, "per_second": status.per_second, "labels": labels}
        click.echo(json_text(plain | more))
    else:
        color = sys.stdout.isatty() and "NO_COLOR" not in os.environ
        table = status_grid(status, result.store)
        click.echo(table.to_text(width=terminal_width(80), color=color))
    return 1 if status.failed else 0
