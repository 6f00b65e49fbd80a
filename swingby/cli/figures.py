"""The commands figures, evidence and diffusion: the paper's figures, and all that was predicted."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from swingby.checkout import studies_module
from swingby.cli import options
from swingby.cli.arguments import Arguments, exit_code, print_result, refuse
from swingby.cli.budget_option import BUDGET
from swingby.cli.command import Group, command
from swingby.cli.options import PICTURES
from swingby.errors import InvalidInput
from swingby.report.files import write_text
from swingby.report.pictures import save_figure
from swingby.theory.budget import expect
from swingby.theory.verdict import Verdict

#: Seconds of an edition of a figure on two cores; others take a second or two.
FIGURE_SECONDS = {"3": 30, "7": 30, "11": 10, "12": 320, "14": 30, "15": 25, "16": 35}
#: Seconds of one processor for a step of training, per pixel of its images.
IMAGE_SECONDS = 2.6e-6


@command(
    options.text("--only", "N,N", "Numbers of the figures: 5,8.", shown="all"),
    options.choice(
        "--edition",
        "caption code",
        "Parameters as printed, or those of the authors' public code.",
        shown="both",
    ),
    options.flag("--quick", "Use the quicker parameters that some figures have."),
    options.text("--out", "FOLDER", "Folder of the pictures.", "figures"),
    options.flag("--no-resume", "Compute everything again."),
    options.flag("--list", "List the figures, and draw nothing.", "listed"),
    options.JSON,
)
def figures(given: Arguments) -> int:
    """Draw the paper's figures, and judge each by its criteria.

    The same command resumes a call that was stopped. Exit code 0: every criterion holds, 1: some
    fail, 3: none fails, but some are undecided, 5: a figure could not be made.

    \b
    swingby figures --only 5,8 --quick
    """  # noqa: D301
    from swingby.lab.figures.catalogue import all_figures, chosen
    from swingby.lab.figures.figure_files import read_data
    from swingby.lab.figures.make import make_figures

    if given.listed:
        refuse("together with list", "quick", "out", "no_resume")
        from swingby.lab.figures.figures_result import list_grid

        numbers = {figure.number for figure, _ in chosen(given.only, given.edition)}
        table = list_grid(tuple(figure for figure in all_figures() if figure.number in numbers))
        print_result(table, table.to_dict, as_json=given.as_json)
        return 0
    seconds = sum(
        FIGURE_SECONDS.get(figure.number, 2)
        for figure, edition in chosen(given.only, given.edition)
        if given.no_resume or read_data(Path(given.out), figure, edition, given.quick) is None
    )
    expect("drawing the figures", seconds, partial=True)
    passed = given.named("out", "only", "quick")
    result = make_figures(editions=given.edition, resume=not given.no_resume, **passed)
    print_result(result.to_grid(), result.to_dict, as_json=given.as_json)
    return 5 if result.problems else exit_code([result.verdict])


@command(
    options.text(
        "--source",
        "NAME,NAME",
        "map, autograd, networks, deep, figures, vectors, images, relu, chains.",
        shown="all",
    ),
    options.choice("--kind", "numerics law claim description", "Kind of the rows.", shown="all"),
    options.choice(
        "--verdict",
        "holds fails undecided nothing-at-stake",
        "Verdict of the rows.",
        shown="all",
    ),
    options.flag("--rows", "Print every row, not only the counts."),
    options.text("--record", "FILE", "Record to read.", shown="that of the checkout"),
    options.JSON,
    options.out(),
)
def evidence(given: Arguments) -> int:
    """Print every prediction of the theory against its observation.

    Rows are counted by kind: numerics (two integrations of one recursion, so no evidence for the
    theory), law (the leading law, or a forecast of something that was not integrated), claim (a
    sentence of a paper) and description. They come from the studies in a checkout, which python -m
    studies repeats, or from the record that you name. Exit code 0: every row holds, 1: some fail,
    3: none fails, but some are undecided or had nothing at stake.

    \b
    swingby evidence --source networks --rows
    swingby evidence --kind law --json
    swingby evidence --record evidence.json --verdict fails
    """  # noqa: D301 (click reads the backspace as a sign to keep the lines)
    from swingby.lab.figures.evidence import evidence as collect

    if given.as_json or (given.out is not None and given.out.endswith(".json")):
        refuse("beside JSON, which has every row", "rows")
    names = None if given.source is None else [name.strip() for name in given.source.split(",")]
    verdict = None if given.verdict is None else given.verdict.replace("-", " ")
    table = collect(names, record=given.record, verdict=verdict, kind=given.kind)
    in_rows = given.rows or given.verdict is not None
    given.deliver(table.to_grid() if in_rows else table.to_overview(), table.to_dict)
    open_ = ("undecided", "nothing at stake")
    return exit_code(
        Verdict.UNDECIDED if row.verdict in open_ else Verdict(row.verdict) for row in table.rows
    )


@click.group(cls=Group)
@BUDGET
def diffusion() -> None:
    """Train image diffusion models and compare with the theory.

    The images are circles. A plan states what is trained, what is predicted, and by which rules,
    before there are data. A study runs the plan, and refuses a plan that was edited later. These
    commands need a checkout.

    \b
    swingby diffusion plan --out plan.toml
    swingby diffusion study --plan plan.toml --out FOLDER
    swingby diffusion judge FOLDER/study.json
    """  # noqa: D301 (click reads the backspace as a sign to keep the lines)


_JUDGING = (
    options.target("--plot", "Draw responses over training", PICTURES),
    options.target("--film", "Draw images of the last cell over training", PICTURES),
    options.out(name="--table", what="the tables"),
    options.JSON,
)


@command(
    options.target("--out", "New file", (".toml",), required=True),
    options.choice(
        "--size", "tiny small paper", "Size of the study; small takes an hour.", "small"
    ),
    options.target("--data", "Draw images of the four classes, as in Fig. 19", PICTURES),
    group=diffusion,
)
def plan(given: Arguments) -> int:
    """Write the plan of a factorial study.

    The factors are separation, contrast, gain and optimizer.

    \b
    swingby diffusion plan --out plan.toml --size tiny
    """  # noqa: D301
    written = _experiments("image_plan").default_plan(given.size)
    if Path(given.out).exists():  # data may lie behind it
        raise InvalidInput("out", given.out, "must be a new file: choose another name")
    write_text(given.out, written.to_toml())
    if given.data is not None:
        circles_figure = _experiments("image_pictures").circles_figure
        levels = (written.contrast[-1], written.contrast[0])
        save_figure(lambda: circles_figure(levels, written.preset.pixels), given.data)
    runs, cells = len(written.jobs), len(written.cells)
    click.echo(f"{given.out}: {runs} runs in {cells} cells, {len(written.predictions)} predictions")
    click.echo(f"digest {written.digest}")
    return 0


@command(
    options.text("--plan", "FILE", "The plan, .toml.", required=True),
    options.text("--out", "FOLDER", "Folder of the results.", shown="name of the plan"),
    options.number("--workers", "Models trained at a time.", shown="cores; 4 on a GPU"),
    options.choice("--device", "cpu cuda", "Device of the training."),
    *_JUDGING,
    group=diffusion,
)
def study(given: Arguments) -> int:
    """Train the models of a plan, and judge the theory by them.

    The same command resumes a study that was stopped. Exit code 0: every prediction holds, 1: some
    fail, 3: none fails, but some are undecided.

    \b
    swingby diffusion study --plan plan.toml --plot responses.png
    """  # noqa: D301
    from swingby.simulate.on_torch import load_torch

    runs = _experiments("image_runs")
    load_torch()
    written = _experiments("image_plan").Plan.load(given.plan)
    expect("the study", _seconds(written) / (given.workers or os.cpu_count() or 1), partial=True)
    folder = Path(Path(given.plan).stem if given.out is None else given.out)
    passed = given.named("workers", "device")
    trained = runs.run_study(written, folder, progress=True, **passed)
    return _deliver_judgement(given, trained, folder)


def _experiments(module: str) -> Any:
    """A module of the image study, in a checkout."""
    return studies_module(f"studies.{module}", "swingby diffusion")


def _seconds(plan: Any) -> float:
    """Seconds of a processor for all runs of a plan."""
    preset = plan.preset
    steps = len(plan.jobs) * preset.steps
    return float(IMAGE_SECONDS * steps * preset.batch * preset.pixels**2)


@command(click.argument("what", metavar="STUDY.json|recorded"), *_JUDGING, group=diffusion)
def judge(given: Arguments) -> int:
    """Judge the theory by a study: a file, or the recorded study.

    \b
    swingby diffusion judge recorded --table verdicts.md
    """  # noqa: D301
    studies = _experiments("image_study")
    if given.what == "recorded":
        if given.film is not None:
            required = "needs the folder in which the study was trained"
            raise InvalidInput("film", given.film, required)
        return _deliver_judgement(given, studies.recorded_study(), Path())
    study = studies.ImageStudy.load(given.what)
    return _deliver_judgement(given, study, Path(given.what).parent)


def _deliver_judgement(given: Arguments, study: Any, folder: Path) -> int:
    judgement = _experiments("image_judgement").judge(study)
    if given.plot is not None or given.film is not None:
        pictures = _experiments("image_pictures")
        if given.plot is not None:
            save_figure(lambda: pictures.study_figure(study), given.plot)
        if given.film is not None and study.courses:
            cell, seed = study.courses[-1].cell, study.courses[-1].seed
            save_figure(lambda: pictures.course_film(study, folder, cell, seed), given.film)
    given.deliver(judgement, name="table")
    return exit_code(row.verdict for row in judgement.rows)
