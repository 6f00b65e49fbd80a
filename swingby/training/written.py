r"""Gradient descent of linear networks by the gradient as it is written down.

With the second moment S of a batch, the loss of :math:`f(x) = P x` is
:math:`\tfrac12 \operatorname{tr} (P - T) S (P - T)^\top` for the target T, so one product with S
replaces the points; targets y of one's own add :math:`-\operatorname{tr} (P - T) C`, where C is
the mean of :math:`x (y - T x)^\top`. Biases are rows of augmented weights. Everything is held
transposed, inputs in the rows: a SIM task has few of them, and few long rows are multiplied
faster than many short ones. Sums are taken in another order than by automatic differentiation;
:class:`swingby.training.model.Differentiated` is the other way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from swingby.training.data import Coordinates, Moments
from swingby.training.model import plain
from swingby.training.recorder import Seen, read_maps
from swingby.training.setting import Setting, loss_factor


class Written:
    """Linear networks under plain gradient descent: a learner of :mod:`swingby.training.loop`.

    Weights have the shape (r, columns, rows) and are changed in place. With biases the last row is
    the bias, and all but the last weight have a last column of zeros and a 1. One layer is held
    as P - T, the symmetric network as U.
    """

    def __init__(
        self, torch: Any, settings: Sequence[Setting], weights: list[Any], place: Coordinates
    ) -> None:
        self._torch, self._place = torch, place
        like, self._network = weights[0], settings[0].network
        target = torch.tensor(place.target.T, dtype=like.dtype, device=like.device)
        if self._network.bias:
            target = torch.cat([target, target.new_zeros(1, target.shape[1])])
            layers = list(zip(weights[::2], weights[1::2], strict=True))
            own = [
                _augmented(torch, *one, last=number == len(layers))
                for number, one in enumerate(layers, 1)
            ]
        else:
            own = [one if self._network.symmetric else one.mT for one in weights]
        if self._network.depth == 1:
            own = [own[0] - target]
        self._target = target
        self._weights = [one.clone(memory_format=torch.contiguous_format) for one in own]
        rates = like.new_tensor([one.optimizer.lr * loss_factor(one) for one in settings])
        self._moments = Moments(torch, settings, place, like, rates[:, None, None])
        s, bias = settings[0].task.s, self._network.bias
        columns = [*range(s), *([place.inputs] if bias else [])]
        self._columns = torch.tensor(columns, device=like.device)
        self._whole = len(columns) == place.inputs + bias
        self._room: Any = None

    def advance(self, first: int, count: int) -> Seen:
        """Look, then take a step; so many times."""
        with self._torch.inference_mode():
            for k in range(count):
                errors, below = self._forward()
                shown = self._maps(errors)
                if self._room is None or self._room.shape[2] != count:
                    runs, columns, d = shown.shape
                    self._room = shown.new_empty((runs, columns, count, d))
                self._room[:, :, k] = shown
                self._descend(*self._moments.batch(first + k), errors, below)
        return read_maps(self._room, self._place)

    def _maps(self, errors: Any) -> Any:
        return errors if self._whole else errors.index_select(1, self._columns)

    def _forward(self) -> tuple[Any, list[Any]]:
        """P - T transposed, (r, m, d), and the products of the first one, two, ... weights."""
        torch, weights = self._torch, self._weights
        if self._network.symmetric:
            return torch.baddbmm(self._target, weights[0], weights[0].mT, beta=-1.0), []
        if len(weights) == 1:
            return weights[0], []
        below = [weights[0]]
        for one in weights[1:-1]:
            below.append(torch.bmm(below[-1], one))
        return torch.baddbmm(self._target, below[-1], weights[-1], beta=-1.0), below

    def _descend(self, moment: Any, cross: Any, errors: Any, below: list[Any]) -> None:
        """One step of gradient descent; `moment` and `cross` contain the rate of each run."""
        torch, weights = self._torch, self._weights
        E = torch.bmm(moment, errors)
        if cross is not None:
            E = E - cross
        if self._network.symmetric:
            weights[0].sub_(torch.bmm(E + E.mT, weights[0]))
            return
        for place in range(len(weights) - 1, 0, -1):
            further = torch.bmm(E, weights[place].mT)
            if self._network.bias:
                # The column that carries the 1 on is no parameter.
                further[:, :, -1] = 0.0
            weights[place].baddbmm_(below[place - 1].mT, E, alpha=-1.0)
            E = further
        weights[0].sub_(E)

    def look(self) -> Seen:
        """Look once."""
        shown = self._maps(self._forward()[0])
        return read_maps(shown[:, :, None], self._place)

    def train_loss(self) -> Any:
        """The paper's loss on the whole training set, shape (r,)."""
        (moment, cross), errors = self._moments.whole, self._forward()[0]
        found = 0.5 * (self._torch.bmm(moment, errors) * errors).sum((1, 2))
        if cross is not None:
            found = found - (errors * cross).sum((1, 2)) + self._moments.rest
        return plain(found)

    def state(self) -> dict[str, Any]:
        """The weights: gradient descent has no memory."""
        return {f"weight{k}": one for k, one in enumerate(self._weights)}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from them."""
        for name, one in self.state().items():
            if state[name].shape != one.shape:
                raise ValueError(f"{name} of shape {tuple(state[name].shape)}")
            one.copy_(state[name])

    def weights(self) -> list[Any]:
        """Parameters in the order of :func:`swingby.training.setting.shapes`."""
        if self._network.symmetric:
            return [plain(one) for one in self._weights]
        last = len(self._weights) - 1
        found: list[Any] = []
        for k, one in enumerate(self._weights):
            whole = one + self._target if not last else one
            if self._network.bias:
                kept = whole if k == last else whole[:, :, :-1]
                found += [kept[:, :-1].mT, kept[:, -1]]
            else:
                found.append(whole.mT)
        return [plain(one) for one in found]


def _augmented(torch: Any, W: Any, b: Any, *, last: bool) -> Any:
    whole = torch.cat([W.mT, b[:, None]], 1)
    if last:
        return whole
    column = whole.new_zeros(*whole.shape[:2], 1)
    column[:, -1] = 1.0
    return torch.cat([whole, column], 2)
