"""Courses of training: bit for bit the same however they were stopped, and what they write."""

from dataclasses import replace

import numpy as np
import pytest

from swingby.errors import InvalidInput, SwingbyError

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

from swingby.lab.diffusion import course_training as train  # noqa: E402
from swingby.lab.diffusion import vdm  # noqa: E402
from swingby.lab.diffusion.circles import Circles, read_circles  # noqa: E402
from swingby.lab.diffusion.course import Cell, directions, linear_response  # noqa: E402
from swingby.lab.diffusion.course_training import (  # noqa: E402
    STREAMS,
    Model,
    Saves,
    _stream,
    _torch_seed,
    identity_of,
    saved_images,
    train_course,
)
from tests.forked import sample  # noqa: E402
from tests.lab.diffusion.conftest import step_of  # noqa: E402

CELL = Cell(0.4, 0.8, 1.0, "adamw")

pytestmark = pytest.mark.torch


@pytest.fixture
def file(tmp_path):
    return tmp_path / "course.safetensors"


@pytest.fixture
def course(file):
    """``course(preset)``: train in a file of the test, with a checkpoint at the end alone."""

    def call(preset, **named):
        return train_course(preset, CELL, 3, file, **{"every": 1e9, **named})

    return call


SGD = {"optimizer": "sgd", "learning_rate": 1e-4}


CHANGES = ({}, {**SGD, "momentum": 0.9}, {"averaging": 0}, {"learned_schedule": False})


@pytest.mark.parametrize("change", sample(CHANGES, 4), ids=str)
def test_stopped_at_saves_and_between(quick, course, as_undisturbed, file, change):
    # Saves lie at 0, 1, 5 and 12.
    preset = replace(quick, **change)
    for until in (0, 1, 3, 5, 11):
        part = course(preset, until=until)
        assert part.steps.tolist() == [one for one in (0, 1, 5, 12) if one <= until]
        assert step_of(file) == until
    as_undisturbed(course(preset), file, preset)


STOPS = {
    "at a save": (train, "look", False),
    "before a save is kept": (Saves, "add", False),
    "after a save is kept": (Saves, "add", True),
    "in the optimizer": (torch.optim.AdamW, "step", True),
    "before the averaging": (Model, "average", False),
}


@pytest.mark.parametrize("where", sample(STOPS, 5))
def test_what_stops_a_course_anywhere_changes_nothing(
    quick, course, as_undisturbed, file, monkeypatch, where
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
    assert step_of(file) in (2, 4)
    as_undisturbed(course(quick), file, quick)


def test_what_is_told_of_a_course(quick, course):
    told = []
    found = course(quick, told=lambda step, w: told.append((step, w.tolist())))
    last = np.searchsorted(found.steps, range(13), side="right") - 1
    assert told == [(step, found.w[k, 0].tolist()) for step, k in zip(range(13), last, strict=True)]


def test_a_finished_course_is_not_trained_again(quick, course, as_undisturbed, file, monkeypatch):
    """Nor does randomness from outside enter it, or leave."""
    torch.manual_seed(77)
    np.random.seed(77)  # noqa: NPY002
    before = torch.random.get_rng_state(), np.random.get_state()[1].tolist()  # noqa: NPY002
    as_undisturbed(course(quick), file, quick)
    assert torch.equal(torch.random.get_rng_state(), before[0])
    assert np.random.get_state()[1].tolist() == before[1]  # noqa: NPY002
    monkeypatch.setattr(Model, "losses", None)
    monkeypatch.setattr(train, "look", None)
    as_undisturbed(course(quick), file, quick)
    kept = saved_images(file, identity_of(quick, CELL, 3))
    assert sorted(kept) == [0, 1, 5, 12]
    assert {(one.shape, one.dtype.name) for one in kept.values()} == {((7, 3, 8, 8), "uint8")}
    with pytest.raises(InvalidInput, match="must hold the course"):
        saved_images(file.with_name("none.safetensors"), "")


def test_the_file_of_another_course(quick, course, file):
    course(quick, until=1)
    for preset, cell, seed, owner in (
        (quick, CELL, 4, ""), (quick, replace(CELL, contrast=0.3), 3, ""),
        (quick, replace(CELL, separation=0.3), 3, ""), (replace(quick, batch=7), CELL, 3, ""),
        (quick, CELL, 3, "a plan"),
    ):  # fmt: skip
        with pytest.raises(InvalidInput, match="must belong to") as caught:
            train_course(preset, cell, seed, file, owner=owner)
        assert caught.value.value == file
    # The name of a preset is no part of what is trained.
    again = train_course(replace(quick, name="other"), CELL, 3, file, until=1)
    assert again.steps.tolist() == [0, 1]


def test_a_running_mean_of_the_weights_makes_the_images(quick, monkeypatch, file):
    """Kept at step k: (1 + k) / (10 + k) of itself, up to the share asked for."""
    seen, means = [], []
    original, average = train.look, Model.average

    def look(preset, circles, network, *rest):
        seen.append(network.enter.bias.detach().tolist())
        return original(preset, circles, network, *rest)

    def by_hand(self, step):
        now = self.network.enter.bias.detach().double().numpy()
        if not means:
            means.append(self.mean.enter.bias.detach().double().numpy().copy())
        kept = min(0.3, (1 + step) / (10 + step))
        means.append(kept * means[-1] + (1 - kept) * now)
        average(self, step)

    monkeypatch.setattr(train, "look", look)
    monkeypatch.setattr(Model, "average", by_hand)
    train_course(replace(quick, averaging=0.3), CELL, 3, file)
    assert len(means) == 13
    for step, one in zip((0, 1, 5, 12), seen, strict=True):
        assert one == pytest.approx(means[step], rel=1e-5, abs=1e-7)
    assert np.abs(means[-1] - means[0]).max() > 1e-3


def test_training_that_diverges_says_so(quick, course):
    preset = replace(quick, learning_rate=1e30)
    # The loss of step 1 is that of the first weights; what the next ones make is not finite.
    for _ in range(2):
        with pytest.raises(SwingbyError, match="not finite at step 1: training has diverged"):
            course(preset)
    # Without a save in between, the loss shows it.
    with pytest.raises(SwingbyError, match="not finite at step 12: training has diverged"):
        course(replace(preset, saves=2))


def test_the_loss_of_a_save(quick, course, monkeypatch):
    """Of the first, that of the first batch before training; else the mean since the save before.

    The first network says that the noise is the image itself.
    """
    losses, batches = [], []
    count, batch = Saves.count, train.next_batch

    def counting(self, values):
        losses.append(values.detach().double().sum().item())
        return count(self, values)

    def keeping(*arguments):
        batches.append(batch(*arguments))
        return batches[-1]

    monkeypatch.setattr(Saves, "count", counting)
    monkeypatch.setattr(train, "next_batch", keeping)
    found = course(quick)
    means = [np.mean(losses[low:high]) for low, high in ((0, 1), (1, 2), (2, 6), (6, 13))]
    assert found.loss == pytest.approx(means, rel=1e-6)
    x, _, t, noise, first = batches[0]
    schedule = vdm.LinearSchedule(-5.0, 10.0)
    told = vdm.loss(
        lambda z, gamma, condition: z, schedule, x, None, t=t, noise=noise, first_noise=first
    )
    bits = told.total.mean().item() / (3 * 8 * 8 * np.log(2))
    assert found.loss[0] == pytest.approx(bits, rel=1e-5)
    # All batches are drawn from the images of the course, with their conditions, from -1 to 1.
    drawn = CELL.circles(8).draw(16, rng=_stream(3, "images"))
    known = {(2 * a - 1).tobytes(): b.tolist() for a, b in zip(drawn.pixels, drawn.conditions)}  # noqa: B905
    for images, conditions, *_ in batches:
        assert len(images) == 6
        for image, condition in zip(images, conditions, strict=True):
            assert known[image.numpy().tobytes()] == condition.tolist()
    # No step sees what another did.
    assert len({one[3].numpy().tobytes() for one in batches[1:]}) == 12
    assert not (batches[1][3] == batches[1][4]).any()


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
    w, kinds, shown = train.look(preset, circles, network, schedule, generator)
    expected = np.stack([circles.means(divmod(kind, 2)) for kind in range(4) for _ in range(20)])
    assert all(one == pytest.approx(expected, rel=1e-6) for one in told)
    assert len(told) == 3
    made = vdm.sample(
        network, schedule, torch.from_numpy(told[0]), (3, 8, 8), steps=3,
        generator=generator.manual_seed(0), noises=20,
    )  # fmt: skip
    images = made.double().numpy().reshape(4, 20, 3, 8, 8)
    assert w == pytest.approx(linear_response(images, directions(circles)), rel=1e-9)
    for kind in range(4):
        # Circles are measured in the first sixteen.
        found = read_circles((1 + images[kind, :16]) / 2, circles)
        assert kinds[kind].tolist() == found.shares().tolist()
    assert kinds[3, 5] >= 10 / 16
    # One image of each training class and four of the held-out one; 0 to 255 for -1 to 1.
    chosen = made[[0, 20, 40, 60, 61, 62, 63]]
    expected = np.clip(np.round((chosen.numpy() + 1) * 127.5), 0, 255)
    assert shown.dtype == np.uint8
    assert np.abs(shown.astype(int) - expected).max() <= 1


def test_streams_are_children_of_the_seed_by_use_and_step():
    seeds = {
        _torch_seed(_stream(seed, name, step))
        for seed in (0, 1, 10**30)
        for name in STREAMS
        for step in (0, 1, 2)
    }
    assert len(seeds) == 36
    expected = np.random.SeedSequence(5, spawn_key=(2, 2)).generate_state(1, np.uint64)[0]
    assert _torch_seed(_stream(5, "training", 2)) == int(expected) // 2


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
