"""Settings of vector diffusion: a SIM task, a (nearly) linear denoiser, and its training."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from swingby.errors import InvalidInput
from swingby.hints import Hinted
from swingby.lab.diffusion.signals import Noise
from swingby.lab.field_checks import booleans, one_of, positive, set_field
from swingby.lab.networks.setting import Floats
from swingby.theory import numbers
from swingby.theory.task import SIMTask

_DENOISERS = ("linear", "two_layer", "symmetric", "mlp")
_READS = ("condition", "both")
_ACTIVATIONS = ("relu", "gelu")
#: Gamma runs from -5 to 10, uniformly.
SCHEDULE = Noise()
#: A typing error should not fill the memory.
_MOST_CONCEPTS = 16
_WHOLE = {
    "width": (1, 1024), "batch": (1, 100_000), "steps": (1, 1_000_000),
    "sample_steps": (1, 1_000_000), "seed": (0, 2**63),
}  # fmt: skip


@dataclass(frozen=True)
class VectorSetting(Hinted):
    r"""Variational diffusion of the points c of a SIM task, each with itself as condition.

    The noisy :math:`z = \alpha c + \sigma \epsilon` has the fixed schedule of
    :class:`swingby.lab.diffusion.signals.Noise`. The denoiser estimates

    * ``reads="condition"``: :math:`\hat\epsilon = z - \alpha f(c)`;
    * ``reads="both"``: :math:`\hat\epsilon = z + f(-g_c c,\; g_z z)` with :math:`g_c =
      \alpha/\sigma` and :math:`g_z = (1 - \sigma)/\sigma`. Exact for :math:`f = (I, I)`.

    Examples
    --------
    >>> setting = VectorSetting(SIMTask([1, 2], "1/20"), eta=0.05)
    >>> round(setting.rate, 6), setting.points
    (0.009987, 32)
    """

    #: Of s dimensions, with the signal that follows from mu and sigma.
    task: SIMTask
    #: f: "two_layer" is W_2 W_1, "linear" one matrix, "symmetric" U U^T, "mlp" W_2 phi(W_1 .); the
    #: last two with ``reads="condition"`` only.
    denoiser: str = "two_layer"
    reads: str = "condition"
    #: h, of the layer inside; s by default.
    width: int | None = None
    #: Scale of the start. One matrix has entries of this standard deviation; two layers have
    #: entries of variance 2 omega / h, and U has omega / h, so that for U U^T with
    #: U = (W_1^T + W_2)/2 the mean of w_ii(0) is omega.
    omega: float = 1e-4
    #: Learning rate of gradient descent on the mean diffusion loss, in nats; or in its place eta,
    #: time of the theory per step.
    lr: float | None = None
    eta: float | None = None
    #: Points of each cluster in a step.
    batch: int = 16
    steps: int = 500
    #: Of everything random.
    seed: int = 0
    #: Whether every point comes with a noise and its negative. The mean gradient is the same;
    #: where only the condition is read, what noise adds to the gradient cancels.
    antithetic: bool = True
    #: "relu" or "gelu", of "mlp".
    activation: str = "relu"
    #: Steps of the sampler, for the conditional map where both are read.
    sample_steps: int = 50

    def __post_init__(self) -> None:
        task = self.task
        if not isinstance(task, SIMTask):
            raise InvalidInput("task", task, "must be a SIMTask")
        if task.dim != task.s or task.rotation is not None:
            raise InvalidInput("task", task, "must have one dimension per concept, and no rotation")
        if task.signal_override is not None:
            raise InvalidInput("task", task, "must have the signal of its points")
        if task.s > _MOST_CONCEPTS:
            raise InvalidInput("task", task, f"must have at most {_MOST_CONCEPTS} concepts")
        one_of(self.denoiser, "denoiser", _DENOISERS)
        one_of(self.reads, "reads", _READS)
        one_of(self.activation, "activation", _ACTIVATIONS)
        booleans(self, "antithetic")
        if self.reads == "both" and self.denoiser in ("symmetric", "mlp"):
            requirement = "must be linear or two_layer where both are read"
            raise InvalidInput("denoiser", self.denoiser, requirement)
        if self.width is not None and self.denoiser == "linear":
            raise InvalidInput("width", self.width, "must not be given: one matrix has none")
        if (self.lr is None) == (self.eta is None):
            which = "neither" if self.lr is None else "both"
            raise InvalidInput("lr and eta", which, "must be given one without the other")
        for name in ("omega", *(rate for rate in ("lr", "eta") if getattr(self, rate) is not None)):
            set_field(self, name, positive(getattr(self, name), name))
        for name, (lowest, highest) in _WHOLE.items():
            if name != "width" or self.width is not None:
                set_field(
                    self, name, numbers.whole(getattr(self, name), name, lowest, most=highest)
                )

    @property
    def points(self) -> int:
        """Different points of a step."""
        return self.task.s * self.batch

    @property
    def hidden(self) -> int:
        """h, or 0 for one matrix."""
        if self.denoiser == "linear":
            return 0
        return self.task.s if self.width is None else self.width

    @property
    def clock(self) -> float:
        """Time of the theory per step and learning rate; U U^T enters the loss by both factors."""
        return SCHEDULE.signal * (2.0 if self.denoiser == "symmetric" else 1.0)

    @property
    def rate(self) -> float:
        """Learning rate of gradient descent."""
        return self.lr if self.lr is not None else float(self.eta or math.nan) / self.clock

    @property
    def step(self) -> float:
        """Time of the theory in a step: eta of (D.2), or the time of Theorem 4.1."""
        return self.rate * self.clock

    @property
    def kind(self) -> tuple[object, ...]:
        """The values that settings must share to be trained as a stacked model."""
        return (
            self.task.s, self.denoiser, self.reads, self.hidden, self.batch, self.steps,
            self.antithetic, self.activation, self.sample_steps,
        )  # fmt: skip

    def streams(self) -> tuple[np.random.SeedSequence, ...]:
        """Seeds of the weights, the points with their noise, and the times."""
        return tuple(np.random.SeedSequence(self.seed).spawn(3))


def initial_weights(setting: VectorSetting) -> tuple[Floats, ...]:
    """The weights that a setting starts from, the layer applied first first."""
    s, h = setting.task.s, setting.hidden
    inputs = s if setting.reads == "condition" else 2 * s
    generator = np.random.default_rng(setting.streams()[0])
    if setting.denoiser == "linear":
        return (setting.omega * generator.standard_normal((s, inputs)),)
    if setting.denoiser == "symmetric":
        return (math.sqrt(setting.omega / h) * generator.standard_normal((s, h)),)
    scale = math.sqrt(2 * setting.omega / h)
    first = scale * generator.standard_normal((h, inputs))
    return (first, scale * generator.standard_normal((s, h)))
