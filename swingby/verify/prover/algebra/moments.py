"""Means of polynomials over independent Gaussian letters, by Isserlis' theorem."""

from __future__ import annotations

from typing import Any

from swingby.verify.prover.algebra.pattern import raw_moment


def laws(
    names: list[str], scale: Any, centres: list[Any], spreads: list[Any]
) -> dict[str, tuple[Any, Any]]:
    """Mean and variance of every Gaussian letter.

    Parameters
    ----------
    names : list of str
    scale : ring element
        tau.
    centres, spreads : list of ring elements
        mu and sigma.

    Returns
    -------
    dict from str to (mean, variance)
    """
    zero = scale - scale
    normal: dict[str, tuple[Any, Any]] = {}
    for name in names:
        if name.startswith("xi_"):
            normal[name] = (zero, zero + 1)
        elif name.startswith("u_"):
            normal[name] = (zero, scale * scale)
        elif name.startswith("x_"):
            place, group = name[2:].split("|")
            at = int(place) - 1
            centre = centres[at] if place == group.split(",")[0] else zero
            normal[name] = (centre, spreads[at] * spreads[at])
    return normal


def without_gaussians(polynomial: Any, names: list[str], normal: dict[str, tuple[Any, Any]]) -> Any:
    """The mean of a polynomial over independent Gaussian letters.

    Parameters
    ----------
    polynomial : flint.fmpq_mpoly
    names : list of str
    normal : dict from str to (mean, variance)
        Both in the same ring.
    """
    context = polynomial.context()
    places = {at: normal[name] for at, name in enumerate(names) if name in normal}
    total = context.constant(0)
    for exponents, coefficient in polynomial.to_dict().items():
        fixed = tuple(0 if at in places else power for at, power in enumerate(exponents))
        term = context.from_dict({fixed: coefficient})
        for at, (location, variance) in places.items():
            if exponents[at]:
                term = term * raw_moment(exponents[at], location, variance)
        total = total + term
    return total
