"""Files of every kind, each field edited: what is still accepted states a true thing.

An edited file is sealed anew, its statement spelled anew: what is refused is refused for what it
shows. Statements that are accepted are tried at numbers, by arithmetic of this file's own.
"""

import copy
import itertools
import json
import math
import random
import re
from fractions import Fraction

import pytest

from swingby.proofs.checkers import check_witness
from swingby.proofs.checkers.check_witness import digest, judge
from tests.proofs.certify.test_witness_files import RUN

EMPTY = {"cases": [], "tangents": [], "turned": False, "facts": [], "pieces": [], "replaced": []}


def cert(**fields):
    return EMPTY | fields


def shown(relation, *certificates):
    return {"relation": relation, "certificates": list(certificates) or [cert()]}


def sums(signs, whole, given, table, facts, *shows):
    content = {"format": "swingby sums 1", "signs": signs, "whole": whole, "given": given}
    return content | {"sums": table, "facts": facts, "shows": list(shows)}


def rule(name, of, texts, each=(), once=()):
    return {"rule": name, "sums": of, "texts": texts, "each": list(each), "once": list(once)}


def proof(signs, given, *shows, whole=()):
    content = {"format": "swingby proof 2", "signs": signs, "whole": list(whole)}
    return content | {"given": given, "shows": list(shows)}


def matrices(letters, given, says, **rest):
    content = {"format": "swingby matrices 1", "letters": letters, "scalars": {}, "given": given}
    return content | {"says": says} | rest


def words(letters, rules, left, right, where=(), along=(), trace=False):
    says = {"left": left, "right": right, "trace": trace, "along": list(along)}
    content = {"format": "swingby words 1", "letters": letters, "scalars": [], "rules": rules}
    return content | {"where": list(where), "says": [says]}


def witness(fails, values, given=(), **rest):
    content = {"format": "swingby witness 1", "given": list(given), "assumed": []}
    return content | {"fails": fails, "values": values} | rest


def pieces(*listed):
    return cert(pieces=[[number, term, [], square] for number, term, square in listed])


#: A number is shown to be positive by itself, or not to be above another.
UNIT = {"0 <= 1": pieces(("1", "1", "1"))}
NONNEGATIVE = pieces(("1", "k", "1"))
SQUARE = {name: [flip, "n", "n", False] for name, flip in (("A", "A^T"), ("A^T", "A"))}
BOTH = SQUARE | {"B": ["B^T", "n", "n", False], "B^T": ["B", "n", "n", False]}
ROOT = {x: [x, "n", "n", False] for x in ("S", "S^(1/2)")}
INVERSE = {x: [x, "n", "n", False] for x in ("X", "X^-1")}
SIGNS = {"t": "nonnegative", "k": "nonnegative", "f(t)": "real", "f(0)": "real", "f(k)": "real"}
SIGNS |= {"f(t+1)": "real", "g(t)": "nonnegative"}
TOTALS = dict.fromkeys(("sum_1", "sum_2", "sum_3"), "real")
FILES = {
    "squares": proof(
        {"x": "real", "y": "real"}, [], shown("2*x*y <= x^2 + y^2", pieces(("1", "1", "y - x")))
    ),
    "positive": proof({"p": "positive"}, [], shown("2 <= p + 1/p", pieces(("1", "1/p", "1 - p")))),
    "quotient": proof(
        {"x": "real", "y": "real"},
        ["0 <= x", "x <= 1", "0 <= y", "y <= 1"],
        shown("y + 2 != 0", pieces(("2", "1", "1"), ("1", "y", "1"))),
        shown(
            "(x + 1)/(y + 2) <= 1",
            cert(facts=[["1 - x", "<="]], pieces=[["1", "y", [], "1"], ["1", "1", [0], "1"]]),
        ),
    ),
    "logarithm": proof(
        {"p": "positive"},
        [],
        shown(
            "log(p) <= p - 1",
            cert(
                tangents=["log(p)"],
                facts=[["p - 1 - log(p)", "<="]],
                pieces=[["1", "1", [0], "1"]],
            ),
        ),
    ),
    "whole": proof(
        {"x": "real"},
        [],
        shown(
            "x <= x^2",
            cert(
                cases=[["x at 0", 0]],
                facts=[["-x", "<="]],
                pieces=[["1", "1", [0], "1"], ["1", "1", [], "x"]],
            ),
            cert(
                cases=[["x at 0", 1]],
                facts=[["x - 1", "<="]],
                pieces=[["1", "1", [0], "1"], ["1", "1", [], "x-1"]],
            ),
        ),
        whole=["x"],
    ),
    "box": proof(
        {"x": "real", "y": "real"},
        ["0 <= x", "x <= 1", "0 <= y", "y <= 1"],
        {"relation": "x*y <= x/2 + y/2", "box": {"x": ["1/2"], "y": []}},
    ),
    "line": proof(
        {"x": "real"},
        ["0 <= x", "x <= 1"],
        {"relation": "exp(x) <= 3*x + 1", "letter": "x", "cuts": ["1/2"]},
    ),
    "last": proof(  # of an induction: the step
        {"a": "nonnegative", "b": "real", "c": "real"},
        ["b <= c", "c <= -a"],
        shown(
            "b <= 0",
            cert(
                facts=[["c - b", "<="], ["-a - c", "<="]],
                pieces=[["1", "1", [0], "1"], ["1", "1", [1], "1"], ["1", "a", [], "1"]],
            ),
        ),
    ),
    "termwise": sums(
        {"t": "nonnegative", "k": "nonnegative", "g(t)": "nonnegative", "sum_1": "real"},
        ["t", "k"],
        [],
        {"sum_1": ["g(t)", "t", "0", "k"]},
        [rule("termwise", ["sum_1"], ["<="], [shown("0 <= g(t)", pieces(("1", "g(t)", "1")))])],
        shown("0 <= sum_1", cert(facts=[["sum_1", "<="]], pieces=[["1", "1", [0], "1"]])),
    ),
    "telescope": sums(
        SIGNS | {"sum_1": "real", "sum_2": "real"},
        ["t", "k"],
        ["0 <= f(t) - f(t+1) - g(t) for t from 0 to k - 1"],
        {"sum_1": ["f(t+1) - f(t)", "t", "0", "k - 1"], "sum_2": ["g(t)", "t", "0", "k - 1"]},
        [
            rule(
                "telescope",
                ["sum_1"],
                ["f(t)"],
                [shown("f(t+1) - f(t) = f(t+1) - (f(t))")],
                [shown("0 <= k", NONNEGATIVE)],
            )
        ],
        shown("sum_1 = f(k) - f(0)", cert(replaced=[["sum_1", "f(k) - f(0)"]])),
    ),
    "at": sums(
        SIGNS,
        ["t", "k"],
        ["0 <= f(t) for t from 0 to k"],
        {},
        [
            rule(
                "at",
                [],
                ["0 <= f(t) for t from 0 to k", "k"],
                [],
                [shown("0 <= k", NONNEGATIVE), shown("k <= k")],
            )
        ],
        shown("0 <= f(k)", cert(facts=[["f(k)", "<="]], pieces=[["1", "1", [0], "1"]])),
    ),
    "name": sums(
        {"u": "real", "x": "real"},
        [],
        [],
        {},
        [rule("name", [], ["u", "x^2", "real"], [], [shown("x^2 = x^2")])],
        shown("0 <= u", cert(replaced=[["u", "x^2"]], pieces=[["1", "1", [], "x"]])),
    ),
    "matrices": matrices(
        {"A": ["n", "n", ""], "S": ["n", "n", "symmetric"], "T": ["n", "n", "symmetric"]},
        ["S <= T"],
        ["A^T*S*A <= A^T*T*A"],
        proof=[{"squares": [], "facts": [["1", [], 0, ["A"]]], "zeros": []}],
    ),
    "semidefinite": matrices(
        {"A": ["n", "m", ""], "P": ["m", "m", "semidefinite"]},
        [],
        ["0 <= A*P*A^T + A*A^T"],
        proof=[{"squares": [["1", [], "A^T"]], "facts": [["1", [], 0, ["A^T"]]], "zeros": []}],
    ),
    "matrix witness": matrices(
        {"S": ["n", "n", "symmetric"]}, [], ["S^2 <= S"], sizes={"n": 1}, values={"S": [["-1"]]}
    ),
    "matrix sequence": matrices(
        {"M(t)": ["n", "n", ""], "M(0)": ["n", "n", ""]},
        [],
        ["M(t) = M(0)"],
        sizes={"n": 1},
        values={"t": "1", "M(t)": [["1"]], "M(0)": [["2"]]},
    )
    | {"scalars": {"t": "nonnegative integer"}},
    "witness": witness("x <= x^2", {"x": "1/2"}, ["0 < x", "x < 1"]),
    "whole witness": witness("n <= 2", {"n": "3"}, ["n is a whole number"]),
    "sequence": witness("f(k) = f(0)", {"k": "1", "f(0)": "1", "f(k)": "2"}, ["1 <= k"]),
    "sum witness": witness(
        "sum_1 <= f(0)",
        {"k": "1", "f(0)": "1", "f(1)": "2"},
        ["0 <= f(t) for t from 0 to k"],
        sums={"sum_1": ["f(t)", "t", "0", "k"]},
        letters=["f(0)", "f(t)", "k", "t"],
    ),
    "interval": {"format": "swingby witness 1", "holds": "x*(1 - x) < 26/100"}
    | {"on": ["x", "0", "1"]},
    "trajectory": witness("w_ii(t_0) <= w_ii(t)", {}, ["i = j"], run=RUN),
    "identity": {
        "format": "swingby identity 1",
        "letters": ["x", "y"],
        "cases": [{"left": "(x^2 - y^2)/(x - y)", "right": "x + y", "rates": {}}],
    },
    "derivative": {
        "format": "swingby identity 1",
        "letters": ["x", "y"],
        "cases": [{"left": "x^2*y", "right": "2*x*y + x^2*y", "rates": {"x": "1", "y": "y"}}],
    },
    "flow": {
        "format": "swingby identity 1",
        "letters": ["a_1", "w_11"],
        "cases": [{"left": "w_11", "right": "2*a_1*w_11 - 2*a_1*w_11^2", "rates": 1}],
    },
    "words": words(BOTH, [], "(A*B)^2", "A*B*A*B"),
    "trace": words(BOTH, [], "A*B", "B*A", trace=True),
    "root": words(ROOT, [["S^(1/2)", "S^(1/2)", ["S"]]], "S^(1/2)*S^(1/2)", "S"),
    "inverse": words(INVERSE, [["X", "X^-1", []]], "X*X^-1*X", "X"),
    "gradient": words(BOTH, [], "A^T*A", "2*A", along=["A", "B"], trace=True),
}


def sealed(content):
    """A file of some content, whose statement and digest are its own."""
    content = {"id": "1", "line": "a line", "latex": "x"} | content
    try:
        content["statement"] = check_witness.statement(content)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError):
        content["statement"] = "nothing"
    content.pop("digest", None)
    return content | {"digest": digest(content)}


@pytest.mark.parametrize("name", FILES)
def test_what_no_one_edited_is_accepted(name):
    assert judge(sealed(FILES[name])) == ""


GONE = object()
FACT, STEP = ("facts", 0), ("shows", 0)
CERT = (*STEP, "certificates", 0)
#: A file, and fields with what stands there instead: none states what it proves, or is true.
TAMPERED = [
    ("squares", {(*STEP, "relation"): "2*x*y < x^2 + y^2"}),
    ("squares", {(*STEP, "relation"): "x^2 + y^2 <= 2*x*y"}),
    ("squares", {(*CERT, "pieces", 0, 0): "-1"}),
    ("squares", {(*CERT, "pieces", 0, 1): "x"}),
    ("squares", {(*CERT, "pieces"): []}),
    ("squares", {(*CERT, "turned"): True}),
    ("squares", {("signs", "y"): GONE}),
    ("squares", {("signs", "y"): "complex"}),
    ("squares", {("signs", "²"): "positive", (*STEP,): shown("0 <= ²", pieces(("1", "²", "1")))}),
    ("squares", {("given",): ["x = 1\nthen\n  0 <= -1"]}),
    ("squares", {("whole",): ["x\nthen"]}),
    ("squares", {("shows",): []}),
    ("positive", {("signs", "p"): "nonnegative"}),
    ("positive", {("signs", "p"): "real"}),
    ("quotient", {("given", 1): GONE}),
    ("quotient", {("given", 2): GONE}),
    ("quotient", {("given", 1): "x <= 2"}),
    ("quotient", {("shows", 1, "relation"): "(x + 1)/(y + 2) < 1"}),
    ("quotient", {("shows", 1, "relation"): "(x + 1)/(y + 2) <= 1/2"}),
    ("logarithm", {("signs", "p"): "nonnegative"}),
    ("logarithm", {(*STEP, "relation"): "log(p) < p - 1"}),
    ("logarithm", {(*CERT, "tangents"): []}),
    ("whole", {("whole",): []}),
    ("whole", {(*STEP, "certificates", 1): GONE}),
    ("whole", {(*STEP, "certificates", 1, "cases", 0, 0): "x at 1"}),
    ("whole", {(*STEP, "relation"): "x < x^2"}),
    ("box", {("given", 3): GONE}),
    ("box", {("given", 3): "y <= 2"}),
    ("box", {(*STEP, "relation"): "x*y < x/2 + y/2"}),
    ("box", {(*STEP, "relation"): "x*y <= x/2 + y/3"}),
    ("line", {("given", 1): GONE}),
    ("line", {("given", 1): "x <= 2"}),
    ("line", {("given", 0): "-1 <= x"}),
    ("line", {(*STEP, "relation"): "exp(x) < 3*x + 1"}),
    ("last", {("given", 0): GONE}),
    ("last", {("given", 1): "c <= a"}),
    ("last", {("signs", "a"): "real"}),
    ("termwise", {("signs", "g(t)"): "real"}),
    ("termwise", {("whole",): ["t"]}),
    ("termwise", {("whole",): ["k"]}),
    ("termwise", {("sums", "sum_1", 3): "k/2"}),
    ("termwise", {("sums", "sum_1", 3): "t"}),
    ("termwise", {("sums", "sum_1", 0): "g(t) - 1"}),
    ("termwise", {(*FACT, "each"): []}),
    ("termwise", {("signs", "sum_1"): "positive"}),
    ("telescope", {(*FACT, "once"): []}),
    ("telescope", {(*FACT, "texts"): ["f(k)"]}),
    ("telescope", {("sums", "sum_1", 0): "f(t) - f(t+1)"}),
    ("telescope", {("sums", "sum_1", 3): "k"}),
    ("telescope", {("sums", "sum_1", 2): "1"}),
    ("at", {(*FACT, "texts", 1): "k + 1"}),
    ("at", {(*FACT, "texts", 1): "k/2"}),
    ("at", {("given", 0): "0 <= f(t) for t from 0 to k - 1"}),
    ("at", {("given", 0): "0 <= f(t) for t from 0 to t"}),
    ("at", {("whole",): ["t"]}),
    ("name", {("given",): ["u <= 0"]}),
    ("name", {("whole",): ["u"]}),
    ("termwise", {("whole",): ["t", "k", "sum_1"]}),
    ("termwise", {("given",): {}}),
    ("at", {("given",): []}),
    ("name", {(*FACT, "texts", 1): "u"}),
    ("name", {(*FACT, "texts", 2): "positive", ("signs", "u"): "positive"}),
    ("matrices", {("given",): []}),
    ("matrices", {("says", 0): "A^T*T*A <= A^T*S*A"}),
    ("matrices", {("says", 0): "A^T*S*A < A^T*T*A"}),
    ("matrices", {("says", 0): "A*S*A <= A*T*A"}),
    ("matrices", {("letters", "A"): ["m", "n", ""]}),
    ("matrices", {("proof", 0, "facts", 0, 0): "-1"}),
    ("matrices", {("letters", "I"): ["n", "n", ""]}),
    ("matrices", {("letters", "I(n)"): ["n", "n", ""]}),
    ("matrices", {("letters", "²"): ["n", "n", ""]}),
    ("semidefinite", {("letters", "P", 2): "symmetric"}),
    ("semidefinite", {("letters", "P", 1): "n"}),
    ("semidefinite", {("says", 0): "0 < A*P*A^T + A*A^T"}),
    ("matrix witness", {("values", "S"): [["1"]]}),
    ("matrix witness", {("letters", "S", 2): "semidefinite"}),
    ("matrix witness", {("sizes", "n"): 2}),
    ("matrix sequence", {("values", "t"): "0"}),
    ("matrix sequence", {("values", "M(0)"): [["1"]]}),
    ("witness", {("values", "x"): "2"}),
    ("witness", {("given", 1): "x < 1/2"}),
    ("witness", {("fails",): "x^2 <= x"}),
    ("witness", {("values", "x"): GONE}),
    ("whole witness", {("values", "n"): "5/2"}),
    ("sequence", {("values", "k"): "0", ("given",): []}),
    ("sequence", {("fails",): "f(0) = f(+0)", ("values",): {"f(0)": "1", "f(+0)": "2"}}),
    (
        "sequence",
        {("fails",): "f(k) = f(m)", ("values",): {"k": "1", "m": "1", "f(k)": "1", "f(m)": "2"}},
    ),
    (
        "sequence",
        {
            ("fails",): "f(k-m) = f(0)",
            ("values",): {"k": "1", "m": "1", "f(k-m)": "1", "f(0)": "2"},
        },
    ),
    ("sequence", {("fails",): "f(2k) = f(0)", ("values",): {"k": "0", "f(2k)": "1", "f(0)": "2"}}),
    (
        "sequence",
        {("fails",): "f(k) = f(0)", ("values",): {"k": "2^(1/2)", "f(k)": "1", "f(0)": "2"}},
    ),
    ("sum witness", {("values", "f(1)"): "0"}),
    ("sum witness", {("values", "f(1)"): "-1"}),
    ("sum witness", {("values", "k"): "0"}),
    ("sum witness", {("values", "f(k)"): "7"}),
    ("sum witness", {("values", "t"): "7"}),
    ("sum witness", {("values", "sum_1"): "7"}),
    (
        "sum witness",
        {
            ("sums", "sum_1", 0): "f(k-t)",
            ("letters",): ["f(0)", "f(k-t)", "f(t)", "k", "t"],
            ("values", "f(k-t)"): "9",
        },
    ),
    ("interval", {("on", 2): "2", ("holds",): "x < 1"}),
    ("interval", {("holds",): "x*(1 - x) < 1/4"}),
    ("interval", {("on", 0): "2", ("holds",): "2 <= 1"}),
    ("interval", {("on",): ["x", "1", "0"]}),
    ("trajectory", {("run", "t"): 18}),
    ("trajectory", {("run", "t_0"): 0}),
    ("trajectory", {("run", "W0", 1, 1): "1/5"}),
    ("trajectory", {("run", "eta"): "1/2000"}),
    ("trajectory", {("run", "dynamics"): "flow"}),
    ("trajectory", {("run", "during"): ["w_ii(t) < 1/50"]}),
    ("trajectory", {("values",): {"w_ii(5)": "-1"}, ("fails",): "0 <= w_ii(5)"}),
    ("identity", {("cases", 0, "right"): "x - y"}),
    ("identity", {("cases", 0, "left"): "(x^2 + y^2)/(x - y)"}),
    ("identity", {("letters",): ["x"]}),
    ("identity", {("letters",): ["x", "y", "z\nw"]}),
    ("derivative", {("cases", 0, "rates"): {"x": "1"}}),
    ("derivative", {("cases", 0, "rates"): {}}),
    ("derivative", {("cases", 0, "rates", "y"): "x"}),
    ("flow", {("cases", 0, "rates"): 2}),
    ("flow", {("cases", 0, "rates"): "gd 1"}),
    ("flow", {("cases", 0, "rates"): {"w_11": "a_1"}}),
    ("words", {("says", 0, "right"): "A^2*B^2"}),
    ("words", {("rules",): [["A", "B", ["B", "A"]]], ("says", 0, "right"): "A^2*B^2"}),
    (
        "words",
        {("rules",): [["A", "A^T", []]], ("says", 0, "left"): "A*A^T", ("says", 0, "right"): "1"},
    ),
    (
        "words",
        {("rules",): [["A", "A", ["B"]]], ("says", 0, "left"): "A^2", ("says", 0, "right"): "B"},
    ),
    (
        "words",
        {
            ("letters", "A"): ["A", "n", "n", False],
            ("says", 0, "left"): "A^T",
            ("says", 0, "right"): "A",
        },
    ),
    (
        "words",
        {("letters", "A^T"): ["A^T", "n", "n", False], ("letters", "A"): ["A", "n", "n", False]},
    ),
    (
        "words",
        {("letters", "B"): ["B^T", "m", "n", False], ("letters", "B^T"): ["B", "n", "m", False]},
    ),
    (
        "words",
        {
            ("letters", "A"): ["A^T", "n", "m", False],
            ("letters", "A^T"): ["A", "m", "n", False],
            ("says", 0, "left"): "A + B",
            ("says", 0, "right"): "B + A",
        },
    ),
    ("trace", {("says", 0, "trace"): False}),
    ("trace", {("says", 0, "right"): "B*A^T"}),
    (
        "trace",
        {
            ("letters",): BOTH
            | INVERSE
            | {"Y": ["Y", "m", "m", False], "Y^-1": ["Y^-1", "m", "m", False]},
            ("rules",): [["X", "X^-1", []], ["Y", "Y^-1", []]],
            ("says", 0, "left"): "X*X^-1",
            ("says", 0, "right"): "Y*Y^-1",
        },
    ),
    ("root", {("rules", 0, 2): []}),
    ("root", {("rules", 0, 2): ["S^(1/2)"], ("says", 0, "right"): "S^(1/2)"}),
    ("root", {("rules", 0, 0): "S", ("says", 0, "left"): "S*S^(1/2)"}),
    (
        "root",
        {
            ("says", 0): {
                "left": "S^(1/2)*S^(1/2)*S",
                "right": "2*S",
                "trace": True,
                "along": ["S", "S"],
            }
        },
    ),
    (
        "root",
        {
            ("says", 0): {"left": "S^(1/2)", "right": "0*S", "trace": True, "along": ["S", "B"]},
            ("letters", "B"): ["B", "n", "n", False],
        },
    ),
    ("inverse", {("rules", 0, 1): "X"}),
    ("inverse", {("rules", 0, 2): ["X"]}),
    (
        "inverse",
        {("letters", "X"): ["X^T", "n", "m", False], ("letters", "X^T"): ["X", "m", "n", False]},
    ),
    (
        "inverse",
        {
            ("letters", "B"): ["B", "n", "n", False],
            ("says", 0): {"left": "X^-1", "right": "0*X", "trace": True, "along": ["X", "B"]},
        },
    ),
    ("gradient", {("says", 0, "right"): "A"}),
    ("gradient", {("says", 0, "left"): "A^T*B"}),
    ("gradient", {("says", 0, "along"): ["A", "A"]}),
]


def edited(content, changes):
    """A copy with other things at some places."""
    changed = copy.deepcopy(content)
    for path, value in changes.items():
        inner = changed
        for key in path[:-1]:
            inner = inner[key]
        if value is GONE:
            del inner[path[-1]]
        else:
            inner[path[-1]] = copy.deepcopy(value)
    return changed


@pytest.mark.parametrize(("name", "changes"), TAMPERED)
def test_a_tampered_file_is_rejected(name, changes):
    assert judge(sealed(edited(FILES[name], changes)))


#: Files that follow no edit of one above, and are false.
def half(relation, fact, to="1/2"):
    """A number that is not whole, for a counting letter."""
    low, high = (shown(x, pieces(("1/2", "1", "1"))) for x in (f"0 <= {to}", f"{to} <= 1"))
    if to == "x":
        low, high = (
            shown("0 <= x", pieces(("1", "x", "1"))),
            shown("x <= 1", cert(facts=[["1 - x", "<="]], pieces=[["1", "1", [0], "1"]])),
        )
    text = f"{relation} for t from 0 to 1"
    return sums(
        {"t": "nonnegative", "x": "nonnegative"},
        ["t"],
        [text, "x <= 1"],
        {},
        [rule("at", [], [text, to], [], [low, high])],
        fact,
    )


def nested(rule_of, *shows, **rest):
    """The sum over t of the sums over i up to t."""
    signs = {"t": "nonnegative", "i": "nonnegative", "k": "nonnegative"} | TOTALS
    table = {"sum_1": ["1", "i", "0", "t"], "sum_3": ["1", "t", "0", "k"]}
    table |= {"sum_2": ["sum_1", "t", "0", "k"]} | rest
    return sums(signs | dict.fromkeys(rest, "real"), ["t", "k", "i"], [], table, [rule_of], *shows)


REVERSED = {"t": "nonnegative", "k": "nonnegative", "f(k-t)": "real", "f(0)": "real"}
FALSE = {
    "a half for a counting letter": half(
        "0 <= t^2 - t",
        shown("1 <= 0", cert(facts=[["0 - 1/4", "<="]], pieces=[["4", "1", [0], "1"]])),
    ),
    "a real letter for a counting letter": half(
        "0 <= t^2 - t",
        shown("x <= x^2", cert(facts=[["x^2 - x", "<="]], pieces=[["1", "1", [0], "1"]])),
        "x",
    ),
    "a place that changes with the index": sums(
        REVERSED | {"sum_1": "real", "sum_2": "real"},
        ["t", "k"],
        [],
        {"sum_2": ["1", "t", "0", "k"], "sum_1": ["f(k-t)", "t", "0", "k"]},
        [
            rule(
                "linear",
                ["sum_1", "sum_2"],
                ["f(k-t)"],
                [shown("f(k-t) = (f(k-t))*(1)")],
            )
        ],
        shown("sum_1 = sum_2*f(k-t)", cert(replaced=[["sum_1", "sum_2*f(k-t)"]])),
    ),
    "a place that changes with the index, in the last term": sums(
        REVERSED | {"sum_1": "real", "sum_2": "real"},
        ["t", "k"],
        [],
        {"sum_1": ["f(k-t)", "t", "0", "k"], "sum_2": ["f(k-t)", "t", "0", "k - 1"]},
        [rule("last", ["sum_1", "sum_2"], [], [], [shown("0 <= k", NONNEGATIVE)])],
        shown("sum_1 = sum_2 + f(k-t)", cert(replaced=[["sum_1", "sum_2 + f(k-t)"]])),
    ),
    "a hypothesis at a place that changes with the index": sums(
        REVERSED | {"i": "nonnegative"},
        ["t", "k"],
        ["0 <= f(k-t) for t from 0 to k"],
        {},
        [
            rule(
                "at",
                [],
                ["0 <= f(k-t) for t from 0 to k", "0"],
                [],
                [shown("0 <= 0"), shown("0 <= k", NONNEGATIVE)],
            )
        ],
        shown("0 <= f(k-t)", cert(facts=[["f(k-t)", "<="]], pieces=[["1", "1", [0], "1"]])),
    ),
    "a sum inside a sum, as a number before it": nested(
        rule("linear", ["sum_2", "sum_3"], ["sum_1"], [shown("sum_1 = (sum_1)*(1)")]),
        shown("sum_2 = sum_1*sum_3", cert(replaced=[["sum_2", "sum_1*sum_3"]])),
    ),
    "a sum inside a sum, in the last term": nested(
        rule("last", ["sum_2", "sum_4"], [], [], [shown("0 <= k", NONNEGATIVE)]),
        shown("sum_2 = sum_4 + sum_1", cert(replaced=[["sum_2", "sum_4 + sum_1"]])),
        sum_4=["sum_1", "t", "0", "k - 1"],
    ),
    "a sum inside a sum inside a sum": nested(
        rule("linear", ["sum_5", "sum_3"], ["sum_4"], [shown("sum_4 = (sum_4)*(1)")]),
        shown("sum_5 = sum_4*sum_3", cert(replaced=[["sum_5", "sum_4*sum_3"]])),
        sum_4=["sum_1", "j", "0", "k"],
        sum_5=["sum_4", "t", "0", "k"],
    ),
    "a hypothesis for i that speaks of another t": sums(
        {"t": "nonnegative", "i": "nonnegative", "k": "nonnegative", "sum_1": "real"}
        | {"g(i)": "real", "g(t)": "real"},
        ["t", "i", "k"],
        ["t <= g(i) for i from 0 to k"],
        {"sum_1": ["g(t) - t", "t", "0", "k"]},
        [
            rule(
                "termwise",
                ["sum_1"],
                ["<="],
                [
                    shown(
                        "0 <= g(t) - t",
                        cert(facts=[["g(t) - t", "<="]], pieces=[["1", "1", [0], "1"]]),
                    )
                ],
            )
        ],
        shown("0 <= sum_1", cert(facts=[["sum_1", "<="]], pieces=[["1", "1", [0], "1"]])),
    ),
    "a sum of another index in a hypothesis of a witness": witness(
        "0 = 1",
        {"t": "0"},
        ["sum_1 <= 1 for t from 0 to 5"],
        sums={"sum_1": ["1", "i", "0", "t"]},
        letters=["t", "i"],
    ),
}
FALSE["a sum inside a sum inside a sum"]["signs"]["j"] = "nonnegative"
FALSE["a sum inside a sum inside a sum"]["whole"].append("j")


@pytest.mark.parametrize("name", FALSE)
def test_a_false_file_is_rejected(name):
    assert judge(sealed(FALSE[name]))


@pytest.mark.parametrize("key", ["id", "line"])
def test_the_name_of_a_file_prints_no_line_of_its_own(key):
    content = FILES["squares"] | {key: "1\naccepted  2"}
    assert "one line" in judge(sealed(content))


def test_what_is_printed_is_what_was_checked(tmp_path, capsys, monkeypatch):
    """The statement of what is accepted; a line for what is rejected, whatever its reason."""
    for name, changes in (("1", {}), ("2", {("given",): {}})):
        content = sealed(edited(FILES["squares"], changes))
        (tmp_path / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    assert check_witness.main([str(tmp_path)]) == 1
    first, *statement, rejected, note, count = capsys.readouterr().out.splitlines()
    assert (first, rejected[:18]) == ("accepted  1", "rejected  2.json: ")
    letters = ["letters", "  x real", "  y real", "then", "  2*x*y <= x^2 + y^2"]
    assert statement == [f"    {line}" for line in letters]
    assert note == "Only the indented text was checked: no name of a line, no LaTeX."
    assert count == "1 of 2 accepted"
    monkeypatch.setattr(check_witness, "judge", lambda *_: "no\naccepted  2")
    check_witness.main([str(tmp_path)])
    lines = capsys.readouterr().out.splitlines()
    assert lines == [f"rejected  {x}.json: no?accepted  2" for x in "12"] + ["0 of 2 accepted"]


def test_what_is_named_is_said():
    statement = check_witness.statement(FILES["name"])
    assert statement == "letters\n  u real\n  x real\nwhere\n  u = x^2\nthen\n  0 <= u"


@pytest.mark.parametrize("name", FILES)
def test_another_statement_is_rejected(name):
    content = sealed(FILES[name])
    for text in ("x", content["statement"] + "\n", content["statement"].replace("  ", " ")):
        other = content | {"statement": text}
        assert (
            judge(other | {"digest": digest(other)}) == "the statement is not what the file shows"
        )


# Every field, edited by a program.

SIGN_WORDS = ("real", "nonnegative", "positive", "", "symmetric", "semidefinite", "orthogonal")


def texts(text, letters):
    """Texts near a text."""
    for match in re.finditer(r"\d+", text):
        for more in (-1, 1):
            yield text[: match.start()] + str(int(match[0]) + more) + text[match.end() :]
    for old, new in (
        (" <= ", " < "),
        (" < ", " <= "),
        (" = ", " <= "),
        (" <= ", " = "),
        ("+", "-"),
    ):
        if old in text:
            yield text.replace(old, new, 1)
    if " <= " in text:
        yield " <= ".join(reversed(text.split(" <= ", 1)))
    for match in re.finditer(r"[^\W\d]\w*(\([\w+-]+\))?", text):
        yield from (
            text[: match.start()] + x + text[match.end() :] for x in letters if x != match[0]
        )
    if text in SIGN_WORDS:
        yield from (x for x in SIGN_WORDS if x != text)


def edits(value, letters, path=()):
    """Everything in a file with something else in its place, as :func:`edited` takes it."""
    if isinstance(value, dict | list):
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        for key, following in itertools.zip_longest(keys, keys[1:]):
            yield {(*path, key): GONE}
            if following is not None:
                yield {(*path, key): value[following], (*path, following): value[key]}
                yield {(*path, key): value[following]}
            yield from edits(value[key], letters, (*path, key))
        if isinstance(value, list) and value:
            yield {path: [*value, value[-1]]}
    elif isinstance(value, bool):
        yield {path: not value}
    elif isinstance(value, int):
        yield from ({path: value + more} for more in (-1, 1))
    elif path != ("format",):
        yield from ({path: text} for text in texts(value, letters))


NUMBERS = {
    "real": ["-2", "-1", "-1/2", "0", "1/2", "1", "3/2", "2", "3"],
    "nonnegative": ["0", "1/2", "1", "2", "3"],
    "positive": ["1/3", "1", "2", "3"],
}


def value_of(text, at):
    """A formula at numbers, in fractions as long as it is rational."""
    names = sorted(at, key=len, reverse=True)
    word = re.compile("|".join([*map(re.escape, ("exp(", "log(", *names)), r"\d+", r"[-+*/^() ]"]))
    assert word.sub("", text) == "", text
    numbers = {name: f"at[{name!r}]" for name in names} | {"^": "**"}
    python = word.sub(lambda m: numbers.get(m[0], f"F({m[0]})" if m[0].isdigit() else m[0]), text)
    known = {"at": at, "F": Fraction, "exp": math.exp, "log": lambda x: math.log(x)}
    return eval(python, {"__builtins__": {}}, known)


def true_at(relation, at):
    """Whether a relation holds; floats are off by a bit."""
    small, sign, large = re.split(r" (<=|<|=|!=) ", relation)
    gap = value_of(large, at) - value_of(small, at)
    near = isinstance(gap, float) and abs(gap) < 1e-9
    answers = {"<=": gap >= 0, "<": gap > 0, "=": gap == 0, "!=": gap != 0}
    return near or answers[sign]


def moved(text, index, to):
    """A text with a number for a counting letter, and at its places."""
    text = re.sub(rf"\({index}([+-]\d+)?\)", lambda m: f"[{to + int(m[1] or 0)}]", text)
    return re.sub(rf"\b{index}\b", f"({to})", text)


def false_at(content, rng):
    """Numbers at which what a proof states is false; None where none are drawn."""
    signs, total = content["signs"], content.get("sums", {})
    for _ in range(60):
        at = {
            name: Fraction(rng.randrange(4) - 3 * (sign == "real") + (sign == "positive"))
            if name in content["whole"]
            else Fraction(rng.choice(NUMBERS[sign]))
            for name, sign in signs.items()
        }
        for name, sign in signs.items():  # a sequence, by its value at each place
            if match := re.fullmatch(r"(\w+)\((.+)\)", name):
                for place in range(-3, 9):
                    key = f"{match[1]}[{place}]"
                    other = Fraction(rng.choice(NUMBERS[sign]))
                    at[key] = (
                        max(at.get(key, other), other) if sign != "real" else at.get(key, other)
                    )
        for name in signs:
            if match := re.fullmatch(r"(\w+)\((.+)\)", name):
                place = value_of(match[2], at)
                key = f"{match[1]}[{place}]"
                at[name] = at.get(key, at[name])
        try:
            for name, (term, index, low, high) in total.items():
                ends = (int(value_of(x, at)) for x in (low, high))
                low_number, high_number = ends
                rows = range(low_number, high_number + 1)
                at[name] = sum((value_of(moved(term, index, n), at) for n in rows), Fraction(0))
            for fact in content.get("facts", []):
                if fact["rule"] == "name":
                    at[fact["texts"][0]] = value_of(fact["texts"][1], at)
            given = []
            for text in content["given"]:
                if match := re.fullmatch(r"(.+) for (\w+) from (.+) to (.+)", text):
                    ends = [int(value_of(x, at)) for x in (match[3], match[4])]
                    given += [moved(match[1], match[2], n) for n in range(ends[0], ends[1] + 1)]
                else:
                    given.append(text)
            if not all(true_at(text, at) for text in given):
                continue
        except (AssertionError, ArithmeticError, ValueError, SyntaxError):
            continue
        for step in content["shows"]:
            try:
                if not true_at(step["relation"], at):
                    return at
            except ZeroDivisionError:
                continue
    return None


@pytest.mark.parametrize("name", FILES)
def test_what_is_accepted_after_an_edit_is_true(name):
    """A statement that was not spelled anew is rejected where it is another one."""
    content, rng, judged = FILES[name], random.Random(name), 0
    before = sealed(content)
    letters = content.get("signs") or content.get("letters") or content.get("values") or ["x"]
    for changes in edits(content, [*letters, "1/2"]):
        try:
            changed = edited(content, changes)
            after = sealed(changed)
        except (KeyError, TypeError, IndexError):
            continue
        judged += 1
        reason = judge(after)
        if reason:
            continue
        kept = after | {"statement": before["statement"]}
        if after["statement"] != before["statement"]:
            assert judge(kept | {"digest": digest(kept)}), changes
        if content["format"] in ("swingby proof 2", "swingby sums 1"):
            assert false_at(changed, rng) is None, (changes, false_at(changed, rng))
    assert judged > 10


ODD = ("²", "x y", "x\n", "\u0445", "1", "exp(1)", "x;", "f(k t)", "Max(x)", "")


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("name", ["squares", "at", "matrices", "witness", "words", "identity"])
def test_a_letter_with_an_odd_name_is_refused(name, odd):
    (letter, *_) = [
        x for key in ("signs", "letters", "values") for x in FILES[name].get(key, []) if len(x) == 1
    ]
    text = json.dumps(FILES[name], ensure_ascii=False)
    fitting = re.sub(rf"(?<![\w(]){letter}(?![\w(])", odd.replace("\n", "\\\\n"), text)
    assert judge(sealed(json.loads(fitting)))
