"""Exact numbers as short Python text that gives the same numbers again."""

from __future__ import annotations

from fractions import Fraction

from swingby.theory import numbers

#: Longer decimals say less than a quotient.
MOST_DIGITS = 40
#: Digits that text of a quotient may have on either side; see swingby.theory.numbers.
MOST_TEXT_DIGITS = 400


def number(value: Fraction) -> str:
    """Write a number so that swingby reads the same number back.

    Parameters
    ----------
    value : Fraction
        At least 0, of any size.

    Returns
    -------
    str
        A whole number, a float, text in quotes, or, where text would be too long to be read, a
        Fraction.

    Examples
    --------
    >>> number(Fraction(4)), number(Fraction(0.1)), number(Fraction(1, 10))
    ('4', '0.1', '"0.1"')
    >>> number(Fraction(3, 10**80)), number(Fraction(1, 720))
    ('"3e-80"', '"1/720"')
    """
    if value.denominator == 1 and value < 10**15:
        return str(value.numerator)
    decimal = _decimal(value)
    if decimal is not None:
        return f'"{decimal}"'
    if value < 2**1023 and Fraction(float(value)) == value:
        return repr(float(value))
    if max(value.numerator, value.denominator) < 10**MOST_TEXT_DIGITS:
        return f'"{value}"'
    # Python reads whole numbers of any length in this form only.
    return f"Fraction({value.numerator:#x}, {value.denominator:#x})"


def vector(values: tuple[Fraction, ...]) -> str:
    """Write a list of numbers."""
    return f"[{', '.join(map(number, values))}]"


def _decimal(value: Fraction) -> str | None:
    """A decimal that is short enough to be read, or None."""
    denominator = value.denominator
    twos = (denominator & -denominator).bit_length() - 1
    odd = denominator >> twos
    fives = round(numbers.log_of(Fraction(odd)) / numbers.log_of(Fraction(5)))
    if 5**fives != odd:
        return None
    places = max(twos, fives)
    scaled = value.numerator * 2 ** (places - twos) * 5 ** (places - fives)
    if scaled >= 10**MOST_DIGITS and places:
        return None
    digits = scaled
    zeros = 0
    while digits and digits % 10 == 0:
        digits //= 10
        zeros += 1
    if digits >= 10**MOST_DIGITS:
        return None
    text = str(digits)
    exponent = zeros - places + len(text) - 1
    if abs(exponent) > numbers.LARGEST_EXPONENT:
        return None
    if -5 < exponent < 0:
        return "0." + "0" * (-exponent - 1) + text
    if 0 <= exponent < 6 and len(text) <= 12:
        # No whole number gets here, so there are digits after the point.
        return f"{text[: exponent + 1]}.{text[exponent + 1 :]}"
    return text[0] + ("." + text[1:] if len(text) > 1 else "") + f"e{exponent}"
