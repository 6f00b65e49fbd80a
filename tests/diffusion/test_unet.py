"""The U-Net: its size, how it begins, what each part computes, and whether it is told anything."""

import math

import numpy as np
import pytest

from swingby.diffusion.preset import Layout

torch = pytest.importorskip("torch")

from swingby.diffusion import unet  # noqa: E402
from swingby.diffusion.preset import PAPER  # noqa: E402
from swingby.diffusion.unet import UNet  # noqa: E402

pytestmark = pytest.mark.torch

SMALL = {"channels": (8, 16), "blocks": 1, "heads": 2, "groups": 4, "embedding": 8}


@pytest.fixture(autouse=True)
def seeded():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        yield


def stirred(network):
    """All weights random, those too that begin as zero."""
    with torch.no_grad():
        for one in network.parameters():
            one.add_(0.2 * torch.randn_like(one))
    return network.double()


def drawn(n=2, pixels=8, told=4):
    return (
        torch.randn(n, 3, pixels, pixels).double(),
        torch.linspace(-4, 9, n).double(),
        torch.randn(n, told).double(),
    )


@pytest.mark.parametrize(
    "layout",
    [
        Layout(**SMALL),
        Layout(**{**SMALL, "norm": "layer"}),
        Layout(**{**SMALL, "heads": 0}),
        Layout((8,), blocks=2, heads=2, patch=4),
        Layout(**SMALL, reads_condition=False),
        Layout(**SMALL, centre=(1.0, 2.0), gain=(3.0, 4.0)),
    ],
)
def test_the_output_begins_as_the_input(layout):
    network = UNet(layout).double()
    z, gamma, condition = drawn(told=layout.condition)
    assert torch.equal(network(z, gamma, condition), z)
    assert not torch.equal(stirred(network)(z, gamma, condition), z)


def test_as_many_weights_as_the_network_of_the_paper():
    # The public code has 10,913,861. It is told 11 numbers instead of 4, has 2 by 2 convolutions
    # where the image is halved and doubled, and no shortcut at the lowest level.
    found = sum(one.numel() for one in UNet(PAPER.layout).parameters())
    assert found == 11_744_323
    eleven = Layout(norm="layer", centre=(0.0,) * 11, gain=(1.0,) * 11)
    more = sum(one.numel() for one in UNet(eleven).parameters()) - found
    # 14 blocks: 5 of each of the widths 64, 128, 256 but for one of 64 fewer and the like.
    assert more == 7 * (4 * 64 + 4 * 128 + 6 * 256)


def test_attention_against_sums():
    layout = Layout(**SMALL)
    attention = stirred(unet._Attention(layout, 16))
    x = torch.randn(2, 16, 2, 3).double()
    found = attention(x).detach().numpy()
    normed = grouped(x.numpy(), 4, attention.norm)
    weight = attention.asked.weight.detach().numpy()[:, :, 0, 0]
    answer = attention.answer.weight.detach().numpy()[:, :, 0, 0]
    for n in range(2):
        flat = normed[n].reshape(16, 6)
        asked = weight @ flat + attention.asked.bias.detach().numpy()[:, None]
        query, key, value = asked[:16], asked[16:32], asked[32:]
        seen = np.zeros((16, 6))
        for head in range(2):
            part = slice(8 * head, 8 * head + 8)
            for here in range(6):
                fit = [query[part, here] @ key[part, there] / math.sqrt(8) for there in range(6)]
                share = np.exp(np.array(fit) - max(fit))
                share /= share.sum()
                seen[part, here] = sum(share[there] * value[part, there] for there in range(6))
        expected = x[n].numpy().reshape(16, 6) + answer @ seen
        expected += attention.answer.bias.detach().numpy()[:, None]
        assert found[n].reshape(16, 6) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def grouped(x, groups, norm):
    """Mean 0 and variance 1 over each group of channels and all pixels, then scaled."""
    out = np.empty_like(x)
    size = x.shape[1] // groups
    for n in range(len(x)):
        for k in range(groups):
            part = x[n, k * size : (k + 1) * size]
            scaled = (part - part.mean()) / math.sqrt(part.var() + 1e-5)
            out[n, k * size : (k + 1) * size] = scaled
    weight, bias = (getattr(norm, one).detach().numpy() for one in ("weight", "bias"))
    return out * weight[:, None, None] + bias[:, None, None]


def test_centre_and_gain_of_the_condition():
    # (c - centre) gain, before anything else: the same network told the result says the same.
    centre, gain = (0.45, -0.5, 2.0, 0.0), (5.0, 4.0, 0.5, -1.0)
    scaled = stirred(UNet(Layout(**SMALL, centre=centre, gain=gain)))
    plain = UNet(Layout(**SMALL)).double()
    plain.load_state_dict(scaled.state_dict())
    z, gamma, condition = drawn()
    told = torch.tensor(
        [[(c - m) * g for c, m, g in zip(row, centre, gain, strict=True)] for row in condition]
    ).double()
    assert torch.allclose(scaled(z, gamma, condition), plain(z, gamma, told), rtol=1e-6)
    assert not torch.allclose(scaled(z, gamma, condition), plain(z, gamma, condition), rtol=1e-3)


def test_waves_of_the_time():
    network = UNet(Layout(**{**SMALL, "embedding": 6}), gamma_min=-4.0, gamma_max=8.0)
    found = network._waves(torch.tensor([-4.0, -1.0, 8.0]).double()).numpy()
    for row, time in zip(found, (0, 0.25, 1), strict=True):
        angles = [1000 * time * rate for rate in (1, 1e-2, 1e-4)]
        expected = [*map(math.sin, angles), *map(math.cos, angles)]
        assert row == pytest.approx(expected, abs=1e-9)


def test_patches_are_one_pixel_inside():
    # Four times the channels on a quarter of the pixels, and back to where they were.
    network = UNet(Layout((8,), blocks=1, heads=0, groups=4, patch=2))
    seen = []
    network.enter.register_forward_hook(lambda layer, given, made: seen.append(given[0]))
    z, gamma, condition = drawn()
    network.double()(z, gamma, condition)
    assert seen[0].shape == (2, 12, 4, 4)
    for channel, row, column in ((0, 0, 0), (1, 0, 1), (2, 1, 0)):
        inside = seen[0][:, 4 * channel + 2 * row + column]
        assert torch.equal(inside, z[:, channel, row::2, column::2])


def test_each_level_of_the_way_down_is_kept_for_the_way_up():
    network = stirred(UNet(Layout(**SMALL)))
    made, given = {}, {}
    for name, block in blocks_of(network).items():

        def seen(layer, told, out, name=name):
            made[name], given[name] = out, told

        block.register_forward_hook(seen)
    network(*drawn())
    # The upper half of what the first block of a level on the way up is given, deepest first.
    for below, above in (("down.1.0", "up.0.0"), ("down.0.0", "up.1.0")):
        wide = made[below].shape[1]
        assert torch.equal(given[above][0][:, -wide:], made[below])
    assert torch.equal(given["up.0.0"][0][:, :16], made["middle_second"])


def blocks_of(network):
    return {name: one for name, one in network.named_modules() if isinstance(one, unet._Block)}


TOLD = {"centre": (0.0,) * 3, "gain": (1.0,) * 3}


def test_the_condition_reaches_every_block():
    network = UNet(Layout(**SMALL, **TOLD))
    blocks = blocks_of(network)
    assert sorted(blocks) == [
        "down.0.0", "down.1.0", "middle_first", "middle_second", "up.0.0", "up.1.0",
    ]  # fmt: skip
    x, gamma, condition = drawn(16, told=3)
    stirred(network)(x, gamma, condition).square().mean().backward()
    for name, block in blocks.items():
        for which, one in block.condition.named_parameters():
            assert one.grad.abs().max() > 0, (name, which)
    # Whichever block alone is told something else, the output is another.
    with torch.no_grad():
        before = network(x, gamma, condition)
        for name, block in blocks.items():
            other = block.register_forward_pre_hook(
                lambda layer, given: (given[0], given[1], given[2] + 1)
            )
            assert (network(x, gamma, condition) - before).abs().max() > 1e-6, name
            other.remove()
        assert torch.equal(network(x, gamma, condition), before)


def test_without_the_condition_nothing_depends_on_it():
    network = stirred(UNet(Layout(**SMALL, reads_condition=False)))
    z, gamma, condition = drawn()
    assert torch.equal(network(z, gamma, condition), network(z, gamma, condition + 5))
    network = stirred(UNet(Layout(**SMALL)))
    assert not torch.allclose(network(z, gamma, condition), network(z, gamma, condition + 5))
    # Nor does it forget the time or the image.
    assert not torch.allclose(network(z, gamma, condition), network(z, gamma + 1, condition))


def test_images_do_not_see_each_other():
    network = stirred(UNet(Layout(**SMALL)))
    z, gamma, condition = drawn(4)
    together = network(z, gamma, condition)
    for k in range(4):
        alone = network(z[k : k + 1], gamma[k : k + 1], condition[k : k + 1])
        assert torch.allclose(together[k : k + 1], alone, rtol=1e-9, atol=1e-9)
