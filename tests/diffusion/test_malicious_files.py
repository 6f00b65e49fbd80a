"""Files that are broken, or made to do harm: refused by name, and nothing in them is run."""

import io
import json
import os
import pickle
import zipfile
from dataclasses import replace

import numpy as np
import pytest

from swingby.diffusion.course import Course
from swingby.diffusion.presets import TINY
from swingby.diffusion.study import Study
from swingby.errors import InvalidInput

HUGE = 10**400


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
def training(on_torch, quick, judge, tmp_path):
    from swingby.diffusion.train import train_course

    folder = tmp_path / "course"
    folder.mkdir()
    return lambda: train_course(quick, 0.8, 3, judge, folder, every=1e9)


@pytest.fixture
def classifying(on_torch, quick, tmp_path, monkeypatch):
    from swingby.diffusion import classifier_file

    monkeypatch.setattr(classifier_file, "train_classifier", None)
    folder = tmp_path / "course"
    folder.mkdir(exist_ok=True)
    return lambda: classifier_file.classifier_of(quick, folder)


@pytest.mark.torch
@pytest.mark.parametrize("how", BROKEN)
@pytest.mark.parametrize("which", ["checkpoint", "classifier"])
def test_broken_tensors(training, classifying, tmp_path, which, how):
    path = tmp_path / "course" / f"{which}.safetensors"
    path.write_bytes(BROKEN[how])
    refuses(training if which == "checkpoint" else classifying, path)


@pytest.mark.torch
@pytest.mark.parametrize("which", ["checkpoint", "classifier"])
def test_a_pickle_by_the_name_of_tensors(training, classifying, tmp_path, which, proof):
    import torch

    path = tmp_path / "course" / f"{which}.safetensors"
    call = training if which == "checkpoint" else classifying
    path.write_bytes(pickle.dumps(Payload(proof)))
    refuses(call, path)
    torch.save({"a": Payload(proof)}, path)
    refuses(call, path)


@pytest.mark.torch
@pytest.mark.parametrize("which", ["checkpoint", "classifier"])
def test_a_folder_where_tensors_should_be(training, classifying, tmp_path, which):
    path = tmp_path / "course" / f"{which}.safetensors"
    path.mkdir()
    refuses(training if which == "checkpoint" else classifying, path)


@pytest.mark.torch
def test_tensors_that_were_cut_off_anywhere(training, classifying, judged_by, quick, tmp_path):
    training()
    judged_by(tmp_path / "course", quick)
    for which, call in (("checkpoint", training), ("classifier", classifying)):
        path = tmp_path / "course" / f"{which}.safetensors"
        whole = path.read_bytes()
        for size in (1, 8, 100, len(whole) // 2, len(whole) - 1):
            path.write_bytes(whole[:size])
            refuses(call, path)


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
    train_course(quick, 0.8, 3, judge_of(torch), folder, every=1e9, until=2)
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


def judge_of(torch):
    from swingby.diffusion.classifier import ConceptClassifier

    with torch.random.fork_rng(devices=[]):
        return ConceptClassifier(4)


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


@pytest.mark.torch
@pytest.mark.parametrize(
    "claim", [[], [1.0], [1.0] * 3, 1.0, [[1.0], [1.0]], [1.0, float("nan")], [1.0, 2.0]], ids=str
)
def test_a_classifier_with_a_claim_that_cannot_be(classifying, judged_by, quick, tmp_path, claim):
    path = judged_by(tmp_path / "course", quick, accuracy=claim)
    refuses(classifying, path)


@pytest.mark.torch
def test_a_classifier_of_another_width(classifying, judged_by, quick, tmp_path):
    from safetensors.torch import load_file, safe_open, save_file

    path = judged_by(tmp_path / "course", quick)
    with safe_open(path, framework="pt") as file:
        header = file.metadata()
    whole = load_file(path)
    for name in whole:
        save_file({k: v for k, v in whole.items() if k != name}, path, metadata=header)
        refuses(classifying, path)
    save_file({k: v[:1].clone() for k, v in whole.items()}, path, metadata=header)
    refuses(classifying, path)


# --- metrics: JSON lines


def line_with(**changes):
    line = {
        "step": 0, "loss": 1.0, "diffusion": 0.5, "latent": 0.25, "reconstruction": 0.25,
        "gamma_min": -5.0, "gamma_max": 10.0, "classes": [[0.5, 0.5]] * 4, "right": [0.0] * 4,
        "seconds": 0.1,
    }  # fmt: skip
    for name, value in changes.items():
        if value is KeyError:
            del line[name]
        else:
            line[name] = value
    return json.dumps(line)


LINES = {
    "empty": "",
    "no JSON": "step 0",
    "nested": "[" * 100_000 + "]" * 100_000,
    "nested within": line_with()[:-1] + ', "classes": ' + "[" * 500 + "]" * 500 + "}",
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
    "a point of text": line_with(classes=[["0.5", "0.5"]] * 4),
    "a point of 400 digits": line_with(classes=[[HUGE, 0.5]] * 4),
    "a point that is not a number": line_with(classes=[[float("nan"), 0.5]] * 4),
    "a point far outside": line_with(classes=[[2.0, 0.5]] * 4),
    "a point that is true": line_with(classes=[[True, False]] * 4),
    "three classes": line_with(classes=[[0.5, 0.5]] * 3),
    "ragged": line_with(classes=[[0.5], [0.5, 0.5], [0.5], [0.5]]),
    "a share below 0": line_with(right=[-1.0, 0, 0, 0]),
    "no shares": line_with(right=KeyError),
    "a field too many": line_with(extra=1),
}


@pytest.mark.torch
@pytest.mark.parametrize("how", LINES)
def test_broken_metrics(training, quick, tmp_path, how):
    from swingby.diffusion.record import Record

    folder = tmp_path / "course"
    kept = Record(folder, quick, 0.8, 3)
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
    from swingby.diffusion.record import Record

    kept = Record(tmp_path / "course", quick, 0.8, 3)
    path = tmp_path / "course" / "images" / "0000005.npz"
    refuses(lambda: kept.images(5), path)
    path.write_bytes(IMAGES[how])
    refuses(lambda: kept.images(5), path)


@pytest.mark.torch
def test_pickles_among_the_images(on_torch, quick, tmp_path, proof):
    from swingby.diffusion.record import Record

    kept = Record(tmp_path / "course", quick, 0.8, 3)
    path = tmp_path / "course" / "images" / "0000005.npz"
    np.savez(path, images=np.array([Payload(proof)] * 3, dtype=object).reshape(1, 3, 1, 1))
    refuses(lambda: kept.images(5), path)
    path.write_bytes(pickle.dumps(Payload(proof)))
    refuses(lambda: kept.images(5), path)
    path.unlink()
    path.mkdir()
    refuses(lambda: kept.images(5), path)


# --- study.json and preset.json


def plain_study():
    preset = replace(TINY, contrasts=(0.2,))
    course = Course(
        0.2, 0, [0, 10], np.full((2, 4, 2), 0.5), np.zeros((2, 4)), np.array([3.0, 2.0])
    )
    return Study(preset, (course,), {0.2: 0.9995}, {"swingby": "1"}).to_dict()


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
    "losses of text": study_with("courses", 0, "loss", value=["3", "2"]),
    "a loss of text": study_with("courses", 0, "loss", value="32"),
    "a loss that is not a number": study_with("courses", 0, "loss", value=[NAN, 2.0]),
    "an infinite loss": study_with("courses", 0, "loss", value=[INFINITE, 2.0]),
    "a loss of 400 digits": study_with("courses", 0, "loss", value=[HUGE, 2.0]),
    "steps that fall": study_with("courses", 0, "steps", value=[10, 0]),
    "steps of 400 digits": study_with("courses", 0, "steps", value=[0, HUGE]),
    "half a step": study_with("courses", 0, "steps", value=[0, 0.5]),
    "points of another shape": study_with("courses", 0, "classes", value=[[0.5]]),
    "points outside": study_with("courses", 0, "right", value=[[2.0] * 4] * 2),
    "a contrast of text": study_with("courses", 0, "contrast", value="red"),
    "a contrast of 0": study_with("courses", 0, "contrast", value=0),
    "a seed that is not whole": study_with("courses", 0, "seed", value=0.5),
    "an accuracy that is not a number": study_with("classifier", 0, "accuracy", value=NAN),
    "an accuracy of 400 digits": study_with("classifier", 0, "accuracy", value=HUGE),
    "an accuracy of 2": study_with("classifier", 0, "accuracy", value=2),
    "an accuracy of text": study_with("classifier", 0, "accuracy", value="good"),
    "a classifier of text": study_with("classifier", value="good"),
    "a classifier of numbers": study_with("classifier", value=[1.0]),
    "a classifier with more": study_with("classifier", 0, "extra", value=1),
    "made with a number": study_with("made_with", value=3),
    "a preset of text": study_with("preset", value="tiny"),
    "a preset of 400 digits": study_with("preset", "steps", value=HUGE),
    "a preset that is not a number": study_with("preset", "gamma_min", value=NAN),
    "ends of 400 digits": study_with("preset", "gamma_max", value=HUGE),
    "a layout of text": study_with("preset", "layout", "channels", value="16"),
    "a layout with more": study_with("preset", "layout", "extra", value=1),
    **{f"no {name}": study_with(name, value=KeyError) for name in plain_study()},
    **{
        f"no {name} of a course": study_with("courses", 0, name, value=KeyError)
        for name in plain_study()["courses"][0]
    },
    "no steps of a preset": study_with("preset", "steps", value=KeyError),
    "no accuracy": study_with("classifier", 0, "accuracy", value=KeyError),
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
@pytest.mark.parametrize("text", ["", "{", deep(100_000), "3", '{"identity": NaN}', "folder"])
def test_a_broken_claim_to_a_folder(on_torch, quick, tmp_path, text, monkeypatch):
    from swingby.diffusion import studying as module

    monkeypatch.setattr(module, "classifier_of", None)
    path = tmp_path / "preset.json"
    if text == "folder":
        path.mkdir()
    else:
        path.write_text(text)
    with pytest.raises(InvalidInput, match=r"^folder") as caught:
        module.run_study(quick, tmp_path)
    assert caught.value.value in (path, tmp_path)
