"""The command sweep: a grid of points measured into a store, watched, and exported."""

from __future__ import annotations

from pathlib import Path

import click

from swingby.cli import options
from swingby.cli.arguments import Arguments, Tables, print_result, refuse
from swingby.cli.command import command
from swingby.cli.options import PICTURES
from swingby.errors import MISSING, InvalidInput
from swingby.report.lines import has_color


@command(
    click.argument("grid", required=False),
    options.text("--out", "FOLDER", "Folder of the rows, new or from earlier sweeps."),
    options.text("--store", "FOLDER", "The same as --out."),
    options.number("--workers", "Number of processes; 0: this process.", shown="cores", least=0),
    options.number("--chunk", "Points per chunk.", shown="a second of work"),
    options.text("--dask", "ADDRESS", "Dask scheduler: tcp://host:8786 or local."),
    options.flag("--status", "Print the progress of the sweep, and run nothing."),
    options.target("--export", "Write the rows", (".parquet", ".csv")),
    options.target("--diagram", "Draw a phase diagram", PICTURES),
    options.text("--x", "NAME", "Horizontal axis: omega, a_1/a_2.", shown="a varying number"),
    options.text("--y", "NAME", "Vertical axis: eta, width.", shown="a varying number"),
    options.text("--where", "NAME=VALUE", "Draw and list only these points.", multiple=True),
    options.flag("--disagreements", "List the points where prediction and run disagree."),
    options.flag("--descents", "Count descents of the test loss by dimension."),
    options.flag("--restart", "Compute every point again; new rows replace old ones."),
    options.text("--export-old", "FILE", "Convert a SQLite store of swingby 0.1 to --out."),
    options.JSON,
)
def sweep(given: Arguments) -> int:
    """Predict and run every point of a grid, and store the rows.

    GRID is a TOML file or the name of a built-in grid: atlas (a million points), dimension,
    descents. The same command resumes a sweep that was stopped. Exit code 0: all points are done
    (with --status: none failed), 1: some points failed.

    \b
    swingby sweep grid.toml --out phases --diagram phases.png
    """  # noqa: D301
    if given.out is not None:
        refuse("with out, which means the same", "store")
    if given.status:
        refuse("together with status", "restart", "workers", "chunk", "dask", "export_old")
    folder = given.out or given.store
    if given.grid is None and folder is None:
        form = "must be given: swingby sweep grid.toml --out FOLDER, or atlas for grid.toml"
        raise InvalidInput("grid", MISSING, form)
    if folder is None:
        raise InvalidInput("out", MISSING, "must be given: the folder of the rows")
    if given.export_old is not None:
        return _export_old(given, folder)
    if given.grid is None:
        raise InvalidInput("grid", MISSING, "must be given: a TOML file, or the name of a grid")
    if given.descents:
        refuse("together with descents", "as_json")
    from swingby.lab.sweeps.grid import as_grid
    from swingby.lab.sweeps.sweep_result import SweepResult

    points = as_grid(given.grid)
    where = _fixed_values(given.where)
    if given.diagram is None:
        refuse("without diagram", "x", "y")
        if not given.disagreements:
            refuse("without diagram or disagreements", "where")
    if given.diagram is not None or given.disagreements:
        from swingby.lab.sweeps.frame import check_names

        check_names(points, given.x, given.y, where)
    if given.status:
        result = SweepResult(folder, points)
    else:
        from swingby.lab.sweeps.sweep import sweep as run_sweep

        result = run_sweep(
            points,
            out=given.out,
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
    grids, content = [status.to_grid(result.store)], status.to_dict()
    if given.disagreements:
        disagreements = result.disagreements(where=where)
        grids.append(disagreements.to_grid())
        content["disagreements"] = disagreements.to_dict()
    print_result(Tables(grids), lambda: content, as_json=given.as_json)
    if given.descents:
        click.echo("\n" + result.descents().to_text(color=has_color()))
    return 1 if status.failed else 0


def _export_old(given: Arguments, folder: str) -> int:
    refuse("together with export_old", "grid", "workers", "chunk", "dask", "export", "diagram", "x")
    refuse("together with export_old", "y", "where", "disagreements", "descents", "restart")
    refuse("together with export_old", "as_json")
    from swingby.lab.sweeps.old_store import export_old_store

    rows = export_old_store(given.export_old, folder)
    click.echo(f"{given.export_old}: {rows} rows exported to {folder}")
    return 0


def _fixed_values(where: tuple[str, ...]) -> dict[str, str]:
    values: dict[str, str] = {}
    for text in where:
        name, sign, value = text.partition("=")
        if not sign or name in values:
            raise InvalidInput("where", text, "must be NAME=VALUE, every name once")
        values[name] = value
    return values
