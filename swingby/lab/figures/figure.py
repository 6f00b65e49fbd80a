"""Figure: a figure of the paper, with its editions, its data, its criteria and its picture."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import swingby
from swingby.hints import Hinted
from swingby.theory.verdict import Verdict, yes

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

#: What a figure shows: arrays, and plain values that JSON can hold (None for "never").
Data: TypeAlias = Mapping[str, Any]

#: Says how far a computation is: a share from 0 to 1 and a few words.
Tell: TypeAlias = Callable[[float, str], None]

#: The editions, in the order in which they are shown.
EDITIONS = ("caption", "code")


@dataclass(frozen=True)
class Measured(Hinted):
    """The measurement for a criterion, and the verdict on it."""

    #: In a few words, as the table shows it.
    value: str
    verdict: Verdict
    #: One or two sentences with the numbers behind the verdict.
    reason: str
    #: The same numbers for programs; plain values.
    numbers: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.verdict}: {self.value}. {self.reason}"


@dataclass(frozen=True)
class Criterion(Hinted):
    """A statement about the paper's figure, as a test of the data."""

    #: One word, unique within the figure.
    id: str
    #: A sentence.
    statement: str
    #: What the paper shows, in a few words or as a number.
    paper: str
    #: What counts, as a sentence with its numbers.
    threshold: str
    judge: Callable[[Data], Measured] = field(repr=False)

    def __str__(self) -> str:
        return f"{self.statement} (paper: {self.paper}; {self.threshold})"


@dataclass(frozen=True)
class Edition(Hinted):
    """A reading of a figure: by its caption, or by the authors' public code."""

    #: One of :data:`EDITIONS`.
    name: str
    #: Everything that the computation depends on, as plain values; hashed and kept.
    parameters: Mapping[str, Any] = field(repr=False)
    #: What sets this edition apart, in a few words; a picture shows it.
    note: str
    #: Parameters that a quick run replaces. Without any, a quick run is the full one.
    quick: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def __str__(self) -> str:
        return f"{self.name}: {self.note}" if self.note else self.name

    def given(self, *, quick: bool) -> dict[str, Any]:
        """The parameters of a run."""
        return {**self.parameters, **(self.quick if quick else {})}


@dataclass(frozen=True)
class Figure(Hinted):
    """A figure of the paper: its claim and source, its editions, its criteria and its picture."""

    #: ``"5"``, ``"2a"``.
    number: str
    title: str
    #: What the paper says about it, in our words.
    claim: str
    source: str
    #: The caption first; the code where it differs.
    editions: tuple[Edition, ...]
    #: From the parameters of an edition to the data.
    compute: Callable[[Mapping[str, Any], Tell], Data] = field(repr=False)
    criteria: tuple[Criterion, ...]
    #: From the data and a title to a picture.
    draw: Callable[[Data, str], Picture] = field(repr=False)

    def __str__(self) -> str:
        return f"Figure {self.number}, {self.title}. {self.claim}"

    def inputs(self, edition: Edition, *, quick: bool = False) -> dict[str, Any]:
        """The version, edition and parameters that the data depends on, as plain values."""
        return {
            "swingby": swingby.__version__,
            "figure": self.number,
            "edition": edition.name,
            "parameters": edition.given(quick=quick),
        }

    def key(self, edition: Edition, *, quick: bool = False) -> str:
        """A hash of :meth:`inputs`, 64 hexadecimal digits."""
        text = json.dumps(self.inputs(edition, quick=quick), sort_keys=True, allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()

    def judge(self, data: Data) -> tuple[tuple[Criterion, Measured], ...]:
        """Every criterion with what was measured for it."""
        return tuple((criterion, criterion.judge(data)) for criterion in self.criteria)


def criterion(
    name: str, statement: str, paper: str, threshold: str
) -> Callable[[Callable[[Data], Measured]], Criterion]:
    """Make a function that judges data a criterion."""
    return lambda judge: Criterion(name, statement, paper, threshold, judge)


def under_every_reading(verdicts: Mapping[str, bool]) -> Verdict:
    """The verdict on words that can be read in several ways; *undecided* if these differ.

    >>> str(under_every_reading({"swing 0.001": True, "swing 0.01": False}))
    'undecided'
    """
    outcomes = set(verdicts.values())
    return yes(outcomes == {True}) if len(outcomes) == 1 else Verdict.UNDECIDED
