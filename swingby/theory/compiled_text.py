"""Code that is written as a text and compiled: what is stored of it is known by the text.

So nothing goes stale, and nothing that lies on the disk is taken for the text.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import threading
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from swingby.report.user_cache import SWITCH, cache_folder
from swingby.theory.background import start_thread
from swingby.theory.numbers import Floats

#: Seconds after which the terminal is told what takes so long.
SILENT = 2.0


def folder() -> Path:
    """The folder of compiled code: in ``NUMBA_CACHE_DIR``, or the cache; OSError if neither is.

    Every copy of the package may use the same, since a text is known by its content.
    """
    shared = os.environ.get("NUMBA_CACHE_DIR")
    if shared and SWITCH not in os.environ:
        with contextlib.suppress(OSError):
            return cache_folder("compiled", shared)
    return cache_folder("compiled")


def _name_of(text: str) -> str:
    return f"swingby_{hashlib.sha256(text.encode()).hexdigest()[:24]}"


def is_loaded(text: str) -> bool:
    """True where this process has loaded a text."""
    return _name_of(text) in sys.modules


def is_stored(text: str, function: str) -> bool:
    """True where a function of a text was compiled before."""
    with contextlib.suppress(OSError):
        return any(folder().glob(f"{_name_of(text)}.{function}.*"))
    return False


def load(text: str, what: str) -> Any:
    """The module that a text defines. It is never read from a file: what it is compiled to is.

    A text has three decorators: ``compiled(*signatures)`` of what Python calls and
    ``by_address(signature)`` of what has an address, which are stored, and ``inner`` of what these
    call.
    """
    from swingby.theory.compiled_cache import addresser, compiler, inner

    name = _name_of(text)
    files = None
    with contextlib.suppress(OSError):
        files = folder() / name
    module = types.ModuleType(name)
    with compiling(what):
        if name not in sys.modules:
            module.__dict__.update(
                compiled=compiler(text, files), by_address=addresser(text, files), inner=inner
            )
            sys.modules[name] = module  # numba looks for the globals of stored code by this name
            try:
                exec(compile(text, f"<{name}>", "exec"), module.__dict__)  # noqa: S102 -- our text
            except BaseException:
                del sys.modules[name]
                raise
    return sys.modules[name]


def aligned(*shape: int) -> Floats:
    """Zeros that begin with a line of the cache: a vector across two lines takes twice as long."""
    size = int(np.prod(shape))
    room = np.zeros(size + 8)
    first = -(room.ctypes.data // 8) % 8
    return room[first : first + size].reshape(shape)


@contextlib.contextmanager
def compiling(what: str) -> Iterator[None]:
    """A block that compiles; one that takes a while says so on a terminal."""
    from swingby.theory.compiled_cache import compiler_alone

    over = threading.Event()

    def tell() -> None:
        if over.wait(SILENT):
            return
        try:
            how_often = f"once on this machine, for {folder()}"
        except OSError as error:
            how_often = f"in each process, without a cache: {error}"
        sys.stderr.write(f"swingby: compiling {what}, {how_often}\n")
        sys.stderr.flush()

    if sys.stderr is not None and sys.stderr.isatty():
        with contextlib.suppress(RuntimeError):  # code is compiled without a word, too
            start_thread(tell)
    try:
        with compiler_alone():
            yield
    finally:
        over.set()


def call(function: Any, what: str, *arguments: Any) -> Any:
    """Call a function of a loaded text; its form for these arguments may still be compiled."""
    from numba import typeof

    signature = tuple(typeof(argument) for argument in arguments)
    if signature not in function.overloads:
        with compiling(what):
            function.compile(signature)
    return function(*arguments)
