"""What every command is given: the options they share, and what is made of them."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import click
from click.core import ParameterSource

from swingby.errors import MISSING, InvalidInput
from swingby.report.files import json_text, write_json, write_text
from swingby.report.text import USUAL, has_color
from swingby.theory.verdict import Verdict, all_hold

if TYPE_CHECKING:
    from swingby.report import Grid
    from swingby.theory.task import SIMTask


F = TypeVar("F", bound=Callable[..., Any] | click.Command)
#: Endings of the files that tables are written to.
TABLES = (".json", ".md", ".tex", ".html", ".txt")


class Option(Protocol):
    """What click makes of an option: a decorator of commands."""

    def __call__(self, command: F, /) -> F:
        """The command with the option."""


class Whole(click.ParamType):  # type: ignore[type-arg]
    """A whole number from some least one on; 1e3 is one."""

    name = "n"

    def __init__(self, least: int = 1) -> None:
        self.least = least

    def convert(self, value: Any, param: click.Parameter | None, _: Any) -> int:
        """The number, or an error that names the option."""
        from swingby.theory import numbers

        return numbers.whole(value, (param and param.name) or "number", self.least)


class Target(click.Path):
    """A file to write, refused before long work rather than after it."""

    def __init__(self, endings: Sequence[str]) -> None:
        super().__init__()
        self.endings = endings

    def convert(self, value: Any, param: click.Parameter | None, _: Any) -> str:
        """The path, or an error that names the option."""
        check_target((param and param.name) or "out", value, self.endings)
        return str(value)


def check_target(name: str, path: str, endings: Sequence[str]) -> None:
    """Refuse a file that no format is known for, or a folder that cannot be written to."""
    if Path(path).suffix not in endings:
        raise InvalidInput(name, path, f"must end in {listed(endings)}")
    folder = Path(path).resolve().parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise InvalidInput(name, path, "must lie in a folder that can be written to")


def listed(names: Sequence[str]) -> str:
    """Names as in a sentence: .png, .pdf or .svg."""
    return " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def target_option(name: str, what: str, endings: Sequence[str], *, checked: bool = True) -> Option:
    """An option that names a file to write; its help lists the endings."""
    kind = Target(endings) if checked else click.Path()
    return click.option(name, metavar="FILE", type=kind, help=f"{what}: {listed(endings)}.")


def out_option(endings: Sequence[str] = TABLES, *, checked: bool = True) -> Option:
    """The option --out of a command."""
    return target_option("--out", "Write the result to a file", endings, checked=checked)


def flag(name: str, words: str, parameter: str | None = None) -> Option:
    """An option without a value."""
    return click.option(*filter(None, (name, parameter)), is_flag=True, help=words)


def text(name: str, metavar: str, words: str, default: Any = None, **more: Any) -> Option:
    """An option that is read later; `shown`: its default in words."""
    more["show_default"] = more.pop("shown", True)
    return click.option(name, metavar=metavar, default=default, help=words, **more)


def number(
    name: str, words: str, default: int | None = None, *, least: int = 1, shown: str | bool = True
) -> Option:
    """An option that is a whole number; `shown`: its default in words."""
    return click.option(name, type=Whole(least), default=default, show_default=shown, help=words)


def choice(
    name: str, names: str, words: str, default: str | None = None, *, shown: str | None = None
) -> Option:
    """An option that is one of some names, by default the first; `shown`: its default in words."""
    kind = click.Choice(names.split())
    usual = default or (None if shown else kind.choices[0])
    return click.option(name, type=kind, default=usual, show_default=shown or True, help=words)


def seed_option(what: str, default: int = 0) -> Option:
    """The option --seed of a command."""
    return number("--seed", f"Seed of {what}.", default, least=0)


JSON = flag("--json", "Print JSON.", "as_json")
MU = text("--mu", "X,X", "Distances of the clusters, by concept.", multiple=True)
SIGMA = text("--sigma", "X,X", "Spreads of the clusters; one for all.", ["0"], multiple=True)
EDITION = choice("--edition", "printed corrected repaired", "Edition of the assumptions.")
DIM = number("--dim", "Dimension d.", shown="number of concepts")
_OPTIONS = (
    MU,
    SIGMA,
    text("--signal", "X,X", "The signal a, in place of --mu.", multiple=True),
    DIM,
    text("--w0", "FILE", "W(0): .json, .toml, .csv, .npy, .npz, or '2,1;1,2'."),
    text("--u0", "FILE", "U(0), in place of W(0) = U(0) U(0)^T."),
    text("--omega", "X", "Scale of W(0), of any size: 1e-400."),
    text("--beta", "X", "With --omega: |w_ij(0)| <= beta omega.", "1"),
    text("--eta", "X", "Required. Step size in the clock of (D.2)."),
    choice("--dynamics", "euler gd flow", "euler is the printed (D.2)."),
    JSON,
)
#: Headings of the options in the help of a command.
SECTIONS = {
    "The task": (
        *("mu", "sigma", "signal", "dim", "data", "points_per_class", "center_cluster"),
        *("rotation", "truncation", "free_sigma"),
    ),
    "The start": (
        *("w0", "u0", "omega", "beta", "width", "seed", "seeds", "start", "initialization"),
        "scale",
    ),
    "The network": ("depth", "activation", "no_bias", "symmetric", "denoiser", "reads"),
    "The run": (
        *("eta", "dynamics", "steps", "edition", "rho", "optimizer", "lr", "batch_size", "batch"),
        *("loss", "shuffle", "weight_decay", "epochs", "record", "precision", "device"),
    ),
}


class Sections(click.Command):
    """A command with many options, shown under headings."""

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, each under the heading of its name."""
        heading = {name: title for title, names in SECTIONS.items() for name in names}
        for title in (*SECTIONS, "Options"):
            options = [one for one in self.params if heading.get(str(one.name), "Options") == title]
            if title == "Options":
                options += filter(None, [self.get_help_option(context)])
            records = [one.get_help_record(context) for one in options]
            if any(records):
                with formatter.section(title):
                    formatter.write_dl([one for one in records if one])


def refuse(beside: str, *names: str) -> None:
    """Refuse by name the options that were typed and would be ignored beside another."""
    context = click.get_current_context()
    for name in names:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            shown = name.removeprefix("as_")
            value = context.params.get(name, "it")
            raise InvalidInput(shown, value, f"must not be given {beside}")


def refuse_json(target: str | None, name: str = "out") -> None:
    """Refuse --json beside a file to write."""
    if target is not None:
        refuse(f"together with {name}: the ending gives the format", "as_json")


@dataclass(frozen=True)
class Given:
    """The shared options as text, the way they were typed."""

    mu: Sequence[str]
    sigma: Sequence[str]
    signal: Sequence[str]
    dim: int | None
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

            if self.mu or self.sigma != ("0",) or self.dim is not None:
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

    def initial(self, task: SIMTask, seed: int, width: int | None) -> Any:
        """W(0) as given, or a Gaussian draw of scale omega."""
        from swingby.simulate.initialization import gaussian

        if self.w0 is not None or self.u0 is not None:
            if self.omega is not None:
                other = "w0" if self.u0 is None else "u0"
                raise InvalidInput("omega", self.omega, f"must not be given together with {other}")
            return self.matrix(task)
        if self.omega is None:
            raise InvalidInput("omega", MISSING, "must be given, or --w0 or --u0")
        return gaussian(task, self.omega, width, rng=seed)

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
    check_target("out", out, TABLES)
    write_text(out, makers[Path(out).suffix]())


def say(tables: Any, content: Any, *, as_json: bool = False) -> None:
    """Print a result, or several: JSON, or text as wide as the terminal, in colour on one."""
    if as_json:
        click.echo(json_text(content))
        return
    shown = tables if isinstance(tables, Sequence) else (tables,)
    color = has_color()
    click.echo("\n\n".join(one.to_text(color=color) for one in shown))


def shared_options(
    *endings: str, checked: bool = True
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Give a command the shared options, gathered in a :class:`Given` that it takes first.

    `endings`: of the files that --out may name; not `checked` where it may also be a folder.
    """
    out = out_option(endings, checked=checked)

    def decorate(command: Callable[..., int]) -> Callable[..., int]:
        @functools.wraps(command)
        def gathered(**options: Any) -> int:
            shared = {field.name: options.pop(field.name) for field in fields(Given)}
            refuse_json(shared["out"])
            return command(Given(**shared), **options)

        decorated: Callable[..., int] = with_options((*_OPTIONS, out))(gathered)
        return decorated

    return decorate


def with_options(options: Sequence[Any]) -> Callable[[Any], Any]:
    """A decorator that gives a command options, shown in this order."""

    def decorate(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def task_of(mu: Sequence[str], sigma: Sequence[str], dim: int | None) -> SIMTask:
    """The task that mu, sigma and dim describe."""
    from swingby.theory.task import SIMTask

    if not mu:
        raise InvalidInput("mu", MISSING, "must be given: --mu 1,2")
    spreads = _split(sigma)
    return SIMTask(_split(mu), spreads[0] if len(spreads) == 1 else spreads, dim)


def setting_seeds(setting: Any, count: int, most: int) -> list[Any]:
    """A setting with as many seeds as asked for; a typing error should not make a million."""
    if count > most:
        raise InvalidInput("seeds", count, f"must be at most {most}")
    return [replace(setting, seed=setting.seed + k) for k in range(count)]


def _split(values: Sequence[str]) -> list[str]:
    """``--mu 1 --mu 2`` and ``--mu 1,2`` are the same."""
    return [part.strip() for value in values for part in value.split(",")]
