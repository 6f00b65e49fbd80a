"""A conditional U-Net that estimates the noise in an image."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from swingby.lab.diffusion.preset import Layout
from swingby.lab.field_checks import instance


class _Block(nn.Module):
    """Two convolutions with the time and the condition added between them, beside a short cut."""

    def __init__(self, layout: Layout, inside: int, outside: int, time: int) -> None:
        super().__init__()
        self.first_norm = _norm(layout, inside)
        self.first = nn.Conv2d(inside, outside, 3, padding=1)
        self.time = nn.Linear(time, outside)
        self.condition = nn.Sequential(
            nn.Linear(layout.condition, outside), nn.GELU(), nn.Linear(outside, outside)
        )
        self.second_norm = _norm(layout, outside)
        self.second = nn.Conv2d(outside, outside, 3, padding=1)
        self.short = nn.Identity() if inside == outside else nn.Conv2d(inside, outside, 1)
        nn.init.zeros_(self.second.weight)
        nn.init.zeros_(self.second.bias)
        self.reads_condition = layout.reads_condition

    def forward(self, x: Tensor, time: Tensor, condition: Tensor) -> Tensor:
        h = self.first(functional.gelu(self.first_norm(x)))
        bias = self.time(time)
        if self.reads_condition:
            bias = bias + self.condition(condition)
        h = h + bias[:, :, None, None]
        h = self.second(functional.gelu(self.second_norm(h)))
        return self.short(x) + h


class _Attention(nn.Module):
    """Every pixel looks at every other."""

    def __init__(self, layout: Layout, channels: int) -> None:
        super().__init__()
        self.heads = layout.heads
        self.norm = _norm(layout, channels)
        self.asked = nn.Conv2d(channels, 3 * channels, 1)
        self.answer = nn.Conv2d(channels, channels, 1)
        nn.init.zeros_(self.answer.weight)
        nn.init.zeros_(self.answer.bias)

    def forward(self, x: Tensor) -> Tensor:
        n, channels, height, width = x.shape
        projections = self.asked(self.norm(x)).reshape(
            n, 3, self.heads, channels // self.heads, height * width
        )
        query, key, value = projections.transpose(-1, -2).unbind(1)
        attended = functional.scaled_dot_product_attention(query, key, value)
        return x + self.answer(attended.transpose(-1, -2).reshape(n, channels, height, width))


def _norm(layout: Layout, channels: int) -> nn.Module:
    return nn.GroupNorm(1 if layout.norm == "layer" else layout.groups, channels)


class UNet(nn.Module):
    """The network of App. G.2: noisy image, gamma and condition to the noise in the image.

    The output begins as the image itself: it is added at the end, and what is added to it begins
    as zero. The embedding of the time takes `gamma_min` and `gamma_max` for 0 and 1.

    >>> net = UNet(Layout((8, 16), blocks=1, heads=2))
    >>> z = torch.randn(2, 3, 16, 16)
    >>> bool((net(z, torch.zeros(2), torch.zeros(2, 4)) == z).all())
    True
    """

    def __init__(
        self, layout: Layout | None = None, *, gamma_min: float = -5.0, gamma_max: float = 10.0
    ) -> None:
        super().__init__()
        self.layout = layout = Layout() if layout is None else layout
        instance(layout, "layout", Layout)
        self.ends = (gamma_min, gamma_max)
        for name in ("centre", "gain"):
            values = torch.tensor(getattr(layout, name))
            self.register_buffer(name, values, persistent=False)
        channels = layout.channels
        time = 4 * layout.embedding
        self.time = nn.Sequential(
            nn.Linear(layout.embedding, time), nn.GELU(), nn.Linear(time, time), nn.GELU()
        )
        pixels = 3 * layout.patch**2
        self.enter = nn.Conv2d(pixels, channels[0], 3, padding=1)
        self.down, self.shrink = nn.ModuleList(), nn.ModuleList()
        before = channels[0]
        for level, wide in enumerate(channels):
            inside = [before] + [wide] * (layout.blocks - 1)
            self.down.append(
                nn.ModuleList(_Block(layout, channels, wide, time) for channels in inside)
            )
            before = wide
            if level + 1 < len(channels):
                self.shrink.append(nn.Conv2d(wide, wide, 3, stride=2, padding=1))
        self.middle_first = _Block(layout, before, before, time)
        self.attention = _Attention(layout, before) if layout.heads else nn.Identity()
        self.middle_second = _Block(layout, before, before, time)
        self.up, self.enlarge = nn.ModuleList(), nn.ModuleList()
        for level, wide in reversed(list(enumerate(channels))):
            inside = [before + wide] + [wide] * (layout.blocks - 1)
            self.up.append(
                nn.ModuleList(_Block(layout, channels, wide, time) for channels in inside)
            )
            before = wide
            if level:
                self.enlarge.append(nn.Conv2d(wide, wide, 3, padding=1))
        self.leave_norm = _norm(layout, before)
        self.leave = nn.Conv2d(before, pixels, 3, padding=1)
        nn.init.zeros_(self.leave.weight)
        nn.init.zeros_(self.leave.bias)

    def forward(self, z: Tensor, gamma: Tensor, condition: Tensor) -> Tensor:
        """Estimate the noise."""
        time = self.time(self._waves(gamma))
        condition = (condition - self.centre) * self.gain
        x = self._entered(z)
        skips = []
        for level, blocks in enumerate(self.down):
            for block in blocks:
                x = block(x, time, condition)
            skips.append(x)
            if level < len(self.shrink):
                x = self.shrink[level](x)
        x = self.middle_first(x, time, condition)
        x = self.middle_second(self.attention(x), time, condition)
        for level, blocks in enumerate(self.up):
            x = torch.cat([x, skips.pop()], dim=1)
            for block in blocks:
                x = block(x, time, condition)
            if level < len(self.enlarge):
                x = self.enlarge[level](functional.interpolate(x, scale_factor=2.0))
        x = self.leave(functional.gelu(self.leave_norm(x)))
        return z + functional.pixel_shuffle(x, self.layout.patch)

    def _entered(self, z: Tensor) -> Tensor:
        """The first channels, in the precision of the image also where the rest is in bfloat16.

        At gamma = -13.8 the noise is a thousandth, and bfloat16 has 8 binary digits: of the noise
        of a pixel (its squared correlation with what is read) 0.65 is left on average over
        [-1, 1], and 0.44 above 1/2, where the ground of an image lies.
        """
        with torch.autocast(z.device.type, enabled=False):
            return self.enter(functional.pixel_unshuffle(z, self.layout.patch))

    def _waves(self, gamma: Tensor) -> Tensor:
        """Sines and cosines of the time that gamma stands for, of many frequencies."""
        low, high = self.ends
        half = self.layout.embedding // 2
        rates = torch.exp(
            torch.arange(half, device=gamma.device, dtype=gamma.dtype)
            * (-math.log(10_000) / max(half - 1, 1))
        )
        angles = 1000 * ((gamma - low) / (high - low))[:, None] * rates
        return torch.cat([angles.sin(), angles.cos()], dim=1)
