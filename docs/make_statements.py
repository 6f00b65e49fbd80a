"""Write the assumptions, from the statement objects themselves, as Markdown.

Run by ``conf.py`` at every build; writes ``docs/generated/statements.md``.
"""

from pathlib import Path

from swingby.theory import assumptions
from swingby.theory.repaired.edition_gd import STATEMENTS_GD
from swingby.theory.statement import Statement

EDITIONS = {
    "printed": ("As printed", assumptions.PRINTED),
    "corrected": ("Corrected", assumptions.CORRECTED),
    "repaired": ("Repaired", STATEMENTS_GD),
}

OVER = {
    "": "",
    "entry": r"\quad\text{for all } i, j",
    "pair": r"\quad\text{for all } i, j \text{ with } a_i > a_j",
    "concept": r"\quad\text{for all } k",
}

#: What sympy makes of symbols such as ``w_ij(0)``, and what is meant.
ENTRIES = {
    "w_{ij(0)}": "w_{ij}(0)",
    "w_{kk(0)}": "w_{kk}(0)",
    r"\pi_{k(0)}": r"\pi_k(0)",
}


def latex(statement: Statement) -> str:
    """The conditions of a statement, one per line."""
    rows = []
    for condition in statement.conditions:
        text = condition.to_latex()
        for plain, shown in ENTRIES.items():
            text = text.replace(plain, shown)
        rows.append("& " + text.replace(r"\log", r"\log ") + OVER[condition.over])
    return "\\begin{aligned}\n" + " \\\\\n".join(rows) + "\n\\end{aligned}"


def render() -> str:
    """All three editions as Markdown; statements that an edition shares are not repeated."""
    parts, seen = [], set()
    for title, statements in EDITIONS.values():
        parts.append(f"### {title}")
        shared = [statement.id for statement in statements if id(statement) in seen]
        if shared:
            parts.append(f"{', '.join(shared)}: as printed.")
        for statement in statements:
            if id(statement) in seen:
                continue
            seen.add(id(statement))
            exists = f" There exist {', '.join(statement.exists)} with" if statement.exists else ""
            parts.append(
                f"**Assumption {statement.id}** ({statement.title}; {statement.reference}).{exists}"
            )
            parts.append(f"$$\n{latex(statement)}\n$$")
            if statement.note:
                parts.append(f"*Note.* {statement.note}")
            plain = str(statement).partition("\n  Note: ")[0]
            parts.append(f"```text\n{plain}\n```")
    return "\n\n".join(parts) + "\n"


def main(folder: Path = Path(__file__).parent / "generated") -> Path:
    """Write the page part and return its path."""
    folder.mkdir(exist_ok=True)
    target = folder / "statements.md"
    target.write_text(render(), encoding="utf-8")
    return target


if __name__ == "__main__":
    print(main())
