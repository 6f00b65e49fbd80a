"""Linear networks on any data, trained by torch's SGD, against the general law and its rivals.

Inputs are correlated and targets those of a linear teacher with noise. Beside the law stand what
says when without integrating the training: the leading order (each mode grows as if nothing were
learned), the staircase of alternating gradient flows (what is unlearned grows in the residual of
what is learned, which is learned at once), and the growth that was measured, extrapolated. Networks
without a law are watched, and their coarse copies described.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from studies.law_errors import groups
from studies.plan import Plan
from studies.study import (
    Numbers,
    Study,
    crossed,
    plain_numbers,
    plain_rows,
    recorded_rows,
    rows_of_shares,
)
from swingby.lab.figures.evidence import Kind
from swingby.lab.networks.samples import read_samples
from swingby.lab.networks.setting import Data, Floats, Network, Optimizer, Setting
from swingby.lab.networks.training import train
from swingby.theory.linear_modes import LinearModes
from swingby.theory.share import share_of
from swingby.theory.task import SIMTask
from swingby.theory.verdict import Verdict, within_bar
from swingby.verify.network_schedule import NetworkSchedule
from swingby.verify.predict_network import predict_network

#: Condition of the inputs' covariance.
CONDITION = 4.0
#: What baselines and copies are held to, and the share from which growth is extrapolated.
BASELINE, COPY, GROWN = 0.1, 0.02, 0.05
#: Steps that watched networks are trained for, and the part of them that copies may cost.
WATCHED, SHARE = 1200, 0.35


@dataclass(frozen=True)
class ChainRun:
    """A trained chain: data, layers, prediction, and what was observed."""

    X: Floats
    Y: Floats
    layers: list[Floats]
    rule: dict[str, Any]
    schedule: NetworkSchedule
    #: Steps of half-times, nan where there are none up to the last step; and a_k, (n, m).
    half_times: Floats
    levels: Floats
    last: int


def _data(plan: Plan, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Correlated inputs and targets of a teacher."""
    falls = np.array(plan["teacher"])
    d, n = len(falls), plan["points"]
    turns = [np.linalg.qr(rng.standard_normal((d, d)))[0] for _ in range(3)]
    spread = np.sqrt(np.geomspace(1, 1 / CONDITION, d))
    X = rng.standard_normal((n, d)) * spread @ turns[0].T
    noise = plan["noise"] * rng.standard_normal((n, d))
    return X, X @ (turns[1] * falls) @ turns[2].T + noise


def chains(plan: Plan, cell: Mapping[str, Any], runs: int) -> list[ChainRun]:
    """Chains of a cell, predicted, and trained for a quarter longer than is predicted."""
    # By name and seed alone, so that a cell does not depend on those before it.
    rng = np.random.default_rng([plan["seed"], *cell["name"].encode()])
    d, depth, batch = len(plan["teacher"]), cell.get("depth", 2), cell.get("batch")
    widths = [d, *[plan["width"]] * (depth - 1), d]
    drawn = []
    for _ in range(runs):
        X, Y = _data(plan, rng)
        shapes = itertools.pairwise(widths)
        layers = [cell["scale"] * rng.standard_normal((high, wide)) for wide, high in shapes]
        largest = np.linalg.norm(Y.T @ X / len(X), 2)
        rule = {"lr": cell.get("rate", 0.05) / largest}
        rule["weight_decay"] = cell.get("decay", 0.0) * largest
        rule |= {name: cell[name] for name in ("momentum", "nesterov") if name in cell}
        batches = {} if batch is None else {"batch": batch, "replacement": True}
        drawn.append((X, Y, layers, rule, predict_network(layers, X=X, Y=Y, **rule, **batches)))
    trained: dict[int, ChainRun] = {}
    for chosen, steps in groups([run[-1].half_times for run in drawn]):
        settings = []
        for k in chosen:
            X, Y, _, rule, _ = drawn[k]
            order = None if batch is None else rng.integers(0, len(X), (steps, batch))
            optimizer = Optimizer("gd" if batch is None else "sgd", loss="paper", **rule)
            settings.append(
                Setting(
                    SIMTask.from_signal([1.0] * d),
                    Data(samples=read_samples(X, Y, order=order)),
                    Network(depth, plan["width"], bias=False),
                    optimizer,
                    steps=steps,
                    precision="float64",
                )
            )
        run = train(settings, start=[drawn[k][2] for k in chosen], record="every")
        for k, W in zip(chosen, run.jacobian, strict=True):
            levels = drawn[k][-1].modes.levels(W)
            learned = levels >= 0.5
            half_times = np.where(learned.any(axis=0), learned.argmax(axis=0), math.nan)
            trained[k] = ChainRun(*drawn[k], half_times, levels, steps)
    return [trained[k] for k in range(runs)]


def _inside(run: ChainRun, other: ChainRun, which: slice = slice(None)) -> bool:
    """Whether half-times of a run lie within the bars of another."""
    bars = zip(other.schedule.crossing, other.schedule.error, run.half_times, strict=True)
    return all(within_bar(*bar, run.last) == Verdict.HOLDS for bar in [*bars][which])


def _to_the_step(run: ChainRun, other: ChainRun) -> bool:
    told = other.schedule.half_times
    return bool((np.where(told > run.last, math.inf, told) == _or_never(run)).all())


def _or_never(run: ChainRun) -> Floats:
    return np.where(np.isnan(run.half_times), math.inf, run.half_times)


def _ordered(run: ChainRun, other: ChainRun) -> bool:
    """Whether modes that were learned came in an order, and are those that should be."""
    order, times = list(other.schedule.order), _or_never(run)
    known = len(order) == int(np.isfinite(times).sum())
    return known and bool((np.diff(times[order]) >= 0).all())


def _near(run: ChainRun, told: Floats) -> bool:
    """Whether half-times are as told to the tolerance of a baseline."""
    observed = _or_never(run)
    finite = np.isfinite(observed)
    if (np.isfinite(told) != finite).any():
        return False
    return bool((np.abs(told[finite] - observed[finite]) <= BASELINE * observed[finite]).all())


def leading_order(run: ChainRun) -> Floats:
    """Half-times of two layers if nothing were learned: W2 and W1 grow linearly, by K alone."""
    first, last = run.layers
    modes = run.schedule.modes
    growth = _Growth(run, modes.K, first, last)
    return np.array([growth.time_to_half(modes, k) for k in range(len(modes.sigma))])


def alternating_flows(run: ChainRun) -> Floats:
    """Half-times of two layers, one mode at a time, in the residual of those learned before."""
    modes, (first, last) = run.schedule.modes, run.layers
    times, now = np.full(len(modes.sigma), math.inf), 0.0
    for _ in times:
        waiting = np.flatnonzero(np.isinf(times))
        residual = (modes.outputs[waiting].T * modes.sigma[waiting]) @ modes.inputs[waiting]
        growth = _Growth(run, residual, first, last)
        waits = [growth.time_to_half(modes, int(k)) for k in waiting]
        if not np.isfinite(min(waits)):
            break
        k, wait = waiting[int(np.argmin(waits))], min(waits)
        now += wait
        times[k] = now
        first, last = growth.layers(wait)
        # The hidden direction of what is learned is at rest.
        hidden = last.T @ modes.outputs[k]
        hidden /= np.linalg.norm(hidden)
        first, last = (
            first - np.outer(hidden, hidden @ first),
            last - np.outer(last @ hidden, hidden),
        )
    return times


class _Growth:
    """Two layers that grow linearly: W1' = W2^T K, W2' = K W1^T, and decay."""

    def __init__(self, run: ChainRun, K: Floats, first: Floats, last: Floats) -> None:
        rule = run.rule
        self.pace, self.decay = rule["lr"] / (1 - rule.get("momentum", 0.0)), rule["weight_decay"]
        u, self.rates, self.v = np.linalg.svd(K)
        self.u, self.x, self.y = u, first @ self.v.T, last.T @ u

    def layers(self, t: float) -> tuple[Floats, Floats]:
        """W1 and W2 after t steps."""
        angle, less = self.rates * self.pace * t, math.exp(-self.decay * self.pace * t)
        x = less * (np.cosh(angle) * self.x + np.sinh(angle) * self.y)
        y = less * (np.cosh(angle) * self.y + np.sinh(angle) * self.x)
        return x @ self.v, self.u @ y.T

    def time_to_half(self, modes: LinearModes, k: int) -> float:
        """Steps until a_k is 1/2; inf where it does not grow to that."""
        from scipy.optimize import brentq

        def short(t: float) -> float:
            first, last = self.layers(t)
            return float(modes.levels(last @ first)[k]) - 0.5

        fastest = (self.rates[0] - self.decay) * self.pace
        grid = np.linspace(0, 60 / fastest, 400) if fastest > 0 else np.zeros(1)
        above = np.flatnonzero(np.array([short(t) for t in grid]) >= 0)
        if not above.size:
            return math.inf
        end = int(above[0])
        return float(brentq(short, grid[end - 1], grid[end])) if end else 0.0


def extrapolated(run: ChainRun) -> tuple[Floats, Floats]:
    """Half-times of growth of the logit measured up to a = 0.05, and when that is; inf for none."""
    told = np.full(len(run.half_times), math.inf)
    begun = np.zeros(len(told))
    for k, half in enumerate(run.half_times):
        a = run.levels[: int(half) if np.isfinite(half) else None, k]
        grown = np.flatnonzero(a < GROWN)
        at = min(int(grown[-1]) + 1, len(a) - 1) if grown.size else 0
        before = np.flatnonzero(a[:at] <= GROWN / 2)
        if before.size and a[at] > a[before[-1]]:
            start = int(before[-1])
            low, high = (math.log(max(value, 1e-12) / (1 - value)) for value in (a[start], a[at]))
            told[k], begun[k] = at - high * (at - start) / (high - low), at
    return told, begun


def _chain_rows(cell: Mapping[str, Any], runs: list[ChainRun]) -> list[Any]:
    """Rows of the law and of its rivals."""
    pairs = list(itertools.product(runs, runs))

    def table(good: Any) -> Floats:
        return np.array([good(*pair) for pair in pairs]).reshape(len(runs), len(runs))

    name, batched = cell["name"], "batch" in cell
    if batched:
        m = len(runs[0].half_times)
        kind = Kind.LAW
        numbered = {id(run): k % m for k, run in enumerate(runs)}
        tables = {
            "a half-time within its bar": table(
                lambda run, other: _inside(
                    run, other, slice(numbered[id(run)], numbered[id(run)] + 1)
                )
            )
        }
    else:
        kind = Kind.NUMERICS
        tables = {
            "half-times within their bars": table(_inside),
            "half-times to the step": table(_to_the_step),
            "order": table(_ordered),
        }
    rows = _judged(name, kind, tables)
    if batched:
        return rows
    rivals = {}
    if len(runs[0].layers) == 2:
        for words, rival in (
            ("leading order to 10%", leading_order),
            ("staircase of alternating flows (AGF) to 10%", alternating_flows),
        ):
            told = {id(run): rival(run) for run in runs}
            rivals[words] = table(lambda run, other, told=told: _near(run, told[id(other)]))
    rows += _judged(name, Kind.LAW, rivals)
    grown = {id(run): extrapolated(run) for run in runs}

    def errors(run: ChainRun, other: ChainRun) -> Floats:
        """Of the time left, for what is learned."""
        half, (told, _), (_, begun) = run.half_times, grown[id(other)], grown[id(run)]
        learned = np.isfinite(half)
        return np.asarray((np.abs(told - half) / np.maximum(half - begun, 1))[learned])

    words = "growth from a = 0.05 extrapolated, time left to 10%"
    good = {words: table(lambda run, other: bool((errors(run, other) <= BASELINE).all()))}
    median = np.median(np.concatenate([errors(run, run) for run in runs]))
    note = f"median error of the time left {100 * median:.0f} %"
    return rows + [{**row, "note": note} for row in _judged(name, Kind.LAW, good)]


def _judged(name: str, kind: Kind, tables: Mapping[str, Floats]) -> list[Any]:
    """Rows of tables of pairs: on the diagonal runs as predicted, beside it as for others."""
    shares = {words: share_of(np.diagonal(good)) for words, good in tables.items()}
    controls = {words: crossed(good) for words, good in tables.items()}
    return plain_rows(rows_of_shares("chains", name, kind, shares, controls))


def watched(plan: Plan, cell: Mapping[str, Any], runs: int) -> list[tuple[Any, Floats]]:
    """The first forecast of copies and the steps at which components were learned, of each run."""
    import torch

    import swingby
    from swingby.simulate.on_torch import torch_defaults

    rng = np.random.default_rng([plan["seed"], *cell["name"].encode()])
    results = []
    with torch_defaults():
        for _ in range(runs):
            X, Y = (torch.tensor(entry) for entry in _data(plan, rng))
            generator = torch.Generator().manual_seed(int(rng.integers(2**31)))
            d, width = len(plan["teacher"]), 4 * plan["width"]
            activation = getattr(torch.nn, cell["activation"])()
            model = torch.nn.Sequential(
                torch.nn.Linear(d, width), activation, torch.nn.Linear(width, d)
            ).double()
            with torch.no_grad():
                for entry in model.parameters():
                    size = cell["scale"] / math.sqrt(entry.shape[-1]) if entry.ndim > 1 else 0.0
                    entry.normal_(0, size, generator=generator) if size else entry.zero_()
            kind = torch.optim.Adam if cell["name"].endswith("Adam") else torch.optim.SGD
            optimizer = kind(model.parameters(), lr=cell["lr"])
            with swingby.watch(model, optimizer, X, Y, steps=WATCHED, share=SHARE) as watch:
                while watch.step < WATCHED and np.isnan(watch.learned).any():
                    optimizer.zero_grad()
                    torch.nn.functional.mse_loss(model(X), Y).backward()
                    optimizer.step()
            results.append((watch.forecasts[0], watch.learned))
    return results


def _copy_rows(cell: Mapping[str, Any], results: list[tuple[Any, Floats]]) -> list[Any]:
    """Rows that describe copies, which are no theory."""

    def good(forecast: Any, learned: Floats, near: bool) -> bool:
        # Copies that end too early say nothing.
        which = forecast.compared(learned)
        off = np.abs(forecast.half_times - learned) <= COPY * learned
        right = off if near else forecast.inside(learned)
        return bool(which.sum() > 1 and right[which].all())

    tables = {
        words: np.array(
            [[good(other, learned, near) for other, _ in results] for _, learned in results]
        )
        for words, near in (
            ("forecasts of copies within their bars", False),
            ("forecasts of copies to 2%", True),
        )
    }
    return _judged(cell["name"], Kind.DESCRIPTION, tables)


def _cells(plan: Plan) -> Mapping[str, Any]:
    return {cell["name"]: (plan, cell) for cell in plan["cells"]}


def _measure(job: tuple[Plan, Mapping[str, Any]]) -> list[Any]:
    plan, cell = job
    if "activation" in cell:
        return _copy_rows(cell, watched(plan, cell, cell["runs"]))
    return _chain_rows(cell, chains(plan, cell, cell["runs"]))


def _canary(plan: Plan) -> Numbers:
    _, cell = _cells(plan)[plan["canary"]]
    runs = chains(plan, cell, plan["canary_runs"])
    return {
        "crossing": plain_numbers([run.schedule.crossing for run in runs]),
        "leading": plain_numbers([leading_order(run) for run in runs]),
        "alternating": plain_numbers([alternating_flows(run) for run in runs]),
        "observed": plain_numbers([run.half_times for run in runs]),
    }


STUDY = Study(
    "linear networks on any data against the general law, and what else says when",
    _cells,
    _measure,
    _canary,
    recorded_rows,
)
