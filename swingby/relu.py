"""Public names of :mod:`swingby.lab.relu`; they load on first use."""

from swingby.lab import relu as _room

__all__ = list(_room.__all__)
__getattr__, __dir__ = _room.__getattr__, _room.__dir__
#: Old paths below this name are found by :mod:`swingby.moved`.
__path__: list[str] = []
