"""What a hunt brings back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from swingby.errors import InvalidInput
from swingby.theory.verdict import Finding
from swingby.verify.hunting.search import Closest
from swingby.verify.prover.evidence import Witness


@dataclass(frozen=True)
class Hunt:
    """A hunt for a counterexample, and what was found.

    Parameters
    ----------
    statement : str
        Its id.
    edition : {"printed", "corrected", "repaired"}
    dynamics : {"euler", "gd", "flow", ""}
        Empty for a statement about numbers alone.
    verdict : Finding
        *refuted* with a confirmed counterexample; *tested* where none was found; *undecided* where
        nothing was looked at, or floats show a violation that balls do not confirm; *proved* for a
        line about numbers that the prover proves on the way.
    violation : Witness or None
        The confirmed counterexample.
    instances, steps : int
        Instances looked at, and steps at which the statement was evaluated.
    seconds : float
        Time used.
    closest : Closest or None
        The closest call of what kept the statement.
    shrinks : int
        Changes that made the counterexample simpler.
    unconfirmed : int
        Violations in floats that balls did not confirm. They are not reported.
    checked : tuple of str
        How the counterexample was confirmed.
    text : str
        The statement, as :func:`swingby.theory.formula.to_text` writes it.
    note : str
        What else a reader has to know.
    parts : tuple of Hunt
        One per theorem, for a hunt over several.
    seed : int or None
        Of the hunt, where a whole number was given.
    """

    statement: str
    edition: str
    dynamics: str
    verdict: Finding
    violation: Witness | None = None
    instances: int = 0
    steps: int = 0
    seconds: float = 0.0
    closest: Closest | None = None
    shrinks: int = 0
    unconfirmed: int = 0
    checked: tuple[str, ...] = ()
    text: str = ""
    note: str = ""
    parts: tuple[Hunt, ...] = ()
    seed: int | None = None
    again: Callable[[], bool] | None = field(default=None, repr=False, compare=False)

    @property
    def found(self) -> bool:
        """Whether a confirmed counterexample was found."""
        return self.violation is not None

    def rerun(self) -> bool:
        """Follow the counterexample once more, in balls of a third precision.

        Returns
        -------
        bool
            Whether it still breaks the statement.

        Raises
        ------
        InvalidInput
            If the hunt found none.
        """
        if self.again is None:
            raise InvalidInput("hunt", self.statement, "must have found a counterexample")
        return self.again()

    def __repr__(self) -> str:
        where = f", {self.dynamics}" if self.dynamics else ""
        return (
            f"<Hunt {self.statement}, {self.edition}{where}: {self.verdict}, "
            f"{self.instances} instances>"
        )

    def __str__(self) -> str:
        from swingby.verify.hunting.report import hunt_text

        return hunt_text(self)

    def _repr_html_(self) -> str:
        from swingby.verify.hunting.report import hunt_html

        return hunt_html(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        witness, closest = self.violation, self.closest
        return {
            "statement": self.statement,
            "edition": self.edition,
            "dynamics": self.dynamics,
            "verdict": str(self.verdict),
            "found": self.found,
            "violation": None
            if witness is None
            else {
                "values": dict(witness.values),
                "relation": witness.relation,
                "left": witness.left,
                "right": witness.right,
                "checked": list(witness.checked),
            },
            "instances": self.instances,
            "steps": self.steps,
            "seconds": round(self.seconds, 3),
            "closest": None
            if closest is None
            else {
                "slack": closest.slack,
                "instance": closest.instance,
                "where": closest.where,
                "values": dict(closest.values),
            },
            "shrinks": self.shrinks,
            "unconfirmed": self.unconfirmed,
            "checked": list(self.checked),
            "text": self.text,
            "note": self.note,
            "parts": [part.to_dict() for part in self.parts],
            "seed": self.seed,
        }
