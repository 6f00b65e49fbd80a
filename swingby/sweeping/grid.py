"""SweepGrid: the points of a phase diagram, enumerated one by one and never all held."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, fields
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from swingby.errors import MISSING, InvalidInput
from swingby.sweeping import axes, grid_file
from swingby.sweeping.axes import Vector
from swingby.sweeping.builtin import BUILTIN
from swingby.sweeping.grid_checks import check_design, check_tasks
from swingby.sweeping.grid_numbers import optional_whole
from swingby.sweeping.grid_values import AS_DIM, record_rule, seed_numbers, width_axis
from swingby.sweeping.point import Point
from swingby.sweeping.ranges import Range
from swingby.theory import numbers
from swingby.theory.growth import require_dynamics

_AXES = ("signal", "mu", "sigma", "omega", "eta", "width")
#: Names of keys where they differ from the field: `points` is a method.
_KEY = {"points_drawn": "points"}


@dataclass(frozen=True, init=False)
class SweepGrid:
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

    signal: tuple[Vector, ...] | Range | None
    mu: tuple[Vector, ...] | Range | None
    sigma: tuple[Vector, ...] | Range | None
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
        width: Any = AS_DIM,
        seeds: Any = 1,
        dynamics: Any = "euler",
        steps: Any = None,
        record: Any = None,
        design: str = "grid",
        points: Any = None,
        rng: Any = None,
    ) -> None:
        if design not in ("grid", "random"):
            raise InvalidInput("design", design, "must be grid or random")
        if (signal is None) == (mu is None):
            given = "neither" if signal is None else "both"
            raise InvalidInput("signal and mu", given, "must be given one at a time")
        if signal is not None and sigma is not None:
            raise InvalidInput("sigma", sigma, "must not be given together with signal")
        values: dict[str, Any] = {
            "signal": signal,
            "mu": mu,
            "sigma": sigma,
            "omega": axes.number_axis(omega, "omega"),
            "eta": axes.number_axis(eta, "eta"),
            "width": width_axis(width),
            "seeds": seed_numbers(seeds),
            "dynamics": axes.distinct(axes.listed(dynamics, "dynamics"), "dynamics"),
            "steps": optional_whole(steps, "steps", 1, 2**53),
            "record": record_rule(record),
            "design": design,
            "points_drawn": optional_whole(points, "points", 1),
            "rng": optional_whole(rng, "rng", 0),
        }
        if design == "random" and rng is None:
            values["rng"] = 0
        if mu is None:
            values["signal"] = axes.vector_axis(signal, "signal", positive=False)
        else:
            values["mu"] = axes.vector_axis(mu, "mu", positive=True)
            spreads = 0 if sigma is None else sigma
            values["sigma"] = axes.vector_axis(spreads, "sigma", positive=False, shared=True)
        for name in values["dynamics"]:
            require_dynamics(name)
        for one in axes.ends(values["eta"]):
            numbers.within_float(Fraction(one), "eta", "(D.2)")
        for name, value in values.items():
            object.__setattr__(self, name, value)
        ranges = [name for name in _AXES if isinstance(values[name], Range)]
        check_design(design, ranges, self.points_drawn, self.rng)
        check_tasks(self.signal, self.mu, self.sigma, self.width)

    @property
    def dims(self) -> tuple[int, ...]:
        """The dimensions d that occur, ascending."""
        axis = self.signal if self.signal is not None else self.mu
        return tuple(sorted({len(vector) for vector in axes.vectors(axis)}))

    def __len__(self) -> int:
        product = math.prod(len(axes.axis_values(getattr(self, name))) for name in _AXES)
        drawn = product if self.points_drawn is None else self.points_drawn
        return drawn * len(self.dynamics) * len(self.seeds)

    def points(self) -> Iterator[Point]:
        """All points in order; seeds change fastest, then dynamics.

        Yields
        ------
        Point
            The same ones in the same order every time. In a random design two of them may be
            equal by chance.
        """
        drawn = self._drawn() if self.design == "random" else self._product()
        for signal, mu, sigma, omega, eta, width in drawn:
            columns = len(signal or mu) if width == AS_DIM else width
            spread = None if mu is None else axes.spread(sigma, mu)
            for dynamics in self.dynamics:
                for seed in self.seeds:  # no product, which would hold all of them
                    yield Point(
                        signal=signal,
                        mu=mu,
                        sigma=spread,
                        omega=omega,
                        width=columns,
                        seed=seed,
                        eta=eta,
                        dynamics=dynamics,
                        steps=self.steps,
                        record=self.record,
                    )

    def _product(self) -> Iterator[tuple[Any, ...]]:
        return itertools.product(*(axes.axis_values(getattr(self, name)) for name in _AXES))

    def _drawn(self) -> Iterator[tuple[Any, ...]]:
        for place in range(self.points_drawn or 0):
            # One generator per point: a point does not depend on the ones before it.
            rng = np.random.default_rng([self.rng or 0, place])
            yield tuple(
                axes.drawn(getattr(self, name), rng, whole=name == "width") for name in _AXES
            )

    def to_dict(self) -> dict[str, Any]:
        """The grid as plain values that :meth:`from_dict` reads; defaults are left out.

        Returns
        -------
        dict
        """
        found: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None and (field.name, value) != ("design", "grid"):
                found[_KEY.get(field.name, field.name)] = grid_file.plain(value)
        return found

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> SweepGrid:
        """The grid that a dict describes; its keys are the arguments of this class.

        Parameters
        ----------
        content : dict

        Returns
        -------
        SweepGrid

        Raises
        ------
        InvalidInput
            For a key that is unknown or missing, or a value that makes no sense.

        Examples
        --------
        >>> SweepGrid.from_dict({"signal": [2, 1], "omega": 1e-3, "eta": 0.01, "omgea": 1})
        Traceback (most recent call last):
            ...
        swingby.errors.InvalidInput: omgea is no key of a grid: ...
        """
        if not isinstance(content, dict):
            raise InvalidInput("grid", content, "must be a dict, a SweepGrid or a TOML file")
        known = [_KEY.get(field.name, field.name) for field in fields(cls)]
        for name, value in content.items():
            if name not in known:
                raise InvalidInput(str(name), value, f"is no key of a grid: {', '.join(known)}")
        for name in ("omega", "eta"):
            if name not in content:
                raise InvalidInput(name, MISSING, "must be given")
        return cls(**content)

    def to_toml(self) -> str:
        """The grid as TOML text that :meth:`from_toml` reads.

        Returns
        -------
        str
        """
        return grid_file.write(self.to_dict())

    @classmethod
    def from_toml(cls, path: str | Path) -> SweepGrid:
        """The grid that a TOML file describes; its keys are the arguments of this class.

        Parameters
        ----------
        path : str or Path

        Returns
        -------
        SweepGrid

        Raises
        ------
        InvalidInput
            If the file cannot be read, is no TOML, or describes no grid.
        """
        return cls.from_dict(grid_file.read(path))


def as_grid(grid: Any) -> SweepGrid:
    """A grid from what a caller may hand over.

    Parameters
    ----------
    grid : SweepGrid, dict, path of a TOML file, or name of a built-in grid
        See :mod:`swingby.sweeping.builtin`; a file of that name goes first.
    """
    if isinstance(grid, SweepGrid):
        return grid
    if isinstance(grid, str) and grid in BUILTIN and not Path(grid).exists():
        grid = BUILTIN[grid]()
    elif isinstance(grid, str) and "." not in grid and not Path(grid).exists():
        raise InvalidInput("grid", grid, f"must be a TOML file, or one of {', '.join(BUILTIN)}")
    return SweepGrid.from_toml(grid) if isinstance(grid, (str, Path)) else SweepGrid.from_dict(grid)
