"""What networks under way have in common, whatever their gradient comes from."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from swingby.training.reading import Seen


class Engine(Protocol):
    """Networks under way."""

    def advance(self, first: int, count: int) -> Seen:
        """Look, then take a step; so many times."""

    def look(self) -> Seen:
        """Look once."""

    def train_loss(self) -> Any:
        """The paper's loss on the whole training set, shape (r,)."""

    def state(self) -> dict[str, Any]:
        """Tensors from which to go on."""

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from them."""

    def weights(self) -> list[Any]:
        """Parameters, in the coordinates in which the network is trained."""


def plain(tensor: Any) -> Any:
    """A tensor as an array of floats of its own."""
    return np.array(tensor.cpu().double().numpy())
