"""The command doctor: packages installed and missing, and the folders of caches."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import swingby
from swingby.cli import options
from swingby.cli.arguments import Arguments, print_result
from swingby.cli.command import command
from swingby.errors import InvalidInput

if TYPE_CHECKING:
    from swingby.report import Grid

#: Packages that swingby cannot do without, and the first package of each extra.
CORE = (
    *("numpy", "scipy", "sympy", "mpmath", "python-flint", "numba", "pandas", "matplotlib"),
    *("loky", "platformdirs"),
)
EXTRAS = {
    "torch": "torch",
    "testing": "hypothesis",
    "prove": "z3-solver",
    "report": "pyarrow",
    "cluster": "distributed",
}


_COMPILE = click.option(
    "--compile",
    "compile_ahead",
    is_flag=True,
    help="First compile predictions, runs and batches; this takes minutes, once.",
)


@command(_COMPILE, options.JSON)
def doctor(arguments: Arguments) -> int:
    """Print the installed packages, the missing ones, and the caches.

    Exit code 0: the core is complete, 5: a package of the core is missing.
    """
    if arguments.compile_ahead:
        _compile()
    facts = _facts()
    print_result(_table(facts), lambda: facts, as_json=arguments.as_json)
    return 0 if all(facts["core"].values()) else 5


def _compile() -> None:
    """Compile and store what calls of few concepts use."""
    from swingby.report.progress import PartProgress
    from swingby.theory.compiled_text import folder
    from swingby.verify.compiled_ahead import PARTS

    try:
        folder()
    except OSError as error:
        raise InvalidInput("compile", error, "needs a cache folder") from None
    with PartProgress(len(PARTS), "compiled", shown=True) as progress:
        for name, part in PARTS.items():
            progress.start(name)
            part()
            progress.finish("compiled")


def _facts() -> dict[str, Any]:
    from swingby.proofs.audit.cache import folder as verdicts
    from swingby.theory.compiled_text import folder as compiled_code

    def version(name: str) -> str | None:
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            return None

    device = "no torch"
    if importlib.util.find_spec("torch"):
        import torch

        cuda = torch.cuda.is_available()
        device = torch.cuda.get_device_name() if cuda else "none that torch can use"
    return {
        "swingby": swingby.__version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "threads": os.cpu_count(),
        "gpu": device,
        "encoding": sys.stdout.encoding,
        "compiled code": folder_or_reason(compiled_code),
        "verdicts": folder_or_reason(verdicts),
        "core": {name: version(name) for name in CORE},
        "extras": {extra: version(name) for extra, name in EXTRAS.items()},
    }


def folder_or_reason(folder: Callable[[], Path]) -> str:
    """A folder of the cache and its state, or why there is none."""
    try:
        path = folder()
        sizes = [file.stat().st_size for file in path.iterdir() if file.is_file()]
    except OSError as error:
        return f"not used: {error}"
    closed = "" if os.access(path, os.W_OK) else ", read only"
    return f"{path} ({len(sizes)} files, {sum(sizes) / 1e6:.1f} MB{closed})"


def _table(facts: dict[str, Any]) -> Grid:
    from swingby.report import Grid

    rows = [[name, str(value)] for name, value in facts.items() if not isinstance(value, dict)]
    rows += [["The core"]] + [[name, value or "missing"] for name, value in facts["core"].items()]
    rows += [["Extras"]]
    for extra, value in facts["extras"].items():
        install = f'missing: pip install "swingby[{extra}]"'
        rows.append([extra, f"{EXTRAS[extra]} {value}" if value else install])
    return Grid("swingby on this machine", ["what", "found"], rows)
