"""The export of counterexamples and proofs as files, with the programs that check them."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import flint

from swingby.errors import InvalidInput
from swingby.proofs.audit.record import by_name
from swingby.proofs.checkers import (
    check_box,
    check_identity,
    check_line,
    check_matrix,
    check_proof,
    check_statement,
    check_sum,
    check_witness,
    replay,
)
from swingby.proofs.language.claim import AlongTrajectory, Claim
from swingby.proofs.language.claim_text import to_latex
from swingby.proofs.language.claims import by_id
from swingby.proofs.language.conclusions import (
    Both,
    FlowSolution,
    GradientIdentity,
    LossOrder,
    MatrixIdentity,
)
from swingby.proofs.language.repaired_conclusions import (
    BlockIdentity,
    EntryFormula,
    FlowIdentity,
    OnInterval,
    SlopeIdentity,
    StepIdentity,
)
from swingby.proofs.prover.algebra import words
from swingby.proofs.prover.algebra.shaped_claims import (
    is_about_matrices,
    statement,
    witness_body,
)
from swingby.proofs.prover.distributions import written_out
from swingby.proofs.prover.evidence import Witness
from swingby.proofs.prover.prove import is_scalar
from swingby.proofs.prover.repaired.flow import between, on_interval
from swingby.proofs.prover.scalar.letter_values import short_text
from swingby.proofs.prover.scalar.relation import expression_text, relation_from
from swingby.proofs.prover.scalar.scalar_claims import (
    in_words,
    prepare_claim,
    proof_file,
    word_of,
)
from swingby.proofs.prover.sums import few_terms
from swingby.proofs.prover.sums.sum_claims import speaks_of_sums
from swingby.report.files import write_text
from swingby.theory import assumptions, numbers
from swingby.theory.verdict import Finding

#: N_ij(t) once a witness names the third concept, and that W(t) is U U^T.
_NOISE = "N_ij(t) = (a_i + a_j + 2*a_k)*w_ki(t)*w_kj(t)/2"
_SEMIDEFINITE = (
    "w_ki(t)^2 <= w_kk(t)*w_ii(t)",
    "w_kj(t)^2 <= w_kk(t)*w_jj(t)",
    "0 <= w_ii(t)*w_jj(t)*w_kk(t) + 2*w_ij(t)*w_ki(t)*w_kj(t) - w_ii(t)*w_kj(t)^2"
    " - w_jj(t)*w_ki(t)^2 - w_kk(t)*w_ij(t)^2",
)

#: What an entry (i, j) has to be for a line to speak of it.
_ENTRIES = {
    "all": (),
    "diagonal": ("i = j",),
    "off-diagonal": ("i != j",),
    "larger first": ("i != j", "a_j < a_i"),
}


def made_folder(folder: str | Path) -> Path:
    """The folder of an export, made where it is missing."""
    target = Path(folder)
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = f"must be a folder that can be made ({error.strerror})"
        raise InvalidInput("export", folder, reason) from None
    return target


def export(records: Iterable[Any], folder: str | Path) -> tuple[list[str], list[str]]:
    """Write the witnesses of refuted lines and the proofs of others: see `Ledger.export`."""
    target_folder = made_folder(folder)
    written, without = list[str](), list[str]()
    for line, record in by_name(records):
        if record.verdict not in (Finding.REFUTED, Finding.PROVED):
            continue
        contents = dict(files(record, line))
        for name, content in contents.items():
            text = json.dumps(content, indent=1, ensure_ascii=False)
            write_text(target_folder / f"{name}.json", text)
        (written if contents else without).append(line)
    modules = {"check": check_witness, "check_proof": check_proof, "check_identity": check_identity}
    modules |= {"check_box": check_box, "check_line": check_line, "check_matrix": check_matrix}
    modules |= {"check_sum": check_sum, "check_statement": check_statement, "replay": replay}
    for name, module in modules.items():
        write_text(target_folder / f"{name}.py", inspect.getsource(module))
    return written, without


def files(record: Any, line: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """The content of each file of a record, a witness or a proof, by the name of the file."""
    claim, line = record.statement, line or record.id
    witness, at_outcomes = record.witness, False
    if witness is not None and is_scalar(claim):
        claim, witness = written_out(claim, witness)
        at_outcomes = claim is not record.statement
    name = re.sub(r"[^A-Za-z0-9._]+", "_", line).strip("_")
    if record.verdict == Finding.PROVED:
        if is_about_matrices(claim):
            body = statement(claim)[0] | dict(*record.proof)
        elif record.proof:
            body = _of_proof(claim, record.proof)
        elif claim.quantifier == "exists" and witness is not None:
            body = _about_numbers(claim, witness)
        else:
            body = _of_identity(claim)
        # A step that the checker does not know makes no file.
        if body and not check_witness.judge_shown({"id": "", "line": ""} | body):
            yield name, _sealed(record, line, body)
        return
    if claim.quantifier != "for all":
        return
    if isinstance(claim.conclusion, AlongTrajectory):
        for dynamics, judged in record.parts.items():
            if judged.witness is not None:
                along = _along(claim, judged.witness)
                yield f"{name}_{dynamics}", _sealed(record, f"{line} ({dynamics})", along)
    elif witness is not None:
        if isinstance(claim.conclusion, OnInterval):
            claim = between(claim)
        about = _about_numbers if is_scalar(claim) else _about_matrices
        summed = at_outcomes or _at_numbers(claim, witness)
        about = few_terms.counterexample_file if summed else about
        about = witness_body if is_about_matrices(claim) else about
        body = about(claim, witness)
        # Of a formula that is no relation between two numbers there is no file.
        if is_scalar(claim) or not check_witness.judge_shown({"id": "", "line": ""} | body):
            yield name, _sealed(record, line, body)


def _at_numbers(claim: Claim, witness: Witness) -> bool:
    """Whether a witness names letters at numbers, such as f(2), in place of those of its line."""
    letters = {str(letter) for letter in claim.letters}
    others = witness.values.keys() - letters if is_scalar(claim) else ()
    return speaks_of_sums(claim) or any(re.search(r"\(\d+\)", name) for name in others)


def _prepared(claim: Claim) -> tuple[Any, Any, list[Any]]:
    """The search for a claim, its questions, and their letters by name."""
    search, questions = prepare_claim(claim)
    letters = set(search.sequent.symbols).union(*(question.goal.symbols for question in questions))
    return search, questions, sorted(letters, key=str)


def faults(content: dict[str, Any]) -> list[str]:
    """Why a file is no proof, or no witness, of the line that it names; nothing if it is.

    A line that is not packaged is judged by what its file says alone.
    """
    reason = check_witness.judge(content)
    if reason:
        return [reason]
    name = re.sub(r" \((euler|gd)\)$", "", content["id"])
    edition = re.search(r" \((corrected|repaired)\)$", name)
    try:
        (*_, last) = editions = list(by_id(name[: edition.start()] if edition else name))
    except InvalidInput:
        return []
    claim = next((c for c in editions if edition and c.edition == edition[1]), editions[0])
    claim = last if edition and claim.edition != edition[1] else claim
    if content["latex"] != to_latex(claim):
        return [f"the LaTeX is not that of {name}"]
    return [] if _says(claim, content) else [f"what the file shows is not what {name} says"]


def _says(claim: Claim, content: dict[str, Any]) -> bool:
    """Whether the relations of a file are those of a line."""
    shown = {key: value for key, value in content.items() if key not in check_witness.WORDS}
    if content["format"] == check_matrix.FORMAT:
        expected = statement(claim)[0] if is_about_matrices(claim) else {}
        return bool(expected) and all(content[key] == expected[key] for key in expected)
    if content["format"] == check_proof.FORMAT:
        search, questions = prepare_claim(claim)
        expected = proof_file(search, questions, ({"relation": [str(q.goal) for q in questions]},))
        goals = expected["shows"][0]["relation"]
        same = all(content[key] == expected[key] for key in ("signs", "whole", "given"))
        return same and set(goals) <= {step["relation"] for step in content["shows"]}
    if content["format"] != check_witness.FORMAT or "values" not in content:
        return shown == _of_identity(claim)
    if isinstance(claim.conclusion, AlongTrajectory):
        dynamics = content["run"]["dynamics"]
        return content["id"].endswith(f"({dynamics})") and _along_says(claim, content)
    if not is_scalar(claim):
        return (content["given"], content["assumed"]) == (_given_of_matrices(claim), [])
    search, questions = prepare_claim(claim)
    conditions = [*(q.goal for q in questions), *(c for q in questions for c in q.needed)]
    relation = content.get("fails", "")
    letters = [letter.name for letter in _prepared(claim)[2]]
    named = [in_words(str(condition), letters) for condition in conditions]
    if claim.quantifier == "for all" and relation not in named:
        return False
    names = {word_of(letter.name): letter.name for letter in _prepared(claim)[2]}
    values = {names.get(name, name): text for name, text in content["values"].items()}
    expected = _about_numbers(claim, Witness(values, relation, "", "", ()))
    return shown == expected


def _along_says(claim: Claim, content: dict[str, Any]) -> bool:
    conclusion, run = claim.conclusion, content["run"]
    expected = {name: list(map(_text_of, getattr(conclusion, name))) for name in ("when", "during")}
    expected["until"] = _until(conclusion)
    return (
        all(run[name] == relations for name, relations in expected.items())
        and content["given"] == _given_along(claim)
        and content["assumed"] == _assumed()
        and content["fails"] in map(_text_of, claim.conditions)
    )


def _sealed(record: Any, line: str, body: dict[str, Any]) -> dict[str, Any]:
    """A file: what it shows, which line that is, in words, as text and LaTeX, and the digest."""
    words = {"id": line, "line": record.about}
    words |= {"statement": check_witness.statement(body), "latex": to_latex(record.statement)}
    content = words | {key: value for key, value in body.items() if key not in words}
    return content | {"digest": check_witness.digest(content)}


def _of_proof(claim: Claim, proof: tuple[dict[str, Any], ...]) -> dict[str, Any]:
    if proof[0].keys() == check_sum.KEYS:
        return proof[0]
    return proof_file(*prepare_claim(claim), proof)


def _of_identity(claim: Claim) -> dict[str, Any]:
    """An identity, or several, for `check_identity.py`; nothing of other conclusions."""
    conclusion = claim.conclusion
    if isinstance(conclusion, FlowIdentity | StepIdentity | EntryFormula):
        along, after = (isinstance(conclusion, kind) for kind in (FlowIdentity, StepIdentity))
        return _cases(
            (left_side, right_side, d if along else f"{check_identity.STEP}{d}" if after else {})
            for d, left_side, right_side in conclusion.cases
        )
    if isinstance(conclusion, SlopeIdentity):
        return _cases([(conclusion.quantity, conclusion.slope, {str(conclusion.letter): "1"})])
    if isinstance(conclusion, FlowSolution):
        return _cases(_solution(conclusion))
    if isinstance(conclusion, OnInterval):
        return on_interval(conclusion)
    if isinstance(conclusion, BlockIdentity):
        return words.checkable_identity([conclusion], claim.where)
    statements = conclusion.parts if isinstance(conclusion, Both) else (conclusion,)
    if all(isinstance(statement, MatrixIdentity | GradientIdentity) for statement in statements):
        return words.checkable_identity(statements, claim.where)
    return {}


def _solution(conclusion: FlowSolution) -> Iterator[tuple[Any, Any, Any]]:
    """The equation and the start, in each case."""
    for _, case in conclusion.cases:
        written = (conclusion.solution, *conclusion.rate, conclusion.start)
        solution, linear, constant, start = (field.subs(case) for field in written)
        yield solution, linear * solution + constant, {str(conclusion.time): "1"}
        yield solution.subs(conclusion.time, 0), start, {}


def _cases(cases: Iterable[tuple[Any, Any, Any]]) -> dict[str, Any]:
    written, letters = [], set[str]()
    for left_side, right_side, rates in cases:
        written.append(
            {
                "left": expression_text(left_side),
                "right": expression_text(right_side),
                "rates": rates,
            }
        )
        letters |= {str(letter) for side in (left_side, right_side) for letter in side.free_symbols}
        moving, concepts = check_identity.moving(rates)
        letters |= moving.keys() | {f"a_{index}" for index in range(1, concepts + 1)}
        letters |= {"eta"} if isinstance(rates, str) else set()
    content = {"format": check_identity.FORMAT, "letters": sorted(letters), "cases": written}
    names = [name for name in letters if not name.isascii()]
    in_file: dict[str, Any] = json.loads(in_words(json.dumps(content, ensure_ascii=False), names))
    return in_file


def _about_numbers(claim: Claim, witness: Witness) -> dict[str, Any]:
    search, questions, letters = _prepared(claim)
    signs = [
        f"0 {'<' if letter.is_positive else '<='} {letter}"
        for letter in letters
        if letter.is_nonnegative and letter.name in witness.values
    ]
    signs += [f"{x}{check_witness.WHOLE}" for x in letters if x.is_integer]
    hypotheses = list(dict.fromkeys([*signs, *map(str, search.hypotheses)]))
    if "w_kj(t)" in witness.values and "N_ij(t)" in witness.values:
        hypotheses += [_NOISE, *(_SEMIDEFINITE if "w_kk(t)" in witness.values else ())]
    assumed = _assumed(without=("entry",)) if search.in_force else []
    content = _content(hypotheses, assumed, witness.relation, witness.values)
    if claim.quantifier == "exists":
        del content["fails"]
        content["holds"] = [str(question.goal) for question in questions]
    names = [letter.name for letter in letters]
    in_file: dict[str, Any] = json.loads(in_words(json.dumps(content, ensure_ascii=False), names))
    return in_file


def _about_matrices(claim: Claim, witness: Witness) -> dict[str, Any]:
    values = {
        name: text for name, text in witness.values.items() if re.fullmatch(r"-?\d+(/\d+)?", text)
    }
    return _content(_given_of_matrices(claim), [], witness.relation, values)


def _given_of_matrices(claim: Claim) -> list[str]:
    order = isinstance(claim.conclusion, LossOrder)
    return ["0 <= w_11", "w_12^2 <= w_11*w_22"] if order else []


def _along(claim: Claim, witness: Witness) -> dict[str, Any]:
    conclusion, printed = claim.conclusion, witness.values
    exact = {name: numbers.exact(printed[name], name) for name in _EXACT if name in printed}
    values = {name: _text(value) for name, value in exact.items() if name != "eta"}
    signal = [Fraction(a) for a in printed["a"].split(", ")]
    unit, omega = ("/omega", exact["omega"]) if "w_11(0)/omega" in printed else ("", Fraction(1))
    W0 = [
        [
            _text(omega * numbers.exact(printed[f"w_{max(p, q)}{min(p, q)}(0){unit}"], "W(0)"))
            for q in range(1, len(signal) + 1)
        ]
        for p in range(1, len(signal) + 1)
    ]
    (broken,) = (relation for relation in claim.conditions if str(relation) == witness.relation)
    run = {
        "dynamics": printed["dynamics"],
        "signal": [_text(a) for a in signal],
        "eta": _text(exact["eta"]),
        "W0": W0,
        "i": int(printed["i"]),
        "j": int(printed["j"]),
        "t_0": int(printed.get("t_0", "0")),
        "t": int(printed["t"]),
        "when": list(map(_text_of, conclusion.when)),
        "during": list(map(_text_of, conclusion.during)),
        "until": _until(conclusion),
    }
    power = printed["log10 P"]
    values["P"] = f"10^({power})" if "/" in power else f"10^{power}"
    return _content(_given_along(claim), _assumed(), _text_of(broken), values) | {"run": run}


def _text_of(relation: Any) -> str:
    return str(relation_from(relation))


def _until(conclusion: AlongTrajectory) -> list[str]:
    return [] if conclusion.until is None else [f"t <= {expression_text(conclusion.until)}"]


def _given_along(claim: Claim) -> list[str]:
    given = (_text_of(hypothesis.relation) for hypothesis in claim.given)
    return [*_ENTRIES[claim.conclusion.entries], *given]


#: Letters of an instance with an exact value.
_EXACT = ("omega", "eta", "alpha", "gamma", "beta", "K", "kappa", "C", "lambda")


def _text(value: Fraction) -> str:
    return short_text(flint.fmpq(value.numerator, value.denominator))


def _assumed(without: tuple[str, ...] = ()) -> list[list[str]]:
    return [
        [condition.over, str(relation_from(condition.relation))]
        for statement in assumptions.PRINTED
        for condition in statement.conditions
        if condition.over not in without
    ]


def _content(
    hypotheses: list[str], assumed: list[list[str]], fails: str, values: dict[str, str]
) -> dict[str, Any]:
    content = {"given": hypotheses, "assumed": assumed, "fails": fails, "values": values}
    return {"format": check_witness.FORMAT} | content
