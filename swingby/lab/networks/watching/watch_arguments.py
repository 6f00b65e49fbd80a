"""Arguments of :func:`swingby.watch`: refused with the reason and the line to type."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import torch

from swingby.errors import InvalidInput
from swingby.lab.networks.watching.observer import Loss, Observer, traceless
from swingby.lab.networks.watching.update_rule import parameters_of
from swingby.theory import numbers

_MODEL = "must be a torch.nn.Module"
_OPTIMIZER = "must be an optimizer of torch"


def unwrapped(model: Any) -> Any:
    """The module that others wrap: compiled ones, and those on several devices."""
    while hasattr(model, "_orig_mod"):
        model = model._orig_mod
    parallel = (torch.nn.DataParallel, torch.nn.parallel.DistributedDataParallel)
    return model.module if isinstance(model, parallel) else model


def checked_data(model: Any, optimizer: Any, X: Any, Y: Any) -> tuple[Any, Any]:
    """X and Y as tensors where the model is, once model and optimizer belong together."""
    _check_model(model, optimizer)
    sample = next(model.parameters())
    if isinstance(sample, torch.nn.parameter.UninitializedParameter):
        raise InvalidInput("model", type(model).__name__, "must have shapes: call model(X) once")
    for name, value in (("X", X), ("Y", Y)):
        if isinstance(value, torch.utils.data.DataLoader):
            requirement = (
                "must be a tensor of all points: torch.cat([x for x, _ in loader]) for X,"
                " and [y for _, y in loader] for Y"
            )
            raise InvalidInput(name, "a DataLoader", requirement)
    X, Y = (_tensor(value, name, sample) for value, name in ((X, "X"), (Y, "Y")))
    if len(X) != len(Y):
        requirement = f"must have a row for each of the {len(X)} rows of X"
        raise InvalidInput("Y", f"{len(Y)} rows", requirement)
    return X, Y


def _check_model(model: Any, optimizer: Any) -> None:
    if isinstance(model, torch.optim.Optimizer):
        line = f"{_MODEL}: watch(model, optimizer, X, Y)"
        raise InvalidInput("model", f"the optimizer {type(model).__name__}", line)
    if isinstance(model, type):
        raise InvalidInput("model", model.__name__, f"{_MODEL}, not a class: {model.__name__}()")
    if not isinstance(model, torch.nn.Module):
        raise InvalidInput("model", type(model).__name__, _MODEL)
    if next(model.parameters(), None) is None:
        raise InvalidInput("model", type(model).__name__, "must have parameters")
    if isinstance(optimizer, torch.optim.lr_scheduler.LRScheduler):
        line = f"{_OPTIMIZER}: watch(model, optimizer, X, Y, schedule=scheduler)"
        raise InvalidInput("optimizer", type(optimizer).__name__, line)
    if not isinstance(optimizer, torch.optim.Optimizer):
        line = f"{_OPTIMIZER}: torch.optim.SGD(model.parameters(), lr=0.01)"
        raise InvalidInput("optimizer", type(optimizer).__name__, line)
    ours = {id(entry) for entry in model.parameters()}
    if not any(id(entry) in ours for entry in parameters_of(optimizer)):
        kind = type(optimizer).__name__
        line = f"torch.optim.{kind}(model.parameters(), lr=...)"
        requirement = f"must hold parameters of the model, and holds none: {line}"
        raise InvalidInput("optimizer", kind, requirement)


def _tensor(value: Any, name: str, sample: Any) -> Any:
    """A tensor of floats as those of the model, on its device."""
    if not isinstance(value, torch.Tensor):
        array = numbers.real_array(value, name)
        return torch.as_tensor(array, dtype=sample.dtype, device=sample.device)
    value = value.detach()
    if value.ndim == 0 or not value.numel():
        raise InvalidInput(name, f"shape {tuple(value.shape)}", "must have a row for each point")
    if not value.is_floating_point():
        line = "must be floats"
        if name == "Y":
            line += ": for classes, torch.nn.functional.one_hot(Y).to(X) and a loss that takes it"
        raise InvalidInput(name, str(value.dtype), line)
    if value.device != sample.device:
        line = f"must be where the model is: {name}.to({str(sample.device)!r})"
        raise InvalidInput(name, f"a tensor on {value.device}", line)
    if value.dtype != sample.dtype:
        line = f"must be of the floats of the model: {name}.to({sample.dtype})"
        raise InvalidInput(name, str(value.dtype), line)
    if not bool(torch.isfinite(value).all()):
        raise InvalidInput(name, "a tensor with NaN or infinity", "must be finite")
    return value


def checked_loss(loss: Any) -> Loss:
    """The loss as a function of outputs and targets."""
    if isinstance(loss, str):
        losses: dict[str, Loss] = {
            "mse": torch.nn.functional.mse_loss,
            "sum": lambda outputs, targets: (outputs - targets).square().sum(),
            "half": lambda outputs, targets: (outputs - targets).square().sum() / 2 / len(targets),
        }
        if loss not in losses:
            line = 'must be "mse", "sum", "half" or the function of (outputs, targets) of the loop'
            raise InvalidInput("loss", loss, line)
        return losses[loss]
    if isinstance(loss, torch.Tensor):
        line = "must be the function of (outputs, targets), such as torch.nn.functional.mse_loss"
        raise InvalidInput("loss", "a tensor", line)
    if isinstance(loss, type):
        line = f"must be a function of (outputs, targets), not a class: {loss.__name__}()"
        raise InvalidInput("loss", loss.__name__, line)
    if not callable(loss):
        raise InvalidInput("loss", loss, "must be a function of (outputs, targets)")
    return loss  # type: ignore[no-any-return]


def check_outputs(observer: Observer) -> None:
    """Refuse data that the model does not take, outputs and losses of other shapes."""
    X, Y = observer.X, observer.Y
    with traceless():
        outputs = _outputs(observer, X)
        if isinstance(outputs, Exception):
            backwards = _outputs(observer, Y)
            if getattr(backwards, "shape", None) == X.shape:
                raise InvalidInput("X", f"shape {tuple(X.shape)}", "and Y are swapped")
            words = " ".join(str(outputs).split())
            raise InvalidInput("X", f"shape {tuple(X.shape)}", f"is refused by the model ({words})")
        if not isinstance(outputs, torch.Tensor):
            requirement = "must return a tensor: watch the module that does"
            raise InvalidInput("model", type(outputs).__name__, requirement)
        if outputs.shape != Y.shape:
            line = f"must have the shape of the outputs, {tuple(outputs.shape)}"
            if Y.ndim == 1 and outputs.shape == (len(Y), 1):
                line += ": Y[:, None]"
            raise InvalidInput("Y", f"shape {tuple(Y.shape)}", line)
        try:
            value = observer.loss(outputs, Y)
        except Exception as error:
            words = " ".join(str(error).split())
            raise InvalidInput("loss", words, "must take (outputs, targets)") from None
        if not isinstance(value, torch.Tensor) or value.numel() != 1:
            requirement = 'must return one number: reduction="mean" or "sum"'
            shape = tuple(getattr(value, "shape", ()))
            raise InvalidInput("loss", f"shape {shape}", requirement)


def _outputs(observer: Observer, inputs: Any) -> Any:
    try:
        return observer.evaluated(inputs)
    except Exception as error:
        return error


def checked_level(level: Any) -> float:
    """A share between 0 and 1."""
    return _between(level, "level")


def checked_share(share: Any) -> float:
    """The part of a training that copies may cost."""
    number = float(numbers.positive(share, "share"))
    if number > 10:
        raise InvalidInput("share", share, "must be at most 10")
    return number


def _between(value: Any, name: str) -> float:
    number = float(numbers.positive(value, name))
    if not number < 1:
        raise InvalidInput(name, value, "must be between 0 and 1")
    return number


def checked_steps(at: Any) -> frozenset[int]:
    """Steps at which forecasts are made."""
    listed = [at] if isinstance(at, int) else at
    if isinstance(listed, str) or not isinstance(listed, Iterable):
        raise InvalidInput("at", at, "must be steps: at=(100, 1000)")
    return frozenset(numbers.whole(step, "at") for step in listed)


def checked_schedule(schedule: Any, optimizer: Any) -> None:
    """Refuse what gives no learning rate ahead."""
    if schedule is None:
        return
    if isinstance(schedule, torch.optim.lr_scheduler.ReduceLROnPlateau):
        requirement = "is not known ahead: without it, forecasts are made again at each change"
        raise InvalidInput("schedule", "ReduceLROnPlateau", requirement)
    if hasattr(schedule, "get_last_lr"):
        if getattr(schedule, "optimizer", None) is not optimizer:
            raise InvalidInput("schedule", type(schedule).__name__, "must be of this optimizer")
        return
    line = f"must be a scheduler of torch or a function: lambda step: {_rate_text(optimizer)}"
    if not callable(schedule):
        raise InvalidInput("schedule", schedule, line)
    try:
        rates = schedule(0)
        listed = [float(rate) for rate in (rates if isinstance(rates, Iterable) else [rates])]
    except Exception as error:
        raise InvalidInput("schedule", error, line) from None
    groups = len(optimizer.param_groups)
    if len(listed) not in (1, groups) or not all(map(math.isfinite, listed)):
        requirement = f"must give a learning rate, or one for each of {groups} groups"
        raise InvalidInput("schedule", listed, requirement)


def _rate_text(optimizer: Any) -> str:
    return f"{float(optimizer.param_groups[0]['lr']):.4g} * 0.999**step"
