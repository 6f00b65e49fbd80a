"""What tests of image diffusion share: one thread, a preset of a second, and an undisturbed run."""

import importlib.util
import json

import numpy as np
import pytest

from swingby.diffusion.course import Cell
from swingby.diffusion.plan import Optimizer, Plan, Prediction
from swingby.diffusion.preset import Layout, Preset

CELL = Cell(0.4, 0.8, 1.0, "adamw")


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
    )


@pytest.fixture
def two_cells(quick):
    """A plan of two cells, one run each."""
    return Plan(
        "two",
        quick,
        separation=(0.4,),
        contrast=(0.3, 0.8),
        gain=(1.0,),
        optimizers=(Optimizer("adamw", 0.01, 0.01),),
        seeds=1,
        first_seed=3,
        share=0.75,
        within=1.25,
        predictions=(Prediction("colour comes sooner", "sooner", "colour", "contrast"),),
    )


@pytest.fixture
def on_disk():
    """``on_disk(folder)``: all that a course wrote, but for the seconds it took."""
    from safetensors import safe_open

    def call(folder):
        lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
        for line in lines[1:]:
            del line["seconds"], line["sha256"]
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
def undisturbed(tmp_path_factory):
    """``undisturbed(preset, cell, seed)``: a course in one go, and its folder; made once."""
    from swingby.diffusion.train import train_course

    def call(preset, cell=CELL, seed=3, owner=""):
        key = (preset, cell, seed, owner)
        if key not in _undisturbed:
            folder = tmp_path_factory.mktemp("undisturbed")
            found = train_course(preset, cell, seed, folder, owner=owner, every=1e9)
            _undisturbed[key] = found, folder
        return _undisturbed[key]

    return call
