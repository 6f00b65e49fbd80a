"""The formulas of the explorer: those of the package, printed as JavaScript.

The map comes from :mod:`swingby.theory.dynamics`, growth rates from
:mod:`swingby.theory.growth`, inequalities from :mod:`swingby.theory.assumptions`, and the
reduction of their constants from :mod:`swingby.verify.checking.reduction`. Only the closed law,
the jump over waiting times, the modified flow of small steps and the choice of constants to try
are written by hand, in ``page/``.
"""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
import sympy

from swingby.lab.explorer import limits
from swingby.lab.explorer.javascript import JavaScript, Traced, math_markup
from swingby.simulate.state import allowed_steps
from swingby.theory import assumptions, dynamics
from swingby.theory.growth import DYNAMICS, growth_rates
from swingby.theory.law.runge_kutta import STAGES
from swingby.verify.checking import evaluation, feasibility, reduction
from swingby.verify.predicted_events import LOSS_SWING

#: Numbers of which the page has the logarithm alone.
_LOGARITHMS = (assumptions.omega, assumptions.P, assumptions.beta)


def _entries(d: int) -> list[tuple[int, int]]:
    """Entries (i, j) of a symmetric matrix, i <= j, in the order of the page."""
    return [(i, j) for i in range(d) for j in range(i, d)]


def scaled_map(name: str, d: int) -> tuple[list[tuple[Any, Any]], list[Any]]:
    """What a step does to X where W = D X D, D diagonal: names with their values, and entries.

    Entries of X stay in the range of floats where those of W do not. The drift B of
    :mod:`swingby.theory.dynamics` becomes H = B' with entries h_ij = b_ij q_j / q_i, q the
    diagonal of D, which holds its squares s alone. In the symbols x_ij, r_k = eta a_k and s_k.
    For the flow, the entries are the slope.
    """
    A, _, _ = dynamics.symbols(d)
    roots, squares, rates = (sympy.symbols(f"{x}0:{d}", positive=True) for x in "qsr")
    X = sympy.Matrix(d, d, lambda i, j: sympy.Symbol(f"x{min(i, j)}{max(i, j)}"))
    D, H = sympy.diag(*roots), sympy.Matrix(d, d, lambda i, j: sympy.Symbol(f"h{i}{j}"))
    drift = sympy.expand(D.inv() * dynamics.drift(A, D * X * D) * D)
    by_name = {A[k, k]: rates[k] for k in range(d)} | {
        roots[k]: sympy.sqrt(squares[k]) for k in range(d)
    }
    shared = [
        (H[i, j], sympy.factor_terms(drift[i, j].subs(by_name))) for i in range(d) for j in range(d)
    ]
    both = H * X
    if DYNAMICS[name].of == "U":
        half = sympy.Matrix(d, d, lambda i, j: sympy.Symbol(f"y{i}{j}"))
        shared += list(zip(half, X + both, strict=True))
        new = half + half * H.T
    else:
        new = both + both.T + (X if DYNAMICS[name].of == "W" else sympy.zeros(d, d))
    return shared, [new[entry] for entry in _entries(d)]


def _map_text(name: str, d: int) -> str:
    """The function (x, r, s, out) of a map."""
    shared, new = scaled_map(name, d)
    replaced, reduced = sympy.cse(new, symbols=sympy.numbered_symbols("t"), order="none")
    value = JavaScript().value
    lines = [f"const x{i}{j} = x[{n}];" for n, (i, j) in enumerate(_entries(d))]
    lines += [f"const r{k} = r[{k}], s{k} = s[{k}];" for k in range(d)]
    for symbol, expression in (*shared, *replaced):
        lines.append(f"const {symbol} = {value(expression)};")
    lines += [f"out[{n}] = {value(expression)};" for n, expression in enumerate(reduced)]
    return "(x, r, s, out) => { " + " ".join(lines) + " }"


def _growth_text(name: str) -> str:
    signal = np.array([Traced("ai"), Traced("aj")], dtype=object)
    return f"(ai, aj, eta) => {growth_rates(signal, Traced('eta'), name)[0, 1].text}"  # type: ignore[arg-type]


def _decay_text(name: str, exponent: Traced) -> str:
    """The logarithm of the factor of an entry beside learned concepts."""
    return f"(ai, aj, eta) => {DYNAMICS[name].log_factor(-(Traced('eta') * exponent)).text}"


def _slack_text(relation: Any) -> str:
    """log10 of the larger side of an inequality over the smaller, of named numbers."""
    small, large = relation.lhs, relation.rhs
    if relation.rel_op in (">=", ">"):
        small, large = large, small
    printer = JavaScript(_LOGARITHMS)
    names = ", ".join(printer.arguments(relation))
    return f"({{ {names} }}) => slackOf({printer.log(small)}, {printer.log(large)})"


def _statements_text() -> str:
    """The inequalities of D.2 to D.5 about the numbers of a user."""
    texts = []
    for statement in assumptions.PRINTED[1:]:
        rows = []
        for condition in statement.conditions:
            if condition.about != "numbers":
                continue
            is_gap = assumptions.C in condition.relation.free_symbols
            relation, over = (evaluation.GAP if is_gap else condition).relation, condition.over
            rows.append(
                f"{{ over: {json.dumps(over)}, isGap: {json.dumps(is_gap)}, "
                f"math: {json.dumps(math_markup(relation))}, slack: {_slack_text(relation)} }}"
            )
        name, title = json.dumps(statement.id), json.dumps(statement.title)
        texts.append(f"{{ id: {name}, title: {title}, conditions: [{', '.join(rows)}] }}")
    return f"[{', '.join(texts)}]"


def _reduction_text() -> str:
    """Functions of named numbers."""
    limit = assumptions.D2.conditions[0].relation.rhs
    texts = {
        "threshold": reduction.THRESHOLD,
        "pLow": reduction.P_LOW,
        "above": reduction.ABOVE.subs(reduction.n, 1),
        "slack": reduction.SLACK,
        "alphaBound": reduction.ALPHA_BOUND,
        "largestEta": limit.subs(assumptions.alpha, sympy.Symbol("top") / assumptions.gamma),
    }
    printer, rows = JavaScript(), []
    for name, expression in texts.items():
        full = expression.subs(reduction.MEANING)
        names = ", ".join(printer.arguments(full))
        rows.append(f"{name}: ({{ {names} }}) => {printer.value(full)}")
    return f"{{ {', '.join(rows)} }}"


def _by_dynamics(function: Any) -> str:
    return "{ " + ", ".join(f"{name}: {function(name)}" for name in DYNAMICS) + " }"


def _map_texts(name: str) -> str:
    return "{ " + ", ".join(f"{d}: {_map_text(name, d)}" for d in limits.DIRECTIONS) + " }"


def generated() -> str:
    """All constants and functions that the page takes from the package, as JavaScript."""
    ai, aj = Traced("ai"), Traced("aj")
    first_math = ", ".join(
        math_markup(condition.relation)
        for condition in assumptions.D1.conditions
        if condition.about == "numbers"
    )
    values = {
        "SEEDS": limits.SEEDS,
        "MOST_DIRECTIONS": max(limits.DIRECTIONS),
        "COLUMNS": limits.COLUMNS,
        "SMALLEST_ENTRY": limits.SMALLEST_ENTRY_POWER,
        "LARGEST_ENTRY": limits.LARGEST_ENTRY,
        "MOST_SIGNAL": limits.MOST_SIGNAL,
        "MOST_CLUSTER": limits.MOST_CLUSTER,
        "LARGEST_STEP": limits.LARGEST_STEP,
        "FIRST_SIGNAL": limits.FIRST_SIGNAL,
        "FIRST_ETA": str(float(limits.FIRST_ETA)),
        "FIRST_DYNAMICS": limits.FIRST_DYNAMICS,
        "NORMALS": _numbers_each(),
        "LOSS_SWING": LOSS_SWING,
        "KAPPA": float(feasibility.KAPPA),
        "LEAST_K": float(feasibility.K),
        "ATTEMPT": float(feasibility.ATTEMPT),
        "LOG10_TWO": float(feasibility.LOG10_TWO),
        "RUNGE_KUTTA": np.asarray(STAGES).tolist(),
        "KEEPS_PSD": {name: row.keeps_psd for name, row in DYNAMICS.items()},
        "D1_MATH": first_math,
    }
    texts = {name: json.dumps(value) for name, value in values.items()} | {
        "GROWTH": _by_dynamics(_growth_text),
        "ALLOWED_STEPS": f"(g, log) => {allowed_steps(Traced('g'), Traced('log')).text}",
        "FIRST": _by_dynamics(lambda name: _decay_text(name, (ai - aj) / 2)),
        "BOTH": _by_dynamics(lambda name: _decay_text(name, ai + aj)),
        "STEP": _by_dynamics(_map_texts),
        "REDUCTION": _reduction_text(),
        "STATEMENTS": _statements_text(),
    }
    return "\n".join(f"const {name} = {text};" for name, text in texts.items())


def _numbers_each() -> int:
    """Normal numbers of each seed: a U(0) of all directions and columns."""
    return max(limits.DIRECTIONS) * limits.COLUMNS


def normals() -> str:
    """What NumPy's generator draws for each seed, as base64: seeds of the page are Python's."""
    table = [
        np.random.default_rng(seed).standard_normal(_numbers_each()) for seed in range(limits.SEEDS)
    ]
    return base64.b64encode(np.array(table, dtype="<f8").tobytes()).decode()
