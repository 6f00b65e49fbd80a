"""Weights of a linear network as a user has recorded them: of one step, or of every k-th."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from swingby.errors import MISSING, InvalidInput
from swingby.theory import numbers
from swingby.theory.numbers import Floats, Integers
from swingby.verify.layer_order import (
    axes_of,
    is_file,
    layers_of,
    numbered,
    read_file,
    shape_of,
)
from swingby.verify.network_input import is_module, read_weights

_RECORD = "must be recorded at two steps or more: [layers at step 0, layers at step k, ...]"
_OBSERVED = "of products W2 @ W1 give observed=W, and the layers at the start as weights"


def is_record(value: Any) -> bool:
    """Whether it is layers at several steps, or a file of them, and no array (n, d, d)."""
    if not isinstance(value, (list, tuple)) or not value:
        return isinstance(value, dict) or is_file(value)
    entry = value[0]
    if isinstance(entry, (list, tuple)) and entry:
        return axes_of(entry[0]) == 2
    layers = isinstance(entry, dict) or is_module(entry) or is_file(entry)
    return layers or (axes_of(entry) == 3 and not isinstance(entry, list))


class Records(NamedTuple):
    """Layers at several steps: an entry a step, of a matrix for each layer, as they came."""

    layers: list[list[Any]]
    #: The steps that stand beside them, and the numbers in the names of files; or None.
    steps: Any = None
    marks: list[int] | None = None


def read_records(weights: Any, count: int | None = None) -> Records:
    """Layers at several steps: one by one, or a stack (n, outputs, inputs) of each layer.

    `weights`: a sequence of layers, state dicts, modules or files, an entry a step; or a stack of
    each layer, in a sequence, a state dict or a file. `count`: of the steps, where that is known.
    """
    if isinstance(weights, (str, Path)):
        return read_records(read_file(weights), count)
    if isinstance(weights, dict):
        stacks = layers_of(weights)
        if axes_of(stacks[0]) == 3:
            return Records(_unstacked(stacks), weights.get("steps"))
        raise InvalidInput("weights", "the layers of one step", f"{_RECORD}; {_OBSERVED}")
    if is_module(weights) or not isinstance(weights, (list, tuple)) or not weights:
        one = "; of one layer give [W]" if axes_of(weights) == 3 else ""
        got = f"shape {shape_of(weights)}" if axes_of(weights) else type(weights).__name__
        raise InvalidInput("weights", got, f"{_RECORD}{one}; {_OBSERVED}")
    paths = [entry for entry in weights if isinstance(entry, (str, Path))]
    if paths and len(paths) == len(weights):
        return _of_files(paths, count)
    if all(axes_of(entry) == 3 and not isinstance(entry, (list, tuple)) for entry in weights):
        shapes = {shape_of(entry) for entry in weights}
        n, high, wide = shape_of(weights[0])
        if len(shapes) == 1 and high == wide and count != n:
            if count is None or count != len(weights):
                words = "must say what an entry is: a step, list(map(list, weights)), or a layer, "
                words += f"by steps= of length {n}"
                raise InvalidInput("weights", f"{len(weights)} stacks {n} x {high} x {wide}", words)
            return Records([list(entry) for entry in weights])
        return Records(_unstacked(list(weights)))
    if axes_of(weights[0]) == 2:
        raise InvalidInput("weights", "the layers of one step", f"{_RECORD}; {_OBSERVED}")
    return Records([read_weights(entry, f"weights[{i}]") for i, entry in enumerate(weights)])


def _unstacked(stacks: list[Any]) -> list[list[Any]]:
    if len({len(stack) for stack in stacks}) > 1:
        got = f"stacks of {', '.join(str(len(stack)) for stack in stacks)} matrices"
        raise InvalidInput("weights", got, "must have as many steps for each layer")
    return [list(layers) for layers in zip(*stacks, strict=True)]


def _of_files(paths: list[Any], count: int | None) -> Records:
    """A file a step, in the order of the number in which their names differ; or a file a layer."""
    contents = [read_file(path) for path in paths]
    if not any(isinstance(content, dict) for content in contents):
        return read_records(contents, count)
    patterns, digits = zip(*map(numbered, paths), strict=True)
    differing = []
    if len({*patterns}) == 1:
        columns = zip(*digits, strict=True)
        differing = [column for column in columns if len({*column}) == len(paths)]
    if len(differing) == 1:
        order = np.argsort(differing[0])
        paths, contents = ([entries[i] for i in order] for entries in (paths, contents))
    records = []
    for path, content in zip(paths, contents, strict=True):
        if not isinstance(content, dict):
            raise InvalidInput("weights", path, "must have names of layers, as other files have")
        records.append(layers_of(content))
    return Records(records, marks=sorted(differing[0]) if len(differing) == 1 else None)


def read_marks(records: Records, steps: Any, every: Any) -> Integers:
    """The steps of records: as given, every k-th, those that stand beside them, or 0, 1, 2, ..."""
    count, marks = len(records.layers), records.marks
    if steps is not None and every is not None:
        raise InvalidInput("every", every, "must not be given together with steps")
    if marks is not None and steps is None:
        apart = np.diff(marks)
        if len({*apart}) > 1:
            words = "must be given: the numbers in the names of the files are not evenly spaced"
            raise InvalidInput("steps", marks, f"{words}: steps=[...]")
        if every is None:
            words = f"must be given, the steps between two files: every={apart[0]} by their names"
            raise InvalidInput("every", MISSING, words)
    if every is not None:
        return np.arange(count) * numbers.whole(every, "every", 1)
    steps = records.steps if steps is None else steps
    return np.arange(count) if steps is None else numbers.ascending(steps, "steps", count)


def products_of(records: list[list[Any]], marks: Integers) -> Floats:
    """W = W_L ... W_1 of each record, (n, q, p); the first is known to be a chain."""
    shapes, products = [*map(shape_of, records[0])], []
    for i, (layers, step) in enumerate(zip(records, marks, strict=True)):
        if [*map(shape_of, layers)] != shapes:
            listed = ", ".join(map(str, map(shape_of, layers)))
            words = f"must have the shapes of the first record, {', '.join(map(str, shapes))}"
            raise InvalidInput(f"weights[{i}]", listed, words)
        W = np.eye(shapes[0][1])
        for matrix in layers:
            W = numbers.entries(matrix, f"weights[{i}]").astype(np.float64) @ W
        if not np.isfinite(W).all():
            words = f"must be finite: leave out the records from step {step} on"
            raise InvalidInput(f"weights[{i}]", "NaN or infinity", words)
        products.append(W)
    return np.array(products)
