"""The folder ``studies`` of a checkout, beside the package: its files, and its modules by name.

It holds the experiments of the repository, which a wheel does not contain; so the package imports
nothing of it, and looks for a module when a name of it is asked for.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import types
from pathlib import Path

from swingby.errors import MissingStudies

ROOT = Path(__file__).parents[1]
#: The record that our folder has, and no other folder of that name.
_MARK = Path("records", "evidence.json")


def studies_folder() -> Path | None:
    """The folder of the experiments, or None in a package that was installed from a wheel."""
    folder = ROOT / "studies"
    return folder if (folder / _MARK).is_file() else None


def studies_module(path: str, name: str) -> types.ModuleType:
    """A module of the experiments, by its dotted path.

    Parameters
    ----------
    path : str
        Such as ``studies.image_plan``.
    name : str
        The name or command that asks for it, for the message.

    Raises
    ------
    MissingStudies
        Without a checkout, or where another module is called ``studies``.
    """
    folder = studies_folder()
    if folder is None:
        raise MissingStudies(name, path)
    spec = importlib.util.find_spec("studies")
    if spec is None:
        sys.path.append(str(ROOT))
        importlib.invalidate_caches()
    elif spec.origin is None or Path(spec.origin).resolve().parent != folder.resolve():
        raise MissingStudies(name, path, spec.origin or "a folder on sys.path")
    return importlib.import_module(path)
