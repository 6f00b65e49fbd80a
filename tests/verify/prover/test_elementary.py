"""Elementary claims, true and false: what the prover of inequalities must and must not prove.

A line reads "hypotheses |- conclusions", with ; between relations and "exists:" before an existence
claim. Letters: p q r s are positive, l m n not negative, k is an integer, the others are real.
Two lines in three, and those with ! that
take long, are left to the full profile. Which are true is by hand: each is a
standard inequality; each false one fails at a point, at a zero denominator, beyond some size, or
says something of nothing at all.
"""

import pytest
import sympy

from swingby.theory.claim import Claim, Given, MatrixIdentity
from swingby.theory.derivations.matrices import A, W
from swingby.verify.prover.judge import judge
from swingby.verify.prover.scalar.dispatch import judge_scalar

TRUE = """
# polynomials
n*(1-n) <= 1/4
x*(1-x) <= 1/4
x^2+y^2 >= 2*x*y
x^2+y^2+z^2 >= x*y+y*z+z*x
(x*u+y*v)^2 <= (x^2+y^2)*(u^2+v^2)
(x+y+z)^2 <= 3*(x^2+y^2+z^2)
x^4+y^4 >= x^3*y+x*y^3
x^4 - 2*x^2 + 1 >= 0
x^4 + 1 >= 2*x^2
x^4 + x^3 + x^2 + x + 1 > 0
x^2 + x*y + y^2 >= 0
x^2 + y^2 + 1 >= x*y + x + y
p^4+q^4+r^4+s^4 >= 4*p*q*r*s
p^3+q^3+r^3 >= 3*p*q*r
p^3+q^3 >= p^2*q+p*q^2
(p+q)*(q+r)*(r+p) >= 8*p*q*r
m^3 + n^3 >= m*n*(m+n)
k^2 >= 0
x^4*y^2 + x^2*y^4 + 1 >= 3*x^2*y^2
p^5+q^5+r^5+s^5 >= p*q*r*s*(p+q+r+s)
p*(p-q)*(p-r)+q*(q-p)*(q-r)+r*(r-p)*(r-q) >= 0
p^2*q + q^2*r + r^2*p >= 3*p*q*r
# on intervals and with hypotheses
p+q+r = 1 |- p*q*r <= 1/27
p*q*r = 1 |- p+q+r >= 3
p+q+r = 3 |- 1/p+1/q+1/r >= 3
p^2+q^2+r^2 = 1 |- p+q+r <= sqrt(3)
x >= 0; x <= 1 |- x^3 <= x
x >= 2 |- x^3 - 3*x^2 + 4 >= 0
x^2 <= 4 |- x <= 2
x^2 = 2; x > 0 |- x > 7/5
x^2 < 9 |- Abs(x) < 3
x >= 1; y >= 1 |- x*y >= x+y-1
x^2+y^2 = 1 |- x*y <= 1/2
x^2+y^2 <= 1 |- x+y <= 3/2
p+q = 1 |- p*q <= 1/4
p+q = 1 |- p^2+q^2 >= 1/2
p*q = 1 |- p+q >= 2
p+q+r = 1 |- p*q+q*r+r*p <= 1/3
x > y; y > z |- x > z
x > 0; y > x |- x*y > x^2
x <= y; z <= w |- x+z <= y+w
x != y |- (x-y)^2 > 0
x^2 + y^2 > 0; x = 0 |- y != 0
p >= 1 |- p^2 >= p
# quotients
p + 1/p >= 2
p/q + q/p >= 2
1/p + 1/q >= 4/(p+q)
(p+q+r)*(1/p+1/q+1/r) >= 9
p/(q+r)+q/(p+r)+r/(p+q) >= 3/2
x/(1+x^2) <= 1/2
1/(1+x^2) <= 1
n/(1+n) < 1
y != 0 |- x*y*(1/y) = x
x > 1 |- 1/(x-1) > 0
x > 1 |- (x^2-1)/(x-1) = x+1
p > q |- 1/p < 1/q
# roots, absolute values
(p+q+r)/3 >= (p*q*r)^(1/3)
(p*q*r)^(1/3) >= 3/(1/p+1/q+1/r)
(1+p)*(1+q)*(1+r) >= (1+(p*q*r)^(1/3))^3
sqrt((p^2+q^2)/2) >= (p+q)/2
(p+q)/2 >= sqrt(p*q)
sqrt(p+1) <= 1 + p/2
sqrt(p)+sqrt(q) >= sqrt(p+q)
sqrt(p^2+q^2) <= p+q
sqrt(x^2) = Abs(x)
sqrt(1+x^2) >= Abs(x)
Abs(x+y) <= Abs(x)+Abs(y)
Abs(x*y) = Abs(x)*Abs(y)
Abs(x) <= 1; Abs(y) <= 1 |- Abs(x*y) <= 1
Max(x,y) + Min(x,y) = x+y
Max(x,y) >= (x+y)/2
x^2+y^2 >= 2*Abs(x*y)
# exponentials and logarithms
log(p) <= p-1
log(p) >= 1 - 1/p
log(p) <= p/E
p*log(p) >= p-1
x > -1 |- log(1+x) <= x
x > 0 |- log(1+x) < x
log(1+x^2) <= x^2
log(p)-log(q) <= (p-q)/q
log((p+q)/2) >= (log(p)+log(q))/2
p > q |- log(p) > log(q)
exp(x) >= 1+x
exp(x) >= E*x
exp(n) >= 1+n+n^2/2
exp(-p) < 1
p*exp(-p) <= exp(-1)
exp(x) + exp(-x) >= 2
x < y |- exp(x) < exp(y)
exp(p) > p^2
log(p) <= 2*(sqrt(p)-1)
p^p >= exp(-1/E)
p > 1; x > 0 |- p^x > 1
pi > 3; E < 11/4 |- pi*2 > 6
sqrt(2)+sqrt(3) > 3
# existence
exists: x^2 = 4
exists: x^2 < x
exists: p*q = 1; p > 100
exists: x < 0 |- x^2 > 100
"""

FALSE = """
# boundary
p > 0 |- p >= 1
x^2 > 0
x^2 >= x
n > 0
n^2 > 0
(x-1)^2 > 0
x^4 - 2*x^2 + 1 > 0
p + 1/p > 2
(p+q)/2 > sqrt(p*q)
x^2+y^2 > 2*x*y
log(p) < p-1
x^4*y^2 + x^2*y^4 + 1 > 3*x^2*y^2
x^4*y^2 + x^2*y^4 + 99/100 >= 3*x^2*y^2
p^5+q^5+r^5+s^5 >= p*q*r*s*(p+q+r+s+1/100)
p*(p-q)*(p-r)+q*(q-p)*(q-r)+r*(r-p)*(r-q) > 0
p^2*q + q^2*r + r^2*p > 3*p*q*r
p*q*r = 1 |- p+q+r > 3
(p+q+r)/3 > (p*q*r)^(1/3)
log(p) < 2*(sqrt(p)-1)
p^p > exp(-1/E)
p > 1 |- p^x > 1
p^x >= 1
! exp(x) > 1+x
! exp(x) > E*x
p*log(p) > p-1
x <= 1 |- x < 1
x >= 0; x <= 1 |- x*(1-x) < 1/4
x >= 0; x <= 1 |- x*(1-x) <= 6/25
x^2 <= 2 |- x < 7/5
x^2 <= 2 |- x <= 1
x^3 >= 1 |- x > 1
n*(1-n) < 1/4
Abs(x) > 0
Abs(x+y) >= Abs(x)+Abs(y)
Abs(x-y) <= Abs(x)-Abs(y)
Max(x,y) > Min(x,y)
Max(x,y) <= x
Min(x,y) >= x
p+q=1 |- p*q < 1/4
p+q=1 |- p^2+q^2 > 1/2
! x^2+y^2=1 |- x*y < 1/2
p^3+q^3+r^3 > 3*p*q*r
x^2+y^2+z^2 > x*y+y*z+z*x
1/p + 1/q > 4/(p+q)
log(p) <= p/3
! log(p) < p/E
sqrt(p) <= p
sqrt(n) < n
p^2 >= p
x^3 >= x
x >= 1 |- x^2 >= x + 1
x^4 + 1 >= 2*x^2 + 1/1000
x^2 + 1 >= 2*x + 1/1000000
x^6 >= x^4
exp(x) >= 1+x+x^2/2
exp(-p) > 1 - p + p^2/2
sqrt(1+p) > 1 + p/2
sqrt(p+q) >= sqrt(p)+sqrt(q)
log(1+p) > p
log(1+p) < p/(1+p)
x > 0; x < 1 |- x^2 > x
# infinity
p < 1000000
p <= 10^100
x > -10^50
exp(p) <= 1000*p^3 + 1000
p >= 1 |- exp(p) <= p^10*1000
! log(p) <= 100
! p >= 2 |- log(p)*100 >= p
p >= 1 |- 1/p >= 1/1000
p > 10^-30
p^2 <= 10^40*p
x^3 >= -10^9
p >= 100 |- sqrt(p) >= p/1000
p >= 1 |- p^2 - 10^6*p >= -1
exp(-p) >= 1/1000
p*q <= 10^20
p/q <= 10^20
p >= 1; q >= 1 |- p*q <= 1000*(p+q)
# division and undefined
1/x > 0
x/x = 1
x*(1/x) = 1
x*y*(1/y) = x
(x^2-1)/(x-1) = x+1
x^2/x = x
x/y = x/y
x/(y-z)*(y-z) = x
x = 0 |- x/x = 1
x*y = 1 |- 1/(x-1) != 0
(x+y)/(x+y) >= 1
1/(1/x) = x
0*(1/x) = 0
1/x - 1/x = 0
x/(x^2) <= 1/Abs(x)
1/(x*y)*(x*y) = 1
n/n = 1
1/n >= 0
1/(p-q) > 0
p != q |- 1/(p-q) > 0
x < y |- 1/x > 1/y
x > 1/y |- x*y > 1
x/y <= 1 |- x <= y
(p-q)/(p-q) = 1
1/(x-y)^2 > 0
sqrt(x)^2 = x
sqrt(x)*sqrt(x) = x
sqrt(x) >= 0
sqrt(x^2) = x
sqrt(x*y) = sqrt(x*y)
log(x) <= x - 1
log(x^2) = 2*log(x)
log(x) = log(x)
exp(log(x)) = x
log(n) <= n
sqrt(p-1) <= p
1/(1-p) >= 1
! p < 2 |- 1/(1-p) >= 1
x != 1 |- 1/(1-x) > 0
1/(x^2-2) < 0
! x > 1 |- 1/(x^2-2) != 0
x^(-1) = 1/x
sqrt(x-y)^2 = x-y
log(x*y) = log(x)+log(y)
log(x/y) = log(x)-log(y)
(1+1/x)*x = x+1
x/(1+x) <= 1
log(1+x) <= x
! 1/(x^2+y^2) > 0
! x/(x^2+y^2)*2 <= 1
! 1/(p^2-p) = 1/p/(p-1)
# quantifiers
exists: x^2 < 0
exists: x^2 + 1 = 0
exists: p < 0
exists: p >= 1 |- p < 1
exists: x^2 + y^2 < 2*x*y
exists: exp(x) <= 0
exists: log(p) > p - 1
exists: x > 0 |- x + 1/x < 2
exists: x/x = 2
! exists: 1/x = 0
exists: n < 0
exists: Abs(x) < 0
exists: x < y; y < x
exists: x = y; x < y
exists: p+q=1 |- p*q > 1/4
exists: sqrt(x) < 0
exists: Max(x,y) < x
exists: x > 0; x < 0 |- y = y
# wrong use of hypotheses
x > y |- x^2 > y^2
x > y |- x*z > y*z
x^2 > y^2 |- x > y
x*y > 0 |- x > 0
x*y = 0 |- x = 0
x^2 = y^2 |- x = y
x*z = y*z |- x = y
x + y >= 2 |- x >= 1
x <= y; z <= w |- x - z <= y - w
x <= y; z <= w |- x*z <= y*w
p <= q |- 1/p <= 1/q
p <= q |- exp(-p) <= exp(-q)
x != 0 |- x > 0
x != y |- x < y
x*y <= 1 |- x <= 1
p*q = 1 |- p = 1
p*q*r = 1 |- p+q+r > 3
x+y+z = 0 |- x*y*z = 0
x^2+y^2+z^2 <= 3 |- x+y+z < 3
k >= 0 |- k >= 1
k^2 > k
2*k = 1 |- k = 0
# inconsistent hypotheses
x > 0; x < 0 |- x = 5
x > 1; x < 1 |- x = 1
x^2 < 0 |- x = 1
x^2 + 1 <= 0 |- x >= 7
p <= 0 |- p = 3
x = 1; x = 2 |- x = 3
x < y; y < z; z < x |- x = y
x^2 = 2; x = 1 |- x > 5
p + q = 0 |- p = q
exp(x) <= 0 |- x = 1
Abs(x) < 0 |- x = 1
x = x + 1 |- x = 0
"""

#: Matrices do not commute.
NONCOMMUTING = {
    "W A = A W": (W * A, A * W, False),
    "(A + W)^2": ((A + W) ** 2, A**2 + 2 * A * W + W**2, False),
    "(A + W)(A - W)": ((A + W) * (A - W), A**2 - W**2, False),
    "(A W)^2": ((A * W) ** 2, A**2 * W**2, False),
    "Tr[A W A W]": (A * W * A * W, A**2 * W**2, True),
    "A W A = A^2 W": (A * W * A, A**2 * W, False),
    "W A W = W^2 A": (W * A * W, W**2 * A, False),
    "A W^2": (A * W**2, W**2 * A, False),
}

_SIGNS = {"pqrs": {"positive": True}, "lmn": {"nonnegative": True}, "k": {"integer": True}}
LETTERS = {
    name: sympy.Symbol(name, **signs) for names, signs in _SIGNS.items() for name in names
} | {name: sympy.Symbol(name, real=True) for name in "uvwxyz"}
_RELATIONS = {
    "<=": sympy.Le,
    ">=": sympy.Ge,
    "!=": sympy.Ne,
    "<": sympy.Lt,
    ">": sympy.Gt,
    "=": sympy.Eq,
}


def relation(text):
    """One relation, nothing in it evaluated."""
    sign = next(sign for sign in _RELATIONS if sign in text)
    sides = [
        sympy.parse_expr(side.replace("^", "**"), local_dict=LETTERS, evaluate=False)
        for side in text.split(sign)
    ]
    return _RELATIONS[sign](*sides, evaluate=False)


def claim(text, **options):
    """A claim as the module's docstring writes it."""
    body = text.removeprefix("exists:")
    given, _, conclusion = body.rpartition("|-")
    goals = [relation(part) for part in conclusion.split(";")]
    return Claim(
        text,
        "step",
        "",
        goals[0] if len(goals) == 1 else sympy.Tuple(*goals),
        tuple(Given(relation(part), "case") for part in given.split(";") if part.strip()),
        quantifier="for all" if body == text else "exists",
        **options,
    )


def lines(text):
    """The claims of a list as parameters of a test."""
    found = []
    for place, line in enumerate(text.strip().splitlines()):
        if not line.startswith("#"):
            marks = [pytest.mark.full] if line.startswith("!") or place % 3 else []
            found.append(pytest.param(line.lstrip("! "), marks=marks, id=line.lstrip("! ")))
    return found


@pytest.mark.parametrize("line", lines(TRUE))
def test_true_claims_are_proved(line):
    judged = judge_scalar(claim(line), seconds=60)
    assert judged.verdict == "proved", judged
    if "|-" in line and not line.startswith("exists"):
        assert any("hypotheses" in one for one in judged.evidence), judged.evidence


@pytest.mark.parametrize("line", lines(FALSE))
def test_false_claims_are_not_proved(line):
    judged = judge_scalar(claim(line), seconds=60)
    assert judged.verdict in ("refuted", "undecided"), judged
    assert (judged.verdict == "refuted") or judged.tried


@pytest.mark.parametrize("name", NONCOMMUTING)
def test_matrices_do_not_commute(name):
    judged = judge(Claim(name, "identity", "", MatrixIdentity(*NONCOMMUTING[name])))
    assert judged.verdict == "refuted", judged


def test_the_lists_are_long_and_most_false_claims_have_a_witness():
    assert len(lines(TRUE)) >= 80
    assert len(lines(FALSE)) + len(NONCOMMUTING) >= 170
