"""Certificates read from plain values, with every part checked."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import flint

from swingby.errors import InvalidInput
from swingby.verify.certification.certificate import (
    Certificate,
    CertifiedPeak,
    Convergence,
    Passage,
    RunsAway,
)
from swingby.verify.certification.certificate_format import FORMAT, rational_text
from swingby.verify.certification.enclosure import Enclosure, is_enclosure
from swingby.verify.certification.events import LEVELS
from swingby.verify.certification.given import MOST_CONCEPTS
from swingby.verify.certification.replay import read

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
