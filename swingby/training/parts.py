"""The parts of a setting: what is trained, on what, and by what."""

from __future__ import annotations

from dataclasses import dataclass

from swingby.errors import InvalidInput
from swingby.theory import numbers
from swingby.training.fields import at_least_zero, booleans, one_of, positive, put

ACTIVATIONS = ("linear", "relu", "gelu")
INITIALIZATIONS = ("torch", "gaussian", "uniform")
KINDS = ("sgd", "gd", "adamw")
LOSSES = ("paper", "torch")
SHUFFLES = ("once", "epoch")
#: A typing error should not fill the memory.
MOST_LAYERS, WIDEST, MOST_POINTS = 64, 8192, 10_000_000


@dataclass(frozen=True)
class Data:
    """The training points of a SIM task.

    Parameters
    ----------
    n_per_class : int or None
        Points per cluster; 5000 in App. F.1. None is the limit of infinite data, for networks
        that are linear: their loss depends on the first two moments alone.
    center_cluster : bool
        Add the optional cluster at the origin (Sec. 2.1), as the authors' public code does.
    rotation : bool
        Turn all points by a random rotation (App. F.1).
    truncation : float or None
        No training point lies within this many times min(mu) of the test point (App. F.3:
        0.5). Points that do are drawn again.
    free_sigma : number
        Standard deviation along the directions without a concept; 0 in the paper.
    """

    n_per_class: int | None = 5000
    center_cluster: bool = False
    rotation: bool = False
    truncation: float | None = None
    free_sigma: float = 0.0

    def __post_init__(self) -> None:
        if self.n_per_class is not None:
            count = numbers.whole(self.n_per_class, "n_per_class", 1, "Sec. 2.1", most=MOST_POINTS)
            put(self, "n_per_class", count)
        booleans(self, "center_cluster", "rotation")
        if self.truncation is not None:
            put(self, "truncation", positive(self.truncation, "truncation", "App. F.3"))
            if self.n_per_class is None:
                raise InvalidInput(
                    "truncation", self.truncation, "needs training points: n_per_class", "App. F.3"
                )
        put(self, "free_sigma", at_least_zero(self.free_sigma, "free_sigma"))


@dataclass(frozen=True)
class Network:
    r"""A multi-layer perceptron from d to d dimensions.

    Parameters
    ----------
    depth : int
        Number of weight matrices.
    width : int, optional
        Of the hidden layers; the dimension of the task by default.
    activation : {"linear", "relu", "gelu"}
        After every layer but the last.
    bias : bool
    symmetric : bool
        :math:`f(x) = U U^\top x` with U of shape (d, width): the model of Sec. 4.2. Its depth
        is 2, and it has neither activation nor bias.
    initialization : {"torch", "gaussian", "uniform"}
        Of every weight: uniform on plus or minus 1/sqrt(columns), as ``torch.nn.Linear`` does
        and with biases alike; normal with standard deviation 1; uniform on [0, 1].
    scale : number
        All of that times this. With "gaussian" it is the standard deviation.
    """

    depth: int = 1
    width: int | None = None
    activation: str = "linear"
    bias: bool = True
    symmetric: bool = False
    initialization: str = "torch"
    scale: float = 1.0

    def __post_init__(self) -> None:
        put(self, "depth", numbers.whole(self.depth, "depth", 1, most=MOST_LAYERS))
        if self.width is not None:
            put(self, "width", numbers.whole(self.width, "width", 1, most=WIDEST))
        one_of(self.activation, "activation", ACTIVATIONS)
        one_of(self.initialization, "initialization", INITIALIZATIONS)
        booleans(self, "bias", "symmetric")
        put(self, "scale", at_least_zero(self.scale, "scale"))
        if self.symmetric and (self.depth != 2 or self.bias or self.activation != "linear"):
            raise InvalidInput(
                "symmetric",
                f"depth {self.depth}, bias {self.bias}, {self.activation}",
                "is f(x) = U U^T x: depth 2, bias=False, linear",
                "Sec. 4.2",
            )

    @property
    def linear(self) -> bool:
        """Whether f is an affine function of its input."""
        return self.activation == "linear" or self.depth == 1


@dataclass(frozen=True)
class Optimizer:
    r"""How the parameters move.

    Parameters
    ----------
    kind : {"sgd", "gd", "adamw"}
        "gd" takes the whole training set in every step.
    lr : number
        Learning rate.
    batch_size : int
        Points per step; the last batch of an epoch may be smaller. Unused by "gd".
    loss : {"torch", "paper"}
        Both are means over the points of a batch. "paper" is
        :math:`\tfrac12 \lVert f(x) - x \rVert^2` (2.1); "torch" is ``mse_loss``, the mean over
        the d entries of the squares, which is 2/d times as large. See
        :func:`swingby.training.clock.clock`.
    shuffle : {"once", "epoch"}
        One order for all epochs, as in the authors' public code, or a new one for each.
    weight_decay : number
        Of "adamw".
    """

    kind: str = "sgd"
    lr: float = 0.1
    batch_size: int = 128
    loss: str = "torch"
    shuffle: str = "once"
    weight_decay: float = 0.0

    def __post_init__(self) -> None:
        one_of(self.kind, "kind", KINDS)
        put(self, "lr", positive(self.lr, "lr"))
        size = numbers.whole(self.batch_size, "batch_size", 1, most=MOST_POINTS)
        put(self, "batch_size", size)
        one_of(self.loss, "loss", LOSSES)
        one_of(self.shuffle, "shuffle", SHUFFLES)
        put(self, "weight_decay", at_least_zero(self.weight_decay, "weight_decay"))
        if self.weight_decay and self.kind != "adamw":
            raise InvalidInput("weight_decay", self.weight_decay, f"must be 0 for {self.kind}")
