"""A classifier that reads colour and size off an image: where an image lies in concept space."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from swingby.diffusion.circles import Circles
from swingby.diffusion.preset import Preset

#: Share of held-out images that must be classified right, both concepts, at every contrast.
ENOUGH = 0.999
#: Held-out images per class and contrast.
HELD_OUT_IMAGES = 1000
_BATCH = 128
_PEAK_RATE = 3e-3
#: Sources of randomness of the classifier; apart from those of the courses.
_SEED = 20_241_008


class ConceptClassifier(nn.Module):
    """Convolutions, the largest value of each channel over the image, and a small network.

    Parameters
    ----------
    channels : int
        A multiple of 4; twice as many in the second half.

    References
    ----------
    App. G.3, with fewer layers.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        wide = 2 * channels
        self.look = nn.Sequential(
            nn.Conv2d(3, channels, 3, padding=1),
            nn.GELU(),
            nn.Conv2d(channels, channels, 3, stride=2, padding=1),
            nn.GroupNorm(4, channels),
            nn.GELU(),
            nn.Conv2d(channels, wide, 3, stride=2, padding=1),
            nn.GroupNorm(4, wide),
            nn.GELU(),
            nn.Conv2d(wide, wide, 3, padding=1),
            nn.GELU(),
        )
        self.tell = nn.Sequential(nn.Linear(wide, 64), nn.GELU(), nn.Linear(64, 2))

    def forward(self, x: Tensor) -> Tensor:
        """Log odds of blue and of small.

        Parameters
        ----------
        x : Tensor of shape (n, 3, height, width)
            From -1 to 1.

        Returns
        -------
        Tensor of shape (n, 2)
        """
        return self.tell(self.look(x).amax((2, 3)))

    @torch.no_grad()
    def probabilities(self, x: Tensor) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Points in concept space.

        Parameters
        ----------
        x : Tensor of shape (n, 3, height, width)
            From -1 to 1.

        Returns
        -------
        ndarray of shape (n, 2)
            Probability of blue and of small.
        """
        odds = self(x.float()).double()
        return np.asarray(torch.sigmoid(odds).cpu().numpy())


@dataclass(frozen=True)
class Classified:
    """A trained classifier with how good it is.

    Parameters
    ----------
    network : ConceptClassifier
    accuracy : dict of float to float
        Share of held-out images with both concepts right, by contrast.
    """

    network: ConceptClassifier
    accuracy: dict[float, float]

    @property
    def good(self) -> bool:
        """Whether it is right often enough at every contrast."""
        return min(self.accuracy.values()) >= ENOUGH


def train_classifier(preset: Preset, device: Any = "cpu") -> Classified:
    """Train on images of all four classes at every contrast of a preset.

    Parameters
    ----------
    preset : Preset
    device : torch.device

    Returns
    -------
    Classified

    References
    ----------
    App. G.3.
    """
    sources = [preset.circles(contrast) for contrast in preset.contrasts]
    pixels, labels = _images(sources, preset.classifier_images, "train", device)
    generator = torch.Generator().manual_seed(_SEED)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(_SEED)
        network = ConceptClassifier(preset.classifier_channels)
    network = network.to(device)
    optimizer = torch.optim.AdamW(network.parameters())
    rates = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, _PEAK_RATE, total_steps=preset.classifier_steps
    )
    for _ in range(preset.classifier_steps):
        chosen = torch.randint(len(pixels), (_BATCH,), generator=generator).to(device)
        odds = network(pixels[chosen])
        error = nn.functional.binary_cross_entropy_with_logits(odds, labels[chosen])
        optimizer.zero_grad()
        error.backward()
        optimizer.step()
        rates.step()
    return Classified(network, {one.contrast: accuracy(network, one, device) for one in sources})


def accuracy(network: ConceptClassifier, circles: Circles, device: Any = "cpu") -> float:
    """Share of new images of all four classes with both concepts right."""
    pixels, labels = _images([circles], HELD_OUT_IMAGES, "test", device)
    told = np.concatenate([network.probabilities(part) > 0.5 for part in pixels.split(1000)])
    return float((told == labels.cpu().numpy()).all(1).mean())


def _images(sources: list[Circles], n: int, purpose: str, device: Any) -> tuple[Tensor, Tensor]:
    """Images of all classes and contrasts from -1 to 1, and their digits."""
    drawn = [
        one.draw(
            n,
            # The contrast itself picks the stream, so that a preset with more contrasts shares it.
            rng=np.random.SeedSequence(
                [_SEED, purpose == "test", round(1e9 * one.contrast), one.pixels]
            ),
            classes=(0, 1, 2, 3),
        )
        for one in sources
    ]
    pixels = np.concatenate([2 * one.pixels - 1 for one in drawn])
    labels = np.concatenate([one.labels for one in drawn])
    return torch.from_numpy(pixels).to(device), torch.from_numpy(labels).float().to(device)
