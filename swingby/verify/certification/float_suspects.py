"""Entries on which a run in float64 and a certificate do not agree."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from swingby.verify.certification.certificate import Certificate
from swingby.verify.certification.events import LEVELS

if TYPE_CHECKING:
    from swingby.simulate.result import Run

#: An entry at the end that agrees to this, relative or absolute, is not looked at any closer.
SAME_RELATIVE, SAME_ABSOLUTE = 1e-9, 1e-12


@dataclass
class Suspect:
    """A difference before it is explained: the entry, and the steps that matter."""

    kind: str
    name: str
    entry: tuple[int, int]
    certified: int | None
    found: int | None

    @property
    def is_late(self) -> bool:
        """Whether the run saw it later than it happened, or not at all."""
        if self.found is None or self.certified is None:
            return self.found is None
        return self.certified < self.found

    @property
    def steps(self) -> tuple[int, ...]:
        """The steps at which one of both sees it."""
        return tuple(step for step in (self.certified, self.found) if step is not None)


def suspects(certificate: Certificate, run: Run) -> list[Suspect]:
    """Passages, peaks and the loss of semidefiniteness that differ.

    Only steps that both speak of are compared.
    """
    return [*_passages(certificate, run), *_peaks(certificate, run), *_loss(certificate, run)]


def _passages(certificate: Certificate, run: Run) -> Iterator[Suspect]:
    common = min(certificate.steps, run.last_step)
    for level, value in LEVELS.items():
        for k, one in enumerate(certificate.passages[level]):
            if one is None:
                continue
            seen = float(run.first_reach(float(value))[k])
            found = None if math.isnan(seen) else int(seen)
            # A step that only one of them reached says nothing about the other.
            certified = one.step if one.step is None or one.step <= common else None
            found = found if found is None or found <= common or one.never else None
            if certified != found:
                yield Suspect(level, f"w_{k + 1}{k + 1} reaches {level}", (k, k), certified, found)


def _peaks(certificate: Certificate, run: Run) -> Iterator[Suspect]:
    seen = {(peak.i, peak.j): peak.step for peak in run.peaks}
    for peak in certificate.peaks:
        if peak is None:
            continue
        entry = (peak.i - 1, peak.j - 1)
        # The largest of a longer time is also that of a shorter one that it lies in.
        if peak.step > run.last_step or (seen[entry] > certificate.steps and not peak.for_all_time):
            continue
        if peak.step != seen[entry]:
            yield Suspect("peak", f"peak of w_{peak.i}{peak.j}", entry, peak.step, seen[entry])


def _loss(certificate: Certificate, run: Run) -> Iterator[Suspect]:
    if "psd" in certificate.undecided:
        return
    certified, found = certificate.first_loss, run.psd_lost
    common = min(certificate.steps, run.last_step)
    certified = None if certified is None or certified > common else certified
    found = None if found is None or found > common else found
    if certified != found:
        yield Suspect("psd", "loss of semidefiniteness", (0, 0), certified, found)


def differing_end(certificate: Certificate, run: Run) -> Any:
    """W of the run at the last certified step, if some entry of it is not plainly the same.

    Returns (d, d): None also where the run did not record that step.
    """
    places = [place for place, step in enumerate(run.steps) if step == certificate.steps]
    if not places:
        return None
    W = run.W[places[0]]
    for i, row in enumerate(certificate.end):
        for j, one in enumerate(row):
            if one is not None and not is_same(float(W[i, j]), one.middle):
                return W
    return None


def is_same(number: float, exact: Fraction) -> bool:
    """Whether an entry at the end agrees so well that it is not looked at any closer."""
    if not math.isfinite(number):
        return False
    distance = abs(Fraction(number) - exact)
    return distance <= max(Fraction(SAME_ABSOLUTE), Fraction(SAME_RELATIVE) * abs(exact))
