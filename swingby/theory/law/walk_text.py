"""What of the walk is compiled, as a text by which the cache knows it. Does without numba."""

from __future__ import annotations

import functools
import hashlib
from importlib import resources

from swingby.theory.compiled_text import is_loaded, is_stored

#: What a run is called with.
_ARRAYS = "queued, now, keeps_psd, field, slopes, new, between, steps, forms"
#: Compiled code is kept where its text says all that it depends on: the digest stands for the law.
_TEXT = '''"""Written by swingby; do not edit. Of the law {digest}."""
from swingby.theory.law.walk_lanes import _follow_all, _run

@compiled()
def run({arrays}):
 return _run({arrays})

@compiled()
def follow_all(walk):
 _follow_all(walk)
'''
#: A derivative that is written out for a dynamics, an order and d.
_SLOPE = '''"""Written by swingby; do not edit. Of the law {digest}."""
from swingby.theory.law.tape_written_out import SIGNATURE, slope_of
_slope = slope_of("{dynamics}", {order}, {d})

@by_address(SIGNATURE)
def take_slope(y, moving, fields, target):
 _slope(y, moving, fields, target)
'''


def walk_text() -> str:
    """The text of what Python calls."""
    return _TEXT.format(digest=law_digest(), arrays=_ARRAYS)


def slope_text(dynamics: str, order: int, d: int) -> str:
    """The text of a derivative."""
    return _SLOPE.format(digest=law_digest(), dynamics=dynamics, order=order, d=d)


@functools.cache
def law_digest() -> str:
    """A digest of the law, by which what is compiled of it is known."""
    # As resources: the package may lie in a zip file.
    theory = resources.files("swingby.theory")
    modules = sorted(theory.joinpath("law").iterdir(), key=lambda module: module.name)
    texts = [module for module in modules if module.name.endswith(".py")]
    texts.append(theory.joinpath("growth.py"))
    return hashlib.sha256(b"\0".join(text.read_bytes() for text in texts)).hexdigest()


def is_compiled() -> bool:
    """True where walks were compiled before, in this process or on this machine."""
    return is_loaded(walk_text()) or is_stored(walk_text(), "run")
