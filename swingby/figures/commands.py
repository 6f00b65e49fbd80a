"""The commands of the authors' public code, and the cells of a figure that they train.

Figures 2, 3, 7 and 11 to 15 have commands in ``run.sh`` of FFTYYY/ConceptDynamics-code at commit
d26bebc; Figure 16 has none. What each sets is a row of ``swingby/data/public_commands.csv``; which
figure it belongs to is our reading. That code takes its sigma for a variance, adds a
cluster at the origin (but for ``multi_identity``), averages the loss over the d entries too, and
has biases and the initial weights of ``torch.nn.Linear``.
"""

from __future__ import annotations

import csv
import functools
from collections.abc import Sequence
from dataclasses import replace
from importlib import resources
from typing import Any

from swingby.figures.figure import Edition
from swingby.figures.trained import cell, edition_of


@functools.cache
def commands() -> dict[int, dict[str, str]]:
    """What each command of the public code sets, by its place in their list.

    Examples
    --------
    >>> commands()[29]["hdim"], commands()[29]["lr"]
    ('4', '0.01')
    """
    text = resources.files("swingby").joinpath("data/public_commands.csv").read_text("utf-8")
    return {int(row["id"]): row for row in csv.DictReader(text.splitlines())}


def code_edition(
    numbers: Sequence[int], labels: Sequence[str], note: str, truncation: float | None = None
) -> Edition:
    """The edition that trains what some commands train, a cell each.

    `numbers`: of the commands. `truncation`: radius about the test point without training points,
    in units of the smaller mu; no command sets one.
    """
    rows = [commands()[number] for number in numbers]
    cells = [_cell(row, label, truncation) for row, label in zip(rows, labels, strict=True)]
    named = {"n_per_class": "points_per_class", "batch_size": "batch", "epochs": "epochs"}
    shared: dict[str, int] = {}
    for name, column in named.items():
        (value,) = {row[column] for row in rows}
        shared[name] = int(value)
    return edition_of("code", cells, note, **shared)


def _cell(row: dict[str, str], label: str, truncation: float | None) -> dict[str, Any]:
    if (row["optimizer"], row["bias"]) != ("SGD", "yes"):
        raise ValueError(f"command {row['id']} is none of those known")
    depth = int(row["layers"])
    spread = row["variance"].split()
    mu = row["mu"].split()
    found = cell(
        "code",
        label,
        mu,
        spread if len(spread) > 1 else spread * len(mu),
        dim=int(row["dim"]),
        depth=depth,
        width=int(row["hdim"]) if depth > 1 else None,
        activation=row["activation"],
        rotation=row["rotation"] == "yes",
        truncation=truncation,
        lr=float(row["lr"]),
    )
    return {**found, "command": int(row["id"]), "center_cluster": row["data"] == "identity"}


def several(parts: Sequence[tuple[Edition, ...]]) -> tuple[Edition, ...]:
    """Editions whose cells are those of several, one after the other."""
    found = []
    for same in zip(*parts, strict=True):
        cells = [one for edition in same for one in edition.parameters["cells"]]
        parameters = {**same[0].parameters, "cells": cells}
        found.append(replace(same[0], parameters=parameters))
    return tuple(found)
