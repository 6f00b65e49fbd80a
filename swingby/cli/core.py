"""The commands check, predict, simulate, table and certify: one task, one start, one question."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from swingby.cli import options
from swingby.cli.options import PICTURES, Given, Tables, command, exit_code, refuse, say
from swingby.errors import MISSING, InvalidInput
from swingby.report.files import json_text, write_text
from swingby.report.tables import refilled

if TYPE_CHECKING:
    from swingby.verify.checking.report import Report


_ENDINGS = (".csv", ".parquet", *options.TABLES, *PICTURES)
_START = ("mu", "sigma", "signal", "dim", "eta", "omega", "w0", "u0")
_WIDTH = options.number("--width", "Columns d' of a Gaussian U(0).", shown="d")
_STEPS = options.number("--steps", "Steps of the run.", shown="until W rests")
_SEED = options.seed("the Gaussian W(0) that --omega draws")
_WINDOWS = options.choice("--edition", "printed corrected", "Edition of the lemma windows.")
_UNIT = click.option(
    "--unit", type=click.Choice(["step", "eta t"]), default="step", help="Unit of printed times."
)


@command(
    *options.SETTING,
    options.out(),
    options.EDITION,
    options.text("--rho", "X", "Edition repaired: pivots of W(0) >= rho omega.", "0.1"),
    options.flag("--statements", "Print the assumptions themselves first."),
)
def check(given: Given) -> int:
    """Which assumptions hold, by what margin; the predicted stages.

    The start is --w0, --u0 or --omega. Exit code 0: all hold, 1: one fails, 3: undecided.

    \b
    swingby check --signal 4,1 --omega 1e-80 --eta 1e-4
    """  # noqa: D301
    from swingby.verify.check import check as run_check

    if given.statements:
        refuse("together with statements, which are printed", "as_json", "out")
    if given.edition != "repaired":
        refuse("but with --edition repaired", "rho")
    report = run_check(**given.setting("omega", "beta", "edition", "rho"))
    if given.statements:
        for result in report:
            click.echo(refilled(str(result.statement)) + "\n")
    content = {"schedule": _schedule_of(report)}
    given.deliver(report.to_grid(), lambda: report.to_dict() | content)
    return exit_code([report.verdict])


def _schedule_of(report: Report) -> dict[str, Any] | None:
    """The schedule of a report; None for numbers that can be judged but not scheduled."""
    try:
        return report.schedule.to_dict()
    except InvalidInput:
        return None


@command(*options.SETTING, options.out(), _WIDTH, _WINDOWS, _UNIT)
def predict(given: Given) -> int:
    """When every stage happens, from W(0) or from omega alone.

    The start is --w0, --u0 or --omega.

    \b
    swingby predict --signal 4,1 --omega 1e-8 --eta 0.01
    """  # noqa: D301
    from swingby.verify.predict import predict as run_predict

    _refuse_unit(given)
    schedule = run_predict(**given.setting("omega", "beta", "width", "edition"))
    given.deliver(schedule.to_grid(given.unit), schedule.to_dict)
    return 0


@command(*options.SETTING, options.out(".npz", ".csv", ".json"), _STEPS, _SEED, _WIDTH)
def simulate(given: Given) -> int:
    """Run the dynamics from W(0).

    The start is --w0, --u0 or --omega. A file .npz or .csv holds the whole trajectory.

    \b
    swingby simulate --signal 4,1 --omega 1e-3 --eta 0.01 --out run.csv
    """  # noqa: D301
    from swingby.simulate.run import simulate as run_simulate
    from swingby.theory.budget import spent

    refuse("to a run: only omega is used", "beta")
    run = run_simulate(**given.setting("steps", drawn=True))
    code = 4 if spent() else 0

    writers = {
        ".npz": run.save,
        ".csv": lambda path: write_text(path, run.to_frame().to_csv(index=False)),
    }
    given.deliver(run, writers=writers)
    return code


@command(
    *options.SETTING,
    options.out(*_ENDINGS, type=click.Path()),
    options.flag("--paper", "The paper's own settings, and nothing else."),
    _STEPS,
    _SEED,
    _WIDTH,
    _WINDOWS,
    _UNIT,
)
def table(given: Given) -> int:
    """Predicted against observed.

    The start is --w0, --u0 or --omega. With --paper, --out names a folder.

    \b
    swingby table --signal 4,1 --w0 '2e-3,1e-3;1e-3,2e-3' --eta 0.01
    swingby table --paper
    """  # noqa: D301
    if given.paper:
        return _paper(given)
    if given.out is not None:
        options.check_target("out", given.out, _ENDINGS)
    _refuse_unit(given)
    refuse("to a run: only omega is used", "beta")
    from swingby.verify.compare import compare

    comparison = compare(**given.setting("steps", "edition", drawn=True))
    writers: options.Writers = {
        ".csv": comparison.to_csv,
        ".parquet": comparison.to_parquet,
        **dict.fromkeys(PICTURES, comparison.save_picture),
    }
    given.deliver(comparison.to_grid(given.unit), comparison.to_dict, writers=writers)
    return 0


def _refuse_unit(given: Given) -> None:
    """A unit is of what is printed; files for programs, and pictures, count steps."""
    if given.as_json or Path(given.out or "").suffix in (".json", ".csv", ".parquet", *PICTURES):
        refuse("beside JSON, tables of numbers and pictures, which count steps", "unit")


def _paper(given: Given) -> int:
    """All settings of the paper, one after the other, then the tables over all of them."""
    from swingby.cli import paper_table
    from swingby.verify import compare

    run = ("beta", "dynamics", "steps", "seed", "width", "edition", "unit")
    refuse("together with paper", *_START, *run)
    if given.out is not None and Path(given.out).exists() and not Path(given.out).is_dir():
        raise InvalidInput("out", given.out, "must be a folder")
    to_terminal = not given.as_json and given.out is None
    comparisons = []
    for comparison in compare.paper_tables():
        comparisons.append(comparison)
        if to_terminal:
            say(comparison.to_grid(), dict)
            click.echo()
        elif sys.stderr.isatty():
            click.echo(f"swingby: {comparison.title}", err=True)
    grids = (paper_table.gaussian_grid(), paper_table.summary_grid(comparisons))
    if given.out is not None:
        written = paper_table.write_folder(given.out, comparisons, grids)
        click.echo(f"{written} files in {given.out}")
    else:
        settings = [comparison.to_dict() for comparison in comparisons]
        content = {"settings": settings, "tables": [grid.to_dict() for grid in grids]}
        say(Tables(grids), lambda: content, as_json=given.as_json)
    return 0


@command(
    *options.MATRIX,
    *options.RUN,
    options.out(),
    options.number("--steps", "Last step of the run.", shown="until all is settled"),
    options.text("--replay", "FILE", "Check a certificate; needs no other option."),
)
def certify(given: Given) -> int:
    """Prove when a run does what, in ball arithmetic.

    The start is --w0. A file .json keeps the certificate. Exit code 0: all proved, or the replay
    accepts, 1: the replay rejects, 3: something is left undecided.

    \b
    swingby certify --signal 4,1 --w0 W0.csv --eta 0.01 --out run.json
    swingby certify --replay run.json
    """  # noqa: D301
    if given.replay is not None:
        refuse("together with replay", *_START, "dynamics", "out", "steps")
        return _replay(given)
    if given.w0 is None:
        raise InvalidInput("w0", MISSING, "must be given: --w0 FILE or '1e-3,0;0,1e-3'")
    from swingby.proofs.certify.certify import certify as make
    from swingby.theory.matrix_files import read_matrix

    def report(line: str) -> None:
        click.echo(f"\r\x1b[K{line}", err=True, nl=False)

    task = given.task()
    certificate = make(
        task,
        read_matrix(given.w0, (task.dim, task.dim), exact=True),
        eta=given.step_size(),
        dynamics=given.dynamics,
        steps=given.steps,
        progress=report if sys.stderr.isatty() else None,
    )
    given.deliver(certificate, writers={".json": certificate.save})
    return 3 if certificate.undecided else 0


def _replay(given: Given) -> int:
    from swingby.proofs.checkers.replay import read, replay
    from swingby.theory.input_files import text_of

    try:
        content = read(text_of(given.replay, "replay", "certificate"))
    except InvalidInput:
        raise
    except (ValueError, RecursionError):
        wanted = "must be a certificate (it is not JSON)"
        raise InvalidInput("replay", given.replay, wanted) from None
    reasons = replay(content)
    left_open = content.get("undecided", []) if isinstance(content, dict) and not reasons else []
    if given.as_json:
        answer = {"accepted": not reasons, "reasons": reasons, "not judged": left_open}
        click.echo(json_text(answer))
    elif reasons:
        click.echo("\n".join(["rejected", *(f"  {reason}" for reason in reasons)]))
    else:
        click.echo("\n".join(["accepted", *(f"  not judged: {name}" for name in left_open)]))
    return 1 if reasons else 0
