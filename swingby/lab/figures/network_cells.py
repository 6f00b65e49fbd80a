"""Cells of the network figures: a setting of networks each, by the caption or the public code.

The caption edition takes what Sec. 3 and App. F print: standard deviations sigma, one cluster per
concept, and the loss (2.1). The code edition takes what the authors' public code does: sigma is a
variance, a third cluster lies at the origin (but for ``multi_identity``), and the loss is averaged
over the d directions too. Layers have biases and the initial weights of ``torch.nn.Linear`` in
both, as the code has and the paper does not say.

Figures 2, 3, 7 and 11 to 15 have commands in ``run.sh`` of FFTYYY/ConceptDynamics-code at commit
d26bebc; Figure 16 has none. What each sets is a row of ``swingby/data/public_commands.csv``; which
figure it belongs to is our reading.
"""

from __future__ import annotations

import csv
import functools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from importlib import resources
from typing import Any

from swingby.lab.figures.figure import Edition
from swingby.lab.networks import Data, Network, Optimizer, Setting
from swingby.theory.task import SIMTask

#: Runs per cell, of a full and of a quick figure.
_SEEDS, _QUICK_SEEDS = 64, 16
#: Of a quick figure whose networks go through their points.
_FEW_SEEDS = 6
#: What App. F.1 says of all: 5000 points a cluster, rotated, 40 epochs.
DATA, NETWORK, OPTIMIZER, EPOCHS = Data(rotation=True), Network(), Optimizer(), 40


def cell_of(
    edition: str,
    label: str,
    mu: Sequence[str],
    sigma: Sequence[str],
    dim: int = 64,
    *,
    data: Data = DATA,
    network: Network = NETWORK,
    optimizer: Optimizer = OPTIMIZER,
    epochs: int = EPOCHS,
) -> dict[str, Any]:
    """A setting of a figure, as plain values, with an edition's reading of sigma and loss."""
    code = edition == "code"
    spread = [float(Fraction(deviation)) ** 0.5 for deviation in sigma] if code else sigma
    loss = replace(optimizer, loss="torch" if code else "paper")
    setting = Setting(SIMTask(mu, spread, dim), data, network, loss, epochs)
    return {"label": label, "setting": setting.to_dict()}


def edition_of(name: str, cells: Sequence[Mapping[str, Any]], note: str) -> Edition:
    """An edition that trains some cells, from :func:`cell_of`."""
    linear = all(cell["setting"]["network"]["activation"] == "linear" for cell in cells)
    quick = {"seeds": _QUICK_SEEDS if linear else _FEW_SEEDS}
    return Edition(name, {"cells": list(cells), "seeds": _SEEDS}, note, quick)


def settings_of(parameters: Mapping[str, Any], cell: Mapping[str, Any]) -> list[Setting]:
    """The training runs of a cell, a setting for each seed."""
    setting = Setting.from_dict(cell["setting"])
    return [replace(setting, seed=seed) for seed in range(parameters["seeds"])]


@functools.cache
def commands() -> dict[int, dict[str, str]]:
    """The options that each command of the public code sets, by its number in their list.

    >>> commands()[29]["hdim"], commands()[29]["lr"]
    ('4', '0.01')
    """
    text = resources.files("swingby").joinpath("data/public_commands.csv").read_text("utf-8")
    return {int(row["id"]): row for row in csv.DictReader(text.splitlines())}


def code_cells(
    numbers: Sequence[int], labels: Sequence[str], truncation: float | None = None
) -> list[dict[str, Any]]:
    """Cells that train what some commands train; no command truncates."""
    rows = [commands()[number] for number in numbers]
    return [_coded(row, label, truncation) for row, label in zip(rows, labels, strict=True)]


def _coded(row: Mapping[str, str], label: str, truncation: float | None) -> dict[str, Any]:
    if (row["optimizer"], row["bias"]) != ("SGD", "yes"):
        raise ValueError(f"command {row['id']} is none of those known")
    depth, mu, spread = int(row["layers"]), row["mu"].split(), row["variance"].split()
    center, rotation = row["data"] == "identity", row["rotation"] == "yes"
    cell = cell_of(
        "code",
        label,
        mu,
        spread if len(spread) > 1 else spread * len(mu),
        int(row["dim"]),
        data=Data(int(row["points_per_class"]), center, rotation, truncation),
        network=Network(depth, int(row["hdim"]) if depth > 1 else None, row["activation"]),
        optimizer=Optimizer(lr=float(row["lr"]), batch_size=int(row["batch"])),
        epochs=int(row["epochs"]),
    )
    return {**cell, "command": int(row["id"])}
