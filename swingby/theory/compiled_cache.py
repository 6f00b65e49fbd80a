"""Machine code on disk: read only from a folder of the user, and only as it was written.

numba stores compiled functions as pickles, which run whatever they say. So a file is opened only
in :func:`swingby.report.user_cache.cache_folder`, and used only if its digest covers its content
and all that it was compiled from. Imports numba, so import it late.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import llvmlite  # type: ignore[import-untyped]
import numba
import numpy as np
from numba.core.caching import NullCache
from numba.core.ccallback import CFunc
from numba.core.compiler import CompileResult
from numba.core.compiler_lock import global_compiler_lock
from numba.core.serialize import dumps

from swingby.report.user_cache import store

#: Options of all compiled code.
_OPTIONS = {"nogil": True, "error_model": "numpy"}

#: Bytes of a digest, with which each file begins.
_SEAL = 32

# A child that is forked while another thread compiles would wait for that thread for ever.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=global_compiler_lock.acquire,
        after_in_parent=global_compiler_lock.release,
        after_in_child=global_compiler_lock.release,
    )


@contextlib.contextmanager
def compiler_alone() -> Iterator[None]:
    """A block that compiles, one thread at a time, whatever ``NUMBA_DISABLE_JIT`` says.

    It is for debugging one's own functions; ours call operations that Python lacks.
    """
    with global_compiler_lock:
        disabled, numba.config.DISABLE_JIT = numba.config.DISABLE_JIT, 0
        try:
            yield
        finally:
            numba.config.DISABLE_JIT = disabled


def inner(function: Any) -> Any:
    """Compile a function that compiled functions call."""
    with compiler_alone():
        return numba.njit(_nrt=True, **_OPTIONS)(function)


def borrowing(function: Any) -> Any:
    """The same for a function that makes no arrays: it does not count references to its own.

    On arrays as small as ours counting takes as long as arithmetic.
    """
    with compiler_alone():
        return numba.njit(_nrt=False, **_OPTIONS)(function)


class FileCache(NullCache):  # type: ignore[misc]
    """The compiled forms of a function of a text, as numba asks for them."""

    def __init__(self, text: str, name: str, files: Path) -> None:
        self._text, self._name, self._files = text, name, files

    def _entry(self, signature: Any, codegen: Any) -> tuple[Path, bytes]:
        """The file of a compiled form, and the digest of all that it was compiled from."""
        versions = sys.version, numba.__version__, llvmlite.__version__, np.__version__
        origin = self._text, self._name, signature, codegen.magic_tuple(), versions, _OPTIONS
        digest = hashlib.sha256(repr(origin).encode())
        return Path(f"{self._files}.{self._name}.{digest.hexdigest()[:16]}"), digest.digest()

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled form of a signature, or None, at which numba compiles it."""
        target_context.refresh()
        # Whatever a file, or a numba that is built otherwise, does here: compile it.
        with contextlib.suppress(Exception):
            path, origin = self._entry(sig, target_context.codegen())
            stored = path.read_bytes() if path.is_file() else b""
            if stored[:_SEAL] == hashlib.sha256(origin + stored[_SEAL:]).digest():
                content = pickle.loads(stored[_SEAL:])  # noqa: S301 -- of our folder, as we wrote it
                return CompileResult._rebuild(target_context, *content)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store what numba compiled, where that can be."""
        with contextlib.suppress(Exception):
            if not data.lifted and not data.library.has_dynamic_globals:
                path, origin = self._entry(sig, data.codegen)
                content = dumps(data._reduce())
                store(path, hashlib.sha256(origin + content).digest() + content)


def compiler(text: str, files: Path | None) -> Callable[..., Any]:
    """``compiled(*signatures)``, the decorator of functions of a text that Python calls."""

    def compiled(*signatures: Any) -> Callable[[Any], Any]:
        def decorate(function: Any) -> Any:
            dispatcher = inner(function)
            if files is not None:
                dispatcher._cache = FileCache(text, function.__name__, files)
            for signature in signatures:
                dispatcher.compile(signature)
            return dispatcher

        return decorate

    return compiled


def addresser(text: str, files: Path | None) -> Callable[..., Any]:
    """``by_address(signature)``, the decorator of functions of a text that have an address."""

    def by_address(signature: Any) -> Callable[[Any], Any]:
        def decorate(function: Any) -> Any:
            kinds = signature.args, signature.return_type
            options = {**_OPTIONS, "_nrt": False}
            compiled: Any = CFunc(function, kinds, locals={}, options=options)
            if files is not None:
                compiled._cache = FileCache(text, function.__name__, files)
            compiled.compile()
            return compiled

        return decorate

    return by_address
