"""The text that a certificate is hashed as, by a second implementation."""

import hashlib
from fractions import Fraction

import pytest

from swingby.theory.task import SIMTask
from swingby.verify.certification.certificate import digest, rational_text, to_plain
from swingby.verify.certification.replay import replay
from swingby.verify.certify import certify

#: Far past the 4300 digits that Python writes.
LONG = 3**20_000


def in_ascii(text):
    """A JSON string by hand: every character past ASCII as UTF-16 units."""
    units = text.encode("utf-16-be")
    written = ""
    for place in range(0, len(units), 2):
        unit = int.from_bytes(units[place : place + 2], "big")
        written += chr(unit) if 32 <= unit < 127 and unit not in (34, 92) else f"\\u{unit:04x}"
    return f'"{written}"'


def by_hand(value):
    """Keys in order, no spaces."""
    if isinstance(value, dict):
        return f"{{{','.join(f'{in_ascii(key)}:{by_hand(value[key])}' for key in sorted(value))}}}"
    if isinstance(value, list | tuple):
        return f"[{','.join(map(by_hand, value))}]"
    if isinstance(value, str):
        return in_ascii(value)
    return "null" if value is None else str(value).lower()


@pytest.mark.parametrize(
    "plain",
    [
        {},
        {"b": [1, None, "x"], "a": {"z": True, "y": []}},
        {"made_by": "swingby ü 測 🜁", "digest": "not a part of it"},
    ],
)
def test_the_digest_is_that_of_the_text_in_ascii(plain):
    rest = {key: value for key, value in plain.items() if key != "digest"}
    assert digest(plain) == hashlib.sha256(by_hand(rest).encode("ascii")).hexdigest()


def test_a_certificate_made_under_any_name_is_replayed():
    # The replay hashes on its own: both must write other alphabets in the same way.
    made = to_plain(certify(SIMTask.from_signal([2]), [["1/4"]], "1/10", steps=3))
    made["made_by"] = "swingby für 🜁"
    made["digest"] = digest(made)
    assert replay(made) == []
    made["digest"] = digest(made | {"made_by": "swingby fur 🜁"})
    assert replay(made) != []


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (Fraction(0), "0"),
        (Fraction(-4, 2), "-2"),
        (Fraction(-3, 6), "-1/2"),
        (Fraction(7, 3), "7/3"),
    ],
)
def test_a_rational_is_written_in_lowest_terms(number, text):
    assert rational_text(number) == text


def test_a_rational_of_any_length_is_written_out():
    # Read back digit by digit, by Horner.
    for number in (Fraction(LONG), Fraction(1, LONG), Fraction(-LONG, 2)):
        parts = rational_text(number).lstrip("-").split("/")
        values = []
        for part in parts:
            value = 0
            for place in range(0, len(part), 1000):
                piece = part[place : place + 1000]
                value = value * 10 ** len(piece) + int(piece)
            values.append(value)
        assert values == [abs(number.numerator), number.denominator][: len(parts)]
        assert len(parts) == 1 + (number.denominator > 1)
