"""Which kind of forecast a training allows, and by name what stands in the way of a better one.

*law*: a chain of linear layers without biases, trained whole by SGD on a multiple of the squared
error, at a learning rate that stays. *copy*: any module that computes the same at each call,
trained by SGD, Adam or AdamW. *none*: only what has been learned is said.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from swingby.lab.networks.watching.observer import Loss, Observer, quiet_copy, traceless
from swingby.lab.networks.watching.update_rule import (
    group_rules,
    is_sgd,
    parameters_of,
    unknown_rule,
)
from swingby.theory.numbers import Floats

#: Relative differences up to this are rounding: of products of layers in float64, and of a loss.
_SAME_PRODUCT, _SAME_LOSS = 1e-9, 1e-4
#: Up to so many matrices are tried in any order.
_MOST_ORDERED = 4
#: Modules of torch that a chain of linear layers may have.
_PLAIN = (torch.nn.Linear, torch.nn.Identity)
#: Modules whose outputs in training are random, or depend on earlier calls.
_RANDOM = (torch.nn.modules.dropout._DropoutNd, torch.nn.RReLU)
_REMEMBERING = (torch.nn.modules.batchnorm._NormBase,)


def why_no_copy(observer: Observer, optimizer: Any) -> str:
    """What a coarse copy of the training would get wrong, or ""."""
    if observer.failure:
        return f"the model cannot be copied: {observer.failure}"
    if reason := unknown_rule(optimizer):
        return reason
    ours = {id(entry) for entry in observer.model.parameters()}
    foreign = sum(id(entry) not in ours for entry in parameters_of(optimizer))
    if foreign:
        return f"the optimizer also trains {foreign} tensors that are not of the model"
    return _why_unsteady(observer)


def _why_unsteady(observer: Observer) -> str:
    """Why a module does not compute the same at each call in training, or ""."""
    net = quiet_copy(observer.model).train()
    buffers = [entry.clone() for entry in net.buffers()]
    with traceless(), torch.no_grad():
        first, second = (_flat(net(observer.X)) for _ in range(2))
        moved = any(
            not torch.equal(old, new) for old, new in zip(buffers, net.buffers(), strict=True)
        )
        evaluated = _flat(net.eval()(observer.X))
    random = not torch.equal(first, second)
    if not random and not moved and torch.equal(first, evaluated):
        return ""
    for kinds, words in ((_RANDOM, "is random in training"), (_REMEMBERING, "has a memory")):
        for name, module in net.named_modules():
            if isinstance(module, kinds):
                return f"{name or 'the model'} is {type(module).__name__}, which {words}"
    if random:
        return "the outputs of the model are random in training"
    if moved:
        return "the buffers of the model change when it is called"
    return "the model computes something else in training than in evaluation"


def why_no_law(observer: Observer, optimizer: Any) -> str:
    """Why the law of linear chains does not hold, or ""."""
    net = quiet_copy(observer.model)
    for name, module in net.named_modules():
        title = f"{name or 'the model'} is {type(module).__name__}"
        if isinstance(module, torch.nn.Flatten):
            return f"{title}: the law is for X.flatten(1) and a model without it"
        builtin = type(module).__module__.startswith("torch.nn")
        leaf = next(module.children(), None) is None
        if builtin and leaf and not isinstance(module, _PLAIN):
            return f"{title}, which is not linear"
        if getattr(module, "bias", None) is not None:
            return f"layer {name} has a bias" if name else "the model has a bias"
    if not is_sgd(optimizer):
        return f"the optimizer is {type(optimizer).__name__}, not SGD"
    if len(set(group_rules(optimizer))) > 1:
        return "parameter groups have settings of their own"
    held = {id(entry) for entry in parameters_of(optimizer) if entry.requires_grad}
    if held != {id(entry) for entry in observer.model.parameters()}:
        return "not all layers are trained"
    if chain_order(net, observer.X) is None:
        return f"{type(net).__name__} is not the product of its layers"
    if loss_multiple(observer.loss, observer.Y) is None:
        return "the loss is not a multiple of the squared error"
    return ""


def chain_order(net: Any, X: Any) -> tuple[tuple[int, bool], ...] | None:
    """Which parameter each layer of a chain is, first applied first, and whether it is transposed.

    None where a module is no product of its parameters. Tried with random parameters on random
    inputs, which no other network passes; beyond 4 matrices in the order of the parameters alone.
    """
    if X.ndim != 2 or any(entry.ndim != 2 for entry in net.parameters()):
        return None
    with traceless(), torch.no_grad():
        net = copy.deepcopy(net).cpu().double().eval()
        generator = torch.Generator().manual_seed(0)
        for entry in net.parameters():
            entry.copy_(torch.randn(entry.shape, generator=generator, dtype=torch.float64))
        matrices = list(net.parameters())
        inputs = torch.randn((3, X.shape[1]), generator=generator, dtype=torch.float64)
        try:
            outputs = net(inputs)
        except RuntimeError:  # floats of another length
            return None
        for order in _orders(len(matrices)):
            product = _product(inputs, matrices, order)
            if product is None or product.shape != outputs.shape:
                continue
            if bool((outputs - product).abs().max() <= _SAME_PRODUCT * product.abs().max()):
                return order
    return None


def _orders(count: int) -> Iterator[tuple[tuple[int, bool], ...]]:
    """Orders in which matrices may be applied, as they are or transposed; the usual one first."""
    yield tuple((index, False) for index in range(count))
    if count <= _MOST_ORDERED:
        for indices in itertools.permutations(range(count)):
            for transposed in itertools.product((False, True), repeat=count):
                yield tuple(zip(indices, transposed, strict=True))


def _product(inputs: Any, matrices: Sequence[Any], order: tuple[tuple[int, bool], ...]) -> Any:
    """The outputs of a chain, or None where shapes do not follow each other."""
    for index, transposed in order:
        layer = matrices[index].T if transposed else matrices[index]
        if inputs.shape[1] != layer.shape[1]:
            return None
        inputs = inputs @ layer.T
    return inputs


def loss_multiple(loss: Loss, Y: Any) -> float | None:
    """The multiple g of a loss with gradient g (outputs - Y) / n in the outputs, else None."""
    multiples = []
    with traceless():
        generator = torch.Generator().manual_seed(1)
        for size in (0.3, 3.0):
            noise = size * torch.randn(Y.shape, generator=generator).to(Y)
            outputs = (Y + noise).requires_grad_(True)
            (slope,) = torch.autograd.grad(loss(outputs, Y), outputs)
            apart = (outputs - Y).detach()
            multiple = float((slope * apart).sum() / (apart * apart).sum())
            if float((slope - multiple * apart).norm()) > _SAME_LOSS * float(slope.norm()):
                return None
            multiples.append(multiple * len(Y))
    same = abs(multiples[0] - multiples[1]) <= _SAME_LOSS * abs(multiples[0])
    return multiples[1] if same and multiples[1] > 0 else None


def in_order(
    entries: Sequence[Any], order: tuple[tuple[int, bool], ...] | None
) -> tuple[Floats, ...]:
    """Parameters, or their buffers, as the layers W_1, ..., W_L of a chain."""
    assert order is not None
    arrays = layers_of(entries)
    return tuple(
        arrays[index].T.copy() if transposed else arrays[index] for index, transposed in order
    )


def layers_of(parameters: Sequence[Any]) -> tuple[Floats, ...]:
    """Parameters as arrays in float64."""
    return tuple(entry.detach().cpu().double().numpy().copy() for entry in parameters)


def _flat(outputs: Any) -> Any:
    return outputs.detach().reshape(len(outputs), -1)
