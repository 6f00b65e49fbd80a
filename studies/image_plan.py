"""The plan of an image study, before its data: what is trained and predicted, by which rules.

A plan is a TOML file. Its digest goes into everything that is made for it, so a plan that was
edited after data exist does not fit them, and is refused.
"""

from __future__ import annotations

import itertools
import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from studies.plan import PLANS
from swingby.errors import InvalidInput
from swingby.lab.diffusion.circles import CONCEPTS
from swingby.lab.diffusion.course import ImageCell
from swingby.lab.diffusion.preset import OPTIMIZERS, TINY, Preset, preset_of, with_fields
from swingby.lab.diffusion.signals import RATES
from swingby.lab.field_checks import (
    at_least_zero,
    instance,
    members_of,
    one_of,
    positive,
    set_field,
)
from swingby.lab.networks.checkpoint import identity
from swingby.theory import numbers
from swingby.theory.input_files import plain_toml, text_of

#: Raised whenever a plan means something else.
_PLAN_VERSION = 1
FACTORS = ("separation", "contrast", "gain")
#: What can be predicted, see :mod:`studies.image_judgement`.
_KINDS_OF_PREDICTION = ("sooner", "times", "order", "bend", "composed")
_MOST_RUNS = 10_000


@dataclass(frozen=True)
class Prediction:
    """One prediction: its kind, and the concept, factor and signal it is about (empty: none)."""

    says: str
    kind: str
    concept: str = ""
    factor: str = ""
    signal: str = ""

    def __post_init__(self) -> None:
        one_of(self.kind, "kind", _KINDS_OF_PREDICTION)
        if not isinstance(self.says, str) or not self.says.strip() or "\n" in self.says:
            raise InvalidInput("says", self.says, "must be a sentence")
        of_times = self.kind in ("sooner", "times")
        about = {
            "concept": CONCEPTS if of_times else ("",),
            "factor": FACTORS if of_times else ("",),
            "signal": RATES if self.kind in ("times", "order", "bend") else ("",),
        }
        for name, allowed in about.items():
            value = getattr(self, name)
            if value not in allowed:
                words = ", ".join(allowed) if allowed != ("",) else "left out"
                raise InvalidInput(name, value, f"must be {words} for {self.kind!r}")


@dataclass(frozen=True)
class PlannedOptimizer:
    """An optimizer of a plan with its numbers."""

    name: str
    learning_rate: float
    weight_decay: float = 0.0
    momentum: float = 0.0

    def __post_init__(self) -> None:
        one_of(self.name, "optimizer", OPTIMIZERS)


@dataclass(frozen=True)
class Plan:
    """A factorial study: every level of each factor with every level of the others."""

    name: str
    #: Sizes; gains are multiplied by those of a cell, the optimizer is replaced.
    preset: Preset
    #: Levels, rising: the difference of the radii, that of the colours, and the factor of the
    #: gains with which the network reads its condition.
    separation: tuple[float, ...]
    contrast: tuple[float, ...]
    gain: tuple[float, ...]
    optimizers: tuple[PlannedOptimizer, ...]
    #: Runs of each cell. Every run of the study has a seed of its own, so runs are independent.
    seeds: int
    first_seed: int
    #: What is predicted for runs has to come true in such a share of them
    #: (:func:`swingby.theory.share.reaches`).
    share: float
    #: A predicted time, ratio of times, or signal is exact up to this factor.
    within: float
    predictions: tuple[Prediction, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.isidentifier():
            raise InvalidInput("name", self.name, "must be a word")
        instance(self.preset, "preset", Preset)
        for name in FACTORS:
            levels = getattr(self, name)
            if not isinstance(levels, (tuple, list)) or not levels:
                raise InvalidInput(name, levels, "must be one level or more")
            floats = tuple(positive(level, name) for level in levels)
            if any(b <= a for a, b in itertools.pairwise(floats)):
                raise InvalidInput(name, levels, "must rise")
            set_field(self, name, floats)
        set_field(self, "optimizers", members_of(self.optimizers, "optimizers", PlannedOptimizer))
        set_field(self, "predictions", members_of(self.predictions, "predictions", Prediction))
        names = [optimizer.name for optimizer in self.optimizers]
        if len(set(names)) < len(names):
            raise InvalidInput("optimizers", names, "must be one or more, each once")
        set_field(self, "seeds", numbers.whole(self.seeds, "seeds", 1, most=_MOST_RUNS))
        set_field(self, "first_seed", numbers.whole(self.first_seed, "first_seed", 0, most=2**53))
        set_field(self, "share", at_least_zero(self.share, "share"))
        if not 0 < self.share < 1:
            raise InvalidInput("share", self.share, "must lie between 0 and 1")
        set_field(self, "within", positive(self.within, "within"))
        if not self.within > 1:
            raise InvalidInput("within", self.within, "must be larger than 1")
        if len(set(self.predictions)) < len(self.predictions):
            raise InvalidInput("predictions", self.predictions, "must be one or more, each once")
        if len(self.jobs) > _MOST_RUNS:
            raise InvalidInput("seeds", self.seeds, f"make more than {_MOST_RUNS} runs")
        for cell in self.cells:
            self.preset_of(cell)

    @property
    def cells(self) -> tuple[ImageCell, ...]:
        """All combinations of levels, optimizers outermost."""
        names = [optimizer.name for optimizer in self.optimizers]
        combinations = itertools.product(names, self.separation, self.contrast, self.gain)
        return tuple(
            ImageCell(separation, contrast, gain, name)
            for name, separation, contrast, gain in combinations
        )

    @property
    def jobs(self) -> tuple[tuple[ImageCell, int], ...]:
        """All runs, cell and seed. Seeds take turns, so that an unfinished study is balanced."""
        cells = self.cells
        return tuple(
            (cell, self.first_seed + k * self.seeds + turn)
            for turn in range(self.seeds)
            for k, cell in enumerate(cells)
        )

    def preset_of(self, cell: ImageCell) -> Preset:
        """The preset that is trained in a cell."""
        instance(cell, "cell", ImageCell)
        chosen = {optimizer.name: optimizer for optimizer in self.optimizers}.get(cell.optimizer)
        if chosen is None:
            raise InvalidInput("cell", cell, "must have an optimizer of the plan")
        gain = tuple(cell.gain * factor for factor in self.preset.layout.gain)
        return replace(
            self.preset,
            layout=replace(self.preset.layout, gain=gain),
            optimizer=chosen.name,
            learning_rate=chosen.learning_rate,
            weight_decay=chosen.weight_decay,
            momentum=chosen.momentum,
        )

    @property
    def digest(self) -> str:
        """Sixteen hexadecimal digits that stand for the content of the plan."""
        return identity(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain values that JSON and TOML can hold."""
        fields = json.loads(json.dumps(asdict(self)))
        fields["predictions"] = [
            {name: value for name, value in prediction.items() if value}
            for prediction in fields["predictions"]
        ]
        return {"swingby_plan": _PLAN_VERSION, **fields}

    @classmethod
    def from_dict(cls, plain: object) -> Plan:
        """The plan that :meth:`to_dict` wrote; InvalidInput for anything else."""
        fields = with_fields(("swingby_plan", *cls.__dataclass_fields__), "plan", plain)
        version = fields.pop("swingby_plan")
        if version != _PLAN_VERSION:
            raise InvalidInput("swingby_plan", version, f"must be {_PLAN_VERSION}")
        fields["preset"] = Preset.from_dict(fields["preset"])
        for name, kind, needed in (
            ("optimizers", PlannedOptimizer, ("name", "learning_rate")),
            ("predictions", Prediction, ("says", "kind")),
        ):
            if not isinstance(fields[name], list):
                raise InvalidInput(name, fields[name], "must be tables")
            fields[name] = tuple(
                kind(**with_fields(kind.__dataclass_fields__, name, table, needed))
                for table in fields[name]
            )
        return cls(**fields)

    def to_toml(self) -> str:
        """The plan as text, with a comment on what it takes to change it."""
        fields = self.to_dict()
        preset = fields.pop("preset")
        layout = preset.pop("layout")
        tables = {name: fields.pop(name) for name in ("optimizers", "predictions")}
        # A JSON string, number, truth value or list of them is one in TOML.
        lines = [
            "# Write the plan before there are data: a study refuses a plan that was edited since."
        ]
        lines += _toml(fields)
        lines += ["", "[preset]", *_toml(preset), "", "[preset.layout]", *_toml(layout)]
        for name, rows in tables.items():
            for row in rows:
                lines += ["", f"[[{name}]]", *_toml(row)]
        return "\n".join(lines) + "\n"

    @classmethod
    def load(cls, path: str | Path) -> Plan:
        """Read a plan file; InvalidInput for anything else."""
        text = text_of(path, "plan", "plan in TOML")
        try:
            fields = plain_toml(text, float)
        except ValueError as error:
            raise InvalidInput("plan", path, f"must be TOML ({error})") from None
        return cls.from_dict(fields)


def _toml(plain: dict[str, Any]) -> list[str]:
    return [f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in plain.items()]


def default_plan(size: str = "small") -> Plan:
    """The factorial study of the documentation, or the same at another size.

    "small" takes an hour on two cores, "tiny" shows in a minute that everything works, and "paper"
    has the network of the paper.

    >>> plan = default_plan()
    >>> len(plan.cells), len(plan.jobs), len(plan.predictions)
    (16, 80, 25)
    """
    preset = preset_of(size)
    return Plan(
        "factorial",
        preset,
        separation=(0.2, 0.4),
        contrast=(0.3, 0.75),
        gain=(0.4, 1.0),
        optimizers=(
            PlannedOptimizer("sgd", _SGD_RATE, momentum=0.9),
            PlannedOptimizer("adamw", preset.learning_rate, preset.weight_decay),
        ),
        seeds=1 if size == TINY.name else 5,
        first_seed=1000,
        share=0.75,
        within=1.25,
        predictions=_predictions(),
    )


def recorded_plan(path: str | Path | None = None) -> Plan:
    """The plan of the study in the documentation, as it was written before there were data.

    `path`: its file, by default the one in the folder ``studies``.
    """
    return Plan.load(PLANS / "diffusion.toml" if path is None else path)


#: Learning rate of gradient descent with momentum 0.9: of 0.3, 0.1, 0.03 and 0.01, a pilot with
#: another seed diverged with the first two, and its loss fell fastest with the last.
_SGD_RATE = 0.01


def _predictions() -> tuple[Prediction, ...]:
    """Each concept by itself against its own signal, then both against each other."""
    factor_of = {"colour": "contrast", "size": "separation"}
    signals = {
        "registered": "the signal of the images",
        "condition": "the second moment of the condition",
        "covariance": "the covariance of condition and image",
    }
    rows: list[tuple[str, ...]] = [
        (f"{concept} is learned sooner at the larger {factor}", "sooner", concept, factor)
        for concept, factor in factor_of.items()
    ]
    for concept, factor in itertools.product(CONCEPTS, FACTORS):
        for signal, words in signals.items():
            says = f"times of {concept} go with the inverse of {words} as the {factor} changes"
            rows.append((says, "times", concept, factor, signal))
    first = "the concept with the larger signal is learned first"
    rows += [(f"{first}: {signal}", "order", "", "", signal) for signal in signals]
    bend = "the held-out path bends to the concept with the larger signal"
    rows.append((bend, "bend", "", "", "registered"))
    rows.append(("most images of the held-out class are circles of it in the end", "composed"))
    return tuple(Prediction(*row) for row in rows)
