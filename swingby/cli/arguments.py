"""The arguments of a command as typed: the task, the start and the files that they name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from swingby.errors import MISSING, InvalidInput
from swingby.report import Drawn, Grid
from swingby.report.files import json_text, write_json, write_text
from swingby.report.lines import USUAL, has_color
from swingby.theory.verdict import Verdict, all_hold

if TYPE_CHECKING:
    from swingby.theory.task import SIMTask

#: The options of which one is the start, and a sentence that asks for it.
_STARTS, _START = ("w0", "u0", "omega"), "one of --w0, --u0 and --omega"
#: What writes files, by their endings.
Writers = Mapping[str, Callable[[str], Any]]


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


class Arguments(SimpleNamespace):
    """The options of a command by name, as typed; read into tasks, starts and results."""

    def task(self) -> SIMTask:
        """The task that mu, sigma and dim, or signal, describe."""
        from swingby.theory.task import SIMTask

        dim = getattr(self, "dim", None)
        if getattr(self, "signal", None):
            if self.mu or self.sigma != ("0",) or dim is not None:
                typed = ",".join(self.signal)
                raise InvalidInput("signal", typed, "must not be combined with mu, sigma, dim")
            return SIMTask.from_signal(_split(self.signal))
        if not self.mu:
            other = " (or --signal 4,1)" if hasattr(self, "signal") else ""
            if all(getattr(self, name, "") is None for name in _STARTS):
                other += f", and {_START}"
            raise InvalidInput("mu", MISSING, f"must be given: --mu 1,2{other}")
        spreads = _split(self.sigma)
        return SIMTask(_split(self.mu), spreads[0] if len(spreads) == 1 else spreads, dim)

    def initial(self, task: SIMTask, *, drawn: bool) -> Any:
        """W(0) as given, or from U(0); else None or, where `drawn`, a draw of scale omega."""
        from swingby.simulate.initialization import gaussian
        from swingby.theory.initial import initial_state
        from swingby.theory.matrix_files import read_matrix

        if self.w0 is None and self.u0 is None:
            if self.omega is None:
                raise InvalidInput(_START, MISSING, "must be given")
            return gaussian(task, self.omega, self.width, rng=self.seed) if drawn else None
        if drawn and self.omega is not None:
            matrix_option = "w0" if self.u0 is None else "u0"
            raise InvalidInput(
                "omega", self.omega, f"must not be given together with {matrix_option}"
            )
        refuse("beside W(0), which determines it", "beta", "width", "seed")
        if self.u0 is None:
            return read_matrix(self.w0, (task.dim, task.dim), exact=True)
        if self.w0 is not None:
            raise InvalidInput("u0", self.u0, "must not be given together with w0")
        U0 = read_matrix(self.u0, (task.dim, None), argument="u0", exact=True)
        return initial_state(None, U0, task.dim)

    def step_size(self) -> str:
        """Eta, which no command can do without."""
        if self.eta is None:
            raise InvalidInput("eta", MISSING, "must be given: --eta 0.01")
        return str(self.eta)

    def setting(self, *names: str, drawn: bool = False) -> dict[str, Any]:
        """Arguments of a call: the task, W(0), which omega may draw, the run, and more options."""
        task = self.task()
        start = self.initial(task, drawn=drawn)
        arguments = {"task": task, "W0": start, "eta": self.step_size(), "dynamics": self.dynamics}
        return arguments | self.named(*names)

    def named(self, *names: str) -> dict[str, Any]:
        """Options as arguments of the same names; those that W(0) replaces only where typed."""
        typed = click.get_current_context().get_parameter_source
        return {
            name: getattr(self, name)
            for name in names
            if name not in ("beta", "rho") or typed(name) is ParameterSource.COMMANDLINE
        }

    def seeds_of(self, setting: Any, most: int) -> list[Any]:
        """A setting with as many seeds as asked for; a typing error should not make a million."""
        if self.seeds > most:
            raise InvalidInput("seeds", self.seeds, f"must be at most {most}")
        return [replace(setting, seed=setting.seed + k) for k in range(self.seeds)]

    def deliver(
        self,
        result: Any,
        content: Callable[[], dict[str, Any]] | None = None,
        name: str = "out",
        writers: Writers | None = None,
    ) -> None:
        """Print a result, or write it in the format that the ending of a path names.

        `result`: with texts; `content`: its plain values, by default its own; `writers`:
        by their endings, what writes other files.
        """
        path, content = getattr(self, name), content or result.to_dict
        if path is None:
            print_result(result, content, as_json=self.as_json)
            return
        ending = Path(path).suffix
        if writers and ending in writers:
            writers[ending](path)
        elif ending == ".json":
            write_json(path, content())
        elif ending == ".txt":
            write_text(path, result.to_text(width=USUAL))
        else:
            method = {".md": "to_markdown", ".tex": "to_latex", ".html": "to_html"}[ending]
            write_text(path, getattr(result, method)())


def exit_code(verdicts: Iterable[Verdict]) -> int:
    """0 where all verdicts hold, 1 where some verdict fails, otherwise 3."""
    return {Verdict.HOLDS: 0, Verdict.FAILS: 1, Verdict.UNDECIDED: 3}[all_hold(verdicts)]


def print_result(result: Any, content: Callable[[], Any], *, as_json: bool = False) -> None:
    """Print a result: JSON, or text as wide as the terminal, in colour on one."""
    click.echo(json_text(content()) if as_json else result.to_text(color=has_color()))


def _split(values: Sequence[str]) -> list[str]:
    """``--mu 1 --mu 2``, ``--mu 1,2``, ``--mu '1 2'`` and ``--mu '[1, 2]'`` are the same."""
    return [word for value in values for word in re.split(r"\s*,\s*|\s+", value.strip(" []()"))]
