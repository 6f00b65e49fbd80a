"""Outputs and gradients of a model in training, read without a trace in it.

What is read is read from a copy in evaluation mode, without hooks of the user's, whose parameters
are brought up to date at each look. Random states of torch, NumPy and Python are put back.
"""

from __future__ import annotations

import contextlib
import copy
import random
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch

from swingby.lab.networks.watching.components import Components
from swingby.theory.numbers import Floats

#: What modules hold their hooks in.
_HOOKS = (
    *("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks"),
    *("_forward_hooks_with_kwargs", "_forward_hooks_always_called"),
    "_forward_pre_hooks_with_kwargs",
)
#: A loss of outputs and targets.
Loss = Callable[[Any, Any], Any]


@contextlib.contextmanager
def traceless() -> Iterator[None]:
    """A block with gradients, in full precision, after which random states are what they were."""
    python_state, numpy_state = random.getstate(), np.random.get_state(legacy=False)  # noqa: NPY002
    torch_state = torch.get_rng_state()
    cuda = torch.cuda.is_initialized()
    cuda_states = torch.cuda.get_rng_state_all() if cuda else []
    try:
        with torch.inference_mode(False), torch.enable_grad(), contextlib.ExitStack() as blocks:
            for kind in ("cpu", "cuda"):
                if torch.is_autocast_enabled(kind):
                    blocks.enter_context(torch.autocast(kind, enabled=False))
            yield
    finally:
        random.setstate(python_state)
        np.random.set_state(numpy_state)  # noqa: NPY002
        torch.set_rng_state(torch_state)
        if cuda:
            torch.cuda.set_rng_state_all(cuda_states)


def quiet_copy(model: Any) -> Any:
    """A copy of a module without its hooks."""
    with traceless():
        twin = copy.deepcopy(model)
    for module in twin.modules():
        for name in _HOOKS:
            getattr(module, name, {}).clear()
    return twin


def copy_failure(model: Any, path: str = "") -> str:
    """Which module cannot be copied and why, or "" for a model that can."""
    try:
        quiet_copy(model)
        return ""
    except Exception as error:  # whatever a module of the user's raises
        reason = f"{type(error).__name__}: {' '.join(str(error).split())[:90]}"
    for name, child in model.named_children():
        if inner := copy_failure(child, f"{path}{name}."):
            return inner
    title = f"{path.rstrip('.')} ({type(model).__name__})" if path else type(model).__name__
    return f"{title} ({reason})"


@contextlib.contextmanager
def _evaluating(model: Any) -> Iterator[None]:
    """A block in which a model evaluates; each module has its mode back afterwards."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, mode in modes:
            module.training = mode


class Observer:
    """What a watch sees of a model: shares, loss, gradient and the outputs at X."""

    def __init__(self, model: Any, X: Any, Y: Any, loss: Loss, data: Components) -> None:
        self._model = weakref.ref(model)
        self.X, self.Y, self.loss, self.data = X, Y, loss, data
        #: Why the model cannot be copied; it is then looked at itself.
        self.failure = copy_failure(model)
        self._twin = None if self.failure else quiet_copy(model).eval()
        self._mine = () if self._twin is None else _tensors(self._twin)
        self.probe = torch.as_tensor(data.probe).to(X)
        self.directions = torch.as_tensor(data.modes.outputs.T.copy()).to(X)

    @property
    def model(self) -> Any:
        """The model, or None once nobody has it any more."""
        return self._model()

    @contextlib.contextmanager
    def current(self) -> Iterator[Any]:
        """A block with a module that evaluates, with the parameters of now."""
        model = self.model
        if self._twin is None:
            with _evaluating(model):
                yield model
            return
        with torch.no_grad():
            for mine, theirs in zip(self._mine, _tensors(model), strict=True):
                mine.copy_(theirs)
        yield self._twin

    def twin_parameters(self, parameters: Sequence[Any], twin: Any) -> list[Any]:
        """The parameters of a copy that stand for some of the model."""
        names = {id(entry): name for name, entry in self.model.named_parameters()}
        mine = dict(twin.named_parameters())
        return [mine[names[id(entry)]] for entry in parameters]

    def shares_of(self, outputs: Any) -> Floats:
        """a_k of some outputs at X."""
        outputs = outputs.detach().reshape(len(self.X), -1)
        shares = (self.probe * (outputs @ self.directions)).sum(dim=0)
        return np.asarray(shares.cpu().double().numpy())

    def look(self) -> tuple[Floats, float]:
        """Shares and loss of now."""
        with traceless(), torch.no_grad(), self.current() as module:
            outputs = module(self.X)
            return self.shares_of(outputs), float(self.loss(outputs, self.Y))

    def evaluated(self, inputs: Any) -> Any:
        """Outputs at some inputs, without gradients."""
        with torch.no_grad(), self.current() as module:
            return module(inputs)

    def gradient(self, parameters: Sequence[Any], points: Sequence[int] | None = None) -> Any:
        """The gradient of the loss in some parameters of the model, in a row of float64.

        `points`: rows of X, Y; default all.
        """
        X, Y = (self.X, self.Y) if points is None else (self.X[points], self.Y[points])
        with traceless(), self.current() as module:
            mine = self.twin_parameters(parameters, module)
            loss = self.loss(module(X), Y)
            gradients = torch.autograd.grad(loss, mine, allow_unused=True)
        return row(gradients, mine)


def row(gradients: Sequence[Any], parameters: Sequence[Any]) -> Any:
    """Gradients in a row, 0 where there is none."""
    pairs = zip(gradients, parameters, strict=True)
    parts = [torch.zeros_like(p) if g is None else g for g, p in pairs]
    flat = torch.cat([entry.detach().reshape(-1) for entry in parts])
    # Of devices that have no float64.
    return flat.cpu().double() if flat.device.type == "mps" else flat.double()


def _tensors(module: Any) -> tuple[Any, ...]:
    """Parameters and buffers."""
    return (*module.parameters(), *module.buffers())
