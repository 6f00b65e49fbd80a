"""Plans of studies: TOML files that say what is run, in which cells, and with which seed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from swingby.theory.input_files import plain_toml, text_of

FOLDER = Path(__file__).parent
PLANS, RECORDS = FOLDER / "plans", FOLDER / "records"
Plan = dict[str, Any]


def load_plan(name: str, path: str | Path | None = None) -> Plan:
    """The plan of a study, from its file in ``plans`` or from another file.

    >>> load_plan("autograd")["runs"]
    50
    """
    file = PLANS / f"{name}.toml" if path is None else path
    return plain_toml(text_of(file, "plan", "plan in TOML"), float)
