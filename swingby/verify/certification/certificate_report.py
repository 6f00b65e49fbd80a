"""How a certificate looks as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from swingby.report import Grid
from swingby.theory import numbers
from swingby.verify.certification.enclosure import Enclosure, shown

if TYPE_CHECKING:
    from swingby.verify.certification.certificate import Certificate, Passage

#: Levels beside the half-time, and the head of their columns.
_OTHERS = {"1/10": "0.1", "4/5": "0.8", "99/100": "0.99"}


def certificate_grids(certificate: Certificate) -> tuple[Grid, ...]:
    """Passages, and peaks where there is more than one concept; the second one has the foot."""
    given = [
        f"a = ({', '.join(numbers.scientific(value) for value in certificate.signal)})",
        f"eta = {numbers.scientific(certificate.eta)}",
        certificate.dynamics,
    ]
    rows = []
    for k in range(certificate.dim):
        half = certificate.passages["1/2"][k]
        at = "-" if half is None or half.at is None else shown(half.at)
        cells = [str(k + 1), numbers.scientific(certificate.signal[k]), _time(half), at]
        cells += [_time(certificate.passages[level][k]) for level in _OTHERS]
        rows.append(cells)
    passages = Grid(
        title="Certified run",
        columns=[
            *("concept", ">a", ">half-time", "w_kk there"),
            *(f">{name}" for name in _OTHERS.values()),
        ],
        rows=rows,
        above=[", ".join(given)],
        below=_foot(certificate) if certificate.dim == 1 else (),
    )
    if certificate.dim == 1:
        return (passages,)
    pairs = [
        (i, j) for i in range(1, certificate.dim + 1) for j in range(i + 1, certificate.dim + 1)
    ]
    peaks = Grid(
        title="",
        columns=["entry", ">peak", "w_ij there", "largest for all time"],
        rows=[
            [f"w_{i}{j}", "undecided", "-", "-"]
            if peak is None
            else [
                f"w_{i}{j}",
                str(peak.step),
                shown(peak.value),
                "yes" if peak.for_all_time else "up to the last step",
            ]
            for (i, j), peak in zip(pairs, certificate.peaks, strict=True)
        ],
        below=_foot(certificate),
    )
    return passages, peaks


def event_rows(certificate: Certificate) -> list[tuple[str, str, int | None, str, str]]:
    """One row per event: event, entry, step, lower and upper end of the entry there.

    Returns the step is None where the event does not happen or is undecided.
    """

    def ends(enclosure: Enclosure | None) -> tuple[str, str]:
        return ("", "") if enclosure is None else (enclosure.lower, enclosure.upper)

    rows: list[tuple[str, str, int | None, str, str]] = []
    for level, row in certificate.passages.items():
        for k, one in enumerate(row, 1):
            step, at = (None, None) if one is None else (one.step, one.at)
            rows.append((level, f"w_{k}{k}", step, *ends(at)))
    for peak in certificate.peaks:
        if peak is not None:
            rows.append(("peak", f"w_{peak.i}{peak.j}", peak.step, *ends(peak.value)))
    rows.append(("psd lost", "W", certificate.first_loss, "", ""))
    for away in certificate.runs_away:
        if away is not None:
            rows.append(("runs away", f"w_{away.k}{away.k}", away.step, "", ""))
    found = certificate.converges
    distance = None if found is None else found.distance
    rows.append(("converges", "|W - I|_F", None if found is None else found.step, *ends(distance)))
    return rows


def _time(passage: Passage | None) -> str:
    if passage is None:
        return "undecided"
    if passage.step is None:
        return "never" if passage.never else "-"
    return str(passage.step)


def _foot(certificate: Certificate) -> list[str]:
    lines = [""]
    if "psd" in certificate.undecided:
        lines.append("positive semidefinite: undecided")
    elif certificate.first_loss is None:
        lines.append(f"positive semidefinite up to step {certificate.steps}")
    else:
        lines.append(f"positive semidefinite before step {certificate.first_loss}, and not there")
    for away in certificate.runs_away:
        if away is not None:
            lines.append(
                f"w_{away.k}{away.k} is negative at step {away.step} and tends to minus infinity"
            )
    found = certificate.converges
    if found is not None:
        lines.append(
            f"converges: |W - I|_F = {shown(found.distance)} at step {found.step}, and from there"
            f" on every step shrinks it at least by the factor {numbers.scientific(found.rate, 6)}"
        )
    elif "converges" in certificate.undecided:
        lines.append("convergence to I: undecided")
    else:
        lines.append("convergence to I is not certified")
    if certificate.undecided:
        lines.append(f"undecided: {', '.join(certificate.undecided)}")
    precision = "" if certificate.bits is None else f", decided with {certificate.bits} bits"
    lines.append(f"{certificate.steps} steps{precision}; SHA-256 {certificate.digest[:16]}...")
    return lines
