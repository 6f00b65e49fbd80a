"""What is certified of one run.

Certificates as plain values, written in one way.

Certificates read from plain values, with every part checked.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
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
from swingby.verify.certification.replay import read

if TYPE_CHECKING:
    from swingby.simulate.result import Run
    from swingby.verify.certification.float_differences import Difference

#: First word of every certificate; a change of the format changes the number.
FORMAT = "swingby certificate 1"


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


def to_plain(certificate: Certificate) -> dict[str, Any]:
    """Everything but the digest."""

    def pair(enclosure: Enclosure | None) -> list[str] | None:
        return None if enclosure is None else list(enclosure)

    found = certificate.converges
    return {
        "format": FORMAT,
        "made_by": certificate.made_by,
        "dynamics": certificate.dynamics,
        "signal": [rational_text(value) for value in certificate.signal],
        "eta": rational_text(certificate.eta),
        "W0": [[rational_text(value) for value in row] for row in certificate.W0],
        "steps": certificate.steps,
        "passages": {
            level: [
                None
                if one is None
                else {
                    "step": one.step,
                    "before": pair(one.before),
                    "at": pair(one.at),
                    "never": one.never,
                }
                for one in row
            ]
            for level, row in certificate.passages.items()
        },
        "peaks": [
            None
            if one is None
            else {
                "i": one.i,
                "j": one.j,
                "step": one.step,
                "value": pair(one.value),
                "for_all_time": one.for_all_time,
            }
            for one in certificate.peaks
        ],
        "psd": None if "psd" in certificate.undecided else {"first_loss": certificate.first_loss},
        "runs_away": [
            None if one is None else {"k": one.k, "step": one.step} for one in certificate.runs_away
        ],
        "converges": None
        if found is None
        else {
            "step": found.step,
            "distance": pair(found.distance),
            "radius": rational_text(found.radius),
            "rate": rational_text(found.rate),
        },
        "end": [[pair(one) for one in row] for row in certificate.end],
        "undecided": list(certificate.undecided),
    }


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


_RATIONAL = re.compile(r"(-?[1-9][0-9]*|0)(?:/([1-9][0-9]*))?", re.ASCII)
_KEYS = {
    *("format", "made_by", "dynamics", "signal", "eta", "W0", "steps", "passages", "peaks"),
    *("psd", "runs_away", "converges", "end", "undecided", "digest"),
}


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
    _need(isinstance(plain, dict) and set(plain) == _KEYS, "certificate", "have exactly its keys")
    _need(plain["format"] == FORMAT, "format", f"be {FORMAT!r}")
    _need(isinstance(plain["made_by"], str), "made_by", "be text")
    _need(plain["dynamics"] in ("euler", "gd"), "dynamics", "be euler or gd")
    signal = tuple(_rational(value, "signal") for value in _list(plain["signal"], "signal"))
    d = len(signal)
    _need(1 <= d <= MOST_CONCEPTS, "signal", f"have 1 to {MOST_CONCEPTS} values")
    _need(min(signal) >= 0, "signal", "not be negative")
    eta = _rational(plain["eta"], "eta")
    _need(eta > 0, "eta", "be positive")
    W0 = tuple(
        tuple(_rational(value, "W0") for value in _list(row, "W0", d))
        for row in _list(plain["W0"], "W0", d)
    )
    _need(all(W0[i][j] == W0[j][i] for i in range(d) for j in range(i)), "W0", "be symmetric")
    steps = _step(plain["steps"], "steps")
    undecided = tuple(_list(plain["undecided"], "undecided"))
    _need(all(isinstance(path, str) for path in undecided), "undecided", "hold text")

    def optional(path: str, value: Any, read: Callable[[Any], Any]) -> Any:
        _need((value is None) == (path in undecided), path, "be null if and only if undecided")
        return None if value is None else read(value)

    def passage(value: Any) -> Passage:
        _object(value, "passages", {"step", "before", "at", "never"})
        _need(isinstance(value["never"], bool), "never", "be true or false")
        if value["step"] is None:
            _need(value["before"] is None and value["at"] is None, "passages", "be null together")
            return Passage(None, never=value["never"])
        step = _step(value["step"], "passages", steps)
        _need((value["before"] is None) == (step == 0), "before", "be null at step 0 alone")
        before = None if step == 0 else _enclosure(value["before"], "before")
        return Passage(step, before, _enclosure(value["at"], "at"), value["never"])

    levels = _object(plain["passages"], "passages", set(LEVELS))
    passages = {
        level: tuple(
            optional(f"passages/{level}/{k}", value, passage)
            for k, value in enumerate(_list(levels[level], "passages", d), 1)
        )
        for level in LEVELS
    }
    pairs = [(i, j) for i in range(1, d + 1) for j in range(i + 1, d + 1)]
    peaks = []
    for (i, j), value in zip(pairs, _list(plain["peaks"], "peaks", len(pairs)), strict=True):

        def peak(value: Any, place: tuple[int, int] = (i, j)) -> CertifiedPeak:
            _object(value, "peaks", {"i", "j", "step", "value", "for_all_time"})
            found = (_step(value["i"], "peaks"), _step(value["j"], "peaks"))
            _need(found == place, "peaks", "name the pairs in order")
            _need(isinstance(value["for_all_time"], bool), "for_all_time", "be true or false")
            step = _step(value["step"], "peaks", steps)
            return CertifiedPeak(
                *place, step, _enclosure(value["value"], "value"), value["for_all_time"]
            )

        peaks.append(optional(f"peaks/{i},{j}", value, peak))

    def loss(value: Any) -> int | None:
        first = _object(value, "psd", {"first_loss"})["first_loss"]
        return None if first is None else _step(first, "psd", steps)

    def away(value: Any) -> RunsAway:
        _object(value, "runs_away", {"k", "step"})
        k = _step(value["k"], "runs_away", d)
        return RunsAway(k, _step(value["step"], "runs_away", steps))

    def convergence(value: Any) -> Convergence:
        _object(value, "converges", {"step", "distance", "radius", "rate"})
        return Convergence(
            _step(value["step"], "converges", steps),
            _enclosure(value["distance"], "converges"),
            _rational(value["radius"], "radius"),
            _rational(value["rate"], "rate"),
        )

    given = _list(plain["runs_away"], "runs_away")
    certificate = Certificate(
        dynamics=plain["dynamics"],
        signal=signal,
        eta=eta,
        W0=W0,
        steps=steps,
        passages=passages,
        peaks=tuple(peaks),
        first_loss=optional("psd", plain["psd"], loss),
        runs_away=tuple(None if value is None else away(value) for value in given),
        converges=None if plain["converges"] is None else convergence(plain["converges"]),
        end=tuple(
            tuple(
                optional(f"end/{i},{j}", value, lambda value: _enclosure(value, "end"))
                for j, value in enumerate(_list(row, "end", d), 1)
            )
            for i, row in enumerate(_list(plain["end"], "end", d), 1)
        ),
        undecided=undecided,
        made_by=plain["made_by"],
    )
    _need(plain["digest"] == certificate.digest, "digest", "be that of the rest")
    return certificate


def _need(condition: bool, part: str, requirement: str) -> None:
    if not condition:
        raise InvalidInput(f"{part} of the certificate", "another value", f"must {requirement}")


def _list(value: Any, part: str, size: int | None = None) -> list[Any]:
    _need(isinstance(value, list), part, "be a list")
    _need(size is None or len(value) == size, part, f"have {size} entries")
    return list(value)


def _object(value: Any, part: str, keys: set[str]) -> dict[str, Any]:
    _need(isinstance(value, dict) and set(value) == keys, part, f"have the keys {sorted(keys)}")
    return dict(value)


def _step(value: Any, part: str, most: int | None = None) -> int:
    # isinstance(True, int) holds in Python.
    _need(type(value) is int and value >= 0, part, "be a whole number of at least 0")
    _need(most is None or value <= most, part, f"be at most {most}")
    return int(value)


def _enclosure(value: Any, part: str) -> Enclosure:
    _need(is_enclosure(value), part, "be an enclosure")
    return Enclosure(*value)


def _rational(value: Any, part: str) -> Fraction:
    match = _RATIONAL.fullmatch(value) if isinstance(value, str) else None
    _need(match is not None, part, "be p/q in lowest terms")
    assert match is not None
    number = Fraction(int(flint.fmpz(match[1])), int(flint.fmpz(match[2] or "1")))
    _need(rational_text(number) == value, part, "be p/q in lowest terms")
    return number
