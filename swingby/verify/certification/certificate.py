"""What is certified of one run.

Certificates as plain values, written in one way.

Certificates read from plain values, with every part checked.
"""

from __future__ import annotations

import hashlib
import importlib
import itertools
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import flint

from swingby.errors import InvalidInput, MissingExtra
from swingby.report import Drawn, Grid
from swingby.report.files import write_text
from swingby.theory import numbers
from swingby.theory.reading import text_of
from swingby.verify.certification.enclosure import Enclosure, is_enclosure
from swingby.verify.certification.events import LEVELS
from swingby.verify.certification.given import MOST_CONCEPTS
from swingby.verify.certification.replay import KEYS, compare, rational, read

if TYPE_CHECKING:
    from swingby.simulate.result import Run
    from swingby.verify.certification.float_differences import Difference

#: First word of every certificate; a change of the format changes the number.
FORMAT = "swingby certificate 1"
#: Digits of a number that is read.
MOST_DIGITS = 10**6


def rational_text(number: Fraction) -> str:
    """A rational as ``p/q`` in lowest terms, or ``p``."""
    # str of an int refuses more than 4300 digits; flint does not.
    top = str(flint.fmpz(number.numerator))
    return top if number.denominator == 1 else f"{top}/{flint.fmpz(number.denominator)}"


def digest(plain: dict[str, Any]) -> str:
    """SHA-256 of the values without their digest.

    Returns 64 hexadecimal digits.
    """
    rest = {key: value for key, value in plain.items() if key != "digest"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


#: What a certificate says, in the order of its file.
_SAID = (
    *("format", "made_by", "dynamics", "signal", "eta", "W0", "steps", "passages", "peaks", "psd"),
    *("runs_away", "converges", "end", "undecided"),
)


def to_plain(certificate: Certificate) -> dict[str, Any]:
    """Everything but the digest."""
    decided = "psd" not in certificate.undecided
    psd = {"first_loss": certificate.first_loss} if decided else None
    special = {"format": FORMAT, "psd": psd}
    return {
        name: special[name] if name in special else _plain(getattr(certificate, name))
        for name in _SAID
    }


def _plain(value: Any) -> Any:
    if isinstance(value, Fraction):
        return rational_text(value)
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items()}
    if is_dataclass(value):
        return {one.name: _plain(getattr(value, one.name)) for one in fields(value)}
    return value


@dataclass(frozen=True)
class Passage:
    """First passage of a level by w_kk.

    `step`: first step with w_kk at least the level; None where there is none up to the last step.
    `before`, `at`: w_kk one step earlier, and at the step.
    `never`: the level is not reached at any later step either.
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

    `distance`: the norm of W - I there, in the sense of Frobenius. `radius`, `rate`: from `step`
    on, which is within `radius`, the norm shrinks at least by `rate` per step.
    """

    step: int
    distance: Enclosure
    radius: Fraction
    rate: Fraction


@dataclass(frozen=True)
class Certificate(Drawn):
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
        return digest(to_plain(self))

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
        plain = to_plain(self)
        return {**plain, "digest": digest(plain)}

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
        return write_text(path, self.to_json())

    @classmethod
    def load(cls, path: str | Path) -> Certificate:
        """Read a certificate that :meth:`save` wrote. This does not verify it.

        Raises
        ------
        InvalidInput
            If the file is missing, is not JSON, or not a certificate as written.
        """
        return from_plain(parse(text_of(path, "path", "text file")))

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

    def __repr__(self) -> str:
        times = ", ".join("-" if time is None else str(time) for time in self.half_times)
        times += "," if self.dim == 1 else ""
        return (
            f"<Certificate {self.dynamics}, eta={numbers.scientific(self.eta)},"
            f" {self.steps} steps: half_times=({times})>"
        )

    def to_grids(self) -> tuple[Grid, ...]:
        """Passages, and peaks where there are several concepts."""
        from swingby.verify.certification.certificate_report import certificate_grids

        return certificate_grids(self)


def parse(text: str) -> Any:
    """The values of a JSON text, with nothing in it that JSON does not know."""
    try:
        return read(text)
    except (ValueError, RecursionError):
        raise InvalidInput("certificate", "this text", "must be valid JSON") from None


def from_plain(plain: Any) -> Certificate:
    """The certificate that plain values stand for.

    `plain`: as :func:`parse` returns it. Raises InvalidInput if a key or a type is wrong, or the
    digest is not that of the rest.
    """
    _need(isinstance(plain, dict) and set(plain) == KEYS, "certificate", "have exactly its keys")
    _need(plain["format"] == FORMAT, "format", f"be {FORMAT!r}")
    _need(plain["dynamics"] in ("euler", "gd"), "dynamics", "be euler or gd")
    _need(isinstance(plain["made_by"], str), "made_by", "be text")
    try:
        certificate = _structured(plain)
        different = compare("", plain, certificate.to_dict(), set())
    except InvalidInput:
        raise
    except (TypeError, ValueError, LookupError, AttributeError):
        different = ["a part has another form"]
    # Whatever else stands in it, or is written in another way, does not come back.
    if different:
        raise InvalidInput("certificate", different[0], "must be as certify writes it")
    return certificate


def _structured(plain: dict[str, Any]) -> Certificate:
    signal = tuple(_rational(value, "signal") for value in plain["signal"])
    d, undecided = len(signal), tuple(plain["undecided"])
    _need(1 <= d <= MOST_CONCEPTS, "signal", f"have 1 to {MOST_CONCEPTS} values")
    _need(min(signal) >= 0, "signal", "not be negative")
    eta = _rational(plain["eta"], "eta")
    _need(eta > 0, "eta", "be positive")
    W0 = tuple(tuple(_rational(value, "W0") for value in row) for row in plain["W0"])
    _need(len(W0) == d and tuple(zip(*W0, strict=True)) == W0, "W0", "be symmetric, d by d")
    steps = _step(plain["steps"], "steps")
    concepts = range(1, d + 1)

    def optional(path: str, value: Any, read: Callable[[Any], Any]) -> Any:
        _need((value is None) == (path in undecided), path, "be null if and only if undecided")
        return None if value is None else read(value)

    def passage(value: Any) -> Passage:
        never = bool(value["never"])
        if value["step"] is None:
            return Passage(None, never=never)
        step = _step(value["step"], "passages", steps)
        before = _enclosure(value["before"], "before") if step else None
        return Passage(step, before, _enclosure(value["at"], "at"), never)

    def peak(i: int, j: int, value: Any) -> CertifiedPeak:
        step = _step(value["step"], "peaks", steps)
        at = _enclosure(value["value"], "value")
        return CertifiedPeak(i, j, step, at, bool(value["for_all_time"]))

    def loss(value: Any) -> int | None:
        first = value["first_loss"]
        return None if first is None else _step(first, "psd", steps)

    def away(value: Any) -> RunsAway:
        return RunsAway(_step(value["k"], "k", d), _step(value["step"], "runs_away", steps))

    def convergence(value: Any) -> Convergence:
        return Convergence(
            _step(value["step"], "converges", steps),
            _enclosure(value["distance"], "converges"),
            _rational(value["radius"], "radius"),
            _rational(value["rate"], "rate"),
        )

    passages = {
        level: tuple(
            optional(f"passages/{level}/{k}", value, passage)
            for k, value in zip(concepts, plain["passages"][level], strict=True)
        )
        for level in LEVELS
    }
    pairs = itertools.combinations(concepts, 2)
    peaks = tuple(
        optional(f"peaks/{i},{j}", value, partial(peak, i, j))
        for (i, j), value in zip(pairs, plain["peaks"], strict=True)
    )
    end = tuple(
        tuple(
            optional(f"end/{i},{j}", value, lambda value: _enclosure(value, "end"))
            for j, value in zip(concepts, row, strict=True)
        )
        for i, row in zip(concepts, plain["end"], strict=True)
    )
    return Certificate(
        dynamics=plain["dynamics"],
        signal=signal,
        eta=eta,
        W0=W0,
        steps=steps,
        passages=passages,
        peaks=peaks,
        first_loss=optional("psd", plain["psd"], loss),
        runs_away=tuple(None if value is None else away(value) for value in plain["runs_away"]),
        converges=None if plain["converges"] is None else convergence(plain["converges"]),
        end=end,
        undecided=undecided,
        made_by=plain["made_by"],
    )


def _need(condition: bool, part: str, requirement: str) -> None:
    if not condition:
        raise InvalidInput(f"{part} of the certificate", "another value", f"must {requirement}")


def _step(value: Any, part: str, most: int | None = None) -> int:
    # isinstance(True, int) holds in Python.
    _need(type(value) is int and value >= 0, part, "be a whole number of at least 0")
    _need(most is None or value <= most, part, f"be at most {most}")
    return int(value)


def _enclosure(value: Any, part: str) -> Enclosure:
    _need(is_enclosure(value), part, "be an enclosure")
    return Enclosure(*value)


def _rational(value: Any, part: str) -> Fraction:
    try:
        return rational(value, part, MOST_DIGITS)
    except ValueError:
        _need(False, part, "be p/q in lowest terms")
        raise
