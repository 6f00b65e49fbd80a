"""What shorter floats keep of the noise, where the schedule has least of it.

A pixel z = alpha x + sigma epsilon is rounded to numbers that lie q apart. Where x is spread over
many such gaps the error is uniform over one and independent of epsilon, so of the noise is kept

    correlation(rounded z - alpha x, epsilon)^2 = sigma^2 / (sigma^2 + q^2 / 12),

with q = 2^(e - d) between 2^(e-1) and 2^e for numbers of d binary digits.
"""

import math
from dataclasses import replace

import numpy as np
import pytest

from swingby.lab.diffusion.preset import Layout

torch = pytest.importorskip("torch")

from swingby.lab.diffusion.unet import UNet  # noqa: E402

pytestmark = pytest.mark.torch

#: 2 log(data_noise) of the preset `paper`: where a learned schedule ends, and its noise.
GAMMA = -13.8
VARIANCE = 1 / (1 + math.exp(-GAMMA))
#: Binary digits of bfloat16 and float32.
HALF, SINGLE = 8, 24
PIXELS = 64
LAYOUT = Layout((8, 16), blocks=1, heads=2, groups=4, embedding=6)


def left_over(exponent, digits):
    """What rounding leaves of the noise of pixels between 2^(exponent - 1) and 2^exponent."""
    gap = 2.0 ** (exponent - digits)
    return VARIANCE / (VARIANCE + gap**2 / 12)


def images(low, high, count=24, seed=0):
    """Pixels between two numbers, noise, and both together: in float64, the last in float32."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(low, high, (count, 3, PIXELS, PIXELS))
    noise = rng.standard_normal(x.shape)
    z = math.sqrt(1 - VARIANCE) * x + math.sqrt(VARIANCE) * noise
    return x, noise, torch.from_numpy(z.astype(np.float32))


def share(values, x, noise):
    """Of the noise, in what was read of an image."""
    away = values.double().numpy() - math.sqrt(1 - VARIANCE) * x
    return np.corrcoef(away.ravel(), noise.ravel())[0, 1] ** 2


def identity():
    """A network whose first layer hands the three channels on."""
    network = UNet(LAYOUT, gamma_min=GAMMA)
    with torch.no_grad():
        network.enter.weight.zero_()
        network.enter.bias.zero_()
        for channel in range(3):
            network.enter.weight[channel, channel, 1, 1] = 1.0
    return network


def entered(network, z):
    """What the first layer makes of images in half precision."""
    outputs = []
    network.enter.register_forward_hook(lambda *call: outputs.append(call[2]))
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        network(z, torch.full((len(z),), GAMMA), torch.zeros(len(z), 4))
    return outputs[0][:, :3]


# The standard error of a squared correlation r of n pairs is about 2 sqrt(r) (1 - r) / sqrt(n),
# here 0.0013 at most; four of them.
WITHIN = 0.005


@pytest.mark.parametrize("exponent", [0, -1, -2, -4])
def test_bfloat16_keeps_what_the_rounding_of_eight_digits_does(exponent):
    # Away from the ends, which the noise would cross.
    x, noise, z = images(1.02 * 2.0 ** (exponent - 1), 0.98 * 2.0**exponent)
    assert share(z.bfloat16(), x, noise) == pytest.approx(left_over(exponent, HALF), abs=WITHIN)
    assert share(z, x, noise) == pytest.approx(left_over(exponent, SINGLE), abs=1e-6)


def test_of_pixels_spread_over_the_whole_range_bfloat16_leaves_about_two_thirds():
    x, noise, z = images(-1, 1)
    # Residuals are pooled, so variances are, and what is kept is one over their sum: half of all
    # pixels above 1/2, a fourth above 1/4, and so on.
    error = sum(2.0 ** -(k + 1) * 4.0 ** -(HALF + k) / 12 for k in range(40))
    pooled = VARIANCE / (VARIANCE + error)
    assert pooled == pytest.approx(0.58, abs=0.005)
    assert share(z.bfloat16(), x, noise) == pytest.approx(pooled, abs=WITHIN)
    # Pixel by pixel, with what lies around it known.
    each = sum(2.0 ** -(k + 1) * left_over(-k, HALF) for k in range(40))
    assert each == pytest.approx(0.652, abs=0.0005)


def test_the_first_layer_keeps_all_of_the_noise_in_half_precision():
    x, noise, z = images(0.51, 0.98, count=6)
    network = identity()
    assert share(entered(network, z), x, noise) == pytest.approx(left_over(0, SINGLE), abs=1e-6)
    # With the rest of the network it would keep less than half.
    network._entered = lambda z: network.enter(z)
    assert share(entered(network, z), x, noise) == pytest.approx(left_over(0, HALF), abs=2 * WITHIN)


def test_half_precision_reaches_the_other_layers():
    network, z = identity(), images(-1, 1, count=2)[2]
    kinds = {}
    for name, layer in network.named_modules():
        if isinstance(layer, torch.nn.Conv2d):
            layer.register_forward_hook(
                lambda *call, name=name: kinds.update({name: call[2].dtype})
            )
    entered(network, z)
    assert kinds.pop("enter") == torch.float32
    assert set(kinds.values()) == {torch.bfloat16}


def test_a_first_layer_that_sees_neighbours_hands_the_noise_to_half_precision():
    """The difference of two pixels of a flat image is noise alone, of which 8 digits are plenty."""
    _, noise, z = images(0.75, 0.75, count=6)
    network = identity()
    with torch.no_grad():
        for channel in range(3):
            network.enter.weight[channel, channel, 1, 0] = -1.0
    difference = entered(network, z)[..., 1:].bfloat16().double().numpy()
    expected = math.sqrt(VARIANCE) * (noise[..., 1:] - noise[..., :-1])
    # An error of a value is at most 2^-8 of it, and at most uniform.
    squared = np.corrcoef(difference.ravel(), expected.ravel())[0, 1] ** 2
    assert 1 - squared < 4.0**-HALF / 3


@pytest.mark.parametrize(
    ("precision", "short"), [("float32", False), ("tf32", True), ("bfloat16", True)]
)
def test_a_study_on_a_gpu_has_tf32_only_where_it_was_asked_for(
    precision, short, two_cells, tmp_path, monkeypatch
):
    from studies import image_runs

    flags, backends = [], (torch.backends.cuda.matmul, torch.backends.cudnn)
    before = [backend.allow_tf32 for backend in backends]

    def train_course(*arguments, **options):
        flags.extend(backend.allow_tf32 for backend in backends)

    monkeypatch.setattr("swingby.lab.diffusion.course_training.train_course", train_course)
    plan = replace(two_cells, preset=replace(two_cells.preset, precision=precision))
    try:
        for backend in backends:
            backend.allow_tf32 = not short
        image_runs._work((0, plan, *plan.jobs[0], tmp_path, "cuda"))
    finally:
        for backend, value in zip(backends, before, strict=True):
            backend.allow_tf32 = value
    assert flags == [short, short]
