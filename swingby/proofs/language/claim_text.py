"""A claim as mathematics that a reader can check: on a terminal, and in LaTeX."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import sympy

from swingby.proofs.language.claim import (
    AllTimes,
    AlongTrajectory,
    ByCases,
    Claim,
    Given,
    conditions_of,
)
from swingby.proofs.language.claims import hypotheses
from swingby.proofs.language.conclusions import Both
from swingby.proofs.language.formula_printer import formula
from swingby.proofs.language.means import MEAN

#: Which entries a claim speaks of: words, with formulas between dollar signs.
_ENTRIES = {
    "any": "",
    "all": "for all $ i, j$",
    "diagonal": "for all $ i = j$",
    "off-diagonal": "for all $ i ≠ j$",
    "larger first": "for all $ i ≠ j $ with $ a_i > a_j$",
}
_SOURCES = {
    "induction": "induction hypothesis",
    "PSD": "W positive semidefinite",
    "dynamics": "the update",
}


#: Signs of a source that mean something in the text mode of LaTeX.
_IN_TEXT = str.maketrans(
    {"^": r"\textasciicircum ", "\\": r"\textbackslash ", "~": r"\textasciitilde "}
    | {sign: rf"\{sign}" for sign in "_&%#${}"}
)


def source_text(source: str) -> str:
    """The source of a hypothesis, as a reference."""
    if re.fullmatch(r"[A-Z\d]\.\d+", source):
        return f"({source})"
    return _SOURCES.get(source, source)


def relations(conclusion: Any, *, latex: bool = False) -> list[str]:
    """The relations of a conclusion, each as a line of text."""
    if conditions := conditions_of(conclusion):
        return [formula(relation, latex=latex) for relation in conditions]
    statements = conclusion.parts if isinstance(conclusion, Both) else (conclusion,)
    return [statement.lines(latex) for statement in statements]


def statement_line(claim: Claim, *, latex: bool = False) -> str:
    """The conclusion alone, on a single line."""
    return (r",\quad " if latex else ",  ").join(relations(claim.conclusion, latex=latex))


def _definitions(claim: Claim, latex: bool) -> list[str]:
    return [
        f"{formula(letter, latex=latex)} = {formula(value, latex=latex)}"
        for letter, value in claim.where
    ]


def _mixed(text: str, latex: bool) -> str:
    """Words, with formulas between dollar signs, on a single line."""
    if not latex:
        return " ".join(text.replace("$", "").split())
    pieces = enumerate(text.split("$"))
    line = "".join(
        piece if position % 2 else rf"\text{{{piece}}}" for position, piece in pieces if piece
    )
    return line.replace("≠", r"\ne").replace("≥", r"\ge").replace("≤", r"\le")


def _entries(name: str, latex: bool) -> str:
    return _mixed(_ENTRIES.get(name, f"${name}$"), latex)


def _head(claim: Claim, latex: bool) -> str:
    """The head of the conclusion, without its colon: of which cases it speaks."""
    conclusion = claim.conclusion
    along = isinstance(conclusion, AlongTrajectory)
    pieces = [_entries(conclusion.entries if along else claim.indices, latex)]
    if claim.quantifier == "exists":
        pieces.insert(0, _mixed("there are numbers with", latex))
    elif along:
        pieces.insert(0, _mixed("along every trajectory ", latex))
        pieces += (_mixed(words, latex) for words in _times(conclusion, latex))
    if isinstance(conclusion, AllTimes):
        pieces.append(_mixed("for $ t = 0, 1, 2, ...$", latex))
        if conclusion.lines:
            names = _names(conclusion.lines, latex)
            pieces.append(_mixed(f"by induction from {names}", latex))
    if isinstance(conclusion, ByCases):
        pieces.append(_mixed(f"by the cases of {_names(conclusion.lines, latex)}", latex))
    return (r",\ " if latex else ", ").join(piece for piece in pieces if piece)


def _names(lines: tuple[str, ...], latex: bool) -> str:
    """Lines by their ids, in brackets, as formulas between dollar signs."""
    names = (rf"\text{{({x})}}" if latex else f"({x})" for x in lines)
    return f"${'$ and $'.join(names)}$"


def _times(conclusion: AlongTrajectory, latex: bool) -> Iterator[str]:
    """At which steps a claim about trajectories holds."""

    def joined(conditions: tuple[Any, ...]) -> str:
        return "$ and $".join(formula(relation, latex=latex) for relation in conditions)

    if conclusion.when:
        yield f"every $t_0$ with ${joined(conclusion.when)}$"
    yield f"every $t ≥ {'t_0' if conclusion.when else '0'}$"
    if conclusion.until is not None:
        yield f"up to $t ≤ {formula(conclusion.until, latex=latex)}$"
    if conclusion.during:
        yield f"as long as ${joined(conclusion.during)}$"


def to_text(claim: Claim) -> str:
    """A claim for a terminal: hypotheses with their sources, definitions, conclusion."""
    lines = []
    if claim.given:
        relation_texts = [_relation(hypothesis, latex=False) for hypothesis in claim.given]
        width = min(max(map(len, relation_texts)), 56)
        lines.append("given")
        for text, hypothesis in zip(relation_texts, claim.given, strict=True):
            lines.append(f"  {text:<{width}}    {_source(hypothesis, latex=False)}")
    if claim.in_force:
        lines.append("Assumptions D.1 to D.5 are in force.")
    if claim.where:
        lines += ["where", *(f"  {text}" for text in _definitions(claim, latex=False))]
    lines.append(_head(claim, latex=False) or ("then" if lines else "always"))
    lines += [f"  {text}" for text in relations(claim.conclusion)]
    if claim.quoted_as:
        lines += ["quoted as", *(f"  {formula(relation)}" for relation in claim.quoted_as)]
    return "\n".join(lines)


def to_latex(claim: Claim) -> str:
    """A claim as an ``aligned`` block of LaTeX, without delimiters."""
    rows = []
    for position, hypothesis in enumerate(claim.given):
        head = r"\text{given}\quad" if position == 0 else ""
        source = _source(hypothesis, latex=True)
        rows.append(rf"{head} & {_relation(hypothesis, latex=True)} && {source}")
    if claim.in_force:
        rows.append(r"\text{in force}\quad & \text{Assumptions D.1 to D.5}")
    for position, text in enumerate(_definitions(claim, latex=True)):
        rows.append((r"\text{where}\quad" if position == 0 else "") + f" & {text}")
    head = _head(claim, latex=True)
    conclusions = relations(claim.conclusion, latex=True)
    if isinstance(claim.conclusion, AlongTrajectory):
        rows += [f"& {text}" for text in (head, *conclusions)]
    else:
        first = r"\text{then}\quad" if rows else ""
        rows.append(f"{first} & {conclusions[0]}" + (rf" && {head}" if head else ""))
        rows += [f" & {text}" for text in conclusions[1:]]
    for position, relation in enumerate(claim.quoted_as):
        head = r"\text{quoted as}\quad" if position == 0 else ""
        rows.append(f"{head} & {formula(relation, latex=True)}")
    return "\\begin{aligned}\n" + " \\\\\n".join(rows) + "\n\\end{aligned}"


def _source(hypothesis: Given, latex: bool) -> str:
    """The source of a hypothesis with the instance at which it is quoted."""
    source = source_text(hypothesis.source)
    source += ", in the mean" * (MEAN in dict(hypothesis.instance))
    pairs = [each for each in hypothesis.instance if each[0] != MEAN]
    instance = ", ".join(" = ".join(formula(x, latex=latex) for x in pair) for pair in pairs)
    if not latex:
        return source + f" with {instance}" * bool(instance)
    return rf"\text{{{source.translate(_IN_TEXT)}}}" + rf"\text{{ with }} {instance}" * bool(
        instance
    )


def _relation(hypothesis: Given, latex: bool) -> str:
    relation = hypothesis.relation
    if isinstance(relation, sympy.Basic):
        return formula(relation, latex=latex)
    return (r",\ " if latex else ", ").join(relations(relation, latex=latex))


def difference(claim: Claim, repair: Claim, *, latex: bool = False) -> tuple[str, str]:
    """The change that a repair makes, as two lines: before and after.

    Returns the relations of the conclusions that differ, else the definitions, else the hypotheses,
    else the entries spoken of.
    """
    joint = r",\ " if latex else ", "
    before, after = (relations(version.conclusion, latex=latex) for version in (claim, repair))
    extra = _stronger(claim, repair, latex)
    if before == after:
        before, after = _definitions(claim, latex), _definitions(repair, latex)
    if before != after:
        old, new = _unshared(before, after, joint)
        return old, new + (r"\ \text{ if } " if latex else "  if ") * bool(extra) + extra
    before, after = (
        [_relation(hypothesis, latex) for hypothesis in version.given]
        for version in (claim, repair)
    )
    if before == after:
        return _entries(claim.indices, latex), _entries(repair.indices, latex)
    # The statement is the same, under other hypotheses.
    old, new = _unshared(before, after, joint)
    phrase = r"\text{%s } %s" if latex else "%s %s"
    first = phrase % ("if", old) if old != "-" else statement_line(claim, latex=latex)
    if new == "-":
        return first, phrase % ("the same without the hypothesis", old)
    return first, phrase % ("the same if", new)


def _stronger(claim: Claim, repair: Claim, latex: bool) -> str:
    """Hypotheses that a repair adds to those of the text, corrected lines left aside."""
    printed = {hypothesis.relation for hypothesis in claim.given}
    printed |= {hypothesis.relation for group in hypotheses().values() for hypothesis in group}
    added = (
        _relation(hypothesis, latex)
        for hypothesis in repair.given
        if hypothesis.relation not in printed
        and (
            hypothesis.source in ("case", "definition", "added hypothesis")
            or hypothesis.source.startswith("Assumption")
        )
    )
    return (r",\ " if latex else ", ").join(added)


def _unshared(before: list[str], after: list[str], joint: str) -> tuple[str, str]:
    old = joint.join(text for text in before if text not in after)
    new = joint.join(text for text in after if text not in before)
    return old or "-", new or "-"
