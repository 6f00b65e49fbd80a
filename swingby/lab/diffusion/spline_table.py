"""A smooth function of two numbers from a table: a bicubic spline and its slopes."""

from __future__ import annotations

from typing import Any

import numpy as np

from swingby.lab.networks.setting import Floats


class SplineTable:
    """A bicubic spline through values on a regular grid, evaluated by NumPy or by torch.

    It is evaluated by the library, and on the device, of its argument. `device`: where torch has
    the table; None for NumPy.

    >>> x, y = np.linspace(0, 1, 9), np.linspace(0, 2, 9)
    >>> spline = SplineTable(x, y, x[:, None] ** 2 * y**3)
    >>> value, by_x, by_y = spline(np.array([0.3]), np.array([1.1]))
    >>> np.round([value[0], by_x[0], by_y[0]], 9).tolist()
    [0.11979, 0.7986, 0.3267]
    """

    def __init__(self, x: Floats, y: Floats, values: Floats, device: Any = None) -> None:
        from scipy.interpolate import RectBivariateSpline

        self._counts = len(x) - 1, len(y) - 1
        self._starts = float(x[0]), float(y[0])
        self._gaps = float(x[-1] - x[0]) / self._counts[0], float(y[-1] - y[0]) / self._counts[1]
        # In every cell the spline is a polynomial of 4 by 4 terms, which 4 by 4 values determine.
        fine_x, fine_y = (
            start + gap / 3 * np.arange(3 * count + 1)
            for start, gap, count in zip(self._starts, self._gaps, self._counts, strict=True)
        )
        table = RectBivariateSpline(x, y, values)(fine_x, fine_y)
        corners = [3 * np.arange(count)[:, None] + np.arange(4) for count in self._counts]
        cells = table[corners[0][:, None, :, None], corners[1][None, :, None, :]]
        solve = np.linalg.inv(np.vander(np.arange(4) / 3, increasing=True))
        terms = (solve @ cells @ solve.T).reshape(-1, 4, 4)
        self._terms = terms if device is None else _tensor(terms, device)

    def __call__(self, x: Any, y: Any) -> tuple[Any, Any, Any]:
        """The value, its slope by x and its slope by y; beyond the table its last cell goes on."""
        (row, u), (column, v) = (self._cell(axis, number) for axis, number in enumerate((x, y)))
        terms = self._terms[row * self._counts[1] + column]
        # Powers of u first: what is left are the four terms of a polynomial in v.
        u = u[..., None]
        first, second, third, fourth = (terms[..., k, :] for k in range(4))
        along = ((fourth * u + third) * u + second) * u + first
        slope = (3 * fourth * u + 2 * third) * u + second
        by_x = _cubic(slope, v) / self._gaps[0]
        by_y = ((3 * along[..., 3] * v + 2 * along[..., 2]) * v + along[..., 1]) / self._gaps[1]
        return _cubic(along, v), by_x, by_y

    def _cell(self, axis: int, numbers: Any) -> tuple[Any, Any]:
        """Which cell, and how far within it."""
        scaled = (numbers - self._starts[axis]) / self._gaps[axis]
        cell = scaled.clip(0, self._counts[axis] - 1)
        cell = cell.astype(np.int64) if isinstance(cell, np.ndarray) else cell.long()
        return cell, scaled - cell


def _cubic(terms: Any, v: Any) -> Any:
    return ((terms[..., 3] * v + terms[..., 2]) * v + terms[..., 1]) * v + terms[..., 0]


def _tensor(array: Any, device: Any) -> Any:
    import torch

    return torch.as_tensor(array, device=device)
