"""What a figure is: editions, data, criteria, a picture."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import swingby
from swingby.theory.verdict import Verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

#: What a figure shows: arrays, and plain values that JSON can hold (None for "never").
Data: TypeAlias = Mapping[str, Any]

#: Says how far a computation is: a share from 0 to 1 and a few words.
Tell: TypeAlias = Callable[[float, str], None]

#: The editions, in the order in which they are shown.
EDITIONS = ("caption", "code")


@dataclass(frozen=True)
class Measured:
    """What was measured for a criterion, and the verdict on it.

    Parameters
    ----------
    value : str
        The measured value in a few words, as the table shows it.
    verdict : Verdict
    reason : str
        One or two sentences with the numbers behind the verdict.
    numbers : mapping, optional
        The same numbers for programs; plain values.
    """

    value: str
    verdict: Verdict
    reason: str
    numbers: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Criterion:
    """One thing that the paper's figure shows, as a test of the data.

    Parameters
    ----------
    id : str
        One word, unique within the figure.
    statement : str
        A sentence.
    paper : str
        What the paper shows, in a few words or as a number.
    threshold : str
        What counts, as a sentence with its numbers.
    judge : callable
        From the data to a :class:`Measured`.
    """

    id: str
    statement: str
    paper: str
    threshold: str
    judge: Callable[[Data], Measured]


@dataclass(frozen=True)
class Edition:
    """One reading of a figure: its caption, or the authors' public code.

    Parameters
    ----------
    name : {"caption", "code"}
    parameters : mapping
        Everything that the computation depends on, as plain values; hashed and kept.
    note : str
        What sets this edition apart, in a few words; a picture shows it.
    quick : mapping, optional
        Parameters that a quick run replaces. Without any, a quick run is the full one.
    """

    name: str
    parameters: Mapping[str, Any]
    note: str
    quick: Mapping[str, Any] = field(default_factory=dict)

    def given(self, *, quick: bool) -> dict[str, Any]:
        """The parameters of a run."""
        return {**self.parameters, **(self.quick if quick else {})}


@dataclass(frozen=True)
class Figure:
    """A figure of the paper.

    Parameters
    ----------
    number : str
        ``"5"``, ``"2a"``.
    title : str
        What the picture shows.
    claim : str
        What the paper says about it, in our words.
    source : str
        Where it says so.
    editions : tuple of Edition
        The caption first; the code where it differs.
    compute : callable
        From the parameters of an edition and a :data:`Tell` to the data.
    criteria : tuple of Criterion
    draw : callable
        From the data and a title to a matplotlib Figure.
    version : int
        Raised when `compute` changes, so that kept data is not taken for new.
    """

    number: str
    title: str
    claim: str
    source: str
    editions: tuple[Edition, ...]
    compute: Callable[[Mapping[str, Any], Tell], Data]
    criteria: tuple[Criterion, ...]
    draw: Callable[[Data, str], Picture]
    version: int = 1

    def key(self, edition: Edition, *, quick: bool = False) -> str:
        """A hash of everything that the data of an edition depends on, 64 hexadecimal digits."""
        parts = {
            "swingby": swingby.__version__,
            "figure": self.number,
            "version": self.version,
            "code": _code_of(self.compute),
            "edition": edition.name,
            "parameters": edition.given(quick=quick),
        }
        text = json.dumps(parts, sort_keys=True, allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()

    def judge(self, data: Data) -> tuple[tuple[Criterion, Measured], ...]:
        """Every criterion with what was measured for it."""
        return tuple((criterion, criterion.judge(data)) for criterion in self.criteria)


def _code_of(compute: Callable[..., Any]) -> str:
    """What a computation is made by: kept data of other code is not taken for new."""
    from swingby.verify.audit_cache import hash_of

    return hash_of(Path(inspect.getfile(compute)), words=False)


def under_every_reading(verdicts: Mapping[str, bool]) -> Verdict:
    """The verdict on words that can be read in more than one way.

    `verdicts`: whether each reading is met. Returns *holds* or *fails* where all readings agree,
    *undecided* where they differ.

    Examples
    --------
    >>> str(under_every_reading({"swing 0.001": True, "swing 0.01": False}))
    'undecided'
    """
    seen = set(verdicts.values())
    if seen == {True}:
        return Verdict.HOLDS
    return Verdict.FAILS if seen == {False} else Verdict.UNDECIDED
