"""The text that a certificate is hashed as, by a second implementation."""

from fractions import Fraction

import pytest

from swingby.theory.task import SIMTask
from swingby.verify.certification.certificate import digest, rational_text, to_plain
from swingby.verify.certification.replay import replay
from swingby.verify.certify import certify

#: Far past the 4300 digits that Python writes.
LONG = 3**20_000


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
