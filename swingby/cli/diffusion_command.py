"""The command ``swingby diffusion``: image diffusion models against the theory, by a plan."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from swingby.cli.given import (
    TABLES,
    check_target,
    deliver,
    exit_code,
    refuse,
    whole,
    with_options,
)
from swingby.errors import MISSING, InvalidInput
from swingby.report.files import whole as whole_file
from swingby.report.pictures import ENDINGS as PICTURES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from swingby.diffusion.study import Study

_JUDGING = (
    click.option("--plot", metavar="PICTURE", help="Responses over training: .png, .pdf or .svg."),
    click.option("--film", metavar="PICTURE", help="Images of the last cell over training."),
    click.option("--table", metavar="PATH", help="Write the tables; the ending gives the format."),
    click.option("--json", "as_json", is_flag=True, help="Print JSON."),
)


@click.group()
def diffusion() -> None:
    """Train diffusion models on circles and see whether the theory predicts how they learn.

    A plan says what is trained, what is predicted and by which rules, before there are data. A
    study runs it; a plan that was edited since is refused.

    \b
    swingby diffusion plan --out plan.toml
    swingby diffusion study --plan plan.toml --out FOLDER
    swingby diffusion judge FOLDER/study.json
    """  # noqa: D301 (click reads the backspace as a sign to keep the lines)


@diffusion.command()
@click.option("--out", metavar="PLAN.toml", help="The file to write; must not be there yet.")
@click.option("--size", default="small", metavar="NAME", help="small (an hour), tiny or paper.")
@click.option("--data", "sheet", metavar="PICTURE", help="Fig. 19: images of the four classes.")
def plan(out: str | None, size: str, sheet: str | None) -> int:
    """Write the plan of a factorial study: separation, contrast, gain and optimizer."""
    from swingby.diffusion.plan import default_plan

    if out is None:
        raise InvalidInput("out", MISSING, "must be given: --out plan.toml")
    check_target("out", out, (".toml",))
    if sheet is not None:
        check_target("data", sheet, PICTURES)
    written = default_plan(size)
    try:
        # A plan with data behind it must not be overwritten.
        with Path(out).open("x", encoding="utf-8") as file:
            file.write(written.to_toml())
    except FileExistsError:
        raise InvalidInput("out", out, "must not be there yet") from None
    if sheet is not None:
        from swingby.diffusion.pictures import circles_figure

        levels = (written.contrast[-1], written.contrast[0])
        _save(circles_figure(levels, written.preset.pixels), sheet)
    runs, cells = len(written.jobs), len(written.cells)
    click.echo(f"{out}: {runs} runs in {cells} cells, {len(written.predictions)} predictions")
    click.echo(f"digest {written.digest}")
    return 0


@diffusion.command()
@click.option("--plan", "path", metavar="PLAN.toml", help="As swingby diffusion plan writes it.")
@click.option("--out", metavar="FOLDER", help="Default: the name of the plan file.")
@click.option("--workers", metavar="N", help="Courses at a time. Default: the cores; 4 on a GPU.")
@click.option("--device", default="cpu", metavar="NAME", help="Or cuda.")
@with_options(_JUDGING)
def study(
    path: str | None,
    out: str | None,
    workers: str | None,
    device: str,
    plot: str | None,
    film: str | None,
    table: str | None,
    as_json: bool,
) -> int:
    """Train what a plan says, and judge the theory by it; goes on where it was stopped.

    Exit code 0: every prediction holds, 1: some fail, 3: none fails, but some are undecided.
    """
    _check(plot, film, table)
    if path is None:
        raise InvalidInput("plan", MISSING, "must be given: --plan plan.toml")
    from swingby.simulate.device import load_torch

    load_torch()
    from swingby.diffusion.plan import Plan
    from swingby.diffusion.study import run_study

    folder = Path(Path(path).stem if out is None else out)
    made = Plan.load(path)
    count = whole(workers, "workers")
    found = run_study(made, folder, workers=count, device=device, progress=True)
    return _tell(found, folder, plot, film, table, as_json=as_json)


@diffusion.command()
@click.argument("what", metavar="STUDY.json|recorded")
@with_options(_JUDGING)
def judge(what: str, plot: str | None, film: str | None, table: str | None, as_json: bool) -> int:
    """Judge a study that was run: its file, or the one in the documentation."""
    from swingby.diffusion.study import Study, recorded_study

    _check(plot, film, table)
    if what == "recorded":
        if film is not None:
            raise InvalidInput("film", film, "needs the folder in which the study was trained")
        return _tell(recorded_study(), Path(), plot, film, table, as_json=as_json)
    return _tell(Study.load(what), Path(what).parent, plot, film, table, as_json=as_json)


def _save(figure: Figure, path: str) -> None:
    with whole_file(path) as target:
        figure.savefig(target, dpi=150, bbox_inches="tight")


def _check(plot: str | None, film: str | None, table: str | None) -> None:
    if table is not None:
        refuse("together with table: its ending gives the format", "as_json")
    for name, target, endings in (
        ("plot", plot, PICTURES), ("film", film, PICTURES), ("table", table, TABLES),
    ):  # fmt: skip
        if target is not None:
            check_target(name, target, endings)


def _tell(
    study: Study,
    folder: Path,
    plot: str | None,
    film: str | None,
    table: str | None,
    *,
    as_json: bool,
) -> int:
    from swingby.diffusion.verdicts import judge

    found = judge(study)
    if plot is not None or film is not None:
        from swingby.diffusion import pictures

        if plot is not None:
            _save(pictures.study_figure(study), plot)
        if film is not None and study.courses:
            last = study.courses[-1]
            _save(pictures.course_film(study, folder, last.cell, last.seed), film)
    deliver(found.grids(), found.to_dict(), as_json=as_json, out=table)
    return exit_code(row.verdict for row in found.rows)
