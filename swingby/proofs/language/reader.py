"""The reader of proof files: text to claims, each line read when it is asked for.

An entry of a file begins at the left edge. Its fields stand indented below it, one keyword each;
what is indented further goes on with the line above it, or lists the parts of a field. The grammar
of formulas is in :mod:`swingby.proofs.language.formula_parser`; nothing of a file is evaluated.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import Any

import sympy

from swingby.proofs.language import matrices, vectors
from swingby.proofs.language.claim import (
    BREAKS,
    RESERVED,
    SEVERITIES,
    TIME,
    AllTimes,
    AlongTrajectory,
    ByCases,
    Claim,
    Flaw,
    Given,
    conditions_of,
    in_order_of_use,
)
from swingby.proofs.language.conclusions import PUT_IN, Algebra, Both
from swingby.proofs.language.definedness import partial, relations_of
from swingby.proofs.language.definitions import defined_letter, defined_value, names_in
from swingby.proofs.language.formula_parser import (
    Piece,
    algebra,
    is_letter,
    latin,
    relations,
    values,
)
from swingby.proofs.language.formula_printer import formula
from swingby.proofs.language.means import MEAN, MeanLetter, facts, in_means, is_random
from swingby.proofs.language.repaired_conclusions import ByHand, EntryFormula
from swingby.proofs.language.shapes import TRAITS as MATRIX_TRAITS
from swingby.proofs.language.shapes import Matrix, check_instance
from swingby.proofs.language.sums import (
    PLACE,
    ForEach,
    Sequence,
    body,
    check_range,
    indices_of,
    moved_letter,
    renamed,
    stands_at,
)
from swingby.theory.input_files import text_of

#: Keywords of the fields of a line; "repair" holds fields of its own.
_FIELDS = (
    *("about", "place", "for", "given", "also given", "where", "base", "step", "cases", "then"),
    *("when", "while", "until"),
    *("because", "needs", "test", "quoted as", "reading", "flaw", "repair"),
)
#: Of them, those of what a person reads.
_OF_READING = ("because", "needs", "test")
#: Kinds of lines, as in :class:`swingby.proofs.language.claim.Claim`.
_KINDS = (
    *("definition", "assumption", "identity", "step", "corollary", "lemma", "theorem"),
    "observation",
)
#: Where the proofs of the package are.
FOLDER = resources.files("swingby.proofs.language") / "texts"

#: What may be said of letters.
_TRAITS = ("real", "positive", "nonnegative", "integer", "noncommutative", "complex")

#: Words in ``for`` and in ``default``: the field of a claim that each sets.
FLAGS: Mapping[str, tuple[str, Any]] = {
    **{name: ("indices", name) for name in ("any", "diagonal", "off-diagonal", "larger first")},
    **{name: ("edition", name) for name in ("printed", "corrected", "repaired")},
    "in force": ("in_force", True),
    "not in force": ("in_force", False),
    "some numbers": ("quantifier", "exists"),
    "all numbers": ("quantifier", "for all"),
    "every trajectory": ("along", True),
    "all t": ("over_time", True),
}

_ENTRY = ("use", "letters", "let", "group", "default", *_KINDS)
_CITED = re.compile(r"\((.+?)\)(,? repaired)?(,? in the mean)?(?:\s+with\s+(.+))?", re.DOTALL)
_INSTANCE = re.compile(r"(.+?)\s+with\s+(.+=.+)", re.DOTALL)
_SOURCE = re.compile(r"(.*?)\s+\[([^\n]+(?:\s+with\s+[^\[\]]+)?)\]", re.DOTALL)
#: Behind a hypothesis: the values of a counting letter for each of which it holds.
_EACH = re.compile(r"(.*\S)\s+for\s+(\S+)\s+from\s+(.+?)\s+to\s+(.+)", re.DOTALL)
_SEQUENCE = re.compile(r"([^\W\d]\w*'*)\(([^\W\d]\w*)\)")
_LETTER = re.compile(r"(\S+?)(?:\s*=\s*\"(.+)\")?")
_SHAPED = re.compile(r"(\S+) is ([1-9]\d*|[^\W\d]\w*'*) x ([1-9]\d*|[^\W\d]\w*'*)")
#: In the names of letters that change with t.
_MOVING = re.compile(r"\(t(\+1)?\)")
#: In the names of letters that the language makes: of means, products, norms, random letters.
_MADE = re.compile(r"E\[|^<|[~|]")


@dataclass(frozen=True)
class _TextBlock:
    """A line of the file and what is indented below it."""

    head: Piece
    inner: list[_TextBlock] = field(default_factory=list)

    def pieces(self) -> Iterator[Piece]:
        """The parts of a list: on the line itself, and on each line below or beside it.

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

    def parts(self) -> Iterator[Piece]:
        """The parts of a list between semicolons, each at its own line and column."""
        for piece in self.pieces():
            start = 0
            for text in piece.text.split(";"):
                if text.strip() not in ("", "nothing"):
                    yield piece.cut(start + len(text) - len(text.lstrip()), text.strip())
                start += len(text) + 1

    def joined(self) -> Piece:
        """The line with all that is below it, lines and columns kept."""
        return functools.reduce(_with, (block.joined() for block in self.inner), self.head)

    def words(self) -> str:
        """The text as prose: line ends are spaces."""
        return " ".join(self.joined().text.split())

    def after(self, length: int) -> _TextBlock:
        """The same without the first signs of its line."""
        return _TextBlock(self.head.after(length), self.inner)


def _with(first: Piece, more: Piece) -> Piece:
    """A text that goes on further below."""
    lines = more.line - first.line - first.text.count("\n")
    return replace(first, text=first.text + "\n" * lines + " " * (more.column - 1) + more.text)


_Fields = dict[str, _TextBlock]


def _blocks(text: str, file: str) -> list[_TextBlock]:
    """The entries of a file: its lines by indentation, comments left out."""
    top: list[_TextBlock] = []
    open_blocks: list[_TextBlock] = []
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        words = line.strip()
        if not words or words.startswith("#"):
            continue
        column = len(line) - len(line.lstrip()) + 1
        piece = Piece(file, number, column, words)
        if "\t" in line[:column]:
            raise piece.refuse("must be indented by spaces")
        while open_blocks and open_blocks[-1].head.column >= column:
            open_blocks.pop()
        block = _TextBlock(piece)
        if column > 1 and not open_blocks:
            raise piece.refuse("must be indented below an entry")
        (open_blocks[-1].inner if open_blocks else top).append(block)
        open_blocks.append(block)
    return top


def _fields(block: _TextBlock) -> _Fields:
    """The fields below a line by keyword."""
    by_keyword: _Fields = {}
    for inner in block.inner:
        keyword = _keyword(inner.head.text, _FIELDS)
        if not keyword:
            raise inner.head.refuse(f"must begin with one of {', '.join(_FIELDS)}")
        if keyword in by_keyword:
            raise inner.head.refuse(f"must not stand twice: {keyword}")
        field_block = by_keyword[keyword] = inner.after(len(keyword))
        if keyword == "repair" and (field_block.head.text or not field_block.inner):
            raise inner.head.refuse("must have fields of its own, indented below it")
        if not field_block.joined().text:
            raise inner.head.refuse("must not be empty")
    return by_keyword


def _keyword(text: str, keywords: tuple[str, ...]) -> str:
    """The keyword that a line begins with; the longest, or none."""
    candidates = (word for word in keywords if text == word or text.startswith(f"{word} "))
    return max(candidates, key=len, default="")


#: Letters of other alphabets that look like Latin ones.
_LOOKALIKES = str.maketrans(
    "асеорхуіјѕһԁԛԝονΑΒΕΖΗΙΚΜΝΟΡΤΥΧАВЕКМНОРСТУХІЈЅ", "aceopxyijshdqwovABEZHIKMNOPTYXABEKMHOPCTYXIJS"
)
#: A word that stands before an id, and is no part of it.
_KIND_BEFORE = re.compile(r"^(step|lemma|theorem|corollary|identity|observation|line)\s+")
#: What may stand around an id where a line is quoted, and stands in no source.
_AROUND_ID = re.compile(r"^(?:by )?\(?(.+?)\)?(?:,? repaired)?(?:,? in the mean)?$", re.DOTALL)


def _alike(id: str) -> str:
    """An id without what the eye does not see: case, spaces, the alphabet."""
    shown = "".join(sign for sign in unicodedata.normalize("NFKC", id) if sign.isprintable())
    return " ".join(shown.translate(_LOOKALIKES).casefold().split())


@dataclass(frozen=True)
class _Scope:
    """The names that a line may use, at its place in the file."""

    names: Mapping[str, Any]
    groups: Mapping[str, tuple[Given, ...]]
    defaults: Mapping[str, Any]


class Proof(Mapping[str, Claim]):
    """The claims of a proof file by their ids, in its order.

    `file`: named in errors.
    `folder`: where ``use`` looks first; the proofs of the package come after it.
    `users`: names of the files that use this one.
    Raises InvalidInput if the text is no proof; the message names file, line and column and what
    was expected. Formulas are read when their line is asked for.
    """

    def __init__(
        self,
        text: str,
        file: str = "proof",
        folder: Path | None = None,
        users: tuple[str, ...] = (),
    ) -> None:
        self._folder = folder
        self._file = file
        self._chain = (*users, file)
        #: Sources of groups, compared with the ids of the file once all of them are known.
        self._sources: list[Piece] | None = []
        self._used: list[Proof] = []
        self._own: set[str] = set()
        self._scope = _Scope({}, {}, {"reference": ""})
        self._lines: dict[str, _Line] = {}
        self._claims: dict[str, Claim] = {}
        for block in _blocks(text, file):
            keyword = _keyword(block.head.text, _ENTRY)
            if not keyword:
                raise block.head.refuse(f"must begin with one of {', '.join(_ENTRY)}")
            body = block.after(len(keyword))
            if keyword in _KINDS:
                self._line(keyword, body)
            else:
                getattr(self, f"_{keyword}")(body)
        sources, self._sources = self._sources, None
        for piece in sources or ():
            self._check_source(piece)

    @property
    def names(self) -> Mapping[str, Any]:
        """The letters, those of used files included."""
        return self._scope.names

    @property
    def groups(self) -> Mapping[str, tuple[Given, ...]]:
        """The named hypotheses, those of used files included."""
        return self._scope.groups

    def __iter__(self) -> Iterator[str]:
        return iter(self._lines)

    def __len__(self) -> int:
        return len(self._lines)

    def __getitem__(self, id: str) -> Claim:
        if id not in self._claims:
            self._claims[id] = self._lines[id].claim()
        return self._claims[id]

    def hypotheses(self, block: _TextBlock, scope: _Scope, line: int) -> Iterator[Given]:
        """Between semicolons or on lines: ``x >= y [source]``, ``GROUP``, ``(D.58) repaired``."""
        for piece in block.parts():
            if piece.text in scope.groups:
                yield from scope.groups[piece.text]
            elif match := _SOURCE.fullmatch(piece.text):
                shorter = replace(piece, text=match[1].rstrip())
                shorter, each = self._each(shorter)
                special = algebra([shorter], scope.names, {})
                listed = [special] if special is not None else _relations([shorter], scope)
                listed = [each(relation) for relation in listed]
                source, instance = self._quoted(piece, match.start(2), match[2], line)
                yield from (Given(relation, source, instance) for relation in listed)
            else:
                shorter, each = self._each(piece)
                cited = self._cited(shorter, line)
                yield from (replace(x, relation=each(x.relation)) for x in cited)

    def _each(self, piece: Piece) -> tuple[Piece, Callable[[Any], Any]]:
        """A hypothesis without ``for t from 0 to k - 1``, and what that makes of its relation."""
        match = _EACH.fullmatch(piece.text)
        if match is None:
            return piece, lambda relation: relation
        index, low, high = (
            values(piece.cut(match.start(group), match[group]), self.names)[0]
            for group in (2, 3, 4)
        )
        try:
            check_range(index, low, high)
        except ValueError as error:
            raise piece.refuse(f"must be for a letter that counts ({error})", match[2]) from None

        def each(relation: Any) -> Any:
            if not isinstance(relation, sympy.Rel):
                raise piece.refuse("must be a relation between numbers to hold for each value")
            return ForEach(relation, index, low, high)

        return replace(piece, text=match[1]), each

    def _cited(self, piece: Piece, line: int) -> tuple[Given, ...]:
        """An earlier line of this file, or a line of a file that it uses, as a hypothesis."""
        match = _CITED.fullmatch(piece.text)
        claim = self.above(match[1], line) if match else None
        if match is None or claim is None:
            requirement = (
                "must be a relation with its [source], a group, or a line above in brackets"
            )
            raise piece.refuse(requirement)
        claim = claim.repair if match[2] else claim
        if claim is None:
            raise piece.refuse("must be a line that has a repair")
        instance: tuple[tuple[Any, Any], ...] = ((MEAN, MEAN),) if match[3] else ()
        if instance and any(isinstance(each, sympy.Ne) for each in claim.conditions):
            raise piece.refuse(
                "must not be quoted in the mean: numbers that differ may agree there"
            )
        if match[4]:
            instance += self._instance(piece.cut(match.start(4), match[4]), claim)
        if not instance:
            return claim.cite() or (Given(claim.conclusion, claim.id),)
        if not (claim.conditions or claim.quoted_as):
            raise piece.refuse("must be a line about numbers to be cited at an instance", match[1])
        listed = claim.cite(instance)
        if any(isinstance(x, sympy.Basic) and x.has(sympy.zoo, sympy.nan)
               for x in (each.relation for each in listed)):  # fmt: skip
            raise piece.refuse("must have a value at its instance: it divides by 0", match[1])
        return listed

    def above(self, name: str, line: int) -> Claim | None:
        """An earlier line of this file, or a line of a file that it uses."""
        if name in self._lines:
            return self[name] if self._lines[name].block.head.line < line else None
        used = next((used for used in self._used if name in used), None)
        return None if used is None else self._of_used(used, used[name])

    @property
    def is_own(self) -> bool:
        """Whether it is a file of its user, and no proof of the package."""
        return self._folder is not None

    def lines_above(self, line: int) -> Iterator[Claim]:
        """The lines that stand above a line of the file."""
        return (self[name] for name, each in self._lines.items() if each.block.head.line < line)

    def _id_of_used(self, used: Proof, name: str) -> str:
        """An id of a used file: beside a file of its own, it names that file.

        The proofs of the package are one text.
        """
        return f"{name} ({used._file})" if self.is_own and name in used else name

    def _given_of_used(self, used: Proof, given: Iterable[Given]) -> tuple[Given, ...]:
        return tuple(replace(x, source=self._id_of_used(used, x.source)) for x in given)

    def _of_used(self, used: Proof, line: Claim) -> Claim:
        """A line of a used file, with the ids of that file."""
        conclusion = line.conclusion
        if isinstance(conclusion, AllTimes):
            names = {x: getattr(conclusion, x) for x in ("base", "step", "second")}
            names = {x: self._id_of_used(used, name) for x, name in names.items()}
            conclusion = replace(conclusion, **names)
        if isinstance(conclusion, ByCases):
            lines = tuple(self._id_of_used(used, name) for name in conclusion.lines)
            conclusion = replace(conclusion, lines=lines)
        return replace(
            line,
            id=self._id_of_used(used, line.id),
            conclusion=conclusion,
            given=self._given_of_used(used, line.given),
            repair=None if line.repair is None else self._of_used(used, line.repair),
        )

    def quoted(self) -> dict[str, Claim]:
        """The lines of used files that its lines quote, and those that these quote in turn."""
        holders = {
            f"{name} ({used._file})": (user, used, name)
            for user, used in self._uses()
            for name in used
        }
        lines: dict[str, Claim] = {}
        waiting = [source for claim in self.values() for each in claim for source in each.rests_on]
        while waiting:
            name_used = waiting.pop()
            if name_used in holders and name_used not in lines:
                user, used, name = holders[name_used]
                lines[name_used] = user._of_used(used, used[name])
                waiting += [source for each in lines[name_used] for source in each.rests_on]
        return lines

    def _uses(self) -> Iterator[tuple[Proof, Proof]]:
        for used in self._used:
            yield self, used
            yield from used._uses()

    def _check_source(self, piece: Piece) -> None:
        """Refuse a source that is an id of the file but for what the eye does not see."""
        ids = [*self._lines, *(name for used in self._used for name in used), *RESERVED]
        if piece.text not in ids:
            words = _alike(_AROUND_ID.sub(r"\1", piece.text))
            for name in ids:
                if _alike(name) in (words, _KIND_BEFORE.sub("", words)):
                    raise piece.refuse(f"must be written as the id that is meant: {name}")
            unpaired = re.search(r"[\[\]]", re.sub(r"\[[^\[\]]*\]", "", piece.text))
            if unpaired or piece.text != piece.text.strip():
                raise piece.refuse("must be a source in brackets, with no space at its ends")

    def _quoted(
        self, piece: Piece, start: int, source: str, line: int
    ) -> tuple[str, tuple[tuple[Any, Any], ...]]:
        """The source of a hypothesis and the instance at which it quotes: ``3 with x = y``."""
        match = _INSTANCE.fullmatch(source)
        instance: tuple[tuple[Any, Any], ...] = ()
        if match is not None and source not in self._lines:
            source, claim = match[1], self.above(match[1], line)
            instance = self._instance(piece.cut(start + match.start(2), match[2]), claim)
        written = piece.cut(start, source)
        if self._sources is None:
            self._check_source(written)
        else:
            self._sources.append(written)
        claim = None if source in self._lines else self.above(source, line)
        return source if claim is None else claim.id, instance

    def _instance(self, piece: Piece, claim: Claim | None) -> tuple[tuple[Any, Any], ...]:
        """What stands for letters of a line: ``x = y, y = x``."""
        instance: dict[Any, Any] = {}
        letters = {letter for version in claim or () for letter in version.letters}
        statements = [x for version in claim or () for x in version.statements]
        bound = set(indices_of(statements))
        basic = (x for x in map(body, statements) if isinstance(x, sympy.Basic))
        every = {name for each in basic for x in each.atoms(sympy.Symbol) for name in names_in(x)}
        rows = {PLACE.sub("()", x) for x in every if any(stands_at(x, index) for index in bound)}
        conclusion = None if claim is None else claim.conclusion
        times = (
            {letter for row in conclusion.times for letter in row}
            if isinstance(conclusion, AllTimes)
            else ()
        )
        for equation in relations(piece, self.names):
            letter = equation.lhs
            if not isinstance(equation, sympy.Eq) or not letter.is_Symbol:
                raise piece.refuse("must say what stands for letters: x = y, y = x")
            if letter in instance:
                raise piece.refuse("must say once what stands for a letter", str(letter))
            if claim is not None and letter not in letters:
                listed = ", ".join(sorted(map(str, letters)))
                raise piece.refuse(f"must be a letter of ({claim.id}): {listed}", str(letter))
            if letter in times:
                raise piece.refuse("must not change the time of a line for all t", str(letter))
            used = vectors.letters_of([equation.rhs])
            if letter in bound or any(stands_at(x, index) for x in used for index in bound):
                raise piece.refuse("must not be the index of a sum, or have it", str(letter))
            if "(" in str(letter) and PLACE.sub("()", str(letter)) in rows:
                raise piece.refuse("must not be of a sequence whose terms are summed", str(letter))
            if isinstance(letter, vectors.Vector) != vectors.is_vector(equation.rhs):
                raise piece.refuse("must be a vector for a vector", f"{letter} = {equation.rhs}")
            try:
                check_instance(letter, equation.rhs)
            except ValueError as error:
                raise piece.refuse(f"must be a matrix of its kind ({error})", str(letter)) from None
            instance[letter] = equation.rhs
        for index in instance.keys() & {x for x in letters if x.is_integer}:
            moving = [x for x in letters - instance.keys() if stands_at(x, index)]
            try:  # with k = n, f(k) is f(n)
                instance |= {x: moved_letter(x, index, instance[index]) for x in moving}
            except ValueError as error:
                if bound:
                    raise piece.refuse(f"must be a place ({error})", str(index)) from None
        return tuple(instance.items())

    def _line(self, kind: str, block: _TextBlock) -> None:
        name, colon, about = (piece.strip() for piece in block.head.text.partition(":"))
        if not colon or not name:
            raise block.head.refuse("must be the id of a line, a colon, and what the line says")
        if name in self._lines:
            raise block.head.refuse("must be the id of one line alone", name)
        if name in RESERVED:
            raise block.head.refuse("must be an id: a hypothesis with this source is of no line")
        defaults = self._scope.defaults.items()
        common = {word: value for word, value in defaults if word not in ("along", "over_time")}
        start = Claim(name, kind, about, None, **common)
        self._lines[name] = _Line(self, start, block, self._scope)

    def _use(self, block: _TextBlock) -> None:
        name = block.head.text
        if name == "matrices":
            self._declare(matrix_letters())
            return
        file = f"{name}.proof"
        beside = None if self._folder is None else self._folder / file
        if beside is not None and (beside.parent == FOLDER or not beside.is_file()):
            beside = None
        is_missing = beside is None and not FOLDER.joinpath(file).is_file()
        if is_missing or not re.fullmatch(r"[\w-]+", name):
            raise block.head.refuse("must be matrices, or the name of a proof file beside this one")
        if file in self._chain:
            raise block.head.refuse("must be another file, one that does not use this one")
        used = packaged(name) if beside is None else load(beside, self._chain)
        self._used.append(used)
        groups = {name: self._given_of_used(used, group) for name, group in used.groups.items()}
        self._declare(used.names, groups)

    def _letters(self, block: _TextBlock) -> None:
        traits, colon, listed = block.joined().text.partition(":")
        words = traits.split()
        if colon and words[-1:] == ["matrix"]:
            self._matrices(block, " ".join(words[:-1]), listed)
            return
        known = (*_TRAITS, "vector", "random")
        if not colon or not words or not set(words) <= set(known):
            raise block.head.refuse(f"must be one of {', '.join(known)}, a colon, and letters")
        silent = ("complex", "noncommutative", "vector", "random")
        assumptions = {word: True for word in words if word not in silent}
        if words == ["random"]:
            assumptions["real"] = True
        if "noncommutative" in words:
            assumptions["commutative"] = False
        if "vector" in words and not set(words) <= {"vector", "random"}:
            raise block.head.refuse("must stand alone, or with random", "vector")
        kind = (
            vectors.Vector if "vector" in words else functools.partial(sympy.Symbol, **assumptions)
        )
        tilde = "~" * ("random" in words)
        for declaration in listed.split(","):
            match = _LETTER.fullmatch(" ".join(declaration.split()))
            sequence = _SEQUENCE.fullmatch(latin(match[1])) if match and not match[2] else None
            counts = sequence is not None and getattr(
                self.names.get(sequence[2]), "is_integer", False
            )
            if not match or not (counts or is_letter(match[1])):
                if match and sequence is not None:
                    index = f"letters nonnegative integer: {sequence[2]}"
                    raise block.head.refuse(f"must have an index declared above: {index}", match[1])
                raise block.head.refuse(
                    'must be a letter, or letter = "its name"', declaration.strip()
                )
            name = latin(match[1])
            if match[2] and _MADE.search(match[2]):
                raise block.head.refuse("must not be named as a mean or a product is", match[2])
            places = [place[0] for place in PLACE.finditer(name) if place[1]]
            if match[2] and not all(match[2].endswith(place) for place in places):
                raise block.head.refuse(f"must have a name that ends in {places[0]}", match[2])
            if name in self._own:
                raise block.head.refuse("must be declared once", match[1])
            self._own.add(name)
            new = {name: kind((match[2] or name) + tilde)}
            shaped = (x for x in self.names.values() if isinstance(x, Matrix))
            self._check_size(
                block, name, new[name], [y for x in shaped for y in (x.rows, x.columns)]
            )
            # x(0) of x(t) may be called otherwise; what has two signs is refused where it is used.
            same = {x for x, letter in self.names.items() if letter == new[name]} - {name}
            same -= {x for x, letter in matrix_letters().items() if letter == new[name]}
            if any(not x.endswith(("(0)", "(t+1)")) for x in same):
                raise block.head.refuse("must not be printed as another letter is", match[1])
            if name.endswith("(t)") and not match[2]:
                times = (f"{name.removesuffix('(t)')}({time})" for time in ("0", "t+1"))
                new |= {x: kind(x + tilde) for x in times if x not in self.names}
            if sequence is not None and (counts or sequence[2] == "t"):
                new[f"{sequence[1]}("] = Sequence(sequence[1], kind, tilde)
            self._declare(new)

    def _matrices(self, block: _TextBlock, trait: str, listed: str) -> None:
        """Letters with shapes: ``W1 is h x m, W2 is n x h``; I is the identity from then on."""
        if trait not in MATRIX_TRAITS:
            before = ", ".join(filter(None, MATRIX_TRAITS))
            raise block.head.refuse(f"must be a matrix, or one of {before} before matrix", trait)
        for declaration in listed.split(","):
            words = " ".join(declaration.split())
            match = _SHAPED.fullmatch(words)
            if not match or not is_letter(match[1]) or match[1].endswith("^T"):
                if match and _SEQUENCE.fullmatch(match[1]):
                    raise block.head.refuse("must be at t, to be a sequence of matrices", match[1])
                raise block.head.refuse("must be a letter and its shape: W is n x m", words)
            name, sizes = latin(match[1]), (latin(match[2]), latin(match[3]))
            if trait and sizes[0] != sizes[1]:
                raise block.head.refuse(f"must be square to be {trait}: {match[1]} is n x n", words)
            if name in self._own:
                raise block.head.refuse("must be declared once", match[1])
            self._own.add(name)
            for size in set(sizes) & self.names.keys():
                self._check_size(block, size, self.names[size], sizes)
            times = ("t", "0", "t+1") if name.endswith("(t)") else ("",)
            names = [f"{name.removesuffix('(t)')}({time})" if time else name for time in times]
            self._declare({x: Matrix(x, *sizes, MATRIX_TRAITS[trait]) for x in names})
        if "I" not in self._own:
            self._declare({"I": matrices.I})

    def _check_size(self, block: _TextBlock, name: str, letter: Any, sizes: Iterable[str]) -> None:
        """Refuse a letter that is a size of matrices, and that may be no size."""
        if name in sizes and not (letter.is_integer and letter.is_positive):
            requirement = f"must count rows and columns: letters positive integer: {name}"
            raise block.head.refuse(requirement, name)

    def _let(self, block: _TextBlock) -> None:
        piece = block.joined()
        name, sign, _ = piece.text.partition("=")
        if not sign:
            raise piece.refuse("must be a name, =, and an expression")
        if latin(name.strip()) in self.names:
            raise piece.refuse("must be a new name, and no letter", name.strip())
        (value,) = values(piece.after(len(name) + 1), self.names)
        self._own.add(latin(name.strip()))
        self._declare({latin(name.strip()): value})

    def _group(self, block: _TextBlock) -> None:
        name, colon, _ = block.head.text.partition(":")
        if not colon:
            raise block.head.refuse("must be a name, a colon, and hypotheses")
        if name.strip() in self.groups:
            raise block.head.refuse("must be the name of one group alone", name.strip())
        hypotheses = self.hypotheses(block.after(len(name) + 1), self._scope, block.head.line)
        self._declare({}, {name.strip(): tuple(hypotheses)})

    def _default(self, block: _TextBlock) -> None:
        if keyword := _keyword(block.head.text, ("place",)):
            new: dict[str, Any] = {"reference": block.after(len(keyword)).words()}
        else:
            usual = {"indices": "any", "in_force": False, "edition": "printed"}
            new = usual | {"quantifier": "for all"} | _flags(block)
        self._scope = replace(self._scope, defaults={**self._scope.defaults, **new})

    def _declare(
        self, names: Mapping[str, Any], groups: Mapping[str, tuple[Given, ...]] | None = None
    ) -> None:
        names, groups = {**self.names, **names}, {**self.groups, **(groups or {})}
        self._scope = replace(self._scope, names=names, groups=groups)


def _flags(block: _TextBlock) -> dict[str, Any]:
    """The fields of a claim that the words of ``for`` set."""
    words = [word.strip() for word in block.words().split(",")]
    for word in words:
        if word not in FLAGS:
            raise block.head.refuse(f"must be words among {', '.join(FLAGS)}", word)
    return dict(FLAGS[word] for word in words)


def _relations(pieces: Iterable[Piece], scope: _Scope) -> list[Any]:
    return [relation for piece in pieces for relation in relations(piece, scope.names)]


@dataclass(frozen=True)
class _Line:
    """A claim from its fields; a repair reads the same fields, those of its own put over them."""

    proof: Proof
    start: Claim
    block: _TextBlock
    scope: _Scope

    def claim(self) -> Claim:
        by_keyword = _fields(self.block)
        return self._filled(self.start, by_keyword, by_keyword)

    def _filled(self, claim: Claim, own: _Fields, all_fields: _Fields) -> Claim:
        """A claim with what its own fields say; conclusions may take parts from those above."""
        changes: dict[str, Any] = {}
        for name, word in (("about", "about"), ("reference", "place"), ("reading", "reading")):
            if word in own:
                changes[name] = own[word].words()
        if "for" in own:
            changes |= _flags(own["for"])
        along = changes.pop("along", False) or isinstance(claim.conclusion, AlongTrajectory)
        over_time = changes.pop("over_time", False) or isinstance(claim.conclusion, AllTimes)
        if "given" in own:
            changes["given"] = self._hypotheses(own["given"])
        if "also given" in own:
            before = changes.get("given", claim.given)
            changes["given"] = (*before, *self._hypotheses(own["also given"]))
        if "where" in own:
            changes["where"] = tuple(self._definitions(own["where"]))
            try:
                in_order_of_use(dict(changes["where"]))
            except ValueError as circle:
                raise own["where"].head.refuse("must not go in a circle", str(circle)) from None
            if claim.edition != "corrected":
                self._check_definitions(own["where"], changes["where"])
        if "quoted as" in own:
            changes["quoted_as"] = tuple(_relations(own["quoted as"].pieces(), self.scope))
        if "flaw" in own:
            changes["flaw"] = _flaw(own["flaw"])
        endings = {"then", "when", "while", "until", "base", "step", "cases", *_OF_READING}
        concludes = endings & set(own)
        if over_time:  # what changes with t is read off what is given too
            concludes |= {"given", "also given"} & set(own)
        if concludes and "then" in all_fields:
            indices = changes.get("indices", claim.indices)
            conclusion = self._conclusion(all_fields, along, indices)
            if over_time:
                conclusion = self._over_time(
                    all_fields, conclusion, changes.get("given", claim.given)
                )
            else:
                _refuse_stray(all_fields, ("base", "step"), "for all t")
            if "cases" in all_fields:
                conclusion = self._by_cases(all_fields, conclusion)
            changes["conclusion"] = conclusion
        elif concludes or claim.conclusion is None:
            raise self.block.head.refuse("must have a conclusion: then", claim.id)
        claim = replace(claim, **changes)
        if isinstance(claim.conclusion, AllTimes) and claim.quantifier == "exists":
            raise self.block.head.refuse(
                "must be for all t or for some numbers, not both", claim.id
            )
        self._refuse_captured(claim)
        self._refuse_bound(claim)
        self._refuse_defined(claim)
        self._check_letters(claim)
        in_numbers = self._in_numbers(claim)
        if "repair" in own:
            inner = _fields(own["repair"])
            repair = self._filled(claim.but(), inner, all_fields | inner)
            in_numbers = replace(in_numbers, repair=repair)
        return in_numbers

    def _refuse_captured(self, claim: Claim) -> None:
        """Refuse a definition that makes a constant change with t, or a number random."""
        moving = {x for name, x in self.scope.names.items() if name == "t" or _MOVING.search(name)}
        moving |= {x for x in claim.letters if stands_at(x, TIME)}
        every = isinstance(claim.conclusion, AllTimes)
        given = [each.relation for each in claim.given if each.source == "definition"]
        defined = [(x, defined_value(each)) for each in given if (x := defined_letter(each))]
        for letter, value in (*defined, *claim.where):
            if getattr(letter, "trait", ""):
                raise self.block.head.refuse(
                    "must be a matrix with no trait, as it is defined: say what it is", str(letter)
                )
            used = vectors.letters_of([value])
            if every and str(letter) == "t":
                raise self.block.head.refuse("must hold for all t: no definition of it", "t")
            if every and letter not in moving and used & moving:
                raise self.block.head.refuse("must be the same at every t", str(letter))
            if not is_random(letter) and any(map(is_random, used)):
                raise self.block.head.refuse("must be random, as what defines it", str(letter))
        if every and any(each.source == "induction" for each in claim.given):
            raise self.block.head.refuse(
                "must have its induction hypothesis in the line of its step", claim.id
            )

    def _refuse_defined(self, claim: Claim) -> None:
        """Refuse a letter that is defined beside a formula into which no definition is put."""
        conclusion = claim.conclusion
        parts = conclusion.parts if isinstance(conclusion, Both) else (conclusion,)
        formulas = (x for x in parts if isinstance(x, Algebra) and not isinstance(x, PUT_IN))
        letters = {letter for each in formulas for letter in each.letters}
        given = (x.relation for x in claim.given if x.source == "definition")
        defined = {*dict(claim.where), *map(defined_letter, given)}
        for letter in sorted(defined & letters, key=str):
            raise self.block.head.refuse("must be written out: nothing is put in", str(letter))

    def _refuse_bound(self, claim: Claim) -> None:
        """Refuse a counting letter that a sum binds, or ``for t from``, and that stands free."""
        bound = set(indices_of(claim.statements))
        free = {x for x in claim.letters for index in bound if stands_at(x, index)}
        if free:
            letters = ", ".join(sorted(map(str, free)))
            raise self.block.head.refuse(
                f"must say for which values it holds ({letters}): for t from 0 to k - 1", claim.id
            )

    def _check_letters(self, claim: Claim) -> None:
        """Refuse a line in which one letter has two signs, or that takes a formula for a number."""
        letters: dict[str, Any] = {}
        for letter in claim.letters:
            if letters.setdefault(str(letter), letter) != letter:
                raise self.block.head.refuse(
                    f"must use {letter} with one sign: declare it as in the line that is quoted",
                    claim.id,
                )
        if claim.conditions and not isinstance(claim.conclusion, AlongTrajectory):
            for given in claim.given:
                if isinstance(given.relation, EntryFormula):
                    raise self.block.head.refuse(
                        f"must be given relations: ({given.source}) is a formula", claim.id
                    )

    def _check_definitions(self, block: _TextBlock, where: tuple[tuple[Any, Any], ...]) -> None:
        """Refuse a letter that a line above defines otherwise, in a file of one's own."""
        if not self.proof.is_own:
            return
        for line in self.proof.lines_above(self.block.head.line):
            for letter, value in line.where:
                here = dict(where).get(letter, value)
                if here != value and sympy.expand(here - value) != 0:
                    raise block.joined().refuse(
                        f"must define {letter} as ({line.id}) does, or another letter", str(letter)
                    )

    def _in_numbers(self, claim: Claim) -> Claim:
        """A claim about vectors as a claim about their inner products, with what holds of those."""
        given = [each for each in claim.given if each.source != vectors.GRAM]
        written = [x for x in (body(each.relation) for each in given) if isinstance(x, sympy.Basic)]
        written += [*claim.conditions, *claim.quoted_as]
        letters = {x for each in written for x in each.atoms(sympy.Symbol)}
        of_vectors = {letter for letter in letters if isinstance(letter, vectors.Vector)}
        if not of_vectors and not any(map(is_random, letters)):
            return claim
        try:
            known = [each.relation for each in given]
            norms = [
                square
                for each in written
                for square in vectors.written_norms(each, None if each in known else known)
            ]
            conclusion = _expanded(claim.conclusion)
            quoted_as = tuple(map(_expanded, claim.quoted_as))
            moves = [each for each in written if _is_between_vectors(each)]
            moves = [each for each in moves if each not in claim.conditions]
            numbers = [
                each if each.relation in moves else replace(each, relation=_expanded(each.relation))
                for each in given
            ]
            needed = [x for each in claim.conditions for x in _lost(each, [_expanded(each)])]
        except ValueError as error:
            raise self.block.head.refuse(f"must be about vectors ({error})", claim.id) from None
        goals = conditions_of(conclusion)
        hypotheses = [each.relation for each in numbers if isinstance(each.relation, sympy.Rel)]
        hypotheses = [each for each in hypotheses if each not in moves]
        equations = vectors.equations(moves, [*goals, *quoted_as, *hypotheses])
        known = [
            *vectors.facts(goals, hypotheses, norms, moves),
            *facts((*goals, *hypotheses)),
        ]
        said = []
        for each, number in zip(given, numbers, strict=True):
            listed = equations.get(number.relation, [number.relation])
            listed = [*listed, *_lost(each.relation, listed)]
            said += [replace(each, relation=relation) for relation in listed]
        said += [Given(fact, vectors.GRAM) for fact in known]
        conclusion = _also(conclusion, needed)
        return replace(claim, conclusion=conclusion, given=tuple(said), quoted_as=quoted_as)

    def _over_time(self, own: _Fields, conclusion: Any, given: tuple[Given, ...]) -> AllTimes:
        """A conclusion at every time, by induction over t, from the lines that are named."""
        names, then = self.scope.names, own["then"].head
        if not isinstance(conclusion, sympy.Basic):
            raise then.refuse("must be about numbers, to hold for all t")
        relations = (conclusion, *(hypothesis.relation for hypothesis in given))
        try:
            letters = vectors.letters_of(map(_expanded, relations))
        except ValueError as error:
            raise then.refuse(f"must be about vectors ({error})") from None
        times = list[tuple[Any, Any, Any]]()
        time = next((letter for letter in letters if str(letter) == "t"), None)
        if time is not None:
            if not (time.is_integer and time.is_nonnegative):
                raise then.refuse("must count: letters nonnegative integer: t", "t")
            times.append((time, sympy.Integer(0), time + 1))
        of_time = {name: x for name, x in names.items() if _MOVING.search(name) and x in letters}
        for stem in dict.fromkeys(_MOVING.sub("", name) for name in of_time):
            row = [f"{stem}({at})" for at in ("t", "0", "t+1")]
            missing = [x for x in row if x not in names]
            if missing:
                raise then.refuse(
                    "must be a letter declared above, as it changes with t", missing[0]
                )
            now, start, later = (names[x] for x in row)
            times.append((now, start, later))
        rest = letters - {letter for each in times for letter in each}
        for letter in sorted(rest, key=str):  # means, and letters of sequences such as b(i)
            if _MOVING.search(letter.name) and not vectors.factors(letter):
                now, start, later = (_at_time(letter, x) for x in ("(t)", "(0)", "(t+1)"))
                # Of both times is what is not of t alone.
                times.append((now, start, letter if "(t+1)" in letter.name else later))
        times = list(dict.fromkeys(times))
        if not {now for now, _, _ in times} & vectors.letters_of([_expanded(conclusion)]):
            raise then.refuse("must change with t: by t itself, or a letter such as x(t)")
        (step,) = self._named(own, "step", 1) or ("",)
        base, second = (*self._named(own, "base", 2), "", "")[:2]
        times.sort(key=lambda row: str(row[0]))  # in whatever order letters are declared
        over_time = AllTimes(conclusion, tuple(times), base, step, second)
        if not over_time.is_of_now(_expanded(conclusion)):
            raise then.refuse("must be about time t alone: letters such as x(t), not x(t+1)")
        return over_time

    def _by_cases(self, own: _Fields, conclusion: Any) -> ByCases:
        """A conclusion that the lines which are named prove case by case."""
        piece = own["cases"].joined()
        if not isinstance(conclusion, sympy.Basic):
            raise piece.refuse("must be of a line about numbers")
        lines = self._named(own, "cases")
        if len(set(lines)) < max(len(lines), 2):
            raise piece.refuse("must be two lines above or more, in brackets, with commas between")
        return ByCases(conclusion, lines)

    def _named(self, own: _Fields, keyword: str, most: int = 99) -> tuple[str, ...]:
        """The ids of the lines above that a field names in brackets; none without the field."""
        if keyword not in own:
            return ()
        piece = own[keyword].joined()
        listed = [piece.cut(x.start(), x[0]) for x in re.finditer(r"[^,;\s][^,;]*", piece.text)]
        names = []
        for each in listed:
            match = re.fullmatch(r"\((.+)\)", each.text.strip())
            claim = self.proof.above(match[1], self.block.head.line) if match else None
            if claim is None or len(listed) > most:
                raise each.refuse("must be a line above in brackets")
            names.append(claim.id)
        return tuple(names)

    def _hypotheses(self, block: _TextBlock) -> tuple[Given, ...]:
        return tuple(self.proof.hypotheses(block, self.scope, self.block.head.line))

    def _definitions(self, block: _TextBlock) -> Iterator[tuple[Any, Any]]:
        defined: set[Any] = set()
        for piece in block.pieces():
            for relation in relations(piece, self.scope.names) if piece.text != "nothing" else ():
                if not isinstance(relation, sympy.Eq) or not relation.lhs.is_Symbol:
                    raise piece.refuse("must be a definition: letter = expression")
                if isinstance(relation.lhs, vectors.Vector):
                    requirement = "must be a number or a matrix: give a vector, with [definition]"
                    raise piece.refuse(requirement, str(relation.lhs))
                if relation.lhs in defined:
                    raise piece.refuse("must define a letter once")
                defined.add(relation.lhs)
                yield relation.lhs, relation.rhs

    def _conclusion(self, own: _Fields, along: bool, indices: str) -> Any:
        words = {name: block.words() for name, block in own.items() if name in _OF_READING}
        special = algebra(list(own["then"].pieces()), self.scope.names, words)
        if not isinstance(special, ByHand):
            _refuse_stray(own, _OF_READING, "then by hand: ... or then read: ...")
        if special is not None or not along:
            _refuse_stray(own, ("when", "while", "until"), "for every trajectory")
        if special is not None:
            return special

        def listed(name: str) -> list[Any]:
            return _relations(own[name].pieces(), self.scope) if name in own else []

        concluded = listed("then")
        joint = concluded[0] if len(concluded) == 1 else sympy.Tuple(*concluded)
        if not along:
            return joint
        when, during = tuple(listed("when")), tuple(listed("while"))
        until = own.get("until")
        (end,) = values(until.joined(), self.scope.names) if until else (None,)
        return AlongTrajectory(joint, "all" if indices == "any" else indices, when, during, end)


def _at_time(letter: Any, time: str) -> Any:
    """A letter that changes with t, or a mean of such letters, at another time."""
    if isinstance(letter, MeanLetter):
        return letter.changed(lambda x: _at_time(x, time))
    return renamed(letter, _MOVING.sub(time, letter.name))


def _is_between_vectors(relation: Any) -> bool:
    return isinstance(relation, sympy.Eq) and any(map(vectors.is_vector, relation.args))


def _expanded(conclusion: Any) -> Any:
    """A conclusion or hypothesis in numbers; vectors are equal where their distance is 0."""
    if isinstance(conclusion, AllTimes | ByCases | ForEach):
        return replace(conclusion, relation=_expanded(conclusion.relation))
    if isinstance(conclusion, sympy.Tuple):
        return sympy.Tuple(*map(_expanded, conclusion))
    if _is_between_vectors(conclusion):
        distance = conclusion.lhs - conclusion.rhs
        return sympy.Eq(vectors.inner(distance, distance), 0, evaluate=False)
    if isinstance(conclusion, sympy.Rel) and any(map(vectors.is_vector, conclusion.args)):
        raise ValueError("vectors are equal or not: none is larger")
    if not isinstance(conclusion, sympy.Basic):
        return conclusion
    return in_means(vectors.in_numbers(conclusion))


def _lost(written: Any, expanded: Iterable[Any]) -> list[Any]:
    """What a statement needs to have a value, and its form in numbers does not."""
    if isinstance(written, ForEach):
        inner = (x.relation if isinstance(x, ForEach) else x for x in expanded)
        return [replace(written, relation=each) for each in _lost(written.relation, inner)]
    if not isinstance(written, sympy.Rel):
        return []
    remaining = {need for each in expanded for need in partial(each)}
    needed = {(_expanded(base), sign) for base, sign in partial(written)} - remaining
    lost = relations_of(need for need in needed if not need[0].is_positive)
    for each in lost:
        if any(stands_at(x, index) for index in indices_of([written]) for x in each.free_symbols):
            raise ValueError(f"a sum has a value only where {formula(each)}: simplify its terms")
    return lost


def _also(conclusion: Any, relations: Iterable[Any]) -> Any:
    """A conclusion with relations in front."""
    if not (relations := list(dict.fromkeys(relations))):
        return conclusion
    if isinstance(conclusion, AllTimes | ByCases):
        return replace(conclusion, relation=_also(conclusion.relation, relations))
    return sympy.Tuple(*relations, *conditions_of(conclusion))


def _refuse_stray(own: _Fields, names: Iterable[str], wanted: str) -> None:
    """Refuse a field that needs another field beside it."""
    for name in own.keys() & set(names):
        raise own[name].head.refuse(f"must stand beside: {wanted}", name)


def _flaw(block: _TextBlock) -> Flaw:
    head, _, explanation = block.words().partition(":")
    breaks, _, severity = (words.strip() for words in head.partition(","))
    if breaks not in BREAKS or severity not in SEVERITIES or not explanation:
        raise block.head.refuse(
            f"must be one of {', '.join(BREAKS)}, a comma, one of {', '.join(SEVERITIES)}, a "
            "colon, and why"
        )
    return Flaw(breaks, severity, explanation.strip())


@functools.cache
def matrix_letters() -> dict[str, Any]:
    """The letters of :mod:`swingby.proofs.language.matrices`, a transpose as ``U^T``."""
    kinds = (sympy.Symbol, sympy.IndexedBase, sympy.core.function.UndefinedFunction)
    letters = {}
    for name, value in vars(matrices).items():
        if isinstance(value, kinds):
            flipped = name.endswith("t") and value in matrices.LETTERS and name[:-1] in letters
            letters[f"{name[:-1]}^T" if flipped else name] = value
    return letters


def load(path: str | Path, users: tuple[str, ...] = ()) -> Proof:
    """A proof from its file.

    Raises InvalidInput if it cannot be read, or is no proof.
    """
    file = Path(path)
    return Proof(text_of(file, "proof", "file of text"), file.name, file.parent, users)


@functools.cache
def packaged(name: str) -> Proof:
    """A proof that comes with the package, such as ``"suppression"``."""
    text = FOLDER.joinpath(f"{name}.proof").read_text("utf-8")
    return Proof(text, f"{name}.proof")
