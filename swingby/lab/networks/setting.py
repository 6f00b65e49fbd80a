"""What is trained on what, and how: one frozen description of a training run, and its clock."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from swingby.errors import MISSING, InvalidInput
from swingby.theory import numbers
from swingby.theory.task import SIMTask, orthogonal

Floats = numbers.Floats
Integers = numbers.Integers
Booleans = numbers.Booleans
Kind = TypeVar("Kind")

ACTIVATIONS = ("linear", "relu", "gelu")
INITIALIZATIONS = ("torch", "gaussian", "uniform")
KINDS = ("sgd", "gd", "adamw")
LOSSES = ("paper", "torch")
SHUFFLES = ("once", "epoch")
PRECISIONS = ("float32", "float64")
#: A typing error should not fill the memory, or run for days.
MOST_LAYERS, WIDEST, MOST_POINTS, MOST_STEPS = 64, 8192, 10_000_000, 100_000_000


def put(to: object, name: str, value: object) -> None:
    """Set a field of a frozen dataclass while it is made."""
    object.__setattr__(to, name, value)


def one_of(value: object, name: str, known: tuple[str, ...]) -> None:
    """Refuse what is not one of some words."""
    if not isinstance(value, str) or value not in known:
        raise InvalidInput(name, value, f"must be {', '.join(known[:-1])} or {known[-1]}")


def instance(value: object, name: str, kind: type) -> None:
    """Refuse what is not of a class."""
    if not isinstance(value, kind):
        word = kind.__name__ if kind.__name__.endswith("s") else f"a {kind.__name__}"
        raise InvalidInput(name, value, f"must be {word}")


def several(values: object, name: str, kind: type[Kind]) -> tuple[Kind, ...]:
    """One member of a class, or some of them, as a tuple."""
    if isinstance(values, kind):
        return (values,)
    if isinstance(values, (str, bytes, dict)) or not isinstance(values, Iterable):
        raise InvalidInput(name, values, f"must be a {kind.__name__} or a sequence of them")
    found = tuple(values)
    if not found:
        raise InvalidInput(name, "nothing", f"must be at least one {kind.__name__}")
    for one in found:
        instance(one, name, kind)
    return found


def some_of(given: object, name: str, known: Collection[str]) -> list[str]:
    """Some of the known words, each once: all for None, or one, or those of a sequence."""
    asked: list[Any] = list(known) if given is None else [given]
    if isinstance(given, Iterable) and not isinstance(given, str):
        asked = list(given)
    for one in asked:
        if not isinstance(one, str) or one not in known:
            raise InvalidInput(name, one, f"must be among {', '.join(known)}")
    return list(dict.fromkeys(asked))


def booleans(of: object, *names: str) -> None:
    """Refuse fields that are neither True nor False."""
    for name in names:
        if not isinstance(getattr(of, name), bool):
            raise InvalidInput(name, getattr(of, name), "must be True or False")


def positive(value: object, name: str, source: str = "") -> float:
    """A positive number as a float."""
    return numbers.within_float(numbers.positive(value, name, source), name, source)


def at_least_zero(value: object, name: str) -> float:
    """A number that is not negative, as a float."""
    given = numbers.exact(value, name)
    if given < 0:
        raise InvalidInput(name, value, "must not be negative")
    return numbers.within_float(given, name)


@dataclass(frozen=True)
class Samples:
    """Points that a user gives: two are equal where their digest is."""

    count: int
    dim: int
    digest: str
    #: Of shapes (N, d), (N, d) and (N,); None where there are none, or only the record was kept.
    X: Floats | None = field(default=None, compare=False, repr=False)
    Y: Floats | None = field(default=None, compare=False, repr=False)
    labels: Integers | None = field(default=None, compare=False, repr=False)
    #: Mean of |y|^2, or of |x|^2 without targets.
    square: float = field(default=math.nan, compare=False, repr=False)


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
    samples : Samples, optional
        Points of one's own in place of all that; see :func:`swingby.lab.networks.read_samples`.
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
            put(self, "n_per_class", count)
        booleans(self, "center_cluster", "rotation")
        if self.truncation is not None:
            put(self, "truncation", positive(self.truncation, "truncation", "App. F.3"))
            if self.infinite:
                needed = "needs training points: n_per_class"
                raise InvalidInput("truncation", self.truncation, needed, "App. F.3")
        put(self, "free_sigma", at_least_zero(self.free_sigma, "free_sigma"))
        if self.samples is not None:
            if not isinstance(self.samples, Samples):
                raise InvalidInput("samples", self.samples, "must come from read_samples")
            if replace(self, samples=None) != Data():
                raise InvalidInput("samples", self.samples, "must come without other fields")

    @property
    def infinite(self) -> bool:
        """Whether only moments are trained on."""
        return self.n_per_class is None


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
            shown = f"depth {self.depth}, bias {self.bias}, {self.activation}"
            required = "is f(x) = U U^T x: depth 2, bias=False, linear"
            raise InvalidInput("symmetric", shown, required, "Sec. 4.2")

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
        :func:`swingby.lab.networks.clock`.
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
            instance(getattr(self, name), name, kind)
        data, network = self.data, self.network
        one_of(self.precision, "precision", PRECISIONS)
        put(self, "seed", numbers.whole(self.seed, "seed", 0, most=2**63))
        if self.epochs is not None and self.steps is not None:
            raise InvalidInput("steps", self.steps, "and epochs exclude each other")
        unknown = self.epochs is None and self.steps is None
        if unknown and (data.infinite or self.optimizer.kind == "gd"):
            reason = "infinite data" if data.infinite else "gd"
            raise InvalidInput("steps", MISSING, f"must be given for {reason}")
        name = "epochs" if self.steps is None else "steps"
        given = 40 if unknown else getattr(self, name)
        put(self, name, numbers.whole(given, name, 0, most=MOST_STEPS))
        if self.total_steps > MOST_STEPS:
            raise InvalidInput("epochs", self.epochs, f"must make at most {MOST_STEPS} steps")
        if data.infinite and not network.linear:
            required = f"(infinite data) needs a linear network, not {network.activation}"
            raise InvalidInput("n_per_class", None, required, "(C.7)")
        if data.infinite and self.optimizer.kind == "sgd":
            raise InvalidInput("kind", "sgd", "must be gd or adamw for infinite data")
        if data.samples is not None:
            if data.samples.dim != self.task.dim:
                shown = f"d = {self.task.dim} and points in {data.samples.dim} dimensions"
                raise InvalidInput("data", shown, "must have as many columns as the task has")
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
        return self.steps if self.steps is not None else (self.epochs or 0) * self.steps_per_epoch

    @property
    def width(self) -> int:
        """Of the hidden layers."""
        return self.network.width or self.task.dim

    def to_dict(self) -> dict[str, Any]:
        """The setting as plain values that JSON can hold; of given points their digest."""
        task, override, turn = self.task, self.task.signal_override, self.task.rotation
        data, samples = asdict(replace(self.data, samples=None)), self.data.samples
        del data["samples"]
        if samples is not None:
            data["samples"] = {name: getattr(samples, name) for name in _RECORDED}
        return {
            "task": {
                "mu": [str(one) for one in task.mu],
                "sigma": [str(one) for one in task.sigma],
                "dim": task.dim,
                "signal": None if override is None else [str(one) for one in override],
                "note": task.note,
                "rotation": None if turn is None else turn.tolist(),
            },
            "data": data,
            "network": asdict(self.network),
            "optimizer": asdict(self.optimizer),
            **{name: getattr(self, name) for name in ("epochs", "steps", "seed", "precision")},
        }

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Setting:
        """The setting that :meth:`to_dict` wrote; given points have to be given again."""
        try:
            given, data = dict(plain["task"]), dict(plain["data"])
            turn = given["rotation"]
            if turn is not None:
                turn = orthogonal(turn, numbers.whole(given["dim"], "dim"))
            task = SIMTask(given["mu"], given["sigma"], given["dim"], rotation=turn)
            if given["signal"] is not None:
                task = task.with_signal(given["signal"], str(given["note"]))
            if data.get("samples") is not None:
                count, dim, digest, square = (data["samples"][name] for name in _RECORDED)
                size = numbers.whole(count, "count", 1, most=MOST_POINTS)
                d, mean = numbers.whole(dim, "dim", 1), at_least_zero(square, "square")
                data["samples"] = Samples(size, d, str(digest), square=mean)
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
_RECORDED = ("count", "dim", "digest", "square")


def shapes(setting: Setting) -> list[tuple[int, ...]]:
    """Shapes of the parameters: every weight, followed by its bias where there is one.

    >>> shapes(Setting(SIMTask([1, 2]), network=Network(depth=2, width=5)))
    [(5, 2), (5,), (2, 5), (2,)]
    """
    network, d = setting.network, setting.task.dim
    if network.symmetric:
        return [(d, setting.width)]
    sizes = [d, *[setting.width] * (network.depth - 1), d]
    found: list[tuple[int, ...]] = []
    for columns, rows in itertools.pairwise(sizes):
        found += [(rows, columns), (rows,)] if network.bias else [(rows, columns)]
    return found


def loss_factor(setting: Setting) -> float:
    r"""The loss that is trained, in units of (2.1): ``mse_loss`` is 2/d times as large.

    Examples
    --------
    >>> loss_factor(Setting(SIMTask([1, 2], dim=64)))
    0.03125
    """
    instance(setting, "setting", Setting)
    return 1.0 if setting.optimizer.loss == "paper" else 2.0 / setting.task.dim


def clock(setting: Setting) -> float:
    r"""Time of the theory that passes in one step of gradient descent.

    With the factor c of :func:`loss_factor`, gradient descent is an Euler step of

    * one layer: :math:`\dot W = (I - W) A`, the time of Theorem 4.1, at c lr;
    * :math:`U U^\top`: (D.2), in which :math:`\dot U = B U`, at eta = 2 c lr, since the loss
      depends on U twice;
    * :math:`W_2 W_1` with :math:`W_1^\top = W_2 = U`: again :math:`\dot U = B U`, at eta = c lr,
      if :math:`U U^\top` is diagonal. Otherwise :math:`W_1^\top` and :math:`W_2` part by terms of
      order :math:`(U U^\top)^2`, and the clock is that of their growth while they are small.

    Deeper networks have no such clock: while small they grow by powers of themselves.

    Returns
    -------
    float
        eta of one step.

    Raises
    ------
    InvalidInput
        For a network of depth 3 or more, an activation, or an optimizer other than plain
        gradient descent.

    References
    ----------
    (2.1), (4.1), Theorem 4.1, (D.2).

    Examples
    --------
    >>> U = Network(depth=2, bias=False, symmetric=True)
    >>> task, steps = SIMTask([1, 2], dim=64), Optimizer(lr=0.5, loss="paper")
    >>> [clock(Setting(task, network=one, optimizer=steps)) for one in (Network(), U, Network(2))]
    [0.5, 1.0, 0.5]
    >>> clock(Setting(task, optimizer=Optimizer(lr=0.5, loss="torch")))
    0.015625
    """
    instance(setting, "setting", Setting)
    network = setting.network
    if network.depth > 2 or not network.linear:
        shown = f"depth {network.depth}, {network.activation}"
        required = "must be linear with one or two layers to run on the clock of the theory"
        raise InvalidInput("network", shown, required, "(D.2)")
    if setting.optimizer.kind == "adamw":
        raise InvalidInput("kind", "adamw", "must be sgd or gd to run on the clock of the theory")
    return rate_of(setting)


def rate_of(setting: Setting) -> float:
    """:func:`clock`, whatever the network: that of two layers for deeper ones."""
    rate = setting.optimizer.lr * loss_factor(setting)
    return 2.0 * rate if setting.network.symmetric else rate
