"""The public names: all there, lazily loaded, and callable whatever was imported before."""

import importlib
import inspect

import pytest

import swingby

HEAVY = ("torch", "pandas", "sympy", "numba", "matplotlib", "scipy", "numpy", "rich")


@pytest.mark.parametrize("package", ["", ".testing", ".relu", ".diffusion", ".diffusion.vectors"])
def test_every_public_name_resolves_to_what_its_stub_names(package):
    """And none but `simulate` is called like the module that it lives in, which would hide it."""
    if "diffusion" in package:
        pytest.importorskip("torch")
    module = importlib.import_module(f"swingby{package}")
    for name in module.__all__:
        found = getattr(module, name)
        assert found is not None
        assert name == "simulate" or getattr(found, "__module__", "") != f"{module.__name__}.{name}"


PREDICTION = "swingby.predict([4, 1], [[2e-6, 1e-6], [1e-6, 2e-6]], eta=0.01).half_times"
REFUSAL = "from swingby.cli import run; assert run(['predict', '--mu', 'x', '--eta', '1']) == 2"


@pytest.mark.parametrize(
    ("call", "may"),
    [("", set()), (REFUSAL, {"numpy", "rich"}), (PREDICTION, {"numpy", "rich", "scipy", "sympy"})],
    ids=["import", "refusal", "prediction"],
)
def test_nothing_heavy_is_loaded_for_nothing(fresh, call, may):
    code = f"import swingby, sys; {call}\nprint(*[m for m in {HEAVY} if m in sys.modules])"
    assert set(fresh(code).split()) <= may


def test_simulate_is_a_function_whatever_was_imported_first(fresh):
    first = "from swingby.verify.compare import compare; import swingby"
    call = "swingby.simulate(swingby.SIMTask([1, 2]), [[.1, 0], [0, .1]], eta=.1, steps=3)"
    assert fresh(f"{first}; print({call}.last_step)") == "3"


def test_simulate_shows_the_signature_of_the_function():
    from swingby.simulate.run import simulate

    assert inspect.signature(swingby.simulate) == inspect.signature(simulate)


def test_unknown_names_are_refused():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = swingby.nonsense
    with pytest.raises(AttributeError, match=r"no attribute 'simulat'; did you mean simulate"):
        _ = swingby.simulat
    with pytest.raises(AttributeError, match=r"did you mean predict\(...\).plot\(\) or compare"):
        _ = swingby.plot
    with pytest.raises(AttributeError, match=r"did you mean the command swingby evidence\?"):
        _ = swingby.evidence
