"""A claim as mathematics that a reader can check: on a terminal, and in LaTeX."""

from __future__ import annotations

import re
from typing import Any

import sympy

from swingby.theory.claim import AlongTrajectory, Claim, Given
from swingby.theory.derivations import conclusions
from swingby.theory.derivations.ledger import hypotheses
from swingby.theory.formula import formula, greek

#: Which entries a claim speaks of, as text and as LaTeX.
_ENTRIES = {
    "any": ("", ""),
    "all": ("for all i, j", r"\text{for all } i, j"),
    "diagonal": ("for all i = j", r"\text{for all } i = j"),
    "off-diagonal": ("for all i ≠ j", r"\text{for all } i \ne j"),
    "larger first": (
        "for all i ≠ j with a_i > a_j",
        r"\text{for all } i \ne j \text{ with } a_i > a_j",
    ),
}
_SOURCES = {
    "induction": "induction hypothesis",
    "PSD": "W positive semidefinite",
    "dynamics": "the update",
}


def source_text(source: str) -> str:
    """Where a hypothesis comes from, as a reference."""
    if re.fullmatch(r"[A-Z\d]\.\d+", source):
        return f"({source})"
    return _SOURCES.get(source, source)


def relations(conclusion: Any, *, latex: bool = False) -> list[str]:
    """The relations of a conclusion, one per line."""
    if isinstance(conclusion, AlongTrajectory):
        conclusion = conclusion.relation
    if isinstance(conclusion, sympy.Tuple | sympy.And):
        return [formula(part, latex=latex) for part in conclusion.args]
    if isinstance(conclusion, sympy.Basic):
        return [formula(conclusion, latex=latex)]
    # Several conclusions in one display.
    parts = getattr(conclusion, "parts", None) or (conclusion,)
    if latex:
        return [conclusions.to_latex(part) for part in parts]
    return [_with_signs(conclusions.to_text(part)) for part in parts]


def _with_signs(text: str) -> str:
    """Plain text with the signs that :func:`formula` uses."""
    for plain, sign in (("<=", "≤"), (">=", "≥"), ("!=", "≠")):
        text = text.replace(plain, sign)
    return greek(text)


def statement_line(claim: Claim, *, latex: bool = False) -> str:
    """The conclusion alone, on one line."""
    return (r",\quad " if latex else ",  ").join(relations(claim.conclusion, latex=latex))


def _definitions(claim: Claim, latex: bool) -> list[str]:
    return [
        f"{formula(left, latex=latex)} = {formula(right, latex=latex)}"
        for left, right in claim.where
    ]


def _entries(name: str, latex: bool) -> str:
    return _ENTRIES.get(name, (name, name))[latex]


def _head(claim: Claim, latex: bool) -> str:
    """The head of the conclusion, without its colon: of which cases it speaks."""
    conclusion = claim.conclusion
    if isinstance(conclusion, AlongTrajectory) and claim.quantifier != "exists":
        return _trajectory_head(conclusion, latex)
    along = isinstance(conclusion, AlongTrajectory)
    over = _entries(conclusion.entries if along else claim.indices, latex)
    if claim.quantifier != "exists":
        return over
    head = r"\text{there are numbers with}" if latex else "there are numbers with"
    return head + (r",\ " if latex else ", ") * bool(over) + over


def _trajectory_head(conclusion: AlongTrajectory, latex: bool) -> str:
    def text(words: str) -> str:
        return rf"\text{{{words}}}" if latex else words

    def shown(parts: tuple[Any, ...]) -> str:
        return text(" and ").join(formula(part, latex=latex) for part in parts)

    pieces = [
        text("along every trajectory" + " " * latex),
        _entries(conclusion.entries, latex),
    ]
    at_least, at_most = (r"\ge", r"\le") if latex else ("≥", "≤")
    if conclusion.when:
        pieces.append(f"{text('every ')}t_0{text(' with ')}{shown(conclusion.when)}")
    begin = "t_0" if conclusion.when else "0"
    pieces.append(f"{text('every ')}t {at_least} {begin}")
    if conclusion.until is not None:
        pieces.append(f"{text('up to ')}t {at_most} {formula(conclusion.until, latex=latex)}")
    if conclusion.during:
        pieces.append(f"{text('as long as ')}{shown(conclusion.during)}")
    return (r",\ " if latex else ", ").join(piece for piece in pieces if piece)


def to_text(claim: Claim) -> str:
    """A claim for a terminal: hypotheses with their sources, definitions, conclusion."""
    lines = []
    if claim.given:
        shown = [_relation(given, latex=False) for given in claim.given]
        width = min(max(map(len, shown)), 56)
        lines.append("given")
        for text, given in zip(shown, claim.given, strict=True):
            lines.append(f"  {text:<{width}}    {source_text(given.source)}")
    if claim.in_force:
        lines.append("Assumptions D.1 to D.5 are in force.")
    if claim.where:
        lines += ["where", *(f"  {text}" for text in _definitions(claim, latex=False))]
    lines.append(_head(claim, latex=False) or ("then" if lines else "always"))
    lines += [f"  {text}" for text in relations(claim.conclusion)]
    return "\n".join(lines)


def to_latex(claim: Claim) -> str:
    """A claim as an ``aligned`` block of LaTeX, without delimiters."""
    rows = []
    for place, given in enumerate(claim.given):
        head = r"\text{given}\quad" if place == 0 else ""
        source = source_text(given.source).replace("_", r"\_").replace("^", r"\textasciicircum ")
        rows.append(rf"{head} & {_relation(given, latex=True)} && \text{{{source}}}")
    if claim.in_force:
        rows.append(r"\text{in force}\quad & \text{Assumptions D.1 to D.5}")
    for place, text in enumerate(_definitions(claim, latex=True)):
        rows.append((r"\text{where}\quad" if place == 0 else "") + f" & {text}")
    head = _head(claim, latex=True)
    shown = relations(claim.conclusion, latex=True)
    if isinstance(claim.conclusion, AlongTrajectory):
        rows += [f"& {text}" for text in (head, *shown)]
    else:
        first = r"\text{then}\quad" if rows else ""
        rows.append(f"{first} & {shown[0]}" + (rf" && {head}" if head else ""))
        rows += [f" & {text}" for text in shown[1:]]
    return "\\begin{aligned}\n" + " \\\\\n".join(rows) + "\n\\end{aligned}"


def _relation(given: Given, latex: bool) -> str:
    relation = given.relation
    if isinstance(relation, sympy.Basic):
        return formula(relation, latex=latex)
    return (r",\ " if latex else ", ").join(relations(relation, latex=latex))


def difference(claim: Claim, repair: Claim, *, latex: bool = False) -> tuple[str, str]:
    """What a repair changes, in one line each: as it stood and as it stands.

    Returns the relations of the conclusions that differ, else the definitions, else the hypotheses,
    else the entries spoken of.
    """
    joint = r",\ " if latex else ", "
    before, after = (relations(one.conclusion, latex=latex) for one in (claim, repair))
    extra = _stronger(claim, repair, latex)
    if before == after:
        before, after = _definitions(claim, latex), _definitions(repair, latex)
    if before != after:
        old, new = _unshared(before, after, joint)
        return old, new + (r"\ \text{ if } " if latex else "  if ") * bool(extra) + extra
    before, after = ([_relation(given, latex) for given in one.given] for one in (claim, repair))
    if before == after:
        return _entries(claim.indices, latex), _entries(repair.indices, latex)
    # The statement is the same, under other hypotheses.
    old, new = _unshared(before, after, joint)

    def text(words: str) -> str:
        return rf"\text{{{words} }} " if latex else f"{words} "

    first = text("if") + old if old != "-" else statement_line(claim, latex=latex)
    if new == "-":
        return first, text("the same without the hypothesis") + old
    return first, text("the same if") + new


def _stronger(claim: Claim, repair: Claim, latex: bool) -> str:
    """Hypotheses that a repair adds to those of the text, corrected lines left aside."""
    known = {given.relation for given in claim.given}
    known |= {given.relation for group in hypotheses().values() for given in group}
    added = (
        _relation(given, latex)
        for given in repair.given
        if given.relation not in known
        and (given.source in ("case", "definition") or given.source.startswith("Assumption"))
    )
    return (r",\ " if latex else ", ").join(added)


def _unshared(before: list[str], after: list[str], joint: str) -> tuple[str, str]:
    old = joint.join(text for text in before if text not in after)
    new = joint.join(text for text in after if text not in before)
    return old or "-", new or "-"
