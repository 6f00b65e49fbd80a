"""First mistakes of a new user: each is answered by a result, or by the word that leads on.

The words were written by hand, from what the user wants, before the messages.
"""

import copy
import dataclasses
import importlib
import inspect
import pickle
import re
import shlex
from collections.abc import Iterable

import numpy as np
import pytest

import swingby
from swingby import SIMTask, hints
from swingby.cli import run as command

A, ETA = [4, 1], 0.01
W0 = [[2e-3, 1e-3], [1e-3, 2e-3]]
GD = {"eta": ETA, "dynamics": "gd"}
TASK = SIMTask.from_signal(A)
REPORT = swingby.check(TASK, omega="1e-80", eta="1e-4", dynamics="gd")
RUN = swingby.simulate(TASK, W0, **GD)
SCHEDULE = swingby.predict(TASK, W0, **GD)
TABLE = swingby.compare(TASK, W0, **GD)
TIMES = swingby.predict_gaussian(TASK, 1e-3, 5, **GD)
NAMES = {
    **{"swingby": swingby, "np": np, "A": A, "W0": W0, "ETA": ETA, "GD": GD, "SIMTask": SIMTask},
    **{"task": TASK, "report": REPORT, "run": RUN, "schedule": SCHEDULE, "table": TABLE},
    **{name: getattr(swingby, name) for name in swingby.__all__ if name[0].islower()},
    "times": TIMES,
}

#: What is typed in Python, and a word of the result or of the message.
PYTHON = {
    "report.D4": '["D.4"]',
    "report['D4']": "D.4",
    "report.margins": '["D.4"].margin',
    "report.half_times": "schedule.half_times",
    "report.omega_max": "largest_omega",
    "report.binds": "binding",
    "report.valid": "holds",
    "report['D.4'].holds": "verdict",
    "report['D.4'].slack": "margin",
    "report.constants.p": "P",
    "run.loss": "test_loss",
    "run.times": "steps",
    "run.W_t": "W?",
    "run.n_steps": "last_step",
    "run.half_time": "half_times",
    "run.converged": "outcome",
    "run.order": "task.order",
    "run.df": "to_frame",
    "run.save('run.csv')": "to_frame().to_csv",
    "run['W']": ".W",
    "schedule.order": "task.order",
    "schedule.times": "half_times",
    "schedule.bars": "error",
    "schedule.W": "evaluate",
    "schedule.pivots": "did you mean log_pivots?",
    "schedule['w_11']": "not items; see .events or .to_frame()",
    "schedule[0]": "not items; see .events or .to_frame()",
    "schedule.peaks": "events",
    "table.save('table.csv')": "to_csv",
    "table.df": "to_frame",
    "table.predicted": "to_frame",
    "table['observed']": "to_frame",
    "table.max_error": "largest_error",
    "table.rows[0].time": "observed",
    "schedule.events[0].step": "mean time?",
    "table.plot('table.png')": "savefig",
    "table.plot(figsize=(3, 2))": "size",
    "times.std": "sd",
    "times.median": "quantile",
    "task.mus": "mu",
    "task.a": "signal",
    "task.n_concepts": "s?",
    "task.x_hat": "test_point",
    "task.data": "sample",
    "SIMTask.from_data([[1, 0]], [0])": "from_samples",
    "SIMTask(a=[4, 1])": "from_signal",
    "SIMTask([1, 2], std=0.1)": "sigma",
    "SIMTask.from_signal([4, 1], dim=3)": "[4, 1, 0]",
    "SIMTask.from_samples([[1, 0], [0, 1]], [0.0, 1.0])": "return_inverse",
    "task.sample(n=10)": "n_per_class",
    "task.sample(10, seed=0)": "rng",
    "swingby.SimTask": "SIMTask",
    "swingby.train": "training.train",
    "swingby.training.fit": "train?",
    "swingby.plot": "compare",
    "swingby.run": "simulate",
    "check(task, omega=1e-400, eta=ETA)": 'write "1e-400"',
    "check(task, omega='10%', eta=ETA)": "0.05",
    "check(task, eta=ETA)": 'omega="1e-80"',
    "check(task, omega=1e-3)": "eta=",
    "check(mu=[1, 2], omega=1e-3, eta=ETA)": "SIMTask(mu, sigma)",
    "check(task, omega=[1e-3, 1e-4], eta=ETA)": "sweep",
    "check(task, omega=1e-3, eta=ETA, version='repaired')": "edition",
    "predict(task, W0, ETA, dynamics='gd')": "79",
    "predict(task, W0, lr=ETA)": "2 lr",
    "predict(task, W0, dynamics='sgd', eta=ETA)": "flow",
    "predict(task, W0, steps=100, **GD)": "simulate",
    "predict(task, W0, plot=True, **GD)": ".plot()",
    "predict(task, w0=W0, **GD)": "W0",
    "predict(task, init=W0, **GD)": "W0",
    "predict(task, 1e-3, **GD)": "omega",
    "predict(task, [1e-3, 1e-3], **GD)": "numpy.diag",
    "predict(task, np.ones((2, 5)), **GD)": "U0",
    "predict(task, [[0.1, 0.2], [0.3, 0.4]], **GD)": "U0",
    "predict(task, 1e-400 * np.eye(2), **GD)": "Scaled",
    "predict(task, run, **GD)": "run.W[0]",
    "predict(W0, task, **GD)": "SIMTask",
    "predict(task, scale=1e-3, **GD)": "omega",
    "predict_gaussian(task, omega=1e-3, width=5, **GD)": "scale",
    "predict_gaussian(task, std=1e-3, width=5, **GD)": "scale",
    "predict_network([np.eye(2)], task, eta=ETA)": "lr = eta",
    "simulate(task, omega=1e-3, **GD)": "swingby.gaussian",
    "simulate(task, W0, T=100, **GD)": "steps",
    "simulate(task, W0, steps=1e5, **GD)": "100000",
    "simulate(task, W0, seed=0, **GD)": "rng",
    "simulate(task, W0, record='all', **GD)": "1 is all",
    "simulate(task, W0, eta=-ETA, dynamics='gd')": "positive",
    "compare(schedule, run)": ".task",
    "compare(task, W0, actual=run, **GD)": "observed",
    "gaussian(task, std=1e-3)": "omega",
    "gaussian(task, 1e-3, random_state=0)": "rng",
    "audit('D27')": "D.27",
    "audit(item='D.27')": "items",
    "hunt()": "statement",
    "sweep(omega=[1e-3, 1e-4])": 'grid = {"omega": [...]}',
    "sweep({'signal': [A], 'omega': [1e-3], 'lr': [ETA]}, out='sweep')": "eta",
    "sweep({'signal': [A], 'omega': [1e-3], 'eta': [ETA]}, n_jobs=2)": "workers",
}

#: What is typed behind ``swingby``, and a word of what is printed.
COMMANDS = {
    "run": "mean simulate?",
    "compare --signal 4,1": "mean table?",
    "version": "--version",
    "help": "--help",
    "hunt": "Lemma D.3",
    "sweep": "--out FOLDER",
    "check": "--mu 1,2",
    "check 4 1": "--signal 4,1",
    "check --signal '4 1' --omega 1e-80 --eta 1e-4": "a = (4, 1)",
    "check --signal '[4, 1]' --omega 1e-80 --eta 1e-4": "a = (4, 1)",
    "check --a 4,1": "--signal",
    "check --signal 4,1 --omega 1e-3 --lr 0.01": "--eta, which is 2 lr",
    "check --signal 4,1 --omega 1e-3": "--eta",
    "check --signal 4,1 --w 1,2 --eta 0.01": "--w0",
    "check --signal 4,1 --omega 1e-3 --eta 0.01 --format json": "--out",
    "predict --signal 4,1 --omega 1e-3 --eta 0.01 --out a.pdf": ".json",
    "predict --signal 4,1 --omega 1e-3 --eta 0.01 --steps 9": "simulate",
    "simulate --signal 4,1 --omega 1e-3 --eta 0.01 --rng 0": "--seed",
    "simulate --signal 4,1 --eta 0.01 --w0 missing.csv": "No such file",
    "simulate --signal 4,1 --eta 0.01 --steps 9 --w0 '[[1e-3,0],[0,1e-3]]'": "stopped_early",
    "certify --signal 4,1 --omega 1e-3 --eta 0.01": "check, predict",
    "audit D.27": "--item D.27",
    "figures 8": "--only 8",
}


def answer(text):
    """What a user reads, of a result or of an error."""
    try:
        return str(eval(text, dict(NAMES)))
    except (swingby.SwingbyError, AttributeError, TypeError, KeyError) as error:
        return str(error)


@pytest.mark.parametrize("text", PYTHON)
def test_a_mistake_in_python_leads_on(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert PYTHON[text] in answer(text)


@pytest.mark.parametrize("line", COMMANDS)
def test_a_mistake_on_the_command_line_leads_on(line, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = command(shlex.split(line))
    printed = capsys.readouterr()
    assert COMMANDS[line] in printed.out + printed.err
    assert code == 2 or not printed.err


def results():
    """One of every kind of result, by name."""
    from swingby.lab.figures import all_figures
    from swingby.lab.relu import check as check_data
    from swingby.lab.relu import extremal_vectors

    X, y = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), np.array([1.0, -1.0, 1.0])
    return {
        **{"report": REPORT, "run": RUN, "schedule": SCHEDULE, "table": TABLE, "times": TIMES},
        "repaired": swingby.check(TASK, omega="1e-80", eta="1/720", edition="repaired"),
        "median": swingby.predict(TASK, omega=1e-8, **GD),
        "runs": swingby.simulate_batch([A], [W0], [ETA], dynamics="gd"),
        "schedules": swingby.predict_batch([A], [W0], [ETA], dynamics="gd"),
        "swings": swingby.predict_swing_batch([A], [W0], [ETA], dynamics="gd"),
        "network": swingby.predict_network([np.eye(2) / 10] * 2, TASK, lr="0.1"),
        "ledger": swingby.audit("D.27", progress=False),
        "certificate": swingby.certify(TASK, W0, **GD),
        "certified": swingby.certify_assumptions(TASK, ("1e-95", "1e-85"), "1/720", (1, 2)),
        "hunt": swingby.hunt("D.61", seconds=1),
        "task": SIMTask([1, "1/3"], ["1/20", 0.05]),
        "scaled": swingby.Scaled(W0, "1e-400"),
        "grid": swingby.SweepGrid(signal=[A], omega=[1e-3], eta=[ETA]),
        "figure": all_figures()[0],
        "data": check_data(X, y),
        "directions": extremal_vectors(X, y),
    }


def members(value):
    """A result, and what its attributes hold, without its private ones."""
    yield value
    properties = [name for name, entry in vars(type(value)).items() if isinstance(entry, property)]
    for name in dict.fromkeys([*getattr(value, "__dict__", {}), *properties]):
        held = [] if name.startswith("_") else getattr(value, name)
        for entry in held[:1] if isinstance(held, tuple) else [held]:
            if isinstance(entry, hints.Hinted) and type(entry) is not type(value):
                yield from members(entry)


def test_every_result_prints_as_a_person_reads_it():
    for name, result in results().items():
        for value in members(result):
            text = str(value)
            kind = f"{name}: {type(value).__name__}"
            assert not re.search(r"Fraction\(|array\(|<class| object at 0x|<Verdict", text), kind
            assert len(text) <= 450 or "\n" in text, kind


def test_an_assumption_prints_as_one_sentence():
    text = str(REPORT["D.4"])
    assert text.startswith("D.4 holds, margin +")
    assert REPORT["D.4"].reason in text
    assert len(text) < 250


def test_fractions_are_printed_as_typed():
    report = swingby.check(["4/3", "1/3"], omega="1/3", eta="1/720", dynamics="gd")
    assert "a = (4/3, 1/3), omega = 1/3, beta = 1, eta = 1/720" in str(report)
    assert "eta=1/720" in repr(swingby.predict(A, W0, eta="1/720", dynamics="gd"))
    assert "a = (0.0333333" not in str(swingby.predict(["1/30"], [[1e-3]], **GD))


@pytest.mark.parametrize("package", ["", ".testing", ".training", ".figures", ".relu"])
def test_every_public_record_gives_hints(package):
    module = importlib.import_module(f"swingby{package}")
    records = [getattr(module, name) for name in module.__all__]
    records = [entry for entry in records if dataclasses.is_dataclass(entry)]
    assert [entry for entry in records if not issubclass(entry, hints.Hinted)] == []


def test_hints_name_attributes_that_are_there():
    for name, result in results().items():
        for value in members(result):
            for word in hints._ATTRIBUTES:
                if hasattr(value, word):
                    continue
                with pytest.raises(AttributeError) as caught:
                    getattr(value, word)
                _, _, listed = str(caught.value).partition("did you mean ")
                for text in filter(None, listed.rstrip("?").split(" or ")):
                    holder, path = value, re.match(r"[\w.]*", text)[0]
                    for part in filter(None, path.split(".")):
                        assert hasattr(holder, part), f"{name}: {word} leads to {text}"
                        holder = getattr(holder, part)


def test_hints_name_arguments_that_are_there():
    for function in (getattr(swingby, name) for name in swingby.__all__):
        if not hasattr(function, "__wrapped__"):
            continue
        parameters = inspect.signature(function).parameters
        for word in set(hints._ARGUMENTS) - set(parameters):
            with pytest.raises(swingby.InvalidInput) as caught:
                function(**{word: 1})
            given = re.search(r"; give (\w+)", str(caught.value))
            assert given is None or given[1] in parameters, (function.__name__, word)


@pytest.mark.parametrize("name", ["check", "predict", "compare", "simulate", "certify"])
def test_eta_has_the_same_place_in_every_verb(name):
    verb = getattr(swingby, name)
    start = "1e-3" if name == "check" else W0
    first = verb(A, start, "1/100", dynamics="gd")
    by_name = verb(A, start, eta="1/100", dynamics="gd")
    assert str(first) == str(by_name)
    assert list(inspect.signature(verb).parameters)[2] == "eta"


def test_other_questions_about_attributes_are_answered_as_ever():
    for value in (RUN, SCHEDULE, TABLE, TASK, REPORT, REPORT["D.4"]):
        for name in ("loss_", "_ipython_display_", "_repr_png_", "__array__", "__len_hint__"):
            assert not hasattr(value, name)
        assert getattr(value, "nonsense", 7) == 7
        assert not callable(value)
    for value in (TASK, RUN.initial, TABLE.rows, SCHEDULE.task):
        assert repr(copy.deepcopy(value)) == repr(pickle.loads(pickle.dumps(value))) == repr(value)
    assert not isinstance(RUN, Iterable)
    assert len(list(REPORT)) == 5
    with pytest.raises(TypeError, match="not iterable"):
        iter(RUN)
    assert str(inspect.signature(SIMTask)).startswith("(mu: 'Sequence[Any]', sigma:")
    assert "Parameters" in inspect.getdoc(swingby.simulate)


def test_the_error_of_a_property_is_not_hidden():
    class Broken(hints.Hinted):
        @property
        def loss(self):
            return self._missing

    with pytest.raises(AttributeError, match=r"'_missing'$"):
        _ = Broken().loss


BLOCKED = """
import sys
sys.modules.update(dict.fromkeys(("torch", "hypothesis", "pyarrow", "distributed")))
import swingby
W0 = [[2e-3, 1e-3], [1e-3, 2e-3]]
table = swingby.compare([4, 1], W0, 0.01, dynamics="gd")
grid = {"signal": [[4, 1]], "omega": 1e-3, "eta": 0.01}
for call in (
    lambda: swingby.training.train(swingby.training.Setting(swingby.SIMTask([1, 2], 0.1))),
    lambda: swingby.diffusion.UNet,
    lambda: swingby.testing.tasks,
    lambda: table.to_parquet("table.parquet"),
    lambda: swingby.sweep(grid, out="sweep", executor="dask"),
    lambda: swingby.simulate_batch([4, 1], W0, 0.01, device="cpu"),
):
    try:
        call()
    except swingby.MissingExtra as error:
        print(str(error).partition("pip install ")[2])
"""


def test_a_missing_extra_names_its_pip_line(fresh, tmp_path):
    lines = fresh(BLOCKED, cwd=tmp_path).splitlines()
    extras = ["torch", "torch", "testing", "report", "cluster", "torch"]
    assert lines == [f'"swingby[{extra}]"' for extra in extras]
