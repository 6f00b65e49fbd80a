"""Draw the pictures of the gallery: python -m docs.make_gallery FOLDER.

Each block of the page runs by itself, as a reader would copy it, in the folder of the pictures.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from pathlib import Path

import matplotlib as mpl

PAGE = Path(__file__).parent / "gallery.md"


def blocks() -> list[str]:
    """The Python of the page, block by block."""
    text = PAGE.read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def pictures() -> list[str]:
    """The names of the pictures that the page shows, in its order."""
    return re.findall(r"\(generated/gallery/(\w+\.png)\)", PAGE.read_text(encoding="utf-8"))


def main(folder: Path) -> None:
    """Draw those that are not there yet."""
    folder.mkdir(parents=True, exist_ok=True)
    mpl.use("Agg")
    for code, name in zip(blocks(), pictures(), strict=True):
        if not (folder / name).exists():
            with contextlib.chdir(folder):
                exec(compile(code, name, "exec"), {"__name__": "__main__"})


if __name__ == "__main__":
    os.environ.setdefault("COLUMNS", "88")
    main(Path(sys.argv[1]))
