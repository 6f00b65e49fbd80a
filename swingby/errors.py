"""Errors and warnings of swingby.

Every message names the argument, the value given, the requirement, and the statement the
requirement comes from.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from swingby.hints import argument_hint

_P = ParamSpec("_P")
_R = TypeVar("_R")


class SwingbyError(Exception):
    """Base class of every error that swingby raises on purpose."""


#: In place of a value that was not given at all.
MISSING = "nothing"


class InvalidInput(SwingbyError, ValueError):
    """An argument that is missing, of the wrong kind, or out of range.

    Parameters
    ----------
    argument : str
        Name of the argument, as the caller wrote it.
    value : object
        The value, shortened if it is long; :data:`MISSING` if there was none.
    requirement : str
        The requirement on the value.
    source : str, optional
        The statement of the paper behind the requirement.

    Examples
    --------
    >>> raise InvalidInput("eta", -0.1, "must be positive", "(D.2)")
    Traceback (most recent call last):
        ...
    swingby.errors.InvalidInput: eta must be positive, got -0.1 (D.2)
    """

    def __init__(self, argument: str, value: object, requirement: str, source: str = "") -> None:
        self.argument = argument
        self.value = value
        self.requirement = requirement
        self.source = source
        try:
            value_text = " ".join(str(value).split())
        except ValueError:  # Python refuses to print whole numbers of more than 4300 digits
            value_text = "a number of thousands of digits"
        if len(value_text) > 60:
            value_text = value_text[:57] + "..."
        if not value_text:
            value_text = repr(value)
        tail = f" ({source.strip('()')})" if source else ""
        got = "" if value is MISSING else f", got {value_text}"
        super().__init__(f"{argument} {requirement}{got}{tail}")

    def __reduce__(self) -> tuple[type[InvalidInput], tuple[str, object, str, str]]:
        return (type(self), (self.argument, self.value, self.requirement, self.source))


class BudgetSpent(KeyboardInterrupt):
    """A limit set by the user was reached. Like Ctrl-C, it is no error that work may swallow."""


class Undecided(SwingbyError):
    """An undecided verdict was used as True or False."""


class MissingExtra(SwingbyError, ImportError):
    """An optional dependency is not installed.

    Parameters
    ----------
    package : str
        The package that could not be imported.
    extra : str
        The extra that installs it.
    """

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f'{package} is not installed: pip install "swingby[{extra}]"')


class MissingStudies(SwingbyError, ImportError):
    """An experiment of the repository was asked for where its folder ``studies`` is not there.

    Parameters
    ----------
    name : str
        The name or command that was asked for.
    path : str
        The module in which it lies.
    other : str
        The file of another module called ``studies`` that is imported in its place, if there is
        one.
    """

    def __init__(self, name: str, path: str, other: str = "") -> None:
        reason = (
            f"another module called studies, {other}, hides: start python in the repository"
            if other
            else "an installed package does not contain: in a checkout, type pip install -e ."
        )
        file = f"{path.replace('.', '/')}.py"
        super().__init__(f"{name} lies in {file} of the repository, which {reason}")


class SwingbyWarning(UserWarning):
    """A result that needs a second look, with the reason."""


def named(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """A public function whose arguments, where misnamed or missing, are named in a sentence.

    Of a method, ``self`` and ``cls`` are not counted; a constructor bears the name of its class.
    """
    parameters = inspect.signature(function).parameters
    by_name = [name for name, entry in parameters.items() if entry.kind is entry.KEYWORD_ONLY]
    by_place = [name for name in parameters if name not in by_name]
    implicit = len([name for name in by_place[:1] if name in ("self", "cls")])
    by_place = by_place[implicit:]
    required = [name for name, entry in parameters.items() if entry.default is entry.empty]
    owner, _, title = function.__qualname__.rpartition(".")
    title = owner if title == "__init__" else title

    @functools.wraps(function)
    def called(*positional: _P.args, **keywords: _P.kwargs) -> _R:
        for name, value in keywords.items():
            if name not in parameters:
                hint = argument_hint(name, [*by_place, *by_name], title)
                raise InvalidInput(name, value, f"is not an argument of {title}{hint}")
        arguments = positional[implicit:]
        if len(arguments) > len(by_place):
            excess = arguments[len(by_place)]
            if not by_name:
                taken = ", ".join(by_place) or "no argument"
                requirement = f"is one too many: {title} takes {taken}"
                raise InvalidInput(f"argument {len(by_place) + 1}", excess, requirement)
            form = f"must be given by its name: {title}(..., {by_name[0]}=...)"
            raise InvalidInput(by_name[0], excess, form)
        supplied = {*by_place[: len(arguments)], *keywords}
        for name in required[implicit:]:
            if name not in supplied:
                raise InvalidInput(name, MISSING, f"must be given: {title}(..., {name}=...)")
        # What a float operation reports is ours to choose: our code expects numpy's own choice.
        numpy: Any = sys.modules.get("numpy")
        if numpy is None:
            return function(*positional, **keywords)
        with numpy.errstate(divide="warn", over="warn", under="ignore", invalid="warn"):
            return function(*positional, **keywords)

    return called
