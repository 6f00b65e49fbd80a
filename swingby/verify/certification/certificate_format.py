"""Certificates as plain values, written in one way."""

from __future__ import annotations

import hashlib
import json
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import flint

from swingby.verify.certification.enclosure import Enclosure

if TYPE_CHECKING:
    from swingby.verify.certification.certificate import Certificate

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
