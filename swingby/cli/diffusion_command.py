"""The command ``swingby diffusion``: image diffusion models against the theory, by a plan."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from swingby.cli.given import (
    JSON,
    TABLES,
    Target,
    choice,
    deliver,
    exit_code,
    number,
    refuse_json,
    target_option,
    text,
    with_options,
)
from swingby.errors import InvalidInput
from swingby.report.files import write_text
from swingby.report.pictures import ENDINGS as PICTURES
from swingby.report.pictures import save_figure

if TYPE_CHECKING:
    from swingby.diffusion.study import Study

_JUDGING = (
    target_option("--plot", "Draw responses over training", PICTURES),
    target_option("--film", "Draw images of the last cell over training", PICTURES),
    target_option("--table", "Write the tables", TABLES),
    JSON,
)


@click.group()
def diffusion() -> None:
    """Train image diffusion models and compare with the theory.

    The images are circles. A plan says what is trained, what is predicted and by which rules,
    before there are data. A study runs it; a plan that was edited since is refused.

    \b
    swingby diffusion plan --out plan.toml
    swingby diffusion study --plan plan.toml --out FOLDER
    swingby diffusion judge FOLDER/study.json
    """  # noqa: D301 (click reads the backspace as a sign to keep the lines)


@diffusion.command()
@click.option(
    "--out", metavar="FILE", required=True, type=Target((".toml",)), help="New file, .toml."
)
@choice("--size", "tiny small paper", "How much is trained: small takes an hour.", "small")
@target_option("--data", "Draw images of the four classes, as Fig. 19", PICTURES)
def plan(out: str, size: str, data: str | None) -> int:
    """Write the plan of a factorial study.

    Its factors are separation, contrast, gain and optimizer.

    \b
    swingby diffusion plan --out plan.toml --size tiny
    """  # noqa: D301
    from swingby.diffusion.plan import default_plan

    written = default_plan(size)
    if Path(out).exists():  # data may lie behind it
        raise InvalidInput("out", out, "must not be there yet")
    write_text(out, written.to_toml())
    if data is not None:
        from swingby.diffusion.pictures import circles_figure

        levels = (written.contrast[-1], written.contrast[0])
        save_figure(lambda: circles_figure(levels, written.preset.pixels), data)
    runs, cells = len(written.jobs), len(written.cells)
    click.echo(f"{out}: {runs} runs in {cells} cells, {len(written.predictions)} predictions")
    click.echo(f"digest {written.digest}")
    return 0


@diffusion.command()
@click.option("--plan", "path", metavar="FILE", required=True, help="The plan, .toml.")
@text("--out", "FOLDER", "Folder of the results.", shown="name of the plan")
@number("--workers", "Models trained at a time.", shown="cores; 4 on a GPU")
@choice("--device", "cpu cuda", "Where to train.")
@with_options(_JUDGING)
def study(
    path: str,
    out: str | None,
    workers: int | None,
    device: str,
    plot: str | None,
    film: str | None,
    table: str | None,
    as_json: bool,
) -> int:
    """Train what a plan says, and judge the theory by it.

    The same command resumes a study that was stopped. Exit code 0: every prediction holds, 1: some
    fail, 3: none fails, but some are undecided.

    \b
    swingby diffusion study --plan plan.toml --plot responses.png
    """  # noqa: D301
    refuse_json(table, "table")
    from swingby.simulate.device import load_torch

    load_torch()
    from swingby.diffusion.plan import Plan
    from swingby.diffusion.study import run_study

    folder = Path(Path(path).stem if out is None else out)
    made = Plan.load(path)
    found = run_study(made, folder, workers=workers, device=device, progress=True)
    return _tell(found, folder, plot, film, table, as_json=as_json)


@diffusion.command()
@click.argument("what", metavar="STUDY.json|recorded")
@with_options(_JUDGING)
def judge(what: str, plot: str | None, film: str | None, table: str | None, as_json: bool) -> int:
    """Judge a study by its file, or the one in the documentation.

    \b
    swingby diffusion judge recorded --table verdicts.md
    """  # noqa: D301
    refuse_json(table, "table")
    from swingby.diffusion.study import Study, recorded_study

    if what == "recorded":
        if film is not None:
            raise InvalidInput("film", film, "needs the folder in which the study was trained")
        return _tell(recorded_study(), Path(), plot, film, table, as_json=as_json)
    return _tell(Study.load(what), Path(what).parent, plot, film, table, as_json=as_json)


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
            save_figure(lambda: pictures.study_figure(study), plot)
        if film is not None and study.courses:
            last = study.courses[-1]
            save_figure(lambda: pictures.course_film(study, folder, last.cell, last.seed), film)
    deliver(found.to_grids(), found.to_dict(), as_json=as_json, out=table)
    return exit_code(row.verdict for row in found.rows)
