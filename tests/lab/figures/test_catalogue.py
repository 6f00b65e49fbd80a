"""Every figure that there is fits the framework, and its parameters are the ones shipped."""

import json
from importlib import resources

import pytest

from swingby.lab.figures import all_figures
from swingby.lab.figures.catalogue import chosen
from swingby.lab.figures.figure import EDITIONS, Edition
from swingby.lab.figures.theory_runs import SEEDS

FIGURES = {one.number: one for one in all_figures()}


def test_the_order_is_that_of_the_paper():
    plain = [int(one) for one in FIGURES if one.isdigit()]
    assert list(FIGURES) == [one.number for one in all_figures()]
    assert plain == sorted(plain)


@pytest.mark.parametrize("number", FIGURES)
def test_a_figure_fits_the_framework(number):
    one = FIGURES[number]
    assert all((one.number == number, one.title, one.source, one.criteria))
    assert one.claim.endswith(".")
    names = [edition.name for edition in one.editions]
    assert names == [name for name in EDITIONS if name in names]
    assert len({criterion.id for criterion in one.criteria}) == len(one.criteria)
    keys = {one.key(edition, quick=quick) for edition in one.editions for quick in (False, True)}
    assert len(keys) >= len(names)
    for edition in one.editions:
        assert json.loads(json.dumps(edition.given(quick=True))) == edition.given(quick=True)
    for criterion in one.criteria:
        assert criterion.statement.endswith(".")
        assert all((criterion.paper, criterion.threshold))


@pytest.mark.parametrize(
    ("only", "editions", "expected"),
    [
        ("8,5", None, ["8 caption", "8 code", "5 caption", "5 code"]),
        ([" 8", 5, "8"], "code", ["8 code", "5 code"]),
        (10, ["caption", "code"], ["10 caption", "10 code"]),
    ],
)
def test_what_is_asked_for_is_chosen(only, editions, expected):
    found = [f"{one.number} {edition.name}" for one, edition in chosen(only, editions)]
    assert found == expected


def test_seeds_are_those_of_the_shipped_matrices():
    source = resources.files("swingby") / "data" / "paper_initial_matrices.json"
    cases = json.loads(source.read_text(encoding="utf-8"))["cases"].values()
    assert {f"Fig. {case['fig'].split(',')[0]}": case["seed"] for case in cases} == SEEDS


def test_a_key_depends_on_the_parameters():
    one = FIGURES["5"]
    edition = one.editions[0]
    other = Edition(edition.name, {**edition.parameters, "eta": "0.02"}, edition.note)
    assert one.key(edition) != one.key(other)
    assert one.key(edition) == one.key(Edition(edition.name, edition.parameters, "another note"))
