"""Pictures of the studies of networks: half-times as predicted, and what transients do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from studies.network_tables import transient_by_dimension
from studies.survival import expect, fitted, standard_cells, tail
from swingby.lab.networks import Data, Network, Optimizer, Setting, train
from swingby.report.picture_style import COLORS, styled
from swingby.report.pictures import new_figure
from swingby.theory.task import SIMTask

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHOWN = {
    "U U^T, small": "$UU^T$",
    "W2 W1, small": "$W_2W_1$, small",
    "W2 W1, torch": "$W_2W_1$, torch default",
    "depth 3, small": "depth 3, small",
    "ReLU 2, small": "ReLU, small",
    "ReLU 2, torch": "ReLU, torch default",
}


def draw(folder: Path, seed: int) -> None:
    """Draw both pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    with styled():
        figure = new_figure(8.4, 5.2)
        cells = {cell.name: cell for cell in standard_cells(seed=seed, runs=100)}
        for k, (name, title) in enumerate(SHOWN.items()):
            _half_times(figure.add_subplot(2, 3, k + 1), cells[name], title)
        figure.savefig(folder / "networks.png", dpi=160)
        figure = new_figure(8.4, 3.2)
        left, right = figure.subplots(1, 2)
        _tails(left)
        _widths(right, seed)
        figure.savefig(folder / "transients.png", dpi=160)


def _half_times(ax: Axes, cell: Any, title: str) -> None:
    expected = expect(cell.settings)
    run = train(cell.settings, record=cell.setting.total_steps)
    usable = (np.isfinite(expected.half_times) & (expected.half_times > 0)).all(axis=1)
    said, seen = expected.half_times[usable], run.jacobian_half_times[usable]
    scale, _ = fitted(said, seen)
    said = scale * said
    marks = ("o", "s", "^")
    order = np.argsort(-cell.setting.task.signal[: cell.setting.task.s])
    for rank, k in enumerate(order):
        known = np.isfinite(seen[:, k]) & np.isfinite(said[:, k]) & (said[:, k] > 0)
        ax.plot(
            said[known, k],
            seen[known, k],
            marks[rank],
            ms=3,
            alpha=0.5,
            mew=0,
            color=COLORS[rank],
            label=f"concept {k + 1}",
        )
    both = np.concatenate([seen[np.isfinite(seen)], said[np.isfinite(said) & (said > 0)]])
    ends = (0.8 * max(both.min(), 1.0), 1.25 * both.max())
    ax.plot(ends, ends, color="black", lw=0.7, zorder=0)
    ax.set(xscale="log", yscale="log", xlim=ends, ylim=ends)
    _plain_ticks(ax, "xy")
    ax.set_title(f"{title}, factor {scale:.2f}")
    ax.set_xlabel("predicted half-time, fitted (steps)")
    ax.set_ylabel("observed (steps)")
    if title == SHOWN["U U^T, small"]:
        ax.legend(loc="lower right", markerscale=1.4)


def _plain_ticks(ax: Axes, which: str) -> None:
    """Ticks 1, 2, 5, 10, ... as plain numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    for name in which:
        axis = ax.xaxis if name == "x" else ax.yaxis
        low, high = axis.get_view_interval()
        subs = (1.0, 2.0, 5.0) if high / low < 200 else (1.0,)
        axis.set_major_locator(LogLocator(subs=subs))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _tails(ax: Axes) -> None:
    """The two entries of a pair in W2 W1, and the one of U U^T, from the same U(0)."""
    task, lr = SIMTask.from_signal([4, 1]), 0.005
    U = 1e-3 * np.array([[1.0, 0.3], [0.6, 0.9]])
    layers = Network(2, 2, bias=False)
    base = Setting(
        task,
        Data(None),
        layers,
        Optimizer("gd", lr=lr, loss="paper"),
        steps=1600,
        precision="float64",
    )
    plain = train(base, start=[U.T, U])
    own = replace(layers, symmetric=True)
    half = replace(base.optimizer, lr=lr / 2)
    model = train(replace(base, network=own, optimizer=half), start=[U])
    time = plain.steps * lr
    ax.semilogy(time, plain.jacobian[0, :, 0, 1], color=COLORS[1], label="$w_{12}$ of $W_2W_1$")
    ax.semilogy(
        time, plain.jacobian[0, :, 1, 0], "--", color=COLORS[1], label="$w_{21}$ of $W_2W_1$"
    )
    ax.semilogy(time, model.jacobian[0, :, 0, 1], color=COLORS[0], label="$w_{12}$ of $UU^T$")
    rate, _ = tail(4.0, 1.0)
    begin = 2.6
    at = int(begin / lr)
    line = time[at : at + 500]
    for slope, start in ((rate, plain.jacobian[0, at, 0, 1]), (1.5, model.jacobian[0, at, 0, 1])):
        ax.semilogy(line, 1.25 * start * np.exp(-slope * (line - begin)), ":", color="0.35", lw=1.1)
    ax.plot([], [], ":", color="0.35", label="predicted rate")
    ax.set(xlabel="eta times steps", ylabel="minor entry", ylim=(1e-5, 0.2), xlim=(0, 6))
    ax.set_title("One pair, signals 4 and 1, same $U(0)$")
    ax.legend(loc="upper left", fontsize=7)


def _widths(ax: Axes, seed: int) -> None:
    widths = (2, 3, 4, 6, 8, 16, 32)
    for place, (d, mark) in enumerate(((2, "o"), (8, "s"))):
        chosen = [(d, width) for width in widths if width >= 2]
        found = transient_by_dimension(chosen, runs=300, seed=seed + place)
        sizes = np.array([one.sizes for one in found])
        moved = np.array(widths) * (0.97 + 0.06 * place)
        ax.errorbar(
            moved,
            sizes[:, 1],
            yerr=np.abs(sizes[:, [0, 2]] - sizes[:, [1]]).T,
            fmt=mark,
            ms=4,
            lw=0.8,
            color=COLORS[place],
            label=f"trained, d = {d}",
        )
    theory = np.array([one.theory_sizes for one in found])
    ax.plot(widths, theory[:, 1], color="black", lw=1.0, label="law: median")
    ax.fill_between(widths, theory[:, 0], theory[:, 2], color="0.85", label="law: quartiles")
    ax.set(xscale="log", yscale="log", xlabel="width d'", ylabel="largest minor entry")
    ax.set_xticks(widths, [str(one) for one in widths])
    ax.minorticks_off()
    _plain_ticks(ax, "y")
    ax.set_title("Transients of $UU^T$, omega = 0.001")
    ax.legend(loc="lower left")
