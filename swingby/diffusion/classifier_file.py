"""The classifier of a study on disk."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import torch

from swingby.diffusion.classifier import ENOUGH, Classified, ConceptClassifier, train_classifier
from swingby.diffusion.preset import STUDY_VERSION, Preset
from swingby.errors import SwingbyError
from swingby.training import checkpoint

_NAME = "classifier.safetensors"


def classifier_of(preset: Preset, folder: Path, device: Any = "cpu") -> Classified:
    """The classifier in a folder, trained if it is not there.

    Raises
    ------
    InvalidInput
        If the file is damaged, or belongs to something else.
    SwingbyError
        If the classifier does not get good enough to judge by.

    References
    ----------
    App. G.3.
    """
    path = folder / _NAME
    found = checkpoint.read(path, _identity(preset))
    if found is None:
        trained = train_classifier(preset, device)
        tensors = {f"network.{k}": v for k, v in trained.network.state_dict().items()}
        tensors["accuracy"] = torch.tensor(list(trained.accuracy.values()), dtype=torch.float64)
        checkpoint.write(path, _identity(preset), preset.classifier_steps, tensors, torch)
    else:
        trained = _read(preset, path, found[1], device)
    if not trained.good:
        worst = min(trained.accuracy, key=lambda contrast: trained.accuracy[contrast])
        raise SwingbyError(
            f"the classifier is right about {trained.accuracy[worst]:.4f} of held-out images at "
            f"contrast {worst:g}, and {ENOUGH} is needed: give it more steps or images"
        )
    return trained


def _read(preset: Preset, path: Path, kept: dict[str, Any], device: Any) -> Classified:
    network = ConceptClassifier(preset.classifier_channels)
    try:
        weights = {k.removeprefix("network."): v for k, v in kept.items() if k != "accuracy"}
        network.load_state_dict(weights)
        shares = kept["accuracy"].double()
        if shares.shape != (len(preset.contrasts),) or not ((shares >= 0) & (shares <= 1)).all():
            raise ValueError("no accuracy for each contrast")
        accuracy = dict(zip(preset.contrasts, shares.tolist(), strict=True))
    except (KeyError, RuntimeError, ValueError) as error:
        raise checkpoint.foreign(path, error) from None
    return Classified(network.to(device), accuracy)


def _identity(preset: Preset) -> str:
    """A name for classifiers that are the same."""
    names = (
        "contrasts",
        "pixels",
        *(f"classifier_{one}" for one in ("steps", "images", "channels")),
    )
    plain = {name: getattr(preset, name) for name in names}
    text = json.dumps({"classifier": plain, "version": STUDY_VERSION}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
