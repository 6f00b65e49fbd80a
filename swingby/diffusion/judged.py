"""A study with the theory's verdict: what was learned when, the signals, and the judgement."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.diffusion.circles import CONCEPTS, HELD_OUT
from swingby.diffusion.judging.judge import judge
from swingby.diffusion.judging.judgement import Judgement
from swingby.diffusion.judging.observed import Observed, observe
from swingby.diffusion.judging.signal_flip import Flip, find_flip
from swingby.diffusion.learning import learning_times
from swingby.diffusion.signals import measure
from swingby.diffusion.study import Study
from swingby.errors import InvalidInput
from swingby.theory.verdict import Verdict

if TYPE_CHECKING:
    from swingby.report import Grid

#: Of the images that signals are measured from.
_RNG = 0


@dataclass(frozen=True)
class JudgedStudy:
    """Courses of training, and what they say of the theory.

    Parameters
    ----------
    study : Study
    judgement : Judgement
    flip : Flip
        The contrast at which the theory expects the order of learning to turn.
    """

    study: Study
    judgement: Judgement
    flip: Flip

    @property
    def exit_code(self) -> int:
        """0 where every prediction holds, 1 where some fail, 3 where some are open."""
        counts = self.judgement.counts
        if counts[Verdict.FAILS]:
            return 1
        return 3 if counts[Verdict.UNDECIDED] else 0

    def to_courses_grid(self) -> Grid:
        """A row per contrast: when concepts were learned, how paths bent, how training ended.

        Returns
        -------
        swingby.report.Grid
        """
        from swingby.report import Grid

        rows = [self._row(one) for one in self.study.preset.contrasts if self.study.at(one)]
        preset = self.study.preset
        columns = (
            ">contrast", ">seeds", *(f">{one} learned" for one in CONCEPTS),
            *(f">{one} held out" for one in CONCEPTS), ">bend", ">rise", ">accuracy",
            ">least", ">classifier",
        )  # fmt: skip
        below = (
            "learned: step from which on the response of the trained classes stays above 1/2, mean"
            " over seeds (least to most); held out: at the held-out corner",
            "bend: of the held-out path, +1 colour first and then size, -1 the other way round;"
            " rise: of the concept error, at saves picked by the other seeds",
            f"accuracy: of {preset.generated_images} images of the held-out class after"
            f" {preset.steps} steps, both concepts right: mean over seeds, and the least",
        )
        return Grid(f"Preset {preset.name}: courses", columns, rows, below=below)

    def _row(self, contrast: float) -> list[str]:
        courses = self.study.at(contrast)
        seen: Observed = observe(courses)
        final = [float(one.right[-1, HELD_OUT]) for one in courses]
        cells = [f"{contrast:g}", str(len(courses))]
        for corner in ("trained", "held out"):
            times = np.array([learning_times(one, corner).times for one in courses])
            cells += [_spread(column) for column in times.T]
        cells += [_mean(seen.bend), _mean(seen.rise), f"{np.mean(final):.3f}", f"{min(final):.3f}"]
        return [*cells, f"{self.study.accuracy[contrast]:.4f}"]

    def to_text(self, *, width: int | None = None, color: bool = False) -> str:
        """The three tables for a terminal.

        Parameters
        ----------
        width : int, optional
        color : bool

        Returns
        -------
        str
        """
        return "\n\n".join(one.to_text(width=width, color=color) for one in self._grids())

    def to_markdown(self) -> str:
        """The three tables as Markdown."""
        return "\n\n".join(one.to_markdown() for one in self._grids())

    def _grids(self) -> tuple[Grid, Grid, Grid]:
        return (
            self.to_courses_grid(), self.judgement.to_signals_grid(), self.judgement.to_grid(),
        )  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON.

        Returns
        -------
        dict
        """
        known = math.isfinite(self.flip.contrast)
        return {
            "study": self.study.to_dict(),
            "judgement": self.judgement.to_dict(),
            "flip": {
                "contrast": self.flip.contrast if known else None,
                "error": self.flip.error if known else None,
                "representation": self.flip.representation,
            },
        }

    def __str__(self) -> str:
        return self.to_text(width=140)

    def _repr_html_(self) -> str:
        return "\n".join(one.to_html() for one in self._grids())


def judged_study(
    study: Study, representation: str = "registered", *, corner: str = "trained"
) -> JudgedStudy:
    """Measure the signals of a study's images and judge the theory by its courses.

    Parameters
    ----------
    study : Study
    representation : {"registered", "pixels", "condition", "covariance"}
        Of the signals, see :mod:`swingby.diffusion.signals`.
    corner : {"trained", "held out"}
        Whose responses tell when a concept is learned.

    Returns
    -------
    JudgedStudy

    Raises
    ------
    InvalidInput
        Also for a study without courses.

    References
    ----------
    Sec. 5.
    """
    if not isinstance(study, Study):
        raise InvalidInput("study", study, "must be a Study")
    if not study.courses:
        raise InvalidInput("study", study.preset.name, "must have courses")
    contrasts = [one for one in study.preset.contrasts if study.at(one)]
    preset, gain = study.preset, study.preset.layout.gain
    signals = [
        measure(preset.circles(one), representation, gain=gain, rng=_RNG) for one in contrasts
    ]
    flip = find_flip(representation, gain=gain, pixels=preset.pixels, rng=_RNG)
    return JudgedStudy(study, judge(study.courses, signals, flip=flip, corner=corner), flip)


def _spread(values: Any) -> str:
    """Mean, least and most."""
    if not np.isfinite(values).all():
        return f"never in {int(np.isinf(values).sum())}"
    if len(values) == 1:
        return f"{values[0]:.0f}"
    return f"{values.mean():.0f} ({values.min():.0f} to {values.max():.0f})"


def _mean(values: Any) -> str:
    known = values[np.isfinite(values)]
    return f"{known.mean():.2f}" if known.size else "-"
