"""The U-Net: how it begins, how large it is, and what it computes, written out in NumPy."""

import math

import numpy as np
import pytest
from scipy.special import erf

from swingby.lab.diffusion.preset import PAPER, Layout

torch = pytest.importorskip("torch")

from swingby.lab.diffusion.unet import UNet  # noqa: E402

pytestmark = pytest.mark.torch

SMALL = {"channels": (8, 16), "blocks": 1, "heads": 2, "groups": 4, "embedding": 6}
LAYOUTS = [
    Layout(**SMALL),
    Layout(**{**SMALL, "norm": "layer"}),
    Layout(**{**SMALL, "heads": 0, "blocks": 2}),
    Layout((8,), blocks=2, heads=2, patch=4, embedding=2),
    Layout(**SMALL, reads_condition=False),
    Layout((4, 8, 8), 1, heads=4, groups=2, centre=(1.0, -2.0), gain=(3.0, 0.5)),
]
ENDS = -4.0, 8.0


def gelu(v):
    return 0.5 * v * (1 + erf(v / math.sqrt(2)))


class WrittenOut:
    """A second implementation, for one image: rows and columns after the channels."""

    def __init__(self, network):
        self.layout = network.layout
        self.weights = {name: one.numpy() for name, one in network.state_dict().items()}

    def affine(self, name, v):
        return self.weights[f"{name}.weight"] @ v + self.weights[f"{name}.bias"]

    def convolved(self, name, x, stride=1):
        kernel, (_, rows, columns) = self.weights[f"{name}.weight"], x.shape
        size = kernel.shape[-1]
        wide = np.pad(x, ((0, 0), (size // 2, size // 2), (size // 2, size // 2)))
        parts = [
            np.tensordot(
                kernel[:, :, a, b], wide[:, a : a + rows : stride, b : b + columns : stride], 1
            )
            for a, b in np.ndindex(size, size)
        ]
        return sum(parts) + self.weights[f"{name}.bias"][:, None, None]

    def normed(self, name, x):
        parts = x.reshape(1 if self.layout.norm == "layer" else self.layout.groups, -1)
        rest = parts - parts.mean(1, keepdims=True)
        scaled = rest / np.sqrt(np.square(rest).mean(1, keepdims=True) + 1e-5)
        weight, bias = (self.weights[f"{name}.{one}"][:, None, None] for one in ("weight", "bias"))
        return scaled.reshape(x.shape) * weight + bias

    def block(self, name, x, time, told):
        h = self.convolved(f"{name}.first", gelu(self.normed(f"{name}.first_norm", x)))
        h = h + self.affine(f"{name}.time", time)[:, None, None]
        if self.layout.reads_condition:
            inner = gelu(self.affine(f"{name}.condition.0", told))
            h = h + self.affine(f"{name}.condition.2", inner)[:, None, None]
        h = self.convolved(f"{name}.second", gelu(self.normed(f"{name}.second_norm", h)))
        kept = len(h) == len(x)
        return h + (x if kept else self.convolved(f"{name}.short", x))

    def attended(self, x):
        asked = self.convolved("attention.asked", self.normed("attention.norm", x))
        heads = self.layout.heads
        query, key, value = asked.reshape(3, heads, len(x) // heads, -1)
        share = np.exp(query.transpose(0, 2, 1) @ key / math.sqrt(len(x) // heads))
        share /= share.sum(-1, keepdims=True)
        seen = value @ share.transpose(0, 2, 1)
        return x + self.convolved("attention.answer", seen.reshape(x.shape))

    def time(self, gamma):
        half = self.layout.embedding // 2
        rates = 10_000.0 ** (-np.arange(half) / max(half - 1, 1))
        angles = 1000 * (gamma - ENDS[0]) / (ENDS[1] - ENDS[0]) * rates
        waves = np.concatenate([np.sin(angles), np.cos(angles)])
        return gelu(self.affine("time.2", gelu(self.affine("time.0", waves))))

    def __call__(self, z, gamma, condition):
        layout, (channels, rows, columns) = self.layout, z.shape
        patch, levels = layout.patch, range(len(layout.channels))
        both = self.time(gamma), (condition - np.array(layout.centre)) * np.array(layout.gain)
        # Squares of pixels are one pixel of more channels inside.
        inside = z.reshape(channels, rows // patch, patch, columns // patch, patch)
        inside = inside.transpose(0, 2, 4, 1, 3).reshape(-1, rows // patch, columns // patch)
        x, kept = self.convolved("enter", inside), []
        for level in levels:
            for k in range(layout.blocks):
                x = self.block(f"down.{level}.{k}", x, *both)
            kept.append(x)
            if level < levels[-1]:
                x = self.convolved(f"shrink.{level}", x, stride=2)
        x = self.block("middle_first", x, *both)
        x = self.block("middle_second", self.attended(x) if layout.heads else x, *both)
        for level in levels:
            x = np.concatenate([x, kept.pop()])
            for k in range(layout.blocks):
                x = self.block(f"up.{level}.{k}", x, *both)
            if level < levels[-1]:
                x = self.convolved(f"enlarge.{level}", x.repeat(2, 1).repeat(2, 2))
        x = self.convolved("leave", gelu(self.normed("leave_norm", x)))
        x = x.reshape(channels, patch, patch, rows // patch, columns // patch)
        return z + x.transpose(0, 3, 1, 4, 2).reshape(z.shape)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_it_begins_as_the_image_and_computes_what_is_written_out(layout):
    generator = torch.Generator().manual_seed(0)

    def drawn(*shape):
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    network = UNet(layout, gamma_min=ENDS[0], gamma_max=ENDS[1]).double()
    given = drawn(3, 3, 8, 8), torch.tensor([-4.0, -1.0, 8.0]).double(), drawn(3, layout.condition)
    assert torch.equal(network(*given), given[0])
    with torch.no_grad():
        for one in network.parameters():
            one.copy_(0.5 * drawn(*one.shape))
        found = network(*given).numpy()
    # Image by image: none sees another.
    expected = [
        WrittenOut(network)(*(one.numpy() for one in each)) for each in zip(*given, strict=True)
    ]
    assert np.abs(found - given[0].numpy()).mean() > 0.1
    assert found == pytest.approx(np.array(expected), rel=1e-9, abs=1e-9)


def test_as_many_weights_as_the_network_of_the_paper():
    # The public code has 10,913,861. It is told 11 numbers instead of 4, has 2 by 2 convolutions
    # where the image is halved and doubled, and no shortcut at the lowest level.
    found = sum(one.numel() for one in UNet(PAPER.layout).parameters())
    assert found == 11_744_323
    eleven = Layout(norm="layer", centre=(0.0,) * 11, gain=(1.0,) * 11)
    more = sum(one.numel() for one in UNet(eleven).parameters()) - found
    # 14 blocks: 5 of each of the widths 64, 128, 256 but for one of 64 fewer and the like.
    assert more == 7 * (4 * 64 + 4 * 128 + 6 * 256)
