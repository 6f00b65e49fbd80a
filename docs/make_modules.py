"""Write the list of modules, from their own first lines, as Markdown.

Run by ``conf.py`` at every build; writes ``docs/generated/modules.md``.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def first_line(path: Path) -> str:
    """What a module says it is."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return text.partition("\n")[0]


def parts(root: Path = ROOT) -> Iterator[tuple[str, str, list[tuple[str, str]]]]:
    """Each folder of the package, what it is, and its modules with what they are."""
    for face in sorted((root / "swingby").rglob("__init__.py")):
        modules = [
            (path.name, first_line(path))
            for path in sorted(face.parent.glob("*.py"))
            if not path.name.startswith("__")
        ]
        yield face.parent.relative_to(root).as_posix(), first_line(face), modules


def main(folder: Path) -> Path:
    """Write the page."""
    lines = ["# Modules", "", "Every module says in its first line what it is."]
    for name, what, modules in parts():
        lines += ["", f"## `{name}/`", "", what]
        if modules:
            lines += ["", "| file | what |", "| --- | --- |"]
            for file, text in modules:
                lines.append(f"| `{file}` | {text.replace('|', chr(92) + '|')} |")
    folder.mkdir(exist_ok=True)
    page = folder / "modules.md"
    page.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return page


if __name__ == "__main__":
    main(Path(__file__).parent / "generated")
