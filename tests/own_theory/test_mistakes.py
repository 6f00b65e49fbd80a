"""Ten typical mistakes in a theory of one's own, each answered in a sentence that leads on."""

from dataclasses import replace

import numpy as np
import pytest
import sympy as sp

import swingby
from swingby.errors import InvalidInput
from swingby.own import Bound, Each, Outcome, Passage, Theory, Value, k
from swingby.own_theory.statement import RESERVED
from swingby.testing import assert_theory
from tests.own_theory.small import decay, h, modes, noisy, s, time, u0, v

eta, q = sp.symbols("eta q", positive=True)


def half(**changes):
    return replace(replace(modes.predict[0], **changes))


def with_half(**changes):
    return replace(modes, predict=(half(**changes),))


ABSENT = object()


def stated(**changes):
    """Decay with some parts changed or absent."""
    parts = {name: getattr(decay, name) for name in PARTS} | changes
    return Theory(**{name: part for name, part in parts.items() if part is not ABSENT})


PARTS = ("name", "numbers", "assume", "start", "step", "observe", "predict")

fate = replace(
    decay,
    predict=(Outcome("fate", "x", 9, {"small": h <= 0.1, "large": h > 0.1}, lambda last, _: ""),),
)
STATED = {
    "a relation of plain numbers": (
        lambda: replace(modes, assume={"P1": 0.5 <= 1}),
        r'assume: "P1" is True at every setting: both sides are plain numbers; write it with the'
        " symbols of the theory",
    ),
    "an unknown symbol in an assumption": (
        lambda: replace(modes, assume={"P1": eta <= 1}),
        r'assume: "P1" speaks of eta, which is not a number of the theory \(s, u0, h\); did you '
        "mean h",
    ),
    "an equation": (
        lambda: replace(modes, assume={"P1": sp.Eq(h, u0)}),
        "must be a relation of sympy with <=",
    ),
    "an unknown symbol in a prediction": (
        lambda: with_half(time=sp.log(q)),
        'predict: "half" speaks of q, which is not a number of the theory',
    ),
    "an index without each": (
        lambda: with_half(each=False),
        "speaks of k, .*each=True in a prediction",
    ),
    "a step that asks for what is not there": (
        lambda: replace(modes, step=lambda z, s, eta: z),
        "step asks for eta, which the theory does not have: s, u0, h, d, t; did you mean h",
    ),
    "an observable that is not there": (
        lambda: with_half(of="v"),
        r'predict: "half" is of v, which is not observed \(u\)',
    ),
    "an order of what is no passage": (
        lambda: replace(modes, predict=(swingby.own.Before("order", "half[1]", "half[2]"),)),
        "compares half",
    ),
    "a number named like an option": (
        lambda: replace(modes, numbers={**modes.numbers, sp.Symbol("rng"): (1, 1, 1)}),
        "numbers: rng is a name of an option, call it otherwise .reserved: rng, steps, seconds",
    ),
    "a range that is not one": (
        lambda: replace(decay, numbers={**decay.numbers, h: (1, 0.1, 0.5)}),
        "numbers: h must be 0 < low <= usual <= high",
    ),
    "a range without an end": (
        lambda: replace(decay, numbers={**decay.numbers, h: (0.1, 1, np.inf)}),
        "numbers: h must be 0 < low <= usual <= high, finite",
    ),
    "a bound without a bound": (
        lambda: replace(decay, predict=(Bound("b", "x"),)),
        'predict: "b" needs below= or above=',
    ),
    "a bound that ends before it starts": (
        lambda: replace(decay, predict=(Bound("b", "x", below=1, start=5, until=4),)),
        'predict: "b" has no step from 5 to 4',
    ),
    "a negative promise": (
        lambda: with_half(within=-1),
        'predict: "half" has within=-1, must be 0 or more',
    ),
    "a value before the start": (
        lambda: replace(decay, predict=(Value("v", "x", at=-5, value=1, within=1),)),
        'predict: "v" has at=-5, must be 0 or more',
    ),
    "a complex time": (lambda: with_half(time=sp.I * h), 'predict: "half" has no real value: I.h'),
    "a time without a value": (lambda: with_half(time=h / 0), "has no real value: zoo"),
    "a constant that no run knows": (
        lambda: replace(
            decay, exists={q: (1, 2)}, predict=(Value("v", "x", at=1, value=q, within=1),)
        ),
        'predict: "v" speaks of q, which only has to exist',
    ),
    "no step, and nothing in its place": (
        lambda: stated(step=ABSENT),
        "step must be given: step=lambda x, h: .* or flow= in place of it, or step=None",
    ),
    "no predictions": (lambda: stated(predict=ABSENT), r"predict must be given: predict=\[Bound"),
    "one prediction in place of a list": (
        lambda: replace(decay, predict=decay.predict[0]),
        r"predict must be a list: predict=\[Bound",
    ),
    "a function among the predictions": (
        lambda: replace(decay, predict=[abs]),
        "predict must be of swingby.own: predict=",
    ),
    "a list of assumptions": (
        lambda: replace(decay, assume=[h <= 1]),
        r'assume must be a dict: assume=\{"small step": h <= 0.5\}',
    ),
    "no numbers": (lambda: stated(numbers={}, start=lambda n: n), "numbers must not be empty"),
    "no seeds": (lambda: replace(decay, seeds=0), "seeds must be at least 1, got 0"),
    "no steps": (lambda: replace(decay, steps=0), "steps must be at least 1, got 0"),
    "a length in place of lengths": (lambda: replace(decay, lengths=2), "lengths must be a list"),
    "no lengths": (lambda: replace(decay, lengths=[]), "lengths must be a list"),
    "a relation as a value": (
        lambda: replace(decay, predict=(Value("v", "x", 1, value=h <= 1, within=1),)),
        'predict: "v": value must have a formula of sympy, a number, or a function .* got h <= 1',
    ),
    "text as a value": (
        lambda: replace(decay, predict=(Value("v", "x", 1, value="h", within=1),)),
        'predict: "v": value must have a formula',
    ),
    "no time": (lambda: with_half(time=None), '"half": time must have a formula'),
    "a number as a condition": (
        lambda: replace(decay, predict=(Outcome("o", "x", 1, {"a": h}, lambda last, _: "a"),)),
        'predict: "o": a must have a relation of sympy, or a function',
    ),
    "an array of assumptions": (
        lambda: replace(decay, assume={"P": np.ones(1) <= 1}),
        'assume: "P" must be a relation of sympy, or a function',
    ),
    "a variance of one seed": (
        lambda: replace(noisy, seeds=1),
        'seeds must be at least 2 for "variance", give seeds=400',
    ),
}
MET = {
    "a start of the wrong shape": (
        lambda: swingby.compare(replace(modes, start=lambda u0: np.ones(2)), s=[1, 0.3]),
        r"start returned shape \(2,\) for 1 settings of length 2, must end in 1: settings are the"
        " last axis",
    ),
    "an observable of the wrong shape": (
        lambda: swingby.compare(replace(decay, observe={"x": lambda x: x[0] * 1.0})),
        r"observe\['x'\] returned shape \(\) for 1 settings, must have \(1,\)",
    ),
    "a step that mixes settings": (
        lambda: assert_theory(replace(decay, step=lambda x, h: x - h * x / x.sum())),
        r"step mixes settings: x of setting 1 at step 1 is \S+ in a batch of 3 and \S+ alone; sums",
    ),
    "a formula without a value": (
        lambda: assert_theory(
            replace(modes, assume={}, numbers={**modes.numbers, u0: (0.01, 0.02, 9)})
        ),
        r"half\[\d\]: time has no value at .*u0=.*: logarithm of -?\S+; an assumption should"
        " exclude that",
    ),
    "no setting inside": (
        lambda: assert_theory(replace(decay, assume={"small step": h <= sp.Rational(1, 5000)})),
        'no setting inside: at the usual setting "small step" fails by 2.70 decades',
    ),
    "a run that is too long": (
        lambda: swingby.compare(replace(modes, steps=100), s=[1, 0.3]),
        r"half\[1\] is decided after 3.5e\+02 steps, more than 100 are not run: raise steps=",
    ),
    "an unknown number": (
        lambda: swingby.check(modes, u=0.1),
        r"u is not a number of 'modes of a deep linear network' \(s, u0, h\); did you mean u0",
    ),
    "numbers without names": (
        lambda: swingby.check(decay, 1, 2),
        r"check too many positional arguments: numbers of a theory have names, check\(theory, h=",
    ),
    "a step that returns nothing": (
        lambda: swingby.compare(replace(decay, step=lambda x: None)),
        "step returned None, must return the numbers of its state",
    ),
    "a step of another shape": (
        lambda: swingby.compare(replace(decay, step=lambda x: x[:0])),
        r"step returned \(0,\), must keep \(1,\)",
    ),
    "an unknown question": (
        lambda: swingby.threshold(modes, "half first", vary="h"),
        'question must be "A before B" of passages',
    ),
    "an order of what is no passage, asked": (
        lambda: swingby.threshold(decay, "rate before tenth", vary="h"),
        'question "rate before tenth" asks for an order, and rate is no passage',
    ),
    "a label that there is not": (
        lambda: swingby.threshold(fate, "fate is smal", vary="h"),
        'question "fate is smal" asks for a label of fate, which has small, large; did you mean'
        " small",
    ),
    "a complex observable": (
        lambda: swingby.compare(replace(decay, observe={"x": lambda x: x + 1j})),
        r"observe\['x'\] returned complex numbers, must return real numbers",
    ),
    "a formula without a function": (
        lambda: swingby.compare(
            replace(decay, predict=(Value("v", "x", 1, sp.Function("f")(h), within=1),))
        ),
        r"formula f\(h\) has f that neither NumPy nor SciPy has",
    ),
    "an unknown assumption": (
        lambda: modes.sample(3, outside="distance"),
        "outside must be an assumption of the theory: small step, small start, apart",
    ),
}


@pytest.mark.parametrize(
    ("mistake", "words"), [*STATED.values(), *MET.values()], ids=[*STATED, *MET]
)
def test_a_mistake_is_answered(mistake, words):
    with pytest.raises(InvalidInput, match=words):
        mistake()


def test_a_promise_without_power_fails():
    loose = replace(with_half(within=2 * time), lengths=(2,), steps=20_000)
    words = (
        r"half: within is 2.0 times the predicted time; a prediction wrong by a factor 2 would pass"
    )
    with pytest.raises(AssertionError, match=rf"{words}\s+\(POWERLESS\)"):
        assert_theory(loose, count=40)


def test_a_promise_below_the_noise_names_the_seeds():
    sharp = Value("variance", "x", 6 / h, h * v / (2 - h), within=h * v / 200, stat="var")
    with pytest.raises(AssertionError) as failure:
        assert_theory(replace(noisy, predict=(sharp,), seeds=400), count=40)
    text = " ".join(str(failure.value).split())
    # 4 standard errors of a variance of n normal numbers are 4 sqrt(2/n): .283 at 400, for .01
    assert "variance: 400 seeds tell 2" in text
    assert "% is promised: give seeds=3" in text
    assert "or promise less" in text


@pytest.mark.parametrize("name", RESERVED)
def test_no_number_bears_the_name_of_an_option(name):
    with pytest.raises(InvalidInput, match=f"{name} is a name of an option"):
        replace(decay, numbers={**decay.numbers, sp.Symbol(name): (1, 1, 1)})


def test_symbols_are_matched_by_name():
    """A symbol without the assumption "positive" is the same number."""
    other = replace(decay, assume={"small step": sp.Symbol("h") <= 0.5})
    assert swingby.check(other, h=0.4).holds
    assert not swingby.check(other, h=0.6).holds


def test_every_part_is_named_when_missing():
    for name in PARTS:
        with pytest.raises(InvalidInput, match=f"{name} must be given"):
            stated(**{name: ABSENT})
    flow = stated(step=ABSENT, flow=lambda x, h: -h * x)  # which stands in its place
    assert flow.step is None
    assert swingby.check(flow).holds


def test_relations_of_entries_need_each():
    with pytest.raises(InvalidInput, match=r"write Each\(relation\)"):
        replace(modes, assume={"P": h * s[k] <= 1})
    assert replace(modes, assume={"P": Each(h * s[k] <= 1)})
    assert isinstance(modes.predict[0], Passage)


def test_an_error_in_code_of_the_user_has_its_line():
    def looking(x, h):
        if h > 1:
            return x
        return x - h * x

    with pytest.raises(InvalidInput, match="looking must run without an error") as failure:
        swingby.hunt(replace(decay, step=looking), 1, count=40)
    text = str(failure.value)
    line = looking.__code__.co_firstlineno + 1
    assert "ends in ValueError" in text
    assert f"at line {line} of test_mistakes.py" in text
    assert "an entry for each setting (write np.where for if)" in text
    assert isinstance(failure.value.__cause__, ValueError)
