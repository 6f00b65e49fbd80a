"""Training runs as npz files, in which nothing is pickled."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

import numpy as np

from swingby.errors import InvalidInput
from swingby.report.files import whole as writable
from swingby.training.result import TrainingRun
from swingby.training.setting import Setting

#: Of the file.
FORMAT = 1


def write_run(run: TrainingRun, path: str | Path) -> None:
    """Write an npz file."""
    header = {
        "format": FORMAT,
        "settings": [one.to_dict() for one in run.settings],
        "index": run.index,
        "weights": len(run.weights),
    }
    arrays = {
        one.name: getattr(run, one.name)
        for one in fields(run)
        if one.name not in ("settings", "index", "weights")
    }
    arrays |= {f"weights{place}": one for place, one in enumerate(run.weights)}
    with writable(path) as target, target.open("wb") as file:
        np.savez_compressed(file, header=np.array(json.dumps(header)), **arrays)


def read_run(path: str | Path) -> TrainingRun:
    """Read what :func:`write_run` wrote.

    Raises
    ------
    InvalidInput
        If the file is missing or not such a file.
    """
    try:
        # numpy leaves a file that is damaged open.
        with open(path, "rb") as stream, np.load(stream, allow_pickle=False) as file:
            held = {name: file[name] for name in file.files}
        header = json.loads(str(held.pop("header")))
        if header["format"] != FORMAT:
            raise ValueError(f"format {header['format']}")
        weights = tuple(held.pop(f"weights{k}") for k in range(header["weights"]))
        run = TrainingRun(
            settings=tuple(Setting.from_dict(one) for one in header["settings"]),
            index=tuple(tuple(one) for one in header["index"]),
            weights=weights,
            **held,
        )
        _fitting(run)
        return run
    except Exception as error:
        # Damaged files raise whatever zip, zlib, json and numpy find wrong with them.
        shown = f"must be a file of TrainingRun.save ({type(error).__name__}: {error})"
        raise InvalidInput("path", path, shown) from None


def _fitting(run: TrainingRun) -> None:
    """Refuse arrays that do not belong together."""
    r, n, p, s = run.output.shape
    shapes = {
        "settings": (r,),
        "index": (p, s),
        "points": (r, p, s),
        "steps": (n,),
        "jacobian": (r, n, s, s),
        "point_loss": (r, n, p),
        "half_times": (r, s),
        "jacobian_half_times": (r, s),
        "first_loss": (r,),
        "turns": (len(run.turns), 4),
        "train_loss_steps": (run.train_loss.shape[1],),
        "train_loss": (r, len(run.train_loss_steps)),
    }
    for name, shape in shapes.items():
        found = np.shape(
            np.asarray(getattr(run, name), dtype=object if name == "settings" else None)
        )
        if found != shape or any(one.task.s != s for one in run.settings):
            raise ValueError(f"{name} of shape {found}, not {shape}")
    if any(len(one) != r for one in run.weights):
        raise ValueError("weights of other networks")
