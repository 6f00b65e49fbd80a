"""Public names of :mod:`swingby.own_theory`; they load on first use."""

from swingby import own_theory as _room

__all__ = list(_room.__all__)
__getattr__, __dir__ = _room.__getattr__, _room.__dir__
