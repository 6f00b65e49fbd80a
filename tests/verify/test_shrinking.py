"""Shrinking: what is left is simple, and still a counterexample."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from swingby.theory.claims.ledger import by_id
from swingby.verify.hunting.draft import Asked, Draft, draw
from swingby.verify.hunting.search import Followed, length, moves, show, shrink
from swingby.verify.prover.trajectories.violation import Violation


def whole(rows):
    return tuple(tuple(map(Fraction, row)) for row in rows)


LONG = Draft(
    (Fraction(2873, 50), Fraction(163, 20), Fraction(1)),
    whole([[9, -6, 3], [-6, 4, -2], [3, -2, 1]]),
    187,
    13127,
    Fraction(111, 100),
    0.37,
)


def seen(draft, step=1000):
    return Followed(draft, None, None, Violation(None, 0, 0, 0, step, 10.0, None))


def never():
    return False


def test_everything_that_plays_no_part_is_made_simple():
    """Nothing but omega <= 1e-150 is asked: two concepts, W(0) of ones, round numbers."""
    simple, changes = shrink(
        seen(LONG), lambda draft: seen(draft) if draft.decades >= 150 else None, never
    )
    draft = simple.draft
    assert draft.d == 2
    assert draft.matrix == whole([[1, 1], [1, 1]])
    assert draft.decades >= 150
    assert draft.kappa is None
    assert all(a.denominator == 1 for a in draft.signal)
    assert len(str(draft.inverse_eta).rstrip("0")) == 1
    assert changes > 3


def test_what_plays_a_part_is_kept():
    """A negative w_12 and three concepts are asked."""

    def look(draft):
        return seen(draft) if draft.d == 3 and draft.matrix[0][1] < 0 else None

    simple, _ = shrink(seen(LONG), look, never)
    assert look(simple.draft)
    assert simple.cost < seen(LONG).cost


def test_a_weaker_violation_is_no_gain():
    weak = replace(seen(LONG), violation=replace(seen(LONG).violation, excess=0.1))

    def look(draft):
        return replace(seen(draft), violation=weak.violation)

    assert shrink(seen(LONG), look, never)[1] == 0
    assert shrink(weak, look, never)[1] > 0


def test_a_stop_ends_it_at_once():
    def look(draft):
        raise AssertionError("nothing may be looked at")

    assert shrink(seen(LONG), look, lambda: True)[1] == 0


def test_moves_stay_inside_the_assumptions():
    rng = np.random.default_rng(4)
    drawn = [draft for _ in range(12) if (draft := draw(rng, None, Asked(False, False)))]
    made = [one.instance() for draft in drawn for one in moves(draft)]
    assert all(one.is_admissible() for one in made if one is not None)
    assert sum(one is not None for one in made) > len(made) / 2


@pytest.mark.parametrize("dynamics", ["euler", "gd"])
def test_a_real_counterexample_becomes_the_simplest_one(dynamics):
    """Lemma D.3 breaks on any W(0) of rank one: two concepts and ones are enough."""
    found = show(LONG, by_id("Lemma D.3"), dynamics)
    assert found.violation is not None
    simple, _ = shrink(found, lambda draft: show(draft, by_id("Lemma D.3"), dynamics), never)
    assert simple.draft.matrix == whole([[1, 1], [1, 1]])
    assert length(simple.draft) < length(LONG) / 1.5
    assert simple.violation.step < found.violation.step


def test_what_keeps_the_claim_shows_no_violation():
    full = replace(LONG, matrix=whole([[2, 1, 1], [1, 2, 1], [1, 1, 2]])).feasible()
    assert show(full, by_id("Lemma D.2"), "euler").violation is None
    # Rank one does not meet the hypotheses of the repair.
    assert show(LONG, by_id("Lemma D.3").repair, "gd") is None
