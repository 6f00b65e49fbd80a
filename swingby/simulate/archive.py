"""Runs as plain values and as files: npz without pickled objects."""

from __future__ import annotations

import json
import zipfile
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.errors import InvalidInput
from swingby.simulate.events import Extremum, Peak
from swingby.simulate.outcome import Outcome
from swingby.theory.initial import Initial
from swingby.theory.task import SIMTask

if TYPE_CHECKING:
    from swingby.simulate.result import Run

#: First word of every file; a change of layout changes the number.
FORMAT = "swingby run 1"


def to_dict(run: Run) -> dict[str, Any]:
    """Inputs, events and outcome of a run as plain Python values; no trajectory.

    Parameters
    ----------
    run : Run

    Returns
    -------
    dict
        Ready for JSON; exact numbers are text, steps not reached are None.
    """
    override = run.task.signal_override
    return {
        "format": FORMAT,
        "task": {
            "mu": [str(value) for value in run.task.mu],
            "sigma": [str(value) for value in run.task.sigma],
            "dim": run.task.dim,
            "signal": None if override is None else [str(value) for value in override],
            "note": run.task.note,
        },
        "W0": run.initial.matrix.tolist(),
        "W0_scale": str(run.initial.scale),
        "eta": str(run.eta),
        "dynamics": run.dynamics,
        "level_times": {
            str(level): [None if np.isnan(step) else int(step) for step in steps]
            for level, steps in run.level_times.items()
        },
        "peaks": [list(peak) for peak in run.peaks],
        "extrema": [list(extremum) for extremum in run.extrema],
        "extrema_complete": run.extrema_complete,
        "psd_lost": run.psd_lost,
        "end": run.end,
        "last_step": run.last_step,
        "outcome": str(run.outcome),
        "reason": run.reason,
        "executed_steps": run.executed_steps,
    }


def save(run: Run, path: str | Path) -> Path:
    """Write a run; see :meth:`swingby.simulate.result.Run.save`.

    Parameters
    ----------
    run : Run
    path : str or Path

    Returns
    -------
    Path
    """
    target = Path(path)
    if target.suffix != ".npz":
        target = target.with_name(target.name + ".npz")
    rotation = run.task.rotation
    np.savez_compressed(
        target,
        facts=np.array(json.dumps(to_dict(run))),
        steps=run.steps,
        W=run.W,
        rotation=np.zeros((0, 0)) if rotation is None else rotation,
    )
    return target


def load(path: str | Path) -> dict[str, Any]:
    """Read the fields of a run.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    dict
        Arguments of :class:`swingby.simulate.result.Run`.

    Raises
    ------
    InvalidInput
        If the file is missing, broken, or something else.
    """
    try:
        # A stream of our own is closed even when numpy fails half-way into a broken file.
        with open(path, "rb") as stream, np.load(stream, allow_pickle=False) as file:
            facts = json.loads(str(file["facts"]))
            steps, W, rotation = file["steps"], file["W"], file["rotation"]
        if facts["format"] != FORMAT or W.shape[0] != steps.shape[0]:
            raise ValueError("not a run")
        return {**_fields(facts, rotation if rotation.size else None), "steps": steps, "W": W}
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile):
        raise InvalidInput("path", path, "must be a file written by Run.save") from None


def _fields(facts: dict[str, Any], rotation: Any) -> dict[str, Any]:
    given = facts["task"]
    signal = given["signal"]
    plain = ("dynamics", "extrema_complete", "psd_lost", "end", "last_step", "reason")
    return {
        "task": SIMTask(
            given["mu"],
            given["sigma"],
            given["dim"],
            signal_override=None if signal is None else tuple(Fraction(value) for value in signal),
            note=given["note"],
            rotation=rotation,
        ),
        "initial": Initial(np.array(facts["W0"]), Fraction(facts["W0_scale"])),
        "eta": Fraction(facts["eta"]),
        "level_times": {
            float(level): np.array([np.nan if step is None else step for step in row], float)
            for level, row in facts["level_times"].items()
        },
        "peaks": tuple(Peak(*peak) for peak in facts["peaks"]),
        "extrema": tuple(Extremum(*extremum) for extremum in facts["extrema"]),
        "outcome": Outcome(facts["outcome"]),
        "executed_steps": facts["executed_steps"],
        **{name: facts[name] for name in plain},
    }
