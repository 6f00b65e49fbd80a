"""The command ``swingby sweep``: a grid of points measured into a file, watched, and exported."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from swingby.cli.given import check_target, refuse, say, whole
from swingby.errors import InvalidInput
from swingby.report.pictures import ENDINGS as PICTURES
from swingby.report.text import has_color

if TYPE_CHECKING:
    from swingby.sweeping.disagreements import Disagreements
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
@click.option("--diagram", metavar="PICTURE", help="Draw a phase diagram: .png, .pdf or .svg.")
@click.option("--x", metavar="NAME", help="Its axis across: omega, eta, width, a_1/a_2, ...")
@click.option("--y", metavar="NAME", help="Its axis up. Default: quantities that vary.")
@click.option("--where", multiple=True, metavar="NAME=VALUE", help="Draw and list these alone.")
@click.option("--disagreements", is_flag=True, help="List points not observed as predicted.")
@click.option("--descents", is_flag=True, help="Count descents of the test loss by dimension.")
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
    diagram: str | None,
    x: str | None,
    y: str | None,
    where: tuple[str, ...],
    disagreements: bool,
    descents: bool,
    restart: bool,
    as_json: bool,
) -> int:
    """Predict and run every point of GRID, a TOML file, and keep the rows in a file.

    GRID may also be the name of a built-in one: atlas (a million points), dimension, descents.

    The same command goes on where it was stopped. Exit code 0: all points done (with --status:
    none failed), 1: some points failed.
    """
    check_target("export", export, _ENDINGS)
    check_target("diagram", diagram, PICTURES)
    if status:
        refuse("together with status", "restart", "workers", "chunk", "dask")
    if descents:
        refuse("together with descents", "as_json")
    from swingby.sweeping.grid import as_grid
    from swingby.sweeping.result import SweepResult

    points = as_grid(grid)
    asked = _asked(where)
    for name, value in (("x", x), ("y", y)):
        if diagram is None and value is not None:
            raise InvalidInput(name, value, "must be given together with diagram")
    if asked and diagram is None and not disagreements:
        raise InvalidInput(
            "where", where[0], "must be given together with diagram or disagreements"
        )
    if diagram is not None or disagreements:
        from swingby.sweeping.frame import check_names

        check_names(points, x, y, asked)
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
    if diagram is not None:
        result.phase_diagram(x, y, where=asked).save_picture(diagram)
    found = result.disagreements(where=asked) if disagreements else None
    code = _tell(result, found, as_json=as_json)
    if descents:
        click.echo("\n" + result.descents().to_text(color=has_color()))
    return code


def _asked(where: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in where:
        name, sign, value = text.partition("=")
        if not sign or name in found:
            raise InvalidInput("where", text, "must be NAME=VALUE, every name once")
        found[name] = value
    return found


def _tell(result: SweepResult, found: Disagreements | None, *, as_json: bool) -> int:
    from swingby.sweeping.result import status_grid

    status = result.status()
    plain: dict[str, Any] = {}
    if as_json:
        names = ("total", "done", "failed", "missing", "reasons", "per_second")
        plain = {name: getattr(status, name) for name in names}
        plain["labels"] = [
            {"predicted": said, "observed": seen, "points": count}
            for (said, seen), count in status.labels.items()
        ]
        if found is not None:
            plain["disagreements"] = found.to_dict()
    grids = [status_grid(status, result.store), *([found.to_grid()] if found is not None else [])]
    say(grids, plain, as_json=as_json)
    return 1 if status.failed else 0
