"""All claims in the order of the text, and one of them by its id.

The order of the paper's lines stands in ``texts/contents.txt``; those of the repaired edition come
last, as their files list them.

The chain of App. D with P^2 where Corollary D.1 loses a factor P: the bound of the noise enters
most lines of the proofs, and Assumption D.4 is made to beat it. With P^2 in both, the lines stand
again, one by one; but D.1 to D.5 then have no solution, so that the lemmas say nothing. The slip is
not in the chain, and it cannot be mended inside it.
"""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import sympy

from swingby.errors import InvalidInput
from swingby.proofs.language.claim import Claim, Given
from swingby.proofs.language.reader import FOLDER, Proof, packaged
from swingby.theory.assumptions import P, d

#: The proof files of the package.
FILES = tuple(sorted(path.stem for path in FOLDER.glob("*.proof")))

#: Theorems of the repaired edition, which are not the paper's, and their files.
OWN = {"Theorem G": "theorem_g", "Theorem two": "theorem_two", "Theorem R": "theorem_r"}


@functools.cache
def _text() -> Mapping[str, tuple[str, Proof]]:
    """Part of the text and proof file of every id, in the order of the text."""
    holders = {name: proof for proof in map(packaged, FILES) for name in proof}
    found: dict[str, tuple[str, Proof]] = {}
    contents = (FOLDER / "contents.txt").read_text(encoding="utf-8")
    for line in contents.replace("\n  ", " ").splitlines():
        part, _, names = line.partition(": ")
        if not part.startswith("#"):
            found |= {name: (part, holders[name]) for name in names.split("; ")}
    for part, file in OWN.items():
        found |= {name: (part, holders[name]) for name in packaged(file)}
    return found


def parts() -> dict[str, str]:
    """Part of the text of every id, in the order of the text."""
    return {name: part for name, (part, _) in _text().items()}


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
    known = Claims()
    return known[find(text, list(known))]


_SHORT = {"cor": "corollary ", "ass": "assumption ", "def": "definition "}


def find(text: str, ids: Sequence[str]) -> str:
    """The id that is meant, among some; InvalidInput names the closest if none is.

    ``"(d.61)"`` and ``"eq. D.61"`` are ``"D.61"``; ``"D.4"`` is the display, and ``"Assumption
    D.4"`` the assumption.
    """
    known = {_plain(name): name for name in ids}
    wanted = _plain(text)
    if wanted in known:
        return known[wanted]
    # "t_0" alone names no line, but there is "t_0 (Lemma D.8)".
    begun = [name for name in known if wanted and name.startswith(f"{wanted} (")]
    if len(begun) == 1:
        return known[begun[0]]
    close = begun or difflib.get_close_matches(wanted, list(known), 4, 0.5)
    near = ", ".join(known[name] for name in close)
    hint = f" (close to it: {near})" if near else ", such as D.61, Lemma D.3 or Assumption D.4"
    raise InvalidInput("item", text, f"must be the id of a line of the ledger{hint}")


def _plain(id: str) -> str:
    text = " ".join(str(id).split()).casefold()
    text = re.sub(r"^(cor|ass|def)\.\s*", lambda match: _SHORT[match[1]], text)
    text = re.sub(r"^(?:equation|eq\.?|display|line)\s*", "", text)
    text = re.sub(r"\(([a-z\d]\.\d+)\)", r"\1", text)
    return text.replace("≥", ">=")


def corrected_chain(claims: Iterable[Claim]) -> tuple[Claim, ...]:
    """Every line in its corrected form, resting on corrected lines, with P^2.

    `claims`: with relations of numbers as conclusions, in the order of the text.
    """
    listed = tuple(claims)
    known = {claim.id: claim for claim in listed}

    def mended(one: Given) -> tuple[Given, ...]:
        source = known.get(one.source)
        if source is None or source.repair is None or one.relation not in source.conditions:
            return (one,)
        return source.repair.cite()

    lines = (claim.repair or claim for claim in listed)
    return tuple(
        with_squared_P(replace(line, given=tuple(new for one in line.given for new in mended(one))))
        for line in lines
    )


def with_squared_P(claim: Claim) -> Claim:
    """The claim with P^2 for P in the bound of the noise and in Assumption D.4.

    These are the products in which P stands beside the dimension d; in P beta omega, the boundary
    of the initial phase, it stands alone and stays.
    """
    given = tuple(Given(_squared(known.relation), known.source) for known in claim.given)
    return claim.but(conclusion=_squared(claim.conclusion), given=given, in_force=False)


def _squared(expression: Any) -> Any:
    if not isinstance(expression, sympy.Basic) or not expression.args:
        return expression
    arguments = [_squared(argument) for argument in expression.args]
    if isinstance(expression, sympy.Mul) and d in {one.as_base_exp()[0] for one in arguments}:
        arguments = [_square(factor) for factor in arguments]
    if isinstance(expression, sympy.Rel):
        return expression.func(*arguments, evaluate=False)
    return expression.func(*arguments)


def _square(factor: Any) -> Any:
    base, exponent = factor.as_base_exp()
    return P ** (2 * exponent) if base == P and abs(exponent) == 1 else factor
