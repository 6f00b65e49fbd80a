"""What a network makes of the four conditions: images, and where they lie in concept space."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from swingby.diffusion import vdm
from swingby.diffusion.circles import HELD_OUT
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
    """Generate images of all four classes, at the middle of each.

    Parameters
    ----------
    preset : Preset
    contrast : float
    network : callable
        A denoiser.
    schedule : LinearSchedule
    classifier : ConceptClassifier
    generator : torch.Generator
        Set anew by the caller; the same noise at every save shows what training changed.

    Returns
    -------
    Look
    """
    circles = preset.circles(contrast)
    counts = [preset.training_images] * HELD_OUT + [preset.held_out_images]
    kinds = np.repeat(np.arange(4), counts)
    told = np.concatenate([circles.conditions(kind, n) for kind, n in enumerate(counts)])
    shape = (3, preset.pixels, preset.pixels)
    made = vdm.sample(
        network,
        schedule,
        torch.from_numpy(told).to(generator.device),
        shape,
        steps=preset.sampling_steps,
        generator=generator,
    ).float()
    points = classifier.probabilities(made)
    both = ((points > 0.5) == np.stack(np.divmod(kinds, 2), axis=1)).all(1)
    first = np.cumsum([0, *counts[:-1]])
    chosen = [*first[:HELD_OUT], *range(first[HELD_OUT], first[HELD_OUT] + min(KEPT, counts[-1]))]
    shown = (255 * (0.5 + 0.5 * made[chosen].clamp(-1, 1))).round().to(torch.uint8)
    return Look(
        classes=np.stack([points[kinds == kind].mean(0) for kind in range(4)]),
        right=np.array([both[kinds == kind].mean() for kind in range(4)]),
        images=shown.cpu().numpy(),
    )
