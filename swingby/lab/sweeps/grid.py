"""SweepGrid: the points of a phase diagram, enumerated and never all held.

Numbers are kept as the text that stands for them. A float is read as the decimal that it prints
as, so that a TOML file, a dict and the command line describe the same points; text stays exact at
any size: ``"1e-400"``, ``"1/3"``.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from swingby.errors import MISSING, InvalidInput
from swingby.hints import Hinted, argument_hint
from swingby.lab.sweeps.point import Point
from swingby.report.number_text import python_text, scientific, scientific_log10
from swingby.simulate.initialization import LARGEST_WIDTH
from swingby.theory import numbers
from swingby.theory.growth import require_dynamics
from swingby.theory.input_files import plain_toml, text_of
from swingby.theory.task import LARGEST_DIMENSION, SIMTask

#: What stands for "as many columns as concepts" on the axis `width`.
_AS_DIM = "d"
#: Digits of a number drawn from a range: short to read, and the same on every machine.
_DRAWN_DIGITS = 6
#: The largest number of a draw.
_LARGEST_SEED = 2**63 - 1

_AXES = ("signal", "mu", "sigma", "omega", "eta", "width")
#: Names of keys where they differ from the field: `points` is a method.
_KEY = {"points_drawn": "points"}

_Vector = tuple[str, ...]


def written_number(value: Fraction, argument: str = "a number") -> str:
    """The text that stands for an exact number of at least 0 in keys and files."""
    text = python_text(value).strip('"')
    if text.startswith("Fraction"):
        raise InvalidInput(argument, "a number of hundreds of digits", "must be shorter")
    return text


def read_number(value: Any, argument: str) -> Fraction:
    """An exact number; of a float the decimal that it prints as."""
    exact = numbers.exact(value, argument)
    return Fraction(repr(float(value))) if isinstance(value, (float, np.floating)) else exact


def number_text(value: Any, argument: str, *, positive: bool = True) -> str:
    """One number of a grid, read.

    >>> number_text(0.1, "eta"), number_text("1/10", "eta"), number_text("1e-400", "omega")
    ('0.1', '0.1', '1e-400')
    """
    exact = read_number(value, argument)
    if exact < 0 or (positive and not exact):
        requirement = "must be positive" if positive else "must not be negative"
        raise InvalidInput(argument, value, requirement)
    return written_number(exact, argument)


def optional_whole(value: Any, argument: str, least: int, most: int | None = None) -> int | None:
    """A whole number that may be left out, read."""
    return None if value is None else numbers.whole(value, argument, least, most=most)


@dataclass(frozen=True)
class Range:
    """Numbers from `low` to `high`, exact as text, drawn uniformly or (``"log"``) log-uniformly.

    Of a vector, `dim` entries are drawn, independently of each other.

    >>> Range("1e-400", "1e-300", "log").draw(np.random.default_rng(0))
    '4.96785e-337'
    """

    low: str
    high: str
    spacing: str = "linear"
    dim: int | None = None

    def draw(self, rng: np.random.Generator, *, whole: bool = False) -> Any:
        """A number of six digits, or a whole number, ends included; a tuple if there is a `dim`."""
        if self.dim is not None:
            return tuple(
                Range(self.low, self.high, self.spacing).draw(rng) for _ in range(self.dim)
            )
        low, high = Fraction(self.low), Fraction(self.high)
        if whole and self.spacing == "linear":
            return int(rng.integers(int(low), int(high), endpoint=True))
        share = rng.random()
        if whole:
            return min(int(high), int(int(low) * ((int(high) + 1) / int(low)) ** share))
        if self.spacing == "log":
            start = numbers.log_of(low)
            log = (start + share * (numbers.log_of(high) - start)) / float(np.log(10))
            text = scientific_log10(log, _DRAWN_DIGITS)
        else:
            text = scientific(low + Fraction(share) * (high - low), _DRAWN_DIGITS)
        # Rounding must not lead out of the range.
        return written_number(min(max(Fraction(text), low), high))

    def to_plain(self) -> dict[str, Any]:
        """The range as a table of plain values."""
        return {name: value for name, value in vars(self).items() if value is not None}


def _read_range(
    value: dict[str, Any] | Range,
    argument: str,
    read: Callable[[Any, str], str],
    *,
    vector: bool = False,
) -> Range:
    """A range from a table ``{low, high, spacing, dim}``; `dim` belongs to vectors alone."""
    table = value.to_plain() if isinstance(value, Range) else dict(value)
    needed = ["dim", "high", "low"] if vector else ["high", "low"]
    for name in table:
        if name not in (*needed, "spacing"):
            names = ", ".join([*needed, "spacing"])
            requirement = f"is not a key of a range: {names}"
            raise InvalidInput(f"{argument}.{name}", table[name], requirement)
    for name in needed:
        if name not in table:
            raise InvalidInput(f"{argument}.{name}", MISSING, "must be given for a range")
    low, high = (read(table[name], f"{argument}.{name}") for name in ("low", "high"))
    spacing = table.get("spacing", "linear")
    if spacing not in ("linear", "log"):
        raise InvalidInput(f"{argument}.spacing", spacing, "must be linear or log")
    if Fraction(low) > Fraction(high):
        raise InvalidInput(f"{argument}.low", low, f"must be at most high, which is {high}")
    if spacing == "log" and not Fraction(low):
        raise InvalidInput(f"{argument}.low", low, "must be positive for spacing = log")
    dim = None
    if vector:
        dim = numbers.whole(table["dim"], f"{argument}.dim", 1, most=LARGEST_DIMENSION)
    return Range(low, high, spacing, dim)


def _listed(value: Any, argument: str) -> list[Any]:
    """The values of an axis as a list, also a value that stands alone."""
    if hasattr(value, "to_numpy"):  # a DataFrame iterates over the names of its columns
        value = value.to_numpy()
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (dict, set, bytes)):
        raise InvalidInput(argument, value, "must be a list of values")
    many = isinstance(value, Iterable) and not isinstance(value, str)
    values = list(value) if many else [value]
    if not values:
        raise InvalidInput(argument, "an empty list", "must not be empty")
    return values


def _each(value: Any, argument: str, read: Callable[[Any, str], Any]) -> tuple[Any, ...]:
    """The values of a list, read under the name of their place; every point is met once."""
    listed = enumerate(_listed(value, argument), 1)
    entries = tuple(read(entry, f"{argument}[{number}]") for number, entry in listed)
    for entry, count in Counter(entries).items():
        if count > 1:
            text = f"({', '.join(entry)})" if isinstance(entry, tuple) else entry
            raise InvalidInput(argument, f"{text} twice", "must not repeat a value")
    return entries


def _vector_axis(
    value: Any, argument: str, *, positive: bool, shared: bool = False
) -> tuple[_Vector, ...] | Range:
    """Vectors: a list, a single vector, or a range; `shared`: a number stands for all entries."""
    read = functools.partial(number_text, positive=positive)
    if isinstance(value, (dict, Range)):
        return _read_range(value, argument, read, vector=True)
    listed = _listed(value, argument)
    if not shared and not any(_is_vector(entries) for entries in listed):
        listed = [listed]

    def vector(row: Any, name: str) -> _Vector:
        if not (_is_vector(row) or shared):
            raise InvalidInput(name, row, "must be a list of numbers")
        return tuple(read(entry, f"{name}[{k}]") for k, entry in enumerate(_listed(row, name), 1))

    return _each(listed, argument, vector)


def _is_vector(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes, dict, set))


def _axis(value: Any, argument: str, read: Callable[[Any, str], Any]) -> tuple[Any, ...] | Range:
    """Numbers, or other values that `read` reads: a list, a single value, or a range."""
    if isinstance(value, (dict, Range)):
        return _read_range(value, argument, lambda end, name: number_text(read(end, name), name))
    return _each(value, argument, read)


def _width(value: Any, argument: str) -> int | str:
    """A width d' of U(0)."""
    return value if value == _AS_DIM else numbers.whole(value, argument, 1, most=LARGEST_WIDTH)


def _seed_numbers(value: Any) -> tuple[int, ...] | range:
    """Numbers of the draws of W(0), or how many; the first n of them are a range.

    >>> _seed_numbers(3), _seed_numbers([0, 1, 2]), _seed_numbers([5, 2])
    (range(0, 3), range(0, 3), (5, 2))
    """
    if isinstance(value, range) and value and value == range(len(value)):
        return value
    if not _is_vector(value) or getattr(value, "ndim", 1) == 0:
        return range(numbers.whole(value, "seeds", 1, most=2**53))
    seeds = _each(
        value, "seeds", lambda seed, name: numbers.whole(seed, name, 0, most=_LARGEST_SEED)
    )
    return range(len(seeds)) if seeds == tuple(range(len(seeds))) else seeds


def _dynamics(value: Any, argument: str) -> str:
    require_dynamics(value)
    return str(value)


def _record_rule(value: Any) -> str | int | None:
    """Which steps of W are recorded: None, ``"log"``, or every k-th."""
    if isinstance(value, str):
        if value != "log":
            raise InvalidInput("record", value, 'must be "log" or a whole number')
        return value
    return optional_whole(value, "record", 1)


def _axis_values(axis: Any) -> tuple[Any, ...]:
    """The values of an axis: None alone if it was left out, and nothing for a range."""
    if axis is None:
        return (None,)
    return () if isinstance(axis, Range) else axis


def _vectors(axis: tuple[_Vector, ...] | Range | None) -> tuple[_Vector, ...]:
    """The vectors of an axis; the largest vector of a range stands for all."""
    return ((axis.high,) * (axis.dim or 1),) if isinstance(axis, Range) else axis or ()


def _spread(sigma: _Vector, mu: _Vector) -> _Vector:
    """Sigma with an entry per entry of mu, also if a single entry stands for all."""
    return sigma * len(mu) if len(sigma) == 1 else sigma


@dataclass(frozen=True, init=False)
class SweepGrid(Hinted):
    r"""Points (task, omega, width, seed, eta, dynamics): a product of lists, or random.

    W(0) of a point is the paper's Gaussian :math:`W(0) = U U^T` with d' = `width` columns and
    :math:`\mathbb E\,w_{ii}(0) = \omega`; its seed follows from task, omega, width and the number
    of the seed alone, so the same W(0) is run for every eta and under all dynamics.

    Parameters
    ----------
    signal : list of lists of numbers, or Range
        The signals a, for example ``[[4, 1], [4, 2]]``. Instead of mu and sigma.
    mu : list of lists of numbers, or Range
        Cluster distances; every mu is combined with every sigma.
    sigma : list of lists of numbers, list of numbers, or Range
        Cluster spreads, one list per mu or one number for all concepts. Default 0.
    omega, eta : list of numbers, or Range
        Positive; text such as ``"1e-300"`` stays exact.
    width : list of int or "d", or Range
        d', columns of U(0); ``"d"`` (the default) for as many as concepts.
    seeds : int or list of int
        How many draws of W(0), numbered from 0, or their numbers.
    dynamics : str or list of str
        Of euler, gd, flow.
    steps : int, optional
        Steps of every run. By default a run ends once W no longer changes, at the latest at the
        bound of :func:`swingby.simulate`: three times the leading-order time of the last stage,
        (log(1/w) + 60) / growth, for the smallest w_kk(0) and the smallest a.
    record : {"log"} or int, optional
        Keep W along the run: about 200 steps spaced evenly in the logarithm, or every k-th.
    design : {"grid", "random"}
        ``"grid"``: every value with every other. ``"random"``: `points` draws; a list is drawn
        from with equal odds, a table ``{low, high, spacing}`` (:class:`Range`) uniformly or, with
        ``spacing = "log"``, log-uniformly. Every draw is run for all dynamics and seeds.
    points : int, optional
        Number of draws; for ``"random"`` only.
    rng : int, optional
        Seed of the draws; for ``"random"`` only. Default 0.

    Raises
    ------
    InvalidInput
        Naming the key, its value, and what is required.

    Examples
    --------
    >>> grid = SweepGrid(signal=[[4, 1], [4, 2]], omega="1e-6", eta=0.01, seeds=3)
    >>> len(grid), next(iter(grid.points())).eta
    (6, '0.01')
    """

    signal: tuple[_Vector, ...] | Range | None
    mu: tuple[_Vector, ...] | Range | None
    sigma: tuple[_Vector, ...] | Range | None
    omega: tuple[str, ...] | Range
    eta: tuple[str, ...] | Range
    width: tuple[int | str, ...] | Range
    seeds: tuple[int, ...] | range
    dynamics: tuple[str, ...]
    steps: int | None
    record: str | int | None
    design: str
    points_drawn: int | None
    rng: int | None

    def __init__(
        self,
        *,
        omega: Any,
        eta: Any,
        signal: Any = None,
        mu: Any = None,
        sigma: Any = None,
        width: Any = _AS_DIM,
        seeds: Any = 1,
        dynamics: Any = "gd",
        steps: Any = None,
        record: Any = None,
        design: str = "grid",
        points: Any = None,
        rng: Any = None,
    ) -> None:
        if not isinstance(design, str) or design not in ("grid", "random"):
            raise InvalidInput("design", design, "must be grid or random")
        if (signal is None) == (mu is None):
            count = "neither" if signal is None else "both"
            raise InvalidInput("signal and mu", count, "must be given one at a time")
        if signal is not None and sigma is not None:
            raise InvalidInput("sigma", sigma, "must not be given together with signal")
        if mu is None:
            signal = _vector_axis(signal, "signal", positive=False)
        else:
            mu = _vector_axis(mu, "mu", positive=True)
            spreads = 0 if sigma is None else sigma
            sigma = _vector_axis(spreads, "sigma", positive=False, shared=True)
        self.__dict__.update(
            signal=signal,
            mu=mu,
            sigma=sigma,
            omega=_axis(omega, "omega", number_text),
            eta=_axis(eta, "eta", number_text),
            width=_axis(_AS_DIM if width is None else width, "width", _width),
            seeds=_seed_numbers(seeds),
            dynamics=_each(dynamics, "dynamics", _dynamics),
            steps=optional_whole(steps, "steps", 1, 2**53),
            record=_record_rule(record),
            design=design,
            points_drawn=optional_whole(points, "points", 1),
            rng=optional_whole(0 if design == "random" and rng is None else rng, "rng", 0),
        )
        for rate in (self.eta.low, self.eta.high) if isinstance(self.eta, Range) else self.eta:
            numbers.within_float(Fraction(rate), "eta", "(D.2)")
        self._check_design()
        self._check_tasks()

    def _check_design(self) -> None:
        """Refuse ranges, a number of draws or a seed that do not go with the design."""
        if self.design == "random":
            if self.points_drawn is None:
                raise InvalidInput("points", MISSING, "must be given for design = random")
            return
        for name in _AXES:
            if isinstance(getattr(self, name), Range):
                raise InvalidInput(name, "a range", "must be a list, unless design = random")
        for name, value in (("points", self.points_drawn), ("rng", self.rng)):
            if value is not None:
                raise InvalidInput(name, value, "is for design = random")

    def _check_tasks(self) -> None:
        """Refuse lists and ranges that are no task, and widths that are named twice."""
        for k, vector in enumerate(_vectors(self.signal), 1):
            _check_task(f"signal[{k}]", SIMTask.from_signal, vector)
        for k, vector in enumerate(_vectors(self.mu), 1):
            for n, spread in enumerate(_vectors(self.sigma), 1):
                _check_task(f"mu[{k}] with sigma[{n}]", SIMTask, vector, _spread(spread, vector))
        twice = set(self.dims) & set(_axis_values(self.width))
        if _AS_DIM in _axis_values(self.width) and twice:
            widths = f'{min(twice)} and "{_AS_DIM}"'
            raise InvalidInput("width", widths, "must not name the same width twice")

    @property
    def dims(self) -> tuple[int, ...]:
        """The dimensions d that occur, ascending."""
        axis = self.signal if self.signal is not None else self.mu
        return tuple(sorted({len(vector) for vector in _vectors(axis)}))

    def __len__(self) -> int:
        product = math.prod(len(_axis_values(getattr(self, name))) for name in _AXES)
        drawn = product if self.points_drawn is None else self.points_drawn
        return drawn * len(self.dynamics) * len(self.seeds)

    def points(self) -> Iterator[Point]:
        """All points in order, the same every time; seeds change fastest, then dynamics.

        In a random design two of them may be equal by chance.
        """
        axes = [getattr(self, name) for name in _AXES]
        drawn = (
            self._draws()
            if self.design == "random"
            else itertools.product(*map(_axis_values, axes))
        )
        for signal, mu, sigma, omega, eta, width in drawn:
            columns = len(signal or mu) if width == _AS_DIM else width
            spread = None if mu is None else _spread(sigma, mu)
            for dynamics in self.dynamics:
                for seed in self.seeds:  # no product, which would hold all of them
                    yield Point(
                        signal, mu, spread, omega, columns, seed, eta, dynamics,
                        self.steps, self.record,
                    )  # fmt: skip

    def _draws(self) -> Iterator[tuple[Any, ...]]:
        for draw in range(self.points_drawn or 0):
            # One generator per point: a point does not depend on the ones before it.
            rng = np.random.default_rng([self.rng or 0, draw])
            yield tuple(
                axis.draw(rng, whole=name == "width")
                if isinstance(axis := getattr(self, name), Range)
                else axis and axis[int(rng.integers(len(axis)))]
                for name in _AXES
            )

    def to_dict(self) -> dict[str, Any]:
        """The grid as plain values that :meth:`from_dict` reads; defaults are left out."""
        content: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None and (field.name, value) != ("design", "grid"):
                content[_KEY.get(field.name, field.name)] = _plain(value)
        return content

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> SweepGrid:
        """The grid that a dict describes; its keys are the arguments of this class.

        Examples
        --------
        >>> SweepGrid.from_dict({"signal": [2, 1], "omega": 1e-3, "eta": 0.01, "omgea": 1})
        Traceback (most recent call last):
            ...
        swingby.errors.InvalidInput: omgea is not a key of a grid; did you mean omega?, got 1
        """
        if not isinstance(content, dict):
            raise InvalidInput("grid", content, "must be a dict, a SweepGrid or a TOML file")
        keys = [_KEY.get(field.name, field.name) for field in fields(cls)]
        for name, value in content.items():
            if name not in keys:
                hint = argument_hint(str(name), keys, "a grid")
                raise InvalidInput(str(name), value, f"is not a key of a grid{hint}")
        for name in ("omega", "eta"):
            if name not in content:
                raise InvalidInput(name, MISSING, "must be given")
        return cls(**content)

    @classmethod
    def from_toml(cls, path: str | Path) -> SweepGrid:
        """The grid that a TOML file describes, read digit by digit: ``omega = 1e-400`` is not 0."""
        text = text_of(path, "grid", "TOML file")
        try:
            content = plain_toml(text)
        except ValueError as error:
            raise InvalidInput("grid", path, f"must be a TOML file ({error})") from None
        return cls.from_dict(content)


def _check_task(name: str, make: Any, *arguments: _Vector) -> None:
    try:
        make(*arguments)
    except InvalidInput as error:
        vectors = "; ".join(f"({', '.join(vector)})" for vector in arguments)
        requirement = f"must give a task ({error.argument} {error.requirement})"
        raise InvalidInput(name, vectors, requirement, error.source) from None


def _plain(value: Any) -> Any:
    """The value of a key as lists, tables, text and whole numbers; the first n seeds are n."""
    if isinstance(value, Range):
        return value.to_plain()
    if isinstance(value, range):
        return len(value)
    if isinstance(value, tuple):
        return [list(entry) if isinstance(entry, tuple) else entry for entry in value]
    return value


def _geometric(ratio: Fraction, d: int) -> list[str]:
    return [f"{float(1 / ratio**k):.6g}" for k in range(d)]


def _spaced(low: float, high: float, count: int) -> list[str]:
    """Evenly spaced in the logarithm, three digits each."""
    return [f"{low * (high / low) ** (k / (count - 1)):.3g}" for k in range(count)]


_DIMS = (2, 3, 4, 6, 8, 12)
#: Grids that come with swingby, by name: ``swingby sweep atlas``.
BUILTIN: dict[str, dict[str, Any]] = {
    # A million trajectories at d = 3 of the printed map, a = (1, 1/r, 1/r^2), r from 1 to 2.95.
    "atlas": {
        "signal": [_geometric(Fraction(100 + 5 * k, 100), 3) for k in range(40)],
        "omega": _spaced(1e-12, 1e-1, 100),
        "eta": _spaced(0.01, 0.8, 50),
        "seeds": 5,
        "dynamics": "euler",
    },
    # The swing against dimension d and width d' (App. E.2): entries off the diagonal of a Gaussian
    # W(0) are smaller than those on it by about d'^(-1/2), and where d' is below d, W(0) has no
    # component for some concepts. Signals are evenly spaced in the logarithm, from 1 to 1/4.
    "dimension": {
        "signal": [[f"{4.0 ** (-k / (d - 1)):.6g}" for k in range(d)] for d in _DIMS],
        "omega": "1e-3",
        "eta": "0.05",
        "width": [*_DIMS, 16, 32, 64, 256],
        "seeds": 100,
        "dynamics": "gd",
    },
    # How often random initializations descend once, twice, three or four times.
    "descents": {
        "signal": [_geometric(Fraction(r), d) for r in (2, 4) for d in range(2, 7)],
        "omega": ["1e-2", "1e-3", "1e-4", "1e-6", "1e-8"],
        "eta": "0.05",
        "seeds": 500,
        "dynamics": "gd",
    },
}


def as_grid(grid: Any) -> SweepGrid:
    """A grid from a SweepGrid, a dict, a TOML file, or, behind files, a built-in grid's name."""
    if isinstance(grid, SweepGrid):
        return grid
    if isinstance(grid, str) and grid in BUILTIN and not Path(grid).exists():
        grid = BUILTIN[grid]
    elif isinstance(grid, str) and "." not in grid and not Path(grid).exists():
        raise InvalidInput("grid", grid, f"must be a TOML file, or one of {', '.join(BUILTIN)}")
    return SweepGrid.from_toml(grid) if isinstance(grid, (str, Path)) else SweepGrid.from_dict(grid)
