"""A result of every class, made from cheap input, to test layout, formats and notebooks on."""

import functools
import tempfile
from pathlib import Path

import pytest

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
TORCH = ("training run", "vectors", "vector run", "vector prediction", "survival")


@functools.cache
def task():
    from swingby.theory.task import SIMTask

    return SIMTask.from_signal([4, 1])


def _check(edition="printed", omega="1e-80"):
    import swingby

    return swingby.check(task(), omega=omega, eta="1e-4", edition=edition)


def _audit(items):
    import swingby

    return swingby.audit(items, progress=False)


@functools.cache
def _sweep():
    import swingby

    store = Path(tempfile.mkdtemp()) / "out.sqlite"
    return swingby.sweep(swingby.SweepGrid(**TINY), store=store, workers=0, progress=False)


def _figures():
    from swingby.figures import make_figures

    with tempfile.TemporaryDirectory() as folder:
        return make_figures(folder, only=5, editions="code", progress=False)


def _training():
    from swingby.theory.task import SIMTask
    from swingby.training import Data, Network, Optimizer, Setting, train

    settings = [
        Setting(
            SIMTask([1, 2], [0.2, 0.1]), Data(40), Network(1), Optimizer(lr=0.5), epochs=10, seed=k
        )
        for k in range(2)
    ]
    return train(settings)


@functools.cache
def _vectors():
    from swingby.diffusion.vectors import VectorSetting, compare_vectors
    from swingby.theory.task import SIMTask

    return compare_vectors([VectorSetting(SIMTask([1, 2], [0.05, 0.05]), eta="0.05", steps=60)])


def _evidence():
    from swingby.figures.evidence import evidence

    return evidence()


def _judged():
    from swingby.diffusion import judge, recorded_study

    return judge(recorded_study())


def _survival():
    from swingby.training.survival import standard_cells, survival

    return survival(standard_cells(runs=40)[:1])


@functools.cache
def result(name):
    """A result by its name, made once; the test is skipped where it needs torch."""
    if name in TORCH:
        pytest.importorskip("torch")
    return makers()[name]()


def makers():
    """From the name of a result to what makes it."""
    import swingby

    start = {"eta": 0.01}
    return {
        "check": _check,
        "check that fails": lambda: _check("corrected", "1e-3"),
        "check, repaired": lambda: _check("repaired", "1e-8"),
        "check of a matrix": lambda: swingby.check(task(), W0=W0, eta=0.01),
        "schedule": lambda: swingby.predict(task(), W0, **start),
        "schedule from omega": lambda: swingby.predict(task(), omega="1e-8", **start),
        "gaussian": lambda: swingby.predict_gaussian(task(), "1e-4", 3, **start),
        "run": lambda: swingby.simulate(task(), W0, **start),
        "comparison": lambda: swingby.compare(task(), W0, **start),
        "certificate": lambda: swingby.certify(
            task(), [["2e-3", "1e-3"], ["1e-3", "2e-3"]], eta="1/100", dynamics="gd"
        ),
        "certified assumptions": lambda: swingby.certify_assumptions(
            task(), ["1e-90", "1e-80"], ["1e-5", "1e-4"]
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
    }


NAMES = (
    *("check", "check that fails", "check, repaired", "check of a matrix", "schedule"),
    *("schedule from omega", "gaussian", "run", "comparison", "certificate"),
    *("certified assumptions", "ledger", "record", "hunt", "sweep", "phase diagram"),
    *("disagreements", "figures", "evidence", "judgement"),
    *("training run", "vectors", "vector run", "vector prediction", "survival"),
)
