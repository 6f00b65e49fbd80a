"""Settings inside the assumptions, judged by swingby.check, and how near the edge they come."""

from fractions import Fraction
from itertools import pairwise

import mpmath
import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from swingby.errors import InvalidInput
from swingby.testing import satisfying
from swingby.theory.initial import exact_pivots
from swingby.verify.checking.feasibility import INFEASIBILITY_CERTIFICATE

QUIET = settings(database=None)
SEARCH = settings(database=None, max_examples=2000, phases=(Phase.generate,))


def exists(strategy, condition):
    """Whether a draw meets a condition; it is not made simpler."""
    find(strategy, condition, settings=SEARCH)


def sizes(setting):
    """Sizes of the entries of W(0), exact."""
    rows = setting.W0.matrix.tolist()
    return [abs(Fraction(entry)) * setting.W0.omega for row in rows for entry in row]


@given(satisfying())
def test_printed_settings_hold_with_and_without_the_matrix(setting):
    assert setting.edition == "printed"
    assert setting.check_numbers().holds
    assert setting.check().holds


@given(satisfying())
def test_printed_settings_agree_with_their_numbers(setting):
    """(D.8), (D.2) and the second inequality of D.5, written out."""
    assert setting.omega <= min(sizes(setting))
    assert max(sizes(setting)) <= setting.beta * setting.omega
    signal = sorted(setting.task.exact_signal, reverse=True)
    assert all(large > 3 * small for large, small in pairwise(signal))
    assert setting.eta <= 1 / (180 * signal[0])


@given(satisfying("corrected", 1))
def test_one_concept_satisfies_the_corrected_edition(setting):
    assert setting.task.dim == 1
    assert setting.check_numbers().holds
    assert setting.check().holds


@settings(max_examples=25)
@given(satisfying("repaired"))
def test_repaired_settings_hold_with_and_without_the_matrix(setting):
    assert setting.check_numbers().holds
    assert setting.check().holds


@given(satisfying("repaired"))
def test_repaired_settings_agree_with_their_numbers(setting):
    """D.3' written out, with pivots in exact rationals."""
    order = list(setting.task.order)
    matrix = setting.W0.matrix[order][:, order]
    diagonal = [Fraction(float(matrix[k, k])) * setting.W0.omega for k in range(len(matrix))]
    assert max(diagonal) <= setting.beta * setting.omega
    assert min(exact_pivots(matrix)) * setting.W0.omega >= setting.rho * setting.omega
    assert setting.beta >= 1


def test_omega_goes_far_down_and_near_the_edge():
    exists(satisfying(dim=2), lambda setting: setting.omega < Fraction(1, 10**2000))
    exists(satisfying(dim=3), lambda setting: setting.omega < Fraction(1, 10**300))

    def hugging(setting):
        with mpmath.workdps(60):
            omega = mpmath.mpf(setting.omega.numerator) / setting.omega.denominator
            return 0 < 1 - omega / setting.check_numbers().largest_omega < mpmath.mpf("1e-14")

    exists(satisfying(dim=2), hugging)


@pytest.mark.parametrize("dim", [2, 3])
def test_repaired_omega_comes_near_the_largest(dim):
    def hugging(setting):
        if setting.omega.numerator < 10:  # powers of ten are farther away, and a check costs time
            return False
        limit = setting.check_numbers().largest_omega
        return setting.omega / Fraction(str(limit)) > Fraction(99, 100)

    exists(satisfying("repaired", dim), hugging)


def test_eta_reaches_the_limit_of_D2():
    exists(satisfying(), lambda setting: setting.eta == 1 / (180 * max(setting.task.exact_signal)))


def test_matrices_are_degenerate_in_part_of_the_draws():
    def share(setting):
        order = list(setting.task.order)
        matrix = setting.W0.matrix[order][:, order]
        return min(p / Fraction(float(matrix[k, k])) for k, p in enumerate(exact_pivots(matrix)))

    exists(satisfying(dim=3), lambda setting: share(setting) == 0)
    exists(satisfying(dim=3), lambda setting: 0 < share(setting) < Fraction(1, 1000))
    exists(satisfying(dim=3), lambda setting: share(setting) > Fraction(1, 3))


def test_printed_settings_shrink_one_number_at_a_time():
    found = find(satisfying(), lambda setting: setting.W0.matrix.min() < 0, settings=QUIET)
    assert repr(found) == (
        'Setting(SIMTask.from_signal([4, 1]), omega="1e-83", eta="0.001", beta=2, '
        'W0=Scaled([[1.0, -1.0], [-1.0, 1.0]], "1e-83"))'
    )
    tiny = find(satisfying(), lambda setting: setting.omega < Fraction(1, 10**500), settings=QUIET)
    assert repr(tiny) == (
        'Setting(SIMTask.from_signal([1]), omega="1e-1003", eta="0.001", beta=2, '
        'W0=Scaled([[1.0]], "1e-1003"))'
    )


def test_repaired_settings_shrink_to_round_numbers():
    found = find(satisfying("repaired", 2), lambda setting: True, settings=QUIET)
    assert repr(found) == (
        'Setting(SIMTask.from_signal([4, 1]), omega="0.1", eta="0.01", beta=1, rho=1, '
        'W0=Scaled([[1.0, 0.0], [0.0, 1.0]], "0.1"), edition="repaired", dynamics="flow")'
    )


@pytest.mark.parametrize("dim", [None, 2, 4])
def test_the_corrected_edition_is_refused_with_its_certificate(dim):
    with pytest.raises(InvalidInput) as caught:
        satisfying("corrected", dim)
    assert INFEASIBILITY_CERTIFICATE in str(caught.value)
    assert "must be 1" in str(caught.value)


def test_a_strategy_of_dimensions_is_refused_when_drawn():
    @settings(QUIET)
    @given(satisfying("corrected", st.just(2)))
    def run(setting):
        pass

    with pytest.raises(InvalidInput, match="No omega, eta or signal"):
        run()
