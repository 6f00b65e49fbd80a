"""What training changes: network, running mean, schedule, optimizer, and the losses so far."""

from __future__ import annotations

import copy
from typing import Any

import torch

from swingby.diffusion import vdm
from swingby.diffusion.preset import Preset
from swingby.diffusion.randomness import stream, torch_seed
from swingby.diffusion.record import LOSSES
from swingby.diffusion.unet import UNet


class State:
    """All that training changes."""

    def __init__(self, preset: Preset, seed: int, device: torch.device) -> None:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(torch_seed(stream(seed, "weights")))
            network = UNet(preset.layout, gamma_min=preset.gamma_min, gamma_max=preset.gamma_max)
        layout = torch.channels_last if device.type == "cuda" else torch.contiguous_format
        self.network = network.to(device=device, memory_format=layout)
        self.averaging = preset.averaging
        # Without averaging, the two are one.
        self.mean = copy.deepcopy(self.network) if self.averaging else self.network
        self.schedule = vdm.LinearSchedule(preset.gamma_min, preset.gamma_max).to(device)
        self.optimizer = torch.optim.AdamW(
            [
                {"params": list(self.network.parameters())},
                # Decay would pull the ends of the schedule to equal parts of signal and noise.
                {"params": list(self.schedule.parameters()), "weight_decay": 0.0},
            ],
            lr=preset.learning_rate,
            weight_decay=preset.weight_decay,
        )
        self.step = 0
        self.sums = torch.zeros(len(LOSSES), dtype=torch.float64, device=device)
        self.summed = 0
        #: False while an update is under way; a state in between must not be written.
        self.whole = True

    def tensors(self) -> dict[str, Any]:
        """Everything by name, to be written."""
        kept = {f"network.{name}": value for name, value in self.network.state_dict().items()}
        for name, value in self.schedule.state_dict().items():
            kept[f"schedule.{name}"] = value
        for place, state in self.optimizer.state_dict()["state"].items():
            for name, value in state.items():
                kept[f"optimizer.{place}.{name}"] = value
        if self.averaging:
            for name, value in self.mean.state_dict().items():
                kept[f"mean.{name}"] = value
        kept["sums"] = self.sums
        kept["summed"] = torch.tensor(self.summed)
        return kept

    def take(self, step: int, kept: dict[str, Any]) -> None:
        """Go on from what was written.

        Raises
        ------
        KeyError, IndexError, ValueError, RuntimeError
            If parts are missing or of another shape.
        """
        here = {name: value for name, value in self.tensors().items() if name[0] != "o"}
        self.network.load_state_dict(_under(kept, "network."))
        self.schedule.load_state_dict(_under(kept, "schedule."))
        if self.averaging:
            self.mean.load_state_dict(_under(kept, "mean."))
        whole = self.optimizer.state_dict()
        state: dict[int, dict[str, Any]] = {}
        for name, value in _under(kept, "optimizer.").items():
            place, _, what = name.partition(".")
            state.setdefault(int(place), {})[what] = value
        missing = set(here) - set(kept)
        if missing or (
            step and set(state) != {k for one in whole["param_groups"] for k in one["params"]}
        ):
            raise KeyError(f"parts are missing: {sorted(missing)}")
        # load_state_dict takes whatever is there, and the next step would fail.
        weights = [one for group in self.optimizer.param_groups for one in group["params"]]
        for at, one in state.items():
            shape = weights[at].shape
            shapes = {what: value.shape for what, value in one.items()}
            if shapes != {"step": (), "exp_avg": shape, "exp_avg_sq": shape}:
                raise ValueError(f"the optimizer knows something else of weight {at}")
        if kept["sums"].shape != self.sums.shape or int(kept["summed"]) < 0:
            raise ValueError("the sums of the losses are something else")
        self.optimizer.load_state_dict({**whole, "state": state})
        self.sums = kept["sums"].to(self.sums)
        self.summed = int(kept["summed"])
        self.step = step

    @torch.no_grad()
    def average(self) -> None:
        """Take the weights into their running mean, faster in the first steps."""
        if self.averaging:
            kept = min(self.averaging, (1 + self.step) / (10 + self.step))
            mean, now = list(self.mean.parameters()), list(self.network.parameters())
            torch._foreach_lerp_(mean, now, 1 - kept)

    def count(self, losses: torch.Tensor) -> None:
        """Add the losses of one step to those since the last save."""
        self.sums = self.sums + losses.detach().double()
        self.summed += 1

    def forget_losses(self) -> None:
        """Begin a new mean."""
        self.sums = torch.zeros_like(self.sums)
        self.summed = 0


def _under(kept: dict[str, Any], prefix: str) -> dict[str, Any]:
    return {name[len(prefix) :]: value for name, value in kept.items() if name.startswith(prefix)}
