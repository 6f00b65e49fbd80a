"""A result of every class, made from cheap input, to test layout, formats and notebooks on."""

import functools
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import swingby

W0 = [[0.02, 0.01], [0.01, 0.02]]
TINY = {"signal": [[4, 1], [2, 1]], "omega": [1e-2, 1e-3], "eta": 0.1, "seeds": 2}
#: Results whose class writes its text at a width of its own, or gives no HTML: to be empty.
FIXED_WIDTH = frozenset(
    (
        *("vectors", "vector run", "vector prediction", "judgement"),
        *("survival", "training run", "phase diagram", "disagreements"),
        *("evidence", "gaussian", "hunt"),
    )
)
NO_HTML = frozenset(("gaussian", "vector run", "vector prediction"))
#: Words of the text that HTML does not have: of a table that is drawn as text only.
ONLY_TEXT = {"survival": {"survives"}}
#: Classes whose results come from torch.
TORCH = ("training run", "vectors", "vector run", "vector prediction", "survival", "watch")
TASK = swingby.SIMTask.from_signal([4, 1])
START = {"eta": 0.01}


def _check(edition="printed", omega="1e-80"):
    return swingby.check(TASK, omega=omega, eta="1e-4", edition=edition)


def _audit(items):
    return swingby.audit(items, progress=False)


@functools.cache
def _sweep():
    store = Path(tempfile.mkdtemp()) / "out"
    return swingby.sweep(swingby.SweepGrid(**TINY), out=store, workers=0, progress=False)


def _figures():
    with tempfile.TemporaryDirectory() as folder:
        return swingby.figures.make_figures(folder, only=5, editions="code", progress=False)


def _training():
    from swingby.lab.networks import Data, Network, Optimizer, Setting, train

    task, optimizer = swingby.SIMTask([1, 2], [0.2, 0.1]), Optimizer(lr=0.5)
    base = {"epochs": 10, "optimizer": optimizer}
    return train([Setting(task, Data(40), Network(1), seed=k, **base) for k in range(2)])


@functools.cache
def _vectors():
    from swingby.lab.diffusion.vectors import VectorSetting, compare_vectors

    task = swingby.SIMTask([1, 2], [0.05, 0.05])
    return compare_vectors([VectorSetting(task, eta="0.05", steps=60)])


def _evidence():
    from swingby.lab.figures.evidence import evidence

    return evidence()


def small_study():
    """A study before its first run, whose signals are measured in a moment."""
    from studies.image_study import Study
    from swingby.lab.diffusion import default_plan

    plan = default_plan("tiny")
    levels = {name: getattr(plan, name)[:1] for name in ("separation", "contrast", "gain")}
    some = {"optimizers": plan.optimizers[:1], "predictions": plan.predictions[::6]}
    return Study(replace(plan, **levels, **some), (), {})


def _judged():
    from swingby.lab.diffusion import judge

    return judge(small_study())


def _survival():
    from studies.survival import standard_cells, survival

    return survival(standard_cells(runs=40)[:1])


def _watch():
    import torch

    X = torch.linspace(-1, 1, 20, dtype=torch.float64)[:, None] ** torch.arange(1, 3)
    model = torch.nn.Linear(2, 2, bias=False).double()
    torch.nn.init.zeros_(model.weight)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    with swingby.watch(model, optimizer, X, X) as watch:
        for _ in range(5):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(X), X).backward()
            optimizer.step()
    return watch


def _network(compared=False):
    rng, length = np.random.default_rng(1), 300
    X, Y = rng.standard_normal((40, 4)), rng.standard_normal((40, 2))
    W1, W2 = 0.1 * rng.standard_normal((2, 4)), 0.1 * rng.standard_normal((2, 2))
    more = {"X": X, "Y": Y, "weight_decay": 0.02}
    if not compared:
        return swingby.predict_network([W1, W2], lr=0.1, **more)
    records = []
    for _ in range(length):
        records.append([W1, W2])
        rest = (X @ W1.T @ W2.T - Y).T @ X / 40
        slopes = W2.T @ rest + 0.02 * W1, rest @ W1.T + 0.02 * W2
        W1, W2 = W1 - 0.1 * slopes[0], W2 - 0.1 * slopes[1]
    return swingby.compare_network(records[::20], lr=0.1, every=20, **more)


#: From the name of a result to what makes it.
MAKERS = {
    "check": _check,
    "check that fails": lambda: _check("corrected", "1e-3"),
    "check, repaired": lambda: _check("repaired", "1e-8"),
    "check of a matrix": lambda: swingby.check(TASK, W0=W0, eta=0.01),
    "schedule": lambda: swingby.predict(TASK, W0, **START),
    "schedule from omega": lambda: swingby.predict(TASK, omega="1e-8", **START),
    "gaussian": lambda: swingby.predict_gaussian(TASK, "1e-4", 3, **START),
    "run": lambda: swingby.simulate(TASK, W0, **START),
    "comparison": lambda: swingby.compare(TASK, W0, **START),
    "network": _network,
    "network comparison": lambda: _network(compared=True),
    "certificate": lambda: swingby.certify(
        TASK, [["2e-3", "1e-3"], ["1e-3", "2e-3"]], eta="1/100", dynamics="gd"
    ),
    "certified assumptions": lambda: swingby.certify_assumptions(
        TASK, ["1e-90", "1e-80"], ["1e-5", "1e-4"]
    ),
    "ledger": lambda: _audit(["D.61", "D.64", "D.27"]),
    "record": lambda: _audit(["D.61"])[0],
    "hunt": lambda: swingby.hunt("D.61", seconds=3, rng=0),
    "sweep": _sweep,
    "phase diagram": lambda: _sweep().phase_diagram("omega"),
    "disagreements": lambda: _sweep().disagreements(3),
    "figures": _figures,
    "evidence": _evidence,
    "judgement": _judged,
    "training run": _training,
    "vectors": _vectors,
    "vector run": lambda: _vectors().runs[0],
    "vector prediction": lambda: _vectors().predictions[0],
    "survival": _survival,
    "watch": _watch,
}
NAMES = tuple(MAKERS)


@functools.cache
def result(name):
    """A result by its name, made once; the test is skipped where it needs torch."""
    if name in TORCH:
        pytest.importorskip("torch")
    return MAKERS[name]()
