"""The claims of all proof files, in the order of the text and by their ids.

The order of the paper's lines stands in ``texts/contents.txt``; those of the repaired edition come
last, as their files list them.
"""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Iterator, Mapping, Sequence

from swingby.errors import InvalidInput
from swingby.proofs.language.claim import Claim, Given
from swingby.proofs.language.reader import FOLDER, Proof, packaged
from swingby.proofs.language.squared_chain import corrected_chain as corrected_chain

#: The proof files of the package.
FILES = tuple(sorted(path.name[:-6] for path in FOLDER.iterdir() if path.name.endswith(".proof")))

#: Theorems of the repaired edition, which are not the paper's, and their files: of the flow, all.
OF_FLOW = {"Theorem G": "theorem_g", "Theorem two": "theorem_two", "Theorem R": "theorem_r"}
OWN = OF_FLOW | {
    f"Theorem {name}-gd": f"theorem_{name.lower()}_gd" for name in ("G", "two", "R", "S")
}


@functools.cache
def _text() -> Mapping[str, tuple[str, Proof]]:
    """Part of the text and proof file of every id, in the order of the text."""
    holders = {name: proof for proof in map(packaged, FILES) for name in proof}
    holder_of: dict[str, tuple[str, Proof]] = {}
    contents = FOLDER.joinpath("contents.txt").read_text("utf-8")
    for line in contents.replace("\n  ", " ").splitlines():
        section, _, names = line.partition(": ")
        if not section.startswith("#"):
            holder_of |= {name: (section, holders[name]) for name in names.split("; ")}
    for section, file in OWN.items():
        holder_of |= {name: (section, holders[name]) for name in packaged(file)}
    return holder_of


def sections() -> dict[str, str]:
    """Part of the text of every id, in the order of the text."""
    return {name: section for name, (section, _) in _text().items()}


class Claims(Mapping[str, Claim]):
    """Every claim by its id in the order of the text, read when it is asked for."""

    def __getitem__(self, id: str) -> Claim:
        return _text()[id][1][id]

    def __iter__(self) -> Iterator[str]:
        return iter(_text())

    def __len__(self) -> int:
        return len(_text())


def claims() -> tuple[Claim, ...]:
    """Every claim in the order of the text."""
    return tuple(Claims().values())


def hypotheses() -> dict[str, tuple[Given, ...]]:
    """Assumptions D.1 to D.5 as printed, in the forms that the proofs use, by name."""
    groups = packaged("letters").groups
    return {name: group for name, group in groups.items() if re.match(r"D\d", name)}


def by_id(text: str) -> Claim:
    """The claim with an id, however it is written.

    `text`: ``"D.61"``, ``"(d.61)"``, ``"Lemma D.3"``, ``"before D.29"``. ``"D.4"`` is the display,
    ``"Assumption D.4"`` the assumption.
    Raises InvalidInput if no claim has that id; the closest ids are named.
    """
    claims_by_id = Claims()
    return claims_by_id[find(text, list(claims_by_id))]


_SHORT = {"cor": "corollary ", "ass": "assumption ", "def": "definition "}


def find(text: str, ids: Sequence[str]) -> str:
    """The id that is meant, among some; InvalidInput names the closest if none is.

    ``"(d.61)"`` and ``"eq. D.61"`` are ``"D.61"``; ``"D.4"`` is the display, and ``"Assumption
    D.4"`` the assumption.
    """
    ids_by_words = {_plain(name): name for name in ids}
    words = _plain(text)
    if words in ids_by_words:
        return ids_by_words[words]
    # "t_0" alone names no line, but there is "t_0 (Lemma D.8)".
    begun = [name for name in ids_by_words if words and name.startswith(f"{words} (")]
    if len(begun) == 1:
        return ids_by_words[begun[0]]
    close = begun or difflib.get_close_matches(words, list(ids_by_words), 4, 0.5)
    hint = ", such as D.61, Lemma D.3 or Assumption D.4"
    if close:
        hint = f" (close to it: {', '.join(ids_by_words[name] for name in close)})"
    raise InvalidInput("item", text, f"must be the id of a line of the ledger{hint}")


def _plain(id: str) -> str:
    text = " ".join(str(id).split()).casefold()
    text = re.sub(r"^(cor|ass|def)\.\s*", lambda match: _SHORT[match[1]], text)
    text = re.sub(r"^(?:equation|eq\.?|display|line)\s*", "", text)
    text = re.sub(r"\(([a-z\d]\.\d+)\)", r"\1", text)
    return text.replace("≥", ">=")
