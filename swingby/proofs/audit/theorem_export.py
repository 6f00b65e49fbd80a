"""Proofs by sums as theorems of Lean 4 and Coq: the hypotheses are arguments, the sum is a step.

Only what is rational: an exponential, a root, a size or a case makes no theorem. A theorem says
that the difference of two sides is a sum, by ``ring``, and that no term of the sum is negative.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from swingby.proofs.audit.record import by_name
from swingby.proofs.audit.witness_files import files, made_folder
from swingby.proofs.checkers import check_proof
from swingby.report.files import write_text

#: What a formula may not have: anything but letters, numbers and the four operations.
_CURVED = re.compile(r"\b(exp|log|sqrt|Abs|Max|Min)\(|\^\(")
_RELATION = re.compile(r"(.+) (<=|<|=) (.+)", re.DOTALL)


@dataclass(frozen=True)
class Dialect:
    """How a prover writes a theorem, its steps, and their ends."""

    ending: str
    head: str
    comment: str
    theorem: str
    reals: str
    at_most: str
    fraction: str
    refute: str
    name: str
    fact: str
    equation: str
    piece: str
    end: str


LEAN = Dialect(
    ending="lean",
    head="import Mathlib\n",
    comment="-- {}",
    theorem="theorem {name} ({letters} : ℝ){hypotheses} :\n    {goal} := by\n",
    reals="ℝ",
    at_most="≤",
    fraction="({} : ℝ)",
    refute="  by_contra not_goal\n  push_neg at not_goal\n",
    name="  obtain ⟨F{index}, e{index}⟩ : ∃ F : ℝ, F = {fact} := ⟨_, rfl⟩\n",
    fact="  have f{index} : 0 {sign} F{index} := by\n    rw [e{index}]\n"
    "    first | linarith | positivity | nlinarith | (field_simp at *; nlinarith)\n",
    equation="  have key : {left} = {right} := by\n    {facts}field_simp\n    ring\n",
    piece="  have p{index} : 0 {sign} {piece} := by positivity\n",
    end="  linarith\n",
)
COQ = Dialect(
    ending="v",
    head="Require Import Reals Lra Psatz.\nOpen Scope R_scope.\n"
    "Ltac signs := repeat first [ assumption | apply Rlt_le; assumption | lra | apply pow2_ge_0\n"
    "  | apply Rmult_lt_0_compat | apply Rmult_le_pos | apply Rinv_0_lt_compat\n"
    "  | apply Rlt_le, Rinv_0_lt_compat | apply pow_lt | apply pow_le ].\n",
    comment="(* {} *)",
    theorem="Theorem {name} ({letters} : R){hypotheses} :\n    {goal}.\nProof.\n",
    reals="R",
    at_most="<=",
    fraction="({})",
    refute="  apply Rnot_{opposite}_{order}; intro not_goal.\n",
    name="  remember ({fact}) as F{index} eqn:e{index}.\n",
    fact="  assert (f{index} : 0 {sign} F{index}) by (rewrite e{index}; first [ lra | nra ]).\n",
    equation="  assert (key : {left} = {right})\n"
    "    by (subst; first [ ring | field; repeat split; lra ]).\n",
    piece="  assert (p{index} : 0 {sign} {piece}) by (unfold Rdiv; signs).\n",
    end="  lra.\nQed.\n",
)


def export_theorems(
    records: Iterable[Any], folder: str | Path, dialect: Dialect = LEAN
) -> tuple[list[str], list[str]]:
    """Write a file of theorems for every line that sums of products prove.

    Returns the lines with a file, and the proved lines without.
    """
    target = made_folder(folder)
    written, without = list[str](), list[str]()
    for line, record in by_name(records):
        if not record.proof:
            continue
        texts = [
            "\n".join(theorems(content, dialect))
            for _, content in files(record, line)
            if content["format"] == check_proof.FORMAT
        ]
        if not any(texts):
            without.append(line)
            continue
        name = re.sub(r"\W+", "_", line).strip("_")
        said = f"{line}: {record.about}".replace("(*", "( *").replace("*)", "* )")
        text = f"{dialect.comment.format(said)}\n{dialect.head}\n{texts[0]}"
        write_text(target / f"line_{name}.{dialect.ending}", text)
        written.append(line)
    return written, without


def theorems(content: dict[str, Any], dialect: Dialect = LEAN) -> Iterator[str]:
    """The steps of a proof as theorems, each from the hypotheses and the steps before; or none."""
    known = list(content["given"])
    bodies = []
    for number, step in enumerate(content["shows"], 1):
        body = _theorem(content, known, step, f"step_{number}", dialect)
        if not body:
            return
        bodies.append(body)
        known.append(step["relation"])
    yield from bodies


def _theorem(
    content: dict[str, Any], known: list[str], step: dict[str, Any], name: str, dialect: Dialect
) -> str:
    match = _RELATION.fullmatch(step["relation"])
    if match is None or len(step.get("certificates", [])) != 1:
        return ""
    (certificate,) = step["certificates"]
    facts = [text for text, _ in certificate["facts"]]
    formulas = [step["relation"], *facts, *(x for p in certificate["pieces"] for x in (p[1], p[3]))]
    if certificate["cases"] or certificate["replaced"] or any(map(_CURVED.search, formulas)):
        return ""
    small, sign, large = match.groups()
    if any(kind == "=" for _, kind in certificate["facts"]):
        return ""
    letters = {letter: f"x{index}" for index, letter in enumerate(sorted(content["signs"]), 1)}

    def written(formula: str) -> str:
        return _formula(formula, letters)

    def claim(left: str, relation: str, right: str) -> str:
        return f"{written(left)} {relation.replace('<=', dialect.at_most)} {written(right)}"

    signs = {"positive": "0 < {}", "nonnegative": f"0 {dialect.at_most} {{}}"}
    arguments = [
        f" (s{letters[x][1:]} : {signs[s].format(letters[x])})"
        for x, s in sorted(content["signs"].items())
        if s in signs
    ]
    for index, relation in enumerate(known, 1):
        sides = _RELATION.fullmatch(relation)
        size = re.fullmatch(r"Abs\(([^()]*(?:\(\w+\)[^()]*)*)\) (<=|<) (.+)", relation)
        if size is not None and not _CURVED.search(size[3]):  # two relations in place of |X| <= B
            arguments.append(f" (h{index} : {claim(size[1], size[2], size[3])})")
            arguments.append(f" (g{index} : {claim(f'-({size[1]})', size[2], size[3])})")
        elif sides is not None and not _CURVED.search(relation):
            arguments.append(f" (h{index} : {claim(*sides.groups())})")
    body = dialect.theorem.format(
        name=name,
        letters=" ".join(letters.values()),
        hypotheses="".join(arguments),
        goal=claim(small, sign, large),
    )
    turned = certificate["turned"]
    if turned:
        order, opposite = ("le", "lt") if sign == "<=" else ("lt", "le")
        body += dialect.refute.format(order=order, opposite=opposite)
    for index, (text, kind) in enumerate(certificate["facts"], 1):
        body += dialect.name.format(index=index, fact=written(text))
        fact_sign = kind.replace("<=", dialect.at_most)
        body += dialect.fact.format(index=index, sign=fact_sign)
    pieces = []
    for number, monomial, indices, square in certificate["pieces"]:
        factors = [dialect.fraction.format(number.replace("/", " / "))]
        factors += [f"({written(monomial)})"] * (monomial != "1")
        factors += [f"F{index + 1}" for index in indices]
        factors += [f"({written(square)}) ^ 2"] * (square != "1")
        positive = all(certificate["facts"][index][1] == "<" for index in indices)
        letters_in = [x for x in letters if re.search(rf"(?<!\w){re.escape(x)}(?!\w)", monomial)]
        positive = positive and square == "1"
        positive = positive and all(content["signs"][x] == "positive" for x in letters_in)
        pieces.append((" * ".join(factors), "<" if positive else dialect.at_most))
    right = " + ".join(piece for piece, _ in pieces) or dialect.fraction.format(0)
    left = dialect.fraction.format(0) if turned else f"{written(large)} - ({written(small)})"
    names = " ".join(f"e{index}" for index in range(1, len(certificate["facts"]) + 1))
    put_in = f"subst {names}\n    " if names else ""
    body += dialect.equation.format(left=left, right=right, facts=put_in)
    for index, (piece, piece_sign) in enumerate(pieces, 1):
        body += dialect.piece.format(index=index, sign=piece_sign, piece=piece)
    return body + dialect.end


def _formula(formula: str, letters: dict[str, str]) -> str:
    """A formula in other letters, with spaces around the operations."""
    names = sorted(letters, key=len, reverse=True)
    word = re.compile("|".join([*map(re.escape, names), r"\d+|[-+*/^(), ]"]))
    pieces = []
    for match in word.finditer(formula):
        text = match[0]
        pieces.append(letters.get(text, f" {text} " if text in "*/^" else text))
    return re.sub(r" +", " ", "".join(pieces)).strip()
