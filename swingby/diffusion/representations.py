"""Which signals foretell the order: a study judged with those of several representations."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from swingby.diffusion.judged import JudgedStudy, judged_study
from swingby.diffusion.judging.report import interval_text
from swingby.diffusion.signals import REPRESENTATIONS
from swingby.diffusion.study import Study
from swingby.errors import InvalidInput
from swingby.theory.verdict import Verdict
from swingby.training.fields import one_of

if TYPE_CHECKING:
    import pandas as pd

    from swingby.report import Grid


@dataclass(frozen=True)
class Representations:
    """Studies judged with the signals of several representations.

    Parameters
    ----------
    judged : tuple of JudgedStudy
        For each study, one for each representation.
    """

    judged: tuple[JudgedStudy, ...]

    def of(self, study: str, representation: str) -> JudgedStudy:
        """One judgement.

        Parameters
        ----------
        study : str
            Name of its preset.
        representation : str

        Returns
        -------
        JudgedStudy

        Raises
        ------
        InvalidInput
            If there is none.
        """
        for one in self.judged:
            if (one.study.preset.name, one.flip.representation) == (study, representation):
                return one
        raise InvalidInput("study", (study, representation), "must be one that was judged")

    def to_grid(self) -> Grid:
        """A row per study and representation.

        Returns
        -------
        swingby.report.Grid
        """
        from swingby.report import Grid

        columns = (
            "study", "signals", ">flip", ">observed [95 %]", "", ">slope [95 %]", ">orders",
        )  # fmt: skip
        rows, gains = [], {}
        for one in self.judged:
            flip, slope = one.judgement.of("flip"), one.judgement.of("ratio")
            name = one.study.preset.name
            gains[name] = " ".join(f"{gain:g}" for gain in one.study.preset.layout.gain)
            rows.append(
                [
                    name,
                    one.flip.representation,
                    flip.predicted,
                    interval_text(flip),
                    flip.verdict.value,
                    interval_text(slope),
                    "/".join(str(self._orders(one)[verdict]) for verdict in Verdict),
                ]
            )
        below = (
            "gains of radius, red, green and blue in the condition: "
            + "; ".join(f"{name} {values}" for name, values in gains.items()),
            "flip: contrast at which the order of learning turns, predicted and observed; slope: of"
            " log(t size / t colour) over log(a colour / a size), 1 in the theory",
            "orders: contrasts whose order is as predicted / against / open",
        )
        return Grid("Which signals foretell the order", columns, rows, below=below)

    @staticmethod
    def _orders(one: JudgedStudy) -> dict[Verdict, int]:
        found = [row.verdict for row in one.judgement.rows if row.prediction == "order"]
        return {name: found.count(name) for name in Verdict}

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON.

        Returns
        -------
        dict
        """
        return {"rows": list(self._rows())}

    def _rows(self) -> Iterator[dict[str, Any]]:
        for one in self.judged:
            row: dict[str, Any] = {
                "study": one.study.preset.name,
                "gain": list(one.study.preset.layout.gain),
                "representation": one.flip.representation,
                "flip_predicted": _plain(one.flip.contrast),
            }
            for name, found in (("flip", "flip"), ("slope", "ratio")):
                seen = one.judgement.of(found)
                row |= {
                    f"{name}_observed": _plain(seen.observed),
                    f"{name}_low": _plain(seen.low),
                    f"{name}_high": _plain(seen.high),
                    f"{name}_verdict": seen.verdict.value,
                }
            row |= {f"orders_{name.value}": count for name, count in self._orders(one).items()}
            yield row

    def to_frame(self) -> pd.DataFrame:
        """A row per study and representation.

        Returns
        -------
        pandas.DataFrame
        """
        import pandas as pd

        return pd.DataFrame(list(self._rows()))

    def to_text(self, *, width: int | None = None, color: bool = False) -> str:
        """The table for a terminal.

        Parameters
        ----------
        width : int, optional
        color : bool

        Returns
        -------
        str
        """
        return self.to_grid().to_text(width=width, color=color)

    def to_markdown(self) -> str:
        """The table as Markdown."""
        return self.to_grid().to_markdown()

    def to_latex(self) -> str:
        """The table as LaTeX (booktabs)."""
        return self.to_grid().to_latex()

    def __str__(self) -> str:
        return self.to_text(width=140)

    def _repr_html_(self) -> str:
        return self.to_grid().to_html()


def compare_representations(
    *studies: Study,
    representations: Sequence[str] = ("registered", "condition", "covariance"),
    corner: str = "trained",
) -> Representations:
    """Judge studies with the signals of several representations, side by side.

    Which signal is the right one is not for the outcome to say: with several to choose from, one
    may fit by chance. Studies that differ in the gains of their conditions tell them apart, as the
    signals of images do not depend on gains.

    Parameters
    ----------
    *studies : Study
        With presets of different names.
    representations : sequence of str
        Of signals, see :mod:`swingby.diffusion.signals`; ``"pixels"`` takes half a minute for a
        study, and says much the same as ``"registered"``.
    corner : {"trained", "held out"}
        As in :func:`swingby.diffusion.judged.judged_study`.

    Returns
    -------
    Representations

    Raises
    ------
    InvalidInput
    """
    if not studies or not all(isinstance(one, Study) for one in studies):
        raise InvalidInput("studies", studies, "must be one Study or more")
    names = [one.preset.name for one in studies]
    if len(set(names)) < len(names):
        raise InvalidInput("studies", names, "must have presets of different names")
    if isinstance(representations, str) or not representations:
        raise InvalidInput("representations", representations, "must be one name or more")
    for one in representations:
        one_of(one, "representations", REPRESENTATIONS)
    return Representations(
        tuple(
            judged_study(study, representation, corner=corner)
            for study in studies
            for representation in representations
        )
    )


def _plain(value: float) -> float | None:
    return value if math.isfinite(value) else None
