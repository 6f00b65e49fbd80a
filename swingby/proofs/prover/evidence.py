"""Evidence of a prover: the verdict on a claim, the method that reached it, and a witness."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from swingby.hints import Hinted
from swingby.theory.verdict import Finding

#: Method of a line that says nothing: it is proved, and not counted as proved.
TAUTOLOGY = "tautology"


@dataclass(frozen=True)
class Witness(Hinted):
    """A point at which a claim fails (or, for an existence claim, holds).

    `values`: every letter and constant: an exact rational, or a number with 50 digits.
    `relation`: the relation that is decided there.
    `left`, `right`: its two sides, evaluated.
    `checked`: the independent evaluations that agree, such as ``"exact rationals"``, ``"mpmath with
    60 digits"``.
    """

    values: dict[str, str]
    relation: str
    left: str
    right: str
    checked: tuple[str, ...]

    def __str__(self) -> str:
        values = ", ".join(f"{name} = {value}" for name, value in self.values.items())
        return f"{self.relation} with sides {self.left} and {self.right} at {values}"


@dataclass(frozen=True)
class ClaimVerdict:
    """The verdict on a claim.

    `method`: a few words: ``"certificate"``, ``"sympy, general d and entrywise d = 2 to
    5"``.
    `evidence`: lines that a reader can check: a certificate, boxes, steps run.
    `cases`: how many cases, for *tested*.
    `tried`: what was tried without success, for *undecided*.
    `parts`: verdicts by part where they differ: by dynamics, by relation of a chain.
    `proof`: what :mod:`check_proof` accepts: relations, each with its certificates; empty without.
    """

    verdict: Finding
    method: str
    evidence: tuple[str, ...] = ()
    witness: Witness | None = None
    cases: int = 0
    tried: tuple[str, ...] = ()
    parts: dict[str, ClaimVerdict] = field(default_factory=dict)
    proof: tuple[dict[str, Any], ...] = ()


def undecided(method: str, *tried: str) -> ClaimVerdict:
    """A claim that is left open, and what was tried."""
    return ClaimVerdict(Finding.UNDECIDED, method, tried=tried)
