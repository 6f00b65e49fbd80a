"""The user's cache: files that can be made again, in a folder that nobody else can write.

``SWINGBY_CACHE`` names another folder, or turns every cache off with the word ``off``. Whatever
fails here means that a result is computed again.
"""

from __future__ import annotations

import os
from pathlib import Path

from swingby.errors import InvalidInput
from swingby.report.files import whole

SWITCH = "SWINGBY_CACHE"


def cache_folder(room: str, shared: str | None = None) -> Path:
    """A folder of the cache, made if it is missing; OSError with the reason if none can be used.

    `shared`: a folder that several users may have in common; each has a folder of his own in it.
    """
    setting = os.environ.get(SWITCH, "")
    if setting.lower() == "off":
        raise OSError(f"turned off by {SWITCH}=off")
    if setting:
        root = Path(setting)
    elif shared:
        root = Path(shared).absolute() / f"swingby-{os.geteuid() if _has_owners() else 'user'}"
    else:
        import platformdirs

        try:
            root = platformdirs.user_cache_path("swingby", appauthor=False)
        except RuntimeError as error:  # a user without a home
            raise FileNotFoundError(f"{error} ({SWITCH} sets another)") from None
    if not root.is_absolute():  # a user without a home, or a folder that moves with the process
        raise OSError(f"no absolute path: {root} ({SWITCH} sets another)")
    # Before what lies in it: a folder inside is as safe as its root.
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = root.stat()
    if _has_owners() and status.st_uid != os.geteuid():
        raise PermissionError(f"{root} belongs to another user ({SWITCH} sets another)")
    if _has_owners() and status.st_mode & 0o022:
        raise PermissionError(f"others can write in {root} (chmod go-w {root})")
    folder = root / room
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def store(path: Path, content: bytes) -> bool:
    """Write a file of the cache, whole; False where the disk or the system refuses."""
    if path.exists() and not path.is_file():  # a pipe would wait for a reader
        return False
    try:
        with whole(path) as unfinished:
            unfinished.write_bytes(content)
    except (OSError, InvalidInput):
        return False
    return True


def _has_owners() -> bool:
    """False on Windows, where the folder of a user is closed to others."""
    return hasattr(os, "geteuid")
