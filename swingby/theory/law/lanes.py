"""Compiled: many walks at once, a few lanes at a time. Imports numba, so import it late."""

from __future__ import annotations

import math
import types
from typing import Any

import numpy as np
from numba import njit

from swingby.theory.law import tape, walk
from swingby.theory.law.coordinates import FIFTH, STAGES, THIRD

#: Lanes that go side by side: a few vectors of the machine.
LANES = 16
_OPTIONS = {"fastmath": False, "nogil": True, "error_model": "numpy"}
ADD, MULTIPLY, DOT, DOT_TURNED, TURN, SYMMETRIC, SOLVE, EXP, DIAGONAL, INVERT = range(10)
_U, _Z, _V = 0, 1, 2
_RESULT = len(tape.ARGUMENTS)


@njit(**_OPTIONS)
def carry_out(code: Any, factors: Any, registers: Any) -> None:
    """Every instruction in turn, on registers (count, d, d, LANES)."""
    d = registers.shape[1]
    size = d * d * LANES
    flat = registers.reshape((registers.shape[0], size))
    for n in range(code.shape[0]):
        operation, out = code[n, 0], code[n, 1]
        c, a, b = registers[out], registers[code[n, 2]], registers[code[n, 3]]
        fa, fb = factors[n, 0], factors[n, 1]
        if operation == ADD:
            x, y, r = flat[code[n, 2]], flat[code[n, 3]], flat[out]
            for i in range(size):
                r[i] = fa * x[i] + fb * y[i]
        elif operation == MULTIPLY:
            x, y, r = flat[code[n, 2]], flat[code[n, 3]], flat[out]
            both = fa * fb
            for i in range(size):
                r[i] = both * (x[i] * y[i])
        elif operation == DOT:
            both = fa * fb
            for i in range(d):
                for j in range(d):
                    for lane in range(LANES):
                        c[i, j, lane] = both * a[i, 0, lane] * b[0, j, lane]
                for k in range(1, d):
                    for j in range(d):
                        for lane in range(LANES):
                            c[i, j, lane] += both * a[i, k, lane] * b[k, j, lane]
        elif operation == DOT_TURNED:
            both = fa * fb
            for i in range(d):
                for j in range(d):
                    for lane in range(LANES):
                        c[i, j, lane] = both * a[i, 0, lane] * b[j, 0, lane]
                    for k in range(1, d):
                        for lane in range(LANES):
                            c[i, j, lane] += both * a[i, k, lane] * b[j, k, lane]
        elif operation == TURN:
            for i in range(d):
                for j in range(d):
                    for lane in range(LANES):
                        c[i, j, lane] = fa * a[j, i, lane]
        elif operation == SYMMETRIC:
            for i in range(d):
                for j in range(d):
                    for lane in range(LANES):
                        c[i, j, lane] = fa * (a[i, j, lane] + a[j, i, lane])
        elif operation == SOLVE:
            for i in range(d):
                for j in range(d):
                    for lane in range(LANES):
                        c[i, j, lane] = fb * b[i, j, lane]
                for k in range(i):
                    for j in range(d):
                        for lane in range(LANES):
                            c[i, j, lane] -= a[i, k, lane] * c[k, j, lane]
        elif operation == EXP:
            for j in range(d):
                for lane in range(LANES):
                    c[0, j, lane] = math.exp(fa * a[0, j, lane])
                for i in range(1, d):
                    for lane in range(LANES):
                        c[i, j, lane] = c[0, j, lane]
        elif operation == DIAGONAL:
            for j in range(d):
                for i in range(d):
                    for lane in range(LANES):
                        c[i, j, lane] = fa * a[j, j, lane]
        else:
            for i in range(size):
                x, r = flat[code[n, 2]], flat[out]
                r[i] = 1.0 / (fa * x[i]) if x[i] != 0.0 else 0.0


@njit(**_OPTIONS)
def take_slope(y: Any, code: Any, factors: Any, registers: Any, found: Any) -> None:
    """The derivative of y (d, d + 2, LANES) into `found`."""
    d = y.shape[0]
    for i in range(d):
        for j in range(d):
            for lane in range(LANES):
                registers[_U, i, j, lane] = y[j, 0, lane]
                registers[_Z, i, j, lane] = y[j, 1, lane]
                registers[_V, i, j, lane] = y[i, j + 2, lane]
    carry_out(code, factors, registers)
    for i in range(d):
        for lane in range(LANES):
            found[i, 0, lane] = registers[_RESULT, 0, i, lane]
            found[i, 1, lane] = registers[_RESULT + 1, 0, i, lane]
        for j in range(d):
            for lane in range(LANES):
                found[i, j + 2, lane] = registers[_RESULT + 2, i, j, lane]


@njit(**_OPTIONS)
def take_attempt(y: Any, dt: Any, code: Any, factors: Any, registers: Any, slopes: Any, new: Any) -> None:
    """All stages of a step; slopes (15, d, d + 2, LANES): stages, the end, two error estimates."""
    d = y.shape[0]
    width = (d + 2) * LANES
    for stage in range(12):
        for i in range(d):
            for j in range(d + 2):
                for lane in range(LANES):
                    new[i, j, lane] = 0.0
                for m in range(stage + 1):
                    weight = STAGES[stage, m]
                    if weight != 0.0:
                        for lane in range(LANES):
                            new[i, j, lane] += weight * slopes[m, i, j, lane]
                for lane in range(LANES):
                    new[i, j, lane] = y[i, j, lane] + dt[lane] * new[i, j, lane]
        take_slope(new, code, factors, registers, slopes[stage + 1])
    for i in range(d):
        for j in range(d + 2):
            for lane in range(LANES):
                slopes[13, i, j, lane] = 0.0
                slopes[14, i, j, lane] = 0.0
            for m in range(12):
                if FIFTH[m] != 0.0 or THIRD[m] != 0.0:
                    for lane in range(LANES):
                        slopes[13, i, j, lane] += FIFTH[m] * slopes[m, i, j, lane]
                        slopes[14, i, j, lane] += THIRD[m] * slopes[m, i, j, lane]


@njit(**_OPTIONS)
def matrix_of(y: Any, lane: int) -> Any:
    d = y.shape[0]
    W = np.zeros((d, d))
    for i in range(d):
        for j in range(i + 1):
            total = 0.0
            for m in range(j + 1):
                total += y[i, m + 2, lane] * y[m, 1, lane] * y[j, m + 2, lane]
            W[i, j] = W[j, i] = total * math.exp((y[i, 0, lane] + y[j, 0, lane]) / 2)
    return W


def _compiled(module: Any, names: dict[str, Any]) -> dict[str, Any]:
    """All functions of a module, compiled against each other and against the given ones."""
    space = {**vars(module), **names}
    for name, value in vars(module).items():
        if isinstance(value, types.FunctionType) and value.__module__ == module.__name__ and name not in names:
            space[name] = njit(**_OPTIONS)(types.FunctionType(value.__code__, space, name))
    return space


_walk = _compiled(walk, {"matrix_of": matrix_of})
look_at_lanes, landing_of = _walk["judge"], _walk["landings"]


@njit(**_OPTIONS)
def run(lanes: Any, kind: int, code: Any, factors: Any, count: int) -> None:
    d, n = lanes.signal.shape
    registers = np.zeros((count, d, d, LANES))
    slopes = np.zeros((15, d, d + 2, LANES))
    new = np.zeros((d, d + 2, LANES))
    fill = True
    while lanes.active.any():
        if fill:
            for i in range(d):
                for j in range(d):
                    for lane in range(LANES):
                        registers[3, i, j, lane] = lanes.free[j, lane]
                        registers[4, i, j, lane] = lanes.flow.pair[i, j, lane]
                        registers[5, i, j, lane] = lanes.flow.drive[i, j, lane]
                        registers[6, i, j, lane] = lanes.flow.linear[i, j, lane]
                        registers[7, i, j, lane] = lanes.flow.mixed[i, j, lane]
                        registers[8, i, j, lane] = lanes.flow.first[i, j, lane]
                        registers[9, i, j, lane] = lanes.flow.second[i, j, lane]
                        registers[10, i, j, lane] = lanes.flow.third[i, j, lane]
                        registers[11, i, j, lane] = lanes.flow.strict[i, j, lane]
            take_slope(lanes.y, code, factors, registers, lanes.speed)
        dt = landing_of(lanes)
        slopes[0] = lanes.speed
        take_attempt(lanes.y, dt, code, factors, registers, slopes, new)
        fill = look_at_lanes(lanes, kind, dt, new, slopes[12], slopes[13], slopes[14])
