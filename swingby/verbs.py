"""Verbs that a theory of one's own answers by itself: check, compare, hunt, sweep, threshold.

The core does not know such theories; it hands a call to whatever its first argument is.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, Protocol, TypeVar, cast, overload

_P = ParamSpec("_P")
_R = TypeVar("_R", covariant=True)


class Answering:
    """A first argument that answers a verb in place of the function of that name."""

    def answer(self, verb: str, *arguments: Any, **options: Any) -> Any:
        """The result of a verb; the arguments are those behind the first."""
        raise NotImplementedError


class Verb(Protocol[_P, _R]):
    """A public function whose first argument may answer by itself."""

    @overload
    def __call__(self, theory: Answering, /, *arguments: Any, **options: Any) -> Any: ...
    @overload
    def __call__(self, *arguments: _P.args, **options: _P.kwargs) -> _R: ...


def answered(function: Callable[_P, _R]) -> Verb[_P, _R]:
    """A verb that a first argument of the kind :class:`Answering` answers by itself."""

    @functools.wraps(function)
    def verb(*arguments: Any, **options: Any) -> Any:
        if arguments and isinstance(arguments[0], Answering):
            return arguments[0].answer(function.__name__, *arguments[1:], **options)
        return function(*arguments, **options)

    return cast("Verb[_P, _R]", verb)
