"""Libraries that end the process themselves: their exit code must not look like a verdict.

OpenBLAS, LLVM and z3 call exit(1) of C where they get no memory. Python is not asked then; what C
has been told to run at its exit still runs.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterator

#: Made beforehand, for a process that has no memory left.
BROKEN = b"swingby: something broke: out of memory, or a library ended the process\n"


def say_broken() -> None:
    """Print the line, with nothing that asks for memory."""
    with contextlib.suppress(OSError):
        os.write(2, BROKEN)


@contextlib.contextmanager
def guarded_exit() -> Iterator[None]:
    """Within, exit() of C ends the process with a line and code 5.

    Without GNU's C library nothing is guarded: others never take back what is to be run.
    """
    within = True

    def at_exit(_: object) -> None:
        if within:
            say_broken()
            os._exit(5)

    try:
        libc = ctypes.CDLL(None)
        libc.gnu_get_libc_version  # noqa: B018
        register, run_and_remove = libc.__cxa_atexit, libc.__cxa_finalize
        function, owner = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(at_exit), ctypes.c_int()
    except (AttributeError, MemoryError, OSError, TypeError):  # a system may forbid such functions
        yield
        return
    register(function, None, ctypes.byref(owner))
    try:
        yield
    finally:
        within = False
        run_and_remove(ctypes.byref(owner))
