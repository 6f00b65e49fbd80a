"""Exponentials and logarithms of vectors, by polynomials; emitted into compiled code."""

from __future__ import annotations

from swingby.verify.batched.vectors import (
    DOUBLES,
    Vector,
    largest,
    smallest,
    where,
    whole_numbers,
)

#: exp(r) for |r| <= log(2)/2 to 2e-17, interpolated at Chebyshev nodes.
_EXP = (
    1.0,
    1.0,
    0.5000000000000019,
    0.1666666666666668,
    0.04166666666648795,
    0.008333333333319589,
    0.0013888888952352863,
    0.00019841269890076403,
    2.4801485441561313e-05,
    2.755724088722987e-06,
    2.763265472252779e-07,
    2.5110049204818658e-08,
)
#: The same to 1.1e-12, enough for integrands.
_EXP_SHORT = (
    1.0,
    0.999999999979769,
    0.49999999999797773,
    0.16666666891180545,
    0.0416666668910917,
    0.008333266071022454,
    0.001388882165071769,
    0.00019915881871396035,
    2.4876178959085513e-05,
)
#: artanh(s)/s in powers of s^2, to 3e-18, for s^2 up to 0.02944 and up to 1/9; and to 7e-14.
_ARTANH_NEAR = (
    1.0,
    0.33333333333333826,
    0.1999999999965097,
    0.14285714380365935,
    0.11111098523544492,
    0.09091816102189126,
    0.076562570559619,
    0.074049285724485,
)
_ARTANH = (
    1.0,
    0.33333333333333076,
    0.20000000000092874,
    0.14285714272727057,
    0.11111112040373837,
    0.09090870416252403,
    0.07693307021152004,
    0.06650187016337313,
    0.06055084364034609,
    0.0416225325593041,
    0.08522081781390699,
)
_ARTANH_SHORT = (
    0.9999999999999368,
    0.3333333334059967,
    0.19999998632121246,
    0.14285812013750593,
    0.11107700090055997,
    0.0915502181938133,
    0.07035379662321815,
    0.10034077847425321,
)
_LOG2_HIGH, _LOG2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
#: Adding it rounds to a whole number, which then stands in the lowest bits.
_ROUNDER = 1.5 * 2.0**52


def _polynomial(coefficients: tuple[float, ...], x: Vector) -> Vector:
    """By Horner's rule: one instruction per coefficient. Others fill the wait for each."""
    total = x.like(coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        total = total * x + coefficient
    return total


def exp(x: Vector) -> Vector:
    """exp(x) to 1 unit in the last place or so; 0 below exp(-708), at most exp(709)."""
    builder = x.builder
    bounded = smallest(709.0, x)
    rounded = bounded * 1.4426950408889634 + _ROUNDER
    power = rounded - _ROUNDER
    rest = bounded - power * _LOG2_HIGH
    rest = rest - power * _LOG2_LOW
    value = _polynomial(_EXP, rest)
    exponent = builder.shl(rounded.bits(), whole_numbers(52))
    scaled = builder.bitcast(builder.add(value.bits(), exponent), DOUBLES)
    return where(x < -708.0, 0.0, Vector(builder, scaled))


def exp_near(x: Vector) -> Vector:
    """exp(x) to 1e-12, for x up to 700; exp(-700) below that."""
    return _exp_pair(x, both=False)[0]


def exp_pair(x: Vector) -> tuple[Vector, Vector]:
    """exp(x) and exp(-x) to 1e-12, for x up to 700; those of -700 below that."""
    return _exp_pair(x, both=True)


def _exp_pair(x: Vector, *, both: bool) -> tuple[Vector, Vector]:
    builder = x.builder
    bounded = largest(-700.0, x)
    rounded = bounded * 1.4426950408889634 + _ROUNDER
    rest = bounded - (rounded - _ROUNDER) * 0.6931471805599453
    square = rest * rest
    even = _polynomial(_EXP_SHORT[::2], square)
    odd = rest * _polynomial(_EXP_SHORT[1::2], square)
    exponent = builder.shl(rounded.bits(), whole_numbers(52))
    up = builder.bitcast(builder.add((even + odd).bits(), exponent), DOUBLES)
    if not both:
        return Vector(builder, up), Vector(builder, up)
    down = builder.bitcast(builder.sub((even - odd).bits(), exponent), DOUBLES)
    return Vector(builder, up), Vector(builder, down)


def logistic_parts(y: Vector, small: Vector) -> tuple[Vector, Vector, Vector]:
    """1/(1 + exp(-y)), 1/(1 + exp(y)) and log(1 + exp(y)), to 1e-12, from y and exp(-abs(y)).

    One division for all, and two short polynomials in place of a long one, because every
    instruction waits for the one before.
    """
    one, two = small + 1.0, small + 2.0
    both = 1.0 / (one * two)
    high = two * both
    low = small * high
    s = small * one * both
    square = s * s
    fourth = square * square
    series = _polynomial(_ARTANH_SHORT[::2], fourth)
    series = series + square * _polynomial(_ARTANH_SHORT[1::2], fourth)
    soft = largest(0.0, y) + (s + s) * series
    up = y > 0.0
    return where(up, high, low), where(up, low, high), soft


def log(x: Vector) -> Vector:
    """log(x) of a normal positive float; meaningless for others."""
    builder = x.builder
    # Splits x into 2^n m with m between sqrt(1/2) and sqrt(2).
    start = whole_numbers(0x3FE6A09E667F3BCD)
    offset = builder.sub(x.bits(), start)
    mantissa = builder.add(builder.and_(offset, whole_numbers(0x000FFFFFFFFFFFFF)), start)
    m = Vector(builder, builder.bitcast(mantissa, DOUBLES))
    whole = builder.ashr(offset, whole_numbers(52))
    n = Vector(builder, builder.sitofp(whole, DOUBLES))
    s = (m - 1.0) / (m + 1.0)
    near = 2.0 * s * _polynomial(_ARTANH_NEAR, s * s)
    return n * _LOG2_HIGH + (near + n * _LOG2_LOW)


def log1p(x: Vector) -> Vector:
    """log(1 + x) for x at least 0."""
    whole = x + 1.0
    lost = whole - 1.0
    return where(lost > 0.0, log(whole) * (x / lost), x)


def log1p_unit(e: Vector) -> Vector:
    """log(1 + e) for e between 0 and 1."""
    s = e / (e + 2.0)
    return 2.0 * s * _polynomial(_ARTANH, s * s)
