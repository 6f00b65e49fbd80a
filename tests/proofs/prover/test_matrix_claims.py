"""Everyday claims about matrices: true ones are proved, and their near misses are refuted.

They stand in data/matrix_claims.txt; five in six are left to the full profile. What is proved has
a file that the checker accepts, and no file that says something else is accepted.
"""

import copy

import pytest

from benchmarks.matrix_claims import claim, claims
from swingby.proofs.checkers import check_proof, check_witness
from swingby.proofs.checkers.check_matrix import MatrixFile
from swingby.proofs.prover.algebra.shaped_claims import statement, witness_body
from swingby.proofs.prover.algebra.small_matrices import MOST_DRAWN, failing_point
from swingby.proofs.prover.prove import decide


def file_of(line):
    """The file of a claim, a proof or a witness."""
    judged = decide(claim(line))
    if judged.witness is not None:
        return witness_body(claim(line), judged.witness)
    (proof,) = judged.proof
    return statement(claim(line))[0] | proof


def reason(content):
    """Why the checker rejects a file."""
    return check_witness.judge_shown({"id": "", "line": ""} | content)


@pytest.mark.parametrize(
    ("true", "false"),
    [
        pytest.param(true, false, marks=[pytest.mark.full] if index % 6 else [], id=true)
        for index, (_, true, false) in enumerate(claims())
    ],
)
def test_a_claim_is_proved_and_its_near_miss_is_refuted(true, false):
    assert decide(claim(true)).verdict == "proved"
    assert reason(file_of(true)) == ""
    assert decide(claim(false)).verdict == "refuted"
    assert reason(file_of(false)) == ""


PROVED = (
    "W2^T W2 = W1 W1^T |- (W2 W1) (W2 W1)^T = (W2 W2^T)^2",
    "S <= T |- X^T S X <= X^T T X",
    "K >= X^T D^-1 X |- block(D, X, X^T, K) >= 0",
    "trace(P Q) >= 0",
    "D + P > 0",
)


def tampered(content):
    """Files that say something else: a letter of another kind, another line, another sum."""
    for name in content["letters"]:
        for trait in ("", "semidefinite", "orthogonal"):
            other = copy.deepcopy(content)
            other["letters"][name][2] = trait
            yield other
    for key in ("given", "says"):
        for at, text in enumerate(content[key]):
            for old, new in (
                ("<=", "<"),
                ("<=", "="),
                (" = ", " <= "),
                ("<", "="),
                ("*", " + "),
                (" ", " 2*"),
            ):
                other = copy.deepcopy(content)
                other[key][at] = text.replace(old, new, 1)
                yield other
        yield content | {key: content[key][1:]}
    for certificate_at, certificate in enumerate(content["proof"]):
        for kind, entries in certificate.items():
            for at, entry in enumerate(entries):
                for place, part in enumerate(entry):
                    for new in ("-1", "2", "0", 7, -1, None, [], ["0"], [0], "eta"):
                        if new != part:
                            other = copy.deepcopy(content)
                            other["proof"][certificate_at][kind][at][place] = new
                            yield other
                other = copy.deepcopy(content)
                del other["proof"][certificate_at][kind][at]
                yield other


@pytest.mark.parametrize("line", PROVED)
def test_no_tampered_proof_of_something_false_is_accepted(line):
    content, count = file_of(line), 0
    for other in tampered(content):
        if other == content:
            continue
        count += 1
        if not reason(other):
            assert other["proof"] == content["proof"]
            file = MatrixFile(other, check_witness.formula, check_proof)
            assert failing_point(file, MOST_DRAWN, lambda _: True) is None, other
    assert count > 30


def test_a_witness_that_does_not_meet_what_is_given_is_rejected():
    content = file_of("A B = B A |- A C B = B C A")
    assert reason(content) == ""
    size = content["sizes"]["n"]
    for entry in ("0", "1", "7", "1/3"):
        other = copy.deepcopy(content)
        other["values"]["A"] = [[entry] * size for _ in range(size)]
        other["values"]["B"] = [["5"] + ["2"] * (size - 1)] * size
        assert reason(other) != ""
    for entries in ([["1"]] * 2, "1", [["x"]], [[1]], []):
        assert reason(content | {"values": content["values"] | {"A": entries}}) != ""
    assert reason(content | {"sizes": {"n": 7}}) != ""
    assert reason(content | {"sizes": {}}) != ""


def test_a_witness_whose_letters_are_of_another_kind_is_rejected():
    for line, name, entries in (
        ("P - Q >= 0", "P", [["-9"]]),
        ("P - Q >= 0", "P", [["1", "2"], ["2", "1"]]),
        ("S <= T |- S + P <= T", "S", [["1", "2"], ["3", "1"]]),
        ("P > 0 |- D^-1 <= I", "D", [["0"]]),
        ("trace(O A) = trace(A)", "O", [["2"]]),
        ("G H G^-1 = H", "G", [["0"]]),
    ):
        content = file_of(line)
        size = len(entries)
        values = {
            letter: [
                ["0" if letter != "D" or p != q else "1" for q in range(size)] for p in range(size)
            ]
            for letter in content["letters"]
        }
        broken = content | {"sizes": {"n": size}, "values": values | {name: entries}}
        assert "is not" in reason(broken) or "without an inverse" in reason(broken)
    content = file_of("A B^T + B A^T <= eta A A^T + eta B B^T")
    assert "is not positive" in reason(content | {"values": content["values"] | {"eta": "-1"}})


def test_a_coefficient_that_may_be_negative_is_rejected():
    content = file_of("P >= 0")
    says = {"says": ["0 <= a*P"], "scalars": {"a": "real"}}
    for text, accepted in (("a", False), ("a^2", False), ("-1", False), ("0", False)):
        proof = [{"squares": [], "facts": [[text, [], 0, ["I(n)"]]], "zeros": []}]
        assert (reason(content | says | {"proof": proof}) == "") is accepted
    says["says"] = ["0 <= a^2*P"]
    proof[0]["facts"][0][0] = "a^2"
    assert reason(content | says | {"proof": proof}) == ""


@pytest.mark.parametrize(
    "line",
    [
        "S <= T |- S^2 <= T^2",
        "U^T U = I |- U U^T = I",
        "A^2 = 0 |- A = 0",
        "trace(A) = 0 |- A = 0",
        "P Q = Q P |- P <= Q",
        "x^T A x = 0 |- A = 0",
        "0 <= A + A^T |- 0 <= A",
        "D <= I |- D^-1 <= I",
        "A B = I |- A = B",
        "S >= 0; T >= 0 |- S T >= 0",
        "A^T A <= I; B^T B <= I |- (A + B)^T (A + B) <= I",
        "eta S <= I |- eta S >= 0",
    ],
)
def test_a_false_claim_is_refuted(line):
    assert decide(claim(line)).verdict == "refuted"


def test_what_no_search_decides_is_undecided():
    """True of every size, as (I + A) (I + B) = I; what an equation factors into is not sought."""
    judged = decide(claim("A B + A + B = 0 |- A B = B A"))
    assert judged.verdict == "undecided"
    assert judged.tried[0] == "no certificate for A*B = B*A"


@pytest.mark.parametrize(
    "line",
    [
        "A B C = -2 I |- C A B = -2 I",
        "A X Z = I |- X Z A = I",
        "a A B = I |- a B A = I",
        "A B = a² I + I |- B A = (a² + 1) I",
    ],
)
def test_an_inverse_of_a_square_matrix_is_one_on_both_sides(line):
    judged = decide(claim(line))
    assert judged.verdict == "proved"
    assert "an inverse of a square matrix on one side is on both" in judged.evidence[1]
    assert reason(file_of(line)) == ""


@pytest.mark.parametrize("given", ["X Z = I", "A B = A", "A B = 0", "A B = a I"])
def test_no_other_equation_is_turned_round(given):
    """[0 1; 0 0] [1 0; 0 0] = 0, and not the other way round."""
    left, _, right = given.partition(" = ")
    first, _, others = left.partition(" ")
    content, _ = statement(claim(f"{given} |- A = A"))
    assert not MatrixFile(content, check_witness.formula, check_proof).reasons
    assert decide(claim(f"{given} |- {others} {first} = {right}")).verdict == "refuted"
