"""Proof files: what the reader makes of them, what it refuses, and that writing and reading agree.

That the files of the package say what the text says is in test_transcription.py.
"""

import itertools

import pytest
import sympy

import swingby
from swingby.errors import InvalidInput
from swingby.proofs.audit.cache import content
from swingby.proofs.language import claims as ledger
from swingby.proofs.language.claim import AlongTrajectory, Claim, Flaw, Given
from swingby.proofs.language.definedness import needs
from swingby.proofs.language.reader import Proof, load, packaged
from swingby.proofs.language.writer import proof_text
from tests.forked import FULL

LETTERS = 'letters positive: x, y, a_i, α\nletters real: w_ij(t), N, b = "w_ij(0)"\n'
x, y, a_i, alpha = sympy.symbols("x y a_i alpha", positive=True)
w, N, b = sympy.symbols("w_ij(t) N w_ij(0)", real=True)
y_0 = sympy.Symbol("y_0", nonnegative=True)


def read(formula):
    """Both sides of the relation of a file with one line."""
    return Proof(f"{LETTERS}step 1: a line\n  then {formula}")["1"].conclusion


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("3 a_i w_ij(t)/5", 3 * a_i * w / 5),
        ("1/2 x y", x * y / 2),
        ("1/(2 x) y", y / (2 * x)),
        ("x/y/a_i", x / (y * a_i)),
        ("x y^2", x * y**2),
        ("-x^2", -(x**2)),
        ("x^-2", x**-2),
        ("x^(-1/2)", 1 / sympy.sqrt(x)),
        ("x² y¹⁰", x**2 * y**10),
        ("|w_ij(t)| |N| - |b|", sympy.Abs(w) * sympy.Abs(N) - sympy.Abs(b)),
        ("|w_ij(t) - |N||", sympy.Abs(w - sympy.Abs(N))),
        ("||x| - |N|| 2", 2 * sympy.Abs(x - sympy.Abs(N))),
        ("|||b||| |x - 1|", sympy.Abs(b) * sympy.Abs(x - 1)),
        ("0.8 x", 4 * x / 5),
        ("α - alpha + ω_1 0", 0),
        ("x − y", x - y),
        ("2 (x - y)", 2 * x - 2 * y),
        ("√x + √(x y)", sympy.sqrt(x) + sympy.sqrt(x * y)),
        ("max{x, y} min(x, y)", sympy.Max(x, y) * sympy.Min(x, y)),
        ("exp(-x)^2 log(x)", sympy.exp(-2 * x) * sympy.log(x)),
        ("exp(log(x))", x),
        ("x^2 y/a_i", x**2 * y / a_i),
        ("x^2/y", x**2 / y),
        ("x/y*a_i", x * a_i / y),
        ("x²/3", x**2 / 3),
        ("x^(2/3)", x ** sympy.Rational(2, 3)),
    ],
)
def test_a_formula_is_what_a_mathematician_reads(written, meant):
    text = f"letters real: ω_1\n{LETTERS}step 1: a line\n  then {written} <= 9"
    assert Proof(text)["1"].conclusion == sympy.Le(meant, 9, evaluate=False)


def test_as_written_keeps_the_outermost_operation():
    side = read("as_written(exp(log(x))) <= 1").lhs
    assert sympy.srepr(side) == sympy.srepr(sympy.exp(sympy.log(x), evaluate=False))
    half = sympy.Rational(1, 2)
    side = read("as_written((2 x)^(-1/2)) <= 1").lhs
    assert sympy.srepr(side) == sympy.srepr(sympy.Pow(2 * x, -half, evaluate=False))
    side = read("as_written((x y) (x + 1)) <= 1").lhs
    assert side.args == (x * y, x + 1)


@pytest.mark.parametrize(
    ("written", "part"),
    [
        *(("N/N", N), ("N²/N", N), ("0/(N - 1)", N - 1), ("1/N - 1/N", N), ("1/(1/N)", N)),
        *(("(1/N)^0", N), ("√N √N", N), ("√N^2", N), ("exp(log(N - 1))", N - 1), ("0 log(N)", N)),
        *(("|1/N - 1/N|", N), ("√(y_0 N)", y_0 * N), ("√(-y_0)", -y_0)),
    ],
)
def test_what_has_no_value_somewhere_is_not_cancelled(written, part):
    """Each has a value only where the part is not 0, or not negative."""
    declared = "letters nonnegative: y_0\nletters real: N\n"
    lines = f"{declared}step 1: a line\n  then {written} <= 9"
    assert part in [base for base, _ in needs(Proof(lines)["1"].conclusion.lhs)]


def test_what_has_a_value_everywhere_is_cancelled():
    assert read("x/x <= 9").lhs == 1
    assert read("√(4 x) √x <= 9").lhs == 2 * x


def test_a_letter_on_an_interval_has_any_name():
    for name in ("N", "η", "w_ij(0)", "alpha'"):
        line = f"letters real: {name}\nstep 1: a line\n  then {name} in [-1/2, 1]: {name} <= 10^999"
        conclusion = Proof(line)["1"].conclusion
        assert (conclusion.low, conclusion.letter) == (
            sympy.Rational(-1, 2),
            conclusion.relation.lhs,
        )


def test_a_chain_is_all_of_its_relations_in_their_order():
    conclusion = read("x <= y < a_i, N = b")
    pairs = [(x, y), (y, a_i), (N, b)]
    makers = (sympy.Le, sympy.Lt, sympy.Eq)
    expected = [make(*pair, evaluate=False) for make, pair in zip(makers, pairs, strict=True)]
    assert conclusion == sympy.Tuple(*expected)


WHOLE = (
    LETTERS
    + """
group BOUND: x <= y  [Assumption 1]
             y <= 2  [Assumption 2]
default place Section 3
default larger first, in force
let total = x +
      y

# a comment
step first: it begins
  given BOUND; a_i > 1 [case]
  where N = total
  then N <= 4
  reading Words that go
          on.

lemma second [2.1]: it goes on
  for every trajectory, any
  given (first); (first)
        w_ij(t) > x
            + y  [induction]
  then |w_ij(t)| <= 3
  when b > 1
  while w_ij(t) > 0
  until log(x)/y
  flaw wrong power, local: It is another: not this one.
  repair
    also given x > 1  [case]
    then |w_ij(t)| <= 4
    repair
      given nothing
      for not in force
      place Elsewhere
"""
)


def test_every_field_of_a_line_is_read():
    first, second = Proof(WHOLE).values()
    bound = (
        Given(sympy.Le(x, y, evaluate=False), "Assumption 1"),
        Given(sympy.Le(y, 2, evaluate=False), "Assumption 2"),
    )
    case = Given(sympy.Gt(a_i, 1, evaluate=False), "case")
    assert first == Claim(
        "first",
        "step",
        "it begins",
        sympy.Le(N, 4, evaluate=False),
        (*bound, case),
        ((N, x + y),),
        in_force=True,
        indices="larger first",
        reference="Section 3",
        reading="Words that go on.",
    )
    cited = Given(first.conclusion, "first")
    induction = Given(sympy.Gt(w, x + y, evaluate=False), "induction")
    assert second.given == (cited, cited, induction)
    assert (second.kind, second.indices, second.reference) == ("lemma", "any", "Section 3")
    assert second.conclusion == AlongTrajectory(
        sympy.Le(sympy.Abs(w), 3, evaluate=False),
        "all",
        (sympy.Gt(b, 1, evaluate=False),),
        (sympy.Gt(w, 0, evaluate=False),),
        sympy.log(x) / y,
    )
    assert second.flaw == Flaw("wrong power", "local", "It is another: not this one.")
    once, twice = second.repair, second.repair.repair
    more = Given(sympy.Gt(x, 1, evaluate=False), "case")
    assert once.given == (*second.given, more)
    assert once.conclusion.relation.rhs == 4
    assert once.conclusion.when == second.conclusion.when
    assert (once.edition, once.flaw, once.in_force) == ("corrected", None, True)
    assert (twice.given, twice.in_force, twice.reference) == ((), False, "Elsewhere")
    assert twice.conclusion == once.conclusion


@pytest.mark.parametrize(
    ("written", "readings"),
    [
        ("x/2 y", "(x/2) y or x/(2 y)"),
        ("N x/2 y", "(N x/2) y or N x/(2 y)"),
        ("1/x (y + 1)", "(1/x) (y + 1) or 1/(x (y + 1))"),
        ("x/exp(y) |b|", "(x/exp(y)) |b| or x/(exp(y) |b|)"),
        ("x^1/2", "(x^1)/2 or x^(1/2)"),
        ("3 y x^-a_i/2", "(x^-a_i)/2 or x^(-a_i/2)"),
        ("x¹/2", "(x^1)/2 or x^(1/2)"),
        ("2^y/3", "(2^y)/3 or 2^(y/3)"),
    ],
)
def test_what_is_read_in_two_ways_is_refused_with_both(written, readings):
    with pytest.raises(InvalidInput) as caught:
        read(f"{written} <= 9")
    assert f"as it is read in two ways: {readings}, got " in str(caught.value)
    # Either reading with its brackets is read.
    for reading in readings.split(" or "):
        read(f"{reading} <= 9")


@pytest.mark.parametrize("number", ["2", "3", "y"])
@pytest.mark.parametrize("power", [("²", "^2"), ("³", "^3"), ("¹²", "^12")])
def test_a_whole_exponent_ends_with_its_digits_raised_or_not(power, number):
    raised, written = (read(f"x{each}/{number} <= 9") for each in power)
    bracketed = read(f"(x{power[1]})/{number} <= 9")
    assert raised == written == bracketed


LINE = "step 1: a line\n  "


@pytest.mark.parametrize(
    ("text", "line", "column", "says"),
    [
        ("stop 1: a line", 3, 1, "must begin with one of use, letters"),
        ("step 1 a line", 3, 6, "must be the id of a line, a colon"),
        (LINE + "than x <= y", 4, 3, "must begin with one of about, place"),
        (LINE + "then x <= (y", 4, 15, "must go on with ), got the end of the formula"),
        (LINE + "then x + y", 4, 8, "must be a relation"),
        (LINE + "then x <=\n        z", 5, 9, "must be a letter declared above"),
        (LINE + "then x <= y\n  then y <= x", 5, 3, "must not stand twice: then"),
        (LINE + "given x <= y\n  then x <= y", 4, 9, "must be a relation with its [source]"),
        (LINE + "given x <= y [a]; y <= q [b]\n  then x <= y", 4, 26, "declared above, got q"),
        (LINE + "given x <= y [a]\n          y <= x [b]\n  then x <= y", 4, 16, "got [a]"),
        (LINE + "given (2)\n  then x <= y\nstep 2: b\n  then x <= y", 4, 9, "or a line above"),
        (LINE + "flaw odd, local: x\n  then x <= y", 4, 8, "must be one of typo"),
        (LINE + "for ever\n  then x <= y", 4, 7, "must be words among any"),
        (LINE + "reading nothing follows", 3, 6, "must have a conclusion"),
        (LINE + "then x <= y\nstep 1: again\n  then x <= y", 5, 6, "must be the id of one line"),
        (LINE + "then x <= f(y)", 4, 13, "must be a function"),
        (LINE + "then x[1] <= y", 4, 8, "has no entries"),
        (LINE + "then x/0 <= y", 4, 8, "divides by 0"),
        (LINE + "then x <= 10^(10^10)", 4, 8, "at most 1000 digits"),
        (LINE + f"then {'(' * 900}x{')' * 900} <= y", 4, 8, "nested too deeply"),
        (LINE + "then gradient in Q: x -> y", 4, 8, "the parts of its kind"),
        (LINE + "then", 4, 3, "must not be empty"),
        (LINE + "when x >= 1\n  then x <= y", 4, 8, "must stand beside: for every trajectory"),
        (LINE + "because 1\n  then x <= y", 4, 11, "must stand beside: then by hand"),
        (LINE + "then x <= y\n  repair then y <= x", 5, 3, "must have fields of its own"),
        (LINE + "where x + y = 2\n  then x <= y", 4, 9, "must be a definition"),
        (LINE + "where x = 1\n        x = 2\n  then x <= y", 5, 9, "must define a letter once"),
        (LINE + "where x = y + 1\n        y = x\n  then x <= y", 4, 9, "got x -> y -> x"),
        (LINE + "then sum(x) <= y", 4, 8, "a sum has four parts"),
        ("letters real: q\nletters positive: q", 4, 9, "must be declared once, got q"),
        ('letters positive: q = "y"', 3, 9, "must not be printed as another letter is"),
        ('letters real: q\nletters real: m = "q"', 4, 9, "printed as another letter is, got m"),
        ("letters real: 3q", 3, 9, "must be a letter"),
        (LINE + "then ideal: x = y", 4, 8, "a kind of conclusion that is known"),
        (LINE + "then x <= __import__('os').getcwd()", 4, 13, "got __import__"),
        (LINE + "then x in [0, √2]: x <= 2", 4, 8, "must be between two fractions"),
        (LINE + "then x in [1, 0]: x <= 2", 4, 8, "must be between two fractions"),
        (LINE + "then x in [0, 1]: x <= b + 3", 4, 21, "must be an inequality in x alone"),
        (LINE + "then x in [0, 1]: x = x²", 4, 21, "must be an inequality in x alone"),
        ("use nowhere", 3, 5, "the name of a proof file"),
        ("letters odd: q", 3, 9, "must be one of real, positive"),
        ("let u =", 3, 8, "got the end of the formula"),
        ("\tthen x <= y", 3, 2, "must be indented by spaces"),
    ],
)
def test_a_mistake_is_named_with_its_place(text, line, column, says):
    with pytest.raises(InvalidInput) as caught:
        list(Proof(LETTERS + text, "my.proof").values())
    assert str(caught.value).startswith(f"my.proof, line {line}, column {column}: ")
    assert says in str(caught.value)


def test_a_file_without_a_line_is_not_judged(tmp_path):
    (tmp_path / "empty.proof").write_text(LETTERS, encoding="utf-8")
    with pytest.raises(InvalidInput, match="proof must hold a line to judge"):
        swingby.audit(tmp_path / "empty.proof")


def test_a_file_uses_another_beside_it(tmp_path):
    (tmp_path / "one.proof").write_text(LETTERS + LINE + "then x <= y\n", encoding="utf-8")
    path = tmp_path / "two.proof"
    path.write_text("use one\nstep 2: so\n  given (1)\n  then x <= 2 y\n", encoding="utf-8")
    (hypothesis,) = load(path)["2"].given
    assert hypothesis == Given(sympy.Le(x, y, evaluate=False), "1 (one.proof)")
    (tmp_path / "one.proof").write_text("use two\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"one\.proof, line 1, column 5: must be another file"):
        load(path)
    with pytest.raises(InvalidInput, match="must be a readable file of text"):
        load(tmp_path / "three.proof")
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidInput, match="UTF-8"):
        load(path)


@pytest.mark.parametrize("mark", ["\ufeff", "# a\u2028b, \x0c and \x85\n", "# \r\n"])
def test_marks_of_editors_are_no_lines(mark, tmp_path):
    """A mark of the byte order; separators that editors do not count as ends of lines."""
    path = tmp_path / "my.proof"
    path.write_bytes(f"{mark}{LETTERS}step 1: a line\n  then x <= z".encode())
    line = 4 + ("\n" in mark)
    with pytest.raises(InvalidInput, match=f"my.proof, line {line}, column 13: must be a letter"):
        load(path)["1"]


def test_a_line_is_read_when_it_is_asked_for():
    proof = Proof(LETTERS + LINE + "then x <= y\nstep 2: wrong\n  then x <= $")
    assert list(proof) == ["1", "2"]
    assert proof["1"] is proof["1"]
    with pytest.raises(InvalidInput):
        proof["2"]


#: The sections cite each other.
SECTIONS = ("main_text", "loss", "one_layer", "two_layer", "initialization")
FILES = {
    "sections": SECTIONS,
    **{name: (name,) for name in ledger.FILES if name not in (*SECTIONS, "letters")},
}


#: Between them, all kinds of conclusions.
FEW = ("sections", "assumptions", "off_diagonal", "theorem_g", "theorem_two", "trajectories")


@pytest.mark.parametrize("section", FILES if FULL else FEW)
def test_what_is_written_is_read_as_it_was(section):
    claims = [claim for name in FILES[section] for claim in packaged(name).values()]
    again = Proof(proof_text(claims))
    assert [content(claim) for claim in again.values()] == [content(claim) for claim in claims]
    for reread, two in zip(again.values(), claims, strict=True):
        for new, old in itertools.zip_longest(reread, two):
            assert content(new) == content(old)
            words = ("about", "reference", "reading", "flaw")
            assert [getattr(new, name) for name in words] == [getattr(old, name) for name in words]


NAMES = ("Δ", "x + y", "3", "Y^T", "w_ij(t+1)", "naïve")


@pytest.mark.parametrize(
    "text",
    [
        WHOLE,
        f"{LETTERS}step 1: a line\n  given x != y  [case]\n  then x ≠ y",
        "letters nonnegative integer: t\nstep 1: a\n  then exp(t) >= t",
        *(f'letters real: b = "{name}"\nstep 1: a\n  then b^2 >= 0' for name in NAMES),
    ],
)
def test_what_is_written_is_read_whatever_the_names_and_traits(text):
    claims = list(Proof(text).values())
    again = list(Proof(proof_text(claims)).values())
    assert again == claims
    assert proof_text(again) == proof_text(claims)


def test_that_two_things_differ_is_said_by_either_sign():
    claim = Proof(f"{LETTERS}step 1: a line\n  given x != y  [case]\n  then x ≠ y")["1"]
    assert claim.conclusion == claim.given[0].relation
    assert claim.conclusion.rel_op == "!="
