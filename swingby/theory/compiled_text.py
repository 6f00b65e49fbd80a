"""Compiled code that cannot go stale: each text is a file of its own, named by its hash.

numba's cache beside a file that is named by the hash of its content serves exactly this text.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.machinery
import importlib.util
import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from swingby.report.files import write_text
from swingby.theory.numbers import Floats

#: Seconds after which the terminal is told what takes so long.
SILENT = 2.0


@functools.cache
def _temporary() -> Path:
    return Path(tempfile.mkdtemp(prefix="swingby"))


def folder() -> Path:
    """The folder of compiled texts: NUMBA_CACHE_DIR, the user's cache, or a temporary one.

    Every copy of the package may use the same, since a text is known by its content.
    """
    configured = os.environ.get("NUMBA_CACHE_DIR")
    user = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "swingby"
    for candidate in (Path(configured) if configured else user, user):
        try:
            candidate.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(candidate, os.W_OK):
            return candidate
    return _temporary()


def file_of(text: str) -> Path:
    """The file that a text is compiled in."""
    digest = hashlib.sha256(text.encode()).hexdigest()[:24]
    # No module of the package: what looks for those goes by their suffix.
    return folder() / f"swingby_{digest}.text"


def load(text: str, what: str) -> Any:
    """The module that a text defines; each function is compiled at its first call."""
    path = file_of(text)
    if not path.exists():
        write_text(path, text)
    loader = importlib.machinery.SourceFileLoader(path.stem, str(path))
    spec = importlib.util.spec_from_loader(path.stem, loader)
    if spec is None:
        raise ImportError(f"no module in {path}")
    with announced(what):
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module
        loader.exec_module(module)
    return module


def aligned(*shape: int) -> Floats:
    """Zeros that begin with a line of the cache: a vector across two lines takes twice as long."""
    size = int(np.prod(shape))
    room = np.zeros(size + 8)
    first = -(room.ctypes.data // 8) % 8
    return room[first : first + size].reshape(shape)


@contextmanager
def announced(what: str) -> Iterator[None]:
    """Announce on the terminal any compilation that takes longer than a moment."""

    def tell() -> None:
        if sys.stderr.isatty():
            sys.stderr.write(f"swingby: compiling {what}, once on this machine\n")
            sys.stderr.flush()

    timer = threading.Timer(SILENT, tell)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
