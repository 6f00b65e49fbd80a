"""Searches among draws, and the pivots of a drawn W(0)."""

from fractions import Fraction

import pytest
from hypothesis import Phase, find, settings

from swingby.theory.initial import exact_pivots


@pytest.fixture(scope="session")
def find_some():
    """``find_some(strategy, condition)``: some draw meets the condition; it is not made simpler."""
    search = settings(database=None, max_examples=2000, phases=(Phase.generate,))
    return lambda strategy, condition: find(strategy, condition, settings=search)


@pytest.fixture(scope="session")
def simplest():
    """``simplest(strategy, condition)``: the simplest draw that meets a condition."""

    def call(strategy, condition=lambda value: True):
        return find(strategy, condition, settings=settings(database=None))

    return call


@pytest.fixture(scope="session")
def smallest_pivot():
    """``smallest_pivot(task, W0)``: over its diagonal entry, concepts in the order of learning."""

    def call(task, W0):
        rows = W0.matrix[list(task.order)][:, list(task.order)]
        return min(p / Fraction(float(rows[k, k])) for k, p in enumerate(exact_pivots(rows)))

    return call
