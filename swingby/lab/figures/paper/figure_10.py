"""Figure 10: a concept that is not learned."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from swingby.lab.figures.figure import Data, Figure, Measured, Tell, criterion
from swingby.lab.figures.panels import stages_picture
from swingby.lab.figures.theory_runs import editions, run_of, setting_in, theory_data
from swingby.theory.verdict import Verdict, yes

#: Steps of the longer runs; the paper's has 10,000.
LONG = 40_000

#: By how much the finer Euler run divides eta.
FINER = 5


def compute(parameters: Mapping[str, Any], tell: Tell) -> dict[str, Any]:
    """The run of an edition, the same run for longer, at a smaller eta, and under gd."""
    data = theory_data(parameters, tell)
    setting, gd = setting_in(parameters), setting_in(parameters, dynamics="gd")
    finer = f"{float(setting.eta) / FINER:g}"
    tell(0.5, "longer runs")
    for name, run in {
        "long": run_of(setting, steps=LONG, record="none"),
        "long_gd": run_of(gd, steps=LONG, record="none"),
        "long_finer": run_of(setting, eta=finer, steps=LONG * FINER, record="none"),
    }.items():
        half = run.half_times[0]
        data[name] = {
            "eta": str(float(run.eta)),
            "half_time": None if half != half else int(half),
            "outcome": str(run.outcome),
            "last_step": run.last_step,
        }
    return data


@criterion(
    "never",
    "The major entry w_11 is suppressed at the beginning and never grows.",
    "never",
    "w_11 stays below 1/2 in the steps shown",
)
def _never(data: Data) -> Measured:
    half, curve = data["half_times"][0], data["W"][:, 0, 0]
    psd = data["psd_lost"]
    reason = f"w_11 goes from {curve[0]:.4f} to {curve[-1]:.4f} in {data['last_step']} steps"
    if half is not None:
        control = data["controls"]["other_rates"]
        never = control["half_times"][0] is None
        reason += f" and reaches 1/2 at {half}; with rates {control['rates']} it " + (
            "does not." if never else f"does at {control['half_times'][0]}."
        )
    elif psd is not None:
        reason += f"; W is not positive semidefinite from step {psd} on."
    else:
        reason += "."
    return Measured(
        "never" if half is None else f"at {half}", yes(half is None), reason, {"half_time": half}
    )


@criterion(
    "level",
    "The test loss converges to a value above 0.",
    "above 0",
    "at least 0.01 of the start, changing by at most 1 % of itself in the last tenth of the "
    f"run, and still finite after {LONG} steps",
)
def _level(data: Data) -> Measured:
    loss, start = data["test_loss"], data["start_loss"]
    last = len(loss) * 9 // 10
    level, drift = float(loss[-1]) / start, float(abs(loss[-1] - loss[last])) / start
    diverged = data["long"]["outcome"] == "diverged"
    settles = level >= 0.01 and drift <= 0.01 * level and not diverged
    reason = (
        f"The test loss ends at {level:.3g} of its start and changes by {drift:.2g} in the last "
        "tenth of the run"
    )
    if diverged:
        reason += f"; the same run leaves the float range at step {data['long']['last_step']}"
    return Measured(
        f"{level:.2g} of the start" + (", then diverges" if diverged else ""),
        yes(settles),
        f"{reason}.",
        {"level": level, "drift": drift, "diverged": diverged},
    )


@criterion(
    "output",
    "The output stops at a combination of concepts 2 and 3 without concept 1.",
    "(0, 1, 1) of mu",
    "within 0.1 of mu in each concept",
)
def _output(data: Data) -> Measured:
    shares = data["output"][-1] / data["test_point"]
    text = "(" + ", ".join(f"{share:.2f}" for share in shares) + ") of mu"
    holds = abs(shares[0]) <= 0.1 and abs(shares[1:] - 1).max() <= 0.1
    reason = f"After {data['last_step']} steps the output is {text}."
    return Measured(text, yes(holds), reason, {"shares": shares.tolist()})


@criterion(
    "trapped",
    "w_11 is trapped: it has no chance to grow.",
    "trapped",
    f"w_11 stays below 1/2 also under gradient descent on U and with eta / {FINER}, for "
    f"{LONG} steps of the paper's eta",
)
def _trapped(data: Data) -> Measured:
    gd, finer = data["long_gd"]["half_time"], data["long_finer"]["half_time"]
    half = data["half_times"][0]
    if half is not None:
        return Measured(f"learned at {half}", Verdict.FAILS, "Nothing is trapped in this edition.")
    at = "never" if gd is None else f"at {gd}"
    eta = data["long_finer"]["eta"]
    finer_text = "not" if finer is None else f"so at step {finer}, {finer // FINER} of the paper's"
    reason = (
        f"From the same W(0), gradient descent on U takes w_11 to 1/2 {at} "
        f"({data['last_step']} steps are shown), and the Euler step at eta = {eta} does "
        f"{finer_text}"
    )
    if data["psd_lost"] is not None and gd is not None:
        reason += (
            f": it is late, not trapped. The Euler step on W at eta = {data['eta']} loses positive "
            f"semidefiniteness at step {data['psd_lost']}, and only then w_11 can fall below 0"
        )
    trapped = gd is None and finer is None
    return Measured(
        f"gradient descent: {at}", yes(trapped), f"{reason}.", {"gd": gd, "finer": finer}
    )


FIGURES = (
    Figure(
        number="10",
        title="a failure to generalize, three concepts",
        claim="The major entry of the weakest concept is suppressed at the beginning and never "
        "grows: the test loss stays above 0 and the output combines the other two concepts only.",
        source="App. E.3",
        editions=editions("Fig. 10"),
        compute=compute,
        criteria=(_never, _level, _output, _trapped),
        draw=partial(stages_picture, logarithmic=True, planes=[(2, 3), (1, 2)]),
    ),
)
