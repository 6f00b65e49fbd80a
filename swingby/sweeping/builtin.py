"""Grids that come with swingby, by name: ``swingby sweep atlas``."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

#: Dimensions and widths of the question of App. E.2.
DIMENSIONS = (2, 3, 4, 6, 8, 12)
WIDTHS = (2, 3, 4, 6, 8, 12, 16, 32, 64, 256)


def atlas() -> dict[str, Any]:
    r"""A million trajectories at d = 3.

    Signals are :math:`a = (1, 1/r, 1/r^2)`.

    Returns
    -------
    dict
        100 omega from 1e-12 to 1e-1, 50 eta from 0.01 to 0.8, 40 ratios r from 1 to 2.95, five
        draws of W(0) each; euler, the printed map.
    """
    ratios = [Fraction(100 + 5 * k, 100) for k in range(40)]
    return {
        "signal": [_geometric(ratio, 3) for ratio in ratios],
        "omega": _spaced(1e-12, 1e-1, 100),
        "eta": _spaced(0.01, 0.8, 50),
        "seeds": 5,
        "dynamics": "euler",
    }


def dimension() -> dict[str, Any]:
    r"""The swing against dimension d and width d' (App. E.2).

    Entries off the diagonal of a Gaussian W(0) are smaller than those on it by about
    :math:`d'^{-1/2}`, and d' is at least d. Signals are d values from 1 down to 1/4, evenly
    spaced in the logarithm.

    Returns
    -------
    dict
        Six d from 2 to 12, ten widths d' from 2 to 256, 100 draws of W(0); gd. Where d' is below
        d, W(0) has no component for some concepts.
    """
    return {
        "signal": [[f"{4.0 ** (-k / (d - 1)):.6g}" for k in range(d)] for d in DIMENSIONS],
        "omega": "1e-3",
        "eta": "0.05",
        "width": list(WIDTHS),
        "seeds": 100,
        "dynamics": "gd",
    }


def descents() -> dict[str, Any]:
    r"""How often random initializations descend once, twice, three or four times.

    Signals are :math:`a = (1, 1/r, 1/r^2, \dots)` with r = 2, and with r = 4.

    Returns
    -------
    dict
        d from 2 to 6, omega from 1e-2 to 1e-8, 500 draws of W(0) each; gd.
    """
    return {
        "signal": [_geometric(Fraction(r), d) for r in (2, 4) for d in range(2, 7)],
        "omega": ["1e-2", "1e-3", "1e-4", "1e-6", "1e-8"],
        "eta": "0.05",
        "seeds": 500,
        "dynamics": "gd",
    }


BUILTIN: dict[str, Callable[[], dict[str, Any]]] = {
    made.__name__: made for made in (atlas, dimension, descents)
}


def _geometric(ratio: Fraction, d: int) -> list[str]:
    return [f"{float(1 / ratio**k):.6g}" for k in range(d)]


def _spaced(low: float, high: float, count: int) -> list[str]:
    """Evenly spaced in the logarithm, three digits each."""
    return [f"{low * (high / low) ** (k / (count - 1)):.3g}" for k in range(count)]
