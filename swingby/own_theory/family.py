"""Family: a theory at one length of its vectors, with scalars for entries, compiled for arrays."""

from __future__ import annotations

import dis
import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from swingby.own_theory.kinds import (
    Before,
    Bound,
    Each,
    Order,
    Outcome,
    Passage,
    Prediction,
    Vector,
)
from swingby.own_theory.statement import (
    Statement,
    call,
    column,
    condition,
    is_function,
    parameters,
    refused,
)

Floats = NDArray[np.float64]
Values = Mapping[str, Any]
#: A formula as a function of values by name, and of the step.
Compiled = Callable[..., Floats]
_LOG10 = float(np.log(10))


@dataclass(frozen=True, eq=False)
class Promise:
    """A prediction for an entry k, or for the whole, with its formulas compiled."""

    prediction: Prediction
    name: str
    k: int | None
    formulas: Mapping[str, Compiled]
    speaks_of: frozenset[str]
    labels: Mapping[str, Compiled]
    is_flow: bool = False

    def last_step(self, values: Values) -> Floats:
        """The step, or time of a flow, after which it is decided; nan where formulas have none."""
        form = {name: formula(values) for name, formula in self.formulas.items() if name != "below"}
        if isinstance(self.prediction, Passage):
            last = form["time"] + 2 * form["within"] + (0 if self.is_flow else 2)
        else:
            ends = form.get("until" if isinstance(self.prediction, Bound) else "at")
            last = np.zeros(values["n"]) if ends is None else ends
        return last if self.is_flow else np.ceil(last)


@dataclass(frozen=True, eq=False)
class Relation:
    """An assumption for some indices: its margin in decades, and the numbers it speaks of.

    `relation`: of scalars, or a function of the user, which returns the margin.
    """

    name: str
    relation: Any
    margin: Compiled
    speaks_of: frozenset[str]


class Family:
    """A theory at one length: its scalars, relations and promises."""

    def __init__(self, statement: Statement, length: int) -> None:
        self.statement, self.length = statement, length
        spans: dict[str, tuple[float, float]] = {}
        for symbol, span in statement.numbers.items():
            if isinstance(span, Vector):
                spans |= dict.fromkeys(self.entries(str(symbol)), (span.low, span.high))
            else:
                spans[str(symbol)] = float(span[0]), float(span[2])
        self.names = tuple(spans)
        self.low, self.high = np.array(list(spans.values())).T
        #: Numbers whose symbol is an integer.
        self.whole = frozenset(
            str(symbol) for symbol in statement.numbers if getattr(symbol, "is_integer", False)
        )
        self.usual = self.spaced(3, 0.5)
        self.relations = {relation.name: relation for relation in self._relations()}
        self.promises = tuple(self._promises())

    def entries(self, vector: str) -> list[str]:
        """The names of the entries of a vector."""
        return [f"{vector}_{q}" for q in range(1, self.length + 1)]

    def spaced(self, spacing: float, share: float) -> Floats:
        """The usual numbers, with vectors of this spacing; see :meth:`Vector.entries`."""
        usual: list[float] = []
        for span in self.statement.numbers.values():
            is_vector = isinstance(span, Vector)
            usual += span.entries(self.length, spacing, share) if is_vector else [float(span[1])]
        return np.array(usual)

    def lowered(self, formula: Any, **indices: int) -> Any:
        """A formula of scalars: sums expanded, entries as symbols, symbols matched by name."""
        expression = sp.sympify(formula)
        numbers = {"d": self.length, **indices}

        def settled(part: Any) -> Any:
            symbols = {s for s in part.free_symbols if str(s) in numbers}
            return part.subs({symbol: numbers[str(symbol)] for symbol in symbols})

        expression = settled(expression).doit()
        names = {
            x: sp.Symbol(f"{x.base}_{x.indices[0]}", positive=True)
            for x in expression.atoms(sp.Indexed)
        }
        expression = expression.xreplace(names)
        plain = {x: self._symbol(str(x)) for x in expression.free_symbols if str(x) != "t"}
        return expression.xreplace(plain)

    def _symbol(self, name: str) -> sp.Symbol:
        """The symbol of a name: numbers are positive, and what is measured is what it is said."""
        if name in self.names or name in map(str, self.statement.exists):
            return sp.Symbol(name, positive=True)
        symbol = {str(key): key for key in self.statement.measured}.get(name)
        return symbol if getattr(symbol, "is_real", False) else sp.Symbol(name, real=True)

    def compiled(
        self, formula: Any, title: str, read: Callable[..., Any], **indices: int
    ) -> Compiled:
        """A formula, or a function of the user, as a function of values."""
        if is_function(formula):
            return lambda values, step=0: read(
                title, call(formula, {**values, **indices, "t": step}), values["n"]
            )
        return _compiled(self.lowered(formula, **indices))

    def speaks_of(self, *formulas: Any) -> frozenset[str]:
        """The scalars that formulas depend on, also by way of what is measured."""
        statement, scalars = self.statement, set[str]()
        measured = {str(name): function for name, function in statement.measured.items()}
        waiting, reached = [], set[str]()
        for formula in formulas:
            if is_function(formula):
                waiting += [name for name, _ in parameters(formula)]
            else:
                waiting += [str(symbol) for symbol in sp.sympify(formula).free_symbols]
        while waiting:
            name = waiting.pop()
            if name in reached:
                continue
            reached.add(name)
            if name in measured:
                waiting += [parameter for parameter, _ in parameters(measured[name])]
            scalars.update(self.entries(name) if name in statement.vectors else [name])
        return frozenset(scalars & set(self.names))

    def _relations(self) -> list[Relation]:
        relations = []
        for name, assumption in self.statement.assume.items():
            if is_function(assumption):
                spoken = self.speaks_of(assumption)
                margin = self.compiled(assumption, f'assume: "{name}"', _margin_column)
                relations.append(Relation(name, assumption, margin, spoken))
                continue
            if not isinstance(assumption, Each):
                relations.append(self._relation(name, self.lowered(assumption)))
                continue
            symbols = assumption.relation.free_symbols
            letters = sorted({str(symbol) for symbol in symbols} & {"i", "j", "k"})
            for entries in itertools.product(range(1, self.length + 1), repeat=len(letters)):
                indices = dict(zip(letters, entries, strict=True))
                if self.lowered(assumption.when, **indices) == sp.true:
                    relation = self.lowered(assumption.relation, **indices)
                    relations.append(self._relation(f"{name}{list(entries)}", relation))
        return relations

    def _relation(self, name: str, relation: Any) -> Relation:
        return Relation(name, relation, _margin(relation), self.speaks_of(relation))

    def _promises(self) -> list[Promise]:
        promises = []
        for prediction in self.statement.predict:
            each = getattr(prediction, "each", False)
            for entry in range(1, self.length + 1) if each else (None,):
                indices = {} if entry is None else {"k": entry}
                fields = {name: getattr(prediction, name) for name in prediction.formulas}
                if isinstance(fields.get("within"), Order):
                    fields["within"] = fields["within"].e
                if isinstance(prediction, Bound) and prediction.start is None:
                    fields["start"] = int(self.statement.flow is None)
                fields = {name: formula for name, formula in fields.items() if formula is not None}
                conditions = prediction.predicted if isinstance(prediction, Outcome) else {}
                lowered = [
                    formula if is_function(formula) else self.lowered(formula, **indices)
                    for formula in (*fields.values(), *conditions.values())
                ]
                title = prediction.name if entry is None else f"{prediction.name}[{entry}]"
                formulas = {
                    name: self.compiled(formula, f"{title}: {name}", column, **indices)
                    for name, formula in fields.items()
                }
                labels = {
                    label: self.compiled(c, f"{title}: {label}", condition, **indices)
                    for label, c in conditions.items()
                }
                spoken, is_flow = self.speaks_of(*lowered), self.statement.flow is not None
                promises.append(
                    Promise(prediction, title, entry, formulas, spoken, labels, is_flow)
                )
        names = {promise.name for promise in promises}
        pairs = [(promise, promise.prediction) for promise in promises]
        return [
            p
            for p, kind in pairs
            if not isinstance(kind, Before) or {kind.first, kind.then} <= names
        ]


def _margin_column(title: str, result: Any, count: int) -> Floats:
    """The margin that an assumption of the user returned; a truth value would be none."""
    required = "its margin in decades, negative outside, such as np.log10(right / left)"
    x: Floats = column(title, result, count, f"{required}; or type a relation of sympy: h * g <= 1")
    return x


def _compiled(expression: Any) -> Compiled:
    """An expression of scalars, and of t, as a function of values by name."""
    symbols = sorted(expression.free_symbols, key=str)
    names = [str(symbol) for symbol in symbols]
    function = _numeric(symbols, expression)

    def evaluated(values: Values, step: float = 0.0) -> Floats:
        inputs = [step if name == "t" else values[name] for name in names]
        x = np.asarray(function(*inputs))
        if np.iscomplexobj(x):
            x = np.where(x.imag == 0, x.real, np.nan)
        return np.broadcast_to(x.astype(float), (values["n"],))

    return evaluated


def _numeric(symbols: list[sp.Symbol], expression: Any) -> Callable[..., Any]:
    """The expression by functions of NumPy, or of SciPy, which takes longer to load."""
    missing: list[str] = []
    for modules in ("numpy", ["scipy", "numpy"]):
        try:
            function: Callable[..., Any] = sp.lambdify(symbols, expression, modules)
        except NotImplementedError:
            continue
        ready = function.__globals__
        names = {x.argval for x in dis.get_instructions(function) if x.opname == "LOAD_GLOBAL"}
        # Those of math are of one number, not of arrays.
        functions = {name: ready.get(name, math.sqrt) for name in names}
        missing = sorted(n for n, x in functions.items() if getattr(x, "__module__", "") == "math")
        if not missing and not expression.has(sp.Integral):
            return function
    called = ", ".join(missing) or "a part"
    raise refused("formula", f"{expression} has {called} that neither NumPy nor SciPy has")


def _margin(relation: Any) -> Compiled:
    """Decades between the sides of a relation, by expanded logarithms: no product underflows."""
    if relation in (sp.true, sp.false):
        return _compiled(sp.oo if relation == sp.true else -sp.oo)
    rising = relation.rel_op in ("<", "<=")
    low, high = (relation.lhs, relation.rhs) if rising else (relation.rhs, relation.lhs)
    expanded = [sp.expand_log(sp.log(side), force=True) for side in (low, high)]
    logs = [_compiled(sp.nan if log.has(sp.I, sp.zoo) else log) for log in expanded]
    sides = _compiled(low), _compiled(high)

    def margin(values: Values) -> Floats:
        with np.errstate(all="ignore"):
            decades = (logs[1](values) - logs[0](values)) / _LOG10
            whole = np.log10(sides[1](values)) - np.log10(sides[0](values))
            decades = np.where(np.isnan(decades), whole, decades)
            # Of a side that is not positive there is no logarithm, but it is still the smaller.
            ordered = np.where(sides[1](values) >= sides[0](values), np.inf, -np.inf)
        return np.where(np.isnan(decades), ordered, decades)

    return margin
