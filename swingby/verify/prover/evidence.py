"""What a prover brings back: the verdict, how it was reached, and a witness."""

from __future__ import annotations

from dataclasses import dataclass, field

from swingby.theory.verdict import Finding

#: Method of a line that says nothing: it is proved, and not counted as proved.
TAUTOLOGY = "tautology"


@dataclass(frozen=True)
class Witness:
    """A point at which a claim fails (or, for an existence claim, holds).

    Parameters
    ----------
    values : dict from str to str
        Every letter and constant: an exact rational, or a number with 50 digits.
    relation : str
        The relation that is decided there.
    left, right : str
        Its two sides, evaluated.
    checked : tuple of str
        The independent evaluations that agree, such as ``"exact rationals"``,
        ``"balls of 256 bits"``.
    """

    values: dict[str, str]
    relation: str
    left: str
    right: str
    checked: tuple[str, ...]


@dataclass(frozen=True)
class Judged:
    """The verdict on one claim.

    Parameters
    ----------
    verdict : Finding
    method : str
        A few words: ``"certificate, z3 agrees"``, ``"sympy, general d and entrywise d = 2 to 5"``.
    evidence : tuple of str
        Lines that a reader can check: a certificate, boxes, steps run.
    witness : Witness or None
    cases : int
        How many cases, for *tested*.
    tried : tuple of str
        What was tried without success, for *undecided*.
    parts : dict from str to Judged
        Verdicts by part where they differ: by dynamics, by relation of a chain.
    """

    verdict: Finding
    method: str
    evidence: tuple[str, ...] = ()
    witness: Witness | None = None
    cases: int = 0
    tried: tuple[str, ...] = ()
    parts: dict[str, Judged] = field(default_factory=dict)


#: The verdict on a claim about whole trajectories where the searches were left out.
NOT_RUN = Judged(Finding.UNDECIDED, "not run", tried=("searches over trajectories were not run",))
