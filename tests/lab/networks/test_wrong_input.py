"""What makes no sense is refused in words, before anything is computed or allocated."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from swingby.errors import InvalidInput, MissingExtra
from swingby.lab.networks import Data, Network, Optimizer, Setting, TrainingRun, clock, train
from swingby.theory.task import SIMTask

NAN, INF = float("nan"), float("inf")
TASK = SIMTask([1, 2], ["1/20", "1/20"], dim=4)
SMALL = Setting(TASK, Data(5), steps=2)
GD = Optimizer("gd")

NEGATIVE = (-1, NAN, INF, "x", "", True, [1], 1e400, "1e-400")
NOT_WHOLE = (0, -1, 2.5, NAN, INF, "x", "", True, [1], 10**30)
NOT_WORDS = ("", "SGD", "other", 3, True, None, ["sgd"])
NOT_BOOLEAN = (0, 1, None, "yes", NAN)

#: What is made, and values that its fields refuse.
FIELDS = {
    Data: {
        "n_per_class": NOT_WHOLE,
        "center_cluster rotation": NOT_BOOLEAN,
        "truncation": (0, *NEGATIVE),
        "free_sigma": (None, *NEGATIVE),
    },
    Network: {
        "depth width": NOT_WHOLE,
        "activation initialization": NOT_WORDS,
        "bias symmetric": NOT_BOOLEAN,
        "scale": (None, *NEGATIVE),
    },
    Optimizer: {
        "kind loss shuffle": NOT_WORDS,
        "lr": (0, None, *NEGATIVE),
        "batch_size": (None, *NOT_WHOLE),
        "weight_decay": (None, *NEGATIVE),
    },
}


@pytest.mark.parametrize("kind", FIELDS)
def test_fields(kind):
    for names, values in FIELDS[kind].items():
        for name in names.split():
            for value in values:
                with pytest.raises(InvalidInput, match=f"^{name} "):
                    kind(**{name: value})


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Setting(3), "task must be a SIMTask, got 3"),
        (lambda: Setting(TASK, epochs=2, steps=3), "steps and epochs exclude each other"),
        (lambda: Setting(TASK, epochs=-1), "epochs must be at least 0"),
        (lambda: Setting(TASK, steps=10**9), "steps must be at most"),
        (lambda: Setting(TASK, epochs=10**8), "epochs must make at most"),
        (lambda: Setting(TASK, seed=True), "seed must be a number"),
        (lambda: Setting(TASK, precision="float16"), "precision must be float32 or float64"),
        (lambda: Setting(TASK, optimizer=GD), "steps must be given for gd"),
        (lambda: Setting(TASK, Data(None)), "steps must be given for infinite data"),
        (lambda: Setting(TASK, Data(None), steps=3), "kind must be gd, adam or adamw for infinite"),
        (
            lambda: Setting(TASK, Data(None), Network(2, activation="relu"), GD, steps=3),
            "infinite data. needs a linear network, not relu",
        ),
        (lambda: Data(None, truncation=0.5), "truncation needs training points"),
        (lambda: Network(2, symmetric=True), "symmetric is f.x. = U U.T x"),
        (lambda: Setting(SIMTask.from_signal([4, 1])), "n_per_class must be None: points cannot"),
        (lambda: clock(TASK), "setting must be a Setting"),
    ],
)
def test_settings(make, words):
    with pytest.raises(InvalidInput, match=words):
        make()


def with_(**changes):
    return replace(SMALL, **changes)


#: Arguments of train() after the settings, and what is said of them.
CALLS = [
    ((), {}, "settings must be at least one Setting"),
    ([SMALL, 3], {}, "settings must be a Setting, got 3"),
    ([SMALL, with_(steps=3)], {}, r"settings must agree in steps, got \[2, 3\] steps"),
    ([SMALL, with_(data=Data(100))], {}, "settings must agree in steps per epoch"),
    ([SMALL, with_(task=SIMTask([1], dim=4))], {}, "settings must agree in concepts"),
    (with_(task=SIMTask([1] * 17)), {}, "must be at most 16|GiB"),
    (with_(network=Network(2, 3, "relu")), {"gradient": "written"}, "gradient is for linear"),
    ([SMALL, SMALL], {"start": [[np.eye(4), np.zeros(4)]]}, "start must have 2, got 1 entries"),
    *(
        (SMALL, {name: value}, words)
        for name, value, words in (
            ("record", "sometimes", "record must be"),
            ("record", 0, "record must be at least 1"),
            ("gradient", "numerical", "gradient must be auto, written or autograd"),
            ("device", "tpu", "device must be"),
            ("every", NAN, "every must be"),
            ("progress", 1, "progress must be True or False"),
            ("start", [], "start must be 2 arrays, got 0 arrays"),
            ("start", {"weight": np.eye(4), "bias": np.zeros(4)}, "start must be a sequence"),
            ("start", [np.eye(3), np.zeros(4)], r"start\[0\] must have \(4, 4\)"),
            ("start", [np.eye(4), np.zeros((4, 1))], r"start\[1\] must have \(4,\)"),
            ("start", [np.eye(4) * NAN, np.zeros(4)], r"start\[0\] must be finite"),
            ("start", [np.eye(4) * 1j, np.zeros(4)], r"start\[0\] must be an array of real"),
            ("start", [[[1, 2], [3]], np.zeros(4)], r"start\[0\] must be a rectangular"),
        )
    ),
]


@pytest.mark.torch
@pytest.mark.parametrize(("settings", "named", "words"), CALLS)
def test_calls(settings, named, words):
    pytest.importorskip("torch")
    with pytest.raises(InvalidInput, match=words):
        train(settings, **named)


HUGE = [
    ({}, with_(data=Data(10_000_000), task=SIMTask([1, 2], dim=1024))),
    ({}, with_(network=Network(64, 8192))),
    ({}, with_(task=SIMTask([1] * 16), steps=10_000)),
    ({"record": "every"}, with_(steps=10**8, task=SIMTask([1] * 4))),
    ({"record": 3}, with_(steps=10**8, task=SIMTask([1] * 6))),
    ({}, with_(network=Network(2, 8192, "relu"), data=Data(1_000_000), optimizer=GD)),
]


@pytest.mark.torch
@pytest.mark.parametrize(("named", "huge"), HUGE)
def test_absurd_sizes_are_refused_before_allocation(named, huge, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.setattr("swingby.lab.networks.training.initial_weights", None)
    with pytest.raises(InvalidInput, match=r"need about \d+ GiB of memory"):
        train(huge, **named)
    many = with_(task=SIMTask([1] * 10), steps=10_000)
    with pytest.raises(InvalidInput, match=r"settings need about 17 GiB .*got 20 networks"):
        train([replace(many, seed=seed) for seed in range(20)])


@pytest.mark.torch
def test_of_a_run():
    pytest.importorskip("torch")
    run = train([SMALL, with_(seed=1)])
    calls = [(run.extrema, one) for one in (-1, 2, True, 0.5, "x", None, NAN)]
    calls += [(run.parameters, one) for _, one in calls]
    for call, wrong in calls:
        with pytest.raises(InvalidInput, match=r"^run "):
            call(wrong)
    for wrong in (0, -1, 1e-4, NAN, INF, "x", True, None):
        with pytest.raises(InvalidInput, match=r"^least "):
            run.descents(wrong)
    mixed = train([SMALL, with_(network=Network(2))])
    with pytest.raises(InvalidInput, match="differ in shape"):
        mixed.parameters(0)


@pytest.mark.torch
@pytest.mark.parametrize("name", ["cuda", "cuda:0"])
def test_a_missing_gpu_is_named(name):
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("torch finds a CUDA device")
    with pytest.raises(InvalidInput, match=f"needs a GPU that torch can use.*got {name}"):
        train(SMALL, device=name)


def test_without_torch_settings_and_archives_work_and_training_names_it(
    tmp_path, monkeypatch, fresh
):
    fresh(
        "import sys; sys.modules['torch'] = None\n"
        "import swingby; from swingby.lab.networks import Setting, TrainingRun, clock\n"
        "setting = Setting(swingby.SIMTask([1, 2]))\n"
        "assert Setting.from_dict(setting.to_dict()) == setting and clock(setting) > 0"
    )
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(InvalidInput, match="path must be a readable file"):
        TrainingRun.load(tmp_path / "none.npz")
    with pytest.raises(MissingExtra, match=r'torch is not installed: pip install "swingby\[torch'):
        train(SMALL)
