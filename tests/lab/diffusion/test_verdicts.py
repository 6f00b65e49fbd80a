"""Presets, plans, and verdicts on studies whose truth is known."""

import functools
import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest

from studies.image_plan import FACTORS, Plan, PlannedOptimizer
from studies.image_study import Study
from swingby.errors import InvalidInput
from swingby.lab.diffusion import default_plan, figure_rows, judge, recorded_plan, recorded_study
from swingby.lab.diffusion.course import Course
from swingby.lab.diffusion.preset import PAPER, PRESETS, TINY, Preset, preset_of
from swingby.lab.diffusion.signals import rates
from swingby.theory.verdict import Verdict

PLAN = default_plan()
STEPS = np.unique(np.geomspace(1, 20_000, 400).round()).astype(int)


def course(cell, seed, colour, size, *, right=1.0, noise=0.0):
    """Responses that rise to 1 as logistic curves, half-way at the times given, at both corners."""
    rng = np.random.default_rng(seed)
    halves = np.array([colour, size]) * np.exp(noise * rng.standard_normal(2))
    with np.errstate(over="ignore"):
        rise = 1 / (1 + np.exp(-6 * (STEPS[:, None] / halves - 1)))
    w = np.repeat(rise[:, None], 2, axis=1) + 1e-6 * rng.standard_normal((len(STEPS), 2, 2))
    kinds = np.zeros((len(STEPS), 4, 7))
    kinds[:, :, 6] = 1
    kinds[-1, 3] = [0, 0, 0, right, 0, 1 - right, 0]
    return Course(cell, seed, STEPS, w, kinds, np.zeros(len(STEPS)))


def study_of(times, **named):
    """A study in which the times of a run follow from its cell and seed."""
    made = (course(cell, seed, *times(cell, seed), **named) for cell, seed in PLAN.jobs)
    return Study(PLAN, tuple(made), {})


@functools.cache
def study(signal, noise=0.03):
    """A study in which times go with the inverse of some signal, but for 3 % of noise."""

    def times(cell, seed):
        pace = rates(cell.circles(PLAN.preset.pixels), PLAN.preset_of(cell), signal)
        return [2000 / one for one in pace]

    return study_of(times, noise=noise)


@pytest.fixture(scope="module")
def by_covariance():
    return judge(study("covariance"))


@pytest.mark.parametrize("optimizer", ["sgd", "adamw"])
@pytest.mark.parametrize("concept", ["colour", "size"])
@pytest.mark.parametrize("factor", FACTORS)
def test_the_signal_that_sets_the_pace_is_told_from_the_others(
    by_covariance, optimizer, concept, factor
):
    """Times of each concept against each factor, alone: what they were made by holds."""
    about = {"concept": concept, "factor": factor}
    row = by_covariance.of("times", optimizer, signal="covariance", **about)
    assert row.verdict == Verdict.HOLDS
    assert row.runs == 20
    assert row.low <= float(row.predicted) * 1.02
    assert row.high >= float(row.predicted) * 0.98
    # What predicts another time fails.
    for signal in ("registered", "condition"):
        other = by_covariance.of("times", optimizer, signal=signal, **about)
        apart = abs(math.log(float(other.predicted) / float(row.predicted)))
        if apart > 2 * math.log(1.25):
            assert other.verdict == Verdict.FAILS
    own = {"colour": "contrast", "size": "separation"}[concept]
    assert by_covariance.of("sooner", optimizer, concept=concept).prediction.factor == own


def test_shares(by_covariance):
    for optimizer in ("sgd", "adamw"):
        for concept in ("colour", "size"):
            row = by_covariance.of("sooner", optimizer, concept=concept)
            assert (row.observed, row.runs, row.verdict) == (1, 20, Verdict.HOLDS)
        assert by_covariance.of("order", optimizer, signal="covariance").verdict == Verdict.HOLDS
        # Two of the four pairs of levels have clear signals of images that point the other way.
        assert by_covariance.of("order", optimizer, signal="registered").verdict != Verdict.HOLDS
        assert by_covariance.of("composed", optimizer).verdict == Verdict.HOLDS
    half = judge(study_of(lambda cell, seed: (100, 200), right=0.5))
    assert half.of("composed", "sgd").verdict == Verdict.FAILS


@pytest.mark.parametrize(("signal", "verdict"), [("registered", "holds"), ("condition", "fails")])
def test_bends(signal, verdict):
    """Colour first everywhere, as the condition has it, against the signals of images."""
    row = judge(study(signal)).of("bend", "sgd")
    assert row.verdict == verdict
    # At the faintest half of the conditions size is not learned by the last step.
    assert row.runs == (40 if signal == "registered" else 20)


def test_runs_of_pairs_are_used_once():
    """20 pairs of 40 runs: at half of them wrong the verdict is that of 20, not of more."""

    def times(cell, seed):
        turn = (seed - PLAN.first_seed) % PLAN.seeds
        # In three of five turns colour comes sooner at the larger contrast.
        return 400 if (cell.contrast == PLAN.contrast[0]) == (turn < 3) else 100, 200

    row = judge(study_of(times)).of("sooner", "adamw", concept="colour")
    assert (row.observed, row.runs) == (12 / 20, 20)
    # Wilson's interval of 12 in 20.
    assert (row.low, row.high) == pytest.approx((0.3866, 0.7812), abs=1e-4)
    assert (row.verdict, row.needed) == (Verdict.UNDECIDED, 33)


def test_what_is_never_learned_decides_nothing_but_an_order():
    # Learned at one level and never at the other is sooner; never at both is nothing.
    found = judge(
        study_of(lambda cell, seed: (1e9 if cell.contrast == PLAN.contrast[0] else 100, 1e9))
    )
    assert found.of("sooner", "sgd", concept="colour").verdict == Verdict.HOLDS
    size = found.of("sooner", "sgd", concept="size")
    assert (size.runs, size.verdict) == (0, Verdict.UNDECIDED)


def test_one_run_that_never_learns_leaves_times_open():
    """Leaving it out would favour the fast ones."""
    about = {"concept": "colour", "factor": "contrast", "signal": "covariance"}
    whole = study("covariance")
    assert judge(whole).of("times", "sgd", **about).verdict == Verdict.HOLDS
    first = whole.courses[0]
    slow = (course(first.cell, first.seed, 1e9, 100), *whole.courses[1:])
    row = judge(replace(whole, courses=slow)).of("times", "sgd", **about)
    assert (row.verdict, row.runs, row.note) == (Verdict.UNDECIDED, 19, "no time in 1 pairs")


def test_an_unfinished_study_is_open():
    nothing = judge(Study(PLAN, (), {}))
    assert {one.verdict for one in nothing.rows} == {Verdict.UNDECIDED}
    assert {one.runs for one in nothing.rows} == {0}
    whole = study("covariance")
    part = judge(replace(whole, courses=whole.courses[: len(PLAN.cells)]))
    assert part.of("times", "sgd", concept="size", factor="gain", signal="registered").runs == 4
    # Without noise the interval has no width, and still two pairs decide nothing, three do.
    whole = study("covariance", noise=0.0)
    for runs, verdict in ((2, Verdict.UNDECIDED), (3, Verdict.HOLDS)):
        some = judge(replace(whole, courses=whole.courses[: 2 * runs]))
        row = some.of("times", "sgd", concept="size", factor="gain", signal="covariance")
        assert (row.runs, row.verdict) == (runs, verdict)


def test_rows_of_the_papers_figures():
    """Each can hold and fail: curves made by a signal, and the same with a dip, or at random."""
    found = study("registered")

    def rows(change=lambda course: course.w):
        courses = [replace(one, w=change(one)) for one in found.courses]
        table = figure_rows(replace(found, courses=tuple(courses)))
        return {(row["setting"], row["statement"]): row for row in table}

    def dipped(course):
        dip = 0.5 * np.exp(-(np.log(STEPS / 2500.0) ** 2) / 0.02)
        return course.w - dip[:, None, None]

    def swapped(course):
        return course.w[:, :, ::-1]

    def restless(course):
        return (
            course.w + 0.2 * STEPS[:, None, None] * (-1.0) ** np.arange(len(STEPS))[:, None, None]
        )

    def hurried(course):
        return (STEPS / STEPS[-1])[:, None, None] ** 3 + 1e-9 * course.w

    first = ("Fig. 6 (a), sgd", "colour is learned first at contrast 0.75")
    again = ("Fig. 6 (b), sgd", "the concept-space error falls again after a rise of 5%")
    slower = ("Fig. 6 (c), adamw", "concept learning slows down")
    assert (rows()[first]["observed"], rows(swapped)[first]["verdict"]) == ("100.0%", "fails")
    assert (rows()[again]["verdict"], rows(dipped)[again]["verdict"]) == ("fails", "holds")
    assert (rows()[slower]["verdict"], rows(restless)[slower]["verdict"]) == ("holds", "fails")
    assert rows(hurried)[slower]["verdict"] == "fails"
    assert [row["verdict"] for (name, _), row in rows().items() if name == "Fig. 19"] == [
        "holds"
    ] * 2
    same = replace(PLAN, separation=(0.2,), contrast=(0.9, 0.95))
    verdicts = [row["verdict"] for row in figure_rows(Study(same, (), {}))]
    assert verdicts == ["undecided"] * 8 + ["holds", "fails"]


def test_outputs(by_covariance):
    plain = by_covariance.to_dict()
    assert plain["digest"] == PLAN.digest
    assert len(plain["rows"]) == len(by_covariance.to_frame()) == 2 * len(PLAN.predictions)
    json.dumps(plain, allow_nan=False)
    text = str(by_covariance)
    assert PLAN.digest in text
    assert text.count("Signals of colour and size") == 1


# --- presets


@pytest.mark.parametrize("name", PRESETS)
def test_through_json_and_back(name):
    preset = preset_of(name)
    again = Preset.from_dict(json.loads(json.dumps(preset.to_dict())))
    assert again == preset
    assert hash(again) == hash(preset)


def test_the_presets_keep_what_was_asked_for():
    for one in PRESETS.values():
        assert one.save_steps[0] == 0
        assert one.save_steps[-1] == one.steps
        assert len(one.save_steps) == one.saves
    # FACTS, section 5, and App. G: what the paper says.
    assert (PAPER.pixels, PAPER.images_per_class, PAPER.steps) == (32, 2048, 20_000)
    assert (PAPER.layout.channels, PAPER.layout.blocks, PAPER.layout.heads) == (
        (64, 128, 256), 2, 4,
    )  # fmt: skip
    assert (PAPER.learning_rate, PAPER.weight_decay, PAPER.batch) == (1e-3, 0.01, 128)
    assert (PAPER.gamma_min, PAPER.gamma_max, PAPER.data_noise) == (-5.0, 10.0, 1e-3)
    assert (PAPER.generated_images, PAPER.averaging, PAPER.layout.norm) == (32, 0, "layer")
    assert PAPER.learned_schedule


def test_steps_of_the_saves():
    assert replace(TINY, steps=12, saves=4).save_steps == (0, 1, 5, 12)
    # 20 (k/10)^2 rounded, each once.
    assert replace(TINY, steps=20, saves=11).save_steps == (0, 1, 2, 3, 5, 7, 10, 13, 16, 20)
    assert replace(TINY, steps=0).save_steps == (0,)


# --- plans


def test_a_plan_through_a_file(tmp_path):
    path = tmp_path / "plan.toml"
    # Words that explain do not count; numbers, sentences and rules do.
    path.write_text(PLAN.to_toml() + "\n# a comment\n")
    again = Plan.load(path)
    assert again == PLAN
    assert again.digest == PLAN.digest


@pytest.mark.parametrize(
    ("right", "wrong", "words"),
    [
        ("\nseeds = 5", "\nsedes = 5", "plan has no such field; did you mean seeds?, got sedes"),
        ("batch = ", "bacth = ", "preset has no such field; did you mean batch?, got bacth"),
        ("blocks = ", "blokcs = ", "layout has no such field; did you mean blocks"),
        ("momentum = 0.9", "momentm = 0.9", "optimizers has no such field; did you mean momentum?"),
        (
            'says = "most',
            'sais = "most',
            "predictions has no such field; did you mean says?, got sais",
        ),
        ("\nshare = 0.75", "", "plan must have the field share"),
    ],
)
def test_a_misspelt_field_of_a_plan_is_named(right, wrong, words, tmp_path):
    path = tmp_path / "plan.toml"
    assert PLAN.to_toml().count(right) == 1
    path.write_text(PLAN.to_toml().replace(right, wrong))
    with pytest.raises(InvalidInput, match=f"^{re.escape(words)}"):
        Plan.load(path)


CHANGES = {
    "name": "other", "preset": replace(PLAN.preset, steps=7), "separation": (0.2, 0.3),
    "contrast": (0.3,), "gain": (0.4, 1.1),
    "optimizers": (PlannedOptimizer("sgd", 0.02, momentum=0.9),),
    "seeds": 6, "first_seed": 0, "share": 0.8, "within": 1.3,
    "predictions": (replace(PLAN.predictions[0], says="otherwise"), *PLAN.predictions[1:]),
}  # fmt: skip


def test_everything_in_a_plan_is_in_its_digest():
    assert set(CHANGES) == set(Plan.__dataclass_fields__)
    found = {replace(PLAN, **{name: value}).digest for name, value in CHANGES.items()}
    assert len(found | {PLAN.digest}) == len(CHANGES) + 1


def test_every_run_has_a_seed_of_its_own():
    jobs = PLAN.jobs
    assert len({seed for _, seed in jobs}) == len(jobs) == 80
    assert [cell for cell, _ in jobs[:16]] == list(PLAN.cells)
    cell = PLAN.cells[-2]
    made = PLAN.preset_of(cell)
    assert made.layout.gain == tuple(cell.gain * one for one in PLAN.preset.layout.gain)
    assert (made.optimizer, made.momentum, cell.gain) == ("adamw", 0.0, 0.4)


def test_the_plan_in_the_package_is_the_default():
    """It was written before its study was run, so neither may change without the other."""
    assert recorded_plan() == default_plan()
    shown = recorded_study()
    assert shown.plan == PLAN
    assert [(one.cell, one.seed) for one in shown.courses] == list(PLAN.jobs)


def test_studies_hold_runs_of_their_plan(by_covariance):
    one, other = by_covariance.study.courses[:2]
    renamed = replace(one, cell=other.cell, seed=other.seed)
    for plan, given in (
        (replace(PLAN, first_seed=0), (one,)), (PLAN, (one, one)), (PLAN, (one, renamed)),
    ):  # fmt: skip
        with pytest.raises(InvalidInput, match=r"^courses"):
            Study(plan, given, {})
