"""What is certified of one run: the certificate as values, as a file, and as tables."""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints

import flint

from swingby.errors import InvalidInput
from swingby.proofs.certify.enclosure import Enclosure, Facts, Passage, is_enclosure
from swingby.proofs.certify.events import LEVELS
from swingby.proofs.certify.float_differences import Difference, differences
from swingby.proofs.checkers.replay import KEYS, canonical, compare, rational, read, replay
from swingby.report import Drawn, Grid
from swingby.report.files import json_text, write_text
from swingby.theory import numbers
from swingby.theory.input_files import text_of

if TYPE_CHECKING:
    from swingby.simulate.trajectory import Run

#: First word of every certificate; a change of the format changes the number.
FORMAT = "swingby certificate 1"
#: Concepts of a certificate: a step costs about d^3.
MOST_CONCEPTS = 6
#: Digits of a number that is read.
MOST_DIGITS = 10**6
#: What a certificate says, in the order of its file.
_SAID = (
    *("format", "made_by", "dynamics", "signal", "eta", "W0", "steps", "passages", "peaks", "psd"),
    *("runs_away", "converges", "end", "undecided"),
)
#: Levels beside the half-time, and the head of their columns.
_OTHERS = {"1/10": "0.1", "4/5": "0.8", "99/100": "0.99"}


@dataclass(frozen=True)
class Certificate(Facts, Drawn):
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

    @property
    def digest(self) -> str:
        """SHA-256 of everything else, as it stands in the file."""
        return str(self.to_dict()["digest"])

    def __hash__(self) -> int:
        return hash(self.digest)

    def verify(self) -> list[str]:
        """Everything recomputed by an independent checker that uses integers alone.

        Returns reasons for rejection; none where the certificate is accepted.
        """
        return replay(self.to_dict())

    def differences(self, run: Run) -> tuple[Difference, ...]:
        """Where a float64 run of the same task, W(0), eta and dynamics differs.

        Each with whether rounding explains it, see :mod:`.float_differences`; empty where the run
        agrees in every step that both speak of. Raises InvalidInput if it is of something else.
        """
        return differences(self, run)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as in the file."""
        decided = "psd" not in self.undecided
        psd = {"first_loss": self.first_loss} if decided else None
        special = {"format": FORMAT, "psd": psd}
        plain = {
            name: special[name] if name in special else _plain(getattr(self, name))
            for name in _SAID
        }
        digest = hashlib.sha256(canonical(plain).encode()).hexdigest()
        return {**plain, "digest": digest}

    def to_json(self) -> str:
        """The certificate as JSON."""
        return json_text(self.to_dict()) + "\n"

    def save(self, path: str | Path) -> Path:
        """Write the certificate as a JSON file; InvalidInput if that cannot be written."""
        return write_text(path, self.to_json())

    @classmethod
    def load(cls, path: str | Path) -> Certificate:
        """Read a certificate that :meth:`save` wrote, which does not verify it.

        Raises InvalidInput if the file is missing, is not JSON, or not a certificate as written.
        """
        return from_plain(parse(text_of(path, "path", "text file")))

    def to_frame(self) -> Any:
        """One row per event: event, entry, step, lower, upper."""
        import pandas

        columns = ["event", "entry", "step", "lower", "upper"]
        rows = [(*row, *(ends or ("", ""))) for *row, ends in self._events()]
        return pandas.DataFrame(rows, columns=columns).astype({"step": "Int64"})

    def _events(self) -> Iterator[tuple[str, str, int | None, Enclosure | None]]:
        """Event, entry, step and value; no step where an event does not happen or is open."""
        for level, row in self.passages.items():
            for k, one in enumerate(row, 1):
                known = one or Passage(None)
                yield level, f"w_{k}{k}", known.step, known.at
        for peak in filter(None, self.peaks):
            yield "peak", f"w_{peak.i}{peak.j}", peak.step, peak.value
        yield "psd lost", "W", self.first_loss, None
        for away in filter(None, self.runs_away):
            yield "runs away", f"w_{away.k}{away.k}", away.step, None
        found, event = self.converges, ("converges", "|W - I|_F")
        yield (*event, found.step, found.distance) if found else (*event, None, None)

    def __repr__(self) -> str:
        times = ", ".join("-" if time is None else str(time) for time in self.half_times)
        times += "," if self.dim == 1 else ""
        return (
            f"<Certificate {self.dynamics}, eta={numbers.scientific(self.eta)},"
            f" {self.steps} steps: half_times=({times})>"
        )

    def to_grids(self) -> tuple[Grid, ...]:
        """Passages, and peaks where there are several concepts; the last one has the foot."""
        signal = ", ".join(map(numbers.scientific, self.signal))
        rows = []
        for k, a in enumerate(self.signal):
            half = self.passages["1/2"][k]
            at = "-" if half is None or half.at is None else str(half.at)
            cells = [str(k + 1), numbers.scientific(a), _time(half), at]
            rows.append([*cells, *(_time(self.passages[level][k]) for level in _OTHERS)])
        heads = ("concept", ">a", ">half-time", "w_kk there")
        passages = Grid(
            title="Certified run",
            columns=[*heads, *(f">{name}" for name in _OTHERS.values())],
            rows=rows,
            above=[f"a = ({signal}), eta = {numbers.scientific(self.eta)}, {self.dynamics}"],
            below=self._foot() if self.dim == 1 else (),
        )
        if self.dim == 1:
            return (passages,)
        pairs = itertools.combinations(range(1, self.dim + 1), 2)
        peaks = Grid(
            title="",
            columns=["entry", ">peak", "w_ij there", "largest for all time"],
            rows=[
                [f"w_{i}{j}", "undecided", "-", "-"]
                if peak is None
                else [
                    f"w_{i}{j}",
                    str(peak.step),
                    str(peak.value),
                    "yes" if peak.for_all_time else "up to the last step",
                ]
                for (i, j), peak in zip(pairs, self.peaks, strict=True)
            ],
            below=self._foot(),
        )
        return passages, peaks

    def _foot(self) -> list[str]:
        if "psd" in self.undecided:
            lines = ["", "positive semidefinite: undecided"]
        elif self.first_loss is None:
            lines = ["", f"positive semidefinite up to step {self.steps}"]
        else:
            lines = ["", f"positive semidefinite before step {self.first_loss}, and not there"]
        for away in filter(None, self.runs_away):
            name = f"w_{away.k}{away.k}"
            lines.append(f"{name} is negative at step {away.step} and tends to minus infinity")
        found = self.converges
        if found is not None:
            lines.append(
                f"converges: |W - I|_F = {found.distance} at step {found.step}, and from there"
                f" on every step shrinks it at least by the factor"
                f" {numbers.scientific(found.rate, 6)}"
            )
        elif "converges" in self.undecided:
            lines.append("convergence to I: undecided")
        else:
            lines.append("convergence to I is not certified")
        if self.undecided:
            lines.append(f"undecided: {', '.join(self.undecided)}")
        precision = "" if self.bits is None else f", decided with {self.bits} bits"
        return [*lines, f"{self.steps} steps{precision}; SHA-256 {self.digest[:16]}..."]


def _time(passage: Passage | None) -> str:
    if passage is None:
        return "undecided"
    if passage.step is None:
        return "never" if passage.never else "-"
    return str(passage.step)


def _plain(value: Any) -> Any:
    if isinstance(value, Fraction):
        # str of an int refuses more than 4300 digits; flint does not.
        return str(flint.fmpq(value.numerator, value.denominator))
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items()}
    if is_dataclass(value):
        return {one.name: _plain(getattr(value, one.name)) for one in fields(value)}
    return value


def parse(text: str) -> Any:
    """The values of a JSON text, with nothing in it that JSON does not know."""
    try:
        return read(text)
    except (ValueError, RecursionError):
        raise InvalidInput("certificate", "this text", "must be valid JSON") from None


def from_plain(plain: Any) -> Certificate:
    """The certificate that plain values stand for, every part of them checked.

    Raises InvalidInput if a key or a type is wrong, or the digest is not that of the rest.
    """
    _need(isinstance(plain, dict) and set(plain) == KEYS, "certificate", "have exactly its keys")
    _need(plain["format"] == FORMAT, "format", f"be {FORMAT!r}")
    _need(plain["dynamics"] in ("euler", "gd"), "dynamics", "be euler or gd")
    psd = plain["psd"]
    _need(psd is None or (isinstance(psd, dict) and len(psd) == 1), "psd", "have its key")
    given = {**plain, "first_loss": psd and psd.get("first_loss")}
    hints = get_type_hints(Facts)
    known = {name: _read(hints[name], given[name], name) for name in hints if name != "bits"}
    certificate = Certificate(**known)
    d, rows = certificate.dim, (certificate.W0, certificate.end)
    _need(1 <= d <= MOST_CONCEPTS, "signal", f"have 1 to {MOST_CONCEPTS} values")
    _need(certificate.passages.keys() == LEVELS.keys(), "passages", "have the levels")
    sizes = [len(row) for part in (*rows, certificate.passages.values()) for row in part]
    sizes += map(len, rows)
    _need(set(sizes) == {d}, "W0, end and passages", f"have {d} concepts")
    _need(len(certificate.peaks) == math.comb(d, 2), "peaks", "have one entry per pair")
    # Whatever else stands in it, or is written in another way, does not come back.
    if different := compare("", plain, certificate.to_dict(), set()):
        raise InvalidInput("certificate", different[0], "must be as certify writes it")
    return certificate


def _need(condition: bool, part: str, requirement: str) -> None:
    if not condition:
        raise InvalidInput(f"{part} of the certificate", "another value", f"must {requirement}")


def _read(kind: Any, value: Any, part: str) -> Any:
    """A plain value as one of the types that a certificate is made of."""
    inner = get_args(kind)
    if type(None) in inner:
        return None if value is None else _read(inner[0], value, part)
    if isinstance(kind, type) and is_dataclass(kind):
        hints = get_type_hints(kind)
        _need(isinstance(value, dict) and value.keys() == hints.keys(), part, "have its keys")
        return kind(**{name: _read(hint, value[name], part) for name, hint in hints.items()})
    if get_origin(kind) is tuple:
        _need(isinstance(value, list), part, "be a list")
        return tuple(_read(inner[0], one, part) for one in value)
    if get_origin(kind) is Mapping:
        _need(isinstance(value, dict), part, "have keys")
        return {key: _read(inner[1], one, part) for key, one in value.items()}
    if kind is Enclosure:
        _need(is_enclosure(value), part, "be an enclosure")
        return Enclosure(*value)
    if kind is Fraction:
        try:
            return rational(value, part, MOST_DIGITS)
        except ValueError:
            _need(False, part, "be p/q in lowest terms")
    # isinstance(True, int) holds in Python.
    _need(type(value) is kind and (kind is not int or value >= 0), part, f"be {_KINDS[kind]}")
    return value


_KINDS = {int: "a whole number of at least 0", bool: "true or false", str: "text"}
