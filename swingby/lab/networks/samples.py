"""Samples: points of one's own to train on, and their order, from arrays, .npz or .csv files."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from swingby.errors import InvalidInput
from swingby.theory import numbers
from swingby.theory.input_files import MOST_BYTES, read_arrays, text_of
from swingby.theory.number_lines import number_lines
from swingby.theory.numbers import Floats, Integers
from swingby.theory.task import SIMTask

_TEXT = "csv file of numbers"


@dataclass(frozen=True)
class Samples:
    """Points of one's own, compared by their digest."""

    count: int
    dim: int
    digest: str
    #: Of shapes (N, d), (N, d) and (N,); None if there are none, or only a digest is known.
    X: Floats | None = field(default=None, compare=False, repr=False)
    Y: Floats | None = field(default=None, compare=False, repr=False)
    labels: Integers | None = field(default=None, compare=False, repr=False)
    #: Rows of X in each step, -1 for none; and the shape (steps, batch), (0, 0) without it.
    order: Integers | None = field(default=None, compare=False, repr=False)
    order_shape: tuple[int, int] = field(default=(0, 0), compare=False, repr=False)
    #: Mean of |y|^2, or of |x|^2 without targets.
    square: float = field(default=math.nan, compare=False, repr=False)


def read_samples(
    source: Any, targets: Any = None, labels: Any = None, order: Any = None
) -> Samples:
    """Points of one's own to train on: ``Data(samples=read_samples("mine.npz"))``.

    Nothing is unpickled or evaluated.

    Parameters
    ----------
    source : path or array of shape (N, d)
        An .npz file of plain arrays ``X`` and, where there are any, ``Y``, ``labels`` and
        ``order``; a .csv file, a point a line, with a head ``x1,x2,...,y1,y2,...,label`` if there
        is more than X.
    targets : array of shape (N, d), optional
        What the network should answer; the points themselves by default.
    labels : array of shape (N,), optional
        Whole numbers: the cluster of each point; -1 at the origin.
    order : array of shape (steps, batch), optional
        Rows of X that each step took, as the data loader of a run of one's own gave them: that
        run is replayed. -1 stands for no point, at the end of a batch that was smaller.

    Returns
    -------
    Samples

    Raises
    ------
    InvalidInput
        For files that cannot be read, numbers that are not finite, and shapes that do not fit.

    Examples
    --------
    >>> samples = read_samples([[1.0, 0.1], [0.9, 0.0], [0.0, 2.1], [0.1, 2.0]], None, [0, 0, 1, 1])
    >>> samples.count, [round(float(one), 2) for one in samples_task(samples).mu]
    (4, [0.95, 2.05])
    """
    if isinstance(source, (str, Path)):
        is_text = Path(source).suffix.lower() in (".csv", ".txt", ".tsv")
        arrays = _read_text(source) if is_text else read_arrays(source, "data")
        if "X" not in arrays or set(arrays) - {"X", "Y", "labels", "order"}:
            names = ", ".join(filter(None, arrays)) or "no names"
            required = "must hold X and at most Y, labels and order beside it"
            raise InvalidInput("data", f"{source} ({names})", required)
        source, targets = arrays["X"], arrays.get("Y") if targets is None else targets
        labels = arrays.get("labels") if labels is None else labels
        order = arrays.get("order") if order is None else order
    X = numbers.real_array(source, "X")
    if X.ndim != 2:
        raise InvalidInput("X", f"shape {X.shape}", "must have shape (N, d)")
    Y = None if targets is None else numbers.real_array(targets, "Y")
    if Y is not None and Y.shape != X.shape:
        raise InvalidInput("Y", f"shape {Y.shape}", f"must have shape {X.shape}, that of X")
    clusters = None if labels is None else _cluster_labels(labels, len(X))
    rows = None if order is None else _rows_of_steps(order, len(X))
    digest = hashlib.sha256()
    for array in (X, Y, clusters, *([] if rows is None else [rows])):
        digest.update(str(None if array is None else array.shape).encode())
        digest.update(b"" if array is None else np.ascontiguousarray(array).tobytes())
    with np.errstate(over="ignore"):
        square = float(np.square(X if Y is None else Y).sum(axis=1).mean())
    if not np.isfinite(square):
        raise InvalidInput("X", "these points", "must have squares that are floats")
    shape = (0, 0) if rows is None else (rows.shape[0], rows.shape[1])
    return Samples(len(X), X.shape[1], digest.hexdigest(), X, Y, clusters, rows, shape, square)


def _rows_of_steps(order: Any, count: int) -> Integers:
    """The rows of X in each step, -1 for none."""
    values = numbers.real_array(order, "order")
    if values.ndim != 2 or not values.size:
        raise InvalidInput("order", f"shape {values.shape}", "must have shape (steps, batch)")
    if (values != np.floor(values)).any() or values.min() < -1 or values.max() >= count:
        requirement = f"must be rows of X, 0 to {count - 1}, or -1 for no point"
        raise InvalidInput("order", f"{values.min():g} to {values.max():g}", requirement)
    empty = np.flatnonzero((values < 0).all(axis=1))
    if empty.size:
        raise InvalidInput("order", f"no point in step {empty[0]}", "must have one in each step")
    return values.astype(np.int64)


def _cluster_labels(labels: Any, count: int) -> Integers:
    """The cluster of each point."""
    values = numbers.real_array(labels, "labels")
    if values.shape != (count,):
        raise InvalidInput("labels", f"shape {values.shape}", f"must have shape ({count},)")
    if (values != np.floor(values)).any() or values.min() < -1 or values.max() > 2**31:
        raise InvalidInput("labels", labels, "must be whole numbers from -1 on")
    return values.astype(np.int64)


def _read_text(path: str | Path) -> dict[str, Any]:
    """X, and the columns that a header names beside it."""
    text = text_of(path, "data", _TEXT, MOST_BYTES)
    table = number_lines(text, "data", path, _TEXT)
    header, values = list(table.header), table.floats()
    d = sum(name.startswith("x") for name in header) or values.shape[1]
    columns = [f"{letter}{k}" for letter in "xy" for k in range(1, d + 1)]
    named = (columns[:d], columns, [*columns[:d], "label"], [*columns, "label"])
    if header and header not in named:
        required = "must name the columns x1,x2,... then y1,y2,... or none, then label or none"
        raise InvalidInput("data", f"{path} ({','.join(header)})", required)
    arrays = {"X": values[:, :d]}
    arrays |= {"Y": values[:, d : 2 * d]} if "y1" in header else {}
    return arrays | ({"labels": values[:, -1]} if "label" in header else {})


def points_and_targets(samples: Samples) -> tuple[Floats, Floats | None]:
    """X and the targets Y, or None without targets."""
    if samples.X is None:
        required = "must be given again: a file keeps only the digest of given points"
        raise InvalidInput("data", f"digest {samples.digest[:16]}", required)
    return samples.X, samples.Y


def samples_task(samples: Samples) -> SIMTask:
    """The task of samples: mu, sigma and directions by :meth:`SIMTask.from_samples`."""
    X, _ = points_and_targets(samples)
    if samples.labels is None:
        required = "must be given with the points, or mu (and sigma) in their place"
        raise InvalidInput("labels", "nothing", required)
    return SIMTask.from_samples(X, samples.labels)
