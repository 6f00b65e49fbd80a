"""Signals of tasks inside and outside the assumptions on them, as products of round ratios."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import strategies as st

from swingby.testing.arguments import fractions
from swingby.testing.draw_tasks import orders
from swingby.testing.matrices import between, many
from swingby.theory.task import SIMTask

#: Ratios of neighbouring signals, simplest first: above 3 (D.5), at most 3, and above 1 (D.1').
APART = fractions("4 5 10 6 7/2 8 16/5 20 31/10 50 100 301/100 3000001/1000000 1000")
CLOSE = fractions("2 1 3 3/2 5/2 11/10 299/100 1000001/1000000 2999999/1000000")
DISTINCT = fractions("4 2 3 10 3/2 8 5/2 6/5 100 11/10")
#: The smallest signal.
UNITS = fractions("1 2 1/2 3 1/10 10 1/100 100 7/5")

_APART = st.sampled_from(APART)
_CLOSE = st.sampled_from(CLOSE)
_ANY = st.sampled_from(APART[:3] + CLOSE + APART[3:])
_DISTINCT = st.sampled_from(DISTINCT)
_UNITS = st.sampled_from(UNITS)


def apart(draw: st.DrawFn, d: int, most: int) -> SIMTask:
    """Draw a task whose signals satisfy D.5: each above three times the next smaller one.

    `d`, `most`: choices are drawn for `most` concepts, so that d does not show in their number.
    """
    return _task(draw, draw(orders(d)), _ratios(draw, _APART, d - 1, most))


def apart_and_zero(draw: st.DrawFn, d: int, most: int) -> SIMTask:
    """Draw a task whose signals satisfy D.5, with one free direction.

    `d`, `most`: at least 2. Choices are drawn for `most` concepts, so that d does not show in their
    number.
    """
    return _task(draw, draw(orders(d - 1)), _ratios(draw, _APART, d - 2, most), zeros=1)


def too_close(draw: st.DrawFn, d: int, most: int) -> SIMTask:
    """Draw a task with at least one signal of at most three times the next smaller one.

    `d`, `most`: at least 2. Choices are drawn for `most` concepts, so that d does not show in their
    number.
    """
    order, place = draw(orders(d)), draw(between(0, d - 2))
    ratios = _ratios(draw, _ANY, d - 1, most)
    ratios[place] = draw(_CLOSE)
    return _task(draw, order, ratios)


def distinct(draw: st.DrawFn, d: int, most: int) -> SIMTask:
    """Draw a task whose signals satisfy D.1': positive and distinct.

    `d`, `most`: choices are drawn for `most` concepts, so that d does not show in their number.
    """
    return _task(draw, draw(orders(d)), _ratios(draw, _DISTINCT, d - 1, most))


def with_ratio(task: SIMTask, ratio: int) -> SIMTask:
    """The task in which all ratios of neighbouring signals are the same.

    `task`: its smallest signal and the order of its concepts are kept.
    """
    smallest = min(task.exact_signal)
    signal = [Fraction(0)] * task.dim
    for rank, place in enumerate(reversed(task.order)):
        signal[place] = smallest * ratio**rank
    return SIMTask.from_signal(signal)


def shape(task: SIMTask) -> tuple[Fraction, ...]:
    """The descending signal in units of its smallest positive value."""
    signal = sorted(task.exact_signal, reverse=True)
    smallest = min(value for value in signal if value)
    return tuple(value / smallest for value in signal)


def _ratios(
    draw: st.DrawFn, ratios: st.SearchStrategy[Fraction], count: int, most: int
) -> list[Fraction]:
    return list(draw(many(ratios, max(count, most - 1)))[:count])


def _task(
    draw: st.DrawFn, order: tuple[int, ...], ratios: list[Fraction], zeros: int = 0
) -> SIMTask:
    signal = [draw(_UNITS)]
    for ratio in ratios:
        signal.insert(0, signal[0] * ratio)
    return SIMTask.from_signal([*(signal[k] for k in order), *[Fraction(0)] * zeros])
