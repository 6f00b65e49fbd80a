"""The one training loop: a source of batches, a model and a loss; stopped anywhere, and gone on.

What is trained is a :class:`Learner`: it takes some steps, and its state is a dictionary of
tensors. :class:`Autograd` makes one of parameters, a loss, an optimizer of torch and a function
from a step to its batch; a gradient written by hand is another. :func:`descend` runs either. On
disk a state is one safetensors file, with a digest of all that it says.
"""

from __future__ import annotations

import bisect
import hashlib
import importlib
import json
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self

import swingby
from swingby.errors import InvalidInput, MissingExtra
from swingby.report.files import whole
from swingby.report.seals import sealed, unsealed


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
    write_state(checkpoint.path, checkpoint.identity, step, named, checkpoint.torch)


def _resume(checkpoint: Checkpoint, parts: Sequence[Stateful], total: int) -> int:
    found = read_state(checkpoint.path, checkpoint.identity)
    if found is None:
        return 0
    step, tensors = found
    try:
        if not 0 <= step <= total:
            raise ValueError(f"step {step} of {total}")
        for k, part in enumerate(parts):
            part.restore(_below(f"{k} ", tensors))
    except (LookupError, ValueError, RuntimeError) as error:
        raise foreign(checkpoint.path, error) from None
    return step


def _below(head: str, state: Mapping[str, Any]) -> dict[str, Any]:
    """What has a name that begins so, by the rest of its name."""
    return {name.removeprefix(head): one for name, one in state.items() if name.startswith(head)}


def identity(inputs: Any, modules: Sequence[str] = ()) -> str:
    """Sixteen hexadecimal digits that name what depends on some inputs and on the code of modules.

    >>> identity({"seed": 0}) == identity({"seed": 0}), identity({"seed": 0}) == identity({})
    (True, False)
    """
    found = hashlib.sha256(json.dumps(inputs, sort_keys=True).encode())
    for name in modules:
        found.update(Path(str(importlib.import_module(name).__file__)).read_bytes())
    return found.hexdigest()[:16]


def write_state(path: Path, name: str, step: int, tensors: dict[str, Any], torch: Any) -> None:
    """Put a state on disk whole, in place of an older one, which a failure leaves as it was."""
    library = load_library()
    plain = {key: torch.as_tensor(value).cpu().contiguous() for key, value in tensors.items()}
    header = {"identity": name, "step": str(step), "swingby": swingby.__version__}
    header = sealed(header, {key: one.numpy() for key, one in plain.items()})
    with whole(path, "checkpoint") as target:
        try:
            library.save_file(plain, target, metadata=header)
        except importlib.import_module("safetensors").SafetensorError as error:
            raise OSError(str(error)) from None


def read_state(path: Path, name: str) -> tuple[int, dict[str, Any]] | None:
    """The step and the tensors that :func:`write_state` put there by this name; None without file.

    InvalidInput if a bit of the file has changed, or it holds something else.
    """
    if not path.exists():
        return None
    library = load_library()
    try:
        with library.safe_open(path, framework="pt") as file:
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
            arrays = {key: one.numpy() for key, one in tensors.items()}
            header = unsealed(dict(file.metadata() or {}), arrays)
        step = int(header["step"])
    except Exception as error:
        # safetensors raises an error class of its own for what is not its format.
        raise foreign(path, error) from None
    if header.get("identity") != name:
        raise InvalidInput("checkpoint", path, "must belong to these settings")
    return step, tensors


def usable_folder(checkpoint: object, name: str = "checkpoint") -> Path:
    """A folder that can be written to, before hours of training are spent."""
    if not isinstance(checkpoint, (str, Path)) or not str(checkpoint).strip():
        raise InvalidInput(name, checkpoint, "must be the path of a folder")
    load_library()
    folder = Path(checkpoint)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InvalidInput(name, folder, f"must be a folder to write to ({reason})") from None


def foreign(path: Path, error: Exception) -> InvalidInput:
    """The error for a file that is something else, as reading it showed."""
    shown = f"{type(error).__name__}: {error}"
    return InvalidInput("checkpoint", path, f"must hold a checkpoint of swingby ({shown})")


def load_library() -> Any:
    """safetensors, as it is used with torch."""
    try:
        return importlib.import_module("safetensors.torch")
    except ImportError:
        raise MissingExtra("safetensors", "torch") from None


def set_to(tensors: Mapping[str, Any], state: Mapping[str, Any]) -> None:
    """Give tensors the values of a state; a ValueError for other shapes."""
    for name, one in tensors.items():
        if state[name].shape != one.shape:
            raise ValueError(f"{name} of shape {tuple(state[name].shape)}")
        one.copy_(state[name])


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
            set_to(self._tensors(), state)
        for k, one in enumerate(self.parameters):
            self.optimizer.state.pop(one, None)
            for name, value in _below(f"optimizer{k} ", state).items():
                # The number of steps stays on the CPU, where torch counts it.
                where = one.device if value.ndim else "cpu"
                self.optimizer.state[one][name] = value.to(where, copy=True)
