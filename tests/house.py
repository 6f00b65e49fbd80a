"""Sizes of the parts of the project: ``python -m tests.house --write`` lowers what is recorded.

A part is a folder beside ``swingby`` or ``tests``; what lies in these two themselves is one more.
"""

from __future__ import annotations

import argparse
import graphlib
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "tests" / "data" / "house.toml"
#: Folders of more Python files are recorded one by one.
LARGE = 12
#: A part may be smaller than recorded by this share before the record has to follow.
SLACK = 0.02
LOWER = "python -m tests.house --write"


def sizes(root: Path = ROOT) -> dict[str, int]:
    """Lines and files of every part, files of every large folder, and cycles of imports."""
    found: dict[str, int] = {}
    folders: dict[str, int] = {}
    for top in ("swingby", "tests"):
        for path in (*(root / top).rglob("*.py"), *(root / top).rglob("*.pyi")):
            inner = path.relative_to(root).parts
            part = "/".join(inner[:2]) if len(inner) > 2 else top
            lines = path.read_text(encoding="utf-8").count("\n")
            found[f"lines of {part}"] = found.get(f"lines of {part}", 0) + lines
            found[f"files of {part}"] = found.get(f"files of {part}", 0) + 1
            folder = "/".join(inner[:-1])
            folders[folder] = folders.get(folder, 0) + 1
    found |= {f"files in {name}": count for name, count in folders.items() if count > LARGE}
    return found


def imports() -> dict[str, set[str]]:
    """Which module imports which, also for types; the face of the package is left out."""
    import grimp

    graph = grimp.build_graph("swingby")
    return {
        module: graph.find_modules_directly_imported_by(module) - {"swingby"}
        for module in graph.modules - {"swingby"}
    }


def cycle(graph: dict[str, set[str]]) -> list[str]:
    """Modules that import each other in a ring, if there are some: a way around one ring."""
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return list(error.args[1])
    return []


def recorded(table: Path = TABLE) -> dict[str, int]:
    """The numbers that may only go down."""
    numbers: dict[str, int] = tomllib.loads(table.read_text(encoding="utf-8"))
    return numbers


def complaints(now: dict[str, int], known: dict[str, int]) -> list[str]:
    """What has grown, and what has shrunk without its record."""
    found = [
        f"{name}: {now[name]}, recorded are {known.get(name, 0)}"
        for name in sorted(now)
        if now[name] > known.get(name, 0)
    ]
    # A file is worth a record of its own; of lines a few come and go.
    for name in sorted(known):
        least = known[name] * (1 - SLACK * name.startswith("lines"))
        if now.get(name, 0) < least:
            found.append(f"{name}: {now.get(name, 0)}, recorded are {known[name]}; run {LOWER}")
    return found


def write(now: dict[str, int], table: Path = TABLE) -> None:
    """Record what has shrunk; SystemExit where something has grown."""
    known = recorded(table) if table.exists() else now
    grown = [name for name in sorted(now) if now[name] > known.get(name, 0)]
    if grown:
        sys.exit(f"nothing is written: {', '.join(grown)} may not grow")
    rows = [f'"{name}" = {now[name]}\n' for name in sorted(now)]
    table.write_text(f"# May only go down: {LOWER}\n" + "".join(rows), encoding="utf-8")


def measured() -> dict[str, int]:
    """All numbers of this tree."""
    return sizes() | {"modules in a cycle of imports": len(cycle(imports()))}


if __name__ == "__main__":
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--write", action="store_true", help="lower what has shrunk")
    now = measured()
    if asked.parse_args().write:
        write(now)
    print("\n".join(complaints(now, recorded())) or "all is as recorded")
