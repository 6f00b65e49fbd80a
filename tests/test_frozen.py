"""Values do not change: every dataclass is frozen, but for the few that carry a computation."""

import dataclasses
import importlib
import pkgutil

import swingby

#: What a loop or a search writes to as it goes.
IN_PLACE = {
    "swingby.simulate.state.State",
    "swingby.verify.certification.ball_run.BallState",
    "swingby.verify.certification.events.Watch",
    "swingby.verify.hunting.search.Hunted",
    "swingby.verify.prover.scalar.branch_and_bound.Report",
    "swingby.verify.prover.trajectories.judge.Runs",
}


def dataclasses_of_the_package():
    for found in pkgutil.walk_packages(swingby.__path__, "swingby."):
        if found.name.endswith("__main__"):
            continue
        try:
            module = importlib.import_module(found.name)
        except ModuleNotFoundError as error:
            # Networks of diffusion models are classes of torch, which may not be there.
            if error.name != "torch":
                raise
            continue
        for name, value in vars(module).items():
            own = isinstance(value, type) and value.__module__ == module.__name__
            if own and dataclasses.is_dataclass(value):
                yield f"{module.__name__}.{name}", value


def test_dataclasses_are_frozen():
    found = dict(dataclasses_of_the_package())
    assert len(found) > 100
    changeable = {name for name, one in found.items() if not one.__dataclass_params__.frozen}
    assert changeable == IN_PLACE
