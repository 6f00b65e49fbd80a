"""What tests of image diffusion share: a preset of a second, and an undisturbed run."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from studies.image_plan import Plan, PlannedOptimizer, Prediction
from swingby.lab.diffusion.course import Cell
from swingby.lab.diffusion.preset import Layout, Preset

CELL = Cell(0.4, 0.8, 1.0, "adamw")


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
        optimizers=(PlannedOptimizer("adamw", 0.01, 0.01),),
        seeds=1,
        first_seed=3,
        share=0.75,
        within=1.25,
        predictions=(Prediction("colour comes sooner", "sooner", "colour", "contrast"),),
    )


@pytest.fixture
def in_threads(monkeypatch):
    """Threads in place of the processes of a study, each of which would load torch."""
    monkeypatch.setattr(
        "studies.cell_runs.ProcessPoolExecutor",
        lambda workers, context, **begin: ThreadPoolExecutor(workers, **begin),
    )


def pictures(circles, n, seed):
    """Circles, clear and in noise, two at once, noise alone and empty grounds."""
    rng = np.random.default_rng(seed)
    drawn = circles.draw(n, rng=rng, classes=(0, 1, 2, 3)).pixels.astype(float)
    rough = drawn + rng.choice([0.02, 0.05, 0.2], (4 * n, 1, 1, 1)) * rng.standard_normal(
        drawn.shape
    )
    twice = np.minimum(drawn, drawn[rng.permutation(4 * n)])
    shape = (n, *drawn.shape[1:])
    grounds = rng.uniform(0.7, 1, (n, 3, 1, 1)) + 0.02 * rng.standard_normal(shape)
    return np.concatenate([drawn, rough, twice, rng.uniform(size=shape), grounds])


def on_disk(path):
    """All that a course wrote: header and tensors."""
    from safetensors import safe_open

    with safe_open(path, framework="np") as file:
        header, names = file.metadata(), sorted(file.keys())
        return header, {name: file.get_tensor(name).tobytes() for name in names}


def step_of(path):
    """Of a checkpoint, which is replaced as a whole; -1 without one."""
    return int(on_disk(path)[0]["step"]) if path.exists() else -1


_undisturbed = {}


@pytest.fixture
def as_undisturbed(tmp_path_factory):
    """``as_undisturbed(found, path, preset, ...)``: a course and its file are bit for bit what
    one in one go makes, which is trained once and returned."""
    from swingby.lab.diffusion.course_training import train_course

    def check(found, path, preset, cell=CELL, seed=3, owner=""):
        key = (preset, cell, seed, owner)
        if key not in _undisturbed:
            file = tmp_path_factory.mktemp("undisturbed") / "course.safetensors"
            made = train_course(preset, cell, seed, file, owner=owner, every=1e9)
            _undisturbed[key] = made, on_disk(file)
        expected, content = _undisturbed[key]
        if found is not None:
            assert found == expected
            assert on_disk(path) == content
        return expected

    return check
