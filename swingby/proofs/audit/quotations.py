"""Quotations: what a line takes from another, compared with what that line says.

A hypothesis whose source names a line must follow from the conclusion of that line, at the instance
at which it is quoted. What the quoted line itself takes for granted must hold where it is quoted:

- its cases, hypotheses and induction hypotheses have to be among, or follow from, those of the line
  that quotes it; so has whatever an instance changes, and the signs of what stands for a letter;
- what it rests on by a name, such as an assumption, is inherited as it is;
- a letter that it defines has to mean the same where it is quoted;
- what stands for a letter has to have a real value; in what rests on a line for all t it must not
  change with t, and in what rests on a mean it must not be random.

What cannot be matched is *quoted, not checked*; where numbers show that the quoted line does not
say it, *misquoted*.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import sympy

from swingby.hints import Hinted
from swingby.proofs.language.claim import (
    TIME,
    AllTimes,
    AlongTrajectory,
    ByCases,
    Claim,
    Given,
    at_instance,
    lines_of,
)
from swingby.proofs.language.definedness import as_relation, needs, partial, put_in_as_written
from swingby.proofs.language.definitions import (
    changing,
    defined_letter,
    defined_value,
    speaks_of,
)
from swingby.proofs.language.formula_printer import formula
from swingby.proofs.language.means import MEAN, is_random
from swingby.proofs.language.shapes import Matrix, about_matrices
from swingby.proofs.language.sums import ForEach, at_value, body, stands_at
from swingby.proofs.language.vectors import GRAM, factors, letters_of
from swingby.proofs.prover.evidence import ClaimVerdict
from swingby.proofs.prover.prove import is_of_relations
from swingby.theory.verdict import Finding

#: The verdict on a claim, which may be known already.
Judge = Callable[[Claim], ClaimVerdict]
_Instance = tuple[tuple[Any, Any], ...]
#: A line and the instance at which it is quoted.
_Key = tuple[str, _Instance]

MATCHES, READ, UNCHECKED, MISQUOTED = "matches", "read", "quoted, not checked", "misquoted"
#: Sources of hypotheses that hold in their line alone.
LOCAL = frozenset({"case", "hypothesis", "induction"})
_TIME = sympy.Symbol("t", nonnegative=True)


@dataclass(frozen=True)
class Quotation(Hinted):
    """A line that is quoted, and whether it says so.

    `id`: of the quoted line. `state`: *matches*; *read*, where it is quoted as a person reads it;
    *quoted, not checked*; *misquoted*. `open`: what is not matched, in words. `repairs`: how many
    times the line is repaired until it says so; 0 where it does itself.
    """

    id: str
    state: str
    open: tuple[str, ...] = ()
    repairs: int = 0

    def __str__(self) -> str:
        return f"{self.id}: {self.state}" + f" ({'; '.join(self.open)})" * bool(self.open)


def meets_repair(claim: Claim, claims: Mapping[str, Claim], judge: Judge, id: str) -> bool:
    """Whether a line that quotes a refuted one knows all that its repair takes for granted."""
    return not any(
        quotation.open
        for comparison in _comparisons(claim, claims, judge, mended=True)
        for quotation in comparison.listed()
        if quotation.id == id
    )


def quotations(
    claim: Claim, claims: Mapping[str, Claim], judge: Judge, within: Claim | None = None
) -> tuple[Quotation, ...]:
    """Every line of `claims` that a claim quotes, compared with what is taken from it.

    A letter that a line above defines otherwise is a quotation of that line too. `within`: the line
    for all t that the claim is a part of.
    """
    comparisons = list(_comparisons(claim, claims, judge, within=within))
    listed = [quotation for each in comparisons for quotation in each.listed()]
    return (*listed, *comparisons[0].definitions())


def _comparisons(
    claim: Claim,
    claims: Mapping[str, Claim],
    judge: Judge,
    *,
    mended: bool = False,
    within: Claim | None = None,
) -> Iterator[_Comparison]:
    """A line with what it quotes; once more for each value of a counting letter."""
    whole = within or claim
    over_time = (TIME,) if isinstance(whole.conclusion, AllTimes) else ()
    for version, indices in _at_values(claim, claims):
        every = (*over_time, *indices)
        bound = {*map(str, indices), *(["t"] if within is not None else [])}
        yield _Comparison(
            version, claims, judge, mended, _every_letter(whole), indices=every, bound=bound
        )


def _is_in_the_mean(key: _Key) -> bool:
    return any(letter == MEAN for letter, _ in key[1])


def _at_values(
    claim: Claim, claims: Mapping[str, Claim]
) -> Iterator[tuple[Claim, tuple[Any, ...]]]:
    """A line without what it quotes for each value of a counting letter; then at such a value."""
    each = [given for given in claim.given if isinstance(given.relation, ForEach)]
    quoted = [given for given in each if given.source in claims]
    yield replace(claim, given=tuple(given for given in claim.given if given not in quoted)), ()
    ranges = dict.fromkeys((x.relation.index, x.relation.low, x.relation.high) for x in quoted)
    for index, low, high in ranges:
        bounds = (sympy.Le(low, index, evaluate=False), sympy.Le(index, high, evaluate=False))
        given = [Given(x, "case") for x in bounds]
        given += [
            Given(x.relation, "case") if x.instance or x.source in claims else x
            for x in claim.given
            if x not in each
        ]
        for x in each:
            if (x.relation.index, x.relation.low, x.relation.high) == (index, low, high):
                given.append(replace(x, relation=x.relation.relation))
        yield replace(claim, given=tuple(given)), (index,)


def demands(
    claim: Claim, claims: Mapping[str, Claim], users: tuple[str, ...] = ()
) -> Iterator[tuple[Any, str]]:
    """What a line takes for granted, with the sources.

    Of the lines that it quotes in turn, only what is inherited: it has met the rest itself.
    """
    yield from ((sympy.Eq(*pair, evaluate=False), "definition") for pair in claim.where)
    conclusion = claim.conclusion
    if isinstance(conclusion, AlongTrajectory):
        yield from ((relation, "case") for relation in (*conclusion.when, *conclusion.during))
        if conclusion.until is not None:
            yield sympy.Le(_TIME, conclusion.until, evaluate=False), "case"
    inherited = list[Any]()
    for hypothesis in (*claim.given, *(Given(None, line) for line in lines_of(conclusion))):
        source = hypothesis.source
        if source == GRAM:
            continue
        if source not in claims or source in (claim.id, *users):
            yield hypothesis.relation, source
            continue
        for relation, origin in demands(claims[source], claims, (*users, claim.id)):
            moved = at_instance(relation, hypothesis.instance) != relation
            if not (origin in LOCAL or moved):
                inherited.append((relation, origin))
    # What defines a letter of another line matters where a letter of this one rests on it.
    letters, size = _every_letter(claim), -1
    while size < len(letters):
        size = len(letters)
        for relation, origin in inherited:
            if origin == "definition" and _defines(relation) and _reaches(letters, relation):
                letters |= relation.rhs.free_symbols
    for relation, origin in inherited:
        is_of_others = origin == "definition" and _defines(relation)
        if not is_of_others or _reaches(letters, relation):
            yield relation, origin


def _every_letter(claim: Claim) -> set[Any]:
    """The letters of a claim, with those that a sum or each value of a counting letter binds."""
    basic = (x for x in map(body, claim.statements) if isinstance(x, sympy.Basic))
    return claim.letters | {letter for x in basic for letter in x.atoms(sympy.Symbol)}


def _reaches(letters: Iterable[Any], definition: Any) -> bool:
    """Whether a definition is of one of several letters, or of the place where one stands."""
    defined = definition.lhs
    return any(x == defined or stands_at(x, defined) for x in letters)


def _said(version: Claim) -> tuple[Any, ...]:
    """What a line says: its relations and its definitions; another conclusion as it is."""
    if not version.conditions:
        return (version.conclusion,)
    return (*version.conditions, *(sympy.Eq(*pair, evaluate=False) for pair in version.where))


class _Comparison:
    """One line and what it quotes.

    `indices`: the counting letters for each of whose values it is quoted, or t of a line for all t;
    `letters`: those of the whole line, the same for all of these values.
    """

    def __init__(
        self,
        claim: Claim,
        claims: Mapping[str, Claim],
        judge: Judge,
        mended: bool = False,
        letters: Iterable[Any] = (),
        indices: tuple[Any, ...] = (),
        bound: Iterable[str] = (),
    ) -> None:
        self._claim, self._claims, self._judge = claim, claims, judge
        self._mended = mended
        #: Names of letters that the line is about each value of.
        self._bound = frozenset(bound)
        self._forms: dict[Any, Any] = {}
        self._letters = {str(letter): letter for letter in claim.letters}
        #: What holds here without a quotation; what a quoted line says is added when it may.
        self._premises = [given for given in claim.given if not self._is_quoted(given)]
        self._definitions = dict(claim.where)
        self._whole = set(letters)
        self._indices = indices

    def listed(self) -> Iterable[Quotation]:
        """The lines that are quoted; in the mean, from what holds for every outcome alone."""
        listed = self.quotations()
        if any(map(_is_in_the_mean, listed)):
            sure = self._for_every_outcome().quotations()
            listed |= {key: each for key, each in sure.items() if _is_in_the_mean(key)}
        return listed.values()

    def _for_every_outcome(self) -> _Comparison:
        """The same without what is known here of one outcome."""
        other = copy(self)
        other._premises = [
            given
            for given in self._claim.given
            if not (self._is_quoted(given) or (given.source in LOCAL and _is_of_outcome(given)))
        ]
        other._definitions = dict(self._claim.where)
        return other

    def _is_quoted(self, given: Given) -> bool:
        return bool(given.instance) or (
            given.source in self._claims and given.source != self._claim.id
        )

    def quotations(self) -> dict[_Key, Quotation]:
        """The lines in the order in which they are quoted; each may use those that match."""
        waiting: dict[_Key, list[Any]] = {}
        for given in filter(self._is_quoted, self._claim.given):
            waiting.setdefault((given.source, given.instance), []).append(given.relation)
        order, compared = list(waiting), dict[_Key, Quotation]()
        progress = True
        while progress:
            progress = False
            for key in list(waiting):
                compared[key] = self._compared(*key, waiting[key])
                if not compared[key].open:
                    self._premises += [Given(relation, key[0]) for relation in waiting.pop(key)]
                    progress = True
        return {key: compared[key] for key in order}

    def definitions(self) -> Iterator[Quotation]:
        """Definitions that do not follow from those above them, or that ask for a sign."""
        own = [given.relation for given in self._claim.given if _is_equation(given)]
        put_in = [sympy.Eq(*pair, evaluate=False) for pair in self._claim.where]
        if not own and not put_in:
            return
        above = list(self._above()) if self._claim.edition != "corrected" else []
        every = [(name, each) for name, each, _ in above]
        every += [(self._claim.id, each) for each in put_in]
        # As equations: nothing is put in for the letters that the line defines.
        unfolded = _Comparison(replace(self._claim, where=()), self._claims, self._judge)
        for relation in put_in:
            # What is put in for a letter may differ from line to line; it must not be a circle.
            others = ((x, y) for x, y, is_given in above if is_given or y.lhs != relation.lhs)
            yield from unfolded._follows_from_above(relation, [*others])
        # What defines a letter of its own comes first: the others may use it.
        for relation in sorted(own, key=lambda each: bool(_binding(each, every))):
            yield from unfolded._follows_from_above(relation, every)
            every.append((self._claim.id, relation))
        yield from self._signs_of_definitions()

    def _above(self) -> Iterator[tuple[str, Any, bool]]:
        """The definitions of the lines above, with their ids, and whether they are given there."""
        for line in self._claims.values():
            if line.id == self._claim.id:
                return
            for given in filter(_is_equation, line.given):
                yield line.id, given.relation, True
            for pair in line.where:
                yield line.id, sympy.Eq(*pair, evaluate=False), False

    def _follows_from_above(
        self, relation: Any, above: Sequence[tuple[str, Any]]
    ) -> Iterator[Quotation]:
        """A definition that those above leave no letter to, and that they do not say."""
        binding = _binding(relation, above)
        others = [each for name, each in binding if name]
        if not binding or self._among(relation, others):
            return
        line_id, definition = binding[0]
        verdict = self._entailed(relation, line_id, _reached(relation, above), ())
        if verdict is not Finding.PROVED:
            state = MISQUOTED if verdict is Finding.REFUTED else UNCHECKED
            words = f"it defines {_words(definition)}, and here {_words(relation)}"
            yield Quotation(line_id or self._claim.id, state, (words,))

    def _signs_of_definitions(self) -> Iterator[Quotation]:
        """Letters with a sign that are defined as what is not known to have it."""
        defined = [given for given in self._claim.given if _is_definition(given)]
        defined = [
            given for given in defined if defined_letter(given.relation) in given.relation.args
        ]
        known = [given for given in self._premises if given not in defined]
        waiting, progress = defined, True
        while progress:
            unmet = {given: self._unmet_sign(given.relation, known) for given in waiting}
            progress = len(unmet) > sum(map(bool, unmet.values()))
            known += [given for given in waiting if not unmet[given]]
            waiting = [given for given in waiting if unmet[given]]
        for given in waiting:
            words = f"{unmet[given]} is not known, as {_words(given.relation)} asks"
            yield Quotation(self._claim.id, UNCHECKED, (words,))

    def _unmet_sign(self, definition: Any, known: Sequence[Given]) -> str:
        """The sign that a definition asks of its value, in words, if it is not known."""
        letter = defined_letter(definition)
        value = defined_value(definition)
        here = [given.relation for given in known]
        # Of an inner product, expanded, the sign is that of any vectors.
        expanded = factors(letter) and any(map(factors, value.free_symbols))
        for sign in _needs(value) if expanded else _signs(((letter, value),)):
            known_here = self._among(sign, here)
            if not known_here and self._entailed(sign, "", (), here) is not Finding.PROVED:
                return _words(sign)
        return ""

    def _compared(self, source: str, instance: _Instance, relations: Sequence[Any]) -> Quotation:
        """A line compared, in the edition that matches, or else the one that comes closest."""
        if source not in self._claims:
            return Quotation(source, UNCHECKED, ("there is no such line",))
        held = self._held(self._claims[source])
        barred = (
            *held.barred(instance),
            *held.barred_definitions(),
            *self._changing(source, instance),
        )
        if barred:
            return Quotation(source, UNCHECKED, barred)
        if any(map(self._is_for_some, self._claims[source])):
            return Quotation(source, UNCHECKED, ("it says that some numbers do, not that all do",))
        editions = []
        for version in self._claims[source]:
            names = tuple(
                (letter, self._letters[str(letter)])
                for letter in version.letters - {letter for letter, _ in instance}
                if self._letters.get(str(letter), letter) != letter
            )
            if other := [letter for pair in names for letter in pair if isinstance(letter, Matrix)]:
                words = f"{other[0]} is a matrix of another kind there"
                return Quotation(source, UNCHECKED, (words,))
            said = [_moved(each, instance, names) for each in _said(version)]
            missing = [relation for relation in relations if not self._among(relation, said)]
            editions.append((version, names, said, missing))
        unmatched: list[Quotation] = []
        if self._mended:  # what is refuted is quoted as its repair says it, if that says the same
            sound = [each for each in editions if not each[3] and not self._is_refuted(each[0])]
            editions = sound or editions
        for version, names, said, missing in sorted(editions, key=lambda edition: len(edition[3])):
            quotation = self._not_said(version, instance, names, said, missing)
            says = quotation is None
            if quotation is None:
                quotation = self._granted(version, instance, names)
            if not quotation.open:
                return replace(quotation, repairs=[*self._claims[source]].index(version))
            unmatched.insert(0 if says else len(unmatched), quotation)
        return unmatched[0]

    def _held(self, line: Claim) -> _Held:
        """What an instance of a line has to leave as it is here."""
        held = _held(line, self._claims)
        return replace(held, here=_Definitions(self._claim, self._claims)) if held.times else held

    def _changing(self, source: str, instance: _Instance) -> Iterator[str]:
        """What is one letter here, and changes through definitions where it is quoted, in words."""
        kinds: list[Any] = [functools.partial(_stands_at, index) for index in self._indices]
        kinds += [is_random] * _is_in_the_mean((source, instance))
        for changes in kinds:
            definitions = _Definitions(self._claims[source], self._claims)
            for name in sorted(definitions.changing(changes)):
                if not _speak_of(self._whole, {name}):
                    continue
                words, index = definitions.words(name), getattr(changes, "args", ("outcome",))[0]
                mend = "random" if changes is is_random else f"as {name}({index})"
                yield f"{words} is of one {index}, and {name} one letter: declare it {mend}"

    def _is_for_some(self, line: Claim) -> bool:
        """Whether a line says of some numbers what is taken here of all."""
        is_of_all = self._claim.quantifier != "exists"
        return line.quantifier == "exists" and line.kind != "assumption" and is_of_all

    def _is_refuted(self, version: Claim) -> bool:
        """Whether an edition of a line that has several is refuted; what is put together is not."""
        is_joint = isinstance(version.conclusion, AllTimes | ByCases)
        if self._claims[version.id].repair is None or is_joint:
            return False
        return self._judge(version).verdict is Finding.REFUTED

    def _not_said(
        self,
        version: Claim,
        instance: _Instance,
        names: _Instance,
        said: list[Any],
        missing: Sequence[Any],
    ) -> Quotation | None:
        """A quotation that needs more than the conclusion of the line; None if that is enough."""
        if missing and version.quoted_as:
            said = [*said, *(_moved(each, instance, names) for each in version.quoted_as)]
            if all(self._follows(each, version.id, said) for each in missing):
                wrong = [each for each in version.quoted_as if self._is_misread(version, each)]
                words = tuple(f"it does not say {_words(each)}" for each in wrong)
                return Quotation(version.id, MISQUOTED if wrong else READ, words)
        verdicts = [self._entailed(relation, version.id, said) for relation in missing]
        unmatched = tuple(
            f"it does not say {_words(relation)}"
            for relation, verdict in zip(missing, verdicts, strict=True)
            if verdict is not Finding.PROVED
        )
        state = MISQUOTED if Finding.REFUTED in verdicts else UNCHECKED
        return Quotation(version.id, state, unmatched) if unmatched else None

    def _granted(self, version: Claim, instance: _Instance, names: _Instance) -> Quotation:
        """A quotation of what a line says, with what it takes for granted and is not known here."""
        # A letter that is defined here stands at its value in the quoted line.
        free = version.letters - dict(version.where).keys()
        of_letters = (*instance, *names, *(pair for pair in self._claim.where if pair[0] in free))
        obligations, definitions = [*_signs(of_letters)], dict[Any, Any]()
        held, at_every_t = self._held(version), list[Any]()
        here, asked = [given.relation for given in self._premises], list[Any]()
        # In the mean, what the line needs has to hold for every outcome.
        of_outcome = tuple(each for each in instance if each[0] != MEAN)
        printed = [each for each, _ in demands(self._claims[version.id], self._claims)]
        printed += [sympy.Eq(*pair, evaluate=False) for pair in version.where]
        for letter, value in version.where:
            if letter not in self._definitions:
                obligations += [_moved(each, of_outcome, names) for each in _needs(value)]
        for relation, source in demands(version, self._claims):
            moved, unmoved = _moved(relation, of_outcome, names), at_instance(relation, names)
            if moved != unmoved:
                obligations += [_moved(each, of_outcome, names) for each in _needs(relation)]
            if source == "definition" and _defines(moved) and str(moved.lhs) not in self._bound:
                letter, value = moved.args
                if letter in self._definitions:
                    moved = sympy.Eq(self._definitions[letter], value, evaluate=False)
                    obligations.append(moved)
                    continue
                if relation in printed or not self._mended:
                    definitions[letter] = value
            is_new = source == "definition" and relation not in printed and self._mended
            if source in LOCAL or moved != unmoved or is_new:
                obligations.append(moved)
            elif not self._among(moved, here):
                asked += self._asked_at_each_value(moved, source)
            if moved != unmoved and held.needs_at_every_t(moved, instance):
                at_every_t.append(moved)
        in_mean = len(of_outcome) < len(instance)
        unmet = tuple(
            f"{_words(each)} is not known here"
            + " for every outcome" * (in_mean and _is_of_outcome(Given(each, "")))
            for each in dict.fromkeys(obligations)
            if not self._follows(each, version.id, ())
        )
        unmet += tuple(
            f"{_words(relation)} is not known for each value: give it here, too"
            for relation in dict.fromkeys(asked)
            if not self._follows(relation, version.id, ())
        )
        unmet += tuple(
            f"{letter} must be real: {_words(value)}"
            for letter, value in of_letters
            if letter.is_real and not _is_of_reals(value)
        )
        unmet += tuple(
            f"{_words(given.relation)} is not known here at every t"
            for given in version.given
            if given.source in LOCAL and self._is_of_one_time(version, given.relation)
        )
        if not isinstance(self._claim.conclusion, AllTimes):
            unmet += tuple(f"{_words(each)} is not known here at every t" for each in at_every_t)
        if not unmet:
            self._definitions |= definitions
        return Quotation(version.id, UNCHECKED if unmet else MATCHES, unmet)

    def _asked_at_each_value(self, relation: Any, source: str) -> list[Any]:
        """What must be known for an inherited hypothesis to be possible at each value of a letter.

        One that says what a letter of a sequence is there, or at most, leaves the value free, if
        that letter may be so. Of any other the line has to say that it holds at each value.
        """
        letters = letters_of([relation])
        names = self._bound & set(map(str, letters))
        if not names:
            return []
        others = {x for x in letters if str(x) not in names}
        moving = {x for x in others if any(stands_at(x, name) for name in names)}
        defined = others.intersection(relation.args if source == "definition" else ())
        for letter in sorted(moving | defined, key=str):
            if (bounds := _solved(relation, letter)) is not None:
                asked = [*_needs(relation), *_signs(tuple((letter, value) for value in bounds))]
                return [each for each in asked if not letters_of([each]) & moving]
        return [relation]

    def _is_misread(self, version: Claim, relation: Any) -> bool:
        """Whether numbers refute a reading of a line, under all that the line says of them."""
        said = version.conditions
        # An assumption may be read as what it is meant to be: either way it is assumed.
        compared = isinstance(version.conclusion, sympy.Basic) and version.kind != "assumption"
        if not compared or not letters_of([relation]) <= letters_of(said):
            return False
        given = (*version.given, *(Given(each, version.id) for each in said))
        question = version.but(conclusion=relation, given=given, quantifier="for all")
        return is_of_relations(question) and self._judge(question).verdict is Finding.REFUTED

    def _is_of_one_time(self, version: Claim, relation: Any) -> bool:
        """Whether a line needs at every t what is known here of one t at most."""
        every = version.conclusion
        if not isinstance(every, AllTimes) or isinstance(self._claim.conclusion, AllTimes):
            return False
        return _Held(frozenset(every.letters_of_time)).changes(relation)

    def _follows(self, relation: Any, source: str, said: Sequence[Any]) -> bool:
        """Whether a relation is among what is said or holds here, or follows from both."""
        known = (*said, *(given.relation for given in self._premises))
        if self._among(relation, known):
            return True
        return self._entailed(relation, source, said) is Finding.PROVED

    def _among(self, relation: Any, relations: Sequence[Any]) -> bool:
        """Whether a relation is one of several, or weaker than one by its sign alone."""
        if not isinstance(relation, sympy.Basic):
            return relation in relations
        form = self._form(relation)
        if form is None:
            return True
        sign, difference, needed = form
        for each in filter(None, (self._form(x) for x in relations if isinstance(x, sympy.Basic))):
            stronger, known, met = each
            alike = stronger == sign or (sign == "<=" and stronger in ("<", "="))
            turned = sign == "<=" and stronger == "=" and known == -difference
            if needed <= met and (turned or (alike and known == difference)):
                return True
        return False

    def _form(self, relation: Any) -> Any:
        """What :func:`_normal` says of a relation, with the definitions of the line put in."""
        if relation not in self._forms:
            self._forms[relation] = _normal(relation, self._claim.where)
        return self._forms[relation]

    def _entailed(
        self, relation: Any, source: str, said: Sequence[Any], here: Sequence[Any] | None = None
    ) -> Finding:
        """The verdict on a relation as a consequence of what is said and what holds here."""
        if isinstance(relation, ForEach):
            held = self._premises if here is None else [Given(each, "definition") for each in here]
            known = at_value(relation, [*said, *(given.relation for given in held)])
            put_in = [sympy.Eq(*pair, evaluate=False) for pair in self._claim.where]
            of_one = changing(put_in, functools.partial(_stands_at, relation.index))
            known = [x for x in known if not _speak_of(x.free_symbols, of_one)]
            return self._entailed(relation.relation, source, (), known)
        if not isinstance(relation, sympy.Basic) or relation.has(sympy.zoo, sympy.nan):
            return Finding.UNDECIDED
        numbers = [each for each in said if isinstance(each, sympy.Basic)]
        held = self._premises if here is None else [Given(each, "definition") for each in here]
        hypotheses = (*(Given(each, source) for each in numbers), *held)
        question = self._claim.but(
            about=f"what ({self._claim.id}) takes from ({source})",
            conclusion=relation,
            given=tuple(each for each in hypotheses if isinstance(each.relation, sympy.Basic)),
            quantifier="for all",
        )
        return self._judge(question).verdict if is_of_relations(question) else Finding.UNDECIDED


@dataclass(frozen=True)
class _Held:
    """What an instance of a line has to leave as it is, because of the lines that it rests on.

    `times`: letters of lines for all t that change with t; `starts`: what they are at time 0;
    `constants`: the other letters of those lines.
    `of_means`: whether the line rests on a mean.
    """

    times: frozenset[Any] = frozenset()
    starts: frozenset[Any] = frozenset()
    constants: frozenset[Any] = frozenset()
    of_means: bool = False
    here: _Definitions | None = None

    def changes(self, value: Any) -> bool:
        """Whether a value or a letter changes with t, itself or as it is defined here."""
        through = self.here.changing(_changes_with_time) if self.here else set[str]()
        return any(
            letter in self.times or stands_at(letter, TIME) or _speak_of({letter}, through)
            for letter in letters_of([value])
        )

    def barred(self, instance: _Instance) -> tuple[str, ...]:
        """What an instance changes that it must not, in words."""
        pairs = [pair for pair in instance if pair[0] != MEAN]
        barred = [
            "an instance must not change the time"
            for letter, _ in pairs
            if self.times and (self.changes(letter) or letter in self.starts)
        ]
        barred += [
            f"{letter} is the same at every t, and {_words(value)} is not"
            for letter, value in pairs
            if letter in self.constants and self.changes(value)
        ]
        barred += [
            f"{letter} must stay random or not, as it is, in a mean"
            for letter, value in pairs
            if self.of_means and any(map(is_random, letters_of([letter, value])))
        ]
        return tuple(dict.fromkeys(barred))

    def barred_definitions(self) -> Iterator[str]:
        """The equations that define a constant here by what changes with t, in words."""
        if self.here is not None:
            for name in sorted(self.here.changing(_changes_with_time)):
                if _speak_of(self.constants, {name}):
                    yield f"{name} is the same at every t, and {self.here.words(name)} is of one t"

    def needs_at_every_t(self, relation: Any, instance: _Instance) -> bool:
        """Whether a line for all t needs a relation that an instance has changed."""
        return bool(self.constants & {*dict(instance)}) and self.changes(relation)


class _Definitions:
    """The definitions of a line and of all that it rests on."""

    def __init__(self, claim: Claim, claims: Mapping[str, Claim]) -> None:
        waiting, reached, self._listed = [claim], set[str](), list[Any]()
        while waiting:
            for version in waiting.pop():
                named = (x for x in version.given if x.source.startswith("definition"))
                self._listed += [x.relation for x in named if isinstance(x.relation, sympy.Eq)]
                self._listed += [sympy.Eq(*pair, evaluate=False) for pair in version.where]
                new = {*version.rests_on} & claims.keys() - reached
                reached |= new
                waiting += [claims[name] for name in sorted(new)]

    def changing(self, changes: Callable[[str], bool]) -> set[str]:
        """The names of letters that change through them."""
        return changing(self._listed, changes)

    def words(self, name: str) -> str:
        """The definition of a letter."""
        speaks = [x for x in self._listed if _speak_of(x.free_symbols, {name})]
        return _words(next((x for x in speaks if speaks_of(defined_letter(x), name)), speaks[0]))


def _speak_of(letters: Iterable[Any], names: set[str]) -> bool:
    """Whether one of several letters is one of some names, or speaks of it."""
    return any(speaks_of(letter, name) for letter in letters for name in names)


def _stands_at(index: Any, name: str) -> bool:
    return stands_at(name, index)


def _changes_with_time(name: str) -> bool:
    return stands_at(name, TIME)


def _held(claim: Claim, claims: Mapping[str, Claim]) -> _Held:
    """What the lines that a claim rests on ask of its instances."""
    times, starts, letters = set[Any](), set[Any](), set[Any]()
    values, of_means = list[Any](), False
    waiting, reached = [claim.id], {claim.id}
    while waiting:
        for version in claims[waiting.pop()]:
            if isinstance(version.conclusion, AllTimes):
                times |= version.conclusion.letters_of_time
                starts |= {start for _, start, _ in version.conclusion.times}
                for line in (version, *map(claims.get, version.conclusion.lines)):
                    letters |= line.letters if line else set()
            instances = [pair for given in version.given for pair in given.instance]
            values += [value for _, value in instances]
            of_means = of_means or any(letter == MEAN for letter, _ in instances)
            of_means = of_means or any("E[" in str(letter) for letter in version.letters)
            new = {*version.rests_on} & claims.keys() - reached
            reached |= new
            waiting += new
    if not times:
        return _Held(of_means=of_means)
    held = _Held(frozenset(times), frozenset(starts), of_means=of_means)
    letters |= letters_of(values)
    # What lines below define by what changes with t is no constant, unless it is a letter here.
    inside = _Definitions(claim, claims).changing(_changes_with_time)
    own = {letter for version in claim for letter in version.letters}
    inside = {name for name in inside if not _speak_of(own, {name})}
    fixed = (x for x in letters - starts if not (held.changes(x) or _speak_of({x}, inside)))
    return replace(held, constants=frozenset(fixed))


def _is_of_reals(value: Any) -> bool:
    """Whether an expression has a real value wherever it has one."""
    return not value.has(sympy.I) and all(letter.is_real for letter in value.free_symbols)


def _needs(relation: Any) -> Iterator[Any]:
    """What has to hold for an expression, or the sides of a relation, to have a value."""
    for base, sign in needs(relation) if isinstance(relation, sympy.Basic) else ():
        yield as_relation(base, sign)


def _solved(relation: Any, letter: Any) -> list[Any] | None:
    """What a letter is by a relation, or at most; None unless it may be solved for the letter."""
    if not isinstance(relation, sympy.Rel):
        return None
    sides = relation.args if relation.rel_op in ("==", "!=") else (relation.lts, relation.gts)
    gap = sympy.expand(sides[0] - sides[1])
    weight = gap.coeff(letter)
    rest = sympy.expand(gap - weight * letter)
    if not weight.is_nonzero or letter in rest.free_symbols | weight.free_symbols:
        return None
    is_below = isinstance(relation, sympy.Eq) or not (weight.is_negative or relation.rel_op == "!=")
    return [-rest / weight] if is_below else []


def _moved(relation: Any, instance: _Instance, names: _Instance) -> Any:
    """A relation at an instance, in the letters of the line that quotes it."""
    return at_instance(at_instance(relation, instance), names)


def _defines(relation: Any) -> bool:
    return isinstance(relation, sympy.Eq) and bool(relation.lhs.is_Symbol)


def _is_of_outcome(given: Given) -> bool:
    """Whether a hypothesis speaks of a random letter."""
    statement = body(given.relation)
    return isinstance(statement, sympy.Basic) and any(map(is_random, statement.atoms(sympy.Symbol)))


def _is_definition(given: Given) -> bool:
    return given.source == "definition" and defined_letter(given.relation) is not None


def assumed_definitions(claim: Claim) -> Iterator[str]:
    """What a line calls a definition, and no letter of its own is defined by."""
    for given in claim.given:
        sides = given.relation.args if _is_equation(given) else ()
        if given.source == "definition" and not any(side.is_Symbol for side in sides):
            yield f"{_words(given.relation)}, by definition"


def _is_equation(given: Given) -> bool:
    return given.source == "definition" and isinstance(given.relation, sympy.Eq)


def _reached(relation: Any, above: Sequence[tuple[str, Any]]) -> list[Any]:
    """The definitions above that speak of a letter of a definition, and so on."""
    letters, rest, reached = set(relation.free_symbols), [each for _, each in above], list[Any]()
    while speaks := [each for each in rest if each.free_symbols & letters]:
        reached += speaks
        rest = [each for each in rest if each not in speaks]
        letters |= {
            letter for each in speaks if defined_letter(each) for letter in each.free_symbols
        }
    return reached


def _binding(relation: Any, above: Sequence[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """The definitions above that leave a definition no letter to define freely; itself, if none.

    They define its letter, or use it for a letter that it uses.
    """
    letter, reached = defined_letter(relation), relation.free_symbols
    if letter is None:
        return [each for each in above if defined_letter(each[1]) in reached]
    same = [each for each in above if defined_letter(each[1]) == letter]
    same += [
        each for each in above if defined_letter(each[1]) is None and letter in each[1].free_symbols
    ]
    if same:
        return same
    value = defined_value(relation)
    if letter in value.free_symbols:
        return [("", relation)]
    values: dict[Any, tuple[str, Any]] = {}
    for each in above:
        if (defined := defined_letter(each[1])) is not None:
            values.setdefault(defined, each)
    waiting, path = list(value.free_symbols), set[Any]()
    while waiting:
        used = waiting.pop()
        if used in values and used not in path:
            path.add(used)
            definition = values[used][1]
            if letter in definition.free_symbols:
                return [values[used]]
            waiting += definition.free_symbols
    return []


def _words(relation: Any) -> str:
    if isinstance(relation, ForEach):
        return relation.lines()
    return formula(relation) if isinstance(relation, sympy.Basic) else "it"


def _signs(instance: _Instance) -> Iterator[Any]:
    """What has to hold of what stands for a letter: it has a value, of the sign of the letter."""
    for letter, value in instance:
        yield from _needs(value)
        if letter.is_positive and not value.is_positive:
            yield sympy.Gt(value, 0, evaluate=False)
        elif letter.is_nonnegative and not value.is_nonnegative:
            yield sympy.Ge(value, 0, evaluate=False)
        if letter.is_integer and not value.is_integer:
            yield sympy.Eq(value, sympy.floor(value), evaluate=False)


def _normal(relation: Any, where: _Instance) -> tuple[str, Any, set[Any]] | None:
    """The sign of a relation, what is at most 0 by it, expanded and scaled, and what it needs.

    None where it holds by the signs of its letters, and has a value by them.
    """
    sides = list(relation.args)
    for _ in where:
        sides = [put_in_as_written(side, dict(where)) for side in sides]
    if any(side.has(sympy.zoo, sympy.nan) for side in sides):
        return "", relation, set()  # it divides by 0
    needed = {need for side in sides for need in partial(side)}
    if not (needed or about_matrices(relation)) and relation.func(*sides) == sympy.true:
        return None
    sign = {"==": "=", "!=": "!="}.get(relation.rel_op, relation.rel_op)
    if sign in (">", ">="):
        sides, sign = sides[::-1], sign.replace(">", "<")
    difference = sympy.expand(sides[0].doit() - sides[1].doit())
    content = difference.as_content_primitive()[0]
    difference = sympy.expand(difference / content) if content else difference
    if sign in ("=", "!=") and difference.could_extract_minus_sign():
        difference = -difference
    return sign, difference, needed
