"""Verdicts on lines about a user's own matrices, of every size that their shapes allow.

A line becomes a file for ``check_matrix.py``. It is *proved* only if the checker accepts a
certificate for each of its relations, and *refuted* only at small matrices at which the checker and
a second evaluation, by sympy, find that all that is given holds and the line fails.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import sympy

from swingby.proofs.checkers import check_matrix, check_proof, check_witness
from swingby.proofs.checkers.check_matrix import MatrixFile, Point
from swingby.proofs.language.claim import Claim, at_instance, in_order_of_use
from swingby.proofs.language.matrices import I
from swingby.proofs.language.shapes import (
    Blocks,
    Inverted,
    Matrix,
    Traced,
    Transposed,
    about_matrices,
    matrix_text,
)
from swingby.proofs.prover.algebra.small_matrices import MOST_DRAWN, failing_point
from swingby.proofs.prover.algebra.word_certificates import certificate
from swingby.proofs.prover.algebra.words import Unsupported
from swingby.proofs.prover.evidence import TAUTOLOGY, ClaimVerdict, Witness, undecided
from swingby.proofs.prover.sums.few_terms import is_of_sequences
from swingby.theory.search_time import OutOfTime, processor_time
from swingby.theory.verdict import Finding

#: Seconds of processor time for the proof of a line, and for a witness against it.
_PROOF_SECONDS, _WITNESS_SECONDS = 15.0, 8.0
#: Points that are tried before an inequality is looked into.
_FEW = 90
_SIGNS = {"==": "=", "<=": "<=", "<": "<", "!=": "!="}


def is_about_matrices(claim: Claim) -> bool:
    """Whether a letter with a shape stands in a line, or in what it is given."""
    statements = [*claim.conditions, *(given.relation for given in claim.given)]
    return any(map(about_matrices, [*statements, *(value for _, value in claim.where)]))


def decide_shaped(claim: Claim) -> ClaimVerdict:
    """The verdict on a line about matrices with shapes."""
    if claim.quantifier != "for all":
        return undecided("matrices", "of lines for some numbers there is no search")
    try:
        content, dropped = statement(claim)
        file = _file(content)
    except (Unsupported, ValueError) as reason:
        return undecided("matrices", str(reason))
    if not dropped and any(relation.sign != "=" for relation in file.says):
        witness = _witness(claim, content, file, _FEW)
        if witness is not None:
            return ClaimVerdict(Finding.REFUTED, "small matrices", (), witness)
    certificates: list[Any] = []
    open_lines = []
    for text, relation in zip(content["says"], file.says, strict=True):
        try:
            with processor_time(_PROOF_SECONDS):
                certificates.append(certificate(file, relation))
        except OutOfTime:
            certificates.append(None)
        open_lines += [text] if certificates[-1] is None else []
    if not open_lines:
        proof = {"proof": certificates}
        if not check_witness.judge_shown({"id": "", "line": ""} | content | proof):
            lines = zip(content["says"], certificates, strict=True)
            evidence = tuple(
                words for says, each in lines for words in _words(content, file.reasons, says, each)
            )
            empty = all(relation.lhs == relation.rhs for relation in claim.conditions)
            method = TAUTOLOGY if empty else _method(certificates)
            return ClaimVerdict(Finding.PROVED, method, evidence, proof=(proof,))
    try:
        with processor_time(_WITNESS_SECONDS):
            witness = None if dropped else _witness(claim, content, file)
    except OutOfTime:
        witness = None
    if witness is not None:
        return ClaimVerdict(Finding.REFUTED, "small matrices", (), witness)
    tried = [f"no certificate for {text}" for text in open_lines]
    tried += [f"a hypothesis of another kind is not used: {text}" for text in dropped]
    return undecided("words of matrices", *tried, "no small matrices at which it fails")


def _file(content: dict[str, Any]) -> MatrixFile:
    return MatrixFile(content, check_witness.formula, check_proof)


def statement(claim: Claim) -> tuple[dict[str, Any], list[str]]:
    """What a file says of a line, and the hypotheses that it leaves out, in words.

    Raises Unsupported where the conclusion is of another kind.
    """
    relations = [_put_in(claim, each) for each in claim.conditions]
    given, dropped = [], []
    for hypothesis in claim.given:
        relation = hypothesis.relation
        if isinstance(relation, sympy.Rel) and _is_known(relation := _put_in(claim, relation)):
            given.append(relation)
        else:
            dropped.append(str(relation))
    if not relations or not all(isinstance(x, sympy.Rel) and _is_known(x) for x in relations):
        raise Unsupported("a line is an equation or an inequality of sums of products of matrices")
    letters, scalars = dict[str, list[str]](), dict[str, str]()
    symbols = {x for relation in (*relations, *given) for x in relation.free_symbols}
    for symbol in sorted(symbols - {I}, key=str):
        if isinstance(symbol, Matrix):
            shape = [symbol.rows, symbol.columns, symbol.trait]
            if letters.setdefault(symbol.name, shape) != shape:
                raise Unsupported(f"{symbol} has two shapes")
        else:
            scalars[symbol.name] = _sign(symbol)
    sizes = {size for rows, columns, _ in letters.values() for size in (rows, columns)}
    for name in scalars.keys() & sizes:
        if scalars.pop(name) != "positive integer":
            raise Unsupported(f"{name} is a size: declare it as a positive integer")
    content = {"format": check_matrix.FORMAT, "letters": letters, "scalars": scalars}
    texts = {"given": list(map(_text, given)), "says": list(map(_text, relations))}
    return content | texts, dropped


def _put_in(claim: Claim, relation: Any) -> Any:
    where = dict(claim.where)
    for letter in reversed(in_order_of_use(where)) if where else ():
        if letter in where:
            relation = at_instance(relation, ((letter, where[letter]),))
    return relation


def _is_known(expression: Any) -> bool:
    """Whether an expression is one of words, numbers and traces."""
    if expression.is_Symbol:
        return bool(expression.is_real or isinstance(expression, Matrix) or expression == I)
    if expression.is_Rational:
        return True
    if expression.is_Pow:
        return bool(expression.exp.is_Integer) and _is_known(expression.base)
    kinds = (sympy.Rel, sympy.Add, sympy.Mul, Transposed, Inverted, Traced, Blocks)
    return isinstance(expression, kinds) and all(map(_is_known, expression.args))


def _sign(symbol: Any) -> str:
    sign = "positive" if symbol.is_positive else "nonnegative" if symbol.is_nonnegative else ""
    kind = "integer" if symbol.is_integer else "" if sign else "real"
    return f"{sign} {kind}".strip()


def _text(relation: Any) -> str:
    small, large = relation.args
    sign = relation.rel_op
    if sign in (">", ">="):
        small, large, sign = large, small, sign.replace(">", "<")
    return f"{matrix_text(small)} {_SIGNS[sign]} {matrix_text(large)}"


def _method(certificates: list[Any]) -> str:
    squares = any(each["squares"] or each["facts"] for each in certificates)
    equations = any(each["zeros"] for each in certificates)
    words = ["sum of squares and facts"] * squares + ["multiples of what is given"] * equations
    return f"{' and '.join(words) or 'words'}, every size"


def _words(
    content: dict[str, Any], reasons: dict[int, str], says: str, proof: Any
) -> Iterable[str]:
    """A certificate for a reader: each term on a line."""
    facts = [x for x in content["given"] if re.search(r" <=? ", x)]
    facts += [f"0 <= {x}" for x, shape in content["letters"].items()
              if shape[2] in ("semidefinite", "definite")]  # fmt: skip
    equations = [x for x in content["given"] if " = " in x]
    yield f"{says}: the larger minus the smaller side is the sum of"

    def before(text: str, indices: list[int]) -> str:
        return " times ".join([text, *(f"({facts[index]})" for index in indices)])

    for text, indices, side in proof["squares"]:
        yield f"  {before(text, indices)} times C^T C, C = {side}"
    for text, indices, index, sides in proof["facts"]:
        yield f"  {before(text, indices)} times C^T ({facts[index]}) C, C = {'; '.join(sides)}"
    for index, flip, left, right in proof["zeros"]:
        of = f"({reasons.get(index) or equations[index]})" + "^T" * flip
        yield f"  {left} times {of} times {right}"
    if not any(proof.values()):
        yield "  no term: the words are the same"


def witness_body(claim: Claim, witness: Witness) -> dict[str, Any]:
    """The file of a witness."""
    content, _ = statement(claim)
    sizes, values = dict[str, int](), dict[str, Any]()
    shapes = {size for rows, columns, _ in content["letters"].values() for size in (rows, columns)}
    for name, text in witness.values.items():
        if name in shapes:
            sizes[name] = int(text)
        elif name in content["letters"]:
            values[name] = json.loads(re.sub(r"-?\d+(/\d+)?", r'"\g<0>"', text))
        else:
            values[name] = text
    return content | {"sizes": sizes, "values": values}


def _witness(
    claim: Claim, content: dict[str, Any], file: MatrixFile, points: int = MOST_DRAWN
) -> Witness | None:
    def is_allowed(values: dict[str, Any]) -> bool:
        texts = {name: _entries(value) for name, value in values.items()}
        return is_of_sequences(claim.letters, Witness(texts, "", "", "", ()))

    point = failing_point(file, points, is_allowed)
    if point is None:
        return None
    sizes, values, at = point
    broken = next(k for k, relation in enumerate(file.says) if not at.holds(relation))
    relation = _put_in(claim, claim.conditions[broken])
    texts = {name: str(size) for name, size in sizes.items()}
    texts |= {name: _entries(value) for name, value in values.items()}
    left, right = (_second(side, at) for side in relation.args)
    witness = Witness(
        texts,
        content["says"][broken],
        _entries(left),
        _entries(right),
        ("exact fractions, word by word", "sympy, matrices multiplied out"),
    )
    body = {"id": "", "line": ""} | witness_body(claim, witness)
    if check_witness.judge_shown(body) or _holds_by_sympy(relation, left, right):
        return None
    return witness


def _entries(value: Any) -> str:
    """A number, or the entries of a matrix in brackets."""
    if isinstance(value, sympy.MatrixBase):
        value = value.tolist()
    if isinstance(value, list):
        return f"[{', '.join('[' + ', '.join(map(str, row)) + ']' for row in value)}]"
    return str(value)


def _second(expression: Any, at: Point) -> Any:
    """A side at a point by sympy: a matrix, or a number."""
    if isinstance(expression, Blocks):
        return _joint([_second(x, at) for x in expression.args])
    if isinstance(expression, Matrix):
        return sympy.Matrix([[_rational(x) for x in row] for row in at.matrices[expression.name]])
    if isinstance(expression, Transposed):
        return _second(expression.args[0], at).T
    if isinstance(expression, Inverted):
        return _second(expression.args[0], at).inv()
    if isinstance(expression, Traced):
        inner = _second(expression.args[0], at)
        return inner.trace() if isinstance(inner, sympy.MatrixBase) else inner
    if expression == I or expression.is_Rational:
        return expression
    if expression.is_Symbol:
        return _rational(at.numbers[expression.name])
    operands = [_second(x, at) for x in expression.args]
    return _joined(expression.func, operands)


def _joint(blocks: list[Any]) -> Any:
    """Four blocks side by side; an identity, or 0, has the size of its row."""
    sizes = [0, 0]
    for (row, column), block in zip(itertools.product((0, 1), repeat=2), blocks, strict=True):
        if isinstance(block, sympy.MatrixBase):
            sizes[row], sizes[column] = block.rows, block.cols
    written = [
        block if isinstance(block, sympy.MatrixBase)
        else (block.subs(I, 1) * sympy.ones(sizes[row], sizes[column])).multiply_elementwise(
            sympy.eye(sizes[row], sizes[column]))
        for (row, column), block in zip(itertools.product((0, 1), repeat=2), blocks, strict=True)
    ]  # fmt: skip
    a, b, c, d = written
    return sympy.Matrix.vstack(sympy.Matrix.hstack(a, b), sympy.Matrix.hstack(c, d))


def _joined(function: Any, operands: list[Any]) -> Any:
    """A sum, a product or a power of matrices and numbers; I has the size of what it meets."""
    total = operands[0]
    for operand in operands[1:]:
        if function is sympy.Pow:
            total = total**operand
        elif function is sympy.Mul:
            if I in (total, operand) and any(
                isinstance(x, sympy.MatrixBase) for x in (total, operand)
            ):
                total = operand if total == I else total
            else:
                total = total * operand
        else:
            total, operand = _alike(total, operand)
            total = total + operand
    return total


def _alike(x: Any, y: Any) -> tuple[Any, Any]:
    """Two terms as matrices of one shape, where one of them is a matrix."""
    size = next((z.rows for z in (x, y) if isinstance(z, sympy.MatrixBase)), 0)

    def written(z: Any) -> Any:
        if isinstance(z, sympy.MatrixBase) or not size:
            return z
        if z == 0:
            other = x if isinstance(x, sympy.MatrixBase) else y
            return sympy.zeros(*other.shape)
        factor = z.subs(I, 1) if z.has(I) else z
        return factor * sympy.eye(size)

    return written(x), written(y)


def _rational(value: Fraction) -> Any:
    return sympy.Rational(value.numerator, value.denominator)


def _holds_by_sympy(relation: Any, left: Any, right: Any) -> bool:
    """Whether a relation holds between two sides, by sympy."""
    if relation.rel_op in (">", ">="):
        left, right = right, left
    left, right = _alike(left, right)
    difference = right - left
    if relation.rel_op in ("==", "!="):
        nought = (
            not any(difference) if isinstance(difference, sympy.MatrixBase) else difference == 0
        )
        return nought is (relation.rel_op == "==")
    rows = difference if isinstance(difference, sympy.MatrixBase) else sympy.Matrix([[difference]])
    strict = relation.rel_op in ("<", ">")
    definite = rows.is_positive_definite if strict else rows.is_positive_semidefinite
    return bool(rows.is_symmetric() and definite)
