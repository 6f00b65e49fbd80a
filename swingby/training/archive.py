"""Training runs as npz files, in which nothing is pickled."""

from __future__ import annotations

import json
import zipfile
from dataclasses import fields
from pathlib import Path

import numpy as np

from swingby.errors import InvalidInput
from swingby.training.result import TrainingRun
from swingby.training.setting import Setting

#: Of the file.
FORMAT = 1


def write_run(run: TrainingRun, path: str | Path) -> None:
    """Write an npz file.

    Parameters
    ----------
    run : TrainingRun
    path : path
    """
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
    with open(path, "wb") as file:
        np.savez_compressed(file, header=np.array(json.dumps(header)), **arrays)


def read_run(path: str | Path) -> TrainingRun:
    """Read what :func:`write_run` wrote.

    Parameters
    ----------
    path : path

    Returns
    -------
    TrainingRun

    Raises
    ------
    InvalidInput
        If the file is missing or not such a file.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            held = {name: file[name] for name in file.files}
        header = json.loads(str(held.pop("header")))
        if header["format"] != FORMAT:
            raise ValueError(f"format {header['format']}")
        weights = tuple(held.pop(f"weights{k}") for k in range(header["weights"]))
        return TrainingRun(
            settings=tuple(Setting.from_dict(one) for one in header["settings"]),
            index=tuple(tuple(one) for one in header["index"]),
            weights=weights,
            **held,
        )
    except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
        shown = f"must be a file of TrainingRun.save ({type(error).__name__}: {error})"
        raise InvalidInput("path", path, shown) from None
