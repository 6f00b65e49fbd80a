"""Files that are broken, or made to do harm: refused by name, and nothing in them is run."""

import io
import json
import os
import pickle
import zipfile

import numpy as np
import pytest

from swingby.diffusion.course import Cell, Course, Record
from swingby.diffusion.plan import Plan, default_plan
from swingby.diffusion.study import Study, run_study
from swingby.errors import InvalidInput
from swingby.report.files import sealed

HUGE = 10**400
CELL = Cell(0.4, 0.8, 1.0, "adamw")


class Payload:
    """Makes a file where it is unpickled."""

    def __init__(self, proof):
        self.proof = proof

    def __reduce__(self):
        return (os.mkdir, (str(self.proof),))


@pytest.fixture
def proof(tmp_path):
    """A path that exists as soon as a payload has run; the payload is shown to work."""
    trial = tmp_path / "trial"
    pickle.loads(pickle.dumps(Payload(trial)))
    assert trial.exists()
    path = tmp_path / "proof"
    yield path
    assert not path.exists()


def refuses(call, path):
    """The one error that is allowed, with the file in it."""
    with pytest.raises(InvalidInput) as caught:
        call()
    assert str(caught.value.value) == str(path)


# --- safetensors: checkpoints and classifiers


def safetensors_with(header, body=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + body


def one_tensor(**changes):
    entry = {"dtype": "F32", "shape": [1], "data_offsets": [0, 4], **changes}
    return safetensors_with({"__metadata__": {"step": "0"}, "a": entry}, b"\0" * 4)


BROKEN = {
    "empty": b"",
    "text": b"not a file of tensors",
    "zeros": bytes(100),
    "no end of the header": (2**63).to_bytes(8, "little") + b"{}",
    "a header longer than the file": (10**6).to_bytes(8, "little") + b"{}",
    "a huge tensor": one_tensor(shape=[10**12], data_offsets=[0, 4 * 10**12]),
    "a shape that overflows": one_tensor(shape=[2**40, 2**40]),
    "a negative place": one_tensor(data_offsets=[-4, 0]),
    "an unknown type": one_tensor(dtype="PICKLE"),
    "nested": safetensors_with(b"[" * 100_000 + b"]" * 100_000),
    "no step": safetensors_with({"__metadata__": {"identity": "0"}}),
    "a step that is no number": safetensors_with({"__metadata__": {"step": "1e9"}}),
    "a step of many digits": safetensors_with({"__metadata__": {"step": "9" * 5000}}),
    "another format": b"PK\x03\x04" + bytes(60),
}


@pytest.fixture
def on_torch():
    pytest.importorskip("torch")
    pytest.importorskip("safetensors")


@pytest.fixture
def training(on_torch, quick, tmp_path):
    from swingby.diffusion.train import train_course

    folder = tmp_path / "course"
    folder.mkdir()
    return lambda: train_course(quick, CELL, 3, folder, every=1e9)


@pytest.mark.torch
@pytest.mark.parametrize("how", BROKEN)
def test_broken_tensors(training, tmp_path, how):
    path = tmp_path / "course" / "checkpoint.safetensors"
    path.write_bytes(BROKEN[how])
    refuses(training, path)


@pytest.mark.torch
def test_what_is_there_by_the_name_of_tensors(training, tmp_path, proof):
    import torch

    path = tmp_path / "course" / "checkpoint.safetensors"
    path.write_bytes(pickle.dumps(Payload(proof)))
    refuses(training, path)
    torch.save({"a": Payload(proof)}, path)
    refuses(training, path)
    path.unlink()
    path.mkdir()
    refuses(training, path)


@pytest.mark.torch
def test_tensors_that_were_cut_off_anywhere(training, tmp_path):
    training()
    path = tmp_path / "course" / "checkpoint.safetensors"
    whole = path.read_bytes()
    for size in (1, 8, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        refuses(training, path)


def without(name):
    return lambda tensors: tensors.pop(name)


def changed(name, make):
    def change(tensors):
        tensors[name] = make(tensors[name])

    return change


SPOILED = {
    "no weight": without("network.enter.weight"),
    "no mean": without("mean.enter.weight"),
    "no schedule": without("schedule.start"),
    "no sums": without("sums"),
    "no number of sums": without("summed"),
    "no moment": without("optimizer.3.exp_avg_sq"),
    "no state of a weight": lambda tensors: [
        tensors.pop(name) for name in list(tensors) if name.startswith("optimizer.3.")
    ],
    "a weight of another shape": changed("network.enter.bias", lambda one: one[:3]),
    "a moment of another shape": changed("optimizer.3.exp_avg", lambda one: one.flatten()[:1]),
    "sums of another shape": changed("sums", lambda one: one[:2]),
    "numbers of sums": changed("summed", lambda one: one.repeat(2)),
    "sums of minus one step": changed("summed", lambda one: -1 - one),
    "a weight too many": changed("network.other", lambda one: one),
    "a place that is no number": changed("optimizer.x.step", lambda one: one),
}


@pytest.mark.torch
@pytest.mark.parametrize("how", SPOILED)
def test_checkpoints_that_lack_something(training, quick, tmp_path, how):
    import torch
    from safetensors.torch import load_file, safe_open, save_file

    from swingby.diffusion.train import train_course

    folder = tmp_path / "course"
    path = folder / "checkpoint.safetensors"
    train_course(quick, CELL, 3, folder, every=1e9, until=2)
    with safe_open(path, framework="pt") as file:
        header = file.metadata()
    tensors = load_file(path)
    tensors.setdefault("network.other", torch.zeros(2))
    tensors.setdefault("optimizer.x.step", torch.zeros(2))
    for name in ("network.other", "optimizer.x.step"):
        if name not in how_names(how):
            del tensors[name]
    SPOILED[how](tensors)
    save_file({name: one.contiguous() for name, one in tensors.items()}, path, metadata=header)
    refuses(training, path)


def how_names(how):
    return {
        "a weight too many": ("network.other",),
        "a place that is no number": ("optimizer.x.step",),
    }.get(how, ())


@pytest.mark.torch
@pytest.mark.parametrize("step", ["-1", "13", "99999999999999999999"])
def test_a_checkpoint_at_a_step_that_cannot_be(training, tmp_path, step):
    from safetensors.torch import load_file, safe_open, save_file

    training()
    path = tmp_path / "course" / "checkpoint.safetensors"
    with safe_open(path, framework="pt") as file:
        header = file.metadata()
    save_file(load_file(path), path, metadata={**header, "step": step})
    refuses(training, path)


# --- metrics: JSON lines


def line_with(**changes):
    line = {
        "step": 0, "loss": 1.0, "diffusion": 0.5, "latent": 0.25, "reconstruction": 0.25,
        "gamma_min": -5.0, "gamma_max": 10.0, "w": [[0.5, 0.5]] * 2,
        "kinds": [[0, 0, 0, 0, 0, 0, 1]] * 4, "seconds": 0.1,
    }  # fmt: skip
    for name, value in changes.items():
        if value is KeyError:
            del line[name]
        else:
            line[name] = value
    return json.dumps(sealed(line))


LINES = {
    "empty": "",
    "no JSON": "step 0",
    "nested": "[" * 100_000 + "]" * 100_000,
    "nested within": line_with()[:-1] + ', "w": ' + "[" * 500 + "]" * 500 + "}",
    "many digits": line_with().replace("1.0", "9" * 5000, 1),
    "a list": "[1, 2]",
    "nothing": "null",
    "no step": line_with(step=KeyError),
    "a step of text": line_with(step="0"),
    "half a step": line_with(step=0.5),
    "a negative step": line_with(step=-1),
    "no loss": line_with(loss=KeyError),
    "a loss that is not a number": line_with(loss=float("nan")),
    "an infinite loss": line_with(loss=float("inf")),
    "a loss of text": line_with(loss="1.0"),
    "a loss of 400 digits": line_with(loss=HUGE),
    "a loss that is true": line_with(loss=True),
    "a step that is false": line_with(step=False),
    "a point of text": line_with(w=[["0.5", "0.5"]] * 2),
    "a point of 400 digits": line_with(w=[[HUGE, 0.5]] * 2),
    "a point that is not a number": line_with(w=[[float("nan"), 0.5]] * 2),
    "a point far outside": line_with(w=[[2e6, 0.5]] * 2),
    "a point that is true": line_with(w=[[True, False]] * 2),
    "three corners": line_with(w=[[0.5, 0.5]] * 3),
    "ragged": line_with(w=[[0.5], [0.5, 0.5]]),
    "a share below 0": line_with(kinds=[[-1, 0, 0, 0, 0, 0, 2]] * 4),
    "no shares": line_with(kinds=KeyError),
    "a field too many": line_with(extra=1),
}


@pytest.mark.torch
@pytest.mark.parametrize("how", LINES)
def test_broken_metrics(training, quick, tmp_path, how):
    folder = tmp_path / "course"
    kept = Record(folder, quick, CELL, 3)
    path = folder / "metrics.jsonl"
    header = json.dumps({"identity": kept.identity})
    path.write_text(f"{header}\n{line_with()}\n")
    assert len(kept.lines()) == 1
    path.write_text(f"{header}\n{LINES[how]}\n")
    refuses(kept.lines, path)
    refuses(training, path)


@pytest.mark.torch
@pytest.mark.parametrize("how", ["folder", "bytes", "header"])
def test_metrics_that_are_no_text(training, tmp_path, how):
    path = tmp_path / "course" / "metrics.jsonl"
    if how == "folder":
        path.mkdir()
    else:
        path.write_bytes(b"\xff\xfe\n" if how == "bytes" else b"[" * 100_000 + b"\n")
    refuses(training, path)


# --- images: npz


def npz_with(array_bytes, name="images.npy"):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        file.writestr(name, array_bytes)
    return stream.getvalue()


def npy_with(shape, descr="'|u1'", body=b""):
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    text += b" " * (64 - (len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + body


IMAGES = {
    "empty": b"",
    "text": b"images",
    "no array": npz_with(b"images"),
    "another name": npz_with(npy_with((1, 3, 1, 1), body=b"\0\0\0"), "pictures.npy"),
    "cut off": npz_with(npy_with((7, 3, 8, 8), body=b"\0")),
    "huge": npz_with(npy_with((10**6, 3, 10**6, 10**6), body=b"\0")),
    "overflowing": npz_with(npy_with((2**62, 3, 2**62, 8), body=b"\0")),
    "floats": npz_with(npy_with((1, 3, 1, 1), "'<f4'", bytes(12))),
    "two axes": npz_with(npy_with((3, 3), body=bytes(9))),
    "two channels": npz_with(npy_with((1, 2, 1, 1), body=bytes(2))),
    "objects": npz_with(npy_with((1, 3, 1, 1), "'|O'", b"")),
    "a header to evaluate": npz_with(npy_with("__import__('os').getpid()", body=b"\0")),
}


@pytest.mark.torch
@pytest.mark.parametrize("how", IMAGES)
def test_broken_images(on_torch, quick, tmp_path, how):
    kept = Record(tmp_path / "course", quick, CELL, 3)
    path = tmp_path / "course" / "images" / "0000005.npz"
    refuses(lambda: kept.images(5), path)
    path.write_bytes(IMAGES[how])
    refuses(lambda: kept.images(5), path)


@pytest.mark.torch
def test_pickles_among_the_images(on_torch, quick, tmp_path, proof):
    kept = Record(tmp_path / "course", quick, CELL, 3)
    path = tmp_path / "course" / "images" / "0000005.npz"
    np.savez(path, images=np.array([Payload(proof)] * 3, dtype=object).reshape(1, 3, 1, 1))
    refuses(lambda: kept.images(5), path)
    path.write_bytes(pickle.dumps(Payload(proof)))
    refuses(lambda: kept.images(5), path)
    path.unlink()
    path.mkdir()
    refuses(lambda: kept.images(5), path)


# --- study.json and plan.toml


def plain_study():
    plan = default_plan("tiny")
    kinds = np.zeros((2, 4, 7))
    kinds[:, :, 6] = 1
    cell, seed = plan.jobs[0]
    course = Course(cell, seed, [0, 10], np.zeros((2, 2, 2)), kinds, [3.0, 2.0])
    return Study(plan, (course,), {"swingby": "1"}).to_dict()


def deep(size):
    return "[" * size + "]" * size


def study_with(*where, value):
    plain = plain_study()
    place = plain
    for step in where[:-1]:
        place = place[step]
    if value is KeyError:
        del place[where[-1]]
    else:
        place[where[-1]] = value
    return json.dumps(plain)


NAN, INFINITE = float("nan"), float("inf")
STUDIES = {
    "empty": "",
    "no JSON": "{",
    "nested": deep(100_000),
    "nested objects": '{"a":' * 100_000 + "1" + "}" * 100_000,
    "a number": "3",
    "a list": "[]",
    "nothing in it": "{}",
    "many digits": study_with("courses", 0, "seed", value=5).replace(
        '"seed": 5', '"seed": ' + "9" * 5000
    ),
    "another version": study_with("swingby_study", value=99),
    "a field too many": study_with("extra", value=1),
    "a text among the courses": study_with("courses", 0, value="x"),
    "courses of text": study_with("courses", value="x"),
    "courses as a number": study_with("courses", value=3),
    "a course with more": study_with("courses", 0, "extra", value=1),
    "a loss of text": study_with("courses", 0, "loss", value="32"),
    "a loss that is not a number": study_with("courses", 0, "loss", value=[NAN, 2.0]),
    "an infinite loss": study_with("courses", 0, "loss", value=[INFINITE, 2.0]),
    "a loss of 400 digits": study_with("courses", 0, "loss", value=[HUGE, 2.0]),
    "steps that fall": study_with("courses", 0, "steps", value=[10, 0]),
    "steps of 400 digits": study_with("courses", 0, "steps", value=[0, HUGE]),
    "half a step": study_with("courses", 0, "steps", value=[0, 0.5]),
    "responses of another shape": study_with("courses", 0, "w", value=[[0.5]]),
    "shares outside": study_with("courses", 0, "kinds", value=[[[2.0] * 7] * 4] * 2),
    "a contrast of text": study_with("courses", 0, "cell", "contrast", value="red"),
    "a contrast of 0": study_with("courses", 0, "cell", "contrast", value=0),
    "an optimizer that is a list": study_with("courses", 0, "cell", "optimizer", value=["sgd"]),
    "a cell of text": study_with("courses", 0, "cell", value="x"),
    "a course of another plan": study_with("courses", 0, "seed", value=7),
    "a seed that is not whole": study_with("courses", 0, "seed", value=0.5),
    "made with a number": study_with("made_with", value=3),
    "another digest": study_with("digest", value="0" * 16),
    "a plan that was edited": study_with("plan", "share", value=0.5),
    "a plan of text": study_with("plan", value="tiny"),
    "a plan with more": study_with("plan", "extra", value=1),
    "a preset of text": study_with("plan", "preset", value="tiny"),
    "a preset of 400 digits": study_with("plan", "preset", "steps", value=HUGE),
    "a preset that is not a number": study_with("plan", "preset", "gamma_min", value=NAN),
    "a layout of text": study_with("plan", "preset", "layout", "channels", value="16"),
    "a layout with more": study_with("plan", "preset", "layout", "extra", value=1),
    "levels of text": study_with("plan", "gain", value="12"),
    "levels of lists": study_with("plan", "gain", value=[[1]]),
    "optimizers of text": study_with("plan", "optimizers", value="sgd"),
    "an optimizer without a name": study_with("plan", "optimizers", 0, "name", value=KeyError),
    "an optimizer of lists": study_with("plan", "optimizers", 0, "name", value=["sgd"]),
    "a rate of text": study_with("plan", "optimizers", 0, "learning_rate", value="fast"),
    "one optimizer": study_with("plan", "optimizers", value={"name": "sgd", "learning_rate": 1}),
    "a prediction of a list": study_with("plan", "predictions", 0, "concept", value=["size"]),
    **{f"no {name}": study_with(name, value=KeyError) for name in plain_study()},
    **{
        f"no {name} of a course": study_with("courses", 0, name, value=KeyError)
        for name in plain_study()["courses"][0]
    },
    "no steps of a preset": study_with("plan", "preset", "steps", value=KeyError),
}


@pytest.mark.parametrize("how", STUDIES)
def test_broken_studies(tmp_path, how):
    path = tmp_path / "study.json"
    path.write_text(json.dumps(plain_study()))
    assert len(Study.load(path).courses) == 1
    path.write_text(STUDIES[how])
    refuses(lambda: Study.load(path), path)


def test_studies_nested_as_deep_as_python_just_reads(tmp_path):
    # Between what json reads and what can be shown there are some levels.
    path = tmp_path / "study.json"
    for size in range(880, 1000, 4):
        path.write_text(deep(size))
        refuses(lambda: Study.load(path), path)
        path.write_text(json.dumps(plain_study()).replace('"made_with"', f'"x": {deep(size)}, "y"'))
        refuses(lambda: Study.load(path), path)


def test_what_is_no_file_of_a_study(tmp_path, proof):
    path = tmp_path / "study.json"
    refuses(lambda: Study.load(path), path)
    path.mkdir()
    refuses(lambda: Study.load(path), path)
    path.rmdir()
    path.write_bytes(pickle.dumps(Payload(proof)))
    refuses(lambda: Study.load(path), path)
    path.write_bytes(b"\xff\xfe")
    refuses(lambda: Study.load(path), path)
    for wrong in (None, 3, b"study.json", ["study.json"]):
        with pytest.raises(InvalidInput, match=r"^path"):
            Study.load(wrong)
    with pytest.raises(InvalidInput, match=r"^path"):
        Study.load("study\0.json")


def test_a_file_far_too_large_is_not_read(tmp_path):
    path = tmp_path / "study.json"
    with path.open("wb") as file:
        file.truncate(300_000_000)
    refuses(lambda: Study.load(path), path)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may do all")
def test_files_that_must_not_be_read_or_written(tmp_path):
    path = tmp_path / "study.json"
    path.write_text(json.dumps(plain_study()))
    study = Study.load(path)
    path.chmod(0)
    refuses(lambda: Study.load(path), path)
    refuses(lambda: study.save(path), path)


def test_a_study_that_cannot_be_written(tmp_path):
    study = Study.from_dict(plain_study())
    for path in (tmp_path, tmp_path / "not there" / "study.json"):
        refuses(lambda path=path: study.save(path), path)


@pytest.mark.torch
@pytest.mark.parametrize("text", ["", "{", "a = " + deep(100_000), "a = 3", "folder", "missing"])
def test_a_broken_claim_to_a_folder(on_torch, two_cells, tmp_path, text):
    """With data in it, a folder needs the plan they were made for."""
    (tmp_path / "study.json").write_text("{}")
    path = tmp_path / "plan.toml"
    if text == "folder":
        path.mkdir()
    elif text != "missing":
        path.write_text(text)
    with pytest.raises(InvalidInput, match=r"^(plan|folder)"):
        run_study(two_cells, tmp_path)
    for wrong in (None, 3, b"plan.toml", path / "none"):
        with pytest.raises(InvalidInput, match=r"^plan"):
            Plan.load(wrong)
