"""Any network step by step, by automatic differentiation."""

from __future__ import annotations

from typing import Any

from swingby.training import differentiated
from swingby.training.clock import loss_factor
from swingby.training.coordinates import Coordinates
from swingby.training.engine import plain
from swingby.training.feed import Moments, Points
from swingby.training.reading import Probe, Seen, inputs_of, read_points
from swingby.training.setting import Setting

#: Points of the training set that are evaluated together.
_PART = 512


class DifferentiatedEngine:
    """Any network, by automatic differentiation."""

    def __init__(
        self,
        torch: Any,
        settings: tuple[Setting, ...],
        weights: list[Any],
        coordinates: Coordinates,
        probe: Probe,
    ) -> None:
        self._torch, self._probe, self._coordinates = torch, probe, coordinates
        self._networks = differentiated.start_differentiated(torch, settings, weights, coordinates)
        like = weights[0]
        self._by_moments = settings[0].network.linear
        kind = settings[0].optimizer.kind
        self._rates = like.new_tensor(
            [loss_factor(one) * (1.0 if kind == "adamw" else one.optimizer.lr) for one in settings]
        )
        self._feed: Moments | Points
        if self._by_moments:
            self._feed = Moments(torch, settings, coordinates, like.device)
        else:
            self._feed = Points(torch, settings, coordinates, like.device, bias=False)
        inputs = inputs_of(probe, coordinates)
        self._inputs = like.new_tensor(inputs)
        s = settings[0].task.s
        self._along = like.new_tensor(coordinates.frames[:, : coordinates.inputs, :s]).mT
        self._targets = self._inputs @ self._networks.target.mT
        self._slopes = self._along @ self._networks.target.mT

    def advance(self, first: int, count: int) -> Seen:
        """Look, then take a step; so many times.

        Parameters
        ----------
        first : int
            The step before the first of them.
        count : int
        """
        torch, networks = self._torch, self._networks
        away, slope = [], []
        for k in range(count):
            with torch.no_grad():
                shown = self._shown()
            away.append(shown[0])
            slope.append(shown[1])
            batch = self._feed.batch(first + k)
            if self._by_moments:
                losses = differentiated.loss_of_moment(networks, batch)
            else:
                losses = differentiated.loss_at(networks, batch)
            differentiated.descend(networks, losses, self._rates)
        return read_points(
            torch.stack(away, 1), torch.stack(slope, 1), self._probe, self._coordinates
        )

    def _shown(self) -> tuple[Any, Any]:
        networks = self._networks
        output, slope = differentiated.tangents(networks, self._inputs, self._along)
        return output - self._targets, slope - self._slopes

    def look(self) -> Seen:
        """Look once."""
        with self._torch.no_grad():
            away, slope = self._shown()
        return read_points(away[:, None], slope[:, None], self._probe, self._coordinates)

    def train_loss(self) -> Any:
        """The paper's loss on the whole training set."""
        with self._torch.no_grad():
            if isinstance(self._feed, Moments):
                found = differentiated.loss_of_moment(self._networks, self._feed.whole)
            else:
                found = self._loss_by_parts(self._feed.all)
        return plain(found)

    def _loss_by_parts(self, points: Any) -> Any:
        """The mean over all points, a part at a time so that it stays in the caches."""
        total = 0.0
        for part in points.split(_PART, 1):
            total = total + differentiated.loss_at(self._networks, part) * part.shape[1]
        return total / points.shape[1]

    def state(self) -> dict[str, Any]:
        """Tensors from which to go on."""
        found = {}
        for place, one in enumerate(self._networks.parameters):
            found[f"weight{place}"] = one.detach()
            for name, value in self._networks.optimizer.state.get(one, {}).items():
                if self._torch.is_tensor(value):
                    found[f"{name}{place}"] = value
        return found

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from them."""
        with self._torch.no_grad():
            for place, one in enumerate(self._networks.parameters):
                one.copy_(state[f"weight{place}"])
                held = {
                    name: state[f"{name}{place}"].clone()
                    for name in ("step", "exp_avg", "exp_avg_sq")
                    if f"{name}{place}" in state
                }
                self._networks.optimizer.state.pop(one, None)
                if held:
                    self._networks.optimizer.state[one].update(held)

    def weights(self) -> list[Any]:
        """Parameters, in the coordinates in which the network is trained."""
        return [plain(one.detach()) for one in self._networks.parameters]
