"""Public names of :mod:`swingby.lab.networks`: multi-layer perceptrons on the SIM task."""

from typing import TYPE_CHECKING

from swingby.lab.networks import *  # noqa: F403
from swingby.lab.networks import __all__ as __all__
from swingby.loading import refusing

if not TYPE_CHECKING:
    __getattr__ = refusing(__name__, __all__)

#: Old paths below this name are found by :mod:`swingby.moved`.
__path__: list[str] = []
