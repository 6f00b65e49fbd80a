"""Studies beside each other, judged by the signals of several representations."""

import json
import math
from dataclasses import replace

import pytest

from swingby import cli
from swingby.diffusion.judged import judged_study
from swingby.diffusion.judging.signal_flip import find_flip
from swingby.diffusion.presets import QUIET, SMALL
from swingby.diffusion.representations import Representations, compare_representations
from swingby.diffusion.study import Study, recorded_study
from swingby.errors import InvalidInput
from swingby.theory.verdict import Verdict

THREE = ("registered", "condition", "covariance")


@pytest.fixture(scope="module")
def compared():
    return compare_representations(recorded_study(), recorded_study("quiet"))


def test_the_recorded_study_of_faint_conditions():
    found = recorded_study("quiet")
    assert found.preset == QUIET
    assert len(found.courses) == len(QUIET.contrasts) * len(QUIET.seeds) == 12
    assert min(found.accuracy.values()) >= 0.999
    with pytest.raises(InvalidInput, match="quiet"):
        recorded_study("loud")


def test_a_row_for_each(compared):
    rows = compared.to_dict()["rows"]
    assert [(one["study"], one["representation"]) for one in rows] == [
        (study, name) for study in ("small", "quiet") for name in THREE
    ]
    for row in rows:
        preset = {"small": SMALL, "quiet": QUIET}[row["study"]]
        assert row["gain"] == list(preset.layout.gain)
        # Second reading: the table of the study alone.
        study = recorded_study(row["study"])
        alone = judged_study(study, row["representation"]).judgement
        assert row["flip_verdict"] == alone.of("flip").verdict.value
        assert row["flip_observed"] == alone.of("flip").observed
        assert row["slope_low"] == alone.of("ratio").low
        orders = [alone.of("order", one).verdict for one in preset.contrasts]
        assert row["orders_fails"] == orders.count(Verdict.FAILS)
        assert row["orders_holds"] == orders.count(Verdict.HOLDS)
    assert compared.to_frame().shape == (6, len(rows[0]))
    json.dumps(rows, allow_nan=False)


def test_gains_count_where_conditions_do(compared):
    flip = {
        (one["study"], one["representation"]): one["flip_predicted"]
        for one in compared.to_dict()["rows"]
    }
    assert flip["small", "registered"] == flip["quiet", "registered"]
    # Closed form: the size is read with gain 2.5, the colour with 4 or with 1.
    unscaled = math.sqrt((0.08 + 0.0075) / (1 + 1 / 192))
    for name, gain in (("small", 4), ("quiet", 1)):
        assert flip[name, "condition"] == pytest.approx(unscaled * 2.5 / gain, abs=2e-4)
    expected = find_flip("covariance", gain=QUIET.layout.gain, pixels=16).contrast
    assert flip["quiet", "covariance"] == pytest.approx(expected)


def test_outputs(compared):
    for text in (compared.to_text(width=140), compared.to_markdown(), compared._repr_html_()):
        assert "covariance" in text
        assert "2.5 1 1 1" in text
    assert r"\toprule" in compared.to_latex()
    assert compared.of("quiet", "condition").flip.representation == "condition"
    with pytest.raises(InvalidInput, match="study"):
        compared.of("tiny", "condition")


def test_a_study_that_learned_nothing_has_no_numbers():
    whole = recorded_study()
    course = whole.courses[0]
    flat = replace(course, classes=0 * course.classes + 0.5)
    study = Study(replace(SMALL, seeds=(0,)), (flat,), {course.contrast: 1.0}, whole.made_with)
    found = compare_representations(study, representations=("condition",))
    (row,) = found.to_dict()["rows"]
    assert (row["flip_observed"], row["flip_verdict"]) == (None, "undecided")
    json.dumps(row, allow_nan=False)


def test_on_the_command_line(capsys):
    assert cli.run(["diffusion", "recorded", "--representation", "all", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [one["representation"] for one in told["rows"]] == list(THREE)


def test_a_wrong_name_is_refused_before_anything_trains(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli.run(["diffusion", "tiny", "--representation", "words"]) == 2
    assert "words" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "call",
    [
        compare_representations,
        lambda: compare_representations(3),
        lambda: compare_representations(recorded_study(), recorded_study()),
        lambda: compare_representations(recorded_study(), representations=()),
        lambda: compare_representations(recorded_study(), representations="condition"),
        lambda: compare_representations(recorded_study(), representations=("words",)),
    ],
)
def test_what_makes_no_sense_is_refused(call):
    with pytest.raises(InvalidInput):
        call()


def test_it_is_a_result():
    assert Representations(()).to_dict() == {"rows": []}
