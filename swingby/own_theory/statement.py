"""Statement: the parts of a theory of one's own, refused in a sentence where they do not fit."""

from __future__ import annotations

import functools
import inspect
import math
import sys
import sysconfig
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Number
from pathlib import Path
from typing import Any

import numpy as np
import sympy as sp
from sympy.logic.boolalg import Boolean

import swingby
from swingby.errors import MISSING, InvalidInput
from swingby.hints import Hinted, suggestion
from swingby.own_theory.kinds import Before, Bound, Each, Order, Passage, Prediction, Value, Vector
from swingby.theory.numbers import whole

#: Names of options of the verbs, and of what every function may ask for: no number bears them.
RESERVED = ("rng", "steps", "seconds", "count", "at", "vary", "store", "title", "d", "t", "n")
_INDICES = {"i", "j", "k"}
#: Folders of modules that are no code of the user.
LIBRARIES = (
    str(Path(swingby.__file__).parent),
    *map(sysconfig.get_path, ("stdlib", "purelib", "platlib")),
)
#: What errors say where an array stands for one number.
_OF_ONE_NUMBER = ("truth value of an array", "can be converted to")
#: Kinds of arrays in words; and what conditions return, but nothing else.
FLAGS = "True or False"
_REAL = "real numbers"
_KINDS = {**dict.fromkeys("iuf", "numbers"), "b": FLAGS, "c": "complex numbers", "U": "text"}
#: Words for a step size, which stand for each other in a hint.
_STEP_SIZES = {"eta", "lr", "h", "dt", "step_size", "learning_rate", "gamma"}


def refused(argument: str, requirement: str) -> InvalidInput:
    """An error about a part of a theory, which has no value of its own."""
    return InvalidInput(argument, MISSING, requirement)


@functools.lru_cache(1000)
def parameters(function: Callable[..., Any]) -> tuple[tuple[str, bool], ...]:
    """The parameters of a function by name, and whether each has to be passed."""
    entries = inspect.signature(function).parameters.values()
    return tuple((entry.name, entry.default is entry.empty) for entry in entries)


def call(function: Callable[..., Any], values: Mapping[str, Any], *states: Any) -> Any:
    """A function of the user, with what its parameters name; `states` are its first ones.

    It gets copies of arrays: code that changes its arguments in place changes nothing else. An
    error in it is refused with its line.
    """
    names = [name for name, _ in parameters(function)[len(states) :]]
    inputs = {name: _copy(values[name]) for name in names if name in values}
    try:
        return function(*map(_copy, states), **inputs)
    except InvalidInput:
        raise
    except Exception as error:
        title = getattr(function, "__name__", "function")
        advice = ""
        if any(words in str(error) for words in _OF_ONE_NUMBER):
            advice = ": arguments are arrays, an entry for each setting (write np.where for if)"
        raise refused(title, f"{ended(error)}{advice}") from error


def ended(error: Exception) -> str:
    """How code of the user ended, with the last line of hers that ran."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if not frame.filename.startswith((*LIBRARIES, "<frozen"))]
    where = f" at line {own[-1].lineno} of {Path(own[-1].filename).name}" if own else ""
    return f"must run without an error, but ends in {type(error).__name__}: {error}{where}"


def _copy(x: Any) -> Any:
    if isinstance(x, tuple):
        return tuple(map(_copy, x))
    return x.copy() if isinstance(x, np.ndarray) else x


def _kind(result: Any) -> str:
    """What a function of the user returned, in words."""
    if result is None:
        return "None"
    try:
        array = np.asarray(result)
    except ValueError:
        return "arrays of several shapes"
    if array.dtype != object:
        return _KINDS.get(array.dtype.kind, f"values of {array.dtype}")
    others = [x for x in array.flat if not isinstance(x, Number | sp.Number) or isinstance(x, bool)]
    return f"{type(others[0]).__name__}, {others[0]!s:.40}" if others else "numbers"


def real(title: str, result: Any, required: str = _REAL) -> Any:
    """What a function of the user returned, as real numbers; refused if it is anything else."""
    kind = _kind(result)
    if kind != "numbers":
        advice = ": write 1.0 * (...) to count" if (kind, required) == (FLAGS, _REAL) else ""
        raise refused(title, f"returned {kind}, must return {required}{advice}")
    return np.asarray(result, float)


def column(title: str, result: Any, count: int, required: str = _REAL) -> Any:
    """What a function of the user returned, as a real number for each setting, (count,)."""
    x = real(title, result, required)
    if x.shape not in ((), (1,), (count,)):
        form = f"must have ({count},): settings are the last axis"
        raise refused(title, f"returned shape {x.shape} for {count} settings, {form}")
    return np.broadcast_to(x, (count,))


def condition(title: str, result: Any, count: int) -> Any:
    """What a function of the user returned, as 1 where its condition holds and 0 elsewhere."""
    if (kind := _kind(result)) != FLAGS:
        raise refused(title, f"returned {kind}, must return {FLAGS} for each setting")
    return column(title, 1.0 * np.asarray(result), count)


def state_of(title: str, result: Any, before: Any = None) -> Any:
    """What `start`, or `step` after the state `before`, returned: an array or a tuple of arrays."""
    if isinstance(result, tuple):
        olds = before if isinstance(before, tuple) else (before,) * len(result)
        return tuple(state_of(title, x, old) for x, old in zip(result, olds, strict=False))
    kind = _kind(result)
    was_number = before is not None and _kind(before) != FLAGS
    if kind not in ("numbers", "complex numbers", FLAGS) or (kind == FLAGS and was_number):
        raise refused(title, f"returned {kind}, must return the numbers of its state")
    return np.asarray(result)


def is_function(formula: Any) -> bool:
    """Whether a formula, or an assumption, is a function of the user; sympy has callables, too."""
    return callable(formula) and not isinstance(formula, sp.Basic)


def _meant(name: str, names: Iterable[str]) -> str:
    close = suggestion(name, names)
    sizes = [other for other in names if name in _STEP_SIZES and other in _STEP_SIZES]
    return close or (f"; did you mean {sizes[0]}?" if sizes else "")


#: What to type for each part of a theory.
_PARTS = {
    "name": 'Theory("decay", ...)',
    "numbers": "numbers={h: (0.01, 0.1, 1)}, low, usual and high of each symbol",
    "assume": 'assume={"small step": h <= 0.5}, or assume={}',
    "start": "start=lambda x0: 1 * x0, the state at step 0",
    "step": "step=lambda x, h: x - h * x, or flow= in place of it, or step=None without motion",
    "observe": 'observe={"x": lambda x: x}, functions of the state',
    "predict": 'predict=[Bound("rate", "x", below=1)]',
    "lengths": "lengths=[2, 3]",
}


@dataclass(frozen=True, eq=False)
class Statement(Hinted):
    """The parts of a theory; see :class:`swingby.Theory`."""

    name: str = MISSING
    numbers: Mapping[Any, Any] = MISSING  # type: ignore[assignment]
    assume: Mapping[str, Any] = MISSING  # type: ignore[assignment]
    start: Callable[..., Any] | None = MISSING  # type: ignore[assignment]
    step: Callable[..., Any] | None = MISSING  # type: ignore[assignment]
    observe: Mapping[str, Callable[..., Any]] = MISSING  # type: ignore[assignment]
    predict: Sequence[Prediction] = MISSING  # type: ignore[assignment]
    flow: Callable[..., Any] | None = None
    runs: Callable[..., Any] | None = None
    draws: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    measured: Mapping[Any, Callable[..., Any]] = field(default_factory=dict)
    exists: Mapping[Any, tuple[float, float]] = field(default_factory=dict)
    lengths: Sequence[int] = (1,)
    seeds: int = 1
    steps: int = 20_000
    proof: str | Path = ""
    reference: str = ""

    def __post_init__(self) -> None:
        self._check_parts()
        for symbol, span in self.numbers.items():
            _check_range(symbol, span)
        for where in ("numbers", "draws", "measured", "exists"):
            for symbol in getattr(self, where):
                if str(symbol) in RESERVED:
                    listed = f"call it otherwise (reserved: {', '.join(RESERVED)})"
                    raise refused(f"{where}:", f"{symbol} is a name of an option, {listed}")
        for name, relation in self.assume.items():
            self._check_relation(name, relation)
        self._check_functions()
        self._check_predictions()

    def _check_parts(self) -> None:
        """Refuse parts that are missing or of another kind, such as one prediction for a list."""
        spared: dict[str, Any] = {} if self.flow is self.runs is None else {"step": None}
        spared |= {} if self.runs is None else {"start": None, "observe": {}}
        for name in spared:
            if getattr(self, name) is MISSING:
                object.__setattr__(self, name, spared[name])
        for name, form in _PARTS.items():
            if getattr(self, name) is MISSING:
                raise InvalidInput(name, MISSING, f"must be given: {form}")
        for name in ("numbers", "assume", "observe", "draws", "measured", "exists"):
            if not isinstance(getattr(self, name), Mapping):
                form = _PARTS.get(name, f"{name}={{...}}")
                raise InvalidInput(name, getattr(self, name), f"must be a dict: {form}")
        if not self.numbers:
            raise InvalidInput("numbers", "{}", f"must not be empty: {_PARTS['numbers']}")
        for name in ("predict", "lengths"):
            parts = getattr(self, name)
            is_list = isinstance(parts, Sequence) and not isinstance(parts, str)
            if not is_list or (name == "lengths" and not parts):
                raise InvalidInput(name, parts, f"must be a list: {_PARTS[name]}")
        for part in self.predict:
            if not isinstance(part, Prediction):
                raise InvalidInput("predict", part, f"must be of swingby.own: {_PARTS['predict']}")
        for name, row in {
            "lengths": self.lengths,
            "seeds": [self.seeds],
            "steps": [self.steps],
        }.items():
            for number in row:
                whole(number, name, 1)

    @property
    def longest(self) -> float:
        """Runs are not longer than this: in steps, and any finite time of a flow."""
        return self.steps if self.flow is None else sys.float_info.max

    @property
    def vectors(self) -> dict[str, Vector]:
        """The vectors among the numbers."""
        return {str(name): span for name, span in self.numbers.items() if isinstance(span, Vector)}

    @property
    def known(self) -> list[str]:
        """All names that formulas and functions may speak of."""
        mappings = (self.numbers, self.draws, self.measured, self.exists)
        return [*(str(name) for mapping in mappings for name in mapping), "d", "t"]

    def _check_relation(self, name: str, assumption: Any) -> None:
        if is_function(assumption):
            self.check_parameters(f'"{name}"', assumption)
            return
        relation = assumption.relation if isinstance(assumption, Each) else assumption
        if isinstance(relation, np.ndarray | str):
            raise refused("assume:", f'"{name}" must be a relation of sympy, or a function')
        if isinstance(relation, bool) or relation in (sp.true, sp.false):
            required = "both sides are plain numbers; write it with the symbols of the theory"
            raise refused("assume:", f'"{name}" is {bool(relation)} at every setting: {required}')
        if getattr(relation, "rel_op", "") not in ("<", "<=", ">", ">="):
            raise refused("assume:", f'"{name}" must be a relation of sympy with <=, <, >= or >')
        indices = _INDICES if isinstance(assumption, Each) else set()
        self._check_symbols("assume:", f'"{name}"', relation, indices)

    def _check_formula(
        self, title: str, name: str, formula: Any, indices: set[str], kind: Any
    ) -> None:
        if is_function(formula):
            self.check_parameters(title, formula)
            return
        try:
            expression = sp.sympify(formula, strict=True)
        except sp.SympifyError:
            expression = None
        if isinstance(expression, sp.Expr) == (kind is Boolean) or not isinstance(expression, kind):
            what = "a relation of sympy" if kind is Boolean else "a formula of sympy, a number"
            required = f"must have {what}, or a function of the numbers, got {formula!s:.40}"
            raise refused("predict:", f"{title}: {name} {required}")
        self._check_symbols("predict:", title, formula, indices)

    def _check_symbols(self, argument: str, title: str, formula: Any, indices: set[str]) -> None:
        symbols = sp.sympify(formula).free_symbols
        names = {str(symbol) for symbol in symbols if not isinstance(symbol, sp.Indexed)}
        if sp.sympify(formula).has(sp.I, sp.zoo, sp.nan):
            raise refused(argument, f"{title} has no real value: {formula}")
        for name in (
            sorted(names & {str(name) for name in self.exists}) if argument[0] == "p" else ()
        ):
            raise refused(argument, f"{title} speaks of {name}, which only has to exist")
        for name in sorted(names - {*self.known, *indices}):
            numbers = [str(symbol) for symbol in self.numbers]
            has = f"which is not a number of the theory ({', '.join(numbers)})"
            hint = _meant(name, self.known)
            if name in _INDICES:
                hint = "; write Each(relation) in an assumption, each=True in a prediction"
            raise refused(argument, f"{title} speaks of {name}, {has}{hint}")

    def _check_functions(self) -> None:
        functions: dict[str, tuple[Any, int]] = (
            {"start": (self.start, 0)} if self.runs is None else {"runs": (self.runs, 0)}
        )
        functions = functions if self.predict else {}  # assumptions alone are only checked
        functions |= {} if self.step is None else {"step": (self.step, 1)}
        functions |= {} if self.flow is None else {"flow": (self.flow, 1)}
        if self.flow is not None and (self.step, self.runs, self.seeds) != (None, None, 1):
            raise refused("flow", "stands in place of step= and runs=, and has no seeds")
        functions |= {f"observe[{name!r}]": (f, 1) for name, f in self.observe.items()}
        functions |= {f"draws[{name!r}]": (f, 0) for name, f in self.draws.items()}
        functions |= {f"measured[{str(name)!r}]": (f, 0) for name, f in self.measured.items()}
        for title, (function, states) in functions.items():
            self.check_parameters(title, function, states)

    def check_parameters(self, title: str, function: Any, states: int = 0) -> None:
        """Refuse a function that asks for what the theory does not have."""
        if not callable(function):
            raise InvalidInput(title, function, "must be a function")
        for name, needed in parameters(function)[states:]:
            if needed and name not in {*self.known, "rng", "n", *("k" * (title[0] == '"'))}:
                has = f"which the theory does not have: {', '.join(self.known)}"
                raise refused(title, f"asks for {name}, {has}{_meant(name, self.known)}")

    @staticmethod
    def _check_range_of(prediction: Prediction, title: str) -> None:
        """Refuse a promise of nothing, and plain numbers that are out of range."""
        if isinstance(prediction, Bound):
            if prediction.below is None and prediction.above is None:
                raise refused("predict:", f"{title} needs below= or above=")
            start, until = _number(prediction.start), _number(prediction.until)
            if until is not None and until < (start or 0):
                raise refused("predict:", f"{title} has no step from {start or 0:g} to {until:g}")
        for name in {"at", "within"} & {*prediction.formulas}:
            number = _number(getattr(prediction, name))
            if number is not None and not 0 <= number < math.inf:
                raise refused("predict:", f"{title} has {name}={number:g}, must be 0 or more")
            is_stat = isinstance(prediction, Value) and prediction.stat != ""
            if number == 0 and name == "within" and is_stat:
                raise refused("predict:", f"{title} has within=0, which no number of seeds shows")

    def _check_predictions(self) -> None:
        names = [prediction.name for prediction in self.predict]
        for prediction in self.predict:
            title = f'"{prediction.name}"'
            if names.count(prediction.name) > 1:
                raise refused("predict:", f"{title} must be the name of one prediction")
            if isinstance(prediction, Before):
                passages = [p.name for p in self.predict if isinstance(p, Passage)]
                for name in (prediction.first, prediction.then):
                    if name.partition("[")[0] not in passages:
                        has = f"which is no passage ({', '.join(passages)})"
                        raise refused("predict:", f"{title} compares {name}, {has}")
                continue
            indices = {"k"} if getattr(prediction, "each", False) else set[str]()
            for name in prediction.formulas:
                formula = getattr(prediction, name)
                bare = formula.e if isinstance(formula, Order) else formula
                if bare is not None or not isinstance(prediction, Bound):
                    self._check_formula(title, name, bare, indices, sp.Expr)
            for label, formula in getattr(prediction, "predicted", {}).items():
                self._check_formula(title, label, formula, indices, Boolean)
            of = getattr(prediction, "of", "")
            if of not in self.observe and self.runs is None:
                listed = f"which is not observed ({', '.join(self.observe)})"
                raise refused("predict:", f"{title} is of {of}, {listed}")
            if isinstance(prediction, Bound) and self.runs is not None:
                raise refused("predict:", f"{title} is a bound, of which runs= shows nothing")
            if isinstance(prediction, Value) and prediction.stat not in ("", "mean", "var"):
                raise InvalidInput("stat", prediction.stat, 'must be "mean" or "var"')
            if isinstance(prediction, Value) and prediction.stat and self.seeds < 2:
                raise refused("seeds", f"must be at least 2 for {title}, give seeds=400")
            self._check_range_of(prediction, title)


def _number(formula: Any) -> float | None:
    """A formula that is a plain number."""
    if formula is None or isinstance(formula, Order) or is_function(formula):
        return None
    number = sp.sympify(formula)
    return float(number) if number.is_real and number.is_number else None


def _check_range(symbol: Any, span: Any) -> None:
    """Refuse a number without (low, usual, high)."""
    is_vector = isinstance(span, Vector)
    if is_vector != isinstance(symbol, sp.IndexedBase):
        pair = "IndexedBase of sympy and a Vector" if is_vector else "Symbol and (low, usual, high)"
        raise InvalidInput(f"numbers: {symbol}", span, f"must be an {pair} together")
    try:
        low, usual, high = (span.low, span.usual, span.high) if is_vector else map(float, span)
    except (TypeError, ValueError):
        raise InvalidInput(f"numbers: {symbol}", span, "must be (low, usual, high)") from None
    if not 0 < low <= usual <= high < math.inf:
        required = (
            "must be 0 < low <= usual <= high, finite; a sign is to be written in the formulas"
        )
        raise InvalidInput(f"numbers: {symbol}", span, required)
    if getattr(symbol, "is_integer", False) and any(x != int(x) for x in (low, usual, high)):
        raise InvalidInput(f"numbers: {symbol}", span, "must be whole, as its symbol is")
