"""Old paths of modules import what stands at the new one, with a warning, for one release."""

import importlib

import pytest

import swingby
from swingby import moved

#: Old paths that the documentation showed.
SHOWN = (
    "swingby.theory.claims.claim",
    "swingby.theory.claims.ledger",
    "swingby.theory.proofs.writer",
    "swingby.simulate.result",
    "swingby.verify.auditing.ledger",
    "swingby.verify.certification.enclosure",
    "swingby.sweeping.grid",
    "swingby.training.model",
)


@pytest.mark.parametrize("path", SHOWN)
def test_an_old_path_gives_the_module_at_the_new_one(fresh, path):
    new = moved.new_path(path)
    code = f"""
import warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import importlib
    old = importlib.import_module({path!r})
assert old is importlib.import_module({new!r})
print(*[str(one.message) for one in caught if "the old path" in str(one.message)][-1:])
"""
    assert fresh(code) == f"{path} is {new} now; the next release removes the old path"


def test_a_module_is_never_loaded_twice(fresh):
    code = """
import warnings
warnings.simplefilter("ignore")
from swingby.sweeping.grid import SweepGrid as old
from swingby.lab.sweeps.grid import SweepGrid as new
print(old is new)
"""
    assert fresh(code) == "True"


def test_a_name_that_moved_alone_is_found_with_a_warning():
    from swingby.verify import paper_settings

    with pytest.warns(DeprecationWarning, match="is in swingby.verify.paper_settings now"):
        from swingby.verify.compare import figure_settings
    assert figure_settings is paper_settings.figure_settings
    with pytest.raises(ImportError):
        from swingby.verify.compare import no_settings  # noqa: F401


@pytest.mark.parametrize(
    ("old", "home", "name"),
    [
        ("swingby.simulate.outcome", "swingby.simulate.series", "turning_points"),
        ("swingby.theory.numbers", "swingby.report.number_text", "python_text"),
    ],
)
def test_names_that_left_a_module_are_found_with_a_warning(old, home, name):
    with pytest.warns(DeprecationWarning, match=f"is in {home} now"):
        moved = getattr(importlib.import_module(old), name)
    assert moved is getattr(importlib.import_module(home), name)


def test_public_names_need_no_warning(fresh):
    code = """
import warnings
warnings.simplefilter("error")
from swingby.training import train
from swingby.diffusion import predict_vectors
from swingby.diffusion.vectors import train_vectors
import swingby
print(swingby.training.train is train)
"""
    pytest.importorskip("torch")
    assert fresh(code) == "True"


def test_every_new_path_exists():
    for new in moved.MOVED.values():
        assert importlib.util.find_spec(f"swingby.{new}") is not None


def test_paths_that_never_were_are_not_found():
    assert moved.new_path("swingby.theory.tasks") is None
    assert moved.new_path("numpy.sweeping") is None
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("swingby.sweepings")
    assert not hasattr(swingby, "sweeping")
