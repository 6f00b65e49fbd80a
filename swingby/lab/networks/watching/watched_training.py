"""What tables and pictures read of a watch."""

from __future__ import annotations

from typing import Any, Protocol

from swingby.lab.networks.watching.mode_forecast import ModeForecast
from swingby.theory.numbers import Floats


class WatchedTraining(Protocol):
    """A training with the shares of its components so far, and the forecasts made of it."""

    step: int
    level: float

    @property
    def learned(self) -> Floats: ...  # noqa: D102
    @property
    def not_before(self) -> Floats: ...  # noqa: D102
    @property
    def closed(self) -> bool: ...  # noqa: D102
    @property
    def grade(self) -> str: ...  # noqa: D102
    @property
    def reason(self) -> str: ...  # noqa: D102
    @property
    def forecasts(self) -> tuple[ModeForecast, ...]: ...  # noqa: D102
    @property
    def notes(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def explained(self) -> Floats: ...  # noqa: D102
    @property
    def omitted(self) -> int: ...  # noqa: D102
    @property
    def falls(self) -> Floats | None: ...  # noqa: D102
    @property
    def steps(self) -> Any: ...  # noqa: D102
    @property
    def shares(self) -> Floats: ...  # noqa: D102
    @property
    def train_loss(self) -> Floats: ...  # noqa: D102
