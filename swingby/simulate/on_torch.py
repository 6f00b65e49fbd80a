r"""Batches as tensors of torch, on the CPU or a CUDA device.

The numbers of a run are those of a lane (:func:`swingby.simulate.lanes.fleet.rows`), with all
entries of X: steps and looks change them on the device, and what is due is done by the functions of
lanes. W is held as D X D, D = diag(2^m). With
:math:`g_{ij} = \eta (a_i + a_j) x_{ij}` and :math:`Y = G D^2 X` the next X is

.. math:: \text{euler:} \quad X + \bigl(G - \tfrac12 (Y + Y^T)\bigr), \qquad
          \text{gd:} \quad X + M + M^T, \quad
          m_{ij} = (1 + \tfrac12 \eta a_j)\, c_{ij} - \tfrac14 (C D^2 G)_{ij}, \quad
          c_{ij} = \eta a_i x_{ij} - \tfrac12 y_{ij},

which is (D.2), and :math:`(I + \eta B) W (I + \eta B)`. The change is summed before it is added,
so W comes to a halt at its fixed point, and a matrix plus its transpose is exactly symmetric.

Sums are rounded in another order than in compiled code. Half-times, descents and outcomes are the
same and W agrees to 1e-12 of its largest entry, unless the dynamics amplify rounding: pivots of
W(0) far below its diagonal, eta a above 1, runs that leave the float range.
"""

from __future__ import annotations

import contextlib
import importlib
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from swingby.errors import InvalidInput, MissingExtra
from swingby.simulate.float_pivots import PIVOT_ROUNDING
from swingby.simulate.jump import LEARNED, NEGLIGIBLE, STALLED
from swingby.simulate.lanes.fleet import AT_REST, TINY, Fleet, Rows
from swingby.theory.growth import DYNAMICS
from swingby.theory.initial import clear_pivots
from swingby.theory.numbers import Booleans, Floats, Integers
from swingby.theory.scaled_matrices import LARGE

_Tensor = Any

#: Up to this d the run is the last axis in memory, so that inner loops go over runs.
_SMALL = 8
#: Entries of W together on a CUDA device (170 MB) and on the CPU (its caches), and runs together.
CUDA_ENTRIES, CPU_ENTRIES, MOST_TOGETHER = 2**21, 2**16, 2**16


def load_torch() -> Any:
    """Import torch, or say which extra it is in."""
    try:
        return importlib.import_module("torch")
    except ImportError:
        raise MissingExtra("torch", "torch") from None


@contextlib.contextmanager
def torch_defaults(grad: bool = True) -> Iterator[None]:
    """A block in which torch is as after its import, whatever its caller has switched.

    `grad`: with gradients; otherwise as the caller has them.
    """
    torch = load_torch()
    dtype = torch.get_default_dtype()
    with contextlib.ExitStack() as blocks:
        for device in ("cpu", "cuda"):
            blocks.enter_context(torch.autocast(device, enabled=False))
        if grad:
            blocks.enter_context(torch.inference_mode(False))
            blocks.enter_context(torch.enable_grad())
        if torch.get_default_device().type != "cpu":
            blocks.enter_context(torch.device("cpu"))
        if dtype != torch.float32:
            blocks.callback(torch.set_default_dtype, dtype)
            torch.set_default_dtype(torch.float32)
        yield


def usable_device(device: object) -> tuple[Any, Any]:
    """The module torch and the device; other kinds of devices may lack float64 and are refused."""
    kind = type(device)
    is_device = isinstance(device, str) or (kind.__module__, kind.__name__) == ("torch", "device")
    name = str(device) if is_device else ""
    if not re.fullmatch(r"cpu(:0)?|cuda(:\d{1,4})?", name):
        requirement = 'must be None, "cpu", "cuda", or one CUDA device such as "cuda:1"'
        raise InvalidInput("device", device, requirement)
    torch = load_torch()
    torch_device = torch.device(name)
    if torch_device.type == "cuda":
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if not count:
            raise InvalidInput("device", name, "needs a GPU that torch can use, and there is none")
        if torch_device.index is not None and torch_device.index >= count:
            raise InvalidInput("device", name, f"must be one of the {count} that torch can use")
    return torch, torch_device


def size_on(place: Any, d: int) -> int:
    """The number of runs of a batch that are taken together."""
    entries = CUDA_ENTRIES if place.type == "cuda" else CPU_ENTRIES
    return max(1, min(MOST_TOGETHER, entries // (d * d)))


class Tensors(Fleet):
    """All lanes side by side on a device, taken along together."""

    full = True

    def room_for(self, count: int) -> int:
        """No more than needed."""
        return count

    def hold(self, numbers: Floats) -> None:
        """Move them to the device."""
        self.torch = load_torch()
        self.held = self._there(numbers)

    def _there(self, numbers: Floats) -> Rows:
        """On the device, in the order in memory that is fast."""
        padded = np.zeros((len(numbers), self.at.end))
        padded[:, : numbers.shape[1]] = numbers
        values = self.torch.from_numpy(padded).to(self.device)
        return Rows(values.T.contiguous().T if self.d <= _SMALL else values, self.at)

    def _index(self, lanes: Integers) -> _Tensor:
        return self.torch.from_numpy(lanes).to(self.device)

    def read(self, lanes: Integers, *, before: bool = False) -> Floats:
        """Move some to the host."""
        values = self.start if before else self.held.values
        columns: Floats = values[self._index(lanes)].cpu().numpy()
        return columns

    def write(self, lanes: Integers, numbers: Floats) -> None:
        """Move some columns to the device."""
        values = self.torch.from_numpy(np.ascontiguousarray(numbers)).to(self.device)
        self.held.values[:, : numbers.shape[1]][self._index(lanes)] = values

    def take(
        self, left: Integers, count: int, *, whole: bool, scaled: bool
    ) -> tuple[Integers, Booleans]:
        """One block: in so many lanes something is due most of the time."""
        step, past = self._step(self.held, scaled=scaled), self.held["past"]
        self.start = self.held.values[:, : self.at.changing].clone()
        for n in range(count):
            if n == count - 1:
                past.copy_(_diagonal(self._matrices(self.held)))
            step()
        self._look()
        return np.ones(len(left), dtype=np.int64), (self.held["due"] != 0.0).cpu().numpy()

    def trial(self, numbers: Floats, count: int, *, scaled: bool) -> Floats:
        """Beside the others."""
        columns = self._there(numbers)
        step = self._step(columns, scaled=scaled)
        for _ in range(count):
            step()
        changed: Floats = columns.values[:, : self.at.changing].cpu().numpy()
        return changed

    def _matrices(self, held: Rows) -> _Tensor:
        """X (m, d, d), to write to."""
        return held.values[:, : self.d**2].unflatten(1, (self.d, self.d))

    def _step(self, held: Rows, *, scaled: bool) -> Callable[[], None]:
        """One step of all runs, counted and watched; it allocates nothing of the size of X."""
        torch, X = self.torch, self._matrices(held)
        diagonal, square, bar = _diagonal(X), held["square"][:, :, None], held["bar"]
        row, column = held["rates"][:, :, None], held["rates"][:, None, :]
        sums, half_more, below, waited = row + column, 1 + column / 2, held["below"], held["waited"]
        G, C, Y, Z = (torch.empty_like(X) for _ in range(4))
        watch = self._watch(held) if self.arranged.watched else (lambda: None)

        def product(left: _Tensor, right: _Tensor) -> None:
            """The product of `left`, D^2 and `right` into Y."""
            right = torch.mul(square, right, out=Z) if scaled else right
            if self.d > _SMALL:
                torch.bmm(left, right, out=Y)
                return
            torch.mul(left[:, :, 0, None], right[:, None, 0], out=Y)
            for k in range(1, self.d):
                Y.addcmul_(left[:, :, k, None], right[:, None, k])

        def step() -> None:
            torch.mul(sums, X, out=G)
            product(G, X)
            if self.dynamics == "gd":
                torch.mul(row, X, out=C).sub_(Y, alpha=0.5)
                product(C, G)
                C.mul_(half_more).sub_(Y, alpha=0.25)
                torch.add(C, C.mT, out=G)
            else:
                G.sub_(torch.add(Y, Y.mT, out=Z), alpha=0.5)
            X.add_(G)
            below.mul_(diagonal < bar)
            waited.add_(below)
            watch()

        return step

    def _watch(self, held: Rows) -> Callable[[], None]:
        """One look at the test loss 1/2 |W x - x|^2 and at entries off the diagonal, of all."""
        X, low, high, heading = self._matrices(held), held["low"], held["high"], held["heading"]
        point, root, swing = held["point"], held["root"], held["swing"]
        descents, transient, Z = held["descents"], held["transient"], self.torch.empty_like(X)
        weights = (root * point)[:, None, :]
        off = root[:, None, :] * (
            1.0 - self.torch.eye(self.d, dtype=root.dtype, device=root.device)
        )

        def watch() -> None:
            residual = Z.copy_(X).mul_(weights).sum(2).mul_(root).sub_(point)
            loss = residual.square_().sum(1).mul_(0.5)
            falls, rises = heading <= 0.0, heading >= 0.0
            low.copy_(loss.where(falls & (loss < low), low))
            high.copy_(loss.where(rises & (loss > high), high))
            rose, fell = falls & (loss - low >= swing), rises & (high - loss >= swing)
            # After a rise the next maximum is looked for from here on, after a fall the minimum.
            high.copy_(loss.where(rose, high))
            low.copy_(loss.where(fell, low))
            heading.masked_fill_(fell, -1.0).masked_fill_(rose, 1.0)
            descents.add_(fell)
            # One factor at a time: their product may lie below the float range where W does not.
            largest = Z.copy_(X).mul_(off).mul_(root[:, :, None]).abs_().amax((1, 2))
            transient.copy_(transient.maximum(largest))

        return watch

    def _look(self) -> None:
        """Find what is due in each lane, by the rules of :mod:`swingby.simulate.lanes.tiles`."""
        columns, X = self.held, self._matrices(self.held)
        diagonal, rates, square, wait = (
            _diagonal(X),
            columns["rates"],
            columns["square"],
            columns["wait"],
        )
        w, unforced = diagonal * square, rates == 0.0
        learned = unforced | ((w - 1.0).abs() * rates <= STALLED + LEARNED * rates)
        fed = X.square() * square[:, :, None] > NEGLIGIBLE * diagonal.abs()[:, None, :]
        _diagonal(fed).fill_(False)
        small = learned | (w.abs() * 2.0**8 <= NEGLIGIBLE)
        ready = (wait == 0.0) & small.all(1) & ~(fed & ~learned[:, None, :]).flatten(1).any(1)
        wait.copy_((wait - 1.0).clamp(min=0.0))
        still = unforced | ((diagonal == columns["past"]) & ((w - 1.0).abs() < AT_REST))
        lasts = (columns["lost"] == 0.0) & (not DYNAMICS[self.dynamics].keeps_psd)
        settled = wait.isfinite() & (still | (w.abs() <= TINY)).all(1)
        looks = {
            "infinite": ~X.isfinite().flatten(1).all(1),
            "ready": ready,
            "settled": settled,
            "doubtful": ~clear_pivots(X, PIVOT_ROUNDING * self.d) & lasts,
            "large": ((diagonal.abs() > LARGE) & (square < 1.0)).any(1),
        }
        due = looks["infinite"] | looks["doubtful"] | looks["large"] | (columns["null"] != 0.0)
        looks["due"] = due | (ready & self.skip) | (settled & self.rest)
        for name, values in looks.items():
            columns[name] = values


def _diagonal(X: _Tensor) -> _Tensor:
    return X.diagonal(dim1=1, dim2=2)
