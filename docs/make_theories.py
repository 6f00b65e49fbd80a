"""Write the theories of docs/theories, each with its source, a table and a picture, as Markdown.

Run by ``conf.py`` at every build; writes ``docs/generated/theories.md`` and the pictures beside it.
"""

import ast
from pathlib import Path

import matplotlib.pyplot as plt

import swingby
from swingby.own_theory.theory_files import theory_in

FOLDER = Path(__file__).parent / "theories"

#: Numbers that show more than the usual ones.
AT = {
    "catapult": {"h": 3},
    "diagonal_network": {"y": [3, 1, 0.5]},
    "saxe_modes": {"s": [3, 1, 0.5]},
}

INTRODUCTION = """# What do theories from other papers look like?

Each of the eight theories is a file in `docs/theories` with its dynamics, assumptions and
predictions. The tables are printed by `swingby theory docs/theories/oja.py table` and the like;
`--at` sets other numbers. Each theory is tested at random settings, and planted errors in it are
hunted. [State your theory](../own_theory.md) explains the form.
"""


def section(path: Path, folder: Path) -> str:
    """A theory: its docstring, its code, its table and its picture."""
    text = path.read_text(encoding="utf-8")
    title, _, rest = str(ast.get_docstring(ast.parse(text))).partition("\n\n")
    code = text.partition('"""\n\n')[2]
    table = swingby.compare(theory_in(str(path)), **AT.get(path.stem, {}))
    picture = folder / f"theory_{path.stem}.png"
    figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
    table.draw(ax)
    figure.savefig(picture, dpi=90)
    plt.close(figure)
    return "\n\n".join(
        [
            f"## {title.rstrip('.')}",
            rest,
            f"```python\n{code.strip()}\n```",
            f"```text\n{table.to_text(width=100)}\n```",
            f"```{{image}} {picture.name}\n:width: 36em\n```",
        ]
    )


def main(folder: Path) -> Path:
    """Write the page."""
    folder.mkdir(exist_ok=True)
    parts = [INTRODUCTION, *(section(path, folder) for path in sorted(FOLDER.glob("*.py")))]
    page = folder / "theories.md"
    page.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return page
