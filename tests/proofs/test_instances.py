"""What an instance may put for a letter: of its sign, real, and of no time or chance of its own.

Each text ends in a line that is false, or in one that is true and close to it.
"""

import pytest

import swingby
from swingby.errors import InvalidInput
from swingby.proofs.audit.standing import FALLS, OPEN, QUOTED, STANDS

RATE = """letters positive: gap(t), q
letters nonnegative integer: t
step start: at the start
  then gap(0) <= q^0 gap(0)
step once: one step
  given gap(t+1) <= q gap(t)  [contraction]
        gap(t) <= q^t gap(0)  [induction]
  then gap(t+1) <= q^(t + 1) gap(0)
theorem rate: at every time
  for all t
  base (start)
  step (once)
  then gap(t) <= q^t gap(0)
"""
FALLING = """letters nonnegative: gap(t), h
letters nonnegative integer: t
lemma falling: at every time
  for all t
  given gap(t+1) <= gap(t)  [descent]
  then gap(t) <= gap(0)
"""
MEANS = """letters random real: r(t), s(t)
letters real: c, d
letters nonnegative integer: t
step outcome: each
  given r(t) <= c  [bound]
  then r(t) - c <= 0
step mean: of all
  given (outcome) in the mean
  then E(r(t)) <= c
"""
ROOM = """letters real: x, y
letters complex: z
step square: at least 0
  then x^2 >= 0
step power: above 0
  then exp(x) > 0
step inverse: not 0
  given x y = 1  [case]
  then y^2 > 0
step quotient: its denominator is not 0
  given x/y >= 0  [case]
  then y^2 > 0
"""


def last_state(text, tmp_path):
    file = tmp_path / "my.proof"
    file.write_text(text, encoding="utf-8")
    return swingby.audit(file, cache=False, progress=False).standing()[-1].state


@pytest.mark.parametrize(
    ("text", "line", "state"),
    [
        # What base and step rest on is asked for at the instance.
        (RATE, "given (rate) with q = q/100\n  then gap(t) <= (q/100)^t gap(0)", QUOTED),
        (
            RATE,
            "given (rate) with q = q/2\n        gap(t+1) <= q gap(t)/2  [halved]\n"
            "  then gap(t) <= (q/2)^t gap(0)",
            QUOTED,
        ),
        (RATE, "given (rate)\n  then gap(t) <= q^t gap(0)", STANDS),
        # What is the same at every t does not change with t.
        (
            RATE,
            "given (rate) with q = gap(t+1)/gap(t)\n  then gap(t) <= (gap(t+1)/gap(t))^t gap(0)",
            QUOTED,
        ),
        (
            RATE,
            "given (rate)\n        q = gap(t+1)/gap(t)  [definition]\n"
            "  then gap(t) <= (gap(t+1)/gap(t))^t gap(0)",
            QUOTED,
        ),
        (
            RATE,
            "given (rate)\n  where q = gap(t+1)/gap(t)\n  then gap(t) <= q^t gap(0)",
            QUOTED,
        ),
        # One line later too.
        (
            FALLING,
            "given (falling)\n        gap(t+1) <= gap(t)  [descent]\n  then gap(t+1) <= gap(0)\n"
            "step last: l\n  given (user) with gap(t) = h, gap(t+1) = h\n  then h <= gap(0)",
            QUOTED,
        ),
        (
            "letters nonnegative: n(t)\nletters nonnegative integer: t\nlemma count: c\n"
            "  for all t\n  given n(t+1) >= n(t) + 1  [growth]\n  then n(t) >= t\n",
            "given (count)\n  then 2 n(t) >= 2 t\n"
            "step last: l\n  given (user) with t = 7 t\n  then n(t) >= 7 t",
            QUOTED,
        ),
        # A real value.
        (ROOM, "given (square) with x = y^(1/2)\n  then y >= 0", QUOTED),
        (ROOM, "given (square) with x = y^(1/2)\n        y >= 1  [case]\n  then y >= 0", STANDS),
        (ROOM, "given (power) with x = log(y)\n  then y > 0", QUOTED),
        (ROOM, "given (power)\n  where x = log(y)\n  then y > 0", QUOTED),
        # No prover knows complex letters.
        (ROOM, "given (square) with x = z\n  then z^2 >= 0", OPEN),
        (ROOM, "given (square)\n  where x = z\n  then z^2 >= 0", OPEN),
        (ROOM, "given (inverse) with x = 1/y\n  then y^2 > 0", QUOTED),
        (ROOM, "given (quotient) with x = y\n  then y^2 > 0", QUOTED),
        (ROOM, "given (quotient) with x = y\n        y >= 1  [case]\n  then y^2 > 0", STANDS),
        # A mean is of what is random, and of nothing else.
        (
            MEANS,
            "given (mean) with c = s(t)\n        r(t) <= s(t)  [bound]\n  then E(r(t)) <= s(t)",
            QUOTED,
        ),
        (
            MEANS,
            "given (mean)\n        c <= d, r(t) <= 9  [case]\n  then E(r(t)) <= d, r(t) <= 9\n"
            "step last: l\n  given (user) with r(t) = s(t)\n"
            "        c <= d, s(t) <= 9  [case]\n        s(t) <= c  [bound]\n  then E(s(t)) <= d",
            QUOTED,
        ),
        (
            MEANS,
            "given (outcome) in the mean with c = s(t)\n        r(t) <= s(t)  [bound]\n"
            "  then E(r(t)) <= E(s(t))",
            STANDS,
        ),
        # A norm may be 0.
        ("letters vector: x, y\n", "then |x|^2/|x| = |x|", FALLS),
        ("letters vector: x, y\n", "then dot(x, y)/dot(x, y) = 1", FALLS),
        ("letters vector: x, y\n", "given |x| > 0  [case]\n  then |x|^2/|x| = |x|", STANDS),
        # So may a number at some t, and a letter that stands only for time t + 1 changes with t.
        (
            "letters real: s(t)\nletters nonnegative integer: t\n",
            "for all t\n  then s(t)/s(t) = 1",
            OPEN,
        ),
        (
            "letters positive: gap(t), s(t)\nletters nonnegative integer: t\n",
            "for all t\n  given s(t+1) = gap(t)  [d]\n  then gap(t) <= gap(0)",
            OPEN,
        ),
        (
            "letters random nonnegative: gap(t), s(t)\nletters nonnegative integer: t\n",
            "for all t\n  given E(s(t+1)) = E(gap(t))  [d]\n  then E(gap(t)) <= E(gap(0))",
            OPEN,
        ),
        (
            "letters random vector: x(t)\nletters nonnegative integer: t\n",
            "for all t\n  given |E(x(t+1))|^2 <= |E(x(t))|^2  [d]\n"
            "  then |E(x(t))|^2 <= |E(x(0))|^2",
            STANDS,
        ),
    ],
)
def test_what_an_instance_is_worth(text, line, state, tmp_path):
    assert last_state(f"{text}step user: u\n  {line}\n", tmp_path) == state


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        (
            FALLING,
            "given (falling) with gap(0) = 0\n  then gap(t) <= 0",
            "must not change the time",
        ),
        (
            "letters vector: x(t), star\nletters nonnegative integer: t\nlemma near: n\n"
            "  for all t\n  given |x(t+1) - star|^2 <= |x(t) - star|^2  [d]\n"
            "  then |x(t) - star|^2 <= |x(0) - star|^2\n",
            "given (near) with x(0) = star\n  then |x(t) - star|^2 <= 0",
            "must not change the time",
        ),
        (
            RATE,
            "for all t\n  where q = gap(t+1)/gap(t)\n  then gap(t) <= q^t gap(0)",
            "must be the same at every t, got q",
        ),
        (
            FALLING,
            "for all t\n  given gap(t+1) <= gap(t)/2  [induction]\n  then gap(t) <= gap(0)",
            "must have its induction hypothesis in the line of its step",
        ),
        (
            "letters positive: gap(t), s(t)^T\nletters nonnegative integer: t\n",
            "for all t\n  given s(t)^T = gap(t)  [d]\n  then gap(t) <= gap(0)",
            "must be a letter declared above, as it changes with t",
        ),
        (MEANS, "where c = r(t)\n  then E(c) = c", "must be random, as what defines it, got c"),
        (
            'letters random real: r\nletters real: b = "E[r]"\n',
            "then E(r) = b",
            "must not be named",
        ),
        ('letters real: b = "<x>"\n', "then b <= 1", "must not be named"),
        ('letters real: b = "|x|^2"\n', "then b <= 1", "must not be named"),
        ('letters real: b = "r~"\n', "then b <= 1", "must not be named"),
    ],
)
def test_what_no_line_may_say_is_refused(text, line, says, tmp_path):
    with pytest.raises(InvalidInput, match=says):
        last_state(f"{text}step user: u\n  {line}\n", tmp_path)
