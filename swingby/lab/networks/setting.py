"""Setting: a frozen description of a training run, with its Data, Network and Optimizer."""

from __future__ import annotations

import itertools
import math
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from swingby.errors import MISSING, InvalidInput
from swingby.hints import Hinted
from swingby.lab.field_checks import at_least_zero, booleans, instance, one_of, positive, set_field
from swingby.lab.networks.samples import Samples
from swingby.theory import numbers
from swingby.theory.task import SIMTask, orthogonal, task_from_plain, task_to_plain

Floats = numbers.Floats
Integers = numbers.Integers
Booleans = numbers.Booleans

_ACTIVATIONS = ("linear", "relu", "gelu")
_INITIALIZATIONS = ("torch", "gaussian", "uniform")
_KINDS = ("sgd", "gd", "adam", "adamw")
_LOSSES = ("paper", "torch")
_SHUFFLES = ("once", "epoch")
_PRECISIONS = ("float32", "float64")
#: A typing error should not fill the memory, or run for days.
_MOST_LAYERS, _WIDEST, MOST_POINTS, MOST_STEPS = 64, 8192, 10_000_000, 100_000_000


@dataclass(frozen=True)
class Data(Hinted):
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
    samples : Samples, optional
        Points of one's own in place of all that, and perhaps their order; see
        :func:`swingby.lab.networks.read_samples`.

    Raises
    ------
    InvalidInput
        For values that make no sense alone or together.
    """

    n_per_class: int | None = 5000
    center_cluster: bool = False
    rotation: bool = False
    truncation: float | None = None
    free_sigma: float = 0.0
    samples: Samples | None = None

    def __post_init__(self) -> None:
        if self.n_per_class is not None:
            count = numbers.whole(self.n_per_class, "n_per_class", 1, "Sec. 2.1", most=MOST_POINTS)
            set_field(self, "n_per_class", count)
        booleans(self, "center_cluster", "rotation")
        if self.truncation is not None:
            set_field(self, "truncation", positive(self.truncation, "truncation", "App. F.3"))
            if self.infinite:
                needed = "needs training points: n_per_class"
                raise InvalidInput("truncation", self.truncation, needed, "App. F.3")
        set_field(self, "free_sigma", at_least_zero(self.free_sigma, "free_sigma"))
        if self.samples is not None:
            if not isinstance(self.samples, Samples):
                raise InvalidInput("samples", self.samples, "must come from read_samples")
            if replace(self, samples=None) != Data():
                raise InvalidInput("samples", self.samples, "must come without other fields")

    @property
    def infinite(self) -> bool:
        """True if networks are trained on moments alone."""
        return self.n_per_class is None


@dataclass(frozen=True)
class Network(Hinted):
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
        Factor of all initial parameters. With "gaussian" it is the standard deviation.

    Raises
    ------
    InvalidInput
        For values that make no sense alone or together.
    """

    depth: int = 1
    width: int | None = None
    activation: str = "linear"
    bias: bool = True
    symmetric: bool = False
    initialization: str = "torch"
    scale: float = 1.0

    def __post_init__(self) -> None:
        set_field(self, "depth", numbers.whole(self.depth, "depth", 1, most=_MOST_LAYERS))
        if self.width is not None:
            set_field(self, "width", numbers.whole(self.width, "width", 1, most=_WIDEST))
        one_of(self.activation, "activation", _ACTIVATIONS)
        one_of(self.initialization, "initialization", _INITIALIZATIONS)
        booleans(self, "bias", "symmetric")
        set_field(self, "scale", at_least_zero(self.scale, "scale"))
        if self.symmetric and (self.depth != 2 or self.bias or self.activation != "linear"):
            summary = f"depth {self.depth}, bias {self.bias}, {self.activation}"
            required = "is f(x) = U U^T x: depth 2, bias=False, linear"
            raise InvalidInput("symmetric", summary, required, "Sec. 4.2")

    @property
    def linear(self) -> bool:
        """True if f is an affine function of its input."""
        return self.activation == "linear" or self.depth == 1


@dataclass(frozen=True)
class Optimizer(Hinted):
    r"""The optimizer that moves the parameters, and the loss that it takes: as torch has them.

    With the gradient g of the loss, "sgd" and "gd" take :math:`g \leftarrow g + \lambda W`,
    :math:`v \leftarrow m v + g` and :math:`W \leftarrow W - \mathrm{lr}\, v`, with `nesterov`
    :math:`W \leftarrow W - \mathrm{lr}\, (g + m v)`. "adam" adds :math:`\lambda W` to g, too;
    "adamw" shrinks W by :math:`1 - \mathrm{lr}\, \lambda` instead.

    Parameters
    ----------
    kind : {"sgd", "gd", "adam", "adamw"}
        "gd" takes the whole training set in every step.
    lr : number
        Learning rate.
    batch_size : int
        Points per step; the last batch of an epoch may be smaller. Unused by "gd".
    loss : {"torch", "paper"}
        Both are means over the points of a batch. "paper" is
        :math:`\tfrac12 \lVert f(x) - x \rVert^2` (2.1); "torch" is ``mse_loss``, the mean over
        the d entries of the squares, which is 2/d times as large. See
        :func:`swingby.lab.networks.clock`.
    shuffle : {"once", "epoch"}
        One order for all epochs, as in the authors' public code, or a new one for each.
    weight_decay : number
        :math:`\lambda`, of all parameters.
    momentum : number
        m, from 0 to below 1, of "sgd" and "gd".
    nesterov : bool

    Raises
    ------
    InvalidInput
        For values that make no sense alone or together.
    """

    kind: str = "sgd"
    lr: float = 0.1
    batch_size: int = 128
    loss: str = "torch"
    shuffle: str = "once"
    weight_decay: float = 0.0
    momentum: float = 0.0
    nesterov: bool = False

    def __post_init__(self) -> None:
        one_of(self.kind, "kind", _KINDS)
        set_field(self, "lr", positive(self.lr, "lr"))
        size = numbers.whole(self.batch_size, "batch_size", 1, most=MOST_POINTS)
        set_field(self, "batch_size", size)
        one_of(self.loss, "loss", _LOSSES)
        one_of(self.shuffle, "shuffle", _SHUFFLES)
        set_field(self, "weight_decay", at_least_zero(self.weight_decay, "weight_decay"))
        set_field(self, "momentum", at_least_zero(self.momentum, "momentum"))
        if self.momentum >= 1:
            raise InvalidInput("momentum", self.momentum, "must be below 1")
        if self.momentum and self.adaptive:
            line = f"must be 0 for {self.kind}, whose averages have betas of their own"
            raise InvalidInput("momentum", self.momentum, line)
        booleans(self, "nesterov")
        if self.nesterov and not self.momentum:
            raise InvalidInput("nesterov", True, "needs momentum, such as 0.9")

    @property
    def adaptive(self) -> bool:
        """True for "adam" and "adamw", which divide entry by entry."""
        return self.kind in ("adam", "adamw")

    @property
    def plain(self) -> bool:
        """True for gradient descent without momentum and decay."""
        return not (self.adaptive or self.momentum or self.weight_decay)


@dataclass(frozen=True)
class Setting(Hinted):
    """A training run: task, data, network and optimizer, its length and its seed.

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
            instance(getattr(self, name), name, kind)
        data, network = self.data, self.network
        replayed = data.samples.order_shape[0] if data.samples is not None else 0
        one_of(self.precision, "precision", _PRECISIONS)
        set_field(self, "seed", numbers.whole(self.seed, "seed", 0, most=2**63))
        if self.epochs is not None and self.steps is not None:
            raise InvalidInput("steps", self.steps, "and epochs exclude each other")
        if replayed and self.epochs is None and self.steps is None:
            set_field(self, "steps", replayed)
        unknown = self.epochs is None and self.steps is None
        if unknown and (data.infinite or self.optimizer.kind == "gd"):
            reason = "infinite data" if data.infinite else "gd"
            raise InvalidInput("steps", MISSING, f"must be given for {reason}")
        name = "epochs" if self.steps is None else "steps"
        length = 40 if unknown else getattr(self, name)
        set_field(self, name, numbers.whole(length, name, 0, most=MOST_STEPS))
        if self.total_steps > MOST_STEPS:
            raise InvalidInput("epochs", self.epochs, f"must make at most {MOST_STEPS} steps")
        if replayed and self.optimizer.kind == "gd":
            required = "takes all points in each step: with an order of points, sgd"
            raise InvalidInput("kind", "gd", required)
        if replayed and self.total_steps > replayed:
            required = f"must be at most {replayed}, those whose order of points is recorded"
            raise InvalidInput("steps", self.total_steps, required)
        if data.infinite and not network.linear:
            required = f"(infinite data) needs a linear network, not {network.activation}"
            raise InvalidInput("n_per_class", None, required, "(C.7)")
        if data.infinite and self.optimizer.kind == "sgd":
            raise InvalidInput("kind", "sgd", "must be gd, adam or adamw for infinite data")
        if data.samples is not None:
            if data.samples.dim != self.task.dim:
                dimensions = f"d = {self.task.dim} and points in {data.samples.dim} dimensions"
                raise InvalidInput("data", dimensions, "must have as many columns as the task has")
        elif not data.infinite and self.task.signal_override is not None:
            required = "must be None: points cannot be drawn from a signal that mu and sigma do not"
            raise InvalidInput("n_per_class", data.n_per_class, f"{required} give")

    @property
    def second_moment(self) -> float:
        """Mean of |x|^2 over the data (2.1): the sum of all a_k, those of no concept included."""
        if self.data.samples is not None:
            return self.data.samples.square
        return float(self.moments[1].sum())

    @property
    def moments(self) -> tuple[Floats, Floats]:
        r"""Mean and second moments (d,) of infinite data along the concepts, (C.7)-(C.13).

        With c clusters, that at the origin included, :math:`\mu_p / c` and :math:`\sigma_p^2 +
        \mu_p^2 / c`: the signal, where there is no cluster at the origin. A signal that the task
        overrides is the second moment as it stands.
        """
        task = self.task
        second = np.array(task.signal)
        if task.signal_override is None:
            second[: task.s] += task.test_point[: task.s] ** 2 * (
                1.0 / self.clusters - 1.0 / task.s
            )
            second[task.s :] += self.data.free_sigma**2
        return task.test_point / self.clusters, second

    @property
    def clusters(self) -> int:
        """Number of clusters of the training set, with that at the origin."""
        return self.task.s + self.data.center_cluster

    @property
    def points(self) -> int:
        """Number of training points; 0 for infinite data."""
        samples = self.data.samples
        return samples.count if samples else self.clusters * (self.data.n_per_class or 0)

    @property
    def batch(self) -> int:
        """Points per step, at most; 0 for infinite data."""
        samples = self.data.samples
        if samples is not None and samples.order_shape[1]:
            return samples.order_shape[1]
        full = self.optimizer.kind == "gd"
        return self.points if full else min(self.optimizer.batch_size, self.points)

    @property
    def steps_per_epoch(self) -> int:
        """Steps per pass over the training set; 1 for infinite data."""
        return math.ceil(self.points / self.batch) if self.points else 1

    @property
    def total_steps(self) -> int:
        """Steps of the optimizer in all."""
        return self.steps if self.steps is not None else (self.epochs or 0) * self.steps_per_epoch

    @property
    def width(self) -> int:
        """Width of the hidden layers."""
        return self.network.width or self.task.dim

    def to_dict(self) -> dict[str, Any]:
        """The setting as plain values that JSON can hold; samples as their digest."""
        rotation = self.task.rotation
        data, samples = asdict(replace(self.data, samples=None)), self.data.samples
        del data["samples"]
        if samples is not None:
            data["samples"] = {name: getattr(samples, name) for name in _RECORDED}
        return {
            "task": task_to_plain(self.task)
            | {"rotation": None if rotation is None else rotation.tolist()},
            "data": data,
            "network": asdict(self.network),
            "optimizer": asdict(self.optimizer),
            **{name: getattr(self, name) for name in ("epochs", "steps", "seed", "precision")},
        }

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Setting:
        """The setting that :meth:`to_dict` wrote; the points of samples must be passed again."""
        try:
            facts, data = dict(plain["task"]), dict(plain["data"])
            rotation = facts["rotation"]
            if rotation is not None:
                rotation = orthogonal(rotation, numbers.whole(facts["dim"], "dim"))
            task = task_from_plain(facts, rotation)
            if data.get("samples") is not None:
                recorded = {"order_shape": (0, 0)} | data["samples"]
                count, dim, digest, square, shape = (recorded[name] for name in _RECORDED)
                size = numbers.whole(count, "count", 1, most=MOST_POINTS)
                d, mean = numbers.whole(dim, "dim", 1), at_least_zero(square, "square")
                steps, batch = (numbers.whole(side, "order", 0) for side in shape)
                data["samples"] = Samples(
                    size, d, str(digest), order_shape=(steps, batch), square=mean
                )
            return cls(
                task,
                Data(**data),
                Network(**plain["network"]),
                Optimizer(**plain["optimizer"]),
                **{name: plain[name] for name in ("epochs", "steps", "seed", "precision")},
            )
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidInput("setting", plain, f"cannot be read ({error})") from None


_PARTS = {"task": SIMTask, "data": Data, "network": Network, "optimizer": Optimizer}
#: What a file says of points that were given.
_RECORDED = ("count", "dim", "digest", "square", "order_shape")


def shapes(setting: Setting) -> list[tuple[int, ...]]:
    """Shapes of the parameters: every weight, followed by its bias if it has a bias.

    >>> shapes(Setting(SIMTask([1, 2]), network=Network(depth=2, width=5)))
    [(5, 2), (5,), (2, 5), (2,)]
    """
    network, d = setting.network, setting.task.dim
    if network.symmetric:
        return [(d, setting.width)]
    sizes = [d, *[setting.width] * (network.depth - 1), d]
    parameters: list[tuple[int, ...]] = []
    for columns, rows in itertools.pairwise(sizes):
        parameters += [(rows, columns), (rows,)] if network.bias else [(rows, columns)]
    return parameters
