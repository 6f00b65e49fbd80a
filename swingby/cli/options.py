"""Options of the commands: their kinds, and those that several commands share."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from swingby.errors import InvalidInput
from swingby.report.pictures import ENDINGS

#: What click makes of an option: a decorator of commands.
Option = Callable[[Any], Any]
#: Endings of the files that tables, and pictures, are written to.
TABLES = (".json", ".md", ".tex", ".html", ".txt")
PICTURES = ENDINGS


class _WholeNumber(click.ParamType):  # type: ignore[type-arg]
    """A whole number of some size at least; 1e3 counts as whole."""

    name = "n"

    def __init__(self, least: int = 1) -> None:
        self.least = least

    def convert(self, value: Any, param: click.Parameter | None, _: Any) -> int:
        """The number, or an error that names the option."""
        from swingby.theory import numbers

        return numbers.whole(value, (param and param.name) or "number", self.least)


class ResultOption(click.Option):
    """An option whose file takes the place of printed output: its ending gives the format."""


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
        raise InvalidInput(name, path, f"must end in {_listed(endings)}")
    folder = Path(path).resolve().parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise InvalidInput(name, path, "must lie in a folder that can be written to")


def _listed(names: Sequence[str]) -> str:
    """Names as in a sentence: .png, .pdf or .svg."""
    return " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))


# Kinds of options. `shown` is the default in words, where the default itself says nothing.


def target(name: str, what: str, endings: Sequence[str], **more: Any) -> Option:
    """An option that names a file to write; its help lists the endings."""
    more = {"type": Target(endings), **more}
    return click.option(name, metavar="FILE", help=f"{what}: {_listed(endings)}.", **more)


def out(
    *endings: str, name: str = "--out", what: str = "the result to a file", **more: Any
) -> Option:
    """The option that names a file for the result of a command."""
    return target(name, f"Write {what}", endings or TABLES, cls=ResultOption, **more)


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
    return click.option(
        name, type=_WholeNumber(least), default=default, show_default=shown, help=words
    )


def choice(
    name: str, names: str, words: str, default: str | None = None, *, shown: str | None = None
) -> Option:
    """An option with a choice of names, by default the first."""
    kind = click.Choice(names.split())
    usual = default or (None if shown else kind.choices[0])
    return click.option(name, type=kind, default=usual, show_default=shown or True, help=words)


def seed(what: str, default: int = 0) -> Option:
    """The option --seed of a command."""
    return number("--seed", f"Seed of {what}.", default, least=0)


JSON = flag("--json", "Print JSON.", "as_json")
MU = text("--mu", "X,X", "Distance of each cluster from the origin.", multiple=True)
SIGMA = text("--sigma", "X,X", "Spread along each axis, or one for all.", ["0"], multiple=True)
EDITION = choice("--edition", "printed corrected repaired", "Edition of the assumptions.")
DIM = number("--dim", "Dimension d.", shown="number of concepts")
SIGNAL = text("--signal", "X,X", "Signal of each concept, in place of --mu.", multiple=True)
W0 = text("--w0", "FILE", "W(0): .json, .toml, .csv, .txt, .npy, .npz, or '2,1;1,2'.")
OMEGA = text("--omega", "X", "Scale of W(0); 1e-400 is allowed.")
#: A task and W(0), other starts, and how it runs.
MATRIX = (MU, SIGMA, SIGNAL, DIM, W0)
_STARTS = (
    text("--u0", "FILE", "U(0), in place of W(0) = U(0) U(0)^T."),
    OMEGA,
    text("--beta", "X", "Bound with --omega: |w_ij(0)| <= beta omega.", "1"),
)
RUN = (
    text("--eta", "X", "Required. Step size of (D.2); 2 lr under gd."),
    choice(
        "--dynamics",
        "gd euler flow",
        "gd: gradient descent on U; euler: the printed (D.2); flow: gradient flow.",
    ),
    JSON,
)
SETTING = (*MATRIX, *_STARTS, *RUN)
