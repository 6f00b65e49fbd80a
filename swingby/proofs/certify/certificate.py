"""The certificate of one run: its facts as values, as a file, and as tables."""

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
from swingby.proofs.certify.enclosure import Enclosure, is_enclosure
from swingby.proofs.certify.events import LEVELS
from swingby.proofs.certify.facts import Facts, Passage
from swingby.proofs.certify.float_differences import Difference, differences
from swingby.proofs.checkers.replay import KEYS, canonical, compare, rational, read, replay
from swingby.report import Drawn, Grid
from swingby.report.files import json_text, write_text
from swingby.report.number_text import as_typed, scientific
from swingby.theory.input_files import text_of

if TYPE_CHECKING:
    from swingby.simulate.trajectory import Run

#: First word of every certificate; a change of the format changes the number.
FORMAT = "swingby certificate 1"
#: Concepts of a certificate: a step costs about d^3.
MOST_CONCEPTS = 6
#: Digits of a number that is read.
_MOST_DIGITS = 10**6
#: The entries of a certificate, in the order of its file.
_ENTRIES = (
    *("format", "made_by", "dynamics", "signal", "eta", "W0", "steps", "passages", "peaks", "psd"),
    *("runs_away", "converges", "end", "undecided"),
)
#: Levels beside the half-time, and the head of their columns.
_LEVEL_HEADS = {"1/10": "0.1", "4/5": "0.8", "99/100": "0.99"}


@dataclass(frozen=True)
class Certificate(Facts, Drawn):
    """Facts about one discrete trajectory, all proved. Made by :func:`swingby.certify`.

    Times are in steps. An enclosure is a pair of decimals between which the number lies. Entries
    that the highest precision did not decide are None and listed in :attr:`undecided`.

    Attributes
    ----------
    dynamics : str
        ``"euler"`` or ``"gd"``.
    signal : tuple of Fraction, length d
    eta : Fraction
    W0 : tuple of tuples of Fraction, d by d
    steps : int
        The last step that the certificate covers.
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
        """The differences of a float64 run of the same task, W(0), eta and dynamics.

        Each with whether rounding explains it, see :mod:`.float_differences`; empty where the run
        agrees in every step that both speak of. Raises InvalidInput if it is of something else.
        """
        return differences(self, run)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as in the file."""
        decided = "psd" not in self.undecided
        psd = {"first_loss": self.first_loss} if decided else None
        special = {"format": FORMAT, "psd": psd}
        content = {
            name: special[name] if name in special else _plain(getattr(self, name))
            for name in _ENTRIES
        }
        digest = hashlib.sha256(canonical(content).encode()).hexdigest()
        return {**content, "digest": digest}

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
            for k, passage in enumerate(row, 1):
                reached = passage or Passage(None)
                yield level, f"w_{k}{k}", reached.step, reached.at
        for peak in filter(None, self.peaks):
            yield "peak", f"w_{peak.i}{peak.j}", peak.step, peak.value
        yield "psd lost", "W", self.first_loss, None
        for away in filter(None, self.runs_away):
            yield "runs away", f"w_{away.k}{away.k}", away.step, None
        limit = self.converges
        step, distance = (limit.step, limit.distance) if limit else (None, None)
        yield "converges", "|W - I|_F", step, distance

    def __repr__(self) -> str:
        times = ", ".join("-" if time is None else str(time) for time in self.half_times)
        times += "," if self.dim == 1 else ""
        return (
            f"<Certificate {self.dynamics}, eta={as_typed(self.eta)},"
            f" {self.steps} steps: half_times=({times})>"
        )

    def to_grids(self) -> tuple[Grid, ...]:
        """Passages, and peaks of several concepts; the last table has the foot."""
        signal = ", ".join(map(as_typed, self.signal))
        rows = []
        for k, a in enumerate(self.signal):
            half = self.passages["1/2"][k]
            at = "-" if half is None or half.at is None else str(half.at)
            cells = [str(k + 1), as_typed(a), _time(half), at]
            rows.append([*cells, *(_time(self.passages[level][k]) for level in _LEVEL_HEADS)])
        heads = ("concept", ">a", ">half-time", "w_kk there")
        passages = Grid(
            title="Certified run",
            columns=[*heads, *(f">{name}" for name in _LEVEL_HEADS.values())],
            rows=rows,
            above=[f"a = ({signal}), eta = {as_typed(self.eta)}, {self.dynamics}"],
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
        convergence = self.converges
        if convergence is not None:
            lines.append(
                f"converges: |W - I|_F = {convergence.distance} at step {convergence.step},"
                f" and from there on every step shrinks it at least by the factor"
                f" {scientific(convergence.rate, 6)}"
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
        return [_plain(element) for element in value]
    if isinstance(value, Mapping):
        return {key: _plain(element) for key, element in value.items()}
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    return value


def parse(text: str) -> Any:
    """The values of a JSON text, with nothing in it that JSON does not know."""
    try:
        return read(text)
    except (ValueError, RecursionError):
        raise InvalidInput("certificate", "this text", "must be valid JSON") from None


def from_plain(content: Any) -> Certificate:
    """The certificate that plain values stand for, every part of them checked.

    Raises InvalidInput if a key or a type is wrong, or the digest is not that of the rest.
    """
    _need(
        isinstance(content, dict) and set(content) == KEYS, "certificate", "have exactly its keys"
    )
    _need(content["format"] == FORMAT, "format", f"be {FORMAT!r}")
    _need(content["dynamics"] in ("euler", "gd"), "dynamics", "be euler or gd")
    psd = content["psd"]
    _need(psd is None or (isinstance(psd, dict) and len(psd) == 1), "psd", "have its key")
    values = {**content, "first_loss": psd and psd.get("first_loss")}
    hints = _types(Facts)
    facts = {name: _read(hints[name], values[name], name) for name in hints if name != "bits"}
    certificate = Certificate(**facts)
    d, rows = certificate.dim, (certificate.W0, certificate.end)
    _need(1 <= d <= MOST_CONCEPTS, "signal", f"have 1 to {MOST_CONCEPTS} values")
    _need(certificate.passages.keys() == LEVELS.keys(), "passages", "have the levels")
    sizes = [len(row) for table in (*rows, certificate.passages.values()) for row in table]
    sizes += map(len, rows)
    _need(set(sizes) == {d}, "W0, end and passages", f"have {d} concepts")
    _need(len(certificate.peaks) == math.comb(d, 2), "peaks", "have one entry per pair")
    # Whatever else stands in it, or is written in another way, does not come back.
    if different := compare("", content, certificate.to_dict(), set()):
        raise InvalidInput("certificate", different[0], "must be as certify writes it")
    return certificate


def _types(kind: type[Any]) -> dict[str, Any]:
    """The types of the fields of a record, without constants of its class."""
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


def _need(condition: bool, path: str, requirement: str) -> None:
    if not condition:
        raise InvalidInput(f"{path} of the certificate", "another value", f"must {requirement}")


def _read(kind: Any, value: Any, path: str) -> Any:
    """A plain value as a type that a certificate is made of."""
    inner = get_args(kind)
    if type(None) in inner:
        return None if value is None else _read(inner[0], value, path)
    if isinstance(kind, type) and is_dataclass(kind):
        hints = _types(kind)
        _need(isinstance(value, dict) and value.keys() == hints.keys(), path, "have its keys")
        return kind(**{name: _read(hint, value[name], path) for name, hint in hints.items()})
    if get_origin(kind) is tuple:
        _need(isinstance(value, list), path, "be a list")
        return tuple(_read(inner[0], element, path) for element in value)
    if get_origin(kind) is Mapping:
        _need(isinstance(value, dict), path, "have keys")
        return {key: _read(inner[1], element, path) for key, element in value.items()}
    if kind is Enclosure:
        _need(is_enclosure(value), path, "be an enclosure")
        return Enclosure(*value)
    if kind is Fraction:
        try:
            return rational(value, path, _MOST_DIGITS)
        except ValueError:
            _need(False, path, "be p/q in lowest terms")
    # isinstance(True, int) holds in Python.
    _need(type(value) is kind and (kind is not int or value >= 0), path, f"be {_KINDS[kind]}")
    return value


_KINDS = {int: "a whole number of at least 0", bool: "true or false", str: "text"}
