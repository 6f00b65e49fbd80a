"""A network and its data as a user has them: a chain of matrices, samples, the rule of training."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from swingby.errors import MISSING, InvalidInput
from swingby.report.number_text import counted
from swingby.theory import numbers
from swingby.theory.numbers import Floats
from swingby.theory.task import SIMTask
from swingby.verify.layer_order import (
    ELSEWHERE,
    NO_BIAS,
    axes_of,
    layers_of,
    read_file,
    shape_of,
)

#: The multiple g of -(K - W S) that each loss has for its gradient, from n rows and q columns.
LOSSES: dict[str, Callable[[float, int], float]] = {
    "half": lambda n, q: 1.0,
    "mse": lambda n, q: 2.0 / q,
    "sum": lambda n, q: 2.0 * n,
}
_LOSS_WORDS = (
    'must be "half" (half the squared error, summed over outputs, its mean over samples), '
    '"mse" (the mean over all entries: torch.nn.MSELoss()) or "sum" (MSELoss(reduction="sum")); '
    f"there is no law for others: {ELSEWHERE}"
)
#: Squares of larger samples, and of smaller ones, leave the floats.
_LARGEST = 1e50
_CHAIN = "must be a sequence of matrices, one per layer, in the order of application"
#: Modules of torch that leave a matrix of samples as it is.
_NEUTRAL = ("Identity", "Flatten")


def read_weights(weights: Any, name: str = "weights") -> list[Any]:
    """The matrices of a network, unread: of a list, state dict, file or Sequential of torch."""
    if isinstance(weights, SIMTask):
        words = "come before the task: predict_network(weights, task, lr=...)"
        raise InvalidInput(name, "a SIMTask", words)
    if isinstance(weights, (str, Path)) and Path(weights).suffix:
        weights = read_file(weights, argument=name)
    if isinstance(weights, Mapping):
        return layers_of(weights, name)
    if is_module(weights):
        return _trained(_of_module(weights, name), name)
    if isinstance(weights, (str, bytes)) or not hasattr(weights, "__len__"):
        typed = f": list({name})" if hasattr(weights, "__next__") else ""
        raise InvalidInput(name, type(weights).__name__ if typed else weights, f"{_CHAIN}{typed}")
    if not len(weights):
        raise InvalidInput(name, "no layer", _CHAIN)
    if axes_of(weights) == 2:
        words = (
            "must be a list of layers: [W] for one; [W1, W2] for W2 @ W1, whose path depends on "
        )
        words += "them; samples have names, X=X and Y=Y"
        raise InvalidInput(name, f"a matrix {shape_of(weights)}", words)
    if any(axes_of(weight) == 3 for weight in weights):
        words = (
            "must be the layers of one step: of several, compare_network(weights, X=X, Y=Y, lr=...)"
        )
        raise InvalidInput(name, "layers of several steps", words)
    return _trained(
        [
            matrix
            for i, weight in enumerate(weights)
            for matrix in (_of_module(weight, f"{name}[{i}]") if is_module(weight) else [weight])
        ],
        name,
    )


def _trained(matrices: list[Any], name: str) -> list[Any]:
    """Matrices; refused where parameters of torch among them are frozen or one and the same."""
    moving = [bool(getattr(matrix, "requires_grad", False)) for matrix in matrices]
    for i, matrix in enumerate(matrices):
        if any(moving) and not moving[i]:
            words = (
                f"must be trained, as the others are: there is no law for frozen ones; {ELSEWHERE}"
            )
            raise InvalidInput(f"{name}[{i}]", "requires_grad=False", words)
        for j in range(i if moving[i] else 0):
            if matrix is matrices[j]:
                words = f"must be a layer of its own: there is no law for tied ones; {ELSEWHERE}"
                raise InvalidInput(f"{name}[{i}]", f"the same parameter as {name}[{j}]", words)
    return matrices


def is_module(value: Any) -> bool:
    """Whether it is a module of torch, told by what it has, so that torch is not imported."""
    return hasattr(value, "named_parameters") and hasattr(value, "children")


def _of_module(module: Any, name: str) -> list[Any]:
    """The matrices of a Linear without bias, or of a Sequential of them."""
    kind = type(module).__name__
    if hasattr(module, "parametrizations") or hasattr(module, "weight_g"):
        words = f"must be trained as it is: there is no law for reparametrized ones; {ELSEWHERE}"
        raise InvalidInput(name, f"a parametrization of {kind}", words)
    if hasattr(module, "weight") and "Linear" in kind:
        if getattr(module, "bias", None) is not None:
            raise InvalidInput(
                name, f"a {kind} with a bias", f"{NO_BIAS}; of torch {kind}(..., bias=False)"
            )
        return [module.weight]
    if kind in _NEUTRAL:
        return []
    # children() has a module that is applied twice once alone.
    listed = hasattr(module, "__iter__") and not hasattr(module, "values")
    children = list(module if listed else module.children())
    if kind == "Sequential" or (hasattr(module, "__iter__") and children):
        matrices = [
            matrix
            for i, child in enumerate(children)
            for matrix in _of_module(child, f"{name}[{i}]")
        ]
        if not matrices:
            raise InvalidInput(name, f"a {kind} of no Linear", _CHAIN)
        return matrices
    if children:
        typed = ", ".join(f"model.{child}.weight" for child, _ in module.named_children())
        words = (
            "must be a Sequential of Linear(..., bias=False), or a list of its matrices, the one "
        )
        words += f"applied first first: [{typed}]"
        raise InvalidInput(name, f"a module {kind}, whose order of layers is its own", words)
    words = f"must be linear: there is no law for {kind}; {ELSEWHERE}"
    raise InvalidInput(name, kind, words)


def read_layers(
    matrices: Sequence[Any], inputs: int, outputs: int, *, narrow: bool
) -> list[Floats]:
    """The layers as arrays of a chain from `inputs` to `outputs`.

    `narrow`: whether hidden layers may be narrower than that.
    """
    layers = []
    for index, matrix in enumerate(matrices):
        layer = numbers.real_array(matrix, f"weights[{index}]")
        if layer.ndim != 2:
            kind = f"there is no law for convolutions; {ELSEWHERE}"
            kind = "a bias? there is no law with biases" if layer.ndim == 1 else kind
            words = f"must be a matrix, of shape (outputs, inputs) of its layer: {kind}"
            raise InvalidInput(f"weights[{index}]", f"shape {layer.shape}", words)
        layers.append(layer)
    shapes = [layer.shape for layer in layers]
    if not _chains(shapes, inputs, outputs):
        _refuse_chain(shapes, inputs, outputs)
    for index, (wide, _) in enumerate(shapes):
        if not narrow and wide < inputs:
            need = f"must have at least {inputs} rows"
            need += ' where accuracy="leading": that order has no bottlenecks'
            raise InvalidInput(f"weights[{index}]", f"{wide} rows", need)
    sizes = [float(np.abs(layer).max()) for layer in layers]
    if min(sizes) > 0 and sum(map(math.log10, sizes)) < -200:
        raise InvalidInput("weights", sizes, "must have a product of sizes above 1e-200")
    if max(sizes) > 1e6:
        raise InvalidInput("weights", max(sizes), "must be at most 1e6 in size")
    return layers


def _chains(shapes: Sequence[tuple[int, ...]], inputs: int, outputs: int) -> bool:
    """Whether matrices of these shapes make a network."""
    joined = all(low[0] == high[1] for low, high in itertools.pairwise(shapes))
    return joined and shapes[0][1] == inputs and shapes[-1][0] == outputs


def _refuse_chain(shapes: list[tuple[int, ...]], inputs: int, outputs: int) -> None:
    """What to type in place of matrices that make no network."""
    turned: list[tuple[int, ...]] = [shape[::-1] for shape in shapes]
    remedies: dict[str, list[tuple[int, ...]]] = {
        "weights[::-1], the layer that is applied first first": shapes[::-1],
        "[W.T for W in weights], where a layer is x @ W": turned,
        "[W.T for W in weights[::-1]]": turned[::-1],
    }
    fitting = [text for text, trial in remedies.items() if _chains(trial, inputs, outputs)]
    if fitting:
        got = " then ".join(f"{high} x {wide}" for high, wide in shapes)
        words = f"must lead from {counted(inputs, 'input')} to {counted(outputs, 'output')}: give "
        raise InvalidInput("weights[0] and on", got, words + " or ".join(fitting))
    wide = inputs
    for index, shape in enumerate(shapes):
        name = f"weights[{index}]"
        if shape[1] != wide:
            before = "as there are inputs" if not index else f"as weights[{index - 1}] has rows"
            words = f"must be a matrix of {counted(wide, 'column')}, {before}"
            raise InvalidInput(name, f"shape {shape}", words)
        wide = shape[0]
    words = f"must have {counted(outputs, 'row')}, as the last layer"
    raise InvalidInput(name, f"{wide} rows", words)


def read_samples(X: Any, Y: Any, matrices: Sequence[Any]) -> tuple[Floats, Floats]:
    """X (n, p) and Y (n, q), of as many rows."""
    for name, values, other in (("X", X, "Y"), ("Y", Y, "X")):
        if values is None:
            words = f"must be given with {other}: predict_network(weights, X=X, Y=Y, lr=...)"
            raise InvalidInput(name, MISSING, words)
    arrays = []
    for name, values in (("X", X), ("Y", Y)):
        array = numbers.real_array(values, name)
        if array.ndim == 1:
            array = array[:, None]
        if array.ndim != 2:
            words = f"must have a row for each sample: {name}.reshape(len({name}), -1)"
            raise InvalidInput(name, f"shape {array.shape}", words)
        arrays.append(array)
    x, y = arrays
    shapes = [shape_of(matrix) for matrix in matrices]
    p, q = (shapes[0][-1], shapes[-1][0]) if all(len(s) == 2 for s in shapes) else (0, 0)
    if p != q and (x.shape[1], y.shape[1]) == (q, p):
        got = f"X with {counted(q, 'column')} and Y with {counted(p, 'column')}"
        words = f"must be the inputs, of which the network takes {p}: give X=Y, Y=X, or its weights"
        raise InvalidInput("X", got, f"{words} are in another order")
    if len(x) != len(y):
        for name, array, wide in (("X", x, p), ("Y", y, q)):
            if array.shape[0] == wide != array.shape[1]:
                words = f"must have a row for each sample: give {name}.T"
                raise InvalidInput(name, f"shape {array.shape}", words)
        got = f"{counted(len(x), 'row')} of X and {counted(len(y), 'row')} of Y"
        raise InvalidInput("X and Y", got, "must have a row for each sample, in the same order")
    if np.ndim(Y) == 1 and q > 1 and (y == np.floor(y)).all() and 0 <= y.min() <= y.max() < q:
        words = f"must have a column for each of {q} outputs: of classes give numpy.eye({q})[Y]"
        raise InvalidInput("Y", "numbers of classes", words)
    if not x.any() or not y.any():
        raise InvalidInput("X" if not x.any() else "Y", "zeros", "must not be all zeros")
    for name, array in (("X", x), ("Y", y)):
        size = float(np.abs(array).max())
        if not 1 / _LARGEST <= size <= _LARGEST:
            words = f"must be scaled to a size between {1 / _LARGEST:g} and {_LARGEST:g}: "
            raise InvalidInput(name, size, f"{words}{name} / abs({name}).max()")
    return x, y


def loss_multiple(loss: object, n: float, q: int) -> float:
    """g, by which the gradient of a loss is the multiple of -(K - W S)."""
    if isinstance(loss, str) and loss in LOSSES:
        return LOSSES[loss](n, q)
    shown = type(loss).__name__ if callable(loss) else loss
    raise InvalidInput("loss", shown, _LOSS_WORDS)


def read_rate(lr: object, source: str) -> Fraction:
    """The learning rate, exactly."""
    if hasattr(lr, "param_groups"):
        words = 'must be a number: optimizer.param_groups[0]["lr"] of SGD'
        words += "" if type(lr).__name__ == "SGD" else f"; for others, {ELSEWHERE}"
        raise InvalidInput("lr", f"the optimizer {type(lr).__name__}", words)
    return numbers.positive(lr, "lr", source)


def read_momentum(momentum: object, nesterov: object) -> float:
    """The momentum, in [0, 1)."""
    value = numbers.exact(momentum, "momentum")
    if not 0 <= value < 1:
        raise InvalidInput("momentum", momentum, "must lie in [0, 1), such as 0.9")
    if nesterov and not value:
        words = "must come with a momentum, as in torch: momentum=0.9, nesterov=True"
        raise InvalidInput("nesterov", nesterov, words)
    return float(value)


def read_decay(decay: object) -> float:
    """The weight decay, not negative."""
    value = numbers.exact(decay, "weight_decay")
    if value < 0:
        raise InvalidInput("weight_decay", decay, "must not be negative")
    return float(value)


def read_batch(batch: object, n: int) -> int:
    """The size of minibatches of n samples."""
    return numbers.whole(batch, "batch", 1, most=n)


def smallest_norm(layers: Iterable[Floats]) -> float:
    """The smallest spectral norm of a layer."""
    return min(float(np.linalg.norm(layer, 2)) for layer in layers)
