"""Errors and warnings of swingby.

Every message names the argument, the value given, the requirement, and the statement the
requirement comes from.
"""

from __future__ import annotations

import difflib
import functools
import inspect
import sys
from collections.abc import Callable, Iterable
from typing import Any, ParamSpec, TypeVar

_P = ParamSpec("_P")
_R = TypeVar("_R")


class SwingbyError(Exception):
    """Base class of every error that swingby raises on purpose."""


#: In place of a value that was not given at all.
MISSING = "nothing"


class InvalidInput(SwingbyError, ValueError):
    """An argument to which no statement of the theory can be applied.

    Parameters
    ----------
    argument : str
        Name of the argument, as the caller wrote it.
    value : object
        The value given, shortened when it is long; :data:`MISSING` when there was none.
    requirement : str
        What the value has to satisfy.
    source : str, optional
        The statement of the paper that asks for it.

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
    """A truth value was asked of a verdict that is undecided."""


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


#: Names that arguments have elsewhere, and what to give here.
_ELSEWHERE = {
    **dict.fromkeys(("T", "t_max", "n_steps", "num_steps", "max_steps", "epochs"), "steps"),
    **dict.fromkeys(("seed", "random_state", "generator"), "rng"),
    **dict.fromkeys(("lr", "learning_rate"), "eta, which is 2 lr on the loss (4.1)"),
    **dict.fromkeys(("step_size", "dt"), "eta"),
    **dict.fromkeys(("W", "W_0", "w0", "init"), "W0"),
    **dict.fromkeys(("U", "U_0", "u0"), "U0"),
    **dict.fromkeys(("data", "trajectory"), "observed"),
    **dict.fromkeys(("mu", "sigma"), "task = swingby.SIMTask(mu, sigma)"),
    **dict.fromkeys(("a", "signal"), "task = swingby.SIMTask.from_signal(a)"),
    "omega": "W0 = swingby.gaussian(task, omega, rng=0)",
    "U0": "W0 = U0 @ U0.T",
    "method": "dynamics",
}


def suggestion(name: str, names: Iterable[str]) -> str:
    """The known names close to an unknown name, as the end of a sentence."""
    matches = difflib.get_close_matches(name, list(names), 2, 0.6)
    return f"; did you mean {' or '.join(matches)}?" if matches else ""


def named(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """A public function whose arguments, where misnamed or missing, are named in a sentence."""
    parameters = inspect.signature(function).parameters
    by_name = [name for name, entry in parameters.items() if entry.kind is entry.KEYWORD_ONLY]
    by_place = [name for name in parameters if name not in by_name]
    required = [name for name, entry in parameters.items() if entry.default is entry.empty]

    @functools.wraps(function)
    def called(*positional: _P.args, **keywords: _P.kwargs) -> _R:
        for name, value in keywords.items():
            if name not in parameters:
                equivalent = _ELSEWHERE.get(name, "")
                applies = " = " in equivalent or equivalent.split(",")[0] in parameters
                hint = f"; give {equivalent}" if applies else suggestion(name, parameters)
                raise InvalidInput(name, value, f"is no argument of {function.__name__}{hint}")
        if len(positional) > len(by_place):
            excess = positional[len(by_place)]
            if not by_name:
                requirement = f"is one too many for {function.__name__}: {', '.join(by_place)}"
                raise InvalidInput(f"argument {len(by_place) + 1}", excess, requirement)
            form = f"must be given by its name: {function.__name__}(..., {by_name[0]}=...)"
            raise InvalidInput(by_name[0], excess, form)
        supplied = {*by_place[: len(positional)], *keywords}
        for name in required:
            if name not in supplied:
                raise InvalidInput(
                    name, MISSING, f"must be given: {function.__name__}(..., {name}=...)"
                )
        # What a float operation reports is ours to choose: our code expects numpy's own choice.
        numpy: Any = sys.modules.get("numpy")
        if numpy is None:
            return function(*positional, **keywords)
        with numpy.errstate(divide="warn", over="warn", under="ignore", invalid="warn"):
            return function(*positional, **keywords)

    return called
