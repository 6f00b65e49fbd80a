"""The rules that trials of the design have taught, each with a theory that breaks without it."""

import math
from dataclasses import replace

import numpy as np
import pytest
import sympy as sp
from hypothesis import Phase, given, settings

import swingby
from swingby.errors import InvalidInput
from swingby.own import Bound, Each, Order, Outcome, Passage, Theory, Value, k, t
from swingby.own_theory.hunting import is_confirmed
from swingby.own_theory.power import examined
from swingby.own_theory.runs import judge, worst
from swingby.own_theory.settings import family, least_margin, margins, sample, usual
from swingby.own_theory.simpler import cost, digits, simpler
from swingby.testing import assert_theory
from tests.own_theory.small import decay, doubled, h, mixed, modes, noisy, r, s, time, u0, v, x0


def inside(theory, count=64, seed=0, **more):
    chosen = family(theory, theory.lengths[-1])
    return sample(chosen, count, np.random.default_rng(seed), **more)


# kept, broken or undecided


def test_a_passage_that_never_happens_is_broken():
    """Not skipped: nothing passes 10 x0."""
    never = Passage("ten", "x", 10 * x0, 20, within=1)
    table = swingby.compare(replace(decay, predict=(never,)))
    (row,) = table.rows
    assert row.verdict == "broken"
    assert math.isinf(row.ratio)
    assert math.isnan(row.observed)


def test_a_run_that_is_too_long_is_undecided():
    settings = usual(family(decay, 1)).repeated(2).with_scalars(h=np.array([0.1, 0.001]))
    ratio = judge(settings)["tenth"].ratio
    last = math.log(10) / -math.log1p(-0.001) + 2 * 1 + 2
    assert last < decay.steps
    assert not np.isnan(ratio).any()
    short = replace(decay, steps=200)
    ratio = judge(replace(settings, family=family(short, 1)))["tenth"].ratio
    assert np.isnan(ratio).tolist() == [False, True]


def test_a_setting_that_no_label_covers_is_undecided_and_fails_the_test():
    label = Outcome("size", "x", 5, {"small": x0 < 0.5}, lambda last, most: "small")
    partial = replace(decay, predict=(label,))
    table = swingby.compare(partial, x0=2)
    assert table.rows[0].verdict == "undecided"
    with pytest.raises(AssertionError, match="undecided at"):
        assert_theory(partial, count=64)


def test_draws_avoid_runs_that_are_too_long():
    theory = replace(decay, steps=150)
    result = examined(theory, 100)
    assert all(row.undecided == 0 for row in result.rows)


# power


def test_every_test_prints_its_power(monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    text = str(examined(modes, 48))
    assert "a factor 1.01 would show" in text
    text = " ".join(str(examined(noisy, 32)).split())
    assert "x the promise at 1500" in text


@pytest.mark.parametrize(
    ("share", "factor"), [(0.02, "1.03"), (0.06, "1.1"), (0.2, "1.3"), (0.5, "2")]
)
def test_power_is_the_smallest_factor_that_would_show(share, factor):
    """The value is exact, so a factor f shows if and only if f - 1 > share."""
    exact = Value("later", "x", 10, x0 * (1 - h) ** 10, within=share * x0 * (1 - h) ** 10)
    (row,) = examined(replace(decay, predict=(exact,)), 64).rows
    assert row.words == f"a factor {factor} would show"


def test_a_promise_that_a_factor_2_would_keep_fails():
    loose = Value("later", "x", 10, x0 * (1 - h) ** 10, within=1.01 * x0 * (1 - h) ** 10)
    with pytest.raises(AssertionError, match="POWERLESS"):
        assert_theory(replace(decay, predict=(loose,)), count=64)


def test_a_broken_prediction_fails_with_a_setting():
    with pytest.raises(
        AssertionError, match=r"half: broken at 100.0% of the settings, e.g. predicted"
    ):
        assert_theory(doubled, count=32)


# draws


def free(rng, n):
    return rng.standard_normal((3, 3, n))


def symmetric(B):
    return np.einsum("ik...,jk...->ij...", B, B)


top, gap = sp.symbols("top gap", positive=True)
#: The largest eigenvalue of B B^T by power iteration: B is free, its structure is derived.
power = Theory(
    "power iteration",
    numbers={gap: (0.01, 0.05, 0.5)},
    assume={"gap": sp.Symbol("second") <= (1 - gap) * top},
    start=lambda A: np.ones(A.shape[1:]),
    step=lambda x, A: np.einsum("ij...,j...->i...", A, x / np.sqrt((x**2).sum(axis=0))),
    observe={"size": lambda x: np.sqrt((x**2).sum(axis=0))},
    predict=(Bound("below the top", "size", below=top, until=30),),
    draws={"B": free},
    measured={
        "A": symmetric,
        "second": lambda A: np.linalg.eigvalsh(np.moveaxis(A, -1, 0))[:, -2],
        top: lambda A: np.linalg.eigvalsh(np.moveaxis(A, -1, 0))[:, -1],
    },
)


def test_structure_is_derived_of_draws_that_are_free():
    """The shrinker changes entries of B one by one, and A stays symmetric."""
    batch = inside(power, 8)
    assert (batch.values["second"] <= (1 - batch.values["gap"]) * batch.values["top"]).all()
    for changed in simpler(batch.take(0)):
        A = changed.values["A"]
        assert (A.swapaxes(0, 1) == A).all()
        assert (np.abs(changed.draws["B"] - batch.take(0).draws["B"]).max(axis=(0, 1)) > 0).any()


def test_rounding_makes_no_counterexample_of_a_bound_that_is_attained():
    assert not swingby.hunt(power, rng=0, count=300).found
    assert not swingby.hunt(decay, rng=0, count=300).found


def test_underflow_makes_no_counterexample_of_a_bound():
    """(1 - h)^t to the last bit, until both sides have lost their digits."""
    below = Bound("rate", "x", below=x0 * (1 - h) ** t, until=100)
    close = replace(decay, assume={"edge": h <= sp.Rational(9999, 10000)}, predict=[below])
    for value in (0.9999, 0.999, 0.99):
        assert swingby.compare(close, h=value, x0=3).rows[0].ratio <= 1
    wrong = replace(below, below=x0 * (1 - h) ** (t + 1))
    assert swingby.compare(replace(close, predict=[wrong]), h=0.9999).rows[0].verdict == "broken"


def test_only_the_numbers_that_a_broken_assumption_speaks_of_are_pulled():
    theory = replace(mixed, assume={"small step": mixed.assume["small step"]})
    batch = inside(theory, 4000)
    # r is in no assumption, and in no formula: a quarter is usual, the others are uniform.
    logs = np.log(batch.scalars["r"] / 1e-6) / np.log(0.9 / 1e-6)
    moved = logs[batch.scalars["r"] != 1e-5]
    assert abs(len(moved) / len(logs) - 0.75) < 0.03
    assert np.allclose(np.quantile(moved, [0.1, 0.5, 0.9]), [0.1, 0.5, 0.9], atol=0.03)
    assert (least_margin(batch) >= 0).all()


def test_a_share_of_the_draws_lies_on_an_edge():
    margin = margins(inside(decay, 2000, edge=1.0))["small step"]
    assert (np.abs(margin) < 1e-6).sum() > 30


@pytest.mark.parametrize("name", ["small step", "small start", "apart"])
def test_settings_outside_break_one_assumption_alone(name):
    batch = modes.sample(24, outside=name, length=2)
    assert batch.count >= 24
    for relation, margin in margins(batch).items():
        if not relation.startswith(name):
            assert (margin >= 0).all(), relation
    broken = [
        margin < 0 for relation, margin in margins(batch).items() if relation.startswith(name)
    ]
    assert np.any(broken, axis=0).all()


@settings(max_examples=15, derandomize=True, deadline=None)
@given(modes.settings())
def test_hypothesis_draws_settings_inside(setting):
    assert setting.count == 1
    assert least_margin(setting)[0] >= 0
    assert_theory(modes, setting)


@settings(max_examples=10, derandomize=True, deadline=None)
@given(modes.settings(outside="apart"))
def test_hypothesis_draws_settings_outside(setting):
    rows = margins(setting)
    assert min(row[0] for name, row in rows.items() if name.startswith("apart")) < 0
    assert min(row[0] for name, row in rows.items() if not name.startswith("apart")) >= 0


def test_hypothesis_meets_a_broken_prediction():
    @settings(
        max_examples=1, derandomize=True, deadline=None, database=None, phases=[Phase.generate]
    )
    @given(doubled.settings(length=2))
    def holds(setting):
        assert_theory(doubled, setting)

    with pytest.raises(AssertionError, match=r"half\[1\]: predicted"):
        holds()


# hunting


def test_the_missing_hypothesis_is_named():
    """Of coupled modes no assumption speaks of r: it is broken from some r on."""
    hunt = swingby.hunt(mixed, rng=0)
    assert hunt.found
    assert hunt.rerun()
    assert hunt.violation.longest <= 3
    assert any(line.startswith("broken for r from") for line in hunt.scan)
    assert min(hunt.violation.margins.values()) >= -1e-12
    assert hunt.verdict == "refuted"


def test_a_wrong_constant_is_named():
    hunt = swingby.hunt(doubled, rng=0, count=48)
    numbers = hunt.violation.numbers
    low = usual(hunt.violation.setting.family)
    assert numbers == {name: column[0] for name, column in low.scalars.items()}
    assert len(numbers) == 4  # two entries, not three
    (hint,) = hunt.hints
    assert "half: times 0.5 it would be kept at all" in hint
    assert "broken at every value tried of s_1" in hunt.scan[-1]


def test_the_same_seed_gives_the_same_text():
    texts = [str(swingby.hunt(doubled, rng=seed, count=32)) for seed in (3, 3, 4)]
    assert texts[0] == texts[1] != texts[2]
    assert str(examined(modes, 32, 5)) == str(examined(modes, 32, 5))


def test_a_violation_that_a_rounding_undoes_is_not_confirmed():
    """(x0 + 1000) - 1000 is x0 up to 6e-14, this way or that as the last digits are."""
    fragile = replace(
        decay,
        start=lambda x0: (x0 + 1e3) - 1e3,
        step=lambda x: x,
        predict=(Value("start", "x", 0, x0, within=5e-14),),
    )
    batch = inside(fragile, 400)
    ratio = worst(judge(batch))
    broken = np.flatnonzero(ratio > 1)
    assert len(broken)
    assert not all(is_confirmed(batch.take(q), 1) for q in broken)
    # Broken at nearly every move, but by as much as the moves differ.
    tiny = replace(fragile, predict=(Value("start", "x", 0, x0, within=1e-15),))
    batch = inside(tiny, 60)
    assert np.mean(worst(judge(batch)) > 1) > 0.7
    assert not any(is_confirmed(batch.take(q), 1) for q in range(batch.count))
    hunt = swingby.hunt(fragile, rng=0, count=200)
    assert hunt.unconfirmed
    assert not hunt.found or hunt.rerun()


def test_seeds_are_fresh_at_every_decision():
    true, wrong = noisy, Value("variance", "x", 6 / h, h * v, within=h * v / 8, stat="var")
    hunt = swingby.hunt(true, rng=0, count=300)
    assert not hunt.found
    hunt = swingby.hunt(replace(true, predict=(wrong,)), rng=0)
    assert hunt.found
    assert hunt.rerun()
    assert [digits(x) for x in hunt.violation.numbers.values()] == [1, 1]


def test_shrinking_refits_another_number():
    """h = 0.0667 and s = 29.9 are on the edge h s <= 2; s = 30 is inside with h = 0.06 alone."""
    big = sp.Symbol("s")
    theory = Theory(
        "edge",
        numbers={big: (1, 10, 100), h: (1e-3, 0.01, 1)},
        assume={"step": h * big <= 2},
        start=lambda s: s,
        step=None,
        observe={"s": lambda x, h: x * h},
        predict=(Bound("small", "s", below=1.9, start=0, until=0),),
    )
    first = usual(family(theory, 1)).with_scalars(s=np.array([29.9]), h=np.array([2 / 29.9]))
    (batch,) = simpler(first)
    assert (least_margin(batch) >= -1e-12).all()
    pairs = set(zip(batch.scalars["s"].tolist(), batch.scalars["h"].tolist(), strict=True))
    assert (30.0, 0.06) in pairs
    assert (cost(batch) < cost(first)).all()
    hunt = swingby.hunt(theory, rng=0)
    assert hunt.violation.longest == 1


# constants


P, A = sp.symbols("P A", positive=True)
bound = sp.Symbol("bound", positive=True)


def existential(high):
    """P has to lie between 10 bound and 1000/bound: for bound up to 10, and in its own range."""
    return Theory(
        "constants",
        numbers={bound: (0.1, 1, high)},
        assume={"low": 10 * bound <= P, "high": bound * P <= 1000},
        start=lambda bound: bound,
        step=None,
        observe={"x": lambda x: x},
        predict=(Value("itself", "x", 0, bound, within=bound / 100),),
        exists={P: (1e-3, 1e6)},
    )


def test_constants_that_exist_are_found():
    report = swingby.check(existential(100), bound=9.9)
    assert report.holds
    assert 99 <= report.constants["P"] <= 1000 / 9.9
    # The best P is sqrt(10 * 1000) = 100: both margins are (2 - 2 log10 bound)/2.
    report = swingby.check(existential(100), bound=2)
    assert min(report.margins.values()) == pytest.approx(1 - math.log10(2), abs=1e-4)


def test_a_search_that_meets_no_constants_is_undecided():
    report = swingby.check(existential(100), bound=20)
    assert report.verdict == "undecided"
    assert not report.constants
    with pytest.raises(swingby.Undecided):
        _ = report.holds


# orders


@pytest.mark.parametrize(("e", "ok"), [(h, True), (h**2, False)])
def test_a_promise_of_an_order_is_judged_by_decades(e, ok):
    """x(10) = (1 - h)^10 is 1 - 10 h up to 45 h^2: O(h) at 1, but not O(h^2)."""
    order = Value("later", "x", 10, x0, within=Order(e * x0))
    theory = replace(
        decay, numbers={x0: (1, 1, 1), h: (1e-6, 1e-3, 1e-2)}, assume={}, predict=(order,)
    )
    if ok:
        assert "constant" in assert_theory(theory, count=200).rows[0].words
    else:
        with pytest.raises(AssertionError, match="the constant grows to"):
            assert_theory(theory, count=200)


# assumptions


def test_margins_are_decades_far_below_the_float_range():
    tiny = sp.Symbol("tiny", positive=True)
    theory = replace(
        decay,
        assume={"P": (tiny**3) * h <= tiny**2 / 10},
        numbers={**decay.numbers, tiny: (1e-200, 1e-150, 1)},
    )
    margin = swingby.check(theory).margins["P"]
    assert margin == pytest.approx(150)  # tiny h = 1e-151 against 1/10


def test_sides_that_are_not_positive_are_compared():
    theory = replace(decay, assume={"P": x0 - 5 <= h, "Q": h <= x0 - 5, "R": -h <= -x0})
    report = swingby.check(theory)
    assert report.margins == {"P": math.inf, "Q": -math.inf, "R": -math.inf}


def test_an_edge_of_few_digits_is_decided_exactly():
    theory = replace(decay, assume={"P": h + x0 <= sp.Rational(3, 10)})
    assert 0.1 + 0.2 > 0.3  # in floats
    report = swingby.check(theory, h=0.1, x0=0.2)
    assert str(report.verdicts["P"]) == "holds"
    strict = replace(decay, assume={"P": h + x0 < sp.Rational(3, 10)})
    assert str(swingby.check(strict, h=0.1, x0=0.2).verdicts["P"]) == "fails"


def test_sums_and_entries_are_expanded():
    total = sp.Sum(s[k], (k, 1, swingby.own.d))
    theory = replace(modes, assume={"sum": total <= 3, "each": Each(s[k] >= 0.2)})
    report = swingby.check(theory, s=[2, 0.5])
    assert report.margins["sum"] == pytest.approx(math.log10(3 / 2.5))
    assert report.margins["each[2]"] == pytest.approx(math.log10(0.5 / 0.2))


def test_the_largest_value_is_where_an_assumption_ends():
    report = swingby.check(modes, s=[4, 1], h=0.001)
    assert report.largest("h") == pytest.approx(0.005, rel=1e-9)
    assert report.largest("u0") == pytest.approx(0.1, rel=1e-9)
    assert report.largest("s_2") == pytest.approx(2, rel=1e-9)
    assert swingby.check(modes, s=[4, 3]).largest("u0") is None
    assert time.has(u0)
    assert r is not v


# the same alone and in a batch


def test_a_setting_is_judged_alone_as_in_a_batch():
    """The runs of a batch end at different steps; what is beyond its own end is not its own."""
    late = Passage("late", "x", x0 / 10, 2 / h, within=sp.Rational(1, 20) / h, falling=True)
    most = Outcome("fate", "x", 1 / h, {"small": h < 2}, lambda last, most: f"{last / most:.6f}")
    theory = replace(decay, predict=(late, most), step=lambda x, h: x * np.exp(-h))
    batch = inside(theory, 24, 3)
    together = judge(batch)
    for q in range(batch.count):
        for name, judged in judge(batch.take(q)).items():
            assert np.array_equal(judged.ratio[:1], together[name].ratio[q : q + 1], equal_nan=True)
            assert str(judged.observed[0]) == str(together[name].observed[q])
    slow = batch.scalars["h"] < 0.05
    assert slow.sum() > 5
    assert np.isnan(together["late"].observed[slow]).all()  # log(10)/h is beyond 2.1/h + 3


@pytest.mark.parametrize("below", [-x0, 0 * x0])
def test_a_bound_that_is_not_positive_is_broken(below):
    theory = replace(decay, predict=(Bound("negative", "x", below=below, until=5),))
    assert swingby.compare(theory).rows[0].verdict == "broken"


def test_a_promise_below_nothing_is_broken():
    theory = replace(decay, predict=(Value("later", "x", 0, x0 * 1.01, within=-x0),))
    assert swingby.compare(theory).rows[0].verdict == "broken"
    exact = replace(decay, predict=(Value("first", "x", 0, x0, within=0 * x0),))
    assert swingby.compare(exact).kept


def test_a_cancellation_is_no_counterexample():
    """1 - h lam is 3e-9, with a rounding of 1e-16: the rate (1 - h lam)^2 is known to 1e-7."""
    lam = sp.Symbol("lam", positive=True)
    rate = Bound("rate", "loss", below=0.245 * lam * (1 - h * lam) ** (2 * t), until=3, floor=1e-25)
    quadratic = Theory(
        "rate of a quadratic",
        numbers={lam: (0.1, 1, 10), h: (0.01, 0.1, 10)},
        assume={"step": h * lam <= 1},
        start=lambda lam: 0 * lam + 0.7,
        step=lambda x, lam, h: x - h * lam * x,
        observe={"loss": lambda x, lam: lam * x**2 / 2},
        predict=(rate,),
    )
    count = 400
    numbers = np.random.default_rng(0).uniform(0.5, 2, count)
    batch = usual(family(quadratic, 1)).repeated(count)
    batch = batch.with_scalars(lam=numbers, h=(1 - 3e-9) / numbers)
    broken = np.flatnonzero(worst(judge(batch)) > 1)
    assert len(broken) > 20
    assert not any(is_confirmed(batch.take(q), 5) for q in broken)


def test_entries_are_left_out_down_to_any_length():
    theory = replace(
        modes,
        lengths=(1, 2, 4),
        predict=modes.predict[:1],
        assume={"small start": modes.assume["small start"]},
    )
    setting = usual(family(theory, 4)).with_scalars(h=np.array([0.0123]))
    lengths = [batch.family.length for batch in simpler(setting)]
    assert lengths == [1, 2, 4]


# what is measured has any sign


m = sp.Symbol("m", real=True)


def of_sign(sign, assume=None, value=x0):
    """A theory with m = sign x0/8."""
    return replace(
        decay,
        assume=assume or {},
        measured={m: lambda x0: sign * x0 / 8},
        predict=(Value("v", "x", at=0, value=value, within=x0 / 1000),),
    )


@pytest.mark.parametrize(
    ("formula", "true"),
    [
        (sp.Abs(m), 1 / 8),
        (sp.sqrt(m**2), 1 / 8),
        (sp.Max(m, 0) - m, 1 / 8),
        (m, -1 / 8),
        (sp.Symbol("m"), -1 / 8),
        (sp.gamma(m + 1), math.gamma(7 / 8)),
        (sp.erf(m), math.erf(-1 / 8)),
        (sp.factorial(m + 2), math.gamma(23 / 8)),
    ],
)
def test_a_measured_number_has_its_sign_in_formulas(formula, true):
    row = swingby.compare(of_sign(-1, value=formula), x0=1).rows[0]
    assert row.predicted == pytest.approx(true, rel=1e-12)


@pytest.mark.parametrize(
    ("relation", "margin"),
    [
        (sp.Abs(m) <= sp.Rational(1, 1000), -math.log10(125)),
        (m**2 <= 1, math.log10(64)),
        (m**2 >= 1, -math.log10(64)),
        (m >= -1, math.inf),
        (m >= 0, -math.inf),
        (sp.Symbol("h") >= -1, math.inf),
        (h - x0 <= 0, math.inf),
        (x0 - h <= 0, -math.inf),
    ],
)
def test_a_measured_number_has_its_sign_in_margins(relation, margin):
    report = swingby.check(of_sign(-1, {"a": relation}), x0=1)
    assert report.margins["a"] == pytest.approx(margin)


def test_a_power_of_a_negative_number_is_no_prediction():
    """m^(1/3) is complex: not its real part, and not 0."""
    with pytest.raises(InvalidInput, match="v: value has no value at"):
        swingby.compare(of_sign(-1, value=m ** sp.Rational(1, 3)))


@pytest.mark.parametrize("until", [h, 0.5 * x0])
def test_a_bound_of_no_step_is_undecided(until):
    vacuous = replace(decay, predict=(Bound("b", "x", below=0 * x0, until=until),))
    assert swingby.compare(vacuous, x0=1).rows[0].verdict == "undecided"


# inside, wherever that is


def test_settings_are_drawn_where_the_usual_one_is_outside():
    small = replace(decay, assume={"small step": h <= sp.Rational(1, 50)})
    assert max(small.sample(64, rng=0).scalars["h"]) <= 0.02 < decay.numbers[h][1]
    assert assert_theory(small, count=40).settings == 40

    @settings(max_examples=20, derandomize=True, deadline=None)
    @given(small.settings())
    def is_inside(setting):
        assert least_margin(setting)[0] >= 0

    is_inside()


def test_settings_are_drawn_where_the_usual_draw_is_outside():
    """z > 0 is false of the first draw, and of half of the others."""
    first = -np.sign(np.random.default_rng(0).standard_normal(1)[0])
    positive = replace(
        decay,
        draws={"z": lambda rng, n: first * rng.standard_normal(n)},
        measured={m: lambda z: z},
        assume={"positive": m >= sp.Rational(1, 100)},
    )
    assert not swingby.check(positive).holds
    assert (positive.sample(32, rng=0).draws["z"] > 0).all()
    assert swingby.hunt(positive, rng=0, count=64).verdict == "tested"


# functions of the user


@pytest.mark.parametrize("where", ["observe", "step", "start", "state"])
def test_code_in_place_changes_nothing_else(where):
    def tripled(x):
        x *= 3
        return x / 3

    def step(x, h):
        kept = x - h * x
        h *= 9
        return kept

    def start(x0):
        y = 1 * x0
        x0 *= 10
        return y

    def state(x, h):
        x -= h * x
        return x

    changes = {"observe": {"x": tripled}, "step": step, "start": start, "state": state}
    name = "step" if where == "state" else where
    theory = replace(decay, **{name: changes[where]})
    assert [row.ratio for row in swingby.compare(theory).rows] == pytest.approx(
        [row.ratio for row in swingby.compare(decay).rows]
    )


# what a hunt says of its counterexample


def off_by(change):
    """The exact time of decay with a change, promised to 0.1 steps: a line from step to step."""
    exact = sp.log(10) / h
    passage = Passage("tenth", "x", x0 / 10, change(exact), within=0.1, falling=True)
    theory = replace(decay, step=lambda x, h: x * np.exp(-h), predict=(passage,))
    return swingby.hunt(theory, rng=0, count=96)


@pytest.mark.parametrize(
    ("change", "hints"),
    [
        (lambda time: 2 * time, ["times 0.5 it would be kept"]),
        (lambda time: time + 3, []),
        (lambda time: time * (1 + h), []),
        (lambda time: sp.floor(time) - 1, []),
    ],
)
def test_a_constant_factor_is_one_at_every_failure(change, hints):
    hunt = off_by(change)
    assert hunt.found
    assert len(hunt.hints) == len(hints)
    assert all(words in hint for words, hint in zip(hints, hunt.hints, strict=True))


def test_a_scan_says_broken_only_of_what_it_tried():
    """h^2 in place of h/10 is right at the usual h = 1/10, and nowhere else."""
    hunt = off_by(lambda time: time * h * 10)
    assert hunt.violation.numbers["h"] != 0.1
    (line,) = [line for line in hunt.scan if " values tried of h: " in line]
    assert "kept at 0.1," in line
    assert not any("h" in line.split("of ")[-1].split() for line in hunt.scan if "every" in line)
