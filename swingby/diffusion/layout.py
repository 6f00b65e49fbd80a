"""How a U-Net is built."""

from __future__ import annotations

from dataclasses import dataclass

from swingby.errors import InvalidInput
from swingby.theory import numbers
from swingby.training.setting import booleans, one_of, put

_LEAST = {"blocks": 1, "heads": 0, "groups": 1, "embedding": 2, "patch": 1}


@dataclass(frozen=True)
class Layout:
    """How a U-Net is built.

    Parameters
    ----------
    channels : tuple of int
        Of each level; between levels the image is halved.
    blocks : int
        Residual blocks of each level.
    heads : int
        Of the self-attention in the bottleneck; 0 for none.
    norm : {"group", "layer"}
        "group" normalizes groups of channels (the public code of the paper), "layer" all of them
        (App. G.2).
    groups : int
        For "group".
    embedding : int
        Sines and cosines of the time.
    patch : int
        Squares of so many pixels by so many are one pixel with more channels inside the network.
    centre, gain : tuple of float
        Of the numbers of a condition, (condition - centre) gain, before the network reads it; one
        of each per number.
    reads_condition : bool
        False cuts the condition off: a network that cannot follow it, to compare with.

    Raises
    ------
    InvalidInput

    References
    ----------
    App. G.2.
    """

    channels: tuple[int, ...] = (64, 128, 256)
    blocks: int = 2
    heads: int = 4
    norm: str = "group"
    groups: int = 8
    embedding: int = 64
    patch: int = 1
    centre: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0)
    gain: tuple[float, ...] = (1.0, 1.0, 1.0, 1.0)
    reads_condition: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.channels, (tuple, list)) or not self.channels:
            raise InvalidInput("channels", self.channels, "must be the channels of each level")
        put(self, "channels", tuple(numbers.whole(one, "channels", 1) for one in self.channels))
        for name, least in _LEAST.items():
            put(self, name, numbers.whole(getattr(self, name), name, least))
        one_of(self.norm, "norm", ("group", "layer"))
        booleans(self, "reads_condition")
        for name in ("centre", "gain"):
            values = getattr(self, name)
            if not isinstance(values, (tuple, list)) or not values:
                raise InvalidInput(name, values, "must be numbers, one per number of a condition")
            put(
                self,
                name,
                tuple(numbers.within_float(numbers.exact(one, name), name) for one in values),
            )
        if len(self.gain) != len(self.centre):
            raise InvalidInput(
                "gain", self.gain, f"must be {len(self.centre)} numbers, as centre is"
            )
        if self.embedding % 2:
            raise InvalidInput("embedding", self.embedding, "must be even")
        if self.norm == "group" and any(one % self.groups for one in self.channels):
            raise InvalidInput("channels", self.channels, f"must be multiples of {self.groups}")
        if self.heads and self.channels[-1] % self.heads:
            raise InvalidInput("heads", self.heads, "must divide the last of the channels")

    @property
    def condition(self) -> int:
        """Numbers in a condition."""
        return len(self.centre)
