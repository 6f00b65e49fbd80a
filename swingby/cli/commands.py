"""The commands: check, predict, simulate, table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from swingby import __version__
from swingby.cli.given import (
    TABLES,
    Given,
    check_target,
    exit_code,
    refuse,
    say,
    shared_options,
    whole,
)
from swingby.errors import InvalidInput
from swingby.report.files import whole as whole_file
from swingby.report.files import write_json
from swingby.report.pictures import ENDINGS as PICTURES
from swingby.report.text import refilled

if TYPE_CHECKING:
    from swingby.verify.judgement import Report


_SETTING = ("mu", "sigma", "signal", "dim", "eta", "omega", "w0", "u0")
_RUN = ("steps", "seed", "width")
_width = click.option("--width", metavar="D'", help="Columns of a Gaussian U(0). Default d.")
_steps = click.option("--steps", metavar="N", help="Default: until W no longer changes.")
_seed = click.option("--seed", default="0", metavar="N", help="Of the Gaussian W(0) with --omega.")
_windows = click.option(
    "--edition", default="printed", metavar="NAME", help="Of the lemma windows: or corrected."
)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="swingby")
def cli() -> None:
    """Check assumptions, predict stages of learning, simulate, and compare.

    \b
    swingby check --signal 4,1 --omega 1e-80 --eta 1e-4
    swingby table --paper
    """  # noqa: D301 (click reads the backspace as a sign to keep the lines)


@cli.command()
@shared_options
@click.option(
    "--edition", default="printed", metavar="NAME", help="printed, corrected or repaired."
)
@click.option("--rho", default="0.1", metavar="X", help="repaired: pivots >= rho omega.")
@click.option("--statements", is_flag=True, help="Print the assumptions themselves first.")
def check(given: Given, edition: str, rho: str, statements: bool) -> int:
    """Which assumptions hold, by what margin, and when stages are predicted."""
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


@cli.command()
@shared_options
@_width
@_windows
def predict(given: Given, width: str | None, edition: str) -> int:
    """When every stage happens, from W(0) or from omega alone."""
    from swingby.verify.predict import predict as run_predict
    from swingby.verify.tables import schedule_grid

    task = given.task()
    schedule = run_predict(
        task,
        given.matrix(task),
        eta=given.step_size(),
        dynamics=given.dynamics,
        omega=given.omega,
        beta=given.beta,
        width=whole(width, "width"),
        edition=edition,
    )
    given.deliver(schedule_grid(schedule), schedule.to_dict())
    return 0


@cli.command()
@shared_options
@_steps
@_seed
@_width
def simulate(given: Given, steps: str | None, seed: str, width: str | None) -> int:
    """Run the dynamics from W(0); --out FILE.npz or FILE.csv keeps the trajectory."""
    from swingby.simulate.run import simulate as run_simulate
    from swingby.theory.budget import spent

    check_target("out", given.out, (".npz", ".csv", ".json"))
    refuse("to a run: only omega is used", "beta")
    task = given.task()
    run = run_simulate(
        task,
        given.initial(task, seed, width),
        eta=given.step_size(),
        steps=whole(steps, "steps"),
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


@cli.command()
@shared_options
@click.option("--paper", is_flag=True, help="The paper's own settings; --out names a folder.")
@_steps
@_seed
@_width
@_windows
def table(
    given: Given, paper: bool, steps: str | None, seed: str, width: str | None, edition: str
) -> int:
    """Predicted against observed; --out FILE.png draws it, .csv, .parquet, .tex, .md write it."""
    if paper:
        return _paper(given)
    check_target("out", given.out, (*PICTURES, ".csv", ".parquet", *TABLES))
    refuse("to a run: only omega is used", "beta")
    from swingby.verify.compare import compare

    task = given.task()
    comparison = compare(
        task,
        given.initial(task, seed, width),
        eta=given.step_size(),
        dynamics=given.dynamics,
        steps=whole(steps, "steps"),
        edition=edition,
    )
    suffix = Path(given.out).suffix if given.out else ""
    if given.out and suffix in (".png", ".pdf", ".svg"):
        comparison.save_picture(given.out)
    elif given.out and suffix == ".csv":
        comparison.to_csv(given.out)
    elif given.out and suffix == ".parquet":
        comparison.to_parquet(given.out)
    else:
        given.deliver(comparison.to_grid(), comparison.to_dict())
    return 0


def _paper(given: Given) -> int:
    """All settings of the paper, one after the other, then the tables over all of them."""
    from swingby.verify import compare, paper_report

    refuse("together with paper", *_SETTING, "beta", "dynamics", *_RUN, "edition")
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
