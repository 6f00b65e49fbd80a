"""What is trained on what, and how: one frozen description of a training run."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Any

from swingby.errors import MISSING, InvalidInput
from swingby.theory import numbers
from swingby.theory.task import SIMTask

ACTIVATIONS = ("linear", "relu", "gelu")
INITIALIZATIONS = ("torch", "gaussian", "uniform")
KINDS = ("sgd", "gd", "adamw")
LOSSES = ("paper", "torch")
SHUFFLES = ("once", "epoch")
PRECISIONS = ("float32", "float64")
#: A typing error should not fill the memory.
MOST_LAYERS, WIDEST, MOST_POINTS, MOST_STEPS = 64, 8192, 10_000_000, 100_000_000


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
            _put(self, "n_per_class", count)
        _booleans(self, "center_cluster", "rotation")
        if self.truncation is not None:
            _put(self, "truncation", _positive(self.truncation, "truncation", "App. F.3"))
            if self.n_per_class is None:
                raise InvalidInput(
                    "truncation", self.truncation, "needs training points: n_per_class", "App. F.3"
                )
        _put(self, "free_sigma", _at_least_zero(self.free_sigma, "free_sigma"))


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
        _put(self, "depth", numbers.whole(self.depth, "depth", 1, most=MOST_LAYERS))
        if self.width is not None:
            _put(self, "width", numbers.whole(self.width, "width", 1, most=WIDEST))
        _one_of(self.activation, "activation", ACTIVATIONS)
        _one_of(self.initialization, "initialization", INITIALIZATIONS)
        _booleans(self, "bias", "symmetric")
        _put(self, "scale", _at_least_zero(self.scale, "scale"))
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
        _one_of(self.kind, "kind", KINDS)
        _put(self, "lr", _positive(self.lr, "lr"))
        size = numbers.whole(self.batch_size, "batch_size", 1, most=MOST_POINTS)
        _put(self, "batch_size", size)
        _one_of(self.loss, "loss", LOSSES)
        _one_of(self.shuffle, "shuffle", SHUFFLES)
        _put(self, "weight_decay", _at_least_zero(self.weight_decay, "weight_decay"))
        if self.weight_decay and self.kind != "adamw":
            raise InvalidInput("weight_decay", self.weight_decay, f"must be 0 for {self.kind}")


@dataclass(frozen=True)
class Setting:
    """One training run.

    Parameters
    ----------
    task : SIMTask
    data : Data
    network : Network
    optimizer : Optimizer
    epochs : int, optional
        Passes over the training set; 40 (App. F.1) if neither this nor `steps` is given.
    steps : int, optional
        Steps of the optimizer, in place of epochs; needed for infinite data and "gd".
    seed : int
        Everything random in the run derives from it: points, rotation, order, weights.
    precision : {"float32", "float64"}

    Raises
    ------
    InvalidInput
        For values that make no sense alone or together.

    Examples
    --------
    >>> setting = Setting(SIMTask([1, 2], ["1/20", "1/20"], dim=64), epochs=2)
    >>> setting.points, setting.steps_per_epoch, setting.total_steps
    (10000, 79, 158)
    """

    task: SIMTask
    data: Data = field(default_factory=Data)
    network: Network = field(default_factory=Network)
    optimizer: Optimizer = field(default_factory=Optimizer)
    epochs: int | None = None
    steps: int | None = None
    seed: int = 0
    precision: str = "float32"

    def __post_init__(self) -> None:
        for name, kind in _PARTS.items():
            if not isinstance(getattr(self, name), kind):
                raise InvalidInput(name, getattr(self, name), f"must be a {kind.__name__}")
        _one_of(self.precision, "precision", PRECISIONS)
        _put(self, "seed", numbers.whole(self.seed, "seed", 0, most=2**63))
        if self.epochs is not None and self.steps is not None:
            raise InvalidInput("steps", self.steps, "and epochs exclude each other")
        if self.steps is None:
            whole = self.data.n_per_class is None or self.optimizer.kind == "gd"
            if self.epochs is None and whole:
                reason = "gd" if self.data.n_per_class else "infinite data"
                raise InvalidInput("steps", MISSING, f"must be given for {reason}")
            given = 40 if self.epochs is None else self.epochs
            _put(self, "epochs", numbers.whole(given, "epochs", 0, most=MOST_STEPS))
        else:
            _put(self, "steps", numbers.whole(self.steps, "steps", 0, most=MOST_STEPS))
        if self.total_steps > MOST_STEPS:
            raise InvalidInput("epochs", self.epochs, f"must make at most {MOST_STEPS} steps")
        self._infinite_data()

    def _infinite_data(self) -> None:
        if self.data.n_per_class is None:
            if not self.network.linear:
                raise InvalidInput(
                    "n_per_class",
                    None,
                    f"(infinite data) needs a linear network, not {self.network.activation}",
                    "(C.7)",
                )
            if self.optimizer.kind == "sgd":
                raise InvalidInput("kind", "sgd", "must be gd or adamw for infinite data")
        elif self.task.signal_override is not None:
            raise InvalidInput(
                "n_per_class",
                self.data.n_per_class,
                "must be None: points cannot be drawn from a signal that mu and sigma do not give",
            )

    @property
    def clusters(self) -> int:
        """Number of clusters of the training set, with that at the origin."""
        return self.task.s + self.data.center_cluster

    @property
    def points(self) -> int:
        """Number of training points; 0 for infinite data."""
        return self.clusters * (self.data.n_per_class or 0)

    @property
    def batch(self) -> int:
        """Points per step; 0 for infinite data."""
        whole = self.optimizer.kind == "gd"
        return self.points if whole else min(self.optimizer.batch_size, self.points)

    @property
    def steps_per_epoch(self) -> int:
        """Steps per pass over the training set; 1 for infinite data."""
        return math.ceil(self.points / self.batch) if self.points else 1

    @property
    def total_steps(self) -> int:
        """Steps of the optimizer in all."""
        if self.steps is not None:
            return self.steps
        assert self.epochs is not None
        return self.epochs * self.steps_per_epoch

    @property
    def width(self) -> int:
        """Of the hidden layers."""
        return self.network.width or self.task.dim

    def to_dict(self) -> dict[str, Any]:
        """The setting as plain values that JSON can hold.

        Returns
        -------
        dict
        """
        task = {
            "mu": [str(one) for one in self.task.mu],
            "sigma": [str(one) for one in self.task.sigma],
            "dim": self.task.dim,
            "signal": None
            if self.task.signal_override is None
            else [str(one) for one in self.task.signal_override],
            "note": self.task.note,
        }
        return {
            "task": task,
            "data": asdict(self.data),
            "network": asdict(self.network),
            "optimizer": asdict(self.optimizer),
            "epochs": self.epochs,
            "steps": self.steps,
            "seed": self.seed,
            "precision": self.precision,
        }

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Setting:
        """The setting that :meth:`to_dict` wrote.

        Parameters
        ----------
        plain : dict

        Returns
        -------
        Setting

        Raises
        ------
        InvalidInput
            For anything else.
        """
        try:
            given = dict(plain["task"])
            task = SIMTask(given["mu"], given["sigma"], given["dim"])
            if given["signal"] is not None:
                signal = [Fraction(one) for one in given["signal"]]
                task = task.with_signal(signal, str(given["note"]))
            return cls(
                task,
                Data(**plain["data"]),
                Network(**plain["network"]),
                Optimizer(**plain["optimizer"]),
                **{name: plain[name] for name in ("epochs", "steps", "seed", "precision")},
            )
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidInput("setting", plain, f"cannot be read ({error})") from None


_PARTS = {"task": SIMTask, "data": Data, "network": Network, "optimizer": Optimizer}


def _put(to: object, name: str, value: object) -> None:
    object.__setattr__(to, name, value)


def _one_of(value: object, name: str, known: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value not in known:
        raise InvalidInput(name, value, f"must be {', '.join(known[:-1])} or {known[-1]}")


def _booleans(of: object, *names: str) -> None:
    for name in names:
        if not isinstance(getattr(of, name), bool):
            raise InvalidInput(name, getattr(of, name), "must be True or False")


def _positive(value: object, name: str, source: str = "") -> float:
    return numbers.within_float(numbers.positive(value, name, source), name, source)


def _at_least_zero(value: object, name: str) -> float:
    given = numbers.exact(value, name)
    if given < 0:
        raise InvalidInput(name, value, "must not be negative")
    return numbers.within_float(given, name) if given else 0.0
