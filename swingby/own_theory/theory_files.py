"""Files with theories: Python code of the user, run because she names the file."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from swingby.errors import InvalidInput
from swingby.hints import suggestion
from swingby.own_theory.statement import ended
from swingby.own_theory.theory import Theory


def theories_in(path: str | Path) -> dict[str, Theory]:
    """The theories of a Python file, by the names that they have in it; the file is run.

    As with ``python my.py``, modules beside the file can be imported.
    """
    file = Path(path)
    if file.suffix != ".py" or not file.is_file():
        raise InvalidInput("file", str(path), "must be a Python file with a swingby.Theory")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    if spec is None or spec.loader is None:
        raise InvalidInput("file", str(path), "must be a Python file")
    module = importlib.util.module_from_spec(spec)
    if (folder := str(file.resolve().parent)) not in sys.path:
        sys.path.insert(0, folder)
    try:
        spec.loader.exec_module(module)
    except InvalidInput:
        raise
    except Exception as error:
        raise InvalidInput("file", str(path), ended(error)) from error
    theories = {name: it for name, it in vars(module).items() if isinstance(it, Theory)}
    if not theories:
        raise InvalidInput("file", str(path), "must define a swingby.Theory, such as theory = ...")
    return theories


def theory_in(address: str) -> Theory:
    """The theory of ``my.py``, or of ``my.py:name`` where there are several."""
    path, _, name = address.partition(":")
    theories = theories_in(path)
    if not name and len(theories) == 1:
        return next(iter(theories.values()))
    if name not in theories:
        listed = ", ".join(f"{path}:{known}" for known in theories)
        required = f"must name one of its theories: {listed}{suggestion(name, theories)}"
        raise InvalidInput("file", address, required)
    return theories[name]
