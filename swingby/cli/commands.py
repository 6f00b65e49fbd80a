"""The commands: check, predict, simulate, table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from swingby import __version__
from swingby.cli.given import (
    EDITION,
    TABLES,
    Given,
    Sections,
    check_target,
    choice,
    exit_code,
    flag,
    number,
    refuse,
    say,
    seed_option,
    shared_options,
    text,
)
from swingby.errors import InvalidInput
from swingby.report.files import whole as whole_file
from swingby.report.files import write_json
from swingby.report.pictures import ENDINGS as PICTURES
from swingby.report.text import refilled

if TYPE_CHECKING:
    from swingby.verify.checking.report import Report


PICTURES_AND_TABLES = (".csv", ".parquet", *TABLES, *PICTURES)
_SETTING = ("mu", "sigma", "signal", "dim", "eta", "omega", "w0", "u0")
_RUN = ("steps", "seed", "width")
_width = number("--width", "Columns d' of a Gaussian U(0).", shown="d")
_steps = number("--steps", "Steps of the run.", shown="until W rests")
_seed = seed_option("the Gaussian W(0) that --omega draws")
_windows = choice("--edition", "printed corrected", "Edition of the lemma windows.")
_unit = click.option(
    "--unit", type=click.Choice(["step", "eta t"]), default="step", help="Unit of printed times."
)


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
    epilog="An option without a default that is not required can be left out.",
)
@click.version_option(__version__, prog_name="swingby")
def cli() -> None:
    """Check assumptions, predict stages of learning, simulate, and compare.

    \b
    swingby check --signal 4,1 --omega 1e-80 --eta 1e-4
    swingby table --paper
    """  # noqa: D301 (click reads the backspace as a sign to keep the lines)


@cli.command(cls=Sections)
@shared_options(*TABLES)
@EDITION
@text("--rho", "X", "Edition repaired: pivots of W(0) >= rho omega.", "0.1")
@flag("--statements", "Print the assumptions themselves first.")
def check(given: Given, edition: str, rho: str, statements: bool) -> int:
    """Which assumptions hold, by what margin; the predicted stages.

    The start is --w0, --u0 or --omega. Exit code 0: all hold, 1: one fails, 3: undecided.

    \b
    swingby check --signal 4,1 --omega 1e-80 --eta 1e-4
    """  # noqa: D301
    from swingby.verify.check import check as run_check
    from swingby.verify.tables import report_grid

    if statements:
        refuse("together with statements, which are printed", "as_json", "out")
    if edition != "repaired":
        refuse("but with --edition repaired", "rho")
    task = given.task()
    report = run_check(
        task,
        omega=given.omega,
        eta=given.step_size(),
        beta=given.beta,
        edition=edition,
        W0=given.matrix(task),
        rho=rho,
        dynamics=given.dynamics,
    )
    if statements:
        for result in report:
            click.echo(refilled(str(result.statement)) + "\n")
    given.deliver(report_grid(report), report.to_dict() | {"schedule": _schedule_of(report)})
    return exit_code([report.verdict])


def _schedule_of(report: Report) -> dict[str, Any] | None:
    """The schedule of a report; None for numbers that can be judged but not scheduled."""
    try:
        return report.schedule.to_dict()
    except InvalidInput:
        return None


@cli.command(cls=Sections)
@shared_options(*TABLES)
@_width
@_windows
@_unit
def predict(given: Given, width: int | None, edition: str, unit: str) -> int:
    """When every stage happens, from W(0) or from omega alone.

    The start is --w0, --u0 or --omega.

    \b
    swingby predict --signal 4,1 --omega 1e-8 --eta 0.01
    """  # noqa: D301
    from swingby.verify.predict import predict as run_predict

    _refuse_unit(given)
    task = given.task()
    schedule = run_predict(
        task,
        given.matrix(task),
        eta=given.step_size(),
        dynamics=given.dynamics,
        omega=given.omega,
        beta=given.beta,
        width=width,
        edition=edition,
    )
    given.deliver(schedule.to_grid(unit), schedule.to_dict())
    return 0


@cli.command(cls=Sections)
@shared_options(".npz", ".csv", ".json")
@_steps
@_seed
@_width
def simulate(given: Given, steps: int | None, seed: int, width: int | None) -> int:
    """Run the dynamics from W(0).

    The start is --w0, --u0 or --omega. A file .npz or .csv holds the whole trajectory.

    \b
    swingby simulate --signal 4,1 --omega 1e-3 --eta 0.01 --out run.csv
    """  # noqa: D301
    from swingby.simulate.run import simulate as run_simulate
    from swingby.theory.budget import spent

    refuse("to a run: only omega is used", "beta")
    task = given.task()
    run = run_simulate(
        task,
        given.initial(task, seed, width),
        eta=given.step_size(),
        steps=steps,
        dynamics=given.dynamics,
    )
    code = 4 if spent() else 0
    if given.out is None:
        say(run, run.to_dict(), as_json=given.as_json)
        return code
    ending = Path(given.out).suffix
    if ending == ".npz":
        run.save(given.out)
    elif ending == ".csv":
        with whole_file(given.out) as target:
            run.to_frame().to_csv(target, index=False)
    else:
        write_json(given.out, run.to_dict())
    return code


@cli.command(cls=Sections)
@shared_options(*PICTURES_AND_TABLES, checked=False)
@flag("--paper", "The paper's own settings, and nothing else.")
@_steps
@_seed
@_width
@_windows
@_unit
def table(
    given: Given,
    paper: bool,
    steps: int | None,
    seed: int,
    width: int | None,
    edition: str,
    unit: str,
) -> int:
    """Predicted against observed.

    The start is --w0, --u0 or --omega. With --paper, --out names a folder.

    \b
    swingby table --signal 4,1 --w0 '2e-3,1e-3;1e-3,2e-3' --eta 0.01
    swingby table --paper
    """  # noqa: D301
    if paper:
        return _paper(given)
    if given.out is not None:
        check_target("out", given.out, PICTURES_AND_TABLES)
    _refuse_unit(given)
    refuse("to a run: only omega is used", "beta")
    from swingby.verify.compare import compare

    task = given.task()
    comparison = compare(
        task,
        given.initial(task, seed, width),
        eta=given.step_size(),
        dynamics=given.dynamics,
        steps=steps,
        edition=edition,
    )
    suffix = Path(given.out).suffix if given.out else ""
    if given.out and suffix in PICTURES:
        comparison.save_picture(given.out)
    elif given.out and suffix == ".csv":
        comparison.to_csv(given.out)
    elif given.out and suffix == ".parquet":
        comparison.to_parquet(given.out)
    else:
        given.deliver(comparison.to_grid(unit), comparison.to_dict())
    return 0


def _refuse_unit(given: Given) -> None:
    """A unit is of what is printed; files for programs, and pictures, count steps."""
    if given.as_json or Path(given.out or "").suffix in (".json", ".csv", ".parquet", *PICTURES):
        refuse("beside JSON, tables of numbers and pictures, which count steps", "unit")


def _paper(given: Given) -> int:
    """All settings of the paper, one after the other, then the tables over all of them."""
    from swingby.verify import compare, paper_report

    refuse("together with paper", *_SETTING, "beta", "dynamics", *_RUN, "edition", "unit")
    to_terminal = not given.as_json and given.out is None
    comparisons = []
    for comparison in compare.paper_tables():
        comparisons.append(comparison)
        if to_terminal:
            say(comparison.to_grid(), None)
            click.echo()
    grids = [paper_report.gaussian_grid(), paper_report.summary_grid(comparisons)]
    if given.out is not None:
        written = paper_report.write_folder(given.out, comparisons, grids)
        click.echo(f"{written} files in {given.out}")
    else:
        settings = [comparison.to_dict() for comparison in comparisons]
        content = {"settings": settings, "tables": [grid.to_dict() for grid in grids]}
        say(grids, content, as_json=given.as_json)
    return 0
