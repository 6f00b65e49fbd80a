"""The one training loop: a source of batches, a model and a loss; stopped anywhere, and gone on.

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
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self

from swingby.training import checkpoint as files


class Stateful(Protocol):
    """Whatever training changes, as tensors or arrays by name."""

    def state(self) -> dict[str, Any]:
        """All that is needed to go on."""

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from there; a KeyError, ValueError or RuntimeError for what does not fit."""


class Learner(Stateful, Protocol):
    """What is trained, with its source of batches and its loss."""

    def advance(self, first: int, count: int) -> Any:
        """Take so many steps, the first of them from step `first`; what they showed."""


class Checkpoint(NamedTuple):
    """Where a state is kept, under which identity, and after how many seconds again."""

    path: Path
    identity: str
    every: float
    torch: Any


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
    """Train from the start, or from a checkpoint, up to step `total`; the step that was reached.

    After every chunk of at most `chunk` steps, `take` gets its first step and what it showed, and
    `progress` the step reached. `look` is called at the steps `at`, before the step is taken, and
    once more after a restart there; what both keep is saved and restored if it stands `beside`.
    With a checkpoint, SIGINT and SIGTERM wait until the chunk is done and the state is written; a
    second one of them does not wait. `until` is where to stop early.
    """
    parts = (learner, *beside)
    step = 0 if checkpoint is None else _resume(checkpoint, parts, total)
    end = total if until is None else max(step, min(until, total))
    looks = {int(one) for one in at} if look is not None else set()
    stops = sorted(looks | {end})
    with Signals(catch=checkpoint is not None) as signals:
        saved = time.monotonic()
        while True:
            if look is not None and step in looks:
                look(step)
            if checkpoint is not None and (
                signals.waiting or step >= end or time.monotonic() - saved >= checkpoint.every
            ):
                _save(checkpoint, parts, step)
                saved = time.monotonic()
                where = f"the same call goes on from {checkpoint.path}"
                signals.deliver(f"stopped at step {step}; {where}")
            if progress is not None:
                progress(step)
            if step >= end:
                return step
            due = stops[bisect.bisect_right(stops, step)]
            count = min(chunk - step % chunk, due - step)
            shown = learner.advance(step, count)
            if take is not None:
                take(step, shown)
            step += count


def _save(checkpoint: Checkpoint, parts: Sequence[Stateful], step: int) -> None:
    named = {
        f"{k} {name}": one for k, part in enumerate(parts) for name, one in part.state().items()
    }
    files.write(checkpoint.path, checkpoint.identity, step, named, checkpoint.torch)


def _resume(checkpoint: Checkpoint, parts: Sequence[Stateful], total: int) -> int:
    found = files.read(checkpoint.path, checkpoint.identity)
    if found is None:
        return 0
    step, tensors = found
    try:
        if not 0 <= step <= total:
            raise ValueError(f"step {step} of {total}")
        for k, part in enumerate(parts):
            part.restore(_below(f"{k} ", tensors))
    except (LookupError, ValueError, RuntimeError) as error:
        raise files.foreign(checkpoint.path, error) from None
    return step


def _below(head: str, state: Mapping[str, Any]) -> dict[str, Any]:
    """What has a name that begins so, by the rest of its name."""
    return {name.removeprefix(head): one for name, one in state.items() if name.startswith(head)}


class Signals:
    """Holds SIGINT and SIGTERM back until they are delivered; a context manager."""

    def __init__(self, *, catch: bool) -> None:
        self._catch = catch and threading.current_thread() is threading.main_thread()
        self._before: dict[int, Any] = {}
        #: The signal that waits, or 0.
        self.waiting = 0

    def __enter__(self) -> Self:
        for one in (signal.SIGINT, signal.SIGTERM) if self._catch else ():
            before = signal.getsignal(one)
            if before not in (signal.SIG_IGN, None):
                self._before[one] = signal.signal(one, self._note)
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
    :meth:`advance` returns, stacked; without it, the losses are. `after` gets the losses after
    each step: a running mean of the weights, a learning rate. `extra` are tensors that belong to
    the state too, changed in place.
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
        after: Callable[[Any], Any] | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        self.torch, self.parameters, self.optimizer = torch, list(parameters), optimizer
        self._batches, self._loss, self._look, self._after = batches, loss, look, after
        self._extra = dict(extra or {})

    def advance(self, first: int, count: int) -> Any:
        """Look, then take a step; so many times."""
        torch, seen = self.torch, []
        for step in range(first, first + count):
            if self._look is not None:
                with torch.no_grad():
                    seen.append(self._look())
            losses = self._loss(self._batches(step))
            self.optimizer.zero_grad(set_to_none=True)
            losses.sum().backward()
            self.optimizer.step()
            if self._after is not None:
                self._after(losses.detach())
            if self._look is None:
                seen.append((losses.detach(),))
        return tuple(torch.stack(same) for same in zip(*seen, strict=True))

    def _tensors(self) -> dict[str, Any]:
        """What is always there; the optimizer knows nothing before its first step."""
        return {f"weight{k}": one for k, one in enumerate(self.parameters)} | self._extra

    def state(self) -> dict[str, Any]:
        """Weights, extras, and what the optimizer knows of each weight."""
        found = {name: one.detach() for name, one in self._tensors().items()}
        for k, one in enumerate(self.parameters):
            for name, value in self.optimizer.state.get(one, {}).items():
                if self.torch.is_tensor(value):
                    found[f"optimizer{k} {name}"] = value
        return found

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from them."""
        with self.torch.no_grad():
            for name, one in self._tensors().items():
                if state[name].shape != one.shape:
                    raise ValueError(f"{name} of shape {tuple(state[name].shape)}")
                one.copy_(state[name])
        for k, one in enumerate(self.parameters):
            self.optimizer.state.pop(one, None)
            for name, value in _below(f"optimizer{k} ", state).items():
                # The number of steps stays on the CPU, where torch counts it.
                where = one.device if value.ndim else "cpu"
                self.optimizer.state[one][name] = value.to(where, copy=True)
