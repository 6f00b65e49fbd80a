r"""What the SIM theory says about courses in concept space, given measured signals.

Both models of the theory start small and learn each concept at a rate proportional to its a:
one layer as :math:`1 - e^{-a_p t}` (Theorem 4.1), two layers as a logistic curve of rate
:math:`2 a_p` that is half-way at :math:`-\log(\pi_p) / (2 a_p)`, where the pivots are equal up to
factors that count little in the logarithm. So with either

1. the concept with the larger a is half learned first;
2. :math:`t_{size} / t_{colour} = a_{colour} / a_{size}`, hence over contrasts the logarithms of
   the two sides lie on a line of slope 1;
3. the order turns at the contrast of equal a;
4. at the end :math:`1 - C \propto e^{-r t}`, with r proportional to the a of the later concept;
5. with two layers the path bends towards the stronger concept, the more so the more the a differ,
   and where one concept is far ahead, the concept error rises for a while.

Number 2 needs a clock: gradient flow. Adaptive optimizers give weak signals larger steps, so rates
need not be proportional to a; the order and the flip suffer less.

References
----------
Theorem 4.1, Sec. 4.2, Sec. 5; the stage times are those of :func:`swingby.predict`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from swingby.diffusion.judging.signal_flip import Flip, flip_between
from swingby.diffusion.signals import Signals
from swingby.errors import InvalidInput

#: Half-width of a 95 % interval in standard errors.
QUANTILE = 1.959963984540054
#: Logarithms of a ratio nearer to 0 than this predict no order, however well they are measured:
#: pivots that differ by a few percent would decide.
TOO_CLOSE = 0.1


@dataclass(frozen=True)
class Predicted:
    r"""What follows for one contrast.

    Parameters
    ----------
    contrast : float
    log_ratio : float
        :math:`\log(a_{colour} / a_{size})`, and so :math:`\log(t_{size} / t_{colour})`.
    error : float
        Half-width of its 95 % interval.
    log_a : tuple of float
        Logarithms of both a.
    """

    contrast: float
    log_ratio: float
    error: float
    log_a: tuple[float, float]

    @property
    def first(self) -> int | None:
        """The concept to be learned first, 0 for colour; None too close to the flip to say."""
        if not abs(self.log_ratio) > max(self.error, TOO_CLOSE):
            return None
        return 0 if self.log_ratio > 0 else 1


@dataclass(frozen=True)
class Predictions:
    """What follows from the signals at several contrasts."""

    contrasts: tuple[Predicted, ...]
    flip: Flip
    representation: str

    def at(self, contrast: float) -> Predicted:
        """The predictions for one contrast.

        Raises
        ------
        InvalidInput
            If no signals were measured there.
        """
        for one in self.contrasts:
            if math.isclose(one.contrast, contrast, rel_tol=1e-9):
                return one
        raise InvalidInput("signals", f"none at contrast {contrast:g}", "must cover all courses")


def predict_courses(signals: Sequence[Signals], flip: Flip | None = None) -> Predictions:
    """Predict order, ratios and flip from signals.

    Parameters
    ----------
    signals : sequence of Signals
        One for each contrast, of one representation and size of images.
    flip : Flip, optional
        From :func:`swingby.diffusion.judging.signal_flip.find_flip`; interpolated between the
        signals if not given.

    Raises
    ------
    InvalidInput
    """
    given = list(signals) if not isinstance(signals, Signals) else [signals]
    if not given or not all(isinstance(one, Signals) for one in given):
        raise InvalidInput("signals", signals, "must be one Signals or more")
    if len({(one.representation, one.pixels) for one in given}) > 1:
        raise InvalidInput("signals", "a mixture", "must have one representation and size")
    given.sort(key=lambda one: one.contrast)
    if len({one.contrast for one in given}) < len(given):
        raise InvalidInput("signals", "a contrast given twice", "must be one per contrast")
    name = given[0].representation
    if flip is None:
        flip = flip_between(given)
    if not isinstance(flip, Flip) or flip.representation != name:
        raise InvalidInput("flip", flip, f"must be a Flip of the representation {name}")
    found = [
        Predicted(
            one.contrast,
            one.log_ratio,
            QUANTILE * one.error,
            (math.log(one.a[0]), math.log(one.a[1])),
        )
        for one in given
    ]
    return Predictions(tuple(found), flip, name)
