"""What of the walk is compiled, as a text by which the cache knows it. Does without numba."""

from __future__ import annotations

import functools
import hashlib
from importlib import resources

from swingby.theory.compiled_text import is_loaded, is_stored

#: What a run is called with.
_ARRAYS = "queued, now, keeps_psd, code, factors, R, constants, slopes, new, steps, forms"
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


@functools.cache
def walk_text() -> str:
    """The text of what Python calls."""
    # As resources: the package may lie in a zip file.
    theory = resources.files("swingby.theory")
    modules = sorted(theory.joinpath("law").iterdir(), key=lambda module: module.name)
    texts = [module for module in modules if module.name.endswith(".py")]
    texts.append(theory.joinpath("growth.py"))
    digest = hashlib.sha256(b"\0".join(text.read_bytes() for text in texts)).hexdigest()
    return _TEXT.format(digest=digest, arrays=_ARRAYS)


def is_compiled() -> bool:
    """True where walks were compiled before, in this process or on this machine."""
    return is_loaded(walk_text()) or is_stored(walk_text(), "run")
