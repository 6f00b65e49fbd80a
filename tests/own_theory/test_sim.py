"""The SIM theory as an instance: the same verbs, and a stranger's statement of it agrees."""

import math
from dataclasses import replace

import numpy as np
import pytest

import swingby
from swingby.errors import InvalidInput
from swingby.own import Bound, t
from swingby.own_theory.runs import judge
from swingby.own_theory.settings import Settings, family
from tests.own_theory import sim_by_hand
from tests.own_theory.small import decay, h, x0

SLOW = pytest.param([16, 4, 1], -91.32, marks=pytest.mark.slow)
sim = swingby.own.sim()


@pytest.mark.parametrize("length", [2, 3])
def test_half_times_agree_to_the_step(length):
    """Loops of NumPy against compiled lanes with jumps, from the same draws."""
    settings = sim_by_hand.theory.sample(24, rng=length, length=length)
    by_hand = judge(settings)
    exact = judge(Settings(family(sim, length), settings.scalars, settings.draws))
    for name, judged in by_hand.items():
        np.testing.assert_array_equal(np.ceil(judged.observed), exact[name].observed)
        assert (judged.ratio <= 1).all()
        # The closed law of pivots is off by the overlap of stages; the bar of the stage law holds.
        off = np.abs(exact[name].predicted - judged.observed)
        assert (off <= exact[name].within - 1 + 0.02).all()


def test_a_run_is_that_of_compare_of_the_core():
    table = swingby.compare(sim, a=[4, 1], omega=1e-5, eta=0.01)
    U = table.settings.draws["U"][..., 0]
    own = swingby.compare([4, 1], 1e-5 * U @ U.T / 3, 0.01)
    run = own.run.half_times.tolist()
    assert [row.observed for row in table.rows[:2]] == run
    assert [row.predicted for row in table.rows[:2]] == pytest.approx(
        own.schedule.stages.crossing.tolist(), abs=1e-3
    )
    assert table.kept


def test_the_promise_is_kept_with_power_and_a_wrong_law_is_found():
    test = swingby.testing.assert_theory(sim, count=40)
    assert test.rows[0].words == "a factor 1.01 would show"
    assert swingby.hunt(sim, count=64, rng=3).verdict == "tested"
    half, loss = sim.predict
    late = replace(half, time=lambda a, omega, eta, U, k: 1.02 * half.time(a, omega, eta, U, k))
    hunt = swingby.hunt(replace(sim, predict=[late, loss]), count=64, rng=3)
    assert hunt.found
    assert hunt.rerun()
    assert hunt.violation.setting.family.length == 2


@pytest.mark.parametrize(("signal", "power"), [([4, 1], -74.85), SLOW])
def test_existential_constants_by_search_and_by_proof(signal, power):
    """sup omega of D.1 to D.5 as beta goes to 1: by differential evolution, and by `check`."""
    searched = swingby.check(sim_by_hand.assumptions, a=signal, beta=1.01, eta=1e-5)
    exact = swingby.check(signal, "1e-200", "1e-5", 1.01).largest_omega
    assert searched.largest("omega") == pytest.approx(float(exact), rel=0.01)
    assert math.log10(exact) == pytest.approx(power, abs=0.15)


def test_verdicts_of_the_printed_edition_agree_by_hand():
    """A search never holds where the exact check fails, and holds where that is clear."""
    printed = swingby.own.sim(edition="printed")
    rng = np.random.default_rng(5)
    seen = set()
    for _ in range(12):
        signal = [float(f"{4 * rng.uniform(0.5, 2):.3g}"), 1.0]
        omega = float(f"{10 ** rng.uniform(-130, -60):.3g}")
        report = swingby.check(printed, a=signal, omega=omega, eta=1e-4)
        U = report.settings.draws["U"][..., 0]
        sizes = np.abs(U @ U.T / 3)
        searched = swingby.check(
            sim_by_hand.assumptions,
            a=signal,
            omega=omega * sizes.min(),
            beta=sizes.max() / sizes.min(),
            eta=1e-4,
        )
        margins = [report.margins[f"D.{number}"] for number in range(1, 6)]
        own = swingby.check(signal, eta=1e-4, W0=swingby.Scaled((U @ U.T + (U @ U.T).T) / 6, omega))
        assert report.holds == own.holds
        assert [report.verdicts[one.id] for one in own] == [one.verdict for one in own]
        if searched.verdict == "holds":
            assert report.holds
        if own.holds and min(margins) > 0.005:
            assert searched.verdict == "holds"
        seen.add(report.holds)
    assert seen == {True, False}


def test_the_other_verbs_answer_for_the_sim_theory():
    turn = swingby.threshold(sim, "half[1] before half[2]", vary="a_2", at={"a": [4, 1]})
    U = swingby.check(sim, a=[4, 1]).settings.draws["U"][..., 0]
    own = swingby.threshold(
        [4, 1], "1 before 2", U @ U.T / 3, 1e-3, vary="a_2", omega=1e-6, between=(0.1, 10)
    )
    assert turn.predicted == pytest.approx(own.predicted, rel=1e-4)
    pairs = zip(turn.sides["observed"].brackets, own.sides["observed"].brackets, strict=True)
    assert all(low == pytest.approx(high) for low, high in pairs)
    sweep = swingby.sweep(sim, {"omega": 4, "a_2": 4}, at={"a": [4, 1]})
    assert sweep.counts["inside, kept"] == 16


def test_an_edition_that_there_is_not_is_refused():
    with pytest.raises(InvalidInput, match="edition must be"):
        swingby.own.sim(edition="mended")
    with pytest.raises(InvalidInput, match="dynamics"):
        swingby.own.sim("sgd")


# The hooks, of any theory


def test_assumptions_alone_are_checked_and_not_run():
    assert swingby.check(sim_by_hand.assumptions, a=[4, 1]).holds
    with pytest.raises(InvalidInput, match="predict is empty"):
        swingby.compare(sim_by_hand.assumptions, a=[4, 1])


def test_a_margin_is_a_function_and_decides_what_is_drawn():
    def inside(h):
        return -np.log10(h / 0.25)

    theory = replace(decay, assume={"function": inside})
    assert swingby.check(theory, h=0.1).margins["function"] == pytest.approx(math.log10(2.5))
    assert not swingby.check(theory, h=0.3).holds
    assert swingby.check(theory).largest("h") == pytest.approx(0.25, rel=1e-6)
    assert theory.sample(50, rng=0).scalars["h"].max() <= 0.25
    assert theory.sample(50, rng=0, outside="function").scalars["h"].min() > 0.25


def test_what_runs_do_not_know_is_undecided_and_what_never_comes_is_broken():
    _, tenth = decay.predict
    times = {"tenth": lambda x0: np.where(x0 > 2, np.nan, np.where(x0 < 0.5, np.inf, 22.0))}
    none = {"observe": {}, "start": None, "step": None}
    runs = {"runs": lambda x0: {"tenth": times["tenth"](x0)}, "predict": [tenth]}
    theory = replace(decay, **none, **runs)
    verdicts = [swingby.compare(theory, x0=x).rows[0].verdict for x in (3, 0.2, 1)]
    assert verdicts == ["undecided", "broken", "kept"]
    assert swingby.compare(theory).plot() is not None
    with pytest.raises(InvalidInput, match="returned nothing, must return \\(1,\\)"):
        swingby.compare(replace(theory, runs=lambda: {}))
    with pytest.raises(InvalidInput, match="runs asks for eta"):
        replace(theory, runs=lambda eta: {})
    bound = Bound("rate", "x", below=x0 * (1 - h) ** t)
    with pytest.raises(InvalidInput, match="is a bound, of which runs= shows nothing"):
        replace(theory, predict=[bound])
