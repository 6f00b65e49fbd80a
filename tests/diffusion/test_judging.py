"""Verdicts on courses that are made to obey the theory, to contradict it, or to leave it open.

Courses are logistic curves (the two-layer theory with equal pivots): concept p is half learned at
C / a_p and rises at the rate 2 a_p, with noise of seeds and of 32 images.
"""

import json
import math

import numpy as np
import pytest

from swingby.diffusion.course import Course
from swingby.diffusion.judging.flip_rule import judge_flip
from swingby.diffusion.judging.intervals import Interval
from swingby.diffusion.judging.judge import judge
from swingby.diffusion.judging.observed import observe
from swingby.diffusion.judging.predictions import predict_courses
from swingby.diffusion.judging.signal_flip import Flip
from swingby.diffusion.judging.verdict_rules import sign_rule, value_rule
from swingby.diffusion.signals import Signals
from swingby.errors import InvalidInput
from swingby.theory.verdict import Verdict

STEPS = np.unique((np.linspace(0, 141.5, 90) ** 2).astype(int))
CONTRASTS = (0.2, 0.3, 0.45, 0.6, 0.8)
#: a of colour is s^2, a of size 0.16: equal at 0.4.
SIGNALS = tuple(
    Signals(s, 16, "registered", (s * math.sqrt(2), 0.4 * math.sqrt(2)), (0, 0), error=0.01)
    for s in CONTRASTS
)
YES, NO, OPEN = Verdict.HOLDS, Verdict.FAILS, Verdict.UNDECIDED


def course(contrast, seed, a, rng, *, scatter=0.04, images=32, steps=STEPS, level=600.0):
    """One run; a of both concepts gives half-times, all scattered over seeds."""
    halves = level / np.asarray(a) * np.exp(scatter * rng.normal(size=2))
    rates = 2 * np.asarray(a) / 100
    C = 1 / (1 + np.exp(-np.clip(rates * (steps[:, None] - halves), -50, 50)))
    if images:
        C = rng.binomial(images, C) / images
    n = len(steps)
    return Course(contrast, seed, steps, told(C), np.ones((n, 4)), np.ones(n))


def told(C):
    """Classes in which both corners respond to the condition by C, shape (n, 4, 2)."""
    classes = np.zeros((len(C), 4, 2))
    classes[:, 3] = C
    classes[:, 2, 0] = C[:, 0]
    classes[:, 1, 1] = C[:, 1]
    return classes


def study(a_of, *, seeds=5, rng=0, contrasts=CONTRASTS, **more):
    generator = np.random.default_rng(rng)
    return [course(s, seed, a_of(s), generator, **more) for s in contrasts for seed in range(seeds)]


def as_predicted(s):
    return s**2, 0.16


def reversed_order(s):
    return 0.16, s**2


def test_what_obeys_the_theory_holds():
    found = judge(study(as_predicted), SIGNALS)
    for s in CONTRASTS:
        assert found.of("order", s).verdict is YES
        assert found.of("ratio", s).verdict is YES
        assert found.of("bend", s).verdict is YES
    for name in ("ratio", "flip", "bend"):
        assert found.of(name).verdict is YES, name
    assert found.of("flip").observed == pytest.approx(0.4, abs=0.02)
    assert found.of("ratio").observed == pytest.approx(1, abs=0.1)
    assert found.of("ratio", 0.8).observed == pytest.approx(4, rel=0.1)
    assert found.of("order", 0.2).observed == pytest.approx(0.25, rel=0.1)


def test_final_rates_follow_a_without_the_noise_of_images():
    """Rates are 2 a / 100 of the later concept; logistic ends are exponential."""
    found = judge(study(as_predicted, images=0, scatter=0.01), SIGNALS)
    assert found.of("rate").verdict is YES
    assert found.of("rate").observed == pytest.approx(1, abs=0.1)


def test_what_contradicts_the_theory_fails():
    found = judge(study(reversed_order), SIGNALS)
    for s in CONTRASTS:
        assert found.of("order", s).verdict is NO
        assert found.of("ratio", s).verdict is NO
        assert found.of("bend", s).verdict is NO
    assert found.of("ratio").verdict is NO
    assert found.of("bend").verdict is NO
    assert found.of("flip").verdict is OPEN
    assert "not every seed turns once" in found.of("flip").note


def test_equal_order_but_other_ratios():
    """Times as a^(-1/2), as an adaptive optimizer may make them: order and flip, no ratios."""
    found = judge(study(lambda s: (s * 0.4, 0.16)), SIGNALS)
    assert found.of("order", 0.8).verdict is YES
    assert found.of("ratio", 0.8).verdict is NO
    assert found.of("ratio").verdict is NO
    assert found.of("ratio").observed == pytest.approx(0.5, abs=0.05)
    assert found.of("flip").verdict is YES


def test_a_flip_elsewhere_fails():
    found = judge(study(lambda s: (s**2, 0.35)), SIGNALS).of("flip")
    assert found.verdict is NO
    assert found.observed == pytest.approx(math.sqrt(0.35), abs=0.03)


def test_a_flip_out_of_reach():
    """Colour first at all contrasts: below 0.2, where the prediction is not."""
    courses = study(lambda s: (6 * s**2, 0.16))
    found = judge(courses, SIGNALS)
    assert found.of("flip").verdict is NO
    assert (found.of("flip").low, found.of("flip").high) == (0.0, 0.2)
    near = judge(courses, SIGNALS, flip=Flip(0.1, 0.01, "registered"))
    assert near.of("flip").verdict is OPEN
    other = judge(study(lambda s: (s**2, 0.9)), SIGNALS).of("flip")
    assert (other.verdict, other.low, other.high) == (NO, 0.8, 1.0)
    assert "in [0, 0.2]" in found.to_markdown()


@pytest.mark.parametrize("seeds", [1, 2])
def test_few_seeds_decide_nothing(seeds):
    found = judge(study(as_predicted, seeds=seeds), SIGNALS)
    assert {one.verdict for one in found.rows} == {OPEN}
    assert all("too few seeds" in one.note for one in found.rows if one.prediction == "order")


def test_seeds_that_scatter_decide_nothing():
    found = judge(study(as_predicted, seeds=3, scatter=1.5, rng=3), SIGNALS)
    assert found.of("ratio", 0.3).verdict is OPEN
    assert found.of("ratio").verdict is OPEN


def test_one_run_given_thrice_is_refused():
    rng = np.random.default_rng(0)
    one = course(0.8, 0, as_predicted(0.8), rng)
    copies = [Course(0.8, k, one.steps, one.classes, one.right, one.loss) for k in range(3)]
    with pytest.raises(InvalidInput, match="different runs"):
        judge(copies, SIGNALS)


def test_what_is_never_learned_decides_nothing():
    """One of five seeds ends before its size is learned: no ratio as mean of the other four."""
    courses = study(as_predicted, contrasts=(0.8,))
    assert judge(courses, SIGNALS).of("order", 0.8).verdict is YES
    slow = courses[2]
    classes = slow.classes.copy()
    classes[:, [1, 3], 1] = 0.3
    courses[2] = Course(0.8, 2, slow.steps, classes, slow.right, slow.loss)
    found = judge(courses, SIGNALS)
    assert {found.of(name, 0.8).verdict for name in ("ratio", "bend")} == {OPEN}
    assert "1 of 5 never learn size" in found.of("ratio", 0.8).note
    assert found.of("ratio", 0.8).seeds == 4
    # Size comes after the last save, so colour was first all the same.
    assert found.of("order", 0.8).verdict is YES
    assert found.of("order", 0.8).seeds == 5


def test_without_a_concept_nothing_is_decided():
    courses = [
        Course(one.contrast, one.seed, one.steps, 0.2 * one.classes, one.right, one.loss)
        for one in study(as_predicted)
    ]
    found = judge(courses, SIGNALS)
    assert {row.verdict for row in found.rows} == {OPEN}
    assert "5 of 5 never follow a concept" in found.of("order", 0.8).note


def test_the_held_out_corner_can_be_asked_instead():
    """The trained classes learn in the order of the theory, the held-out one in reverse."""
    courses = []
    for one, other in zip(study(as_predicted), study(reversed_order), strict=True):
        classes = one.classes.copy()
        classes[:, 3] = other.classes[:, 3]
        courses.append(Course(one.contrast, one.seed, one.steps, classes, one.right, one.loss))
    assert judge(courses, SIGNALS).of("order", 0.8).verdict is YES
    held = judge(courses, SIGNALS, corner="held out")
    assert held.of("order", 0.8).verdict is NO
    assert "held out" in str(held)


def test_close_to_the_predicted_flip_nothing_is_predicted():
    near = [Signals(s, 16, "registered", (1.02, 1.0), (0, 0)) for s in (0.2, 0.3, 0.45, 0.6, 0.8)]
    found = judge(study(as_predicted), near)
    assert {found.of("order", s).verdict for s in CONTRASTS} == {OPEN}
    assert {found.of("bend", s).verdict for s in CONTRASTS} == {OPEN}
    unsure = [Signals(s, 16, "registered", (1.5, 1.0), (0, 0), error=0.5) for s in CONTRASTS]
    assert judge(study(as_predicted), unsure).of("order", 0.8).verdict is OPEN


def transient(rise, seed, rng):
    """Colour soon; size is lost for a while if `rise`."""
    t = STEPS / STEPS[-1]
    colour = 0.4 + 0.58 * np.clip(8 * t, 0, 1)
    dip = 0.4 * np.exp(-(((np.sqrt(t) - 0.35) / 0.15) ** 2)) if rise else 0
    size = np.clip(0.4 + 0.58 * np.clip(2 * t - 0.4, 0, 1) - dip, 0, 1)
    C = rng.binomial(32, np.stack([colour, size], axis=1)) / 32
    return Course(0.8, seed, STEPS, told(C), np.ones((len(t), 4)), np.ones(len(t)))


@pytest.mark.parametrize(("rise", "verdict"), [(True, YES), (False, NO)])
def test_rises_of_the_concept_error(rise, verdict):
    rng = np.random.default_rng(11)
    found = judge([transient(rise, seed, rng) for seed in range(5)], SIGNALS)
    assert found.of("rise", 0.8).verdict is verdict
    level = judge(study(lambda s: (0.16, 0.15), contrasts=(0.45,)), SIGNALS).of("rise", 0.45)
    assert level.verdict is OPEN
    assert "no large lead" in level.note


@pytest.mark.parametrize(("power", "verdict"), [(False, YES), (True, NO)])
def test_slow_downs(power, verdict):
    rng = np.random.default_rng(12)
    courses = []
    for seed in range(5):
        rest = np.minimum(1, 500 / np.maximum(STEPS, 1)) if power else np.exp(-2.5e-4 * STEPS)
        C = np.stack([STEPS > 300, rng.binomial(32, 1 - rest) / 32], axis=1)
        n = len(STEPS)
        courses.append(Course(0.8, seed, STEPS, told(C), np.ones((n, 4)), np.ones(n)))
    assert judge(courses, SIGNALS).of("slow-down", 0.8).verdict is verdict
    # Exponentials all, but so fast that 32 images could hardly show it: 0.4 on average, above 0.
    faint = judge(study(as_predicted), SIGNALS).of("slow-down", 0.8)
    assert faint.low > 0
    assert faint.verdict is OPEN
    short = judge(study(as_predicted, steps=STEPS[::12]), SIGNALS).of("slow-down", 0.8)
    assert short.verdict is OPEN
    assert "too few saves" in short.note


@pytest.mark.parametrize("seeds", [3, 5])
def test_true_ratios_are_rejected_as_rarely_as_they_should_be(seeds):
    """200 studies that obey: 95 % intervals exclude the truth in 5 % at most (four errors more)."""
    rng = np.random.default_rng(13)
    rejected = 0
    steps = STEPS[::3]
    for _ in range(200):
        courses = [
            course(0.8, seed, as_predicted(0.8), rng, scatter=0.1, images=0, steps=steps)
            for seed in range(seeds)
        ]
        rejected += judge(courses, SIGNALS).of("ratio", 0.8).verdict is NO
    assert rejected <= 200 * 0.05 + 4 * math.sqrt(200 * 0.05 * 0.95)


def interval(low, high, seeds=5, missing=0):
    return Interval((low + high) / 2, low, high, seeds, missing)


def test_the_rules_by_hand():
    assert sign_rule(interval(0.1, 0.2), 1) is YES
    assert sign_rule(interval(0.1, 0.2), -1) is NO
    assert sign_rule(interval(-0.2, -0.1), -1) is YES
    assert sign_rule(interval(-0.1, 0.2), 1) is OPEN
    assert value_rule(interval(0.9, 1.2), 1.0, 0.5) is YES
    assert value_rule(interval(0.1, 1.2), 1.0, 0.5) is OPEN
    assert value_rule(interval(0.1, 0.89), 1.0, 0.5) is NO
    assert value_rule(interval(0.5, 0.91), 1.0, 0.5) is YES
    for bad in (
        interval(math.nan, math.nan), interval(0.9, 1.2, 2), interval(0.9, 1.2, 4, 1),
        interval(math.inf, math.inf),
    ):  # fmt: skip
        assert sign_rule(bad, 1) is OPEN
        assert value_rule(bad, 5.0, 0.5) is OPEN
    assert value_rule(interval(0.9, 1.2), math.nan, 0.5) is OPEN
    assert value_rule(interval(1.2, 1.2), 1.0, 0.5) is OPEN
    assert sign_rule(interval(1.0, 1.0), 1) is YES


def test_no_flip_predicted_none_judged():
    seen = [observe([one for one in study(as_predicted) if one.contrast == s]) for s in CONTRASTS]
    row = judge_flip(seen, Flip(math.nan, math.nan, "registered"))
    assert row.verdict is OPEN
    assert row.observed == pytest.approx(0.4, abs=0.02)
    assert predict_courses(SIGNALS).flip.contrast == pytest.approx(0.4, rel=1e-6)


def test_outputs():
    found = judge(study(as_predicted), SIGNALS)
    assert len(found) == 5 * len(CONTRASTS) + 4
    assert "Judgement" in repr(found)
    for text in (str(found), found._repr_html_(), found.to_markdown(), found.to_latex()):
        assert "holds" in text
        assert "flip" in text
    assert sum(found.counts.values()) == len(found)
    kept = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert len(kept["rows"]) == len(found)
    assert kept["rows"][0]["verdict"] == "holds"
    frame = found.to_frame()
    assert len(frame) == len(found)
    assert frame["contrast"].isna().sum() == 4
    assert "overlap" in str(found.to_signals_grid().to_text())
    assert isinstance(found.rows[0].verdict, Verdict)
    with pytest.raises(InvalidInput, match="row"):
        found.of("order")


@pytest.mark.parametrize(
    "call",
    [
        lambda: judge([], SIGNALS), lambda: judge([1], SIGNALS),
        lambda: judge(study(as_predicted), []), lambda: judge(study(as_predicted), SIGNALS[:2]),
        lambda: judge(study(as_predicted), [*SIGNALS, SIGNALS[0]]),
        lambda: judge(study(as_predicted), SIGNALS, corner="wall"),
        lambda: judge(study(as_predicted), SIGNALS, flip=0.4),
        lambda: judge(study(as_predicted), SIGNALS, flip=Flip(0.4, 0.1, "pixels")),
        lambda: judge(study(as_predicted) * 2, SIGNALS),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(call):
    with pytest.raises(InvalidInput):
        call()
