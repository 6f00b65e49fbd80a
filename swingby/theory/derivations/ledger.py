"""All claims in the order of the text, and one of them by its id.

A numbered display stands at its number, sections in the order 2, 4, B, C, D, E. ``before D.29``
stands directly before (D.29). What carries a name, such as ``Lemma D.3``, stands where the text
states it (:data:`STATED_BEFORE`), and ``Lemma D.3 [2]``, a line of a proof the text does not give,
where the proof would end. The proofs of the repaired edition (:data:`OWN`) come last, as their
files list them. Everything else keeps its place behind its predecessor in its file.

The chain of App. D with P^2 where Corollary D.1 loses a factor P.

The bound of the noise enters most lines of the proofs, and Assumption D.4 is made to beat it. With
P^2 in both, the lines stand again, one by one; but D.1 to D.5 then have no solution, so that the
lemmas say nothing. Both facts are worth showing: the slip is not in the chain, and it cannot be
mended inside it.
"""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import sympy

from swingby.errors import InvalidInput
from swingby.theory.assumptions import P, d
from swingby.theory.claim import Claim, Given
from swingby.theory.proofs.reader import Proof, packaged

#: The proof files of the paper and, behind them, of our own theorems; what shares a place in the
#: text is ordered as here.
FILES = (
    *("main_text", "loss", "one_layer", "two_layer", "assumptions", "trajectories"),
    *("initial_growth", "initial_lower_bound", "lemma_two", "after_initial_growth", "final_band"),
    *("suppression", "off_diagonal", "initialization"),
    *("theorem_g", "theorem_two", "theorem_r"),
)

#: Display before which the text states it; the second number orders what stands between the same
#: two displays.
STATED_BEFORE = {
    "Theorem 4.1": ("4", 2, 0),
    "Assumption D.1": ("D", 7, 0),
    "Assumption D.2": ("D", 9, -4),
    "Definition D.1": ("D", 9, -3),
    "Assumption D.3": ("D", 9, -2),
    "Assumption D.4": ("D", 9, -1),
    "Assumption D.5": ("D", 10, 0),
    "Assertion D.1": ("D", 11, -2),
    "Corollary D.1": ("D", 11, -1),
    "Lemma D.1": ("D", 11, 0),
    "Lemma D.2": ("D", 23, 0),
    "Lemma D.3": ("D", 35, 0),
    "Lemma D.4": ("D", 36, 0),
    "Lemma D.5": ("D", 47, 0),
    "Corollary D.2": ("D", 55, -1),
    "Lemma D.6": ("D", 55, 0),
    "Lemma D.7": ("D", 57, 0),
    "Lemma D.8": ("D", 73, 0),
}

#: Parts of the text: name, section, first and last display.
PARTS = (
    ("Main text", "2", 1, 99),
    ("Main text", "4", 1, 99),
    ("App. B", "B", 1, 99),
    ("App. C.1", "C", 1, 13),
    ("App. C.2", "C", 14, 99),
    ("App. D", "D", 1, 6),
    ("App. D.1", "D", 7, 10),
    ("Lemma D.1", "D", 11, 22),
    ("Lemma D.2", "D", 23, 34),
    ("Lemma D.3", "D", 35, 35),
    ("Lemma D.4", "D", 36, 46),
    ("Lemma D.5", "D", 47, 54),
    ("Lemma D.6", "D", 55, 56),
    ("Lemma D.7", "D", 57, 72),
    ("Lemma D.8", "D", 73, 99),
    ("App. E", "E", 1, 99),
)

#: Theorems of the repaired edition: not the paper's.
OWN = ("Theorem G", "Theorem two", "Theorem R")

_DISPLAY = re.compile(r"([A-Z]|\d)\.(\d+)(?: .*)?")
_BEFORE = re.compile(r"(before|after) ([A-Z]|\d)\.(\d+)(?: .*)?")
_NAMED = re.compile(
    r"((?:Theorem|Assumption|Definition|Assertion|Corollary|Lemma) [\dA-Z]\.\d+)(.*)"
)
_FROM_STATEMENT, _FROM_BEFORE, _AT, _AFTER = range(4)


class Place(NamedTuple):
    """A place in the text; places are compared part by part."""

    section: str
    number: int
    level: int
    order: int


def order_key(id: str) -> Place | None:
    """Place of an id in the text.

    Returns None for an id that names no place, such as ``"T_1 (Lemma D.1)"``.
    """
    if match := _BEFORE.fullmatch(id):
        level = _FROM_BEFORE if match[1] == "before" else _AFTER
        return Place(match[2], int(match[3]), level, 0)
    if match := _DISPLAY.fullmatch(id):
        return Place(match[1], int(match[2]), _AT, 0)
    for number, name in enumerate(OWN):
        if id == name or id.startswith(f"{name} "):
            return Place("own", number, _AT, 0)
    if (match := _NAMED.fullmatch(id)) and match[1] in STATED_BEFORE:
        if match[2].startswith(" ["):
            return _end_of_proof(match[1])
        section, number, order = STATED_BEFORE[match[1]]
        return Place(section, number, _FROM_STATEMENT, order)
    return None


def _end_of_proof(name: str) -> Place:
    section, number, _ = STATED_BEFORE[name]
    last = next((part[3] for part in PARTS if part[0] == name), number)
    return Place(section, last, _AFTER, 1)


def part_of(place: Place) -> str:
    """Part of the text that a place belongs to: a section, or a lemma with its proof.

    Returns one of the names in :data:`PARTS`.
    """
    if place.section == "own":
        return OWN[place.number]
    if place.section == "D" and place.number == 11 and place.order < 0:
        return "App. D.1"
    number = (
        place.number - 1 if (place.level, place.order) == (_FROM_STATEMENT, -1) else place.number
    )
    for name, section, first, last in PARTS:
        if section == place.section and first <= number <= last:
            return name
    return f"App. {place.section}" if place.section.isalpha() else "Main text"


def in_order(files: Sequence[Sequence[str]]) -> tuple[tuple[Place, str], ...]:
    """Ids of several files in the order of the text, with their places.

    Raises ValueError if two lines share an id, or no line of a file has a place.
    """
    placed: list[tuple[Place, str]] = []
    for group in files:
        here = min(place for name in group if (place := order_key(name)) is not None)
        for name in group:
            here = order_key(name) or _beside_its_lemma(name, here)
            placed.append((here, name))
    names = [name for _, name in placed]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"more than one claim is called {', '.join(twice)}")
    return tuple(sorted(placed, key=lambda pair: (pair[0].section == "own", pair[0])))


def _beside_its_lemma(id: str, before: Place) -> Place:
    """Place of ``T_1 (Lemma D.3)``: behind its predecessor, if that belongs to the same lemma."""
    match = re.search(r"\((Lemma [A-Z]\.\d+)\)$", id)
    if not match or part_of(before) == match[1]:
        return before
    statement = order_key(match[1])
    return before if statement is None else statement._replace(order=1)


@functools.cache
def _text() -> tuple[tuple[tuple[Place, str], ...], dict[str, Proof]]:
    """Places and ids in the order of the text, and the file of each id."""
    proofs = [packaged(name) for name in FILES]
    return in_order([list(proof) for proof in proofs]), {
        name: one for one in proofs for name in one
    }


def placed() -> tuple[tuple[Place, str], ...]:
    """Every id with its place, in the order of the text."""
    return _text()[0]


def parts() -> dict[str, str]:
    """Part of the text of every id, in the order of the text."""
    return {name: part_of(place) for place, name in placed()}


class Claims(Mapping[str, Claim]):
    """Every claim by its id in the order of the text, read when it is asked for."""

    def __getitem__(self, id: str) -> Claim:
        return _text()[1][id][id]

    def __iter__(self) -> Iterator[str]:
        return (name for _, name in placed())

    def __len__(self) -> int:
        return len(placed())

    def sources(self, id: str) -> tuple[str, ...]:
        """What the hypotheses of a claim come from, its formulas unread."""
        return _text()[1][id].sources(id)


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
    """The id that is meant, among some.

    Returns one of `ids`. Raises InvalidInput if none is meant; the closest are named.
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

    `claims`: with relations of numbers as conclusions, in the order of the text. Returns one for
    each; a line without repair keeps its conclusion.
    """
    listed = tuple(claims)
    repaired = {claim.id: claim for claim in listed if claim.repair is not None}

    def mended(known: Given) -> tuple[Given, ...]:
        source = repaired.get(known.source)
        if source is None or source.repair is None or known.relation not in source.conditions:
            return (known,)
        return source.repair.cite()

    return tuple(
        with_squared_P(
            replace(line, given=tuple(new for known in line.given for new in mended(known)))
        )
        for claim in listed
        for line in (claim.repair or claim,)
    )


def with_squared_P(claim: Claim) -> Claim:
    """The claim with P^2 for P in the bound of the noise and in Assumption D.4.

    These are the products in which P stands beside the dimension d; in P beta omega, the boundary
    of the initial phase, it stands alone and stays.

    `claim`: with relations of numbers as hypotheses and conclusion.
    """
    return replace(
        claim,
        conclusion=_squared(claim.conclusion),
        given=tuple(Given(_squared(known.relation), known.source) for known in claim.given),
        in_force=False,
        edition="corrected",
        flaw=None,
        repair=None,
    )


def _squared(expression: Any) -> Any:
    if not isinstance(expression, sympy.Basic) or not expression.args:
        return expression
    arguments = [_squared(argument) for argument in expression.args]
    if isinstance(expression, sympy.Mul):
        bases = {factor.as_base_exp()[0] for factor in expression.args}
        if d in bases:
            arguments = [_square(factor) for factor in arguments]
    if isinstance(expression, sympy.Rel):
        return expression.func(*arguments, evaluate=False)
    return expression.func(*arguments)


def _square(factor: Any) -> Any:
    base, exponent = factor.as_base_exp()
    return P ** (2 * exponent) if base == P and abs(exponent) == 1 else factor
