"""What was tested where: a record of each session of nox that passed, and the page of them."""

import json
import platform
import sys
from importlib import metadata
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

#: Versions that the page shows.
SHOWN = ("numpy", "scipy", "pandas", "numba", "sympy", "python-flint", "matplotlib", "click")
HEAD = """# What is tested where

Each row of the table is a session of `nox` that passed. `nox` runs the sessions, and
`nox -s tested` writes this page. `minimum` has the lowest version of each direct requirement that
`pyproject.toml` declares. `newest` has the newest versions at the time of the run. Both run only
the tests in which the core, the command line and files use these libraries (the column
*tests* says `a part`). `make test` tests torch on Python 3.11, in the version that
`constraints.txt` pins.
"""
TAIL = """**Windows and macOS are untested.** We know of no run there.
"""


def record(xml: str, target: str, facts: str) -> None:
    """Write what a session of pytest passed, with the versions of this environment."""
    suite = next(ElementTree.parse(xml).getroot().iter("testsuite"))
    counts = {name: int(suite.get(name, 0)) for name in ("tests", "skipped", "failures", "errors")}
    content = {
        **json.loads(facts),
        **counts,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "versions": {name: metadata.version(name) for name in SHOWN},
    }
    Path(target).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def page(records: list[dict[str, Any]]) -> str:
    """The page of some records, as Markdown."""
    passed = [line for line in records if not line["failures"] + line["errors"]]
    columns = ("session", "Python", "system", "tests", "passed", "skipped", *SHOWN)
    lines = [
        (
            *(line["session"], line["python"], line["system"], line["extent"]),
            *(line["tests"] - line["skipped"], line["skipped"], *line["versions"].values()),
        )
        for line in sorted(passed, key=lambda line: str(line["session"]))
    ]
    rule = ["---"] * 4 + ["---:"] * 2 + ["---"] * len(SHOWN)
    table = [f"| {' | '.join(map(str, cells))} |" for cells in (columns, rule, *lines)]
    table = table if lines else ["No session has been recorded yet."]
    return "\n".join([HEAD, *table, "", TAIL])


if __name__ == "__main__":
    kind, *rest = sys.argv[1:]
    if kind == "record":
        record(*rest)
    else:
        target, folder = map(Path, rest)
        files = sorted(folder.glob("*.json"))
        target.write_text(page([json.loads(file.read_text()) for file in files]), encoding="utf-8")
