"""How right `swingby.watch` is: torch trainings of many styles, forecasts against what came.

Run with ``python -m benchmarks.watching [--seeds N] [--first K] [--slow F] [--only WORD]``. Each
training has a loop of its own: modules, data loaders, closures, schedulers, clipping, gradients
that are accumulated, float32. A forecast counts where its component was learned after it was made
and before it became void. ``--copies`` measures what bars of copies are made of; ``--cost`` the
time of a watch against that of 1e5 steps; ``--batches`` the bars of linear chains in minibatches.
"""

from __future__ import annotations

import argparse
import itertools
import math
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any
from unittest import mock

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, RandomSampler, TensorDataset

import swingby
from swingby.lab.networks.watching.coarse_copy import CopyPlan, copied_half_times
from swingby.lab.networks.watching.components import components
from swingby.lab.networks.watching.observer import Observer
from swingby.lab.networks.watching.update_rule import LearningRates
from swingby.report import Grid

#: Inputs, targets and points.
P, Q, N = 6, 3, 200
MOST = 8000


@dataclass(frozen=True)
class Training:
    """A training that is watched: the grade that it should have, and its loop."""

    name: str
    grade: str
    loop: Callable[[int], swingby.Watch]


TRAININGS: list[Training] = []
#: By how much all trainings are slowed down.
SLOW: ContextVar[float] = ContextVar("SLOW", default=1.0)


def rate(lr: float) -> float:
    """A learning rate, slowed down."""
    return lr / SLOW.get()


def slowed(steps: int) -> int:
    """A number of steps of a slower training."""
    return round(steps * SLOW.get())


def training(name: str, grade: str) -> Callable[[Any], Any]:
    """Add a loop to the list."""

    def add(loop: Any) -> Any:
        TRAININGS.append(Training(name, grade, loop))
        return loop

    return add


def points(seed: int, dtype: Any = torch.float32, noise: float = 0.1) -> tuple[Any, Any]:
    """Correlated inputs, and targets of a linear teacher with three components."""
    generator = torch.Generator().manual_seed(1000 + seed)
    mix = torch.linalg.qr(torch.randn(P, P, generator=generator))[0]
    spread = torch.linspace(1.5, 0.7, P)
    X = torch.randn(N, P, generator=generator) * spread @ mix.T
    teacher = torch.linalg.qr(torch.randn(P, Q, generator=generator))[0].T
    Y = X @ teacher.T * torch.tensor([2.0, 1.2, 0.7]) + noise * torch.randn(
        N, Q, generator=generator
    )
    return X.to(dtype), Y.to(dtype)


def small(model: nn.Module, scale: float) -> nn.Module:
    """The same model from a small start, biases at 0."""
    with torch.no_grad():
        for entry in model.parameters():
            if entry.ndim > 1:
                entry.normal_(0, scale / math.sqrt(entry.shape[-1]))
            else:
                entry.zero_()
    return model


def chain(*widths: int, bias: bool = False) -> nn.Sequential:
    """Linear layers."""
    pairs = itertools.pairwise(widths)
    return nn.Sequential(*(nn.Linear(i, j, bias=bias) for i, j in pairs))


def perceptron(activation: type[nn.Module], *widths: int) -> nn.Sequential:
    """Layers with biases and an activation between them."""
    modules: list[nn.Module] = []
    for i, j in itertools.pairwise(widths):
        modules += [nn.Linear(i, j), activation()]
    return nn.Sequential(*modules[:-1])


def unfinished(watch: swingby.Watch, most: int = MOST) -> Iterator[int]:
    """Steps until all is learned, and the watch closed after them."""
    while watch.step < slowed(most) and np.isnan(watch.learned).any() and not watch.closed:
        yield watch.step
    watch.close()


def full_batch(
    model: nn.Module,
    optimizer: Any,
    X: Any,
    Y: Any,
    loss: Any = None,
    *,
    most: int = MOST,
    backward: Callable[[], Any] | None = None,
    after: Callable[[], Any] | None = None,
    **named: Any,
) -> swingby.Watch:
    """The plainest loop, with a way of its own to take gradients, and calls after each step."""
    call = loss or functional.mse_loss
    watch = swingby.watch(model, optimizer, X, Y, loss=call, **named)
    for _ in unfinished(watch, most):
        optimizer.zero_grad()
        if backward is None:
            call(model(X), Y).backward()
        else:
            backward()
        optimizer.step()
        if after is not None:
            after()
    return watch


def shuffled(model: nn.Module, optimizer: Any, X: Any, Y: Any, size: int) -> swingby.Watch:
    """A data loader whose epochs are reshuffled."""
    watch = swingby.watch(model, optimizer, X, Y)
    loader = DataLoader(TensorDataset(X, Y), batch_size=size, shuffle=True)
    while np.isnan(watch.learned).any() and watch.step < slowed(MOST):
        for x, y in loader:
            optimizer.zero_grad()
            functional.mse_loss(model(x), y).backward()
            optimizer.step()
    watch.close()
    return watch


def with_replacement(model: nn.Module, optimizer: Any, X: Any, Y: Any, size: int) -> swingby.Watch:
    """A data loader whose batches are drawn with replacement."""
    watch = swingby.watch(model, optimizer, X, Y)
    data = TensorDataset(X, Y)
    sampler = RandomSampler(data, replacement=True, num_samples=size * slowed(MOST))
    batches = iter(DataLoader(data, batch_size=size, sampler=sampler))
    for _ in unfinished(watch):
        x, y = next(batches)
        optimizer.zero_grad()
        functional.mse_loss(model(x), y).backward()
        optimizer.step()
    return watch


@training("two layers, SGD, float64", "law")
def _(seed: int) -> swingby.Watch:
    X, Y = points(seed, torch.float64)
    model = small(chain(P, 32, Q), 0.05).double()
    return full_batch(
        model,
        torch.optim.SGD(model.parameters(), lr=rate(0.01)),
        X,
        Y,
        at=[slowed(100), slowed(300)],
    )


class OwnNet(nn.Module):
    """Layers called by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Linear(P, 24, bias=False)
        self.decoder = nn.Linear(24, Q, bias=False)

    def forward(self, x: Any) -> Any:
        """Outputs."""
        return self.decoder(self.encoder(x))


@training("own module, torch's start, float32", "law")
def _(seed: int) -> swingby.Watch:
    X, Y = points(seed)
    model = OwnNet()
    return full_batch(model, torch.optim.SGD(model.parameters(), lr=rate(0.01)), X, Y)


class Stack(nn.Module):
    """A list of layers."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(chain(P, 16, 16, Q))

    def forward(self, x: Any) -> Any:
        """Outputs."""
        for layer in self.layers:
            x = layer(x)
        return x


@training("module list of three layers, momentum", "law")
def _(seed: int) -> swingby.Watch:
    X, Y = points(seed)
    model = small(Stack(), 0.3)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate(0.002), momentum=0.9)
    return full_batch(model, optimizer, X, Y, at=[slowed(50)])


@training("Nesterov and decay, a loss that was not declared", "law")
def _(seed: int) -> swingby.Watch:
    X, Y = points(seed)
    model = small(chain(P, 20, Q), 0.1)
    optimizer = torch.optim.SGD(
        model.parameters(), lr=rate(0.0005), momentum=0.95, nesterov=True, weight_decay=0.01
    )
    return full_batch(
        model, optimizer, X, Y, backward=lambda: (0.01 * ((model(X) - Y) ** 2).sum()).backward()
    )


@training("a data loader with all points, shuffled", "law")
def _(seed: int) -> swingby.Watch:
    X, Y = points(seed)
    model = small(chain(P, 32, Q), 0.02)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate(0.02))
    loader = DataLoader(TensorDataset(X, Y), batch_size=N, shuffle=True)
    criterion = nn.MSELoss()
    with swingby.watch(model, optimizer, X, Y, loss=criterion) as watch:
        while np.isnan(watch.learned).any():
            for x, y in loader:
                loss = criterion(model(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    return watch


@training("learning rate cut twice, MultiStepLR", "law")
def _(seed: int) -> swingby.Watch:
    X, Y = points(seed)
    model = small(chain(P, 32, Q), 0.02)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate(0.02))
    scheduler = torch.optim.lr_scheduler.MultiStepLR(
        optimizer, [slowed(100), slowed(300)], gamma=0.5
    )
    return full_batch(model, optimizer, X, Y, after=scheduler.step)


@training("a bottleneck of two", "law")
def _(seed: int) -> swingby.Watch:
    X, Y = points(seed, torch.float64)
    model = small(chain(P, 2, Q), 0.05).double()
    optimizer = torch.optim.SGD(model.parameters(), lr=rate(0.02))
    return full_batch(model, optimizer, X, Y, most=3000)


@training("closures", "law")
def _(seed: int) -> swingby.Watch:
    X, Y = points(seed, torch.float64)
    model = small(chain(P, 12, Q), 0.1).double()
    optimizer = torch.optim.SGD(model.parameters(), lr=rate(0.01), momentum=0.5)
    watch = swingby.watch(model, optimizer, X, Y)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = functional.mse_loss(model(X), Y)
        loss.backward()
        return loss

    for _ in unfinished(watch):
        optimizer.step(closure)
    return watch


@training("four layers", "law")
def _(seed: int) -> swingby.Watch:
    X, Y = points(seed, torch.float64)
    model = small(chain(P, 16, 16, 16, Q), 0.7).double()
    return full_batch(model, torch.optim.SGD(model.parameters(), lr=rate(0.01)), X, Y)


@training("gradients accumulated over four chunks", "law")
def _(seed: int) -> swingby.Watch:
    X, Y = points(seed)
    model = small(chain(P, 32, Q), 0.05)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate(0.01))

    def accumulate() -> None:
        for x, y in zip(X.chunk(4), Y.chunk(4), strict=True):
            (functional.mse_loss(model(x), y) / 4).backward()

    return full_batch(model, optimizer, X, Y, backward=accumulate)


@training("watched from step 60 on, with momentum", "law")
def _(seed: int) -> swingby.Watch:
    X, Y = points(seed)
    model = small(chain(P, 32, Q), 0.02)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate(0.003), momentum=0.9)
    for _ in range(slowed(60)):
        optimizer.zero_grad()
        functional.mse_loss(model(X), Y).backward()
        optimizer.step()
    return full_batch(model, optimizer, X, Y)


@training("float32 from 1e-6", "law")
def _(seed: int) -> swingby.Watch:
    X, Y = points(seed)
    model = small(chain(P, 32, Q), 1e-6)
    return full_batch(model, torch.optim.SGD(model.parameters(), lr=rate(0.01)), X, Y)


@training("minibatches with replacement", "law")
def _(seed: int) -> swingby.Watch:
    X, Y = points(seed)
    torch.manual_seed(seed)
    model = small(chain(P, 32, Q), 0.05)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate(0.01))
    return with_replacement(model, optimizer, X, Y, 20)


@training("reshuffled minibatches", "law")
def _(seed: int) -> swingby.Watch:
    X, Y = points(seed)
    torch.manual_seed(seed)
    model = small(chain(P, 32, Q), 0.05)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate(0.01))
    return shuffled(model, optimizer, X, Y, 25)


@training("ReLU and biases, SGD", "copy")
def _(seed: int) -> swingby.Watch:
    X, Y = points(seed)
    torch.manual_seed(seed)
    model = small(perceptron(nn.ReLU, P, 32, Q), 0.1)
    return full_batch(model, torch.optim.SGD(model.parameters(), lr=rate(0.01)), X, Y)


@training("linear with biases, momentum", "copy")
def _(seed: int) -> swingby.Watch:
    X, Y = points(seed)
    torch.manual_seed(seed)
    model = small(chain(P, 32, Q, bias=True), 0.03)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate(0.001), momentum=0.9)
    return full_batch(model, optimizer, X, Y + 1)


@training("GELU, three layers, AdamW", "copy")
def _(seed: int) -> swingby.Watch:
    X, Y = points(seed)
    torch.manual_seed(seed)
    model = perceptron(nn.GELU, P, 32, 32, Q)
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate(2e-4), weight_decay=0.1)
    return full_batch(model, optimizer, X, Y)


@training("AdamW, three ReLU layers from a small start", "copy")
def _(seed: int) -> swingby.Watch:
    X, Y = points(seed)
    torch.manual_seed(seed)
    model = small(perceptron(nn.ReLU, P, 32, 32, Q), 0.15)
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate(2e-4), weight_decay=0.01)
    return full_batch(model, optimizer, X, Y)


class Convolutional(nn.Module):
    """A convolution over the inputs, and a head."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Conv1d(1, 8, 3, padding=1)
        self.head = nn.Linear(8 * P, Q)

    def forward(self, x: Any) -> Any:
        """Outputs."""
        return self.head(functional.silu(self.body(x[:, None])).flatten(1))


@training("a convolution, Adam", "copy")
def _(seed: int) -> swingby.Watch:
    X, Y = points(seed)
    torch.manual_seed(seed)
    model = Convolutional()
    return full_batch(model, torch.optim.Adam(model.parameters(), lr=rate(3e-4)), X, Y)


@training("Flatten in a Sequential", "copy")
def _(seed: int) -> swingby.Watch:
    X, Y = points(seed)
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Flatten(), *small(chain(P, 32, Q), 0.05))
    optimizer = torch.optim.SGD(model.parameters(), lr=rate(0.01))
    return full_batch(model, optimizer, X.reshape(N, 2, P // 2), Y)


class Residual(nn.Module):
    """A block with a shortcut and LayerNorm."""

    def __init__(self) -> None:
        super().__init__()
        self.into, self.norm = nn.Linear(P, 24), nn.LayerNorm(24)
        self.inner, self.out = nn.Linear(24, 24), nn.Linear(24, Q)

    def forward(self, x: Any) -> Any:
        """Outputs."""
        x = self.into(x)
        return self.out(x + torch.tanh(self.inner(self.norm(x))))


@training("a residual block with LayerNorm", "copy")
def _(seed: int) -> swingby.Watch:
    X, Y = points(seed)
    torch.manual_seed(seed)
    model = Residual()
    return full_batch(model, torch.optim.SGD(model.parameters(), lr=rate(0.003)), X, Y)


@training("clipped by norm, tanh", "copy")
def _(seed: int) -> swingby.Watch:
    X, Y = points(seed)
    torch.manual_seed(seed)
    model = small(perceptron(nn.Tanh, P, 32, Q), 0.1)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate(0.01))

    def clipped() -> None:
        functional.mse_loss(model(X), Y).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.3)

    return full_batch(model, optimizer, X, Y, backward=clipped)


@training("cosine schedule, its scheduler given", "copy")
def _(seed: int) -> swingby.Watch:
    X, Y = points(seed)
    torch.manual_seed(seed)
    model = small(chain(P, 32, Q), 0.05)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate(0.02))
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(
        optimizer, slowed(600), eta_min=rate(0.002)
    )
    return full_batch(model, optimizer, X, Y, after=scheduler.step, schedule=scheduler)


@training("warm-up as a function, Adam, ReLU", "copy")
def _(seed: int) -> swingby.Watch:
    X, Y = points(seed)
    torch.manual_seed(seed)
    model = perceptron(nn.ReLU, P, 32, Q)
    optimizer = torch.optim.Adam(model.parameters(), lr=rate(1e-3))

    def warming(step: int) -> float:
        return rate(1e-3) * min(1.0, (step + 1) / slowed(200))

    watch = swingby.watch(model, optimizer, X, Y, schedule=warming)
    for step in unfinished(watch):
        for group in optimizer.param_groups:
            group["lr"] = warming(step)
        optimizer.zero_grad()
        functional.mse_loss(model(X), Y).backward()
        optimizer.step()
    return watch


@training("parameter groups of their own", "copy")
def _(seed: int) -> swingby.Watch:
    X, Y = points(seed)
    torch.manual_seed(seed)
    model = small(chain(P, 32, Q), 0.05)
    groups = [
        {"params": model[0].parameters(), "lr": rate(0.02)},
        {"params": model[1].parameters()},
    ]
    optimizer = torch.optim.SGD(groups, lr=rate(0.005), weight_decay=1e-3)
    return full_batch(model, optimizer, X, Y)


@training("Huber loss", "copy")
def _(seed: int) -> swingby.Watch:
    X, Y = points(seed)
    torch.manual_seed(seed)
    model = small(chain(P, 32, Q), 0.05)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate(0.02))
    return full_batch(model, optimizer, X, Y, nn.HuberLoss())


@training("the first layer frozen", "copy")
def _(seed: int) -> swingby.Watch:
    X, Y = points(seed)
    torch.manual_seed(seed)
    model = perceptron(nn.ReLU, P, 64, Q)
    model[0].requires_grad_(False)
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=rate(0.01))
    return full_batch(model, optimizer, X, Y)


class Tied(nn.Module):
    """U^T U x: one matrix for both layers."""

    def __init__(self) -> None:
        super().__init__()
        self.U = nn.Parameter(0.05 * torch.randn(16, P))

    def forward(self, x: Any) -> Any:
        """Outputs."""
        return x @ self.U.T @ self.U


@training("tied layers, an autoencoder", "copy")
def _(seed: int) -> swingby.Watch:
    X, _ = points(seed)
    torch.manual_seed(seed)
    model = Tied()
    return full_batch(model, torch.optim.SGD(model.parameters(), lr=rate(0.02)), X, X)


class Attention(nn.Module):
    """Attention over the inputs as tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Linear(1, 8)
        self.attend = nn.MultiheadAttention(8, 2, batch_first=True)
        self.out = nn.Linear(8 * P, Q)

    def forward(self, x: Any) -> Any:
        """Outputs."""
        tokens = self.embed(x[..., None])
        return self.out((tokens + self.attend(tokens, tokens, tokens)[0]).flatten(1))


@training("attention, Adam", "copy")
def _(seed: int) -> swingby.Watch:
    X, Y = points(seed)
    torch.manual_seed(seed)
    model = Attention()
    return full_batch(model, torch.optim.Adam(model.parameters(), lr=rate(3e-4)), X, Y)


@training("reshuffled minibatches, ReLU, SGD", "copy")
def _(seed: int) -> swingby.Watch:
    X, Y = points(seed)
    torch.manual_seed(seed)
    model = small(perceptron(nn.ReLU, P, 32, Q), 0.1)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate(0.01))
    return shuffled(model, optimizer, X, Y, 20)


def few_steps(model: nn.Module, optimizer: Any, seed: int, batch: int = N) -> swingby.Watch:
    """Thirty steps, for what is refused."""
    X, Y = points(seed)
    with swingby.watch(model, optimizer, X, Y) as watch:
        for step in range(30):
            rows = torch.arange(step * batch, (step + 1) * batch) % N
            optimizer.zero_grad()
            functional.mse_loss(model(X[rows]), Y[rows]).backward()
            optimizer.step()
    return watch


class HiddenDropout(nn.Module):
    """Dropout that is no module."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(P, Q)

    def forward(self, x: Any) -> Any:
        """Outputs."""
        return functional.dropout(self.layer(x), 0.1, self.training)


REFUSED: dict[str, Callable[[], tuple[nn.Module, Any, int]]] = {
    "Dropout": lambda: with_optimizer(
        nn.Sequential(nn.Linear(P, 9), nn.Dropout(), nn.Linear(9, Q)), torch.optim.SGD
    ),
    "BatchNorm": lambda: with_optimizer(
        nn.Sequential(nn.Linear(P, 9), nn.BatchNorm1d(9), nn.Linear(9, Q)), torch.optim.SGD
    ),
    "random": lambda: with_optimizer(HiddenDropout(), torch.optim.SGD),
    "RMSprop": lambda: with_optimizer(chain(P, 9, Q), torch.optim.RMSprop),
    "Adagrad": lambda: with_optimizer(chain(P, 9, Q), torch.optim.Adagrad),
    "amsgrad": lambda: with_optimizer(chain(P, 9, Q), torch.optim.Adam, amsgrad=True),
    "Adam in minibatches": lambda: with_optimizer(chain(P, 9, Q), torch.optim.Adam, batch=20),
}


def with_optimizer(
    model: nn.Module, kind: Any, batch: int = N, **settings: Any
) -> tuple[nn.Module, Any, int]:
    """A model, its optimizer and the size of its minibatches."""
    return model, kind(model.parameters(), lr=1e-3, **settings), batch


@training("clipped entry by entry", "none")
def _(seed: int) -> swingby.Watch:
    X, Y = points(seed)
    model = chain(P, 9, Q)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def cut() -> None:
        functional.mse_loss(model(X), Y).backward()
        nn.utils.clip_grad_value_(model.parameters(), 0.01)

    return full_batch(model, optimizer, X, Y, backward=cut, most=30)


for _word, _make in REFUSED.items():

    @training(_word, "none")
    def _(seed: int, make: Any = _make) -> swingby.Watch:
        torch.manual_seed(seed)
        model, optimizer, batch = make()
        return few_steps(model, optimizer, seed, batch)


def judged(watch: swingby.Watch) -> list[tuple[float, bool, str]]:
    """Relative error, whether inside its bar, and grade, of each forecast that is answerable."""
    rows = []
    for forecast in watch.forecasts:
        answerable = forecast.compared(watch.learned) & np.isfinite(forecast.half_times)
        inside = forecast.inside(watch.learned)
        for k in np.flatnonzero(answerable):
            error = abs(forecast.half_times[k] - watch.learned[k]) / watch.learned[k]
            rows.append((float(error), bool(inside[k]), forecast.grade))
    return rows


def table(seeds: int, only: str, first: int = 0) -> Grid:
    """A row for each training, and what its forecasts are worth."""
    rows: list[list[str]] = []
    totals: dict[str, list[tuple[float, bool, str]]] = {"law": [], "copy": []}
    wrong = []
    for entry in TRAININGS:
        if only not in entry.name:
            continue
        results, grades, learned, times, spent = [], set(), [], 0, 0.0
        reason = ""
        for seed in range(first, first + (seeds if entry.grade != "none" else 1)):
            torch.manual_seed(seed)
            watch = entry.loop(seed)
            results += judged(watch)
            grades.add(watch.grade)
            learned += [*watch.learned]
            times += int(np.isfinite(watch.learned).sum())
            inexact = np.isfinite(watch.learned) & (watch.learned - watch.not_before > 1)
            times -= int((inexact & (watch.not_before >= 0)).sum())
            spent += watch.seconds
            reason = watch.reason
            wrong += [f"{entry.name}: {note}" for note in watch.notes if "ended" in note]
        if grades != {entry.grade}:
            wrong.append(f"{entry.name}: {', '.join(sorted(grades))}, not {entry.grade}")
        if entry.grade in totals:
            totals[entry.grade] += results
        errors = [error for error, _, _ in results]
        finite = np.array(learned)[np.isfinite(learned)]
        rows.append(
            [
                entry.name,
                ", ".join(sorted(grades)),
                f"{np.median(finite):.0f}" if len(finite) else "-",
                f"{times} of {len(learned)}",
                str(len(results)),
                f"{100 * np.median(errors):.2g}" if errors else "-",
                f"{100 * max(errors):.2g}" if errors else "-",
                f"{sum(inside for _, inside, _ in results)}" if errors else "-",
                f"{spent / max(seeds, 1):.2f}",
                reason,
            ]
        )
    below = []
    for grade, results in totals.items():
        if results:
            inside = np.mean([inside for _, inside, _ in results])
            near = np.mean([error <= 0.02 for error, _, _ in results])
            below.append(
                f"{grade}: {len(results)} forecasts, {inside:.1%} inside their bars,"
                f" {near:.1%} within 2 %"
            )
    below.append("; ".join(wrong) or "every grade is the expected one")
    heads = ["training", "grade", ">learned at", ">exact", ">forecasts", ">median %", ">worst %"]
    columns = [*heads, ">inside", ">seconds", "why"]
    return Grid(
        f"Watched trainings, {seeds} seeds, from {first} on, slower by {SLOW.get():g}",
        columns,
        rows,
        below=below,
    )


COPIED: dict[str, tuple[Any, float | None, Any]] = {
    "linear, SGD": (nn.Identity, 0.1, lambda p: torch.optim.SGD(p, lr=0.002)),
    "ReLU, SGD": (nn.ReLU, 0.1, lambda p: torch.optim.SGD(p, lr=0.002)),
    "tanh, momentum": (nn.Tanh, None, lambda p: torch.optim.SGD(p, lr=2e-4, momentum=0.9)),
    "ReLU, Nesterov, decay": (
        nn.ReLU,
        None,
        lambda p: torch.optim.SGD(p, 1e-4, momentum=0.95, nesterov=True, weight_decay=1e-3),
    ),
    "linear, Adam, small": (nn.Identity, 0.1, lambda p: torch.optim.Adam(p, lr=1e-4)),
    "ReLU, Adam": (nn.ReLU, None, lambda p: torch.optim.Adam(p, lr=5e-5)),
    "ReLU, AdamW, small": (nn.ReLU, 0.2, lambda p: torch.optim.AdamW(p, 1e-4, weight_decay=0.1)),
    "ReLU, AdamW, tiny": (nn.ReLU, 0.085, lambda p: torch.optim.AdamW(p, 1e-4, weight_decay=0.1)),
    "GELU, AdamW": (nn.GELU, None, lambda p: torch.optim.AdamW(p, 5e-5)),
}


def copies(seeds: int, only: str) -> Grid:
    """Errors of copies in units of what the three of them differ by, in long runs."""
    rows = []
    for name, (activation, scale, make) in COPIED.items():
        if only not in name:
            continue
        for depth in (2, 3):
            for grain, longest in ((24.0, 720.0), (40.0, 720.0), (72.0, 360.0), (216.0, 180.0)):
                rows.append(_copied(name, activation, scale, make, depth, grain, longest, seeds))
    columns = ["training", ">layers", ">grain", ">longest", ">times", ">gradients, % of the run"]
    columns += [
        ">median %",
        ">worst %",
        ">worst error / difference",
        ">in 2 differences + .6 + .1 %",
    ]
    return Grid("Copies: error against what they differ by", columns, rows)


_TRUE: dict[Any, Any] = {}


def _copied(
    name: str,
    activation: Any,
    scale: float | None,
    make: Any,
    depth: int,
    grain: float,
    longest: float,
    seeds: int,
) -> list[str]:
    errors, apart, times, gradients, length = [], [], [], 0, 0.0
    for seed in range(seeds):
        X, Y = points(seed)
        torch.manual_seed(seed)
        model = perceptron(activation, P, *([32] * (depth - 1)), Q)
        model = model if scale is None else small(model, scale * (2 if depth == 3 else 1))
        optimizer = make(model.parameters())
        data = components(X.double().numpy(), Y.double().numpy(), centred=True)
        observer = Observer(model, X, Y, functional.mse_loss, data)
        rates = LearningRates(optimizer, 0)
        plan = CopyPlan(0.5, 1.0, math.inf, 1e5, rates, 0)
        copied = copied_half_times(observer, optimizer, plan, grain, longest, 20_000)
        key = (name, depth, seed)
        if key not in _TRUE:
            _TRUE[key] = full_batch(model, optimizer, X, Y, share=1e-4).learned
        learned = _TRUE[key]
        usable = learned > 0
        errors += [*np.abs(np.ceil(copied.times) - learned)[usable]]
        apart += [*copied.differences[usable]]
        times += [*learned[usable]]
        gradients, length = gradients + copied.gradients, length + float(np.nanmax(learned))
    off, bars, steps = map(np.array, (errors, apart, times))
    relative = 100 * off / steps
    return [
        name,
        str(depth),
        f"{grain:.0f}",
        f"{longest:.0f}",
        f"{np.isfinite(off).sum()} of {len(off)}",
        f"{100 * gradients / length:.0f}",
        f"{np.nanmedian(relative):.2g}",
        f"{np.nanmax(relative):.2g}",
        f"{np.nanmax((off - 0.6 - 1e-3 * steps) / bars):.2g}",
        f"{np.mean(off <= np.ceil(2 * bars + 0.6 + 1e-3 * steps)):.0%}",
    ]


BATCHES: dict[str, tuple[Any, int, float, float, float]] = {
    "with replacement, B 20": (with_replacement, 20, 0.1, 0.01, 0.0),
    "with replacement, B 10, noise 1": (with_replacement, 10, 1.0, 0.01, 0.0),
    "with replacement, B 25, noise 1, twice the rate": (with_replacement, 25, 1.0, 0.02, 0.0),
    "with replacement, B 20, noise .5, momentum .9": (with_replacement, 20, 0.5, 0.002, 0.9),
    "reshuffled, B 20": (shuffled, 20, 0.1, 0.01, 0.0),
    "reshuffled, B 10, noise 1": (shuffled, 10, 1.0, 0.01, 0.0),
    "reshuffled, B 25, noise 1, twice the rate": (shuffled, 25, 1.0, 0.02, 0.0),
    "reshuffled, B 20, noise .5, momentum .9": (shuffled, 20, 0.5, 0.002, 0.9),
}


def batches(seeds: int, only: str, first: int) -> Grid:
    """Half-times of linear chains in minibatches against the last forecast before the first."""
    rows = []
    for name, (loop, size, noise, lr, momentum) in BATCHES.items():
        if only not in name:
            continue
        inside, parts, widths, told, sizes = [], [], [], 0, []
        for seed in range(first, first + seeds):
            X, Y = points(seed, noise=noise)
            torch.manual_seed(seed)
            model = small(chain(P, 32, Q), 0.05)
            optimizer = torch.optim.SGD(model.parameters(), lr=rate(lr), momentum=momentum)
            watch = loop(model, optimizer, X, Y, size)
            learned = watch.learned
            forecast = [made for made in watch.forecasts if made.made_at < np.nanmin(learned)][-1]
            which = forecast.compared(learned) & np.isfinite(forecast.half_times)
            inside += [*forecast.inside(learned)[which]]
            parts += [*((learned - 0.5 - forecast.crossing) / forecast.error)[which]]
            widths += [*(100 * forecast.error / learned)[which]]
            told += forecast.at_least
            sizes.append(float(watch.notes[-1].split("about ")[1].split()[0]))
        rows.append(
            [
                name,
                str(len(inside)),
                f"{np.mean(inside):.1%}",
                f"{2 * np.sqrt(np.mean(np.square(parts))):.2f}",
                f"{np.median(widths):.2g}",
                f"{told} of {seeds}",
                f"{np.median(sizes):.0f}",
            ]
        )
    heads = ["batches", ">forecasts", ">inside", ">spread seen / estimated", ">bar, %"]
    return Grid(
        f"Minibatches, {seeds} trainings a row, from seed {first} on",
        [*heads, ">at least", ">size seen"],
        rows,
    )


def cost(only: str) -> Grid:
    """Processor seconds of a watch in a run of 1e5 steps, law and copy, against those of all.

    The hook is what each step costs where there is nothing to do, 1e5 times.
    """
    cells = {
        "law": (small(chain(P, 32, Q), 0.01), lambda p: torch.optim.SGD(p, lr=1e-4)),
        "law, three layers, momentum": (
            small(chain(P, 32, 32, Q), 0.3),
            lambda p: torch.optim.SGD(p, lr=5e-6, momentum=0.9),
        ),
        "copy, SGD": (
            small(perceptron(nn.ReLU, P, 32, Q), 0.1),
            lambda p: torch.optim.SGD(p, lr=1e-4),
        ),
        "copy, Adam": (
            perceptron(nn.GELU, P, 32, 32, Q),
            lambda p: torch.optim.Adam(p, lr=2e-6),
        ),
    }
    rows = []
    for name, (model, make) in cells.items():
        if only not in name:
            continue
        X, Y = points(0)
        optimizer = make(model.parameters())
        with mock.patch("time.perf_counter", time.process_time):
            begin = time.process_time()
            watch = swingby.watch(model, optimizer, X, Y)
            at_start = watch.seconds
            for _ in range(100_000):
                optimizer.zero_grad()
                functional.mse_loss(model(X), Y).backward()
                optimizer.step()
            whole = time.process_time() - begin
            watch._next = 3 * watch.step
            begin = time.process_time()
            for _ in range(100_000):
                watch._after_step(optimizer)
            hook = time.process_time() - begin
        watch.close()
        learned = ", ".join(f"{step:.0f}" for step in watch.learned)
        share = (watch.seconds + hook) / whole
        spent = [f"{at_start:.2f}", f"{watch.seconds:.2f}", f"{hook:.2f}", f"{share:.2%}"]
        rows.append([name, learned, f"{whole:.1f}", *spent])
    heads = [
        "grade",
        "learned at",
        ">seconds of 1e5 steps",
        ">watch, at the start",
        ">in all",
        ">hook",
    ]
    return Grid("What a watch costs", [*heads, ">share"], rows)


def main() -> None:
    """Print the tables that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--only", default="")
    parser.add_argument("--copies", action="store_true")
    parser.add_argument("--cost", action="store_true")
    parser.add_argument("--batches", action="store_true")
    parser.add_argument("--slow", type=float, default=1.0, help="divides all learning rates")
    arguments = parser.parse_args()
    SLOW.set(arguments.slow)
    torch.set_num_threads(1)
    if arguments.copies:
        print(copies(arguments.seeds, arguments.only).to_text(width=160))
    elif arguments.batches:
        print(batches(arguments.seeds, arguments.only, arguments.first).to_text(width=160))
    elif arguments.cost:
        print(cost(arguments.only).to_text(width=160))
    else:
        print(table(arguments.seeds, arguments.only, arguments.first).to_text(width=180))


if __name__ == "__main__":
    main()
