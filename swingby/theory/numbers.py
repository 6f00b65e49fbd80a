"""Numbers from the user: exact if the user is exact, refused if they make no sense.

Every number a user hands over passes through this module once. A float is taken as the exact
binary number it is; text such as ``"1e-400"`` or ``"1/3"`` as the exact rational it denotes.
Nothing is evaluated: text is matched against one pattern.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Rational
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swingby import moved
from swingby.errors import MISSING, InvalidInput
from swingby.report.number_text import LARGEST_EXPONENT, scientific

__getattr__ = moved.names(
    __name__,
    "swingby.report.number_text",
    *("python_list", "python_text", "scientific_log10"),
)

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]

#: Scales, which may lie below the float range.
_SCALES = ("omega", "W0.omega", "scale")
_POSITIVE = "must be positive"
_LARGEST_FLOAT = Fraction(float(np.finfo(np.float64).max))

_NUMBER = re.compile(
    r"[+-]?(?:(?P<over>\d{1,400}/\d{1,400})|(?:\d{1,400}\.?\d{0,400}|\.\d{1,400})"
    r"(?:[eE](?P<exponent>[+-]?\d{1,400}))?)",
    re.ASCII,
)


def exact(value: object, argument: str, source: str = "") -> Fraction:
    """The exact rational number that `value` denotes; a float is the binary number it stores.

    `value`: text may be a decimal (``"0.05"``, ``"1e-400"``) or a quotient (``"1/3"``).
    `argument`, `source`: what the number is called, and the statement that asks for it, in errors.
    Raises InvalidInput for NaN, infinity, booleans, text that is not a number, or exponents past
    100000.

    Examples
    --------
    >>> exact("1/3", "mu"), exact(0.5, "mu")
    (Fraction(1, 3), Fraction(1, 2))
    """
    if value is None:
        form = f": {argument}=..." if argument.isidentifier() else ""
        raise InvalidInput(argument, MISSING, f"must be given{form}", source)
    if isinstance(value, (bool, np.bool_)):
        raise InvalidInput(argument, value, "must be a number, not a truth value", source)
    if isinstance(value, Fraction):
        return value
    if isinstance(value, (Integral, Rational)):
        return Fraction(int(value.numerator), int(value.denominator))
    if isinstance(value, (float, np.floating)):
        if not np.isfinite(value):
            raise InvalidInput(argument, value, "must be a finite number", source)
        return Fraction(*value.as_integer_ratio())
    if isinstance(value, str):
        return _from_text(value, argument, source)
    if isinstance(value, Decimal):
        if not value.is_finite():
            raise InvalidInput(argument, value, "must be a finite number", source)
        return _from_text(str(value), argument, source)
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return exact(value.item(), argument, source)
    if hasattr(value, "detach") and getattr(value, "ndim", 1) == 0:
        return exact(_unwrapped(value, argument, source), argument, source)
    return _from_library_number(value, argument, source)


def _from_text(text: str, argument: str, source: str) -> Fraction:
    match = _NUMBER.fullmatch(text.strip())
    if match is None:
        raise InvalidInput(argument, text, "must be a number such as 0.05, 1e-400 or 1/3", source)
    if match["exponent"] is not None and abs(int(match["exponent"])) > LARGEST_EXPONENT:
        raise InvalidInput(
            argument, text, f"must have an exponent of at most {LARGEST_EXPONENT} in size", source
        )
    try:
        return Fraction(text.strip())
    except ZeroDivisionError:
        raise InvalidInput(argument, text, "must have a nonzero denominator", source) from None


def _from_library_number(value: Any, argument: str, source: str) -> Fraction:
    """Numbers of sympy and mpmath, recognised by shape so that neither is imported here."""
    if hasattr(value, "p") and hasattr(value, "q") and getattr(value, "is_Rational", False):
        if not value.q:
            raise InvalidInput(argument, value, "must be a finite number", source)
        return fraction(value)
    raw = getattr(value, "_mpf_", None)
    if raw is not None:
        sign, mantissa, exponent, _ = raw
        mantissa, exponent = int(mantissa), int(exponent)
        if not mantissa and exponent:
            raise InvalidInput(argument, value, "must be a finite number", source)
        if abs(exponent) > 4 * LARGEST_EXPONENT:
            raise InvalidInput(
                argument, value, f"must have an exponent of at most {LARGEST_EXPONENT}", source
            )
        scaled = Fraction(mantissa) * Fraction(2) ** exponent
        return -scaled if sign else scaled
    if getattr(value, "is_Float", False):
        return _from_library_number(value._to_mpmath(value._prec), argument, source)
    if getattr(value, "is_number", False):
        raise InvalidInput(argument, value, "must be rational, or rounded: x.evalf(30)", source)
    if isinstance(value, (list, tuple, np.ndarray)) and argument.isidentifier():
        several = "must be a number; for several, loop over them or use swingby.sweep"
        raise InvalidInput(argument, value, several, source)
    raise InvalidInput(argument, value, "must be a number", source)


def fraction(number: Any) -> Fraction:
    """A rational of sympy or of flint, which both name their two whole numbers p and q."""
    return Fraction(int(number.p), int(number.q))


def positive(value: object, argument: str, source: str = "") -> Fraction:
    """The exact number `value`, which must be positive."""
    number = exact(value, argument, source)
    if number <= 0:
        raise InvalidInput(argument, value, not_positive(value, argument), source)
    return number


def not_positive(value: object, argument: str) -> str:
    """What a number has to be that is not positive: a scale may have been lost in a float."""
    lost = argument in _SCALES and isinstance(value, float) and value == 0
    return 'must be positive; a float below 1e-323 is 0: write "1e-400"' if lost else _POSITIVE


def step_size(eta: object, signal: Sequence[Fraction], source: str = "(D.2)") -> Fraction:
    """The step size, exactly: positive and in the float range, as is its product with 2 a."""
    rate = exact(eta, "eta", source)
    if rate <= 0:
        raise InvalidInput("eta", eta, _POSITIVE, source)
    within_float(rate, "eta", source)
    if 2 * rate * max(signal) > _LARGEST_FLOAT:
        limit = scientific(_LARGEST_FLOAT / (2 * max(signal)))
        raise InvalidInput("eta", eta, f"must be at most {limit}, or 2 eta a is no float", source)
    return rate


def within_float(number: Fraction, argument: str, source: str = "") -> float:
    """The nearest float, refused if nonzero and below 2.3e-308, or above 1.7e308, in size."""
    try:
        result = float(number)
    except OverflowError:
        result = math.inf
    if math.isinf(result) or (number and abs(result) < 2.3e-308):
        raise InvalidInput(argument, scientific(number), "must lie in the float range", source)
    return result


def vector(
    values: object, argument: str, source: str = "", *, sign: str = ""
) -> tuple[Fraction, ...]:
    """A non-empty sequence of exact numbers; element p is called ``argument[p]``, from 1 on.

    `sign` in {"", "positive", "not negative"}: what every number has to be.
    """
    if isinstance(values, (str, bytes, dict, set)):
        raise InvalidInput(argument, values, "must be a sequence of numbers", source)
    values = _unwrapped(values, argument, source)
    if isinstance(values, np.ndarray) and values.ndim > 1:
        raise InvalidInput(
            argument, f"an array of shape {values.shape}", "must have one axis", source
        )
    if not isinstance(values, Iterable) or (isinstance(values, np.ndarray) and not values.ndim):
        values = (values,)
    parsed = tuple(
        exact(value, f"{argument}[{position}]", source) for position, value in enumerate(values, 1)
    )
    if not parsed:
        raise InvalidInput(argument, "an empty sequence", "must not be empty", source)
    for position, value in enumerate(parsed, 1):
        if sign and (value < 0 or (sign == "positive" and not value)):
            requirement = "must be positive" if sign == "positive" else "must not be negative"
            raise InvalidInput(f"{argument}[{position}]", value, requirement, source)
    return parsed


def whole(
    value: object, argument: str, least: int = 0, source: str = "", most: int | None = None
) -> int:
    """A whole number from `least` to `most`."""
    number = exact(value, argument, source)
    if number.denominator != 1:
        raise InvalidInput(argument, value, "must be a whole number", source)
    if number < least:
        raise InvalidInput(argument, value, f"must be at least {least}", source)
    if most is not None and number > most:
        raise InvalidInput(argument, value, f"must be at most {most}", source)
    return int(number)


def entries(values: object, argument: str, source: str = "") -> NDArray[Any]:
    """The entries of any container of numbers, none of them changed.

    Nested sequences, arrays of NumPy, pandas and torch (also with gradients, on a device, or in
    bfloat16), matrices of sympy and mpmath. Returns an array of floats or whole numbers, or of
    objects for :func:`exact`: texts, fractions and long doubles stay exact.
    Raises InvalidInput where entries are masked, ragged, or of another kind.
    """
    try:
        raw = np.asarray(_unwrapped(values, argument, source))
    except InvalidInput:
        raise
    except (ValueError, TypeError, RuntimeError):
        raise InvalidInput(argument, values, "must be a rectangular array", source) from None
    if (raw.dtype.kind == "U" and raw.ndim) or raw.dtype == np.longdouble != np.float64:
        raw = raw.astype(object)  # text and long doubles stay exact
    if raw.dtype.kind == "U":
        read = "must be an array, not text; numpy.load or numpy.loadtxt reads a file"
        raise InvalidInput(argument, values, read, source)
    if raw.dtype.kind == "O" and not raw.ndim and hasattr(values, "W"):
        raise InvalidInput(argument, values, "must be an array, such as run.W[0]", source)
    if raw.dtype.kind not in "iufO":
        raise InvalidInput(argument, values, "must be an array of real numbers", source)
    return raw


def _unwrapped(values: Any, argument: str, source: str) -> Any:
    """A container of another library as NumPy can read it, without importing that library."""
    if np.ma.is_masked(values):
        raise InvalidInput(argument, values, "must have no masked entry", source)
    if isinstance(values, (list, tuple)):
        return [_unwrapped(value, argument, source) for value in values]
    if hasattr(values, "detach"):  # torch: what it tracks and where it lies do not matter here
        values = values.detach().cpu()
        floating = getattr(values, "is_floating_point", lambda: False)()
        return (values.double() if floating else values).numpy()
    if hasattr(values, "to_numpy"):
        return values.to_numpy()
    if type(values).__module__.startswith("mpmath.matrices"):
        return values.tolist()
    return values


def real_array(values: object, argument: str, source: str = "") -> NDArray[np.float64]:
    """A finite float64 array that is fresh: a caller's later edit changes nothing."""
    raw = entries(values, argument, source)
    if raw.dtype.kind == "O":
        flat = [
            within_float(exact(entry, f"an entry of {argument}", source), argument, source)
            for entry in raw.ravel()
        ]
        raw = np.array(flat, dtype=np.float64).reshape(raw.shape)
    array = np.array(raw, dtype=np.float64)
    if array.size == 0:
        raise InvalidInput(
            argument, f"an array of shape {array.shape}", "must not be empty", source
        )
    if not np.isfinite(array).all():
        raise InvalidInput(argument, "an array with NaN or infinity", "must be finite", source)
    return array


def beyond_floats(values: object, argument: str, source: str = "") -> NDArray[np.object_] | None:
    """The entries of an array as rationals; None where floats hold all of them."""
    raw = entries(values, argument, source)
    if raw.dtype.kind != "O":
        return None
    rational = np.empty(raw.shape, dtype=object)
    for place, entry in np.ndenumerate(raw):
        rational[place] = exact(entry, f"an entry of {argument}", source)
    held = all(entry == Fraction(float(entry)) for entry in rational.flat)
    return None if held else rational


def ascending(values: object, argument: str, count: int) -> Integers:
    """Whole numbers that ascend from 0 on, of shape (count,)."""
    marks = real_array(values, argument)
    if marks.shape != (count,):
        raise InvalidInput(argument, f"shape {marks.shape}", f"must have shape ({count},)")
    if (marks != np.floor(marks)).any() or marks[0] < 0 or (np.diff(marks) <= 0).any():
        raise InvalidInput(argument, marks.tolist(), "must be whole and ascend from 0 on")
    return marks.astype(np.int64)


#: Spacing of the numbers around 1 of floats that are shorter than Python's.
_SHORT_FLOATS = {"bfloat16": 2.0**-7, "float16": 2.0**-10, "float32": 2.0**-23}


def spacing(values: Any) -> float:
    """Spacing of the floats around 1 in an array of NumPy, pandas or torch, or a list of them."""
    while isinstance(values, (list, tuple)) and values:
        values = values[0]
    name = str(getattr(values, "dtype", getattr(values, "dtypes", "")))
    return next((size for short, size in _SHORT_FLOATS.items() if short in name), 2.0**-52)


def random_source(rng: Any) -> np.random.Generator:
    """The generator `rng`, or the generator seeded by it; a fresh one for None."""
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError):
        required = "must be None, a whole number from 0 on, a SeedSequence or a Generator"
        raise InvalidInput("rng", rng, required) from None


def log_of(number: Fraction) -> float:
    """Natural logarithm of a positive rational of any size, to a few units in the last place."""
    shift = number.numerator.bit_length() - number.denominator.bit_length()
    scaled = number / Fraction(2) ** shift
    near_one = float(scaled - 1)
    return math.log1p(near_one) + shift * math.log(2)
