"""Forecasts by the law of linear chains, against plain iteration and plain loops of torch."""

import itertools

import numpy as np
import pytest

import swingby
from tests.lab.networks.watched_data import chain, first_steps, mse, points, shares

torch = pytest.importorskip("torch")

from swingby.lab.networks.watching.chain_law import Chain, chain_half_times  # noqa: E402
from swingby.lab.networks.watching.components import components  # noqa: E402
from swingby.lab.networks.watching.epoch_length import EpochLength  # noqa: E402
from swingby.lab.networks.watching.gradient_check import _Largest  # noqa: E402
from swingby.theory.law.descent_flow import Descent  # noqa: E402

pytestmark = pytest.mark.torch


def iterated(chain_, X, Y, most, *, level=0.5):
    """First whole steps with a_k at a level of momentum descent, written with explicit products."""
    rule, modes = chain_.rule, components(X, Y, centred=False).modes
    K, S = Y.T @ X / len(X), X.T @ X / len(X)
    layers = [layer.copy() for layer in chain_.layers]
    velocity = [np.zeros_like(layer) for layer in layers]
    learned = np.full(len(modes.sigma), np.nan)
    for step in range(most + 1):
        W = np.linalg.multi_dot(layers[::-1]) if len(layers) > 1 else layers[0]
        a = np.einsum("ki,ij,kj->k", modes.outputs, W, modes.inputs) / modes.sigma
        learned[np.isnan(learned) & (a >= level)] = step
        residual = rule.multiple * (K - W @ S)
        forces = []
        for i, layer in enumerate(layers):
            after = np.eye(layers[-1].shape[0])
            for later in layers[:i:-1]:
                after = after @ later
            before = np.eye(layers[0].shape[1])
            for earlier in layers[:i]:
                before = earlier @ before
            forces.append(after.T @ residual @ before.T - rule.decay * layer)
        for i, force in enumerate(forces):
            velocity[i] = rule.momentum * velocity[i] + force
            ahead = force + rule.momentum * velocity[i]
            layers[i] = layers[i] + rule.lr * (ahead if rule.nesterov else velocity[i])
    return learned


@pytest.mark.parametrize(
    ("widths", "scale", "lr", "rule"),
    [
        ((4, 3), 0.05, 0.01, {}),
        ((4, 6, 3), 0.01, 0.02, {}),
        ((4, 6, 3), 1e-6, 0.002, {}),
        ((4, 40, 3), 0.01, 0.02, {"decay": 0.02}),
        ((4, 6, 3), 0.02, 0.002, {"momentum": 0.9}),
        ((4, 30, 3), 0.02, 0.01, {"momentum": 0.9, "nesterov": True, "decay": 0.01}),
        ((4, 6, 3), 0.1, 3e-4, {"momentum": 0.5}),
        ((4, 6, 6, 3), 0.15, 0.02, {}),
        ((4, 6, 6, 3), 0.15, 0.004, {"momentum": 0.8}),
        ((4, 5, 5, 5, 3), 0.3, 0.01, {"multiple": 2.0}),
    ],
)
def test_half_times_of_a_chain_are_those_of_its_iteration(widths, scale, lr, rule):
    X, Y = (entry.numpy() for entry in points(3))
    rng = np.random.default_rng(5)
    layers = [scale * rng.normal(size=(j, i)) for i, j in itertools.pairwise(widths)]
    data = components(X, Y, centred=False)
    chain_ = Chain(tuple(layers), None, Descent(lr, **rule))
    times, bars = chain_half_times(chain_, data, level=0.5, horizon=1e5)
    learned = iterated(chain_, X, Y, 20_000)
    assert np.isfinite(learned).all()
    assert (np.ceil(times - bars) <= learned).all()
    assert (learned <= np.ceil(times + bars)).all()
    assert bars.max() < 0.1


def test_a_mode_that_decay_or_a_bottleneck_forbids_is_never_learned():
    X, Y = (entry.numpy() for entry in points(3))
    rng = np.random.default_rng(5)
    data = components(X, Y, centred=False)
    for widths, decay in (((4, 2, 3), 0.0), ((4, 6, 3), 1.0)):
        layers = [0.02 * rng.normal(size=(j, i)) for i, j in itertools.pairwise(widths)]
        chain_ = Chain(tuple(layers), None, Descent(0.02, decay=decay))
        times, bars = chain_half_times(chain_, data, level=0.5, horizon=1e6)
        learned = iterated(chain_, X, Y, 5000)
        assert 1 <= np.isnan(learned).sum() <= 2
        assert np.array_equal(np.isinf(times), np.isnan(learned))
        assert not bars[np.isinf(times)].any()


@pytest.mark.parametrize(("level", "never"), [(0.3, 0), (0.4, 1), (0.8, 1)])
def test_a_level_of_ones_own_is_that_of_the_iteration(level, never):
    """In a bottleneck, where the third component rises above 0.3 before it is pushed out."""
    X, Y = (entry.numpy() for entry in points(3))
    rng = np.random.default_rng(6)
    layers = tuple(0.02 * rng.normal(size=(j, i)) for i, j in ((4, 2), (2, 3)))
    chain_ = Chain(layers, None, Descent(0.02, momentum=0.5))
    data = components(X, Y, centred=False)
    times, _ = chain_half_times(chain_, data, level=level, horizon=1e6)
    learned = iterated(chain_, X, Y, 5000, level=level)
    assert np.isnan(learned).sum() == never
    assert np.array_equal(np.ceil(times), np.where(np.isnan(learned), np.inf, learned))


def trained_in_float32(layers, X, Y, lr, level=0.5):
    """Steps at which components are learned, and the layers at some steps before."""
    modes = components(X, Y, centred=False).modes
    K, S = (entry.astype(np.float32) for entry in (Y.T @ X / len(X), X.T @ X / len(X)))
    first, last = (layer.astype(np.float32) for layer in layers)
    learned, earlier = np.full(len(modes.sigma), np.nan), {}
    for step in range(20_000):
        W = (last @ first).astype(np.float64)
        a = np.einsum("ki,ij,kj->k", modes.outputs, W, modes.inputs) / modes.sigma
        learned[np.isnan(learned) & (a >= level)] = step
        if np.isfinite(learned).all():
            break
        if step % 200 == 0:
            earlier[step] = first.astype(np.float64), last.astype(np.float64)
        residual = K - last @ first @ S
        down, up = last.T @ residual, residual @ first.T
        first, last = first + np.float32(lr) * down, last + np.float32(lr) * up
    return learned, earlier


def test_bars_in_float32_hold_what_rounding_does():
    """From 1e-7 it moves half-times by steps; from there no float64 is off by more than the bar."""
    off, X_and_Y = [], [tuple(entry.numpy() for entry in points(seed)) for seed in range(6)]
    for seed, (X, Y) in enumerate(X_and_Y):
        rng = np.random.default_rng(seed)
        layers = [1e-7 * rng.normal(size=shape) for shape in ((8, 4), (3, 8))]
        learned, earlier = trained_in_float32(layers, X, Y, 0.02)
        data = components(X, Y, centred=False)
        for step, then in earlier.items():
            chain_ = Chain(then, None, Descent(0.02), 2.0**-23)
            times, bars = chain_half_times(chain_, data, level=0.5, horizon=1e5)
            waiting = (learned > step) & np.isfinite(times)
            low, high = (np.ceil(step + times + sign * bars)[waiting] for sign in (-1, 1))
            assert (low <= learned[waiting]).all()
            assert (learned[waiting] <= high).all()
            off += [*np.abs(np.ceil(step + times) - learned)[waiting]]
    assert len(off) > 40
    assert max(off) >= 1


def test_beyond_the_horizon_nothing_is_said():
    X, Y = (entry.numpy() for entry in points(3))
    data = components(X, Y, centred=False)
    layers = (np.full((5, 4), 1e-3), np.full((3, 5), 1e-3))
    chain_ = Chain(layers, None, Descent(1e-3))
    times, _ = chain_half_times(chain_, data, level=0.5, horizon=50)
    assert np.isnan(times).all()


def test_shares_are_0_or_1_at_critical_points():
    """W S^1/2 is then a sum of some sigma_k u_k x_k' (Baldi and Hornik)."""
    X, Y = points(7)
    data = components(X.numpy(), Y.numpy(), centred=False)
    fit = np.linalg.lstsq(X.numpy(), Y.numpy(), rcond=None)[0]
    for kept in ([0], [1, 2], [0, 1, 2]):
        u = data.modes.outputs[kept]
        F = X.numpy() @ fit @ u.T @ u
        a = (data.probe * (F @ data.modes.outputs.T)).sum(axis=0)
        np.testing.assert_allclose(a, [k in kept for k in range(3)], atol=1e-12)
        np.testing.assert_allclose(shares(torch.tensor(F), X, Y), a, atol=1e-12)


CASES = {
    "plain": (chain, {"scale": 0.02}, {"lr": 0.02}, mse),
    "momentum": (chain, {"scale": 0.05}, {"lr": 0.004, "momentum": 0.9}, mse),
    "nesterov, decay": (
        chain,
        {"scale": 0.05},
        {"lr": 0.004, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01},
        mse,
    ),
    "float32": (chain, {"scale": 0.02, "dtype": torch.float32}, {"lr": 0.02}, mse),
    "a sum": (chain, {"scale": 0.02}, {"lr": 1e-4}, lambda F, Y: ((F - Y) ** 2).sum()),
}


@pytest.mark.parametrize("name", CASES)
def test_a_watch_sees_each_step_and_forecasts_it_at_the_start(name):
    make, start, settings, loss = CASES[name]
    X, Y = points(1, start.get("dtype", torch.float64))
    expected, runs = None, []
    for watched in (False, True):
        model = make(4, 8, 3, **start)
        optimizer = torch.optim.SGD(model.parameters(), **settings)
        watch = swingby.watch(model, optimizer, X, Y) if watched else None
        runs.append(first_steps(model, optimizer, X, Y, 1200, loss=loss))
        expected = runs[0]
    assert np.isfinite(expected).all()
    assert np.array_equal(runs[1], expected)
    assert watch.grade == "law", watch.reason
    assert np.array_equal(watch.learned, expected)
    # Of the loss that was given, or else of the multiple that the first gradient shows.
    forecast = watch.forecasts[-1]
    assert forecast.made_at <= 1
    assert np.array_equal(forecast.half_times, expected)
    assert forecast.inside(expected).all()
    assert forecast.error.max() < 0.2


def test_a_watch_that_begins_later_knows_the_velocity():
    """Steps are counted from its beginning; without the velocity it would be 9 steps late."""
    X, Y = points(1)
    runs = {}
    for begun in (0, 80):
        model = chain(4, 8, 3, scale=0.02)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.004, momentum=0.9)
        before = first_steps(model, optimizer, X, Y, begun)
        assert np.isnan(before).all()
        watch = swingby.watch(model, optimizer, X, Y)
        first_steps(model, optimizer, X, Y, 600)
        runs[begun] = watch
    assert np.array_equal(runs[80].learned + 80, runs[0].learned)
    assert np.array_equal(runs[80].forecasts[0].half_times, runs[80].learned)


def test_a_module_of_ones_own_is_recognised_by_what_it_computes():
    class Net(torch.nn.Module):
        def __init__(self, twice):
            super().__init__()
            self.a, self.b = chain(4, 6, 3)
            self.twice = twice

        def forward(self, x):
            return self.b(self.a(x)) * (2.0 if self.twice else 1.0)

    X, Y = points()
    grades = {}
    for twice in (False, True):
        model = Net(twice)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        watch = swingby.watch(model, optimizer, X, Y, steps=1000)
        grades[twice] = watch.grade, watch.reason
    assert grades[False] == ("law", "")
    assert grades[True] == ("copy", "Net is not the product of its layers")


class Own(torch.nn.Module):
    """Layers named in another order than they are applied, or applied from the right."""

    def __init__(self, kind):
        super().__init__()
        first, last = chain(4, 8, 3, scale=0.02)
        self.kind = kind
        if kind == "backwards":
            self.dec, self.enc = last, first
        else:
            self.a = torch.nn.Parameter(first.weight.detach().T.clone())
            self.b = torch.nn.Parameter(last.weight.detach().T.clone())

    def forward(self, x):
        return self.dec(self.enc(x)) if self.kind == "backwards" else x @ self.a @ self.b


@pytest.mark.parametrize("kind", ["backwards", "from the right"])
def test_layers_of_any_order_and_orientation_are_a_chain(kind):
    X, Y = points(1)
    model = Own(kind)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.004, momentum=0.9)
    watch = swingby.watch(model, optimizer, X, Y, at=[60])
    learned = first_steps(model, optimizer, X, Y, 600)
    assert (watch.grade, watch.reason) == ("law", "")
    for forecast in watch.forecasts:
        assert np.array_equal(forecast.half_times, learned)
        assert forecast.error.max() < 0.2


def test_a_change_of_the_learning_rate_voids_and_renews():
    X, Y = points(1)
    model = chain(4, 8, 3, scale=0.02)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.04)
    watch = swingby.watch(model, optimizer, X, Y, at=[40])

    def cut(step):
        if step == 151:
            optimizer.param_groups[0]["lr"] = 0.02

    learned = first_steps(model, optimizer, X, Y, 800, before=cut)
    first, second, last = watch.forecasts
    assert (first.made_at, second.made_at, last.made_at) == (0, 40, 151)
    assert (first.void_from, second.void_from, last.void_from) == (151, 151, None)
    early = learned < 151
    assert 0 < early.sum() < 3
    for forecast in (first, second):
        assert np.array_equal(forecast.half_times[early], learned[early])
        assert (forecast.half_times[~early] < learned[~early]).all()
        assert np.array_equal(forecast.compared(learned), early)
    assert np.array_equal(last.half_times[~early], learned[~early])
    assert "0.04 to 0.02, in step 151" in watch.notes[-1]
    frame = watch.to_frame()
    # None made at a change after a component was learned.
    assert len(frame) == 9 - early.sum()
    assert not (frame.learned <= frame.made_at).any()
    assert set(frame.loc[frame.inside.notna(), "off_by"]) == {0.0}


def in_minibatches(seed, size, *, shuffled, momentum=0.0, loss=mse, clip=np.inf):
    """A watch of a chain on 120 points, batch after batch."""
    X, Y = points(4, n=120)
    model = chain(4, 8, 3, scale=0.02)
    optimizer = torch.optim.SGD(model.parameters(), 0.02 * (1 - momentum), momentum)
    rng = np.random.default_rng(seed)
    watch, rest = swingby.watch(model, optimizer, X, Y), np.zeros(0, dtype=int)
    while np.isnan(watch.learned).any() and watch.step < 3000:
        if shuffled:
            rest = rest if len(rest) else rng.permutation(120)
            rows, rest = rest[:size], rest[size:]
        else:
            rows = rng.integers(0, 120, size)
        optimizer.zero_grad()
        loss(model(X[rows]), Y[rows]).backward()
        if clip < np.inf:
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
    watch.close()
    return watch


@pytest.mark.parametrize("momentum", [0.0, 0.8])
def test_minibatches_are_noticed_and_their_bars_hold(momentum):
    inside, sizes = [], []
    for seed in range(6):
        watch = in_minibatches(seed, 12, shuffled=False, momentum=momentum)
        early = [made for made in watch.forecasts if made.made_at < watch.learned.min()]
        first, forecast = early[0], early[-1]
        assert first.void_from == 1
        assert not any(forecast.at_least for forecast in watch.forecasts)
        inside += [*forecast.inside(watch.learned)]
        assert (forecast.error > 1).all()
        assert (forecast.error < 0.5 * forecast.half_times).all()
        # Noise does not hide a step at which a component is learned.
        assert (watch.learned - watch.not_before <= 5).all()
        sizes.append(float(watch.notes[-1].split("about ")[1].split()[0]))
        assert "gradients 1 (+- " in watch.notes[-1]
    assert np.mean(inside) >= 0.85
    assert 9 < np.median(sizes) < 16


MULTIPLES = {
    "a half": (0.5, lambda F, Y: 0.5 * mse(F, Y)),
    "sum over outputs": (3.0, lambda F, Y: ((F - Y) ** 2).sum(1).mean()),
    "sum over the batch": (2.0, lambda F, Y: ((F - Y) ** 2).sum() / 30),
    "unusual": (0.7, lambda F, Y: 0.7 * mse(F, Y)),
}


@pytest.mark.parametrize("shuffled", [True, False])
@pytest.mark.parametrize("name", MULTIPLES)
def test_the_multiple_of_the_loss_is_measured_in_minibatches(name, shuffled):
    multiple, loss = MULTIPLES[name]
    inside = []
    for seed in range(2):
        watch = in_minibatches(seed, 20, shuffled=shuffled, loss=loss)
        assert watch.grade == "law"
        assert watch.forecasts[0].void_from == 1
        for forecast in watch.forecasts[1:]:
            # Bars of epochs say of themselves that they are lower bounds.
            miss = np.abs(watch.learned - forecast.half_times)
            slack = 3 if forecast.at_least else 1
            inside += [*(miss <= slack * np.ceil(forecast.error))[watch.learned > forecast.made_at]]
        assert watch._check.scale == pytest.approx(multiple, rel=0.02 if shuffled else 0.25)
        assert "times those of the loss that was given" in watch.notes[-1]
    assert len(inside) >= 6
    assert np.mean(inside) >= 0.9


def test_no_forecast_is_made_while_the_multiple_is_unknown():
    X, Y = points(4, n=120)
    model = chain(4, 8, 3, scale=0.02)
    optimizer = torch.optim.SGD(model.parameters(), 0.02)
    watch = swingby.watch(model, optimizer, X, Y, at=[3])
    for k in range(4):
        optimizer.zero_grad()
        mse(model(X[k : k + 10]), Y[k : k + 10]).backward()
        optimizer.step()
    assert [forecast.made_at for forecast in watch.forecasts] == [0]
    with pytest.raises(swingby.SwingbyError, match="multiple is not known yet"):
        watch.forecast()


@pytest.mark.parametrize("clip", [0.1, 0.3, 0.02, 1 / 3])
def test_clipped_minibatches_are_withdrawn(clip):
    """From the first step on, or where gradients have grown; by three where bounds are no hint."""
    watch = in_minibatches(1, 20, shuffled=True, clip=clip)
    assert watch.grade == "none"
    step = {0.1: 1, 0.3: 22, 0.02: 2}.get(clip, 28)
    assert any(note.startswith(f"step {step}: gradients of mini") for note in watch.notes)
    clip = f"{clip:.4g}"
    assert watch.reason == f"gradients of minibatches are clipped to the norm {clip}"
    for forecast in watch.forecasts:
        which = forecast.compared(watch.learned)
        assert forecast.inside(watch.learned)[which].all()


def test_a_norm_that_is_a_short_number_exactly_is_no_clip():
    largest = _Largest(short=True)
    for k in range(2):
        assert not largest.ties(0.5, torch.tensor([0.5, 0.5 * k]))
    clipped = _Largest(short=True)
    assert not clipped.ties(0.41, torch.tensor([0.41, 0.0]))
    assert clipped.ties(0.5 / (1 + 1e-6), torch.tensor([0.5, 0.0]))


def test_reshuffled_epochs_are_noticed_and_quieter():
    """Epochs of 8 batches; and of 8 of which the last is shorter."""
    inside = []
    for seed in range(6):
        watch = in_minibatches(seed, 15 + seed // 4, shuffled=True)
        assert "bars are at least so wide" in watch.notes[-1]
        assert seed > 3 or "about 15 points, each point once in 8 steps" in watch.notes[-1]
        assert "times those" not in watch.notes[-1]
        before, forecast = watch.forecasts[1], watch.forecasts[-1]
        assert (before.at_least, forecast.at_least) == (False, True)
        assert (3 * forecast.error < before.error).all()
        inside += [*(np.abs(watch.learned - forecast.half_times) <= 2 * np.ceil(forecast.error))]
        assert "+- at least" in str(watch)
    assert np.mean(inside) >= 0.85


@pytest.mark.parametrize("replacement", [False, True])
def test_epochs_are_what_the_noise_says(replacement):
    rng = np.random.default_rng(5)
    samples = rng.normal(size=(60, 7)) + 1.0
    seen = []
    for _ in range(40):
        length = EpochLength()
        for _ in range(EpochLength.steps_for(9.0)):
            order = rng.permutation(60)
            for k in range(10):
                rows = rng.integers(0, 60, 6) if replacement else order[6 * k : 6 * k + 6]
                length.add(torch.tensor(samples[rows].mean(0)), torch.tensor(samples.mean(0)))
        seen.append(length.found(9.0))
    if replacement:
        assert seen.count(None) >= 38
    else:
        assert set(seen) == {10}
