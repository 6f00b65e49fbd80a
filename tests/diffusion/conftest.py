"""What tests of image diffusion share: one thread, a preset of a second, and a judge."""

import fcntl
import importlib.util
import json
import os

import numpy as np
import pytest

from swingby.diffusion.layout import Layout
from swingby.diffusion.preset import Preset


@pytest.fixture(autouse=True)
def one_thread():
    """Threads of torch wait for each other where other tests hold the processors."""
    if importlib.util.find_spec("torch") is None:
        yield
        return
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def quick():
    """Saves at 0, 1, 5 and 12 steps."""
    return Preset(
        "quick",
        contrasts=(0.3, 0.8),
        seeds=(3,),
        pixels=8,
        layout=Layout((8,), blocks=1, heads=2, groups=4, embedding=4),
        images_per_class=16,
        batch=6,
        steps=12,
        learning_rate=0.01,
        averaging=0.9,
        sampling_steps=3,
        generated_images=5,
        saves=4,
        classifier_steps=3,
        classifier_images=4,
        classifier_channels=4,
    )


@pytest.fixture
def judge():
    """A classifier that was never trained: what it says is as reproducible as any other."""
    import torch

    from swingby.diffusion.classifier import ConceptClassifier

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        return ConceptClassifier(4)


@pytest.fixture
def judged_by(judge):
    """``judged_by(folder, preset)``: that classifier in a folder, with a claim to be good."""
    import torch

    from swingby.diffusion import classifier_file
    from swingby.training import checkpoint

    def call(folder, preset, accuracy=None):
        folder.mkdir(parents=True, exist_ok=True)
        tensors = {f"network.{name}": value for name, value in judge.state_dict().items()}
        claim = [1.0] * len(preset.contrasts) if accuracy is None else accuracy
        tensors["accuracy"] = torch.tensor(claim, dtype=torch.float64)
        path = folder / "classifier.safetensors"
        checkpoint.write(path, classifier_file._identity(preset), 3, tensors, torch)
        return path

    return call


@pytest.fixture
def on_disk():
    """``on_disk(folder)``: all that a course wrote, but for the seconds it took."""
    from safetensors import safe_open

    def call(folder):
        lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
        for line in lines[1:]:
            line.pop("seconds")
        images = {}
        for path in sorted((folder / "images").glob("*.npz")):
            with np.load(path) as file:
                images[path.name] = file["images"].tobytes()
        with safe_open(folder / "checkpoint.safetensors", framework="np") as file:
            header = file.metadata()
            names = sorted(file.keys())
            tensors = {name: file.get_tensor(name).tobytes() for name in names}
        return lines, images, header, tensors

    return call


_undisturbed = {}


@pytest.fixture
def undisturbed(tmp_path_factory, judge):
    """``undisturbed(preset, contrast, seed)``: a course in one go, and its folder; made once."""
    from swingby.diffusion.train import train_course

    def call(preset, contrast=0.8, seed=3):
        key = (preset.identity, contrast, seed)
        if key not in _undisturbed:
            folder = tmp_path_factory.mktemp("undisturbed")
            course = train_course(preset, contrast, seed, judge, folder, every=1e9)
            _undisturbed[key] = course, folder
        return _undisturbed[key]

    return call


@pytest.fixture(scope="session")
def trained_folder(tmp_path_factory):
    """Where the classifier of the preset tiny lies, trained once for all workers of a run."""
    import torch

    from swingby.diffusion.classifier_file import classifier_of
    from swingby.diffusion.presets import TINY

    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent
    folder = base / "classifier of tiny"
    folder.mkdir(exist_ok=True)
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with (folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            classifier_of(TINY, folder)
    finally:
        torch.set_num_threads(before)
    return folder
