r"""Signals of a linear denoiser that reads a condition: the same theory for vectors and for images.

The noisy :math:`z = \alpha x + \sigma \epsilon` has :math:`\sigma^2 = 1/(1 + e^{-\gamma})`,
:math:`\alpha^2 = 1 - \sigma^2`. A denoiser :math:`\hat\epsilon = z - \alpha V c` has the
diffusion loss :math:`\int \alpha^2 d\gamma \cdot \frac12 \mathbb E |V c - x|^2` and a constant.
So two moments decide, :math:`A = \mathbb E\, c c^\top` and :math:`B = \mathbb E\, x c^\top`: one
layer goes to :math:`B A^{-1}` as :math:`1 - e^{-A t}`, two layers grow from a small start at the
singular values of B (Saxe, McClelland, Ganguli, 2013). For points that are their own condition
A = B, the signal of the SIM task. Where z is read as well, the form M of :meth:`Noise.form` takes
the place of the signal.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.errors import InvalidInput
from swingby.lab.diffusion.circles import CONDITION, TRAINING_CLASSES, Circles
from swingby.lab.field_checks import instance, one_of
from swingby.lab.networks.setting import Floats
from swingby.simulate.series import descents, turning_points
from swingby.theory import numbers
from swingby.theory.task import SIMTask

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from swingby.lab.diffusion.preset import Preset


#: Smallest turn of a test loss that counts, as a part of its start.
TURN = 0.01


def falls(loss: Floats, part: float = TURN) -> int:
    """How often a curve fell by a part of its start."""
    swing = part * float(loss[0])
    return descents(turning_points(loss, swing), swing)


@dataclass(frozen=True)
class Noise:
    r"""A noise schedule: gamma uniform between two ends, and what its integrals are.

    With :math:`u = e^{\gamma/2}` every integral below is elementary.
    """

    low: float = -5.0
    high: float = 10.0

    @property
    def range(self) -> float:
        """The length of the interval of gamma."""
        return self.high - self.low

    @functools.cached_property
    def signal(self) -> float:
        """The integral of alpha^2: what the conditional part of the loss is multiplied with."""
        return _softplus(-self.low) - _softplus(-self.high)

    @functools.cached_property
    def signal_squared(self) -> float:
        """Of alpha^4."""
        return self.signal - (_deviation(self.high) ** 2 - _deviation(self.low) ** 2)

    @functools.cached_property
    def rest(self) -> float:
        """Of (1 - sigma)^2: what is left of the noise."""
        sigma = 2 * (math.asinh(math.exp(self.high / 2)) - math.asinh(math.exp(self.low / 2)))
        return self.range - 2 * sigma + (_softplus(self.high) - _softplus(self.low))

    def at(self, t: Floats) -> Floats:
        """Gamma at times from 0 to 1."""
        return np.asarray(self.low + self.range * t)

    def alpha_sigma(self, t: Floats) -> tuple[Floats, Floats]:
        """Alpha and sigma at times from 0 to 1."""
        noise = 1 / (1 + np.exp(-self.at(t)))
        return np.sqrt(1 - noise), np.sqrt(noise)

    def gains(self, t: Floats) -> tuple[Floats, Floats]:
        """g_c and g_z of :meth:`form`: with them a denoiser reads the condition and the data."""
        signal, noise = self.alpha_sigma(t)
        return signal / noise, (1 - noise) / noise

    def form(self, signal: Floats) -> Floats:
        r"""The expected loss of each concept where c and z are read, as a form in (1 - W, 1 - P).

        The residual of concept p is :math:`g_z z e_P - g_c c e_W` with :math:`g_c = \alpha/\sigma`,
        :math:`g_z = (1 - \sigma)/\sigma`, so the loss is :math:`\frac12 e^\top M e` with

        .. math:: M = \int \begin{pmatrix} g_c^2 a & -g_c g_z \alpha a \\ \cdot & g_z^2 (\alpha^2 a
            + \sigma^2) \end{pmatrix} d\gamma .
        """
        # The integrals of e^-gamma = alpha^2 / sigma^2 and of alpha^2 / sigma.
        ratio = math.exp(-self.low) - math.exp(-self.high)
        by_sigma = 2 * (1 / _deviation(self.low) - 1 / _deviation(self.high))
        copied = ratio - 2 * by_sigma + self.signal
        forms = np.empty((len(signal), 2, 2))
        forms[:, 0, 0] = ratio * signal
        forms[:, 0, 1] = forms[:, 1, 0] = -(ratio - by_sigma) * signal
        forms[:, 1, 1] = copied * signal + self.rest
        return forms

    def pull(self, signal: Floats) -> Floats:
        """Rate at which two layers that read both grow from a small start: the norm of M (1, 1)."""
        return np.asarray(np.linalg.norm(self.form(signal).sum(2), axis=1))

    def sampler(self, steps: int) -> tuple[Floats, Floats]:
        r"""Sigma before each step of the sampler, and its kappa.

        A step from gamma to the next is :math:`y \to y - \kappa \sigma \hat\epsilon/\alpha +
        e^{\gamma'/2} \sqrt\kappa\, n` for :math:`y = z/\alpha` (Kingma et al., 2021, eqs. 32 to
        34).
        """
        gamma = self.at(np.linspace(1.0, 0.0, steps + 1))
        return 1 / np.sqrt(1 + np.exp(-gamma[:-1])), -np.expm1(np.diff(gamma))

    def sampled_map(self, W: Floats, P: Floats, steps: int) -> Floats:
        r"""The mean of samples as a matrix on the condition, where both are read.

        :math:`F \to (I - \kappa(\sigma I + (1 - \sigma) P)) F + \kappa W` from 0. For P = I it is
        W, but for a part :math:`\prod (1 - \kappa) = e^{\gamma_{min} - \gamma_{max}}`.
        """
        deviation, kappa = self.sampler(steps)
        F = np.zeros(np.broadcast_shapes(W.shape, P.shape))
        for d, k in zip(deviation.tolist(), kappa.tolist(), strict=True):
            F = (1 - k * d) * F + k * (W - (1 - d) * (P @ F))
        return F


def _softplus(x: float) -> float:
    return math.log1p(math.exp(-abs(x))) + max(x, 0.0)


def _deviation(gamma: float) -> float:
    return math.sqrt(1 / (1 + math.exp(-gamma)))


REPRESENTATIONS = ("registered", "pixels", "condition", "covariance")
#: What can set the pace of learning a concept.
RATES = (*REPRESENTATIONS, "both")
#: Class with which 00 is compared, for colour and for size.
_OTHER_CLASS = (2, 1)
#: Images of each class in a batch: at one place if registered, else each at its own.
_JITTERS = 32


@dataclass(frozen=True)
class ImageSignals:
    """Signals of both concepts at one contrast; colour first, then size. By :func:`measure`."""

    circles: Circles
    #: "registered", "pixels", "condition" or "covariance".
    representation: str
    #: Distance of the classes.
    mu: tuple[float, ...]
    #: Standard deviation within a class along that distance.
    sigma: tuple[float, ...]
    #: Cosine between the directions of colour and size; SIM assumes 0.
    overlap: float = 0.0
    #: Standard error of :attr:`log_ratio` by the jackknife over batches; 0 if exact.
    error: float = 0.0

    @property
    def task(self) -> SIMTask:
        """The SIM task: two clusters, colour first."""
        return SIMTask(self.mu, self.sigma)

    @property
    def a(self) -> tuple[float, float]:
        r""":math:`a_p = \sigma_p^2 + \mu_p^2/2`."""
        colour, size = self.task.signal
        return float(colour), float(size)

    @property
    def log_ratio(self) -> float:
        """Logarithm of a of colour over a of size: above 0, colour is the stronger."""
        colour, size = self.a
        return math.log(colour / size)


#: The public name.
Signals = ImageSignals


def measure(
    circles: Circles,
    representation: str = "registered",
    *,
    gain: Sequence[float] = (1.0,) * CONDITION,
    samples: int = 64,
    rng: Any = 0,
) -> ImageSignals:
    """Measure the signals of a distribution of images.

    Parameters
    ----------
    circles : Circles
    representation : {"registered", "pixels", "condition", "covariance"}
        Signals of images at one place and on one ground, of images at all places, of the condition
        of the network, or of images and condition together.
    gain : sequence of float
        By which the network multiplies radius, red, green and blue as it reads them, see
        :class:`swingby.lab.diffusion.Layout`; for ``"condition"`` and ``"covariance"``.
    samples : int
        Batches of 32 images of each class, at one place and on one ground if registered; at least
        4. Nothing is drawn for ``"condition"``.
    rng : None, int, SeedSequence or Generator

    Raises
    ------
    InvalidInput
        Also if too few images are drawn to resolve a distance in their noise.

    Examples
    --------
    >>> found = measure(Circles(0.5), "condition")
    >>> [round(one, 4) for one in found.mu], [round(one, 4) for one in found.a]
    ([0.7071, 0.4], [0.2513, 0.0875])
    """
    instance(circles, "circles", Circles)
    one_of(representation, "representation", REPRESENTATIONS)
    count = numbers.whole(samples, "samples", 4)
    factors = numbers.vector(gain, "gain")
    if len(factors) != CONDITION or not all(factor > 0 for factor in factors):
        raise InvalidInput("gain", gain, f"must be {CONDITION} positive numbers")
    read = np.array(factors, dtype=np.float64)

    if representation == "condition":
        ways = _condition_ways(circles, read)
        mu = np.linalg.norm(ways, axis=1)
        deviations = read * circles.reach / math.sqrt(3)
        sigma = np.linalg.norm(deviations * ways, axis=1) / mu
        return ImageSignals(circles, representation, tuple(mu.tolist()), tuple(sigma.tolist()))
    gains = read if representation == "covariance" else None
    fixed, generator = representation != "pixels", numbers.random_source(rng)
    squares, spreads, overlap = _of_images(circles, count, generator, gains, fixed=fixed)
    if squares.min() <= 0:
        raise InvalidInput("samples", samples, "must be enough to tell the classes apart")
    # Leave-one-out values a_(b), colour and size; the last row is that of all.
    signal = spreads + squares / 2
    left_out = np.log(signal[:-1, 0] / signal[:-1, 1])
    error = math.sqrt((count - 1) / count * ((left_out - left_out.mean()) ** 2).sum())
    mu, sigma = np.sqrt(squares[-1]).tolist(), np.sqrt(np.maximum(spreads[-1], 0)).tolist()
    return ImageSignals(circles, representation, tuple(mu), tuple(sigma), overlap, error)


@functools.lru_cache(maxsize=256)
def rates(circles: Circles, preset: Preset, name: str) -> tuple[float, float]:
    """Predicted rates of learning colour and size, in arbitrary units, by a name of ``RATES``."""
    one_of(name, "signal", RATES)
    image = "registered" if name == "both" else name
    a = measure(circles, image, gain=preset.layout.gain).a
    if name != "both":
        return a
    # The network is given pixels from -1 to 1.
    colour, size = Noise(preset.gamma_min, preset.gamma_max).pull(4 * np.array(a)).tolist()
    return colour, size


def _condition_ways(circles: Circles, gain: Floats) -> Floats:
    """Differences of the conditions of 10 and of 01 from the condition of 00, as they are read."""
    low = circles.means((0, 0))
    return np.stack([gain * (circles.means(kind) - low) for kind in ((1, 0), (0, 1))])


def _batch(
    circles: Circles, rng: np.random.Generator, *, fixed: bool
) -> tuple[NDArray[np.float32], Floats]:
    """Images without noise, (class, jitter, pixels), and how they lie off the middle, (jitter, 4).

    Only the class differs: places, grounds and offsets are the same for all; the place and the
    ground for all of the batch where they are fixed.
    """
    drawn, repeat = (1, _JITTERS) if fixed else (_JITTERS, 1)
    centres = np.repeat(rng.uniform(-0.5, 0.5, (drawn, 2)), repeat, axis=0)
    grounds = np.repeat(rng.uniform(0.8, 1.0, (drawn, 3)), repeat, axis=0)
    # One draw in each of as many strata.
    ranks = rng.permuted(np.tile(np.arange(_JITTERS), (4, 1)), axis=1).T
    offsets = circles.reach * (2 * (ranks + rng.uniform(size=ranks.shape)) / _JITTERS - 1)
    images = [
        circles.paint(circles.means(divmod(kind, 2)) + offsets, centres, grounds)
        for kind in TRAINING_CLASSES
    ]
    return np.stack(images).reshape(len(images), _JITTERS, -1), offsets


def _of_images(
    circles: Circles, count: int, rng: np.random.Generator, gain: Floats | None, *, fixed: bool
) -> tuple[Floats, Floats, float]:
    """Squared distances and variances, with each batch left out in turn, then of all; overlap.

    With a gain: distances in the image times those in the condition, and covariances.
    """
    quiet = replace(circles, noise=0.0)
    batches = [_batch(quiet, rng, fixed=fixed) for _ in range(count)]
    means = np.stack([images.mean(1, dtype=np.float64) for images, _ in batches])
    ways = np.stack([means[:, kind] - means[:, 0] for kind in _OTHER_CLASS], 1)  # (count, 2, P)
    squares = np.einsum("bpi,bqi->bpq", ways, ways)
    if fixed:
        products, along = _without_each(squares), ways
    else:
        # Products of different batches alone are free of the bias of their noise.
        total, along = ways.sum(0), ways.sum(0) - ways
        of_all = (total @ total.T - squares.sum(0)) / (count * (count - 1))
        rest = np.einsum("bpi,bqi->bpq", along, along) - (squares.sum(0) - squares)
        products = np.concatenate([rest / ((count - 1) * (count - 2)), of_all[None]])
    distances = products.diagonal(0, 1, 2)
    if gain is not None:
        condition_ways = _condition_ways(circles, gain)
        distances = np.sqrt(np.maximum(distances, 0)) * np.linalg.norm(condition_ways, axis=1)
    spreads = np.empty((count, 2))
    for batch, (images, offsets) in enumerate(batches):
        projections = images.astype(np.float64) @ _unit(along[batch]).T  # (class, jitter, concept)
        projections -= projections.mean(1, keepdims=True)
        partner = projections
        if gain is not None:
            read = (gain * offsets) @ _unit(condition_ways).T
            partner = read - read.mean(0)
        # Batches that share a place vary within it; others lose a degree of freedom to the mean.
        spreads[batch] = (projections * partner).sum(1).mean(0) / (
            _JITTERS if fixed else _JITTERS - 1
        )
    if gain is None:
        spreads += circles.noise**2
    last = products[-1]
    scale = float(last[0, 0] * last[1, 1])
    overlap = float(np.clip(last[0, 1] / math.sqrt(scale), -1, 1)) if scale > 0 else 0.0
    return distances, _without_each(spreads), overlap


def _unit(ways: Floats) -> Floats:
    return np.asarray(ways / np.linalg.norm(ways, axis=1)[:, None])


def _without_each(values: Floats) -> Floats:
    """Means with each row left out in turn, and the mean of all in the last row."""
    total, count = values.sum(axis=0), len(values)
    return np.concatenate([(total - values) / (count - 1), total[None] / count])
