"""Check of proofs and counterexamples with finite sums, by the standard library alone.

``check.py`` calls it. A letter such as ``S`` is a sum by its entry in "sums": a term, the counting
letter, its first and its last value. A rule says what has to be shown for each value of that letter
and once, and what follows of the sums: all of it is shown as ``check_proof.py`` judges it. A letter
at a place, such as ``f(t+1)``, is moved with the counting letter.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

FORMAT = "swingby sums 1"
KEYS = {"format", "id", "line", "signs", "whole", "given", "sums", "facts", "shows"}
_FACT = {"rule", "sums", "texts", "each", "once"}
#: Values of a counting letter that are looked at in a counterexample.
MOST_VALUES = 1000
_EACH = re.compile(r"(.+) for (\w+) from (.+) to (.+)", re.DOTALL)
_AT = re.compile(r"\(((?:[^\W\d]\w*)?)((?:[+-]?\d+)?)\)")
#: A counting letter, or the name of a sum; and the places of a letter.
_WORD, _IN_BRACKETS = re.compile(r"[^\W\d]\w*"), re.compile(r"\(([^()]*)\)")
_PLACE = re.compile(r"([^\W\d]\w*)?(?: ?([+-]) ?)?(\d+)?")
_FUNCTIONS = ("exp(", "log(", "sqrt(", "Abs(", "Max(", "Min(")
#: A sum: its term, counting letter, first and last value.
_Total = tuple[str, str, str, str]


def words(text: str, letters: Any) -> list[str]:
    """A formula or a relation as letters, functions, numbers and signs; ValueError if it is none.

    The longest letter first, as ``check.py`` reads formulas.
    """
    ordered = [*_FUNCTIONS, *sorted(letters, key=len, reverse=True)]
    word = re.compile("|".join([*map(re.escape, ordered), r"<=|!=|[<=]|\d+|[-+*/^(), ]"]))
    if unknown := word.sub("", text):
        raise ValueError(f"{unknown!r:.40} in {text!r:.40} is not understood")
    return word.findall(text)


def place(text: str, more: int = 0) -> str:
    """A place such as ``k - 1``, some more added to it; ValueError if it is none."""
    match = _PLACE.fullmatch(text.strip())
    if (
        match is None
        or not (match[1] or match[3])
        or (match[1] and bool(match[2]) != bool(match[3]))
    ):
        raise ValueError(f"{text!r:.40} is no place")
    number = int(f"{match[2] or ''}{match[3] or 0}") + more
    return f"{match[1]}{number:+d}" if match[1] and number else match[1] or str(number)


def further(text: str, more: int) -> str:
    """A bound and a number, as a formula."""
    try:
        moved = place(text, more)
    except ValueError:
        return f"{text} {'+' if more > 0 else '-'} {abs(more)}"
    return re.sub(r"(?<=\w)([+-])", r" \1 ", moved)


def stands_at(letter: str, index: str, sums: Any = ()) -> bool:
    """Whether a letter is a counting letter, stands at it, or is a sum in which it stands."""
    if letter in sums:
        term, own, low, high = sums[letter]
        inside = _WORD.findall(f"{term} {low} {high}")
        return own != index and any(
            x == index or (x in sums and stands_at(x, index, sums)) for x in inside
        )
    return letter == index or any(index in _WORD.findall(at) for at in _IN_BRACKETS.findall(letter))


def moved(text: str, letters: Any, index: str, to: str, sums: Any = ()) -> str:
    """A formula or a relation with a counting letter at a place."""

    def word(letter: str) -> str:
        if letter == index:
            return f"({to})"
        if letter not in letters or not stands_at(letter, index, sums):
            return letter
        if letter in sums or not all(_AT.fullmatch(f"({x})") for x in _IN_BRACKETS.findall(letter)):
            raise ValueError(f"{letter} cannot be moved from {index} to {to:.40}")
        return _AT.sub(
            lambda at: f"({place(to, int(at[2] or 0))})" if at[1] == index else at[0], letter
        )

    return "".join(map(word, words(text, letters)))


def free_of(text: str, letters: Any, index: str, sums: Any = ()) -> bool:
    """Whether nothing in a formula stands at a counting letter."""
    return not any(stands_at(x, index, sums) for x in words(text, letters) if x in letters)


def demands(fact: Any, sums: dict[str, Any], letters: Any) -> tuple[list[str], list[str], str]:
    """What a rule asks for each value of the counting letter, and once, and what it says then."""
    names, texts = fact["sums"], fact["texts"]
    inside: Any
    totals = [tuple(sums[name]) for name in names]
    term, index, low, high = totals[0] if totals else ("", "", "0", "0")
    nonempty, counted = f"{low} <= {high}", f"{low} <= {further(high, 1)}"
    alike = all(total[1:] == (index, low, high) for total in totals)
    match fact["rule"], names, texts:
        case "linear", [name, *others], [*numbers] if len(numbers) == len(others) and alike:
            if not all(free_of(number, letters, index, sums) for number in numbers):
                raise ValueError("a number before a sum changes with its index")
            pairs = list(zip(numbers, others, strict=True))
            inside = " + ".join(f"({number})*({sums[x][0]})" for number, x in pairs) or "0"
            outside = " + ".join(f"({number})*{x}" for number, x in pairs) or "0"
            return [f"{term} = {inside}"], [], f"{name} = {outside}"
        case "count", [name], [] if term == "1":
            return [], [counted], f"{name} = {further(high, 1)} - ({low})"
        case "telescope", [name], [of]:
            after = moved(of, letters, index, further(index, 1), sums)
            ends = [moved(of, letters, index, end, sums) for end in (further(high, 1), low)]
            return [f"{term} = {after} - ({of})"], [counted], f"{name} = {ends[0]} - ({ends[1]})"
        case "termwise", [name], [sign] if sign in ("<=", "<", "="):
            once = [nonempty] if sign == "<" else []
            return [f"0 {sign} {term}"], once, f"0 {sign} {name}"
        case "Schwarz", [mixed, first, second], [u, v] if alike:
            factors = (f"({u})*({v})", f"({u})*({u})", f"({v})*({v})")
            inside = [f"{x[0]} = {y}" for x, y in zip(totals, factors, strict=True)]
            return inside, [], f"{mixed}^2 <= {first}*{second}"
        case "last", [name, rest], []:
            if totals[1] != (term, index, low, further(high, -1)):
                raise ValueError("the rest is not all but the last term")
            return [], [nonempty], f"{name} = {rest} + {moved(term, letters, index, high, sums)}"
        case "empty", [name], [] if further(high, 1) == low:
            return [], [], f"{name} = 0"
        case "name", [], [name, value, sign] if letters.get(name) == sign:
            once = [f"{value} = {value}"] + [f"0 < {value}"] * (sign == "positive")
            if sign in ("real", "positive"):
                return [], once, f"{name} = {value}"
        case "at", [], [text, to] if match := _EACH.fullmatch(text):
            relation, index, low, high = match.groups()
            says = moved(relation, letters, index, to, sums)
            return [], [f"{low} <= {to}", f"{to} <= {high}"], says
    raise ValueError(f"no rule {fact['rule']!r:.40} of such sums")


def _check_names(content: Any, sums: dict[str, _Total]) -> None:
    """Raise ValueError unless what is named is defined first, by what holds no name itself.

    A name is a letter of no hypothesis: whatever it is, the facts that follow hold.
    """
    facts, letters = content["facts"], content["signs"]
    places = [at for at, fact in enumerate(facts) if fact["rule"] == "name"]
    names = {facts[at]["texts"][0] for at in places}

    def has_name(*texts: str) -> bool:
        return any(names.intersection(words(text, letters)) for text in texts)

    parts = [x for text in content["given"] for x in _parts(text)]
    for fact in facts[: max(places, default=-1) + 1]:
        texts = fact["texts"][1:2] if fact["rule"] == "name" else fact["texts"]
        inside = {x for text in texts for x in words(text, letters)} & sums.keys()
        parts += [*texts, *(sums[x][0] for x in (*inside, *fact["sums"]))]
    if len(names) != len(places) or names & sums.keys() or has_name(*parts):
        raise ValueError("what is named is not new")
    if {*names, *sums} & {*content["whole"]}:
        raise ValueError("a sum, or what is named, is no letter for whole numbers")


def _parts(text: str) -> tuple[str, ...]:
    """The relation, the counting letter and both ends of a hypothesis; or itself."""
    match = _EACH.fullmatch(text)
    return match.groups() if match else (text,)


def is_whole(text: str, content: Any) -> bool:
    """Whether a formula is a whole number, as its letters are."""
    inside = words(text, content["signs"])
    return all(x in content["whole"] or x.isdigit() or x in "+-* " for x in inside)


def _check_range(index: str, low: str, high: str, content: Any) -> None:
    """Raise ValueError unless a letter counts from one whole number to another."""
    if not all(is_whole(x, content) for x in (index, low, high)) or not _WORD.fullmatch(index):
        raise ValueError("a sum runs over a whole number, between whole numbers")
    if not all(free_of(x, content["signs"], index, content["sums"]) for x in (low, high)):
        raise ValueError("a bound changes with the index")


def hypotheses_at(total: _Total, given: list[str], letters: Any, sums: Any) -> list[str]:
    """What is known at a value of the counting letter of a sum."""
    _, index, low, high = total
    known = [f"{low} <= {index}", f"{index} <= {high}"]
    for text in given:
        match = _EACH.fullmatch(text)
        if match is None:
            known += [text] if free_of(text, letters, index, sums) else []
        elif match.groups()[2:] == (low, high):
            if match[2] == index:
                known.append(match[1])
            elif free_of(match[1], letters, index, sums):  # a letter of that name is another one
                known.append(moved(match[1], letters, match[2], index, sums))
    return known


def judge(content: Any, proofs: Any, formula: Any, holds: Any, line: Any) -> str:
    """Why a proof is rejected; nothing if it is accepted: as :func:`check_proof.judge`."""
    if content.keys() != KEYS:
        raise ValueError(f"the keys are not those of {FORMAT}")
    sums = {name: tuple(total) for name, total in content["sums"].items()}
    letters = content["signs"]
    waiting = set(sums)
    for name, (term, index, low, high) in sums.items():
        used = {x for text in (term, low, high) for x in words(text, letters) if x in letters}
        plain = letters.get(name) == "real" and _WORD.fullmatch(name)
        if not plain or waiting & {*used, index}:
            raise ValueError("a sum is a real letter, and holds those before it alone")
        waiting.remove(name)
        _check_range(index, low, high, content)
    known = [text for text in content["given"] if not _EACH.fullmatch(text)]
    each_given = [match for text in content["given"] if (match := _EACH.fullmatch(text))]
    for match in each_given:
        _check_range(match[2], match[3], match[4], content)
    _check_names(content, sums)

    def show(steps: list[Any], given: list[str], demanded: list[str], index: str = "") -> None:
        if not demanded:
            return
        signs = letters | ({index: "real"} if index else {})
        empty = {"format": proofs.FORMAT, "id": "", "line": "", "whole": content["whole"]}
        body = empty | {"signs": signs, "given": given, "shows": steps}
        if reason := proofs.judge(body, formula, holds, line):
            raise ValueError(reason)
        if missing := set(demanded) - {step["relation"] for step in steps}:
            raise ValueError(f"it is not shown that {min(missing):.60}")

    for fact in content["facts"]:
        if fact.keys() != _FACT:
            raise ValueError("the keys are not those of a rule")
        each, once, says = demands(fact, sums, letters)
        if fact["rule"] == "at" and fact["texts"][0] not in content["given"]:
            raise ValueError("what is put in is not in a hypothesis")
        if fact["rule"] == "at" and not is_whole(fact["texts"][1], content):
            raise ValueError("what is put in for a counting letter is no whole number")
        if each:
            total = sums[fact["sums"][0]]
            given = [*known, *(match[0] for match in each_given)]
            show(fact["each"], hypotheses_at(total, given, letters, sums), each, total[1])
        show(fact["once"], known, once)
        known.append(says)
    body = {key: content[key] for key in ("id", "line", "signs", "whole", "shows")}
    return str(proofs.judge(body | {"format": proofs.FORMAT, "given": known}, formula, holds, line))


def _counts(low: str, high: str, values: dict[str, Any], formula: Any, numbers: Any) -> range:
    """The values of a counting letter."""
    ends = [formula(text, values, numbers) for text in (low, high)]
    if not all(isinstance(end, Fraction) and end.denominator == 1 for end in ends):
        raise ValueError("a bound is no whole number")
    counts = range(int(ends[0]), int(ends[1]) + 1)
    if len(counts) > MOST_VALUES:
        raise ValueError(f"more than {MOST_VALUES} values of a counting letter")
    return counts


def at_numbers(
    content: Any, values: dict[str, Any], formula: Any, numbers: Any
) -> tuple[list[str], dict[str, Any]]:
    """What a counterexample is given, for each value, and the values of all letters, sums too.

    A letter at a place such as f(k) has the value of f(2) where k is 2.
    """
    values, sums = dict(values), content["sums"]
    letters = [*content["letters"], *sums]
    if any(match[1] for name in values for match in _AT.finditer(name)):
        raise ValueError("a letter has a value at a place that is no number")
    for name in content["letters"]:
        for index in [x for x in values if isinstance(values[x], Fraction)]:
            if name not in values and stands_at(name, index):
                at = moved(name, [name], index, str(values[index]))
                if at in values:
                    values[name] = values[at]
    for name, (term, index, low, high) in sums.items():
        if name in values or index in values:
            raise ValueError("a sum, or its index, has a value besides")
        total: Any = Fraction(0)
        for count in _counts(low, high, values, formula, numbers):
            text = moved(term, letters, index, str(count), sums)
            total = numbers.plus(total, formula(text, values, numbers))
        values = values | {name: total}
    known = []
    for text in content["given"]:
        if match := _EACH.fullmatch(text):
            relation, index, low, high = match.groups()
            counts = _counts(low, high, values, formula, numbers)
            known += [moved(relation, letters, index, str(count), sums) for count in counts]
        else:
            known.append(text)
    return known, values
