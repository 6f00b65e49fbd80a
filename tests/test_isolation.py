"""No call changes the process of the caller, and no caller changes a result or a dataclass."""

import copy
import dataclasses
import importlib
import os
import pickle
import pkgutil
import random
import signal
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import flint
import mpmath
import numpy as np
import pytest

import swingby
from tests import results
from tests.forked import FULL

TASK, W0 = swingby.SIMTask.from_signal([4, 1]), [[0.02, 0.01], [0.01, 0.02]]
#: One call of every public function; `hunt` and `paper_tables` take longer, for no other code.
CALLS = {
    "gaussian": lambda: swingby.gaussian(TASK, "1e-3", rng=1).tolist(),
    "one_layer_output": lambda: swingby.one_layer_output(TASK, W0, 0.1).tolist(),
    "simulate": lambda: str(swingby.simulate(TASK, W0, 0.01)),
    "simulate_batch": lambda: swingby.simulate_batch([4, 1], np.array([W0]), eta=0.01).W.tolist(),
    "audit": lambda: str(
        swingby.audit(["D.61" if FULL else "D.62"], cache=False, progress=False)[0].verdict
    ),
    "check": lambda: str(swingby.check(TASK, omega="1e-80", eta="1e-4")),
    "predict": lambda: str(swingby.predict(TASK, W0, eta=0.01)),
    "predict_gaussian": lambda: str(swingby.predict_gaussian(TASK, "1e-4", 3, eta=0.01)),
    "predict_batch": lambda: str(swingby.predict_batch([4, 1], np.array([W0]), eta=0.01)),
    "predict_swing_batch": lambda: str(
        swingby.predict_swing_batch([4, 1], np.array([W0]), eta=0.01)
    ),
    "compare": lambda: str(swingby.compare(TASK, W0, eta=0.01)),
    "certify": lambda: swingby.certify(TASK, [["2e-3", 0], [0, "1e-3"]], eta="1/50").to_json(),
    "threshold": lambda: str(
        swingby.threshold(TASK, "1 before 2", W0, 0.01, vary="omega", between=(1e-4, 1))
    ),
    "certify_assumptions": lambda: str(
        swingby.certify_assumptions(TASK, ["1e-90", "1e-80"], ["1e-5", "1e-4"])
    ),
}
ELSEWHERE = {
    *("hunt", "paper_tables", "sweep", "predict_network", "crossing_function", "watch"),
    *("compare_network", "explore"),
}


def process():
    """What belongs to the whole process, and a call might leave otherwise than it was."""
    return {
        "flint": flint.ctx.prec,
        "mpmath": (mpmath.mp.prec, mpmath.iv.prec),
        "environment": dict(os.environ),
        "signals": [signal.getsignal(one) for one in signal.valid_signals()],
        "main": sorted(vars(sys.modules["__main__"])),
        "warnings": list(warnings.filters),
        "random": (random.getstate(), str(np.random.get_state())),  # noqa: NPY002
        "errors": np.geterr(),
        "threads": {one.name for one in threading.enumerate() if not one.daemon},
        "folder": Path.cwd(),
        "limit": sys.getrecursionlimit(),
        "digits": sys.get_int_max_str_digits(),
    }


def test_every_public_function_is_called_below():
    named = {name for name in swingby.__all__ if callable(getattr(swingby, name))}
    functions = {name for name in named if not isinstance(getattr(swingby, name), type)}
    modules = {"diffusion", "figures", "relu", "testing", "training"}
    assert functions - modules == set(CALLS) | ELSEWHERE


def test_four_threads_at_once():
    """Every function beside every other: the answers of one thread, and the process as it was."""
    alone, before = {name: call() for name, call in CALLS.items()}, process()
    start, names = threading.Barrier(4), list(CALLS)

    def ask(number):
        start.wait()
        order = names[3 * number :] + names[: 3 * number]
        return {name: CALLS[name]() for name in order}

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(ask, range(4)))
    assert all(one == alone for one in found)
    after = process()
    assert {what for what in before if before[what] != after[what]} == set()


def arrays(value, path, seen):
    """All arrays in a result, by the way to them."""
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, np.ndarray):
        yield path, value
    elif dataclasses.is_dataclass(value):
        for one in dataclasses.fields(value):
            yield from arrays(getattr(value, one.name), f"{path}.{one.name}", seen)
    elif isinstance(value, tuple | list | dict):
        for one in value.values() if isinstance(value, dict) else value:
            yield from arrays(one, path, seen)


@pytest.mark.parametrize(
    "name",
    # A watch belongs to a training in progress, and has no copies.
    sorted({*results.NAMES} - {"hunt", "figures", "evidence", "judgement", "survival", "watch"}),
)
def test_a_result_is_read_only_and_has_copies(name):
    if name in results.TORCH:
        pytest.importorskip("torch")
    result = results.result(name)
    found = list(arrays(result, "", set()))
    # Where the closed form starts is its own affair.
    writable = {path for path, one in found if one.flags.writeable}
    assert not {path for path in writable if ".stages.start" not in path}
    assert str(pickle.loads(pickle.dumps(result))) == str(result)
    assert str(copy.deepcopy(result)) == str(result)


#: What a loop or a search writes to as it goes.
IN_PLACE = {
    "swingby.simulate.series.Turns",
    "swingby.simulate.state.RunState",
    "swingby.proofs.certify.ball_run.BallState",
    "swingby.proofs.certify.events.Watch",
    "swingby.proofs.hunt.search_log.SearchLog",
    "swingby.proofs.prover.trajectories.trajectory_runs.TrajectoryRuns",
}


def dataclasses_of_the_package():
    for found in pkgutil.walk_packages(swingby.__path__, "swingby."):
        if found.name.endswith("__main__"):
            continue
        try:
            module = importlib.import_module(found.name)
        except ModuleNotFoundError as error:
            # Networks of diffusion models are classes of torch, which may not be there.
            if error.name != "torch":
                raise
            continue
        for name, value in vars(module).items():
            own = isinstance(value, type) and value.__module__ == module.__name__
            if own and dataclasses.is_dataclass(value):
                yield f"{module.__name__}.{name}", value


def test_dataclasses_are_frozen():
    found = dict(dataclasses_of_the_package())
    assert len(found) > 100
    changeable = {name for name, one in found.items() if not one.__dataclass_params__.frozen}
    assert changeable == IN_PLACE
