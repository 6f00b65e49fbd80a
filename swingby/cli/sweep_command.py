"""The command ``swingby sweep``: a grid of points measured into a file, watched, and exported."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from swingby.cli.given import JSON, flag, number, refuse, say, target_option, text
from swingby.errors import InvalidInput
from swingby.report.pictures import ENDINGS as PICTURES
from swingby.report.text import has_color

if TYPE_CHECKING:
    from swingby.sweeping.disagreements import Disagreements
    from swingby.sweeping.result import SweepResult


@click.command()
@click.argument("grid")
@click.option("--store", required=True, metavar="FILE", help="SQLite file, new or of this sweep.")
@number("--workers", "Number of processes; 0: only this one.", shown="cores", least=0)
@number("--chunk", "Points per chunk.", shown="a second of work")
@text("--dask", "ADDRESS", "Dask scheduler: tcp://host:8786 or local.")
@flag("--status", "Print how far the sweep is, and run nothing.")
@target_option("--export", "Write the rows", (".parquet", ".csv"))
@target_option("--diagram", "Draw a phase diagram", PICTURES)
@text("--x", "NAME", "Axis across: omega, a_1/a_2.", shown="what varies")
@text("--y", "NAME", "Axis up: eta, width.", shown="what varies")
@text("--where", "NAME=VALUE", "Draw and list these points.", multiple=True)
@flag("--disagreements", "List points not observed as predicted.")
@flag("--descents", "Count descents of the test loss by dimension.")
@flag("--restart", "Measure every point again; rows are replaced.")
@JSON
def sweep(
    grid: str,
    store: str,
    workers: int | None,
    chunk: int | None,
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
    """Predict and run every point of a grid, and store the rows.

    GRID is a TOML file or the name of a built-in grid: atlas (a million points), dimension,
    descents. The same command resumes where it was stopped. Exit code 0: all points done (with
    --status: none failed), 1: some points failed.

    \b
    swingby sweep grid.toml --store sweep.sqlite --diagram phases.png
    """  # noqa: D301
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
            workers=workers,
            chunk=chunk,
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
    for one in where:
        name, sign, value = one.partition("=")
        if not sign or name in found:
            raise InvalidInput("where", one, "must be NAME=VALUE, every name once")
        found[name] = value
    return found


def _tell(result: SweepResult, found: Disagreements | None, *, as_json: bool) -> int:
    status = result.status()
    grids, plain = [status.to_grid(result.store)], status.to_dict()
    if found is not None:
        grids.append(found.to_grid())
        plain["disagreements"] = found.to_dict()
    say(grids, plain, as_json=as_json)
    return 1 if status.failed else 0
