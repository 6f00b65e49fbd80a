"""Theorems speak of the W(0) that is stated, also where floats do not hold it."""

from fractions import Fraction

import pytest

import swingby
from swingby.cli import run
from swingby.theory.initial import Scaled, initial_state

#: W(0) of rank 1, whose floats have rank 2.
SINGULAR = [["1e-6", "2e-7"], ["2e-7", "4e-8"]]
SMALL = Fraction(1, 10**6)
#: Of full rank: its second pivot is 3e-22 of 1, which floats round away.
CLOSE = [[SMALL, SMALL], [SMALL, SMALL + Fraction(3, 10**22)]]
pytestmark = pytest.mark.filterwarnings("ignore::swingby.errors.SwingbyWarning")


@pytest.mark.parametrize(
    "start",
    [
        {"W0": SINGULAR},
        {"W0": Scaled([["0.1", "0.3"], ["0.3", "0.9"]], "1e-6")},
        {"U0": [["0.001", "0.003"], ["0.003", "0.009"]]},
        {"U0": [["0.001"], ["0.0002"]]},
    ],
)
def test_a_singular_start_has_no_theorem(start):
    proved = swingby.predict([4, 1], **start, eta="0.01", proved=True).theorem
    assert proved.missing == (0, 1)
    assert "a pivot of W(0) is not positive" in str(proved)
    report = swingby.check([4, 1], **start, eta="0.01", edition="repaired")
    assert {str(theorem.verdict) for theorem in report.theorems} == {"fails"}


def test_proved_half_times_are_those_of_certify():
    """A run in 60 digits learns concept 2 at step 24791; that of the rounded W(0) at 24619."""
    proved = swingby.predict([4, 1], CLOSE, eta="1/1000", proved=True).proved.tolist()
    certified = swingby.certify([4, 1], CLOSE, eta="1/1000").half_times
    assert proved == [[step, step] for step in certified] == [[1730, 1730], [24791, 24791]]


def test_a_level_that_is_met_exactly():
    """F(32/81) = 1/2 for this signal, so that the half-time is 1."""
    w = Fraction(32, 81)
    a = Fraction(1, 8) / (1 - w)
    assert w * (1 + a * (1 - w)) ** 2 == Fraction(1, 2)
    ((first, last),) = swingby.predict([a], [[w]], eta=1, proved=True).proved.tolist()
    assert first <= 1 <= last


def test_a_start_of_floats_is_the_binary_numbers():
    state = initial_state([[0.1, 0.0], [0.0, 0.3]], None, 2)
    assert state.rational is None
    assert state.stated[0, 0] == Fraction(0.1)
    assert initial_state([["0.1", 0], [0, "0.5"]], None, 2).stated[0, 0] == Fraction(1, 10)
    halves = initial_state([["0.5", 0], [0, "0.25"]], None, 2)
    assert halves.rational is None


def test_a_scaled_start_says_what_was_stated():
    start = Scaled([["0.1", 0], [0, "0.5"]], "1e-6")
    assert repr(start) == "Scaled([['1/10', '0'], ['0', '1/2']], \"1e-6\")"
    assert eval(repr(start)) == start
    assert start != Scaled([[0.1, 0], [0, 0.5]], "1e-6")


def test_the_command_line_reads_every_digit(capsys):
    words = ["--signal", "4,1", "--eta", "0.01", "--w0", "1e-6,2e-7;2e-7,4e-8"]
    run(["predict", "--proved", *words])
    assert "a pivot of W(0) is not positive" in " ".join(capsys.readouterr().out.split())


def test_what_a_run_had_to_show_counts():
    """The run of floats diverges, and has no half-time of concept 2 where one is proved."""
    table = swingby.compare([4, 1], CLOSE, eta="1/1000", proved=True, steps=2000)
    (line,) = [line for line in str(table).splitlines() if line.startswith("Proved")]
    assert line == "Proved half-times: 2 of 2; the observed lie inside, 1 not due within the run."


@pytest.mark.parametrize(
    "numbers",
    [
        ((4, 1), -0.1, 2, 0.1), ((4, 1), 0, 2, 0.1), ((), 0.1, 2, 0.1), ((4, -1), 0.1, 2, 0.1),
        ((4, 1), 0.1, 2, 0),
    ],
)  # fmt: skip
def test_a_largest_omega_of_nothing_is_refused(numbers):
    from swingby.theory.repaired.edition_gd import largest_eta, largest_omega

    signal, *others = numbers
    arguments = (tuple(map(Fraction, signal)), *map(Fraction, others))
    for largest in (largest_omega, largest_eta):
        with pytest.raises(swingby.errors.InvalidInput, match="must"):
            largest(*arguments)
