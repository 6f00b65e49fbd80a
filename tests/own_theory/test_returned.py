"""What functions of a theory return: of another kind than asked for, it is refused by name."""

from dataclasses import replace

import numpy as np
import pytest
import sympy as sp

import swingby
from swingby.errors import InvalidInput
from swingby.own import Outcome, Value
from tests.own_theory.small import decay, h

#: What a function may return by mistake, and the words for it.
OTHERS = {
    "None": (lambda x0: None, "None"),
    "text": (lambda x0: "yes", "text"),
    "truth": (lambda x0: x0 < 9, "True or False"),
    "a relation": (lambda x0: sp.Symbol("x0") <= 9, "LessThan, x0 <= 9"),
    "rows of several lengths": (lambda x0: [x0, [x0, x0]], "arrays of several shapes"),
    "complex": (lambda x0: x0 * 1j, "complex numbers"),
}
WRONG_SHAPE = (lambda x0: np.ones((2, 3)), r"shape \(2, 3\)")


def value(**changes):
    return {
        "predict": (
            Value(**{**{"name": "v", "of": "x", "at": 1, "value": 1, "within": 9}, **changes}),
        )
    }


def outcome(**changes):
    parts = {
        "name": "o",
        "of": "x",
        "at": 1,
        "predicted": {"a": h <= 1},
        "observed": lambda last, _: "a",
    }
    return {"predict": (Outcome(**{**parts, **changes}),)}


def of_state(function):
    return lambda x, x0: function(x0)


#: Where a function may stand, by the title of its error.
WHERE = {
    'assume: "P"': lambda f: {"assume": {"P": f}},
    "v: value": lambda f: value(value=f),
    "v: within": lambda f: value(within=f),
    "v: at": lambda f: value(at=f),
    r"observe\['x'\]": lambda f: {"observe": {"x": of_state(f)}, **value()},
    r"measured\['m'\]": lambda f: {"measured": {"m": f}},
    r"draws\['B'\]": lambda f: {"draws": {"B": lambda x0: f(x0)}},
}


@pytest.mark.parametrize("title", WHERE)
@pytest.mark.parametrize("other", OTHERS)
def test_what_is_no_real_number_is_refused(title, other):
    function, words = OTHERS[other]
    with pytest.raises(InvalidInput, match=f"^{title} returned {words}, must return"):
        swingby.compare(replace(decay, **WHERE[title](function)))


@pytest.mark.parametrize("title", WHERE)
def test_a_wrong_shape_is_refused(title):
    function, words = WRONG_SHAPE
    with pytest.raises(InvalidInput, match=f"^{title} returned {words} for 1 settings"):
        swingby.compare(replace(decay, **WHERE[title](function)))


@pytest.mark.parametrize("part", ["start", "step"])
@pytest.mark.parametrize("other", ["None", "text", "a relation", "rows of several lengths"])
def test_a_state_is_of_numbers(part, other):
    function, words = OTHERS[other]
    changed = function if part == "start" else of_state(function)
    with pytest.raises(InvalidInput, match=f"{part} returned {words}, must return the numbers"):
        swingby.compare(replace(decay, **{part: changed}))


def test_a_step_that_compares_in_place_of_moving_is_refused():
    with pytest.raises(InvalidInput, match="step returned True or False"):
        swingby.compare(replace(decay, step=lambda x: x < 1))
    # A state of flags stays one.
    flags = replace(
        decay, start=lambda x0: x0 > 9, step=lambda x: ~x, observe={"x": lambda x: 1.0 * x}
    )
    assert swingby.compare(replace(flags, **value())).rows[0].observed == 1


def test_a_function_that_is_no_margin_names_what_to_type():
    """h <= 1/2 is False at h = 1, as the margin 0 it would hold there."""
    theory = replace(decay, assume={"small step": lambda h: h <= 0.5})
    words = (
        r"returned True or False, must return its margin in decades, .*np.log10\(right / left\); "
    )
    with pytest.raises(InvalidInput, match=words + "or type a relation of sympy"):
        swingby.check(theory, h=1)
    margin = replace(decay, assume={"small step": lambda h: np.log10(0.5 / h)})
    assert not swingby.check(margin, h=1).holds
    assert swingby.check(margin, h=0.05).margins["small step"] == pytest.approx(1)


@pytest.mark.parametrize("other", ["None", "text", "a relation"])
def test_a_condition_is_true_or_false(other):
    function, words = OTHERS[other]
    for condition, kind in ((function, words), (lambda x0: x0 - 5, "numbers")):
        with pytest.raises(InvalidInput, match=f"o: a returned {kind}, must return True or False"):
            swingby.compare(replace(decay, **outcome(predicted={"a": condition})))
    kept = replace(decay, **outcome(predicted={"a": lambda x0: x0 < 5}))
    assert [swingby.compare(kept, x0=x).rows[0].verdict for x in (1, 9)] == ["kept", "undecided"]


def test_an_observed_label_is_text():
    for label in (None, True, 3):
        with pytest.raises(
            InvalidInput, match=f"o: observed returned {label}, must return a label"
        ):
            swingby.compare(replace(decay, **outcome(observed=lambda last, _, x=label: x)))
    with pytest.raises(InvalidInput, match="must run without an error, but ends in ZeroDivision"):
        swingby.compare(replace(decay, **outcome(observed=lambda last, _: 1 / 0)))


def test_a_margin_without_a_value_is_named():
    theory = replace(decay, assume={"P": lambda x0: x0 * np.nan})
    assert str(swingby.check(theory).verdict) == "undecided"
    with pytest.raises(InvalidInput, match='assume: "P" has the margin nan at x0=1'):
        swingby.hunt(theory, 2, count=8)
    assert "is not known" in str(swingby.compare(theory, x0=1))


def test_runs_are_a_dict():
    shown = replace(decay, start=None, step=None, runs=lambda x0: x0, **value())
    with pytest.raises(InvalidInput, match=r"runs returned .* must return a dict"):
        swingby.compare(shown)
