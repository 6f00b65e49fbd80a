"""Courses of training: bit for bit the same however they were stopped, and what they write."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import swingby
from swingby.errors import InvalidInput, SwingbyError

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

from safetensors import safe_open  # noqa: E402

from swingby.diffusion import course as record  # noqa: E402
from swingby.diffusion import train, vdm  # noqa: E402
from swingby.diffusion.circles import Circles, read_circles  # noqa: E402
from swingby.diffusion.course import Cell, directions  # noqa: E402
from swingby.diffusion.train import (  # noqa: E402
    STREAMS,
    State,
    seeded,
    stream,
    torch_seed,
    train_course,
)

CELL = Cell(0.4, 0.8, 1.0, "adamw")

pytestmark = pytest.mark.torch


@pytest.fixture
def course(tmp_path):
    """``course(preset)``: train in a folder of the test, without checkpoints between saves."""

    def call(preset, folder=tmp_path, **named):
        return train_course(preset, CELL, 3, folder, **{"every": 1e9, **named})

    return call


@pytest.fixture
def as_undisturbed(undisturbed, on_disk, tmp_path):
    """Assert that a course and its folder are what an undisturbed one is, bit for bit."""

    def check(preset, found, folder=tmp_path):
        expected, where = undisturbed(preset)
        assert found == expected
        assert on_disk(folder) == on_disk(where)

    return check


def step_on_disk(folder):
    with safe_open(folder / "checkpoint.safetensors", framework="np") as file:
        return int(file.metadata()["step"])


@pytest.mark.parametrize("averaging", [0.0, 0.9])
@pytest.mark.parametrize("until", [0, 1, 3, 5, 11])
def test_stopped_at_saves_and_between(quick, course, as_undisturbed, tmp_path, averaging, until):
    # Saves lie at 0, 1, 5 and 12.
    preset = replace(quick, averaging=averaging)
    part = course(preset, until=until)
    assert part.steps.tolist() == [one for one in (0, 1, 5, 12) if one <= until]
    assert step_on_disk(tmp_path) == until
    as_undisturbed(preset, course(preset))


def interrupting(monkeypatch, module, name, call, after=None):
    """Ctrl-C at the n-th call of a function, before it or after it did its work."""
    original, calls = getattr(module, name), [0]

    def counted(*arguments, **named):
        calls[0] += 1
        made = original(*arguments, **named) if after or calls[0] != call else None
        if calls[0] == call:
            raise KeyboardInterrupt
        return made

    monkeypatch.setattr(module, name, counted)


STOPS = {
    "before the first save": (train, "look", 1, False, 0),
    "after images of the first save": (train, "look", 1, True, 0),
    "at the save of step 5": (train, "look", 3, False, 5),
    "in the middle of writing a save": (record.Record, "add", 3, False, 5),
    "after a save was written": (record.Record, "add", 3, True, 5),
    "in the loss": (train, "_loss", 5, False, 3),
    # In the middle of an update nothing is written: the last checkpoint is that of a save.
    "before the optimizer": (torch.optim.AdamW, "step", 8, False, 5),
    "after the optimizer": (torch.optim.AdamW, "step", 8, True, 5),
    "before the averaging": (State, "average", 8, False, 5),
    "in the first update": (torch.optim.AdamW, "step", 1, True, 0),
}


@pytest.mark.parametrize("where", STOPS)
def test_ctrl_c(quick, course, as_undisturbed, tmp_path, monkeypatch, where):
    module, name, call, after, step = STOPS[where]
    with monkeypatch.context() as patch:
        interrupting(patch, module, name, call, after)
        with pytest.raises(KeyboardInterrupt):
            course(quick)
    assert step_on_disk(tmp_path) == step
    as_undisturbed(quick, course(quick))


def test_ctrl_c_between_two_steps_is_written_down(quick, course, as_undisturbed, tmp_path):
    def told(step):
        if step == 7:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        course(quick, told=told)
    assert step_on_disk(tmp_path) == 7
    as_undisturbed(quick, course(quick))


def test_checkpoints_after_every_step_change_nothing(quick, course, as_undisturbed, tmp_path):
    seen = []
    found = course(quick, every=0.0, told=lambda step: seen.append((step, step_on_disk(tmp_path))))
    # At the time of telling, the checkpoint is the one of the step before.
    assert seen == [(step, step - 1) for step in range(1, 13)]
    as_undisturbed(quick, found)


SCRIPT = """
import json, sys, time, torch
from pathlib import Path
from swingby.diffusion.course import Cell
from swingby.diffusion.preset import Preset
from swingby.diffusion.train import train_course
torch.set_num_threads(1)
preset = Preset.from_dict(json.loads(sys.argv[1]))
cell = Cell(0.4, 0.8, 1.0, "adamw")
train_course(preset, cell, 3, Path(sys.argv[2]), every=0.0, told=lambda step: time.sleep(0.04))
"""


def test_a_killed_process(quick, course, as_undisturbed, tmp_path):
    preset = replace(quick, steps=40, saves=10)
    environment = {**os.environ, "PYTHONPATH": str(Path(swingby.__file__).parents[1])}
    command = [sys.executable, "-c", SCRIPT, json.dumps(preset.to_dict()), str(tmp_path)]
    process = subprocess.Popen(command, env=environment)
    try:
        end = time.monotonic() + 100
        while process.poll() is None and time.monotonic() < end:
            time.sleep(0.01)
            if (tmp_path / "checkpoint.safetensors").exists() and step_on_disk(tmp_path) > 12:
                break
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    finally:
        process.kill()
        process.wait()
    assert 12 < step_on_disk(tmp_path) < 40
    as_undisturbed(preset, course(preset))


def test_a_last_line_that_was_cut_off(quick, course, as_undisturbed, tmp_path):
    course(quick, until=3)
    path = tmp_path / "metrics.jsonl"
    whole = path.read_text()
    path.write_text(whole + '{"step": 5, "loss": 0.1')
    as_undisturbed(quick, course(quick))


@pytest.mark.parametrize("left", ["", '{"identi', "header"])
def test_killed_while_the_first_line_was_written(quick, course, as_undisturbed, tmp_path, left):
    course(quick, until=0)
    path = tmp_path / "metrics.jsonl"
    header = path.read_text().splitlines()[0]
    path.write_text(header + "\n" if left == "header" else left)
    (tmp_path / "checkpoint.safetensors").unlink()
    as_undisturbed(quick, course(quick))


def test_saves_later_than_the_checkpoint_are_made_again(quick, course, as_undisturbed, tmp_path):
    course(quick, until=3)
    kept = (tmp_path / "checkpoint.safetensors").read_bytes()
    course(quick)
    path = tmp_path / "metrics.jsonl"
    lines = path.read_text().splitlines()
    wrong = {**json.loads(lines[-1]), "loss": 99.0}
    path.write_text("\n".join([*lines[:-1], json.dumps(wrong)]) + "\n")
    for one in (tmp_path / "images").glob("*12.npz"):
        one.write_bytes(b"cut off")
    (tmp_path / "checkpoint.safetensors").write_bytes(kept)
    as_undisturbed(quick, course(quick))


def test_a_finished_course_is_not_trained_again(quick, course, as_undisturbed, monkeypatch):
    course(quick)
    for name in ("update", "_loss", "look"):
        monkeypatch.setattr(train, name, None)
    as_undisturbed(quick, course(quick))


def spoiled(name):
    def cut(path):
        lines = path.read_text().splitlines(keepends=True)
        if name == "missing":
            path.unlink()
        elif name == "only a header":
            path.write_text(lines[0])
        elif name == "a save is missing":
            path.write_text("".join([*lines[:2], *lines[3:]]))
        elif name == "twice":
            path.write_text("".join([*lines, lines[-1]]))
        elif name == "no header":
            path.write_text("".join(lines[1:]))
        elif name == "of another course":
            path.write_text("".join([json.dumps({"identity": 16 * "0"}) + "\n", *lines[1:]]))

    return cut


@pytest.mark.parametrize(
    "how",
    ["missing", "only a header", "a save is missing", "twice", "no header", "of another course"],
)
def test_metrics_that_do_not_belong_to_the_checkpoint(quick, course, tmp_path, how):
    course(quick, until=7)
    path = tmp_path / "metrics.jsonl"
    spoiled(how)(path)
    with pytest.raises(InvalidInput, match=r"^folder") as caught:
        course(quick)
    assert caught.value.value == path


def test_the_folder_of_another_course(quick, course, tmp_path):
    course(quick, until=1)
    others = [
        (quick, CELL, 4, ""), (quick, replace(CELL, contrast=0.3), 3, ""),
        (quick, replace(CELL, separation=0.3), 3, ""), (replace(quick, batch=7), CELL, 3, ""),
        (quick, CELL, 3, "a plan"),
    ]  # fmt: skip
    for preset, cell, seed, owner in others:
        for path in (tmp_path / "checkpoint.safetensors", tmp_path / "metrics.jsonl"):
            alone = tmp_path / f"alone {path.name}"
            alone.mkdir(exist_ok=True)
            shutil.copy(path, alone)
            with pytest.raises(InvalidInput, match="must belong to") as caught:
                train_course(preset, cell, seed, alone, owner=owner)
            assert caught.value.value == alone / path.name


def test_averaging_is_what_makes_the_images(quick, course, tmp_path, monkeypatch):
    given = []

    original = train.look

    def look(preset, circles, network, *rest):
        given.append({k: v.clone() for k, v in network.state_dict().items()})
        return original(preset, circles, network, *rest)

    monkeypatch.setattr(train, "look", look)
    course(quick)
    with safe_open(tmp_path / "checkpoint.safetensors", framework="pt") as file:
        kept = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    assert len(given) == 4
    for name, value in given[-1].items():
        assert torch.equal(value, kept[f"mean.{name}"])
    assert not torch.equal(kept["mean.enter.weight"], kept["network.enter.weight"])
    without = tmp_path / "without"
    course(replace(quick, averaging=0.0), without)
    with safe_open(without / "checkpoint.safetensors", framework="pt") as file:
        assert not [name for name in file.keys() if name.startswith("mean.")]  # noqa: SIM118
        weights = file.get_tensor("network.enter.weight")
    assert torch.equal(weights, given[-1]["enter.weight"])
    # The mean does not enter training.
    assert torch.equal(weights, kept["network.enter.weight"])


def test_the_running_mean_by_hand(quick):
    # Kept at step k: (1 + k) / (10 + k) of itself, up to the share asked for.
    state = State(replace(quick, averaging=0.3), 0, torch.device("cpu"))
    name, mean = "enter.bias", 0.0
    now, average = dict(state.network.named_parameters()), dict(state.mean.named_parameters())
    with torch.no_grad():
        average[name].fill_(0.0)
        for k in range(8):
            now[name].fill_(k**2 + 1.0)
            state.average()
            kept = min(0.3, (1 + k) / (10 + k))
            mean = kept * mean + (1 - kept) * (k**2 + 1.0)
            assert average[name].tolist() == pytest.approx([mean] * 8, rel=1e-6)
            state.step += 1
    alone = State(replace(quick, averaging=0.0), 0, torch.device("cpu"))
    assert alone.mean is alone.network


def test_training_that_diverges_says_so(quick, course, tmp_path):
    preset = replace(quick, learning_rate=1e30)
    # The loss of step 1 is that of the first weights; what the next ones make is not finite.
    for _ in range(2):
        with pytest.raises(SwingbyError, match="not finite at step 1: training has diverged"):
            course(preset)
    # Without a save in between, the loss shows it.
    with pytest.raises(SwingbyError, match="not finite at step 12: training has diverged"):
        course(replace(preset, saves=2), tmp_path / "other")


def test_the_numbers_of_a_save(quick, course, tmp_path, monkeypatch):
    # Of the first, the loss of the first batch before training; of the others, the mean of the
    # losses of the steps since the save before.
    losses, batches = [], []
    count, batch = State.count, train.next_batch

    def counting(self, values):
        losses.append(values.detach().double().numpy())
        return count(self, values)

    def keeping(*arguments):
        batches.append(batch(*arguments))
        return batches[-1]

    monkeypatch.setattr(State, "count", counting)
    monkeypatch.setattr(train, "next_batch", keeping)
    found = course(quick)
    rows = (tmp_path / "metrics.jsonl").read_text().splitlines()[1:]
    lines = [json.loads(row) for row in rows]
    bounds = [(0, 1), (1, 2), (2, 6), (6, 13)]
    for line, (low, high) in zip(lines, bounds, strict=True):
        expected = np.mean(losses[low:high], axis=0)
        numbers = [line[name] for name in ("loss", "diffusion", "latent", "reconstruction")]
        assert numbers == pytest.approx(expected.tolist(), rel=1e-12)
        assert numbers[0] == pytest.approx(sum(numbers[1:]), rel=1e-6)
    assert found.loss.tolist() == [line["loss"] for line in lines]
    assert (lines[0]["gamma_min"], lines[0]["gamma_max"]) == (-5.0, 10.0)
    # The first, by the network as it begins, which says that the noise is the image itself.
    x, _, t, noise, first = batches[0]
    schedule = vdm.LinearSchedule(-5.0, 10.0)
    told = vdm.loss(
        lambda z, gamma, condition: z, schedule, x, None, t=t, noise=noise, first_noise=first
    )
    bits = told.bits_per_dimension(3 * 8 * 8).item()
    assert lines[0]["loss"] == pytest.approx(bits, rel=1e-5)
    # All batches are drawn from the images of the course, with their conditions, from -1 to 1.
    drawn = CELL.circles(8).draw(16, rng=stream(3, "images"))
    known = {(2 * a - 1).tobytes(): b.tolist() for a, b in zip(drawn.pixels, drawn.conditions)}  # noqa: B905
    for images, conditions, *_ in batches:
        assert len(images) == 6
        for image, condition in zip(images, conditions, strict=True):
            assert known[image.numpy().tobytes()] == condition.tolist()
    # No step sees what another did.
    assert len({one[3].numpy().tobytes() for one in batches[1:]}) == 12
    assert not (batches[1][3] == batches[1][4]).any()


def test_every_save_begins_from_the_same_noise(quick, course, monkeypatch):
    states = []

    original = train.look

    def look(*given):
        states.append(given[4].get_state())
        return original(*given)

    monkeypatch.setattr(train, "look", look)
    course(quick)
    expected = seeded(torch.Generator(), stream(3, "sampling")).get_state()
    assert len(states) == 4
    assert all(torch.equal(one, expected) for one in states)


def test_what_is_looked_at(quick):
    # A network that draws what it is told: the numbers of the save are counted from its images.
    preset = replace(quick, generated_images=20)
    generator, circles = torch.Generator().manual_seed(0), Circles(0.8, 8)
    centres = np.random.default_rng(1).uniform(-0.5, 0.5, (20, 2))
    told, grounds = [], np.full((80, 3), 0.9)

    def network(z, gamma, condition):
        told.append(condition.numpy().copy())
        # Half of the images of the held-out class are left empty.
        wanted = told[-1].astype(float)
        wanted[60:70, 0] = 0
        drawn = 2 * circles.paint(wanted, np.tile(centres, (4, 1)), grounds, rng=0) - 1
        alpha, sigma = vdm.alpha(gamma), vdm.sigma(gamma)
        return (z - alpha[:, None, None, None] * torch.from_numpy(drawn)) / sigma[
            :, None, None, None
        ]

    schedule = vdm.LinearSchedule(-9.0, 10.0)
    seen, shown = train.look(preset, circles, network, schedule, generator)
    expected = np.stack([circles.means(divmod(kind, 2)) for kind in range(4) for _ in range(20)])
    assert all(one == pytest.approx(expected, rel=1e-6) for one in told)
    assert len(told) == 3
    made = vdm.sample(
        network, schedule, torch.from_numpy(told[0]), (3, 8, 8), steps=3,
        generator=generator.manual_seed(0), noises=20,
    )  # fmt: skip
    images = made.double().numpy().reshape(4, 20, 3, 8, 8)
    for corner, pairs in enumerate(record.PAIRS.values()):
        for p, (asked, other) in enumerate(pairs):
            way = directions(circles)[corner, p].ravel()
            moved = (images[asked] - images[other]).mean(0).ravel()
            assert seen["w"][corner][p] == pytest.approx(moved @ way / (way @ way), rel=1e-9)
    for kind in range(4):
        # Circles are measured in the first sixteen.
        found = read_circles((1 + images[kind, :16]) / 2, circles)
        assert seen["kinds"][kind] == found.shares().tolist()
    assert seen["kinds"][3][5] >= 10 / 16
    # One image of each training class and four of the held-out one; 0 to 255 for -1 to 1.
    chosen = made[[0, 20, 40, 60, 61, 62, 63]]
    expected = np.clip(np.round((chosen.numpy() + 1) * 127.5), 0, 255)
    assert shown.dtype == np.uint8
    assert np.abs(shown.astype(int) - expected).max() <= 1


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_gradient_descent_is_gone_on_with(quick, course, as_undisturbed, tmp_path, momentum):
    preset = replace(quick, optimizer="sgd", momentum=momentum, learning_rate=1e-4)
    course(preset, until=7)
    assert step_on_disk(tmp_path) == 7
    as_undisturbed(preset, course(preset))


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_gradient_descent_by_hand(quick, momentum):
    """v <- m v + g + decay x, x <- x - rate v; the fixed schedule stays."""
    preset = replace(
        quick, optimizer="sgd", momentum=momentum, weight_decay=0.1, learned_schedule=False
    )
    state = State(preset, 0, torch.device("cpu"))
    weights = [one.detach().clone() for one in state.network.parameters()]
    speed = [torch.zeros_like(one) for one in weights]
    for k in range(3):
        torch.manual_seed(k)
        batch = (
            torch.randn(6, 3, 8, 8), torch.randn(6, 4), torch.rand(6), torch.randn(6, 3, 8, 8),
            torch.randn(6, 3, 8, 8),
        )  # fmt: skip
        train.update(state, preset, batch)
        for x, v, now in zip(weights, speed, state.network.parameters(), strict=True):
            v.mul_(momentum).add_(now.grad + 0.1 * x)
            x.sub_(preset.learning_rate * v)
            assert torch.allclose(x, now, rtol=1e-5, atol=1e-7)
    assert [one.item() for one in state.schedule.parameters()] == [-5.0, 15.0]


def test_images_of_every_save_are_kept(quick, undisturbed):
    _, folder = undisturbed(quick)
    assert sorted(one.name for one in (folder / "images").iterdir()) == [
        "0000000.npz", "0000001.npz", "0000005.npz", "0000012.npz",
    ]  # fmt: skip
    kept = record.Record(folder, quick, CELL, 3)
    for step in (0, 1, 5, 12):
        assert kept.images(step).shape == (7, 3, 8, 8)
    assert not [one for one in folder.iterdir() if str(os.getpid()) in one.name]


def test_randomness_from_outside_neither_enters_nor_leaves(quick, course, as_undisturbed):
    torch.manual_seed(77)
    np.random.seed(77)  # noqa: NPY002
    before = torch.random.get_rng_state(), np.random.get_state()[1].tolist()  # noqa: NPY002
    as_undisturbed(quick, course(quick))
    assert torch.equal(torch.random.get_rng_state(), before[0])
    assert np.random.get_state()[1].tolist() == before[1]  # noqa: NPY002


def test_other_seeds_and_contrasts_are_other_courses(quick, undisturbed):
    plain, _ = undisturbed(quick)
    assert not np.array_equal(undisturbed(quick, seed=4)[0].loss, plain.loss)
    cell = replace(CELL, contrast=0.3)
    other, _ = undisturbed(quick, cell)
    assert not np.array_equal(other.loss, plain.loss)
    assert (other.cell, other.seed) == (cell, 3)


def test_streams_are_apart():
    seeds = {
        torch_seed(stream(seed, name, step))
        for seed in (0, 1, 10**30)
        for name in STREAMS
        for step in (0, 1, 2)
    }
    assert len(seeds) == 36
    assert all(0 <= one < 2**63 for one in seeds)
    first, again = (
        torch.rand(3, generator=seeded(torch.Generator(), stream(5, "training", 2)))
        for _ in range(2)
    )
    assert torch.equal(first, again)
    # The definition: a child of the seed, by use and step.
    expected = np.random.SeedSequence(5, spawn_key=(2, 2)).generate_state(1, np.uint64)[0]
    assert torch_seed(stream(5, "training", 2)) == int(expected) // 2


@pytest.mark.parametrize("place", ["folder", "images"])
def test_a_file_where_a_folder_should_be(quick, course, tmp_path, place):
    folder = tmp_path / "course"
    path = folder if place == "folder" else folder / "images"
    path.parent.mkdir(exist_ok=True)
    path.write_text("here already")
    with pytest.raises(InvalidInput, match=r"^folder must be a folder to write to"):
        course(quick, folder)
