"""What the strategies for tasks, initial matrices and step sizes draw.

Expected values are the promises of the docstrings, computed a second time in exact rationals.
"""

from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from swingby.errors import InvalidInput
from swingby.testing import initializations, satisfying, step_sizes, tasks, violating
from swingby.theory.initial import Scaled, exact_pivots
from swingby.theory.task import SIMTask
from tests.forked import FULL

TASK = SIMTask([1, 3, 2], "1/10")


def entries(W0):
    return [[Fraction(entry) for entry in row] for row in W0.matrix.tolist()]


def is_semidefinite(rows):
    """Elimination in exact rationals: no negative pivot, and a zero row at a zero pivot."""
    rows = [list(row) for row in rows]
    assert rows == [list(column) for column in zip(*rows, strict=True)]
    for k in range(len(rows)):
        if rows[k][k] < 0 or (rows[k][k] == 0 and any(rows[k][k:])):
            return False
        for i in range(k + 1, len(rows)):
            share = rows[i][k] / rows[k][k] if rows[k][k] else 0
            rows[i] = [a - share * b for a, b in zip(rows[i], rows[k], strict=True)]
    return True


@given(tasks())
def test_tasks_have_one_to_four_concepts_and_no_free_direction(task):
    assert 1 <= task.s == task.dim <= 4
    assert all(Fraction(1, 10) <= centre <= 100 for centre in task.mu)
    assert all(0 <= spread <= 2 for spread in task.sigma)


@given(tasks(ratio=(2, "5/2")), tasks(dim=st.integers(2, 6), ratio=3))
def test_ratios_stay_within_their_bounds(narrow, wide):
    for task, low, high in ((narrow, 2, Fraction(5, 2)), (wide, 3, 300)):
        signal = sorted(task.exact_signal, reverse=True)
        assert all(low <= large / small <= high for large, small in pairwise(signal))


@given(tasks(dim=3, free=2), tasks(free=True), tasks(dim=2, free=st.integers(0, 5)))
def test_free_directions(fixed, some, held):
    assert (fixed.dim, fixed.s) == (3, 1)
    assert some.dim - some.s in (0, 1, 2)
    assert held.dim == 2
    assert held.s in (1, 2)


def test_tasks_shrink_to_whole_numbers(simplest):
    assert simplest(tasks(dim=2)) == SIMTask([1, 2])
    assert simplest(tasks(dim=2, ratio=(2, 3))) == SIMTask([1, "3/2"])
    found = simplest(tasks(dim=2), lambda task: task.sigma[0] > 0)
    assert found == SIMTask([1, 2], [1, 0])


BETAS = (None, "1", "1.0000001", "3/2", "2", "7/3", "100", "1e9", "1e300")
WIDE_TASK = SIMTask(range(1, 33))


def check_matrix(data, task, kind, beta, smallest_pivot):
    """Exactly semidefinite, with the pivots of its kind, and its entries in [1, beta]."""
    W0 = data.draw(initializations(task, kind, "3e-400", beta))
    assert isinstance(W0, Scaled)
    assert W0.omega == Fraction("3e-400")
    assert is_semidefinite(entries(W0))
    if kind == "rank-deficient":
        assert smallest_pivot(task, W0) == 0
    if kind == "nearly degenerate":
        assert Fraction(1, 10**12) <= smallest_pivot(task, W0) <= Fraction(1, 10**3)
    if beta is not None:
        sizes = [abs(entry) for row in entries(W0) for entry in row]
        assert 1 == min(sizes) <= max(sizes) <= Fraction(beta)


@pytest.mark.parametrize("kind", [None, "rank-deficient", "nearly degenerate"])
@given(st.data(), tasks(dim=st.integers(1, 4)), st.sampled_from(BETAS))
def test_initial_matrices_are_of_their_kind(kind, smallest_pivot, data, task, beta):
    kind = kind if task.dim > 1 else None
    narrow = kind == "nearly degenerate" and beta in ("1", "1.0000001")
    check_matrix(data, task, kind, 1 + Fraction(1, 4**14) if narrow else beta, smallest_pivot)


@pytest.mark.parametrize("beta", [None, 100])
@settings(max_examples=5, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_nearly_degenerate_matrices_of_the_largest_size(beta, smallest_pivot, data):
    check_matrix(data, WIDE_TASK, "nearly degenerate", beta, smallest_pivot)


BOUNDED, ORDERED = initializations(TASK, omega=1, beta=2), tasks(dim=3, ratio=2)
#: All orders, full rank, and the end of [1, beta].
REACHED = (
    *((ORDERED, lambda task, o=o: task.order == o) for o in ((0, 1, 2), (2, 0, 1), (1, 2, 0))),
    (BOUNDED, lambda W0: min(exact_pivots(W0.matrix)) > Fraction(1, 10)),
    (BOUNDED, lambda W0: abs(W0.matrix).max() == 2),
)


@pytest.mark.parametrize("place", range(len(REACHED)))
def test_what_some_draw_has(place, find_some):
    find_some(*REACHED[place])


@given(initializations(TASK, "gaussian", width=1), initializations(TASK, "uniform", "1/3"))
def test_gaussian_and_uniform_matrices(narrow, uniform):
    assert sum(pivot > 0 for pivot in exact_pivots(narrow.matrix)) == 1
    assert uniform.omega == Fraction(1, 3)
    assert uniform.matrix.min() > 0
    assert uniform.matrix.max() <= 3


def test_initial_matrices_shrink_to_small_whole_numbers(simplest):
    within = initializations(SIMTask([1, 2]), omega=1, beta=3)
    full_rank = simplest(within, lambda W0: min(exact_pivots(W0.matrix)) > Fraction(1, 2))
    assert full_rank.matrix.tolist() in ([[1, 1], [1, 2]], [[2, 1], [1, 1]], [[2, 1], [1, 2]])


@given(st.data(), tasks())
def test_step_sizes_are_round_and_small(data, task):
    largest = max(task.exact_signal)
    eta = data.draw(step_sizes(task))
    assert Fraction(1, 10**6) <= eta * largest <= Fraction(1, 10)
    below = data.draw(step_sizes(task, "1/700"))
    assert below <= Fraction(1, 700)
    if below != Fraction(1, 700):
        digits = str(below.numerator * 10**30 // below.denominator).rstrip("0")
        assert digits in ("1", "2", "5", "15", "3")


REFUSED = [
    ("dim", lambda: tasks(dim=0)),
    ("dim", lambda: tasks(dim=33)),
    ("dim", lambda: tasks(dim=True)),
    ("ratio", lambda: tasks(ratio="1/2")),
    ("ratio", lambda: tasks(ratio=(3, 2))),
    ("ratio", lambda: tasks(ratio=(1, 2, 3))),
    ("ratio", lambda: tasks(ratio=(1, "1e9"))),
    ("free", lambda: tasks(dim=2, free=2)),
    ("free", lambda: tasks(free=-1)),
    ("task", lambda: initializations([1, 2])),
    ("task", lambda: step_sizes(None)),
    ("task.dim", lambda: initializations(SIMTask([1], dim=33))),
    ("kind", lambda: initializations(TASK, "normal")),
    ("kind", lambda: initializations(SIMTask([1]), "rank-deficient")),
    ("kind", lambda: initializations(TASK, "gaussian", 1, 2)),
    ("omega", lambda: initializations(TASK, omega=0)),
    ("beta", lambda: initializations(TASK, beta=2)),
    ("beta", lambda: initializations(TASK, omega=1, beta="0.5")),
    ("beta", lambda: initializations(TASK, "nearly degenerate", 1, 1)),
    ("width", lambda: initializations(TASK, width=0)),
    ("width", lambda: initializations(TASK, omega=1, beta=2, width=3)),
    ("most", lambda: step_sizes(TASK, 0)),
    ("edition", lambda: satisfying("final")),
    ("assumption", lambda: violating("D.6")),
]


@pytest.mark.parametrize(("argument", "call"), REFUSED)
def test_arguments_are_refused_when_the_strategy_is_made(argument, call):
    with pytest.raises(InvalidInput) as caught:
        call()
    assert caught.value.argument.startswith(argument)


STRATEGIES = {
    "tasks": tasks(),
    "initializations": initializations(TASK),
    "initializations within bounds": initializations(TASK, omega=1, beta=3),
    "step_sizes": step_sizes(TASK),
    "satisfying": satisfying(),
    "satisfying repaired": satisfying("repaired"),
    **{f"violating {name}": violating(name) for name in ("D.1", "D.2", "D.4", "D.5")},
    "violating D.4'": violating("D.4'", "repaired"),
}


COUNT = 300 if FULL else 100


@pytest.mark.parametrize("name", STRATEGIES)
def test_hardly_any_draw_is_rejected(name):
    """Counted from inside: every draw that is begun is finished."""
    begun = finished = 0

    @st.composite
    def counted(draw):
        nonlocal begun, finished
        begun += 1
        draw(STRATEGIES[name])
        finished += 1

    @settings(max_examples=COUNT, database=None, phases=(Phase.generate,))
    @given(counted())
    def run(value):
        pass

    run()
    assert begun >= COUNT or name == "step_sizes"
    assert begun - finished <= begun // 100
