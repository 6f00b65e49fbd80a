"""The paper's own theory figures as settings: caption and code, a and a^2, euler and gd.

The captions of Figs. 5, 8, 9 and 10 and the authors' public scripts differ in some numbers, and all
scripts run with a^2 where the paper has a. Every combination is included and labelled. W(0) is that
of the scripts, shipped with the package.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from importlib import resources
from typing import Any

import numpy as np

from swingby.errors import named
from swingby.theory.initial import Scaled
from swingby.theory.numbers import Floats
from swingby.theory.task import SIMTask
from swingby.verify.compare import compare
from swingby.verify.comparing.comparison import Comparison

#: Label of each shipped case: figure, and whose parameters they are.
_CASES = {
    "fig5_stages": ("Fig. 5", "caption and code"),
    "fig8_triple_caption": ("Fig. 8", "caption"),
    "fig8_triple_as_coded": ("Fig. 8", "code"),
    "fig9_multiple_caption": ("Fig. 9", "caption"),
    "fig9_multiple_as_coded": ("Fig. 9", "code"),
    "fig10_fail": ("Fig. 10", "caption and code"),
}
_SQUARED = "a^2, as in the authors' public code"


@dataclass(frozen=True)
class PaperSetting:
    """One setting of the paper's theory figures.

    `parameters`: whose mu and sigma: ``caption``, ``code`` or both. `rates` in {"a", "a^2"}.
    `dynamics` in {"gd", "euler"}. `W0` (d, d).
    """

    figure: str
    parameters: str
    rates: str
    dynamics: str
    task: SIMTask
    W0: Floats | Scaled
    eta: str
    steps: int | None

    @property
    def title(self) -> str:
        """``Fig. 8 (caption), rates a^2, euler``."""
        return f"{self.figure} ({self.parameters}), rates {self.rates}, {self.dynamics}"

    def compare(self) -> Comparison:
        """Predicted against observed in this setting."""
        return compare(
            self.task,
            self.W0,
            eta=self.eta,
            dynamics=self.dynamics,
            steps=self.steps,
            title=self.title,
        )


def _shipped() -> dict[str, Any]:
    source = resources.files("swingby") / "verify/paper_initial_matrices.json"
    return dict(json.loads(source.read_text(encoding="utf-8"))["cases"])


def _task(case: dict[str, Any]) -> SIMTask:
    """The case's task; Fig. 5 has two concepts in three dimensions."""
    mu = [value for value in case["mu"] if Fraction(value) > 0]
    task = SIMTask(mu, case["sigma"][: len(mu)], len(case["mu"]))
    if len(mu) == len(case["mu"]):
        return task
    spread = [Fraction(value) ** 2 for value in case["sigma"][len(mu) :]]
    note = "a_p = sigma^2 also on free directions, as in the authors' public code"
    return task.with_signal([*task.exact_signal[: len(mu)], *spread], note)


def figure_settings() -> Iterator[PaperSetting]:
    """Figs. 5, 8, 9 and 10 in all their editions."""
    shipped = _shipped()
    for name, (figure, parameters) in _CASES.items():
        case = shipped[name]
        task = _task(case)
        squared = task.with_signal([value**2 for value in task.exact_signal], _SQUARED)
        for rates, rated in (("a", task), ("a^2", squared)):
            for dynamics in ("euler", "gd"):
                yield PaperSetting(
                    figure,
                    parameters,
                    rates,
                    dynamics,
                    rated,
                    np.array(case["W0"]),
                    case["eta"],
                    case["steps"],
                )


def paper_settings() -> Iterator[PaperSetting]:
    """All settings of ``swingby table --paper``.

    After the figures an instance inside the printed assumptions.
    """
    yield from figure_settings()
    task, start = SIMTask.from_signal([4, 1]), Scaled([[2, 1], [1, 2]], "1e-90")
    labels = ("Inside D.1-D.5", "omega = 1e-90, beta = 2", "a")
    for dynamics in ("euler", "gd"):
        yield PaperSetting(*labels, dynamics, task, start, "1/1000", None)


@named
def paper_tables() -> Iterator[Comparison]:
    """Predicted against observed for every setting of the paper, one after the other."""
    for setting in paper_settings():
        yield setting.compare()
