"""Do ranges from omega hold what they promise? Shares never learned, and coverage, against runs.

Run with ``python -m benchmarks.ranges``. The simulator is a NumPy loop of its own: (D.2), gradient
descent on U and the flow (by Runge-Kutta) from Gaussian U(0). For every concept the table has the
share of the starts that never learn it beside the predicted one, and the share of half-times
within the predicted 5 % to 95 % range. A range that ends with *never* holds 95 % of the starts, any
other 90 %.
"""

from __future__ import annotations

import argparse

import numpy as np

from swingby.report import Grid
from swingby.report.number_text import steps_text
from swingby.theory.gaussian import share_text
from swingby.theory.share import Share, share_of
from swingby.verify.predict import predict

#: Signal, width, eta and omega: from well separated to nearly tied, from small to not so small.
SETTINGS = (
    ((4, 1), 2, 0.01, 1e-8),
    ((4, 1), 2, 0.00025, 1e-4),
    ((2, 1.9), 2, 0.01, 1e-4),
    ((3, 1), 8, 0.03, 1e-2),
    ((5, 4), 3, 0.005, 1e-6),
    ((4, 2, 1), 3, 0.0125, 1e-4),
    ((4, 2, 1), 3, 0.025, 1e-2),
    ((1.615, 0.7525, 0.3358), 3, 0.01, 1e-6),
    ((3, 2.8, 2.7), 5, 0.01, 1e-3),
    ((9, 3, 1), 4, 0.001, 1e-5),
    ((8, 4, 2, 1), 4, 0.00625, 1e-6),
    ((4, 3, 2, 1), 6, 0.01, 1e-3),
)
DYNAMICS = ("euler", "gd", "flow")


def observed_half_times(
    signal: tuple[float, ...],
    width: int,
    eta: float,
    omega: float,
    dynamics: str,
    starts: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """Half-times of Gaussian starts in steps, shape (starts, d), inf where never.

    The first whole step at 1/2 of a map; the crossing itself of the flow.
    """
    a, d = np.array(signal, dtype=float), len(signal)
    U = rng.standard_normal((starts, d, width)) * np.sqrt(omega / width)
    W, times = U @ U.swapaxes(1, 2), np.full((starts, d), np.inf)
    # The flow is followed on U, in small steps: an error in W would take small pivots away.
    parts = max(1, round(20 * eta * a.max()))

    def field(V: np.ndarray, W: np.ndarray) -> np.ndarray:
        return a[:, None] * V - (a[:, None] * W + W * a) / 2 @ V

    def slope(V: np.ndarray) -> np.ndarray:
        return field(V, V @ V.swapaxes(1, 2))

    before = W.diagonal(axis1=1, axis2=2)
    for step in range(int((25 - np.log(omega)) / np.log1p(2 * eta * a.min()))):
        if dynamics == "euler":
            change = field(W, W)
            W = W + eta * (change + change.swapaxes(1, 2))
        elif dynamics == "gd":
            U = U + eta * field(U, W)
        for _ in range(parts if dynamics == "flow" else 0):
            h = eta / parts
            one = slope(U)
            two = slope(U + h / 2 * one)
            three = slope(U + h / 2 * two)
            U = U + h / 6 * (one + 2 * two + 2 * three + slope(U + h * three))
        if dynamics != "euler":
            W = U @ U.swapaxes(1, 2)
        level = W.diagonal(axis1=1, axis2=2)
        passage = (0.5 - before) / (level - before) if dynamics == "flow" else 1 + 0 * level
        new = (np.maximum(level, before) >= 0.5) & np.isinf(times)
        times[new] = np.where(before >= 0.5, step, step + passage)[new]
        before = level
        if (np.isfinite(times).all(axis=1) | ~np.isfinite(W).all(axis=(1, 2))).all():
            break
    return times


def rows_of(
    signal: tuple[float, ...],
    width: int,
    eta: float,
    omega: float,
    dynamics: str,
    starts: int,
    seed: int,
) -> list[dict[str, object]]:
    """For each concept: the share never learned and the share in the range, by law and by runs."""
    rng = np.random.default_rng(seed)
    with np.errstate(all="ignore"):
        times = observed_half_times(signal, width, eta, omega, dynamics, starts, rng)
    schedule = predict(list(signal), omega=omega, width=width, eta=eta, dynamics=dynamics)
    low, high = schedule.spread
    rows: list[dict[str, object]] = []
    for k in range(len(signal)):
        rows.append(
            {
                "never": float(schedule.never[k]),
                "seen": share_of(np.isinf(times[:, k])),
                "inside": share_of((times[:, k] >= low[k]) & (times[:, k] <= high[k])),
                "promised": 0.95 if np.isinf(high[k]) else 0.9,
                "range": (float(low[k]), float(high[k])),
                "basis": schedule.gaussian.basis if schedule.gaussian else "",
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--starts", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    cells, right, total, pooled = [], 0, 0, {0.9: [0, 0], 0.95: [0, 0]}
    for signal, width, eta, omega in SETTINGS:
        for dynamics in DYNAMICS:
            rows = rows_of(signal, width, eta, omega, dynamics, options.starts, options.seed)
            for k, row in enumerate(rows):
                seen, inside = row["seen"], row["inside"]
                assert isinstance(seen, Share)
                assert isinstance(inside, Share)
                right += seen.low <= row["never"] <= seen.high  # type: ignore[operator]
                total += 1
                pooled[row["promised"]][0] += inside.count  # type: ignore[index]
                pooled[row["promised"]][1] += inside.total  # type: ignore[index]
                low, high = row["range"]  # type: ignore[misc]
                cells.append(
                    {
                        "a": str(signal) if k == 0 and dynamics == "euler" else "",
                        "omega": f"{omega:g}" if k == 0 else "",
                        "dynamics": dynamics if k == 0 else "",
                        "concept": k + 1,
                        ">never": share_text(row["never"]),  # type: ignore[arg-type]
                        ">seen": f"{seen.value:.3f} [{seen.low:.3f}, {seen.high:.3f}]",
                        ">range": f"{steps_text(low, 0)} to {steps_text(high, 0)}",
                        ">inside": f"{inside.value:.3f}",
                        "by the": str(row["basis"]) if k == 0 else "",
                    }
                )
    below = [f"never within its 95 % interval: {right} of {total}"]
    below += [
        f"ranges of {promised:.0%} hold {Share(*counts)}" for promised, counts in pooled.items()
    ]
    values = [list(cell.values()) for cell in cells]
    print(Grid("Ranges from omega", list(cells[0]), values, below=["", *below]).to_text(width=160))


if __name__ == "__main__":
    main()
