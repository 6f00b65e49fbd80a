"""What is certified of one run."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from swingby.errors import InvalidInput, MissingExtra
from swingby.report.files import writable
from swingby.theory import numbers
from swingby.verify.certification import certificate_format
from swingby.verify.certification.enclosure import Enclosure

if TYPE_CHECKING:
    from swingby.simulate.result import Run
    from swingby.verify.certification.float_differences import Difference


@dataclass(frozen=True)
class Passage:
    """First passage of a level by w_kk.

    Parameters
    ----------
    step : int or None
        First step with w_kk at least the level; None where there is none up to the last step.
    before, at : Enclosure or None
        w_kk one step earlier, and at the step.
    never : bool
        The level is not reached at any later step either.
    """

    step: int | None
    before: Enclosure | None = None
    at: Enclosure | None = None
    never: bool = False


@dataclass(frozen=True)
class CertifiedPeak:
    """The first step at which |w_ij| is largest, i < j counted from 1, and w_ij there.

    `for_all_time` says that the entry is never as large again after the last step.
    """

    i: int
    j: int
    step: int
    value: Enclosure
    for_all_time: bool


@dataclass(frozen=True)
class RunsAway:
    """The first step with w_kk < 0, k counted from 1: w_kk tends to minus infinity (euler)."""

    k: int
    step: int


@dataclass(frozen=True)
class Convergence:
    """The first step at which W is provably on its way to I.

    Parameters
    ----------
    step : int
    distance : Enclosure
        The norm of W - I there, in the sense of Frobenius.
    radius, rate : Fraction
        From `step` on, which is within `radius`, the norm shrinks at least by `rate` per step.
    """

    step: int
    distance: Enclosure
    radius: Fraction
    rate: Fraction


@dataclass(frozen=True)
class Certificate:
    """Facts about one discrete trajectory, all proved. Made by :func:`swingby.certify`.

    Times are steps; an enclosure is two decimals that the number lies between. Entries that the
    highest precision did not decide are None and listed in :attr:`undecided`.

    Attributes
    ----------
    dynamics : str
        ``"euler"`` or ``"gd"``.
    signal : tuple of Fraction, length d
    eta : Fraction
    W0 : tuple of tuples of Fraction, d by d
    steps : int
        The last step that is spoken of.
    passages : mapping from level to tuple of Passage, length d
        Levels ``"1/10"``, ``"1/2"``, ``"4/5"``, ``"99/100"``.
    peaks : tuple of CertifiedPeak
        One per pair i < j.
    first_loss : int or None
        First step at which W is not positive semidefinite.
    runs_away : tuple of RunsAway
    converges : Convergence or None
    end : tuple of tuples of Enclosure, d by d
        W at the last step.
    undecided : tuple of str
        Paths such as ``"passages/1/2/3"``.
    made_by : str
    bits : int or None
        Working precision that decided everything; None after the exact first steps alone, and
        for a certificate read from a file.
    """

    dynamics: str
    signal: tuple[Fraction, ...]
    eta: Fraction
    W0: tuple[tuple[Fraction, ...], ...]
    steps: int
    passages: Mapping[str, tuple[Passage | None, ...]]
    peaks: tuple[CertifiedPeak | None, ...]
    first_loss: int | None
    runs_away: tuple[RunsAway | None, ...]
    converges: Convergence | None
    end: tuple[tuple[Enclosure | None, ...], ...]
    undecided: tuple[str, ...]
    made_by: str
    bits: int | None = field(default=None, compare=False)

    @property
    def half_times(self) -> tuple[int | None, ...]:
        """First step at which each w_kk is at least 1/2; None where there is none, or undecided."""
        return tuple(None if one is None else one.step for one in self.passages["1/2"])

    @property
    def dim(self) -> int:
        """Number of concepts d."""
        return len(self.signal)

    @property
    def digest(self) -> str:
        """SHA-256 of everything else, as it stands in the file."""
        return certificate_format.digest(certificate_format.to_plain(self))

    def __hash__(self) -> int:
        return hash(self.digest)

    def verify(self) -> list[str]:
        """Everything recomputed by an independent checker that uses integers alone.

        Returns
        -------
        list of str
            Reasons for rejection; empty where the certificate is accepted.
        """
        replay = importlib.import_module("swingby.verify.certification.replay").replay
        return [str(reason) for reason in replay(self.to_dict())]

    def differences(self, run: Run) -> tuple[Difference, ...]:
        """Where a float64 run of the same inputs differs, and whether rounding explains it.

        Parameters
        ----------
        run : Run
            Of the same task, W(0), eta and dynamics.

        Returns
        -------
        tuple of Difference
            Empty where the run agrees in every step that both speak of; see
            :func:`swingby.verify.certification.float_differences.differences`.

        Raises
        ------
        InvalidInput
            If the run is of something else.
        """
        from swingby.verify.certification.float_differences import differences

        return differences(self, run)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as in the file."""
        plain = certificate_format.to_plain(self)
        return {**plain, "digest": certificate_format.digest(plain)}

    def to_json(self) -> str:
        """The certificate as JSON."""
        return json.dumps(self.to_dict(), indent=1) + "\n"

    def save(self, path: str | Path) -> Path:
        """Write the certificate as a JSON file.

        Returns
        -------
        Path
            The file written.

        Raises
        ------
        InvalidInput
            If the file cannot be written.
        """
        with writable(path) as target:
            target.write_text(self.to_json(), encoding="utf-8")
        return target

    @classmethod
    def load(cls, path: str | Path) -> Certificate:
        """Read a certificate that :meth:`save` wrote. This does not verify it.

        Raises
        ------
        InvalidInput
            If the file is missing, is not JSON, or not a certificate as written.
        """
        from swingby.verify.certification.certificate_reading import from_plain, parse

        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, ValueError, TypeError):
            raise InvalidInput("path", path, "must be a readable text file") from None
        return from_plain(parse(text))

    def to_frame(self) -> Any:
        """One row per event: event, entry, step, lower, upper.

        Raises
        ------
        MissingExtra
            If pandas is not installed.
        """
        from swingby.verify.certification.certificate_report import event_rows

        try:
            pandas = importlib.import_module("pandas")
        except ImportError:
            raise MissingExtra("pandas", "tables") from None
        return pandas.DataFrame(
            event_rows(self), columns=["event", "entry", "step", "lower", "upper"]
        ).astype({"step": "Int64"})

    def to_latex(self) -> str:
        """Passages and peaks as LaTeX tables (booktabs)."""
        from swingby.verify.certification.certificate_report import certificate_grids

        return "\n\n".join(grid.to_latex() for grid in certificate_grids(self) if grid.rows)

    def __repr__(self) -> str:
        times = ", ".join("-" if time is None else str(time) for time in self.half_times)
        times += "," if self.dim == 1 else ""
        return (
            f"<Certificate {self.dynamics}, eta={numbers.scientific(self.eta)},"
            f" {self.steps} steps: half_times=({times})>"
        )

    def __str__(self) -> str:
        from swingby.verify.certification.certificate_report import certificate_grids

        return "\n\n".join(grid.to_text() for grid in certificate_grids(self))

    def _repr_html_(self) -> str:
        from swingby.verify.certification.certificate_report import certificate_grids

        return "".join(grid.to_html() for grid in certificate_grids(self))
