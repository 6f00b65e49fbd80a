"""Check of exported counterexamples and proofs, by the standard library alone.

``python check.py DIR`` judges every file in a folder, ``python check.py FILE`` one, and prints what
each states, spelled by ``check_statement.py`` from what was checked. At the numbers
of a witness all hypotheses hold and the line fails, or holds where it says that something exists; a
proof is judged by ``check_proof.py`` or, between two sides that are the same,
``check_identity.py``; what is about matrices, by ``check_matrix.py``. It exits with 0 (all
accepted), 1 (some rejected, with the reason), 2 (nothing readable) or 5 (no more memory, or
something else broke). Numbers are exact fractions as long as a formula is rational, and otherwise
decimals between two bounds, with more and more digits until all is decided. A trajectory is
followed from the printed W(0) by ``replay.py``, which lies beside this file.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import hashlib
import importlib
import importlib.util
import json
import re
import signal
import sys
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from math import isqrt
from pathlib import Path
from typing import Any

FORMAT, PROOF = "swingby witness 1", "swingby proof 2"
_IDENTITIES, SUMS = ("swingby identity 1", "swingby words 1"), "swingby sums 1"
_MATRICES = "swingby matrices 1"
_KEYS = {"format", "id", "line", "given", "assumed", "fails", "values"}
#: Of a line that says that something exists: an example, at which all that it asks for holds.
_EXAMPLE = _KEYS - {"fails"} | {"holds"}
#: What a witness has besides if it is a place of a trajectory: entry (i, j) at step t, and at t_0.
RUN = {"dynamics", "signal", "eta", "W0", "i", "j", "t_0", "t", "when", "during", "until"}
#: An entry of a trajectory lies between decimals of so many digits; a trajectory is followed
#: so often at most, each time with more bits.
ENTRY_DIGITS, MOST_TIMES = 60, 4
#: What a witness has besides if its line speaks of finite sums.
_OF_SUMS = {"sums", "letters"}
#: Digits of the bounds, tried one after the other.
_DIGITS = (60, 240, 960, 3840)
#: What the file of a relation on an interval has, and how often the interval is halved at most.
INTERVAL, MOST_HALVINGS = _KEYS - {"given", "assumed", "fails", "values"} | {"holds", "on"}, 16
#: What every file says besides: which line it is, in words, as text and LaTeX, and its digest.
WORDS = {"id", "line", "statement", "latex", "digest"}
#: What is a list in every file that has it.
_LISTS = ("given", "whole", "assumed", "shows", "facts", "says", "cases", "proof")
#: A letter: one word, with a place, an index or an entry; or a name that the paper has.
_NAME = re.compile(
    r"(?!(?:exp|log|sqrt|Abs|Max|Min)\()[^\W\d]\w*'?(\([\w+-]+\))?(\^\(\d+[,/]\d+\))?(_\d+,\d+)?"
    r"|a_k \(k > s\)",
    re.ASCII,
)
#: What a formula may have before a bracket, if its arithmetic knows it in small letters.
_FUNCTIONS = ("exp", "log", "sqrt", "Abs", "Max", "Min", "over_samples", "squared_norm", "trace")
#: What is said of a letter that stands for whole numbers.
WHOLE = " is a whole number"
#: Longer powers, formulas and trajectories are refused.
MOST_POWER, MOST_BITS, MOST_TEXT, MOST_DEPTH, MOST_STEPS = 10**6, 10**6, 4000, 100, 10**6

#: A number or a sign in a formula, and the methods of an arithmetic behind each sign.
_SIGN = r"\d+|[-+*/^(), ]"
_OPERATIONS = {
    **{ast.Add: ("plus", ""), ast.Sub: ("plus", "negative")},
    **{ast.Mult: ("times", ""), ast.Div: ("times", "inverse")},
}


class _Wrong(ValueError):
    """Why a witness is rejected."""


def number(text: Any) -> Any:
    """A number such as ``-3/8*10^-90``, or between two decimals, such as ``10^(1/3)``."""
    if not isinstance(text, str):
        raise _Wrong(f"{text!r:.60} is no number")
    return formula(text, {}, _Decimals(_DIGITS[2]))


def rational(text: Any) -> Fraction:
    """A number that is a fraction."""
    value = number(text)
    if not isinstance(value, Fraction):
        raise _Wrong(f"{text!r:.60} is no fraction")
    return value


#: What a file of another form ends in.
_REFUSED = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


class _Open(_Wrong):
    """With the digits at hand, nothing is decided."""


def formula(text: str, values: dict[str, Any], arithmetic: Any) -> Any:
    """The value of a formula as it is printed, in some arithmetic.

    Python's grammar gives the tree once each letter is a name of its own; nothing of it is run.
    """
    # The longest letter first: "w_ij(t+1)" is not "w_ij" times something.
    letters = sorted(values, key=len, reverse=True)
    functions = [f"{name}(" for name in _FUNCTIONS if hasattr(arithmetic, name.lower())]
    word = re.compile("|".join([*map(re.escape, [*functions, *letters]), _SIGN]))
    if len(text) > MOST_TEXT:
        raise _Wrong("a formula is too long")
    if unknown := word.sub("", text):
        raise _Wrong(f"{unknown!r:.40} in {text!r:.40} is not understood")
    names = {letter: f" _{index} " for index, letter in enumerate(letters)} | {"^": "**"}
    python = word.sub(lambda match: names.get(match[0], match[0]), text).strip()
    try:
        tree = ast.parse(python, mode="eval")
    except (SyntaxError, MemoryError, RecursionError):
        raise _Wrong(f"{text!r:.40} is not understood") from None

    def value(node: Any, depth: int = 0) -> Any:
        if depth > MOST_DEPTH:
            raise _Wrong("a formula is too deep")
        chain = []
        while isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
            chain.append((_OPERATIONS[type(node.op)], node.right))
            node = node.left
        match node:
            case ast.Name(name):
                computed = values[letters[int(name[1:])]]
            case ast.Constant(int(number)):
                computed = Fraction(number)
            case ast.UnaryOp(ast.USub(), operand):
                computed = arithmetic.negative(value(operand, depth + 1))
            case ast.BinOp(base, ast.Pow(), power):
                computed = arithmetic.power(value(base, depth + 1), value(power, depth + 1))
            case ast.Call(ast.Name(name), [*arguments], []) if name in _FUNCTIONS:
                computed = getattr(arithmetic, name.lower())(
                    *(value(argument, depth + 1) for argument in arguments)
                )
            case _:
                raise _Wrong(f"{text!r:.40} is not understood")
        for (join, turn), operand in reversed(chain):
            second = value(operand, depth + 1)
            if (
                sum(_bits(term) for term in (computed, second) if isinstance(term, Fraction))
                > MOST_BITS
            ):
                raise _Wrong("a number is too long")
            computed = getattr(arithmetic, join)(
                computed, getattr(arithmetic, turn)(second) if turn else second
            )
        return computed

    return value(tree.body)


def _bits(number: Fraction) -> int:
    return max(number.numerator.bit_length(), number.denominator.bit_length())


class _Decimals:
    """Numbers as exact fractions, or as (low, high) with decimals between which a number lies."""

    def __init__(self, digits: int) -> None:
        self.down = Context(digits, ROUND_FLOOR, Emin=MIN_EMIN, Emax=MAX_EMAX)
        self.up = Context(digits, ROUND_CEILING, Emin=MIN_EMIN, Emax=MAX_EMAX)

    def bounds(self, x: Any) -> tuple[Decimal, Decimal]:
        if not isinstance(x, Fraction):
            return x  # type: ignore[no-any-return]
        over, under = Decimal(x.numerator), Decimal(x.denominator)
        return self.down.divide(over, under), self.up.divide(over, under)

    def negative(self, x: Any) -> Any:
        return -x if isinstance(x, Fraction) else (x[1].copy_negate(), x[0].copy_negate())

    def plus(self, x: Any, y: Any) -> Any:
        if isinstance(x, Fraction) and isinstance(y, Fraction):
            return x + y
        (a, b), (c, d) = self.bounds(x), self.bounds(y)
        return self.down.add(a, c), self.up.add(b, d)

    def times(self, x: Any, y: Any) -> Any:
        if isinstance(x, Fraction) and isinstance(y, Fraction):
            return x * y
        pairs = [(a, b) for a in self.bounds(x) for b in self.bounds(y)]
        return min(self.down.multiply(*p) for p in pairs), max(self.up.multiply(*p) for p in pairs)

    def inverse(self, x: Any) -> Any:
        low, high = self.bounds(x)
        if low <= 0 <= high:
            raise _Wrong("a division by what may be 0")
        if isinstance(x, Fraction):
            return 1 / x
        return self.down.divide(Decimal(1), high), self.up.divide(Decimal(1), low)

    def power(self, x: Any, y: Any) -> Any:
        if isinstance(y, Fraction) and y.denominator == 1:
            exact = isinstance(x, Fraction)
            if abs(y) > MOST_POWER or (exact and _bits(x) * abs(y) > MOST_BITS):
                raise _Wrong("a power is too large")
            if exact:
                return x ** int(y) if x or y >= 0 else self.inverse(x)
            powered: Any = Fraction(1)
            for _ in range(min(abs(int(y)), 64)):
                powered = self.times(powered, x)
            if abs(y) <= 64:
                return powered if y >= 0 else self.inverse(powered)
        return self.exp(self.times(y, self.log(x)))

    def exp(self, x: Any) -> Any:
        # Decimal rounds it correctly to nearest.
        if x == 0:
            return Fraction(1)
        low, high = self.bounds(x)
        below, above = self.down.exp(low), self.up.exp(high)
        return max(self.down.next_minus(below), Decimal(0)), self.up.next_plus(above)

    def log(self, x: Any) -> Any:
        if x == 1:
            return Fraction(0)
        low, high = self.bounds(x)
        if low <= 0:
            raise _Wrong("a logarithm of what may not be positive")
        return self.down.next_minus(self.down.ln(low)), self.up.next_plus(self.up.ln(high))

    def sqrt(self, x: Any) -> Any:
        low, high = self.bounds(x)
        if low < 0:
            raise _Wrong("a root of what may be negative")
        if isinstance(x, Fraction):
            root = Fraction(isqrt(x.numerator), isqrt(x.denominator))
            if root**2 == x:
                return root
        return self.down.next_minus(self.down.sqrt(low)), self.up.next_plus(self.up.sqrt(high))

    def abs(self, x: Any) -> Any:
        return self.max(x, self.negative(x))

    def max(self, *numbers: Any) -> Any:
        if all(isinstance(x, Fraction) for x in numbers):
            return max(numbers)
        both = [self.bounds(x) for x in numbers]
        largest = max(both, key=lambda pair: pair[0])
        # One of them may be the largest for certain: then it stays exact.
        if sum(high >= largest[0] for _, high in both) == 1:
            return numbers[both.index(largest)]
        return largest[0], max(high for _, high in both)

    def min(self, *given: Any) -> Any:
        return self.negative(self.max(*map(self.negative, given)))


def holds(relation: Any, values: dict[str, Any]) -> bool:
    """Whether a relation such as ``x <= y`` holds, for certain.

    Raises Wrong if no number of digits decides it, or it cannot be read.
    """
    sides = re.split(r" (<=|<|=|!=) ", relation) if isinstance(relation, str) else []
    if len(sides) == 1 and relation.endswith(WHOLE):
        value = values.get(relation.removesuffix(WHOLE))
        return isinstance(value, Fraction) and value.denominator == 1
    if len(sides) != 3:
        raise _Wrong(f"{relation!r:.60} is no relation")
    for digits in _DIGITS:
        decimals = _Decimals(digits)
        left_side, right_side = (formula(sides[index], values, decimals) for index in (0, 2))
        (a, b), (c, d) = decimals.bounds(left_side), decimals.bounds(right_side)
        if isinstance(left_side, Fraction) and isinstance(right_side, Fraction):
            a = b = left_side  # type: ignore[assignment]
            c = d = right_side  # type: ignore[assignment]
        answers = {"<=": (b <= c, a > d), "<": (b < c, a >= d)}
        answers["="] = (a == b == c == d, b < c or d < a)
        answers["!="] = answers["="][::-1]
        yes, no = answers[sides[1]]
        if yes or no:
            return yes
    raise _Open(f"{relation:.100} is not decided")


def check_sequences(values: dict[str, Any]) -> None:
    """Raise unless letters of one sequence have one value where their places are one number."""
    at_number: dict[tuple[Any, ...], Any] = {}
    for name, value in values.items():
        if (match := re.fullmatch(r"(.+?)\(([\w+-]+)\)(.*)", name)) is None:
            continue
        place: Any = match[2]
        if all(letter in values for letter in re.findall(r"[^\W\d]\w*", place)):
            place = formula(place, values, _Decimals(_DIGITS[0]))
            if not isinstance(place, Fraction):
                raise _Wrong(f"{name} stands at no fraction")
        else:
            place = _beside("check_sum").place(place)
        if at_number.setdefault((match[1], match[3], place), value) != value:
            raise _Wrong(f"{name} has another value at the same place")


def _open_on(relation: str, letter: str, low: Fraction, high: Fraction, halved: int = 0) -> str:
    """The point of an interval at which a relation is not certain, as a reason; nothing if none.

    The interval is halved until both sides, over all of a piece at once, lie apart.
    """
    small, sign, large = re.split(r" (<=|<) ", relation)
    decimals = _Decimals(_DIGITS[0])
    values = {letter: (decimals.bounds(low)[0], decimals.bounds(high)[1])}
    with contextlib.suppress(_Wrong):
        sides = [decimals.bounds(formula(side, values, decimals)) for side in (small, large)]
        if sides[0][1] < sides[1][0] or (sign == "<=" and sides[0][1] == sides[1][0]):
            return ""
    if halved == MOST_HALVINGS or low >= high:
        return f"not decided at {letter} = {float(low):.6g}: {relation:.60}"
    middle = (low + high) / 2
    return _open_on(relation, letter, low, middle, halved + 1) or _open_on(
        relation, letter, middle, high, halved + 1
    )


class Along:
    """The place of a trajectory that a witness speaks of, and what its letters are there."""

    def __init__(self, run: Any) -> None:
        if not isinstance(run, dict) or run.keys() != RUN:
            raise _Wrong("no place of a trajectory")
        if not all(isinstance(run[key], list) for key in ("when", "during", "until")):
            raise _Wrong("the conditions are no lists")
        self.run = run
        self.signal = [rational(a) for a in run["signal"]]
        self.W0 = [[rational(entry) for entry in row] for row in run["W0"]]
        self.i, self.j = (run[name] - 1 for name in "ij")
        self.start, self.end = run["t_0"], run["t"]
        if any(type(run[name]) is not int or run[name] < 0 for name in ("i", "j", "t_0", "t")):
            raise _Wrong("i, j, t_0 and t are whole numbers")
        if not (0 <= self.i < len(self.signal) > self.j >= 0 and self.start <= self.end):
            raise _Wrong("no entry, or t_0 after t")
        if self.end > MOST_STEPS:
            raise _Wrong(f"more than {MOST_STEPS} steps")
        between = range(self.start, self.end) if run["during"] else ()
        self.steps = {self.start, self.end, self.end + 1, *between}
        #: Equal for all places of one trajectory.
        self.key = json.dumps([run[name] for name in ("dynamics", "signal", "eta", "W0")])

    def follow(self, steps: set[int], before: Any = None) -> Any:
        """Bounds of W at some steps, by ``replay.py``; with more bits than before."""
        replay, last = _beside("replay"), max(steps)
        run: dict[str, Any] = {"signal": [str(a) for a in self.signal], "steps": last}
        run |= {"eta": str(rational(self.run["eta"])), "dynamics": self.run["dynamics"]}
        run |= {"W0": [[str(entry) for entry in row] for row in self.W0]}
        trajectory = replay.Run(run | {"undecided": [], "made_by": ""})
        if replay.pivots(self.W0, trajectory.d) is None:
            raise _Wrong("W(0) is not positive semidefinite")
        if before is None:
            sizes = [1 / abs(entry) for row in self.W0 for entry in row if entry]
            bits = 256 + 2 * max([int(x).bit_length() for x in sizes], default=0)
        else:
            # Where the bits were lost too early, at the same pace to the end, and some more.
            bits = before[0] * max(last, 1) // max(before[1], 1) + before[0] // 2
        if last > 10_000:
            sys.stderr.write(f"{last} steps are followed with {bits} bits\n")
        states, unit, t, rounded = {}, 1 << bits, 0, _Decimals(ENTRY_DIGITS)
        for t, (M, R, _) in enumerate(trajectory.enclosures(unit)):
            if t in steps:
                ends = [[(Fraction(x - R, unit), Fraction(x + R, unit)) for x in row] for row in M]
                states[t] = [
                    [(rounded.bounds(low)[0], rounded.bounds(high)[1]) for low, high in row]
                    for row in ends
                ]
        return bits, t, states

    @property
    def fixed(self) -> dict[str, Any]:
        """The letters that no step changes."""
        i, j = self.i, self.j
        letters = {f"a_{k}": a for k, a in enumerate(self.signal, 1)}
        letters |= {"a_i": self.signal[i], "a_j": self.signal[j], "d": Fraction(len(self.signal))}
        letters |= {"i": Fraction(i + 1), "j": Fraction(j + 1), "eta": rational(self.run["eta"])}
        return letters | {"w_ij(0)": self.W0[i][j], "w_ii(0)": self.W0[i][i]}

    def letters(self, W: Any, t: int, at: str) -> dict[str, Any]:
        """The letters of one step, `at` being "t", "t_0" or "t+1"."""
        i, j, d = self.i, self.j, len(self.signal)
        letters = {
            f"w_{x}({at})": W[p][q] for x, p, q in (("ij", i, j), ("ii", i, i), ("jj", j, j))
        }
        if at == "t+1":
            return letters
        if at == "t":
            values = {f"w_{p}{q}": W[p][q] for p in range(d) for q in range(d)}
            values |= {f"a_{k}": a for k, a in enumerate(self.signal)}
            others = [k for k in range(d) if k not in (i, j)]
            terms = [f"(a_{i} + a_{j} + 2*a_{k})*w_{k}{i}*w_{k}{j}/2" for k in others]
            total = " + ".join(terms) or "0"
            letters["N_ij(t)"] = formula(total, values, _Decimals(_DIGITS[0]))
        return letters | {at: Fraction(t)}

    def judge(self, fails: Any, values: dict[str, Any], states: dict[int, Any]) -> str:
        """Why the place is none at which the line speaks and fails; nothing if it is."""
        if not {self.start, self.end} <= states.keys():
            raise _Open("the trajectory is not known that far")
        if self.start and not self.run["when"]:
            return "t_0 is 0 in this line"
        values = values | self.letters(states[self.start], self.start, "t_0")
        for relation in self.run["when"]:
            if not holds(relation, values):
                return f"not so at t_0: {relation}"
        for t in range(self.start, self.end + 1) if self.run["during"] else ():
            for relation in self.run["during"]:
                if not holds(relation, values | self.letters(states[t], t, "t")):
                    return f"not so at step {t}: {relation}"
        values |= self.letters(states[self.end], self.end, "t")
        if self.end + 1 in states:
            values |= self.letters(states[self.end + 1], self.end + 1, "t+1")
        for relation in self.run["until"]:
            if not holds(relation, values):
                return f"not so at t: {relation}"
        return f"it holds: {fails}" if holds(fails, values) else ""


@functools.cache
def _beside(name: str) -> Any:
    """A module of trajectories, or of proofs: beside this file, or in the package."""
    beside = Path(__file__).with_name(f"{name}.py")
    if not beside.exists():
        return importlib.import_module(f"swingby.proofs.checkers.{name}")
    # Not by its name: isolated, Python does not look into this folder.
    spec: Any = importlib.util.spec_from_file_location(name, beside)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def judge_line(step: Any, signs: dict[str, str], hypotheses: list[str]) -> None:
    """Raise ValueError unless it holds: see ``check_line.py``; on a box ``check_box.py``."""
    if "box" in step:
        beside = _beside("check_proof"), _beside("check_line")
        _beside("check_box").judge(step, signs, hypotheses, formula, number, beside)
    else:
        _beside("check_line").judge(step, signs, hypotheses, line_tools(), number)


def line_tools() -> Any:
    """What ``check_line.py`` works with."""
    return _beside("check_line").tools_of(formula, _Decimals(_DIGITS[0]), _beside("check_proof"))


def digest(content: dict[str, Any]) -> str:
    """The SHA-256 of all that a file says besides."""
    body = {key: value for key, value in content.items() if key != "digest"}
    text = json.dumps(body, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def judge(content: Any, steps: dict[str, set[int]] | None = None, trajectories: Any = None) -> str:
    """Why a file is rejected; nothing if it is accepted: its words, its digest, what it shows.

    Its statement is the one that is spelled from what was checked; its LaTeX, its id and the words
    on what the line says are not compared with that.
    """
    if not isinstance(content, dict) or not content.keys() > WORDS:
        return f"ValueError: no {', '.join(sorted(WORDS))}"
    if not all(isinstance(content[key], str) for key in WORDS) or not content["statement"]:
        return "ValueError: the words are no texts"
    if not (content["id"].isprintable() and content["line"].isprintable()):
        return "ValueError: the name of the line is not on one line"
    try:
        if digest(content) != content["digest"]:
            return "ValueError: the digest is not that of the content"
    except _REFUSED as error:
        return f"{type(error).__name__}: {error}"[:200]
    shown = {key: value for key, value in content.items() if key not in WORDS - {"id"}}
    if reason := judge_shown(shown | {"line": ""}, steps, trajectories):
        return reason
    try:
        same = content["statement"] == statement(content)
    except _REFUSED as error:
        return f"{type(error).__name__}: {error}"[:200]
    return "" if same else "the statement is not what the file shows"


def statement(content: Any) -> str:
    """What a file states, spelled from what is checked."""
    return str(_beside("check_statement").statement(content))


def judge_shown(
    content: Any, steps: dict[str, set[int]] | None = None, trajectories: Any = None
) -> str:
    """Why what a file shows is rejected; nothing if it is accepted.

    `steps` are those that other witnesses need of the same trajectory, and `known` keeps it.
    """
    try:
        kind = content.get("format") if isinstance(content, dict) else None
        lists = {key: content.get(key, []) for key in _LISTS} if kind else {}
        if not all(isinstance(listed, list) for listed in lists.values()):
            raise _Wrong(f"{', '.join(_LISTS)} are lists")
        if not all(isinstance(x, str) for key in ("given", "whole") for x in lists.get(key, [])):
            raise _Wrong("a hypothesis, or a letter for whole numbers, is no text")
        if kind == _MATRICES:
            values = content.get("values", {}) | content.get("sizes", {})
            plain = {x: value for x, value in values.items() if not isinstance(value, list)}
            check_sequences(values | {x: rational(str(value)) for x, value in plain.items()})
            return str(_beside("check_matrix").judge(content, formula, _beside("check_proof")))
        if kind in (PROOF, SUMS, *_IDENTITIES):
            proofs, identities = (_beside(name) for name in ("check_proof", "check_identity"))
            if kind == SUMS:
                return str(_beside("check_sum").judge(content, proofs, formula, holds, judge_line))
            if kind == PROOF:
                return str(proofs.judge(content, formula, holds, judge_line))
            return str(identities.judge(content, formula, proofs))
        if kind == FORMAT and content.keys() == INTERVAL:
            letter, low, high = content["on"]
            if not _NAME.fullmatch(letter):
                raise _Wrong(f"{letter!r:.40} is no letter")
            if rational(low) > rational(high):
                raise _Wrong("no interval")
            return _open_on(content["holds"], letter, rational(low), rational(high))
        if kind != FORMAT:
            raise _Wrong(f"no {FORMAT}")
        if content.keys() - {"run"} - _OF_SUMS not in (_KEYS, _EXAMPLE) or not content.get(
            "holds", [1]
        ):
            raise _Wrong(f"the keys are not those of {FORMAT}")
        if not isinstance(content.get("holds", []), list):
            raise _Wrong("the relations are no list")
        if not isinstance(content["values"], dict):
            raise _Wrong("the values are no object")
        if refused := [name for name in content["values"] if not _NAME.fullmatch(name)]:
            raise _Wrong(f"{refused[0]!r:.40} is no letter")
        values = {name: number(text) for name, text in content["values"].items()}
        check_sequences(values)
        along = Along(content["run"]) if "run" in content else None
        if along is not None:
            if along.fixed.keys() & values.keys() or any("(" in name for name in values):
                raise _Wrong("a letter of the trajectory has a value besides")
            values |= along.fixed
        signal = [values[name] for name in sorted(values) if re.fullmatch(r"a_\d", name)]
        hypotheses = content["given"]
        if "sums" in content:
            numbers = _Decimals(_DIGITS[2])
            hypotheses, values = _beside("check_sum").at_numbers(content, values, formula, numbers)
        for relation in hypotheses:
            if not holds(relation, values):
                return f"not given: {relation}"
        ranges: dict[str, list[dict[str, Fraction]]] = {"": [{}]}
        ranges["concept"] = [{"a_k": a} for a in signal]
        ranges["pair"] = [{"a_i": i, "a_j": j} for i in signal for j in signal if i > j]
        if along is not None:
            ranges["entry"] = [{"w_ij(0)": entry} for row in along.W0 for entry in row]
        for over, relation in content["assumed"]:
            for assignment in ranges[over]:
                if not holds(relation, values | assignment):
                    return f"not assumed: {relation}"
        for name in ("a_i", "a_j", "a_k"):
            if signal and values.get(name, signal[0]) not in signal:
                return f"{name} is none of the signals"
        if along is not None:
            trajectories = {} if trajectories is None else trajectories
            needed = along.steps | (steps or {}).get(along.key, set())
            for tries_left in reversed(range(MOST_TIMES)):
                if along.key not in trajectories:
                    trajectories[along.key] = along.follow(needed)
                try:
                    return along.judge(content["fails"], values, trajectories[along.key][2])
                except _Open:
                    if not tries_left:
                        raise
                    trajectories[along.key] = along.follow(needed, trajectories[along.key])
        for relation in content.get("holds", []):
            if not holds(relation, values):
                return f"it fails: {relation}"
        if "holds" in content:
            return ""
        return f"it holds: {content['fails']}" if holds(content["fails"], values) else ""
    except _REFUSED as error:
        return f"{type(error).__name__}: {error}"[:200]


def main(arguments: list[str]) -> int:
    """Judge files, or those in a folder, a line each."""
    files: list[Path] = []
    for path in map(Path, arguments or ["."]):
        files += sorted(path.glob("*.json")) if path.is_dir() else [path] * path.is_file()
    contents: dict[Path, Any] = {}
    steps: dict[str, set[int]] = {}
    rejected, trajectories = 0, dict[str, Any]()
    for path in files:
        try:
            with path.open("rb") as file:
                contents[path] = json.loads(file.read(1 << 20).decode())
            along = Along(contents[path]["run"])
            steps.setdefault(along.key, set()).update(along.steps)
        except (OSError, ValueError, RecursionError, KeyError, TypeError):
            continue  # no trajectory; what is wrong is said below
    for path in files:
        content = contents.get(path, "unreadable")
        reason = judge(content, steps, trajectories)
        rejected += bool(reason)
        name = content["id"] if not reason else path.name
        verdict = f"rejected  {name}: {reason}" if reason else f"accepted  {name}"
        sys.stdout.write("".join(x if x.isprintable() else "?" for x in verdict) + "\n")
        for line in [] if reason else content["statement"].split("\n"):
            sys.stdout.write(f"    {line}\n")
        sys.stdout.flush()
    if rejected < len(files):
        sys.stdout.write("Only the indented text was checked: no name of a line, no LaTeX.\n")
    sys.stdout.write(f"{len(files) - rejected} of {len(files)} accepted\n")
    return 2 if not files else int(bool(rejected))


if __name__ == "__main__":
    with contextlib.suppress(AttributeError):  # where the reader leaves, 141 and no verdict
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        sys.exit(main(sys.argv[1:]))
    except Exception as error:  # a run that broke rejects nothing
        sys.stderr.write(f"something broke: {type(error).__name__}: {error}\n")
        sys.exit(5)
