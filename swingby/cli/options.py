"""The options of every command, and what is made of them."""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from swingby.errors import MISSING, BudgetSpent, InvalidInput
from swingby.report import Drawn, Grid
from swingby.report.files import json_text, write_json, write_text
from swingby.report.pictures import ENDINGS
from swingby.report.tables import USUAL, has_color
from swingby.theory.budget import budget, read_budget
from swingby.theory.verdict import Verdict, all_hold

if TYPE_CHECKING:
    from swingby.theory.task import SIMTask

#: What click makes of an option: a decorator of commands.
Option = Callable[[Any], Any]
#: What writes files, by their endings.
Writers = Mapping[str, Callable[[str], Any]]
#: Endings of the files that tables, and pictures, are written to.
TABLES = (".json", ".md", ".tex", ".html", ".txt")
PICTURES = ENDINGS


class Whole(click.ParamType):  # type: ignore[type-arg]
    """A whole number from some least one on; 1e3 is one."""

    name = "n"

    def __init__(self, least: int = 1) -> None:
        self.least = least

    def convert(self, value: Any, param: click.Parameter | None, _: Any) -> int:
        """The number, or an error that names the option."""
        from swingby.theory import numbers

        return numbers.whole(value, (param and param.name) or "number", self.least)


class Result(click.Option):
    """An option whose file stands for what would be printed: its ending gives the format."""


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


# Kinds of options. `shown` is the default in words, where the default itself says nothing.


def target(name: str, what: str, endings: Sequence[str], **more: Any) -> Option:
    """An option that names a file to write; its help lists the endings."""
    more = {"type": Target(endings), **more}
    return click.option(name, metavar="FILE", help=f"{what}: {listed(endings)}.", **more)


def out(
    *endings: str, name: str = "--out", what: str = "the result to a file", **more: Any
) -> Option:
    """The option that names a file for the result of a command."""
    return target(name, f"Write {what}", endings or TABLES, cls=Result, **more)


def flag(name: str, words: str, parameter: str | None = None) -> Option:
    """An option without a value."""
    return click.option(*filter(None, (name, parameter)), is_flag=True, help=words)


def text(name: str, metavar: str, words: str, default: Any = None, **more: Any) -> Option:
    """An option that is read later."""
    more["show_default"] = more.pop("shown", True)
    return click.option(name, metavar=metavar, default=default, help=words, **more)


def number(
    name: str, words: str, default: int | None = None, *, least: int = 1, shown: str | bool = True
) -> Option:
    """An option that is a whole number."""
    return click.option(name, type=Whole(least), default=default, show_default=shown, help=words)


def choice(
    name: str, names: str, words: str, default: str | None = None, *, shown: str | None = None
) -> Option:
    """An option that is one of some names, by default the first."""
    kind = click.Choice(names.split())
    usual = default or (None if shown else kind.choices[0])
    return click.option(name, type=kind, default=usual, show_default=shown or True, help=words)


def seed(what: str, default: int = 0) -> Option:
    """The option --seed of a command."""
    return number("--seed", f"Seed of {what}.", default, least=0)


JSON = flag("--json", "Print JSON.", "as_json")
MU = text("--mu", "X,X", "Distances of the clusters, by concept.", multiple=True)
SIGMA = text("--sigma", "X,X", "Spreads of the clusters; one for all.", ["0"], multiple=True)
EDITION = choice("--edition", "printed corrected repaired", "Edition of the assumptions.")
DIM = number("--dim", "Dimension d.", shown="number of concepts")
#: A task and W(0), other starts, and how it runs.
MATRIX = (
    MU,
    SIGMA,
    text("--signal", "X,X", "The signal a, in place of --mu.", multiple=True),
    DIM,
    text("--w0", "FILE", "W(0): .json, .toml, .csv, .txt, .npy, .npz, or '2,1;1,2'."),
)
STARTS = (
    text("--u0", "FILE", "U(0), in place of W(0) = U(0) U(0)^T."),
    text("--omega", "X", "Scale of W(0), of any size: 1e-400."),
    text("--beta", "X", "With --omega: |w_ij(0)| <= beta omega.", "1"),
)
RUN = (
    text("--eta", "X", "Required. Step size in the clock of (D.2)."),
    choice("--dynamics", "euler gd flow", "euler is the printed (D.2)."),
    JSON,
)
SETTING = (*MATRIX, *STARTS, *RUN)
#: Headings of the options in the help of a command that has many.
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
#: From so many options on, they are shown under headings.
MANY = 13


class Sections(click.Command):
    """A command whose options are shown under headings, if there are many."""

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, each under the heading of its name."""
        many = len(self.params) > MANY
        heading = {name: title for title, names in SECTIONS.items() for name in names if many}
        given = [one for one in self.params if isinstance(one, click.Option)]
        for title in (*SECTIONS, "Options"):
            options = [one for one in given if heading.get(str(one.name), "Options") == title]
            if title == "Options":
                options += filter(None, [self.get_help_option(context)])
            records = [one.get_help_record(context) for one in options]
            if any(records):
                with formatter.section(title):
                    formatter.write_dl([one for one in records if one])


def command(*options: Option, group: click.Group | None = None) -> Callable[[Any], click.Command]:
    """Make a command of a function of what is given; its options are shown in this order."""

    def decorate(function: Callable[[Given], int]) -> click.Command:
        @functools.wraps(function)
        def called(**given: Any) -> int:
            for one in click.get_current_context().command.params:
                if isinstance(one, Result) and given[str(one.name)] is not None:
                    refuse(f"together with {one.name}: the ending gives the format", "as_json")
            return function(Given(**given))

        decorated: Any = called
        for option in reversed((*options, BUDGET)):
            decorated = option(decorated)
        made: click.Command = click.command(cls=Sections)(decorated)
        if group is not None:
            group.add_command(made)
        return made

    return decorate


# The option --budget of every command: limits that hold whatever the command does

#: Seconds for what can stop by itself, and keep what it has, before it is stopped.
GRACE = 2.0
#: Seconds until what did not stop is told again: a library may have kept the first word to itself.
AGAIN = 10.0
#: Seconds between two looks at the memory in use.
_LOOK = 0.05


def _set_budget(context: click.Context, _: click.Parameter, text: str | None) -> None:
    seconds, size = (float("inf"),) * 2 if text is None else read_budget(text)

    def tell(line: str) -> None:
        click.echo(f"swingby: {line}", err=True)

    context.with_resource(budget(seconds, size, tell))
    if text is not None and threading.current_thread() is threading.main_thread():
        context.with_resource(_watched(seconds, size))


BUDGET = click.option(
    "--budget",
    metavar="LIMITS",
    help="Stop after so much time or memory: 60s,2GB. Exit code 4.",
    expose_value=False,
    is_eager=True,
    callback=_set_budget,
)


def budget_spent(error: BaseException | None) -> BudgetSpent | None:
    """The limit that an interruption came from, None where it came from elsewhere."""
    while error is not None and not isinstance(error, BudgetSpent):
        error = error.__cause__ or error.__context__
    return error


@contextlib.contextmanager
def _watched(seconds: float, size: float) -> Iterator[None]:
    """BudgetSpent in the main thread once a limit is passed, whatever it is doing there."""
    over, end = threading.Event(), time.monotonic() + seconds + GRACE
    why = ["time"]

    def stop(*_: Any) -> None:
        raise BudgetSpent(f"its {why[0]} is spent")

    def look() -> None:
        while not over.wait(_LOOK):
            if time.monotonic() > end or _in_use() > size:
                why[0] = "time" if time.monotonic() > end else "memory"
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)
                over.wait(AGAIN)

    before = signal.signal(signal.SIGUSR1, stop)
    watch = threading.Thread(target=look, daemon=True)
    watch.start()
    try:
        yield
    finally:
        over.set()
        watch.join()
        signal.signal(signal.SIGUSR1, before)


def _in_use(process: str = "self") -> float:
    """Bytes in memory of a process and of its workers; 0 where the system does not say.

    Of a worker, what it shares with others, the code of libraries, is not counted again.
    """
    place, found = Path("/proc", process), 0.0
    try:
        _, resident, shared, *_ = map(int, (place / "statm").read_text().split())
        found = 4096.0 * (resident - shared * (process != "self"))
        for children in place.glob("task/*/children"):
            found += sum(map(_in_use, children.read_text().split()))
    except (OSError, ValueError):  # it has ended
        pass
    return found


# What is given


def refuse(beside: str, *names: str) -> None:
    """Refuse by name the options that were typed and would be ignored beside another."""
    context = click.get_current_context()
    for name in names:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            value = context.params.get(name, "it")
            value = ", ".join(value) if isinstance(value, tuple) else value
            raise InvalidInput(name.removeprefix("as_"), value, f"must not be given {beside}")


@dataclass(frozen=True)
class Tables(Drawn):
    """Several tables as one result."""

    grids: Sequence[Grid]

    def to_grids(self) -> Sequence[Grid]:
        """The tables."""
        return self.grids


class Given(SimpleNamespace):
    """The options of a command by their names, as they were typed, and what is made of them."""

    def task(self) -> SIMTask:
        """The task that mu, sigma and dim, or signal, describe."""
        from swingby.theory.task import SIMTask

        dim = getattr(self, "dim", None)
        if getattr(self, "signal", None):
            if self.mu or self.sigma != ("0",) or dim is not None:
                shown = ",".join(self.signal)
                raise InvalidInput("signal", shown, "must not be combined with mu, sigma, dim")
            return SIMTask.from_signal(_split(self.signal))
        if not self.mu:
            raise InvalidInput("mu", MISSING, "must be given: --mu 1,2")
        spreads = _split(self.sigma)
        return SIMTask(_split(self.mu), spreads[0] if len(spreads) == 1 else spreads, dim)

    def initial(self, task: SIMTask, *, drawn: bool) -> Any:
        """W(0) as given, or from U(0); else None, or what omega draws where it is `drawn`."""
        from swingby.simulate.initialization import gaussian
        from swingby.theory.initial import initial_state
        from swingby.theory.matrix_files import read_matrix

        if self.w0 is None and self.u0 is None:
            if drawn and self.omega is None:
                raise InvalidInput("omega", MISSING, "must be given, or --w0 or --u0")
            return gaussian(task, self.omega, self.width, rng=self.seed) if drawn else None
        if drawn and self.omega is not None:
            other = "w0" if self.u0 is None else "u0"
            raise InvalidInput("omega", self.omega, f"must not be given together with {other}")
        refuse("beside W(0), which says it", "beta", "width", "seed")
        if self.u0 is None:
            return read_matrix(self.w0, (task.dim, task.dim))
        if self.w0 is not None:
            raise InvalidInput("u0", self.u0, "must not be given together with w0")
        U0 = read_matrix(self.u0, (task.dim, None), argument="u0")
        return initial_state(None, U0, task.dim)

    def step_size(self) -> str:
        """Eta, which no command can do without."""
        if self.eta is None:
            raise InvalidInput("eta", MISSING, "must be given: --eta 0.01")
        return str(self.eta)

    def setting(self, *names: str, drawn: bool = False) -> dict[str, Any]:
        """What a call is about: the task, W(0), which omega may draw, the run, and more options."""
        task = self.task()
        start = self.initial(task, drawn=drawn)
        found = {"task": task, "W0": start, "eta": self.step_size(), "dynamics": self.dynamics}
        return found | self.named(*names)

    def named(self, *names: str) -> dict[str, Any]:
        """Options as arguments of the same names."""
        return {name: getattr(self, name) for name in names}

    def seeds_of(self, setting: Any, most: int) -> list[Any]:
        """A setting with as many seeds as asked for; a typing error should not make a million."""
        if self.seeds > most:
            raise InvalidInput("seeds", self.seeds, f"must be at most {most}")
        return [replace(setting, seed=setting.seed + k) for k in range(self.seeds)]

    def deliver(
        self,
        shown: Any,
        content: Callable[[], dict[str, Any]] | None = None,
        name: str = "out",
        writers: Writers | None = None,
    ) -> None:
        """Print a result, or write it in the format that the ending of a path names.

        `shown`: a result with texts; `content`: its plain values, by default its own; `writers`:
        by their endings, what writes other files.
        """
        path, content = getattr(self, name), content or shown.to_dict
        if path is None:
            say(shown, content, as_json=self.as_json)
            return
        ending = Path(path).suffix
        if writers and ending in writers:
            writers[ending](path)
        elif ending == ".json":
            write_json(path, content())
        elif ending == ".txt":
            write_text(path, shown.to_text(width=USUAL))
        else:
            method = {".md": "to_markdown", ".tex": "to_latex", ".html": "to_html"}[ending]
            write_text(path, getattr(shown, method)())


def exit_code(verdicts: Iterable[Verdict]) -> int:
    """0 where all verdicts hold, 1 where one fails, otherwise 3."""
    return {Verdict.HOLDS: 0, Verdict.FAILS: 1, Verdict.UNDECIDED: 3}[all_hold(verdicts)]


def say(shown: Any, content: Callable[[], Any], *, as_json: bool = False) -> None:
    """Print a result: JSON, or text as wide as the terminal, in colour on one."""
    click.echo(json_text(content()) if as_json else shown.to_text(color=has_color()))


def _split(values: Sequence[str]) -> list[str]:
    """``--mu 1 --mu 2`` and ``--mu 1,2`` are the same."""
    return [part.strip() for value in values for part in value.split(",")]
