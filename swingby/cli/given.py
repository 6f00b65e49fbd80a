"""What every command is given: the options they share, and what is made of them."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from swingby.errors import MISSING, InvalidInput
from swingby.report.files import json_text, write_json, write_text
from swingby.report.text import USUAL, has_color
from swingby.theory.verdict import Verdict, all_hold

if TYPE_CHECKING:
    from swingby.report import Grid
    from swingby.theory.task import SIMTask


_OPTIONS = (
    click.option("--mu", multiple=True, metavar="X", help="Cluster distances: 1,2 or repeated."),
    click.option("--sigma", multiple=True, metavar="X", help="Cluster spreads. Default 0."),
    click.option("--signal", multiple=True, metavar="X", help="The signal a, instead of mu."),
    click.option("--dim", metavar="D", help="Dimension d. Default: number of concepts."),
    click.option("--eta", metavar="X", help="Step size in the clock of (D.2)."),
    click.option("--omega", metavar="X", help="Scale of W(0), any size: 1e-400."),
    click.option("--beta", metavar="X", default="1", help="|w_ij(0)| <= beta omega."),
    click.option("--w0", metavar="FILE", help="W(0): .json, .csv, .npy, .npz, .toml; '2,1;1,2'."),
    click.option("--u0", metavar="FILE", help="U(0), d by m, in place of W(0) = U(0) U(0)^T."),
    click.option("--dynamics", default="euler", metavar="NAME", help="euler (D.2), gd or flow."),
    click.option("--json", "as_json", is_flag=True, help="Print JSON."),
    click.option("--out", metavar="PATH", help="Write to a file; the ending gives the format."),
)


#: Endings of the files that tables are written to.
TABLES = (".json", ".md", ".tex", ".html", ".txt")


def check_target(name: str, path: str | None, endings: Sequence[str]) -> None:
    """Refuse a file to write before long work rather than after it."""
    if path is None:
        return
    if Path(path).suffix not in endings:
        listed = " or ".join(filter(None, (", ".join(endings[:-1]), endings[-1])))
        raise InvalidInput(name, path, f"must end in {listed}")
    folder = Path(path).resolve().parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise InvalidInput(name, path, "must lie in a folder that can be written to")


def refuse(beside: str, *names: str) -> None:
    """Refuse by name the options that were typed and would be ignored beside another."""
    context = click.get_current_context()
    for name in names:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            shown = name.removeprefix("as_")
            value = context.params.get(name, "it")
            raise InvalidInput(shown, value, f"must not be given {beside}")


@dataclass(frozen=True)
class Given:
    """The shared options as text, the way they were typed."""

    mu: Sequence[str]
    sigma: Sequence[str]
    signal: Sequence[str]
    dim: str | None
    eta: str | None
    omega: str | None
    beta: str
    w0: str | None
    u0: str | None
    dynamics: str
    as_json: bool
    out: str | None

    def task(self) -> SIMTask:
        """The task that mu, sigma and dim, or signal, describe."""
        if self.signal:
            from swingby.theory.task import SIMTask

            if self.mu or self.sigma or self.dim is not None:
                shown = ",".join(self.signal)
                raise InvalidInput("signal", shown, "must not be combined with mu, sigma, dim")
            return SIMTask.from_signal(_split(self.signal))
        return task_of(self.mu, self.sigma, self.dim)

    def matrix(self, task: SIMTask) -> Any:
        """W(0) as given, or from U(0), or None."""
        from swingby.theory.reading import read_matrix

        if self.w0 is not None or self.u0 is not None:
            refuse("beside W(0), which says it", "beta", "width", "seed")
        if self.u0 is None:
            return None if self.w0 is None else read_matrix(self.w0, (task.dim, task.dim))
        if self.w0 is not None:
            raise InvalidInput("u0", self.u0, "must not be given together with w0")
        from swingby.theory.initial import initial_state

        U0 = read_matrix(self.u0, (task.dim, None), argument="u0")
        return initial_state(None, U0, task.dim)

    def initial(self, task: SIMTask, seed: str, width: str | None) -> Any:
        """W(0) as given, or a Gaussian draw of scale omega."""
        from swingby.simulate.initialization import gaussian

        if self.w0 is not None or self.u0 is not None:
            if self.omega is not None:
                other = "w0" if self.u0 is None else "u0"
                raise InvalidInput("omega", self.omega, f"must not be given together with {other}")
            return self.matrix(task)
        if self.omega is None:
            raise InvalidInput("omega", MISSING, "must be given, or --w0 or --u0")
        return gaussian(task, self.omega, whole(width, "width"), rng=whole(seed, "seed", 0))

    def step_size(self) -> str:
        """Eta, which no command can do without."""
        if self.eta is None:
            raise InvalidInput("eta", MISSING, "must be given: --eta 0.01")
        return self.eta

    def deliver(self, grids: Grid | Sequence[Grid], content: dict[str, Any]) -> None:
        """Print a result, or write it in the format that the ending of --out names."""
        deliver(grids, content, as_json=self.as_json, out=self.out)


def exit_code(verdicts: Iterable[Verdict]) -> int:
    """0 where all verdicts hold, 1 where one fails, otherwise 3."""
    return {Verdict.HOLDS: 0, Verdict.FAILS: 1, Verdict.UNDECIDED: 3}[all_hold(verdicts)]


def deliver(
    grids: Grid | Sequence[Grid], content: dict[str, Any], *, as_json: bool, out: str | None
) -> None:
    """Print a result, or write it in the format that the ending of a path names."""
    tables = grids if isinstance(grids, Sequence) else (grids,)
    if out is None:
        say(tables, content, as_json=as_json)
        return
    if Path(out).suffix == ".json":
        write_json(out, content)
        return
    makers: dict[str, Callable[[], str]] = {
        ".md": lambda: "\n\n".join(grid.to_markdown() for grid in tables),
        ".tex": lambda: "\n\n".join(grid.to_latex() for grid in tables),
        ".html": lambda: "\n".join(grid.to_html() for grid in tables),
        ".txt": lambda: "\n\n".join(grid.to_text(width=USUAL) for grid in tables),
    }
    maker = makers.get(Path(out).suffix)
    if maker is None:
        raise InvalidInput("out", out, f"must end in {', '.join(TABLES)}")
    write_text(out, maker())


def say(tables: Any, content: Any, *, as_json: bool = False) -> None:
    """Print a result, or several: JSON, or text as wide as the terminal, in colour on one."""
    if as_json:
        click.echo(json_text(content))
        return
    shown = tables if isinstance(tables, Sequence) else (tables,)
    color = has_color()
    click.echo("\n\n".join(one.to_text(color=color) for one in shown))


def shared_options(command: Callable[..., int]) -> Callable[..., int]:
    """Give a command the shared options, gathered in a :class:`Given` that it takes first."""

    @functools.wraps(command)
    def gathered(**options: Any) -> int:
        shared = {field.name: options.pop(field.name) for field in fields(Given)}
        if shared["out"] is not None:
            refuse("together with out: the ending gives the format", "as_json")
        return command(Given(**shared), **options)

    decorated: Callable[..., int] = with_options(_OPTIONS)(gathered)
    return decorated


def with_options(options: Sequence[Any]) -> Callable[[Any], Any]:
    """A decorator that gives a command options, shown in this order."""

    def decorate(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def task_of(mu: Sequence[str], sigma: Sequence[str], dim: str | None) -> SIMTask:
    """The task that mu, sigma and dim describe."""
    from swingby.theory.task import SIMTask

    if not mu:
        raise InvalidInput("mu", MISSING, "must be given: --mu 1,2")
    centres = _split(mu)
    spreads = _split(sigma) if sigma else ["0"] * len(centres)
    return SIMTask(centres, spreads, whole(dim, "dim"))


def whole(text: str | None, name: str, least: int = 1) -> int | None:
    """A whole number, or None for an option that was not given."""
    from swingby.theory import numbers

    return None if text is None else numbers.whole(text, name, least)


def _split(values: Sequence[str]) -> list[str]:
    """``--mu 1 --mu 2`` and ``--mu 1,2`` are the same."""
    return [part.strip() for value in values for part in value.split(",")]
