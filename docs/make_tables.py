"""Rewrite the tables of networks.md from the records: python -m docs.make_tables."""

import re
from pathlib import Path

from studies.network_tables import recorded_tables

PAGE = Path(__file__).parent / "networks.md"


def main() -> None:
    """Put every recorded table below its title."""
    text = PAGE.read_text(encoding="utf-8")
    for grid in recorded_tables():
        below = r"(?:\n[^|\n][^\n]*(?:\n[^\n]+)*\n)" if grid.below else ""
        title = re.escape(f"**{grid.title}**")
        block = re.compile(rf"^{title}\n\n(?:\|[^\n]*\n)+{below}", re.MULTILINE)
        made = f"{grid.to_markdown()}\n"
        text, count = block.subn(lambda _, made=made: made, text)
        print(f"{grid.title}: {count}")
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
