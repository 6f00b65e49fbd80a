"""What a network makes of the four conditions: images, and where they lie in concept space."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from swingby.diffusion import vdm
from swingby.diffusion.circles import CLASSES, HELD_OUT
from swingby.diffusion.classifier import ConceptClassifier
from swingby.diffusion.preset import Preset

#: Images of the held-out class that are kept of a save; of each other class, one.
KEPT = 4


@dataclass(frozen=True)
class Look:
    """Generated images and what the classifier says of them.

    Parameters
    ----------
    classes : ndarray of shape (4, 2)
        By class asked for: mean probability of blue and of small.
    right : ndarray of shape (4,)
        Share of images with both concepts as asked for.
    images : ndarray of shape (7, 3, height, width)
        uint8: one image of each training class, then four of the held-out one.
    """

    classes: np.ndarray[Any, np.dtype[np.float64]]
    right: np.ndarray[Any, np.dtype[np.float64]]
    images: np.ndarray[Any, np.dtype[np.uint8]]


def look(
    preset: Preset,
    contrast: float,
    network: Any,
    schedule: vdm.LinearSchedule,
    classifier: ConceptClassifier,
    generator: torch.Generator,
) -> Look:
    """Generate images of all four classes, at the middle of each, from the same noise.

    What differs between the classes of a save is then due to the condition alone, and what
    differs between saves, due to training.
    """
    circles, n = preset.circles(contrast), preset.generated_images
    told = np.concatenate([circles.conditions(kind, n) for kind in range(len(CLASSES))])
    made = vdm.sample(
        network,
        schedule,
        torch.from_numpy(told).to(generator.device),
        (3, preset.pixels, preset.pixels),
        steps=preset.sampling_steps,
        generator=generator,
        noises=n,
    ).float()
    points = classifier.probabilities(made).reshape(len(CLASSES), n, 2)
    asked = np.stack(np.divmod(np.arange(len(CLASSES)), 2), axis=1)[:, None]
    both = ((points > 0.5) == asked).all(2)
    kept = min(KEPT, n)
    chosen = [0, n, 2 * n, *range(HELD_OUT * n, HELD_OUT * n + kept)]
    shown = (255 * (0.5 + 0.5 * made[chosen].clamp(-1, 1))).round().to(torch.uint8)
    return Look(classes=points.mean(1), right=both.mean(1), images=shown.cpu().numpy())
