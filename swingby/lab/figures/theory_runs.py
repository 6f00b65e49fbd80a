"""Runs of the map for the theory figures: their editions, their events and control runs.

The caption edition takes the parameters as printed and the rates a of (4.3); the code edition
takes the parameters of the authors' public scripts and their rates a^2. Both step W as the
scripts do (euler) and start at the scripts' W(0).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.lab.figures.figure import Edition, Tell
from swingby.report.number_text import scientific
from swingby.verify.paper_settings import PaperSetting, figure_settings

if TYPE_CHECKING:
    from swingby.simulate.trajectory import Run

#: Rates of each edition.
RATES = {"caption": "a", "code": "a^2"}

#: Seeds of the scripts; W(0) itself is kept too.
SEEDS = {"Fig. 5": 2333, "Fig. 8": 233333, "Fig. 9": 233333, "Fig. 10": 233333}

#: A descent, or a bump, counts from these shares of the test loss at the start.
SWINGS = (0.001, 0.01)


def editions(figure: str) -> tuple[Edition, ...]:
    """The caption and the code edition of a theory figure such as ``"Fig. 8"``."""
    return tuple(_edition(setting_of(figure, name), name) for name in RATES)


def setting_of(figure: str, edition: str, rates: str = "", dynamics: str = "euler") -> PaperSetting:
    """A setting of the paper; its rates are those of the edition if no others are asked for."""
    chosen_rates = rates or RATES[edition]
    return next(
        setting
        for setting in figure_settings()
        if (setting.figure, setting.rates, setting.dynamics) == (figure, chosen_rates, dynamics)
        and edition in setting.parameters
    )


def _edition(setting: PaperSetting, name: str) -> Edition:
    task = setting.task
    parameters = {
        "figure": setting.figure,
        "edition": name,
        "mu": [str(value) for value in task.mu],
        "sigma": [str(value) for value in task.sigma],
        "dim": task.dim,
        "rates": setting.rates,
        "signal": [str(value) for value in task.exact_signal],
        "dynamics": setting.dynamics,
        "eta": setting.eta,
        "steps": setting.steps,
        "seed": SEEDS[setting.figure],
        "W0": np.asarray(setting.W0).tolist(),
    }
    spread = sorted(set(task.sigma))
    sigma = _listed(spread) if len(spread) == 1 else f"({_listed(task.sigma)})"
    rates = setting.rates.replace("^2", "\N{SUPERSCRIPT TWO}")
    mu = f"\N{GREEK SMALL LETTER MU} = ({_listed(task.mu)})"
    steps = f"\N{GREEK SMALL LETTER ETA} = {setting.eta}"
    note = f"{mu}, \N{GREEK SMALL LETTER SIGMA} = {sigma}, rates {rates}, {steps}"
    return Edition(name, parameters, note)


def _listed(values: Any) -> str:
    return ", ".join(scientific(value) for value in values)


def setting_in(parameters: Mapping[str, Any], **changes: str) -> PaperSetting:
    """The setting of an edition, or the same with other rates or dynamics, for a control run."""
    fields = {name: parameters[name] for name in ("figure", "edition", "rates", "dynamics")}
    return setting_of(**fields | changes)


def run_of(setting: PaperSetting, **changes: Any) -> Run:
    """The run of a setting, every step recorded; `changes` of the arguments of simulate()."""
    from swingby.simulate.run import simulate

    arguments: dict[str, Any] = {
        name: getattr(setting, name) for name in ("eta", "steps", "dynamics")
    }
    return simulate(setting.task, setting.W0, **arguments | {"record": 1} | changes)


def theory_data(parameters: Mapping[str, Any], tell: Tell) -> dict[str, Any]:
    """The run of an edition, and two controls: the other rates, and gradient descent on U.

    Returns arrays ``steps`` (n,), ``W`` (n, d, d), ``output`` (n, d), ``test_loss`` and
    ``train_loss`` (n,), ``test_point`` (d,); values ``turns``, ``peaks``, ``order``,
    ``half_times``, ``descents``, ``controls`` and others.
    """
    del tell  # it takes no time
    setting = setting_in(parameters)
    run = run_of(setting)
    other_rates = "a" if setting.rates == "a^2" else "a^2"
    controls = {
        "other_rates": control(setting_in(parameters, rates=other_rates)),
        "gd": control(setting_in(parameters, dynamics="gd")),
    }
    data_task = setting_in(parameters, rates="a").task
    return {
        "steps": run.steps,
        "W": run.W,
        "output": run.output,
        "test_loss": run.test_loss,
        # The loss on the data has the weights a, whatever the rates of the scripts are.
        "train_loss": 0.5
        * ((run.W - np.eye(data_task.dim)) ** 2 * data_task.signal).sum(axis=(-2, -1)),
        "test_point": run.task.test_point,
        "concepts": run.task.s,
        "rates": setting.rates,
        "eta": setting.eta,
        **events_of(run),
        "controls": controls,
    }


def control(setting: PaperSetting) -> dict[str, Any]:
    """The events of another run, for the reasons of verdicts."""
    events = events_of(run_of(setting, record="none"))
    return {"rates": setting.rates, "dynamics": setting.dynamics, **events}


def events_of(run: Run) -> dict[str, Any]:
    """Events of a run as plain values, concepts counted from 1; None for never."""
    return {
        "order": [k + 1 for k in run.task.order if k < run.task.s],
        "half_times": [None if np.isnan(half) else int(half) for half in run.half_times],
        "turns": [[extremum.step, extremum.value, extremum.kind] for extremum in run.extrema],
        "start_loss": float(run.test_loss[0]),
        "descents": {str(swing): run.descents(swing) for swing in SWINGS},
        "peaks": [
            [peak.i + 1, peak.j + 1, peak.step, peak.value, peak.suppressed] for peak in run.peaks
        ],
        "psd_lost": run.psd_lost,
        "last_step": run.last_step,
        "outcome": str(run.outcome),
        "reason": run.reason,
    }
