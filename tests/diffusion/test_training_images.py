"""Courses of training: bit for bit the same however they were stopped, and what they write."""

import json
import os
import shutil
import signal
from dataclasses import replace

import numpy as np
import pytest

from swingby.errors import InvalidInput, SwingbyError
from swingby.report.files import sealed, unsealed

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

from safetensors import safe_open  # noqa: E402

from swingby.diffusion import course as record  # noqa: E402
from swingby.diffusion import train, vdm  # noqa: E402
from swingby.diffusion.circles import Circles, read_circles  # noqa: E402
from swingby.diffusion.course import Cell, directions  # noqa: E402
from swingby.diffusion.train import (  # noqa: E402
    STREAMS,
    Model,
    Saves,
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


SGD = {"optimizer": "sgd", "learning_rate": 1e-4}


@pytest.mark.parametrize(
    "change",
    [{}, {"averaging": 0.0}, SGD, {**SGD, "momentum": 0.9}, {"learned_schedule": False}],
    ids=str,
)
def test_stopped_at_saves_and_between(quick, course, as_undisturbed, tmp_path, change):
    # Saves lie at 0, 1, 5 and 12.
    preset = replace(quick, **change)
    for until in (0, 1, 3, 5, 11):
        part = course(preset, until=until)
        assert part.steps.tolist() == [one for one in (0, 1, 5, 12) if one <= until]
        assert step_on_disk(tmp_path) == until
    as_undisturbed(preset, course(preset))


STOPS = {
    "at a save": (train, "look", False),
    "in the middle of writing a save": (record.Record, "add", False),
    "after a save was written": (record.Record, "add", True),
    "in the optimizer": (torch.optim.AdamW, "step", True),
    "before the averaging": (Model, "average", False),
}


@pytest.mark.parametrize("where", STOPS)
def test_what_stops_a_course_anywhere_changes_nothing(
    quick, course, as_undisturbed, tmp_path, monkeypatch, where
):
    module, name, after = STOPS[where]
    original, calls = getattr(module, name), [0]

    def third(*arguments, **named):
        calls[0] += 1
        made = original(*arguments, **named) if after or calls[0] != 3 else None
        if calls[0] == 3:
            raise KeyboardInterrupt
        return made

    with monkeypatch.context() as patch:
        patch.setattr(module, name, third)
        with pytest.raises(KeyboardInterrupt):
            course(quick, every=0.0)
    assert step_on_disk(tmp_path) in (2, 4)
    as_undisturbed(quick, course(quick))


def test_a_signal_between_two_steps_waits_for_the_checkpoint(
    quick, course, as_undisturbed, tmp_path
):
    with pytest.raises(KeyboardInterrupt):
        course(quick, told=lambda step: step == 7 and signal.raise_signal(signal.SIGINT))
    assert step_on_disk(tmp_path) == 8
    as_undisturbed(quick, course(quick))


def cut_off(folder):
    path = folder / "metrics.jsonl"
    path.write_text(path.read_text() + '{"step": 5, "loss": 0.1')


def of_later_steps(folder):
    """What was written after the checkpoint, here with a wrong number and broken images."""
    path = folder / "metrics.jsonl"
    lines = path.read_text().splitlines()
    wrong = sealed({**unsealed(json.loads(lines[-1])), "step": 5, "loss": 99.0})
    path.write_text("\n".join([*lines, json.dumps(wrong)]) + "\n")
    (folder / "images" / "0000005.npz").write_bytes(b"cut off")


def without_a_checkpoint(folder, kept):
    (folder / "checkpoint.safetensors").unlink()
    path = folder / "metrics.jsonl"
    path.write_text(kept(path.read_text().splitlines()[0]))


KILLED = {
    "in the last line": cut_off,
    "after a save": of_later_steps,
    "before the first line": lambda at: without_a_checkpoint(at, lambda header: ""),
    "in the first line": lambda at: without_a_checkpoint(at, lambda header: '{"identi'),
    "after the first line": lambda at: without_a_checkpoint(at, lambda header: header + "\n"),
}


@pytest.mark.parametrize("when", KILLED)
def test_a_killed_process(quick, course, as_undisturbed, tmp_path, when):
    course(quick, until=3)
    KILLED[when](tmp_path)
    as_undisturbed(quick, course(quick))


def test_a_finished_course_is_not_trained_again(quick, course, as_undisturbed, monkeypatch):
    course(quick)
    monkeypatch.setattr(Model, "losses", None)
    monkeypatch.setattr(train, "look", None)
    as_undisturbed(quick, course(quick))


SPOILED = {
    "missing": lambda lines: None,
    "only a header": lambda lines: lines[:1],
    "a save is missing": lambda lines: [*lines[:2], *lines[3:]],
    "twice": lambda lines: [*lines, lines[-1]],
    "no header": lambda lines: lines[1:],
    "of another course": lambda lines: [json.dumps({"identity": 16 * "0"}) + "\n", *lines[1:]],
}


@pytest.mark.parametrize("how", SPOILED)
def test_metrics_that_do_not_belong_to_the_checkpoint(quick, course, tmp_path, how):
    course(quick, until=7)
    path = tmp_path / "metrics.jsonl"
    lines = SPOILED[how](path.read_text().splitlines(keepends=True))
    path.unlink()
    if lines is not None:
        path.write_text("".join(lines))
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


def test_averaging_is_what_makes_the_images(quick, course, monkeypatch):
    given, models = [], []
    original, learner = train.look, Model.learner

    def look(preset, circles, network, *rest):
        given.append([one.detach().clone() for one in network.parameters()])
        return original(preset, circles, network, *rest)

    def keeping(self, batches):
        models.append(self)
        return learner(self, batches)

    monkeypatch.setattr(train, "look", look)
    monkeypatch.setattr(Model, "learner", keeping)
    course(quick, until=5)
    (model,) = models
    for one, mean, now in zip(
        given[-1], model.mean.parameters(), model.network.parameters(), strict=True
    ):
        assert torch.equal(one, mean)
        assert not torch.equal(one, now)


def test_the_running_mean_by_hand(quick):
    # Kept at step k: (1 + k) / (10 + k) of itself, up to the share asked for.
    model = Model(replace(quick, averaging=0.3), 0, torch.device("cpu"))
    name, mean = "enter.bias", 0.0
    now, average = dict(model.network.named_parameters()), dict(model.mean.named_parameters())
    with torch.no_grad():
        average[name].fill_(0.0)
        for k in range(8):
            now[name].fill_(k**2 + 1.0)
            model.average(k)
            kept = min(0.3, (1 + k) / (10 + k))
            mean = kept * mean + (1 - kept) * (k**2 + 1.0)
            assert average[name].tolist() == pytest.approx([mean] * 8, rel=1e-6)


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
    count, batch = Saves.count, train.next_batch

    def counting(self, values):
        parts = values.detach().double().numpy()
        losses.append([parts.sum(), *parts])
        return count(self, values)

    def keeping(*arguments):
        batches.append(batch(*arguments))
        return batches[-1]

    monkeypatch.setattr(Saves, "count", counting)
    monkeypatch.setattr(train, "next_batch", keeping)
    found = course(quick)
    rows = (tmp_path / "metrics.jsonl").read_text().splitlines()[1:]
    lines = [json.loads(row) for row in rows]
    bounds = [(0, 1), (1, 2), (2, 6), (6, 13)]
    for line, (low, high) in zip(lines, bounds, strict=True):
        expected = np.mean(losses[low:high], axis=0)
        numbers = [line[name] for name in ("loss", "diffusion", "latent", "reconstruction")]
        assert numbers[1:] == pytest.approx(expected[1:].tolist(), rel=1e-12)
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
def test_gradient_descent_by_hand(quick, momentum):
    """v <- m v + g + decay x, x <- x - rate v; the fixed schedule stays."""
    preset = replace(
        quick, optimizer="sgd", momentum=momentum, weight_decay=0.1, learned_schedule=False
    )
    model = Model(preset, 0, torch.device("cpu"))
    weights = [one.detach().clone() for one in model.network.parameters()]
    speed = [torch.zeros_like(one) for one in weights]

    def batches(step):
        rng = torch.Generator().manual_seed(step)
        shapes = ((6, 3, 8, 8), (6, 4), (6,), (6, 3, 8, 8), (6, 3, 8, 8))
        return tuple(torch.rand(shape, generator=rng) for shape in shapes)

    learner = model.learner(batches)
    for k in range(3):
        learner.advance(k, 1)
        for x, v, now in zip(weights, speed, model.network.parameters(), strict=True):
            v.mul_(momentum).add_(now.grad + 0.1 * x)
            x.sub_(preset.learning_rate * v)
            assert torch.allclose(x, now, rtol=1e-5, atol=1e-7)
    assert [one.item() for one in model.schedule.parameters()] == [-5.0, 15.0]


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
