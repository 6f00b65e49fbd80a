"""What is trained on what, and how: one frozen description of a training run."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any

from swingby.errors import MISSING, InvalidInput
from swingby.theory import numbers
from swingby.theory.task import SIMTask, orthogonal
from swingby.training.fields import one_of, put
from swingby.training.parts import Data, Network, Optimizer

PRECISIONS = ("float32", "float64")
#: A typing error should not run for days.
MOST_STEPS = 100_000_000


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
        one_of(self.precision, "precision", PRECISIONS)
        put(self, "seed", numbers.whole(self.seed, "seed", 0, most=2**63))
        if self.epochs is not None and self.steps is not None:
            raise InvalidInput("steps", self.steps, "and epochs exclude each other")
        if self.steps is None:
            whole = self.data.n_per_class is None or self.optimizer.kind == "gd"
            if self.epochs is None and whole:
                reason = "gd" if self.data.n_per_class else "infinite data"
                raise InvalidInput("steps", MISSING, f"must be given for {reason}")
            given = 40 if self.epochs is None else self.epochs
            put(self, "epochs", numbers.whole(given, "epochs", 0, most=MOST_STEPS))
        else:
            put(self, "steps", numbers.whole(self.steps, "steps", 0, most=MOST_STEPS))
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
    def second_moment(self) -> float:
        """Mean of |x|^2 over the data (2.1): the sum of all a_k, those of no concept included."""
        free = (self.task.dim - self.task.s) * self.data.free_sigma**2
        spread = sum(float(one) ** 2 for one in self.task.sigma)
        means = sum(float(one) ** 2 for one in self.task.mu) / self.clusters
        if self.task.signal_override is not None:
            return float(sum(map(float, self.task.signal)))
        return spread + means + free

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
            "rotation": None if self.task.rotation is None else self.task.rotation.tolist(),
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
            turn = given["rotation"]
            if turn is not None:
                turn = orthogonal(turn, numbers.whole(given["dim"], "dim"))
            task = SIMTask(given["mu"], given["sigma"], given["dim"], rotation=turn)
            if given["signal"] is not None:
                task = task.with_signal(given["signal"], str(given["note"]))
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
