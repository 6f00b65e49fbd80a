"""The law of linear networks on any data against training, as a plain loop and as torch's SGD.

Run with ``python -m benchmarks.networks_law``. Every cell is a kind of network, of data and of
training; its networks are drawn, predicted, and trained on their samples by a loop that shares
nothing with the law (``tests/verify/plain_networks.py``). Rates are lr times the multiple of the
loss times the largest singular value of K. Times are processor times of one thread.
"""

from __future__ import annotations

import argparse
import math
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from swingby.report import Grid
from swingby.theory.verdict import Verdict, within_bar
from swingby.verify.network_schedule import NetworkSchedule
from swingby.verify.predict_network import predict_network
from tests.verify.plain_networks import draw, largest_rate, multiple_of, trained


@dataclass(frozen=True)
class LawCell:
    """Networks of a kind: what differs from the base."""

    name: str
    rate: float = 0.02
    momentum: float = 0.0
    nesterov: bool = False
    #: In units of the largest singular value of K, times the multiple of the loss.
    decay: float = 0.0
    loss: str = "half"
    data: dict[str, Any] = field(default_factory=dict)


def _three(name: str, scale: float = 0.1, width: int = 5, **options: Any) -> LawCell:
    return LawCell(f"L3 {name}", data={"widths": (5, width, width, 3), "scale": scale}, **options)


CELLS = (
    LawCell("base"),
    LawCell("rate .002", rate=0.002),
    LawCell("rate .2", rate=0.2),
    *(LawCell(f"scale {scale:g}", data={"scale": scale}) for scale in (0.1, 1e-4, 1e-6, 1e-8)),
    *(LawCell(f"condition {c:g}", data={"condition": c}) for c in (1.0, 100.0)),
    LawCell("5-2-3", data={"widths": (5, 2, 3)}),
    LawCell("5-40-3", data={"widths": (5, 40, 3)}),
    LawCell("3-8-6", data={"widths": (3, 8, 6)}),
    LawCell("p 30, n 20", data={"widths": (30, 8, 3), "n": 20}),
    LawCell("sum", loss="sum"),
    *(LawCell(f"decay {wd:g}", decay=wd) for wd in (0.01, 0.03, 0.1, 0.3)),
    *(LawCell(f"m {m:g}", momentum=m) for m in (0.5, 0.9, 0.95)),
    LawCell("m .9, rate .002", momentum=0.9, rate=0.002),
    LawCell("m .9, rate .2", momentum=0.9, rate=0.2),
    LawCell("m .95, rate .2", momentum=0.95, rate=0.2),
    LawCell("m .9, rate .002, scale 1e-8", momentum=0.9, rate=0.002, data={"scale": 1e-8}),
    LawCell("Nesterov .5, rate .002", momentum=0.5, nesterov=True, rate=0.002),
    LawCell("Nesterov .9", momentum=0.9, nesterov=True),
    LawCell("Nesterov .95, rate .2", momentum=0.95, nesterov=True, rate=0.2),
    LawCell("m .9, decay .1, mse", momentum=0.9, decay=0.1, loss="mse"),
    LawCell("Nesterov .9, decay .1, sum", momentum=0.9, nesterov=True, decay=0.1, loss="sum"),
    _three("scale .1"),
    _three("scale .3, rate .002", 0.3, rate=0.002),
    _three("scale .1, rate .2", rate=0.2),
    _three("scale .01", 0.01),
    _three("width 2", width=2),
    _three("width 40", width=40),
    _three("decay .02", decay=0.02),
    _three("m .9", momentum=0.9),
    _three("Nesterov .9, scale .03", 0.03, momentum=0.9, nesterov=True),
    _three("m .95, rate .1, decay .01", rate=0.1, momentum=0.95, decay=0.01),
)
#: Three and four layers, wide and small: the wait grows as a power of 1/scale.
DEEP = tuple(
    LawCell(
        f"{'-'.join(map(str, widths))}, scale {scale:g}", data={"widths": widths, "scale": scale}
    )
    for widths, scales in (
        ((5, 40, 40, 3), (0.1, 1e-2, 1e-3)),
        ((20, 64, 64, 10), (0.1, 1e-2, 1e-3)),
        ((8, 32, 32, 32, 4), (0.1, 3e-2, 1e-2)),
    )
    for scale in scales
)
#: Trained in float32, whose rounding the bars have to know.
SHORT = (
    LawCell("float32, base"),
    LawCell("float32, scale 1e-4", data={"scale": 1e-4}),
    _three("float32, scale .1"),
    LawCell("float32, rate .002, scale 1e-4", rate=0.002, data={"scale": 1e-4}),
    LawCell("float32, scale 1e-6", data={"scale": 1e-6}),
    LawCell("float32, scale 1e-8", data={"scale": 1e-8}),
)
#: Size of batches, whether they are drawn with replacement, and the rest.
BATCHES = (
    (10, True, LawCell("base")),
    (10, True, LawCell("noise 1", data={"noise": 1.0})),
    (1, True, LawCell("base")),
    (10, True, LawCell("rate .1", rate=0.1)),
    (10, True, LawCell("scale 1e-4", data={"scale": 1e-4})),
    (10, True, LawCell("m .9, rate .002", momentum=0.9, rate=0.002)),
    (10, True, LawCell("m .9", momentum=0.9)),
    (10, True, LawCell("m .95, rate .1", momentum=0.95, rate=0.1)),
    (10, True, LawCell("Nesterov .9", momentum=0.9, nesterov=True)),
    (10, True, _three("scale .1")),
    (10, False, LawCell("base")),
    (10, False, LawCell("m .9", momentum=0.9)),
    (30, False, LawCell("m .95, rate .1", momentum=0.95, rate=0.1)),
    (30, False, LawCell("base")),
    (70, False, LawCell("base")),
    (10, False, LawCell("n 1000", data={"n": 1000})),
    (10, False, _three("scale .1")),
    (10, False, LawCell("noise 1", data={"noise": 1.0})),
    (1, False, LawCell("base")),
)
#: Orders of the samples that each network is trained in.
ORDERS = 30


@dataclass(frozen=True)
class LawRun:
    """A network of a cell: its data and layers, its training, its prediction and its cost."""

    network: tuple[np.ndarray, np.ndarray, list[np.ndarray]]
    lr: float
    decay: float
    schedule: NetworkSchedule
    seconds: float


def predicted(
    cell: LawCell, runs: int, seed: int, short: bool = False, **more: Any
) -> list[LawRun]:
    """Networks of a cell with their predictions."""
    rng = np.random.default_rng([seed, *cell.name.encode()])
    results = []
    for _ in range(runs):
        X, Y, layers = draw(rng, **cell.data)
        top, n = largest_rate(X, Y), more.get("batch", len(X))
        lr = cell.rate / top / multiple_of(cell.loss, n, Y.shape[1])
        decay = cell.decay * top * multiple_of(cell.loss, n, Y.shape[1])
        layers = [layer.astype(np.float32) for layer in layers] if short else layers
        started = time.process_time()
        schedule = predict_network(
            layers,
            X=X,
            Y=Y,
            lr=lr,
            momentum=cell.momentum,
            nesterov=cell.nesterov,
            weight_decay=decay,
            loss=cell.loss,
            **more,
        )
        seconds = time.process_time() - started
        results.append(LawRun((X, Y, layers), lr, decay, schedule, seconds))
    return results


def observed(cell: LawCell, group: list[LawRun], dtype: Any = np.float64) -> tuple[Any, int]:
    """Half-times of the plain loop, and the step at which it ended."""
    times = np.concatenate([run.schedule.half_times for run in group])
    last = int(3 * times[np.isfinite(times)].max(initial=700)) + 50
    half_times, _ = trained(
        [run.network for run in group],
        [run.lr for run in group],
        last,
        loss=cell.loss,
        momentum=cell.momentum,
        nesterov=cell.nesterov,
        decays=[run.decay for run in group],
        dtype=dtype,
    )
    return half_times, last


def torch_half_times(cell: LawCell, run: LawRun, steps: int) -> np.ndarray:
    """Half-times under torch.optim.SGD, in float64."""
    import torch

    from tests.verify.plain_networks import components, levels

    X, Y, layers = run.network
    parts, inputs, targets = components(X, Y), torch.tensor(X), torch.tensor(Y)
    model = torch.nn.Sequential(
        *(torch.nn.Linear(w.shape[1], w.shape[0], bias=False).double() for w in layers)
    )
    with torch.no_grad():
        for module, weight in zip(model, layers, strict=True):
            module.weight.copy_(torch.tensor(weight))
    optimizer = torch.optim.SGD(
        model.parameters(),
        lr=run.lr,
        momentum=cell.momentum,
        nesterov=cell.nesterov,
        weight_decay=run.decay,
    )
    losses = {
        "half": lambda out: ((out - targets) ** 2).sum() / (2 * len(X)),
        "mse": lambda out: torch.nn.functional.mse_loss(out, targets),
        "sum": lambda out: torch.nn.functional.mse_loss(out, targets, reduction="sum"),
    }
    half_times = np.full(len(parts[2]), np.nan)
    for step in range(steps + 1):
        a = levels(X, [module.weight.detach().numpy() for module in model], parts)
        half_times[np.isnan(half_times) & (a >= 0.5)] = step
        if not np.isnan(half_times).any():
            break
        optimizer.zero_grad()
        losses[cell.loss](model(inputs)).backward()
        optimizer.step()
    return half_times


@dataclass(frozen=True)
class Score:
    """How the predictions of a cell compare with training."""

    half_times: int
    longest: float
    exact: int
    outside: int
    worst: float
    bar: float
    never: int
    wrong: int
    undecided: int
    milliseconds: np.ndarray

    def cells(self) -> list[str]:
        """As in the table."""
        exact = f"{100 * self.exact / max(self.half_times, 1):.4g}"
        never = f"{self.never} ({self.wrong})" if self.never else "0"
        middle, high = np.median(self.milliseconds), self.milliseconds.max()
        return [
            str(self.half_times),
            f"{self.longest:.0f}",
            exact,
            f"{self.worst:.0f}",
            str(self.outside),
            f"{self.bar:.3f}",
            never,
            str(self.undecided),
            f"{middle:.0f} / {high:.0f}",
        ]


def score(group: list[LawRun], half_times: np.ndarray, last: int) -> Score:
    """Predictions of a cell against half-times of its training."""
    told = np.stack([run.schedule.half_times for run in group])
    crossing = np.stack([run.schedule.crossing for run in group])
    error = np.stack([run.schedule.error for run in group])
    finite = np.isfinite(told)
    inside = [
        within_bar(*bar, last) == Verdict.HOLDS
        for bar in zip(crossing[finite], error[finite], half_times[finite], strict=True)
    ]
    off = np.abs(told - half_times)[finite]
    return Score(
        half_times=int(finite.sum()),
        longest=float(told[finite].max(initial=0)),
        exact=int((off == 0).sum()),
        outside=len(inside) - sum(inside),
        worst=float(np.nanmax(off, initial=0)),
        bar=float(np.median(error[finite])) if finite.any() else math.nan,
        never=int(np.isinf(told).sum()),
        wrong=int((np.isinf(told) & ~np.isnan(half_times)).sum()),
        undecided=int(np.isnan(told).sum()),
        milliseconds=np.array([1e3 * run.seconds for run in group]),
    )


_COLUMNS = ["cell", ">half-times", ">longest", ">exact %", ">worst", ">outside", ">bar, steps"]
_COLUMNS += [">never (wrong)", ">undecided", ">ms median / worst"]


def table(cells: tuple[LawCell, ...], runs: int, seed: int, short: bool = False) -> Grid:
    """A row for each cell, and one for all."""
    scores, rows = [], []
    for cell in cells:
        group = predicted(cell, runs, seed, short)
        scores.append(score(group, *observed(cell, group, np.float32 if short else np.float64)))
        rows.append([cell.name, *scores[-1].cells()])
        print(*rows[-1], sep=" | ", flush=True)
    half_times = sum(entry.half_times for entry in scores)
    exact = sum(entry.exact for entry in scores)
    times = np.concatenate([entry.milliseconds for entry in scores])
    below = [
        f"{exact} of {half_times} half-times at the right step ({exact / half_times:.2%}), "
        f"{sum(entry.outside for entry in scores)} outside their bars; "
        f"never: {sum(entry.never for entry in scores)}, wrong "
        f"{sum(entry.wrong for entry in scores)}; "
        f"undecided {sum(entry.undecided for entry in scores)}; "
        f"a prediction: {np.median(times):.0f} ms median, {times.max():.0f} ms at worst"
    ]
    return Grid(f"The law of networks, {runs} a row", _COLUMNS, rows, below=below)


def against_torch(runs: int, seed: int) -> Grid:
    """A few networks of cells of every kind against torch.optim.SGD."""
    rows = []
    names = ("base", "m 0.9", "Nesterov .9", "m .9, decay .1, mse", "Nesterov .9, decay .1, sum")
    for cell in CELLS:
        if cell.name not in (*names, "L3 scale .1", "5-2-3"):
            continue
        right = total = 0
        for run in predicted(cell, runs, seed):
            told = run.schedule.half_times
            last = int(1.5 * told[np.isfinite(told)].max(initial=300))
            seen = torch_half_times(cell, run, last)
            right += int((np.where(np.isinf(told), np.nan, told) == seen).sum())
            right += int((np.isinf(told) & np.isnan(seen)).sum())
            total += len(told)
        rows.append([cell.name, f"{right} of {total}"])
    return Grid(f"torch.optim.SGD, {runs} a row", ["cell", ">right step or never"], rows)


def in_batches(runs: int, seed: int, name: str = "") -> Grid:
    """Bars of minibatches against trainings in many orders of the samples."""
    rows = []
    for size, replacement, cell in BATCHES:
        kind = "replacement" if replacement else "reshuffled"
        if name not in f"{cell.name}, {size} {kind}":
            continue
        ratios, covered, late, undecided = [], [], [], 0
        group = predicted(cell, runs, seed, batch=size, replacement=replacement)
        for number, run in enumerate(group):
            X = run.network[0]
            rng = np.random.default_rng([seed, number, 1])
            last = int(1.5 * run.schedule.half_times.max()) + 200
            seen = np.stack(
                [
                    trained(
                        [run.network],
                        [run.lr],
                        last,
                        loss=cell.loss,
                        momentum=cell.momentum,
                        nesterov=cell.nesterov,
                        batches=orders(rng, len(X), size, replacement),
                    )[0][0]
                    for _ in range(ORDERS)
                ]
            )
            decided = np.isfinite(run.schedule.error)
            seen = seen[:, decided]
            crossing, error = run.schedule.crossing[decided], run.schedule.error[decided]
            undecided += int((~decided).sum())
            covered.append((np.abs(seen - 0.5 - crossing) <= error + 0.5).ravel())
            late.extend((np.nanmean(seen, axis=0) - 0.5 - crossing)[-1:])
            ratios.append(np.nanstd(seen, axis=0) / np.maximum(error / 2, 0.3))
        flat = np.concatenate(ratios)
        rows.append(
            [
                f"{cell.name}, {size} of {len(X)}, {kind}",
                f"{np.median(flat):.2f} ({flat.min():.2f} to {flat.max():.2f})",
                f"{np.mean(np.concatenate(covered)):.1%}",
                f"{np.mean(late):.1f}",
                f"{undecided}",
            ]
        )
        print(*rows[-1], sep=" | ", flush=True)
    columns = ["cell", ">deviation, seen / told", ">in bars", ">mean late, last mode"]
    columns.append(">undecided")
    return Grid(f"Minibatches, {runs} networks x {ORDERS} orders a row", columns, rows)


def orders(rng: np.random.Generator, n: int, size: int, replacement: bool) -> Any:
    """Rows of the batch at a step."""
    current: list[np.ndarray] = []

    def rows(step: int) -> np.ndarray:
        if replacement:
            return rng.integers(0, n, size)
        if not current:
            order = rng.permutation(n)
            current.extend(order[i : i + size] for i in range(0, n, size))
            current.reverse()
        return current.pop()

    return rows


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=20)
    options.add_argument("--seed", type=int, default=11)
    options.add_argument("--cell", help="cells whose name has this in it")
    options.add_argument("--torch", action="store_true", help="a few against torch.optim.SGD")
    options.add_argument("--batches", action="store_true", help="bars of minibatches")
    options.add_argument("--float32", action="store_true", help="trained in float32")
    options.add_argument("--deep", action="store_true", help="wide ones of three and four layers")
    chosen = options.parse_args()
    if chosen.torch:
        print(against_torch(chosen.runs, chosen.seed).to_text())
    elif chosen.batches:
        print(in_batches(chosen.runs, chosen.seed, chosen.cell or "").to_text(width=140))
    else:
        cells = SHORT if chosen.float32 else DEEP if chosen.deep else CELLS
        if chosen.cell:
            cells = tuple(cell for cell in cells if chosen.cell in cell.name)
        print(table(cells, chosen.runs, chosen.seed, chosen.float32).to_text(width=160))
