"""The command sweep: a grid of points measured into a file, watched, and exported."""

from __future__ import annotations

from pathlib import Path

import click

from swingby.cli import options
from swingby.cli.arguments import Arguments, Tables, print_result, refuse
from swingby.cli.command import command
from swingby.cli.options import PICTURES
from swingby.errors import InvalidInput
from swingby.report.lines import has_color


@command(
    click.argument("grid"),
    options.text("--store", "FILE", "SQLite file, new or of this sweep.", required=True),
    options.number("--workers", "Number of processes; 0: only this one.", shown="cores", least=0),
    options.number("--chunk", "Points per chunk.", shown="a second of work"),
    options.text("--dask", "ADDRESS", "Dask scheduler: tcp://host:8786 or local."),
    options.flag("--status", "Print how far the sweep is, and run nothing."),
    options.target("--export", "Write the rows", (".parquet", ".csv")),
    options.target("--diagram", "Draw a phase diagram", PICTURES),
    options.text("--x", "NAME", "Axis across: omega, a_1/a_2.", shown="what varies"),
    options.text("--y", "NAME", "Axis up: eta, width.", shown="what varies"),
    options.text("--where", "NAME=VALUE", "Draw and list these points.", multiple=True),
    options.flag("--disagreements", "List points not observed as predicted."),
    options.flag("--descents", "Count descents of the test loss by dimension."),
    options.flag("--restart", "Measure every point again; rows are replaced."),
    options.JSON,
)
def sweep(given: Arguments) -> int:
    """Predict and run every point of a grid, and store the rows.

    GRID is a TOML file or the name of a built-in grid: atlas (a million points), dimension,
    descents. The same command resumes where it was stopped. Exit code 0: all points done (with
    --status: none failed), 1: some points failed.

    \b
    swingby sweep grid.toml --store sweep.sqlite --diagram phases.png
    """  # noqa: D301
    if given.status:
        refuse("together with status", "restart", "workers", "chunk", "dask")
    if given.descents:
        refuse("together with descents", "as_json")
    from swingby.lab.sweeps.grid import as_grid
    from swingby.lab.sweeps.sweep_result import SweepResult

    points = as_grid(given.grid)
    where = _asked(given.where)
    if given.diagram is None:
        refuse("without diagram", "x", "y")
        if not given.disagreements:
            refuse("without diagram or disagreements", "where")
    if given.diagram is not None or given.disagreements:
        from swingby.lab.sweeps.frame import check_names

        check_names(points, given.x, given.y, where)
    if given.status:
        result = SweepResult(given.store, points)
    else:
        from swingby.lab.sweeps.sweep import sweep as run_sweep

        result = run_sweep(
            points,
            store=given.store,
            executor="dask" if given.dask == "local" else given.dask,
            resume=not given.restart,
            workers=given.workers,
            chunk=given.chunk,
        )
    if given.export is not None:
        in_parquet = Path(given.export).suffix == ".parquet"
        (result.to_parquet if in_parquet else result.to_csv)(given.export)
    if given.diagram is not None:
        result.phase_diagram(given.x, given.y, where=where).save_picture(given.diagram)
    status = result.status()
    grids, plain = [status.to_grid(result.store)], status.to_dict()
    if given.disagreements:
        found = result.disagreements(where=where)
        grids.append(found.to_grid())
        plain["disagreements"] = found.to_dict()
    print_result(Tables(grids), lambda: plain, as_json=given.as_json)
    if given.descents:
        click.echo("\n" + result.descents().to_text(color=has_color()))
    return 1 if status.failed else 0


def _asked(where: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for one in where:
        name, sign, value = one.partition("=")
        if not sign or name in found:
            raise InvalidInput("where", one, "must be NAME=VALUE, every name once")
        found[name] = value
    return found
