"""Where the random numbers of a course come from: one seed, a stream for each use and step."""

from __future__ import annotations

from typing import Any

import numpy as np

#: Independent sources of randomness of a course.
STREAMS = ("images", "weights", "training", "sampling")


def stream(seed: int, name: str, step: int = 0) -> np.random.SeedSequence:
    """One source of randomness.

    Nothing is carried from one step to the next, so a course that is gone on with draws what an
    undisturbed one would have drawn.
    """
    return np.random.SeedSequence(seed, spawn_key=(STREAMS.index(name), step))


def torch_seed(source: np.random.SeedSequence) -> int:
    """The seed of a generator of torch.

    Returns
    -------
    int
        Below 2^63.
    """
    return int(source.generate_state(1, np.uint64)[0] >> np.uint64(1))


def seeded(generator: Any, source: np.random.SeedSequence) -> Any:
    """A generator of torch, set anew.

    Returns
    -------
    torch.Generator
        The same.
    """
    generator.manual_seed(torch_seed(source))
    return generator
