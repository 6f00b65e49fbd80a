"""The lines of a proof file as entries with fields: indentation says what belongs to what.

An entry begins at the left edge. Its fields stand indented below it, one keyword each; what is
indented further goes on with the line above it, or lists the parts of a field.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from swingby.theory.proofs.formulas import Piece

#: Keywords of the fields of a line; "repair" holds fields of its own.
FIELDS = (
    *("about", "place", "for", "given", "also given", "where", "then", "when", "while", "until"),
    *("because", "test", "reading", "flaw", "repair"),
)

#: Kinds of lines, as in :class:`swingby.theory.claim.Claim`.
KINDS = (
    *("definition", "assumption", "identity", "step", "corollary", "lemma", "theorem"),
    "observation",
)


@dataclass(frozen=True)
class Block:
    """A line of the file and what is indented below it."""

    head: Piece
    inner: list[Block] = field(default_factory=list)

    def pieces(self) -> Iterator[Piece]:
        """The parts of a list: one on the line itself, and one for each line below or beside it.

        What is indented further than a part goes on with it.
        """
        first = self.head if self.head.text else None
        for block in self.inner:
            if first is not None and block.head.column > first.column:
                first = _with(first, block.joined())
                continue
            if first is not None:
                yield first
            first = block.joined()
        if first is not None:
            yield first

    def joined(self) -> Piece:
        """The line with all that is below it, lines and columns kept."""
        text = self.head
        for block in self.inner:
            text = _with(text, block.joined())
        return text

    def words(self) -> str:
        """The text as prose: line ends are spaces."""
        return " ".join(self.joined().text.split())


def _with(first: Piece, more: Piece) -> Piece:
    """A text that goes on further below."""
    lines = more.line - first.line - first.text.count("\n")
    return replace(first, text=first.text + "\n" * lines + " " * (more.column - 1) + more.text)


Fields = dict[str, Block]


def blocks(text: str, file: str) -> list[Block]:
    """The entries of a file: its lines by indentation, comments left out."""
    top: list[Block] = []
    open_blocks: list[Block] = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.strip()
        if not words or words.startswith("#"):
            continue
        column = len(line) - len(line.lstrip()) + 1
        piece = Piece(file, number, column, words)
        if "\t" in line[:column]:
            raise piece.refuse("must be indented by spaces")
        while open_blocks and open_blocks[-1].head.column >= column:
            open_blocks.pop()
        block = Block(piece)
        if column > 1 and not open_blocks:
            raise piece.refuse("must be indented below an entry")
        (open_blocks[-1].inner if open_blocks else top).append(block)
        open_blocks.append(block)
    return top


def fields(block: Block) -> Fields:
    """The fields below a line by keyword.

    Raises InvalidInput for a keyword that is none, or that stands twice.
    """
    found: Fields = {}
    for inner in block.inner:
        keyword = keyword_of(inner.head.text, FIELDS)
        if not keyword:
            raise inner.head.refuse(f"must begin with one of {', '.join(FIELDS)}")
        if keyword in found:
            raise inner.head.refuse(f"must not stand twice: {keyword}")
        found[keyword] = Block(inner.head.after(len(keyword)), inner.inner)
    return found


def keyword_of(text: str, keywords: tuple[str, ...]) -> str:
    """The keyword that a line begins with; the longest, or none."""
    fits = (word for word in keywords if text == word or text.startswith(f"{word} "))
    return max(fits, key=len, default="")


__all__ = ["FIELDS", "KINDS", "Block", "Fields", "blocks", "fields", "keyword_of"]
