"""The command line: parses, calls, prints. No mathematics.

Exit codes: 0 done (and the assumptions hold), 1 done and they fail, 2 wrong input (one line on
stderr), 3 undecided, 130 interrupted.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from swingby import __version__
from swingby.errors import MISSING, InvalidInput, SwingbyError, SwingbyWarning

if TYPE_CHECKING:
    from swingby.theory.initial import Scaled
    from swingby.theory.task import SIMTask
    from swingby.verify.grid import Grid
    from swingby.verify.judgement import Report

_VERDICT_CODES = {"holds": 0, "fails": 1, "undecided": 3}


def _split(values: Sequence[str]) -> list[str]:
    """``--mu 1 --mu 2`` and ``--mu 1,2`` are the same."""
    return [part.strip() for value in values for part in value.split(",")]


def _task_options(command: Callable[..., Any]) -> Callable[..., Any]:
    options = [
        click.option(
            "--mu", multiple=True, metavar="X", help="Cluster distances: 1,2 or repeated."
        ),
        click.option("--sigma", multiple=True, metavar="X", help="Cluster spreads. Default 0."),
        click.option("--signal", multiple=True, metavar="X", help="The signal a, instead of mu."),
        click.option("--dim", metavar="D", help="Dimension d. Default: number of concepts."),
        click.option("--eta", metavar="X", help="Step size in the clock of (D.2)."),
        click.option("--omega", metavar="X", help="Scale of W(0), any size: 1e-400."),
        click.option("--beta", metavar="X", default="1", help="|w_ij(0)| <= beta omega."),
        click.option(
            "--w0", metavar="FILE", help="W(0): a .json, .csv, .npy file, or '2,1;1,2' itself."
        ),
        click.option(
            "--dynamics", default="euler", metavar="NAME", help="euler (D.2), gd or flow."
        ),
        click.option("--json", "as_json", is_flag=True, help="Print JSON."),
        click.option("--out", metavar="PATH", help="Write to a file; the ending gives the format."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def _make_task(
    mu: Sequence[str], sigma: Sequence[str], signal: Sequence[str], dim: str | None
) -> SIMTask:
    from swingby.theory.task import SIMTask

    if signal:
        if mu or sigma or dim is not None:
            raise InvalidInput(
                "signal", ",".join(signal), "must not be combined with mu, sigma, dim"
            )
        return SIMTask.from_signal(_split(signal))
    if not mu:
        raise InvalidInput("mu", MISSING, "must be given: --mu 1,2")
    centres = _split(mu)
    spreads = _split(sigma) if sigma else ["0"] * len(centres)
    size = None if dim is None else _whole(dim, "dim")
    return SIMTask(centres, spreads, size)


def _whole(text: str, name: str, least: int = 1) -> int:
    from swingby.theory import numbers

    return numbers.whole(text, name, least)


def _read_matrix(text: str) -> Any:
    """W(0) from a file or from the argument itself; nothing is unpickled or evaluated."""
    import numpy as np

    from swingby.theory import numbers

    path = Path(text)
    try:
        suffix = path.suffix.lower()
        if suffix == ".npy":
            return np.load(path, allow_pickle=False)
        if suffix == ".json":
            return _matrix_from_json(json.loads(path.read_text(encoding="utf-8")))
        if suffix in (".csv", ".txt"):
            text = ";".join(path.read_text(encoding="utf-8").split("\n")).strip(";\r ")
    except (OSError, ValueError, EOFError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or "it is not such a file"
        raise InvalidInput("w0", path, f"must be a readable matrix file ({reason})") from None
    rows = [[part for part in row.split(",") if part.strip()] for row in text.split(";")]
    return [
        [
            numbers.within_float(numbers.exact(entry, "an entry of w0"), "an entry of w0")
            for entry in row
        ]
        for row in rows
        if row
    ]


def _matrix_from_json(content: Any) -> Any:
    from swingby.theory.initial import Scaled

    if isinstance(content, dict):
        if set(content) != {"matrix", "omega"}:
            raise ValueError
        return Scaled(content["matrix"], content["omega"])
    return content


def _initial(
    task: SIMTask, w0: str | None, omega: str | None, seed: str, width: str | None
) -> Any | Scaled:
    """W(0) as given, or a Gaussian draw of scale omega."""
    from swingby.simulate.initialization import gaussian

    if w0 is not None:
        if omega is not None:
            raise InvalidInput("omega", omega, "must not be given together with w0")
        return _read_matrix(w0)
    if omega is None:
        raise InvalidInput("omega", MISSING, "must be given, or --w0")
    columns = None if width is None else _whole(width, "width")
    return gaussian(task, omega, columns, rng=_whole(seed, "seed", 0))


def _need_eta(eta: str | None) -> str:
    if eta is None:
        raise InvalidInput("eta", MISSING, "must be given: --eta 0.01")
    return eta


def _deliver(grid: Grid, content: dict[str, Any], *, as_json: bool, out: str | None) -> None:
    """Print, or write in the format that the ending of `out` names."""
    from swingby.verify.output import writable

    if out is None:
        color = sys.stdout.isatty() and "NO_COLOR" not in os.environ
        width = max(80, min(140, _terminal_width()))
        text = _as_json(content) if as_json else grid.to_text(width=width, color=color)
        click.echo(text)
        return
    makers: dict[str, Callable[[], str]] = {
        ".json": lambda: _as_json(content),
        ".md": grid.to_markdown,
        ".tex": grid.to_latex,
        ".html": grid.to_html,
        ".txt": grid.to_text,
    }
    maker = makers.get(Path(out).suffix)
    if maker is None:
        raise InvalidInput("out", out, f"must end in {', '.join(makers)}")
    with writable(out) as target:
        target.write_text(maker() + "\n", encoding="utf-8")


def _terminal_width() -> int:
    import shutil

    return shutil.get_terminal_size((120, 40)).columns


def _as_json(content: Any) -> str:
    return json.dumps(content, indent=1, allow_nan=False)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="swingby")
def cli() -> None:
    """Check assumptions, predict stages of learning, simulate, and compare.

    \b
    swingby check --signal 4,1 --omega 1e-80 --eta 1e-4
    swingby table --paper
    """  # noqa: D301 (click reads the backspace as a sign to keep the lines)


@cli.command()
@_task_options
@click.option(
    "--edition", default="printed", metavar="NAME", help="printed, corrected or repaired."
)
@click.option("--rho", default="0.1", metavar="X", help="repaired: pivots >= rho omega.")
@click.option("--statements", is_flag=True, help="Print the assumptions themselves first.")
def check(
    mu: Sequence[str],
    sigma: Sequence[str],
    signal: Sequence[str],
    dim: str | None,
    eta: str | None,
    omega: str | None,
    beta: str,
    w0: str | None,
    dynamics: str,
    as_json: bool,
    out: str | None,
    edition: str,
    rho: str,
    statements: bool,
) -> int:
    """Which assumptions hold, by what margin, and when stages are predicted."""
    from swingby.verify.check import check as run_check
    from swingby.verify.report import report_grid

    task = _make_task(mu, sigma, signal, dim)
    report = run_check(
        task,
        omega=omega,
        eta=_need_eta(eta),
        beta=beta,
        edition=edition,
        W0=None if w0 is None else _read_matrix(w0),
        rho=rho,
        dynamics=dynamics,
    )
    if statements and not as_json and out is None:
        for result in report:
            click.echo(f"{result.statement}\n")
    content = report.to_dict() | {"schedule": _schedule_of(report)}
    _deliver(report_grid(report), content, as_json=as_json, out=out)
    return _VERDICT_CODES[str(report.verdict)]


def _schedule_of(report: Report) -> dict[str, Any] | None:
    """The schedule of a report; None for numbers that can be judged but not scheduled."""
    try:
        return report.schedule.to_dict()
    except InvalidInput:
        return None


@cli.command()
@_task_options
@click.option("--width", metavar="D'", help="Columns of a Gaussian U(0). Default d.")
@click.option("--edition", default="printed", metavar="NAME", help="Lemma windows: or corrected.")
def predict(
    mu: Sequence[str],
    sigma: Sequence[str],
    signal: Sequence[str],
    dim: str | None,
    eta: str | None,
    omega: str | None,
    beta: str,
    w0: str | None,
    dynamics: str,
    as_json: bool,
    out: str | None,
    width: str | None,
    edition: str,
) -> int:
    """When every stage happens, from W(0) or from omega alone."""
    from swingby.verify.predict import predict as run_predict
    from swingby.verify.schedule_report import schedule_grid

    schedule = run_predict(
        _make_task(mu, sigma, signal, dim),
        None if w0 is None else _read_matrix(w0),
        eta=_need_eta(eta),
        dynamics=dynamics,
        omega=omega,
        beta=beta,
        width=None if width is None else _whole(width, "width"),
        edition=edition,
    )
    _deliver(schedule_grid(schedule), schedule.to_dict(), as_json=as_json, out=out)
    return 0


@cli.command()
@_task_options
@click.option("--steps", metavar="N", help="Default: until W no longer changes.")
@click.option(
    "--seed", default="0", metavar="N", help="Of the Gaussian W(0) when --omega is given."
)
@click.option("--width", metavar="D'", help="Columns of that U(0). Default d.")
def simulate(
    mu: Sequence[str],
    sigma: Sequence[str],
    signal: Sequence[str],
    dim: str | None,
    eta: str | None,
    omega: str | None,
    beta: str,
    w0: str | None,
    dynamics: str,
    as_json: bool,
    out: str | None,
    steps: str | None,
    seed: str,
    width: str | None,
) -> int:
    """Run the dynamics from W(0); --out FILE.npz or FILE.csv keeps the trajectory."""
    from swingby.simulate.run import simulate as run_simulate
    from swingby.verify.output import writable

    del beta
    task = _make_task(mu, sigma, signal, dim)
    run = run_simulate(
        task,
        _initial(task, w0, omega, seed, width),
        eta=_need_eta(eta),
        steps=None if steps is None else _whole(steps, "steps"),
        dynamics=dynamics,
    )
    if out is not None:
        with writable(out) as target:
            if target.suffix == ".npz":
                run.save(target)
            elif target.suffix == ".csv":
                run.to_frame().to_csv(target, index=False)
            elif target.suffix == ".json":
                target.write_text(_as_json(run.to_dict()) + "\n", encoding="utf-8")
            else:
                raise InvalidInput("out", out, "must end in .npz, .csv or .json")
        return 0
    click.echo(_as_json(run.to_dict()) if as_json else str(run))
    return 0


@cli.command()
@_task_options
@click.option("--paper", is_flag=True, help="The paper's own settings; --out names a folder.")
@click.option("--steps", metavar="N", help="Default: until W no longer changes.")
@click.option(
    "--seed", default="0", metavar="N", help="Of the Gaussian W(0) when --omega is given."
)
@click.option("--width", metavar="D'", help="Columns of that U(0). Default d.")
@click.option("--edition", default="printed", metavar="NAME", help="Lemma windows: or corrected.")
def table(
    mu: Sequence[str],
    sigma: Sequence[str],
    signal: Sequence[str],
    dim: str | None,
    eta: str | None,
    omega: str | None,
    beta: str,
    w0: str | None,
    dynamics: str,
    as_json: bool,
    out: str | None,
    paper: bool,
    steps: str | None,
    seed: str,
    width: str | None,
    edition: str,
) -> int:
    """Predicted against observed; --out FILE.png draws it, .csv, .parquet, .tex, .md write it."""
    if paper:
        given = {"mu": mu, "sigma": sigma, "signal": signal, "omega": omega, "w0": w0, "eta": eta}
        for name, value in given.items():
            if value:
                raise InvalidInput(name, value, "must not be given together with paper")
        return _paper(as_json=as_json, out=out)
    from swingby.verify.compare import compare

    del beta
    task = _make_task(mu, sigma, signal, dim)
    comparison = compare(
        task,
        _initial(task, w0, omega, seed, width),
        eta=_need_eta(eta),
        dynamics=dynamics,
        steps=None if steps is None else _whole(steps, "steps"),
        edition=edition,
    )
    suffix = Path(out).suffix if out else ""
    if out and suffix in (".png", ".pdf", ".svg"):
        comparison.save_picture(out)
    elif out and suffix == ".csv":
        comparison.to_csv(out)
    elif out and suffix == ".parquet":
        comparison.to_parquet(out)
    else:
        _deliver(comparison.to_grid(), comparison.to_dict(), as_json=as_json, out=out)
    return 0


def _paper(*, as_json: bool, out: str | None) -> int:
    from swingby.verify import paper_report, paper_settings

    comparisons = []
    for comparison in paper_settings.paper_tables():
        comparisons.append(comparison)
        if not as_json and out is None:
            click.echo(comparison.to_grid().to_text(width=max(100, min(140, _terminal_width()))))
            click.echo("")
    summary, gaussian = paper_report.summary_grid(comparisons), paper_report.gaussian_grid()
    if out is not None:
        written = paper_report.write_folder(out, comparisons, [gaussian, summary])
        click.echo(f"{written} files in {out}")
    elif as_json:
        content = [comparison.to_dict() for comparison in comparisons]
        click.echo(_as_json({"settings": content}))
    else:
        width = max(120, min(140, _terminal_width()))
        click.echo(gaussian.to_text(width=width) + "\n")
        click.echo(summary.to_text(width=width))
    return 0


def _one_line(text: str) -> str:
    return " ".join(text.split())


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point: runs a command and exits with its code.

    Parameters
    ----------
    arguments : sequence of str, optional
        Default: the process's own.
    """
    sys.exit(run(arguments))


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command; errors become one line on stderr.

    Parameters
    ----------
    arguments : sequence of str, optional

    Returns
    -------
    int
        The exit code.
    """
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", SwingbyWarning)
            code = cli.main(
                None if arguments is None else list(arguments), "swingby", standalone_mode=False
            )
        for warning in caught:
            click.echo(f"swingby: warning: {_one_line(str(warning.message))}", err=True)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return 0
    except click.ClickException as error:
        click.echo(f"swingby: {_one_line(error.format_message())}", err=True)
        return 2
    except SwingbyError as error:
        click.echo(f"swingby: {_one_line(str(error))}", err=True)
        return 2
    except (KeyboardInterrupt, click.Abort):
        click.echo("swingby: interrupted", err=True)
        return 130
    except BrokenPipeError:
        # The reader went away (``swingby ... | head``); keep Python from complaining at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return int(code) if isinstance(code, int) else 0


if __name__ == "__main__":
    main()
