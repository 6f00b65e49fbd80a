"""Linear networks step by step, by the written gradient."""

from __future__ import annotations

from typing import Any

from swingby.training import written
from swingby.training.clock import loss_factor
from swingby.training.coordinates import Coordinates
from swingby.training.engine import plain
from swingby.training.feed import Moments
from swingby.training.reading import Probe, Seen, read_maps
from swingby.training.setting import Setting


class WrittenEngine:
    """Linear networks under plain gradient descent."""

    def __init__(
        self,
        torch: Any,
        settings: tuple[Setting, ...],
        weights: list[Any],
        coordinates: Coordinates,
        probe: Probe,
    ) -> None:
        self._torch, self._probe, self._coordinates = torch, probe, coordinates
        self._networks = written.start_written(torch, settings, weights, coordinates)
        like = weights[0]
        self._moments = Moments(torch, settings, coordinates, like.device)
        self._rates = like.new_tensor([one.optimizer.lr * loss_factor(one) for one in settings])[
            :, None, None
        ]
        self._moments.scale(self._rates)
        s = settings[0].task.s
        columns = [*range(s), *([coordinates.inputs] if settings[0].network.bias else [])]
        self._columns = torch.tensor(columns, device=like.device)
        self._whole = len(columns) == coordinates.inputs + settings[0].network.bias
        self._kept: Any = None

    def _maps(self, errors: Any) -> Any:
        return errors if self._whole else errors.index_select(1, self._columns)

    def advance(self, first: int, count: int) -> Seen:
        """Look, then take a step; so many times.

        Parameters
        ----------
        first : int
            The step before the first of them.
        count : int
        """
        networks, moments = self._networks, self._moments
        with self._torch.inference_mode():
            for k in range(count):
                errors, below = written.forward(networks)
                shown = self._maps(errors)
                kept = self._room(shown, count)
                kept[:, :, k] = shown
                written.descend(networks, moments.batch(first + k), errors, below)
        return read_maps(kept, self._probe, self._coordinates)

    def _room(self, shown: Any, count: int) -> Any:
        """Where what is seen in a chunk waits; the same from chunk to chunk."""
        if self._kept is None or self._kept.shape[2] != count:
            runs, columns, d = shown.shape
            self._kept = shown.new_empty((runs, columns, count, d))
        return self._kept

    def look(self) -> Seen:
        """Look once."""
        shown = self._maps(written.forward(self._networks)[0])
        return read_maps(shown[:, :, None], self._probe, self._coordinates)

    def train_loss(self) -> Any:
        """The paper's loss on the whole training set."""
        errors = written.forward(self._networks)[0]
        away = self._torch.bmm(self._moments.whole, errors)
        return plain(0.5 * (away * errors).sum((1, 2)))

    def state(self) -> dict[str, Any]:
        """Tensors from which to go on."""
        return {f"weight{place}": one for place, one in enumerate(self._networks.weights)}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from them."""
        for place, one in enumerate(self._networks.weights):
            one.copy_(state[f"weight{place}"])

    def weights(self) -> list[Any]:
        """Parameters, in the coordinates in which the network is trained."""
        return [plain(one) for one in written.plain_weights(self._networks)]
