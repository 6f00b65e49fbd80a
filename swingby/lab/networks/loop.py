"""The training loop: steps of a learner, which may be stopped anywhere and resumed.

What is trained is a :class:`Learner`: it takes some steps, and its state is a dictionary of
tensors. :class:`Autograd` makes one of parameters, a loss, an optimizer of torch and a function
from a step to its batch; a gradient written by hand is another. :func:`descend` runs either.
"""

from __future__ import annotations

import bisect
import signal
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, Self

from swingby.lab.networks.checkpoint import Checkpoint, foreign, read_state, write_state


class Stateful(Protocol):
    """An object that training changes, with its state as tensors or arrays by name."""

    def state(self) -> dict[str, Any]:
        """The tensors that a restart needs."""

    def restore(self, state: dict[str, Any]) -> None:
        """Take the values of a state; KeyError, ValueError or RuntimeError if it does not fit."""


class Learner(Stateful, Protocol):
    """A model in training, with its source of batches and its loss."""

    def advance(self, first: int, count: int) -> Any:
        """Take `count` steps, the first of them from step `first`; return what was observed."""


def descend(
    learner: Learner,
    total: int,
    *,
    take: Callable[[int, Any], Any] | None = None,
    look: Callable[[int], Any] | None = None,
    at: Iterable[int] = (),
    beside: Sequence[Stateful] = (),
    checkpoint: Checkpoint | None = None,
    until: int | None = None,
    chunk: int = 1,
    progress: Callable[[int], Any] | None = None,
) -> int:
    """Train from the start, or from a checkpoint, up to step `total`; return the step reached.

    After every chunk of at most `chunk` steps, `take` gets its first step and its observation, and
    `progress` the step reached. `look` is called at the steps `at`, before the step is taken, and
    once more after a restart there. The records of both are saved and restored if their objects
    are among `beside`. With a checkpoint, SIGINT and SIGTERM wait until the chunk is done and the
    state is written; a second signal does not wait. `until` is a step to stop at early.
    """
    owners = (learner, *beside)
    step = 0 if checkpoint is None else _resume(checkpoint, owners, total)
    end = total if until is None else max(step, min(until, total))
    looks = {int(number) for number in at} if look is not None else set()
    stops = sorted(looks | {end})
    with HeldSignals(catch=checkpoint is not None) as signals:
        saved = time.monotonic()
        while True:
            if look is not None and step in looks:
                look(step)
            if checkpoint is not None and (
                signals.waiting or step >= end or time.monotonic() - saved >= checkpoint.every
            ):
                _save(checkpoint, owners, step)
                saved = time.monotonic()
                where = f"the same call goes on from {checkpoint.path}"
                signals.deliver(f"stopped at step {step}; {where}")
            if progress is not None:
                progress(step)
            if step >= end:
                return step
            due = stops[bisect.bisect_right(stops, step)]
            count = min(chunk - step % chunk, due - step)
            observation = learner.advance(step, count)
            if take is not None:
                take(step, observation)
            step += count


def _save(checkpoint: Checkpoint, owners: Sequence[Stateful], step: int) -> None:
    tensors = {
        f"{k} {name}": tensor
        for k, owner in enumerate(owners)
        for name, tensor in owner.state().items()
    }
    write_state(checkpoint.path, checkpoint.identity, step, tensors, checkpoint.torch)


def _resume(checkpoint: Checkpoint, owners: Sequence[Stateful], total: int) -> int:
    saved = read_state(checkpoint.path, checkpoint.identity)
    if saved is None:
        return 0
    step, tensors = saved
    try:
        if not 0 <= step <= total:
            raise ValueError(f"step {step} of {total}")
        for k, owner in enumerate(owners):
            owner.restore(_below(f"{k} ", tensors))
    except (LookupError, ValueError, RuntimeError) as error:
        raise foreign(checkpoint.path, error) from None
    return step


def _below(head: str, state: Mapping[str, Any]) -> dict[str, Any]:
    """Entries under a prefix, which their names lose."""
    return {
        name.removeprefix(head): tensor for name, tensor in state.items() if name.startswith(head)
    }


def set_to(tensors: Mapping[str, Any], state: Mapping[str, Any]) -> None:
    """Give tensors the values of a state; a ValueError for other shapes."""
    for name, tensor in tensors.items():
        if state[name].shape != tensor.shape:
            raise ValueError(f"{name} of shape {tuple(state[name].shape)}")
        tensor.copy_(state[name])


class HeldSignals:
    """Holds SIGINT and SIGTERM back until they are delivered; a context manager."""

    def __init__(self, *, catch: bool) -> None:
        self._catch = catch and threading.current_thread() is threading.main_thread()
        self._before: dict[int, Any] = {}
        #: The signal that waits, or 0.
        self.waiting = 0

    def __enter__(self) -> Self:
        for number in (signal.SIGINT, signal.SIGTERM) if self._catch else ():
            before = signal.getsignal(number)
            if before not in (signal.SIG_IGN, None):
                self._before[number] = signal.signal(number, self._note)
        return self

    def _note(self, number: int, frame: Any) -> None:
        if self.waiting:
            self.deliver("stopped without a checkpoint of the last steps")
        self.waiting = number

    def deliver(self, note: str) -> None:
        """Let a signal that waits do what it would have done; `note` goes with the interrupt."""
        if self.waiting:
            try:
                self.__exit__()
            except KeyboardInterrupt as error:
                error.add_note(note)
                raise
            self.__enter__()  # the caller has a handler that lets training go on

    def __exit__(self, *error: object) -> None:
        while self._before:
            signal.signal(*self._before.popitem())
        number, self.waiting = self.waiting, 0
        if number:
            signal.raise_signal(number)


class Autograd:
    """A learner by automatic differentiation: parameters, a source of batches and a loss.

    `batches` gives the batch of a step, the same whenever it is asked, and `loss` the losses of a
    batch, whose sum is differentiated. `look` reads tensors off before each step: they are what
    :meth:`advance` returns, stacked; without it, the losses are. `extra` are tensors that belong
    to the state too, changed in place.
    """

    def __init__(
        self,
        torch: Any,
        parameters: Sequence[Any],
        batches: Callable[[int], Any],
        loss: Callable[[Any], Any],
        optimizer: Any,
        *,
        look: Callable[[], Sequence[Any]] | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        self.torch, self.parameters, self.optimizer = torch, list(parameters), optimizer
        self._batches, self._loss, self._look = batches, loss, look
        self._extra = dict(extra or {})

    def advance(self, first: int, count: int) -> Any:
        """Read off tensors and take a step, `count` times."""
        torch, observations = self.torch, []
        for step in range(first, first + count):
            if self._look is not None:
                with torch.no_grad():
                    observations.append(self._look())
            losses = self._loss(self._batches(step))
            self.optimizer.zero_grad(set_to_none=True)
            losses.sum().backward()
            self.optimizer.step()
            if self._look is None:
                observations.append((losses.detach(),))
        return tuple(torch.stack(same) for same in zip(*observations, strict=True))

    def _tensors(self) -> dict[str, Any]:
        """Parameters and extras, which are there before the optimizer has a state."""
        return {
            f"weight{k}": parameter for k, parameter in enumerate(self.parameters)
        } | self._extra

    def state(self) -> dict[str, Any]:
        """Parameters, extras, and the state of the optimizer for each parameter."""
        tensors = {name: tensor.detach() for name, tensor in self._tensors().items()}
        for k, parameter in enumerate(self.parameters):
            for name, value in self.optimizer.state.get(parameter, {}).items():
                if self.torch.is_tensor(value):
                    tensors[f"optimizer{k} {name}"] = value
        return tensors

    def restore(self, state: dict[str, Any]) -> None:
        """Take the values of a state, of the optimizer too."""
        with self.torch.no_grad():
            set_to(self._tensors(), state)
        for k, parameter in enumerate(self.parameters):
            self.optimizer.state.pop(parameter, None)
            for name, value in _below(f"optimizer{k} ", state).items():
                # The number of steps stays on the CPU, where torch counts it.
                device = parameter.device if value.ndim else "cpu"
                self.optimizer.state[parameter][name] = value.to(device, copy=True)
