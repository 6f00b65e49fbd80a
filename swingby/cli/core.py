"""The commands on one task and one start: check, predict, simulate, table, threshold, certify."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from swingby.cli import options
from swingby.cli.arguments import Arguments, Tables, Writers, exit_code, print_result, refuse
from swingby.cli.command import command
from swingby.cli.options import PICTURES
from swingby.errors import MISSING, InvalidInput
from swingby.report.files import json_text, write_text
from swingby.report.lines import refilled
from swingby.report.paper_sizes import paper_width
from swingby.report.result_formats import selected_grids

if TYPE_CHECKING:
    from swingby.verify.checking.report import Report
    from swingby.verify.comparing.comparison import Comparison
    from swingby.verify.schedule import Schedule

_ENDINGS = (".csv", ".parquet", *options.TABLES, *PICTURES)
_START = ("mu", "sigma", "signal", "dim", "eta", "omega", "w0", "u0")
_WIDTH = options.number("--width", "Number of columns of a Gaussian U(0).", shown="d")
_STEPS = options.number("--steps", "Number of steps of the run.", shown="until W rests")
_SEED = options.seed("the Gaussian W(0) that --omega draws")
_WINDOWS = options.choice("--edition", "printed corrected", "Edition of the lemma windows.")
_ACCURACY = options.choice(
    "--accuracy",
    "full leading",
    "full: the stage law; leading: only the closed form of half-times.",
)
_PROVED = options.flag("--proved", "Add proved half-times (gd, with --w0 or --u0).")
_UNITS = click.Choice(["step", "eta t"])
#: How a table of events is printed or written.
_TABLE = (
    click.option(
        "--unit",
        type=click.Choice(["step", "eta t"]),
        default="step",
        help="Unit of printed times.",
    ),
    options.text("--columns", "NAME,NAME", "Columns of the table, by their heads.", shown="all"),
    options.text("--rows", "NAME,NAME", "Rows of the table: w_11, half.", shown="all"),
    options.text(
        "--latex-width",
        "X",
        "Width that a file .tex fits: column, text, 3.25 (inches), 240pt, 83mm.",
    ),
)


@command(
    *options.SETTING,
    options.out(),
    options.EDITION,
    options.text("--rho", "X", "With --edition repaired: pivots of W(0) >= rho omega.", "0.1"),
    options.flag("--statements", "Print the statements of the assumptions first."),
)
def check(arguments: Arguments) -> int:
    """Check which assumptions hold and by what margin.

    The report also lists the predicted half-times. State W(0) by --w0 or --u0, or its scale by
    --omega. Exit code 0: all assumptions hold, 1: one fails, 3: undecided.

    \b
    swingby check --signal 4,1 --omega 1e-80 --eta 1e-4
    """  # noqa: D301
    from swingby.verify.check import check as run_check

    if arguments.statements:
        refuse("together with statements, which are printed", "as_json", "out")
    if arguments.edition != "repaired":
        refuse("without --edition repaired", "rho")
    report = run_check(**arguments.setting("omega", "beta", "edition", "rho"))
    if arguments.statements:
        for result in report:
            click.echo(refilled(str(result.statement)) + "\n")
    content = {"schedule": _schedule_of(report)}
    arguments.deliver(report.to_grid(), lambda: report.to_dict() | content)
    return exit_code([report.verdict])


def _schedule_of(report: Report) -> dict[str, Any] | None:
    """The schedule of a report; None for numbers that can be judged but not scheduled."""
    try:
        return report.schedule.to_dict()
    except InvalidInput:
        return None


@command(*options.SETTING, options.out(), _WIDTH, _WINDOWS, *_TABLE, _ACCURACY, _PROVED)
def predict(arguments: Arguments) -> int:
    """Predict when each concept is learned.

    State W(0) by --w0 or --u0. With --omega alone, the prediction is over Gaussian starts.

    \b
    swingby predict --signal 4,1 --omega 1e-8 --eta 0.01
    """  # noqa: D301
    from swingby.verify.predict import predict as run_predict

    _refuse_layout(arguments)
    names = ("omega", "beta", "width", "edition", "accuracy", "proved")
    schedule = run_predict(**arguments.setting(*names))
    _deliver_events(arguments, schedule)
    return 0


@command(*options.SETTING, options.out(".npz", ".csv", ".json"), _STEPS, _SEED, _WIDTH)
def simulate(arguments: Arguments) -> int:
    """Run the dynamics from W(0).

    State W(0) by --w0 or --u0, or draw it with --omega. A file .npz or .csv holds the whole
    trajectory.

    \b
    swingby simulate --signal 4,1 --omega 1e-3 --eta 0.01 --out run.csv
    """  # noqa: D301
    from swingby.simulate.run import simulate as run_simulate
    from swingby.theory.budget import spent

    refuse("for a run, which uses only omega", "beta")
    run = run_simulate(**arguments.setting("steps", drawn=True))
    code = 4 if spent() else 0

    writers = {
        ".npz": run.save,
        ".csv": lambda path: write_text(path, run.to_frame().to_csv(index=False)),
    }
    arguments.deliver(run, writers=writers)
    return code


@command(
    *options.SETTING,
    options.out(*_ENDINGS, type=click.Path()),
    options.flag("--paper", "Compare in the paper's own settings."),
    _STEPS,
    _SEED,
    _WIDTH,
    _WINDOWS,
    *_TABLE,
)
def table(arguments: Arguments) -> int:
    """Predict, run, and print predicted against observed.

    State W(0) by --w0 or --u0, or draw it with --omega. With --paper, --out names a folder.

    \b
    swingby table --signal 4,1 --w0 '2e-3,1e-3;1e-3,2e-3' --eta 0.01
    swingby table --paper
    """  # noqa: D301
    if arguments.paper:
        return _paper(arguments)
    if arguments.out is not None:
        options.check_target("out", arguments.out, _ENDINGS)
    _refuse_layout(arguments)
    refuse("for a run, which uses only omega", "beta")
    from swingby.verify.compare import compare

    comparison = compare(**arguments.setting("steps", "edition", drawn=True))
    writers: Writers = {
        ".csv": comparison.to_csv,
        ".parquet": comparison.to_parquet,
        **dict.fromkeys(PICTURES, comparison.save_picture),
    }
    _deliver_events(arguments, comparison, writers)
    return 0


def _deliver_events(
    arguments: Arguments, result: Schedule | Comparison, writers: Writers | None = None
) -> None:
    """Print or write the table of a result in a unit, with the columns and rows asked for."""
    columns, rows = (
        value and [name.strip() for name in value.split(",")]
        for value in (arguments.columns, arguments.rows)
    )
    (grid,) = selected_grids([result.to_grid(arguments.unit)], columns, rows)

    def write_latex(path: str) -> None:
        write_text(path, grid.to_latex(width=arguments.latex_width))

    arguments.deliver(grid, result.to_dict, writers={".tex": write_latex, **(writers or {})})


def _refuse_layout(arguments: Arguments) -> None:
    """Refuse a layout but for printed tables: files for programs, and pictures, have their own."""
    if Path(arguments.out or "").suffix != ".tex":
        refuse("without --out FILE.tex", "latex_width")
    elif arguments.latex_width is not None:
        paper_width(arguments.latex_width, "latex_width")
    if arguments.as_json or Path(arguments.out or "").suffix in (
        ".json",
        ".csv",
        ".parquet",
        *PICTURES,
    ):
        refuse("with JSON, tables of numbers or pictures: they are in steps", "unit")
        refuse("with JSON, tables of numbers or pictures: they have all", "columns", "rows")


def _paper(arguments: Arguments) -> int:
    """All settings of the paper, one after the other, then the tables over all of them."""
    from swingby.cli import paper_table
    from swingby.verify.paper_settings import paper_tables

    run = ("beta", "dynamics", "steps", "seed", "width", "edition")
    layout = ("unit", "columns", "rows", "latex_width")
    refuse("together with paper", *_START, *run, *layout)
    if (
        arguments.out is not None
        and Path(arguments.out).exists()
        and not Path(arguments.out).is_dir()
    ):
        raise InvalidInput("out", arguments.out, "must be a folder")
    to_terminal = not arguments.as_json and arguments.out is None
    comparisons = []
    for comparison in paper_tables():
        comparisons.append(comparison)
        if to_terminal:
            print_result(comparison.to_grid(), dict)
            click.echo()
        elif sys.stderr.isatty():
            click.echo(f"swingby: {comparison.title}", err=True)
    grids = (paper_table.gaussian_grid(), paper_table.summary_grid(comparisons))
    if arguments.out is not None:
        written = paper_table.write_folder(arguments.out, comparisons, grids)
        click.echo(f"{written} files in {arguments.out}")
    else:
        settings = [comparison.to_dict() for comparison in comparisons]
        content = {"settings": settings, "tables": [grid.to_dict() for grid in grids]}
        print_result(Tables(grids), lambda: content, as_json=arguments.as_json)
    return 0


@command(
    click.argument("question"),
    *options.SETTING,
    options.out(),
    options.text("--vary", "NAME", "Required. omega, eta, a_1, mu_1, sigma_1, sigma or w_1_2."),
    options.text("--between", "X,X", "Range of that number.", shown="by the number"),
    _SEED,
    _WIDTH,
)
def threshold(arguments: Arguments) -> int:
    """Find where the answer to QUESTION changes as one number varies.

    QUESTION is "loss rises", "order flips", "runs away", "never learned", "2 never learned",
    "1 before 2" or "2 by 500" (steps). State W(0) by --w0; without it, a Gaussian W(0) is drawn.

    \b
    swingby threshold '1 by 500' --signal 4,1 --omega 1e-6 --vary eta
    """  # noqa: D301
    from swingby.theory.matrix_files import read_matrix
    from swingby.verify.threshold import threshold as turns

    refuse("with threshold: W(0) is --w0 or a draw", "u0", "beta")
    if arguments.vary is None:
        raise InvalidInput("vary", MISSING, "must be given: --vary omega")
    task, between = arguments.task(), arguments.between
    if arguments.w0:
        refuse("beside W(0), which determines it", "width", "seed")
    W0 = arguments.w0 and read_matrix(arguments.w0, (task.dim, task.dim))
    more = arguments.named("eta", "vary", "dynamics", "omega", "width")
    more["between"] = between and between.split(",")
    arguments.deliver(turns(task, arguments.question, W0, **more, rng=arguments.seed))
    return 0


@command(
    *options.MATRIX,
    *options.RUN,
    options.out(),
    options.number("--steps", "Last step of the run.", shown="until every fact is decided"),
    options.text("--replay", "FILE", "Check a certificate; no other option is needed."),
)
def certify(arguments: Arguments) -> int:
    """Prove when each concept is learned, in ball arithmetic.

    State W(0) by --w0. A file .json is a certificate that --replay checks. Exit code 0: every fact
    is proved, or the replay accepts, 1: the replay rejects, 3: some fact is undecided.

    \b
    swingby certify --signal 4,1 --w0 W0.csv --eta 0.01 --out run.json
    swingby certify --replay run.json
    """  # noqa: D301
    if arguments.replay is not None:
        refuse("together with replay", *_START, "dynamics", "out", "steps")
        return _replay(arguments)
    if arguments.w0 is None:
        raise InvalidInput("w0", MISSING, "must be given: --w0 FILE or '1e-3,0;0,1e-3'")
    from swingby.proofs.certify.certify import certify as make
    from swingby.theory.matrix_files import read_matrix

    def report(line: str) -> None:
        click.echo(f"\r\x1b[K{line}", err=True, nl=False)

    task = arguments.task()
    certificate = make(
        task,
        read_matrix(arguments.w0, (task.dim, task.dim), exact=True),
        eta=arguments.step_size(),
        dynamics=arguments.dynamics,
        steps=arguments.steps,
        progress=report if sys.stderr.isatty() else None,
    )
    arguments.deliver(certificate, writers={".json": certificate.save})
    return 3 if certificate.undecided else 0


def _replay(arguments: Arguments) -> int:
    from swingby.proofs.checkers.replay import read, replay
    from swingby.theory.input_files import text_of

    try:
        content = read(text_of(arguments.replay, "replay", "certificate"))
    except InvalidInput:
        raise
    except (ValueError, RecursionError):
        requirement = "must be a certificate (it is not JSON)"
        raise InvalidInput("replay", arguments.replay, requirement) from None
    reasons = replay(content)
    left_open = content.get("undecided", []) if isinstance(content, dict) and not reasons else []
    if arguments.as_json:
        answer = {"accepted": not reasons, "reasons": reasons, "not judged": left_open}
        click.echo(json_text(answer))
    elif reasons:
        click.echo("\n".join(["rejected", *(f"  {reason}" for reason in reasons)]))
    else:
        click.echo("\n".join(["accepted", *(f"  not judged: {name}" for name in left_open)]))
    return 1 if reasons else 0
