"""Networks of one shape, stacked: their weights, and the two learners that move them.

:class:`Written` is for linear networks under plain gradient descent; :class:`Differentiated` is for
all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from swingby.errors import InvalidInput
from swingby.lab.networks.loop import Autograd, set_to
from swingby.lab.networks.recorder import Seen, read_points
from swingby.lab.networks.samples import Coordinates, Moments, Points, directions, stream
from swingby.lab.networks.setting import Floats, Setting, loss_factor, shapes
from swingby.theory import numbers

#: Points of the training set that are evaluated together.
_PART = 512


def initial_weights(setting: Setting) -> list[Floats]:
    """Parameters before the first step, of :func:`shapes`, where the network sees its data."""
    rng = np.random.default_rng(stream(setting.seed, "weights"))
    network = setting.network
    found: list[Floats] = []
    columns = 1
    for shape in shapes(setting):
        columns = shape[-1] if len(shape) == 2 else columns
        if network.initialization == "torch":
            reach = network.scale / math.sqrt(columns)
            found.append(rng.uniform(-reach, reach, shape))
        elif network.initialization == "gaussian":
            found.append(network.scale * rng.standard_normal(shape))
        else:
            found.append(network.scale * rng.random(shape))
    return found


def given_weights(setting: Setting, start: Sequence[Any]) -> list[Floats]:
    """Parameters that a caller gives, refused by name where they have other shapes."""
    wanted = shapes(setting)
    if isinstance(start, (str, bytes, dict)) or not hasattr(start, "__len__"):
        raise InvalidInput("start", start, "must be a sequence of arrays, a weight or bias each")
    if len(start) != len(wanted):
        arrays = f"{len(wanted)} arrays" if len(wanted) > 1 else "one array in a list"
        raise InvalidInput("start", f"{len(start)} arrays", f"must be {arrays}")
    found = []
    for place, (one, shape) in enumerate(zip(start, wanted, strict=True)):
        # Parameters of a torch module, which numpy takes only once they are detached.
        plain = one.detach().cpu().numpy() if hasattr(one, "detach") else one
        array = numbers.real_array(plain, f"start[{place}]")
        if array.shape != shape:
            raise InvalidInput(f"start[{place}]", f"shape {array.shape}", f"must have {shape}")
        found.append(array)
    return found


def rotated(setting: Setting, weights: list[Floats], frame: Floats) -> list[Floats]:
    """The same network in the coordinates of a frame: this stands for rotating every point."""
    found = [np.array(one) for one in weights]
    if not setting.network.symmetric:
        found[0] = found[0] @ frame
    last = [place for place, one in enumerate(found) if one.ndim == 2][-1]
    for place in range(last, len(found)):
        found[place] = frame.T @ found[place]
    return found


def as_given(setting: Setting, weights: list[Floats]) -> list[Floats]:
    """Parameters as they were trained, with all inputs, in the coordinates of the data."""
    if setting.optimizer.kind == "adamw":
        return [np.array(one) for one in weights]
    return rotated(setting, weights, directions(setting).T)


def plain(tensor: Any) -> Any:
    """A tensor as an array of floats of its own."""
    return np.array(tensor.detach().cpu().double().numpy())


class Written:
    r"""Linear networks under plain gradient descent, by the gradient as it is written down.

    With the second moment S of a batch, the loss of :math:`f(x) = P x` is
    :math:`\tfrac12 \operatorname{tr} (P - T) S (P - T)^\top` for the target T, so one product with
    S replaces the points; targets y of one's own add :math:`-\operatorname{tr} (P - T) C`, where C
    is the mean of :math:`x (y - T x)^\top`. Everything is held transposed, inputs in the rows: a
    SIM task has few of them, and few long rows are multiplied faster than many short ones. Sums
    are taken in another order than by automatic differentiation.

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
        columns = [*range(settings[0].task.s), *([place.inputs] if self._network.bias else [])]
        self._columns = torch.tensor(columns, device=like.device)
        ones = ((0, 0), (0, 0), (0, int(self._network.bias)))
        self._points = like.new_tensor(np.pad(place.points, ones, constant_values=1.0))

    def advance(self, first: int, count: int) -> Seen:
        """Look, then take a step; so many times."""
        runs, columns, d = len(self._weights[0]), len(self._columns), self._target.shape[1]
        shown = self._target.new_empty((runs, columns, count, d))
        with self._torch.inference_mode():
            for k in range(count):
                errors, below = self._forward()
                shown[:, :, k] = errors[:, self._columns]
                self._descend(*self._moments.batch(first + k), errors, below)
        return self._seen(shown)

    def _seen(self, errors: Any) -> Seen:
        """What n steps showed, by rows (r, m, n, d) of P - T transposed: concepts, and the bias."""
        runs, m, count, d = errors.shape
        away = self._torch.bmm(self._points, errors.reshape(runs, m, -1))
        slope = errors[:, : self._place.points.shape[2]]
        away = away.reshape(runs, -1, count, d)
        return read_points(away.transpose(1, 2), slope.transpose(1, 2), self._place)

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
        return self._seen(self._forward()[0][:, self._columns, None])

    def train_loss(self) -> Any:
        """The paper's loss on the whole training set, shape (r,)."""
        found = _loss_of_maps(self._torch, self._moments.whole, self._forward()[0])
        return plain(found + self._moments.rest)

    def state(self) -> dict[str, Any]:
        """The weights: gradient descent has no memory."""
        return {f"weight{k}": one for k, one in enumerate(self._weights)}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from them."""
        set_to(self.state(), state)

    def weights(self) -> list[Any]:
        """Parameters in the order of :func:`swingby.lab.networks.setting.shapes`."""
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


def _loss_of_maps(torch: Any, moments: tuple[Any, Any], errors: Any) -> Any:
    """The paper's loss by P - T transposed, but for what does not depend on P; shape (r,)."""
    moment, cross = moments
    found = 0.5 * (torch.bmm(moment, errors) * errors).sum((1, 2))
    return found if cross is None else found - (errors * cross).sum((1, 2))


def _augmented(torch: Any, W: Any, b: Any, *, last: bool) -> Any:
    whole = torch.cat([W.mT, b[:, None]], 1)
    if last:
        return whole
    column = whole.new_zeros(*whole.shape[:2], 1)
    column[:, -1] = 1.0
    return torch.cat([whole, column], 2)


class Differentiated(Autograd):
    """Any network; parameters of shape (r, ...), in the order of :func:`shapes`."""

    def __init__(
        self, torch: Any, settings: Sequence[Setting], weights: list[Any], place: Coordinates
    ) -> None:
        first, like = settings[0], weights[0]
        self._place, self._network = place, first.network
        chosen, s = first.optimizer, first.task.s
        parameters = [one.clone().requires_grad_() for one in weights]
        rates = like.new_tensor([loss_factor(one) for one in settings])
        if chosen.kind == "adamw":
            decay = chosen.weight_decay
            optimizer = torch.optim.AdamW(parameters, chosen.lr, weight_decay=decay, foreach=True)
        else:
            # Learning rates differ from run to run, so they are in the loss.
            rates = like.new_tensor([loss_factor(one) * one.optimizer.lr for one in settings])
            optimizer = torch.optim.SGD(parameters, lr=1.0)
        self._target = like.new_tensor(place.target)
        self._feed: Moments | Points
        if first.network.linear:
            self._feed = Moments(torch, settings, place, like)
            loss: Any = self._loss_of_moments
        else:
            self._feed = Points(torch, settings, place, like.device, bias=False)
            loss = self._loss_at
        self._inputs = like.new_tensor(place.looks())
        self._along = like.new_tensor(place.frames[:, : place.inputs, :s]).mT
        self._targets = self._inputs @ self._target.mT
        self._slopes = self._along @ self._target.mT
        super().__init__(
            torch,
            parameters,
            self._feed.batch,
            lambda batch: loss(batch) * rates,
            optimizer,
            look=self._shown,
        )

    def advance(self, first: int, count: int) -> Seen:
        """Look, then take a step; so many times."""
        away, slope = (one.transpose(0, 1).contiguous() for one in super().advance(first, count))
        return read_points(away, slope, self._place)

    def look(self) -> Seen:
        """Look once."""
        with self.torch.no_grad():
            away, slope = self._shown()
        return read_points(away[:, None], slope[:, None], self._place)

    def _shown(self) -> tuple[Any, Any]:
        """Output less target at the test points, and its derivative along the concepts."""
        output, slope = self._layers(self._inputs, self._along)
        return output - self._targets, slope - self._slopes

    def _layers(self, x: Any, along: Any) -> tuple[Any, Any]:
        """Output at points of each run, and its derivative at the last along some directions."""
        torch, parameters = self.torch, self.parameters
        if self._network.symmetric:
            U = parameters[0]
            moved = None if along is None else torch.bmm(torch.bmm(along, U), U.mT)
            return torch.bmm(torch.bmm(x, U), U.mT), moved
        stride = 2 if self._network.bias else 1
        for place in range(0, len(parameters), stride):
            W = parameters[place].mT
            if self._network.bias:
                x = torch.baddbmm(parameters[place + 1][:, None], x, W)
            else:
                x = torch.bmm(x, W)
            along = None if along is None else torch.bmm(along, W)
            if place + stride < len(parameters):
                if along is not None:
                    along = along * slope(torch, self._network.activation, x[:, -1:])
                x = activated(torch, self._network.activation, x)
        return x, along

    def _loss_at(self, batch: tuple[Any, Any]) -> Any:
        """The paper's loss of each run on some points."""
        (x, further), (d, m) = batch, self._target.shape
        away = self._layers(x, None)[0] - self.torch.nn.functional.pad(x, (0, d - m))
        if further is not None:
            away = away - further
        return 0.5 * away.square().sum(2).mean(1)

    def _loss_of_moments(self, batch: tuple[Any, Any]) -> Any:
        """That of linear networks, which are their value at 0 and their derivative."""
        runs, m = len(self.parameters[0]), self._target.shape[1]
        zero, axes = self._target.new_zeros(runs, 1, m), self._target.new_ones(m).diag()
        output, slope = self._layers(zero, axes.expand(runs, m, m))
        errors = slope - self._target.mT
        if self._network.bias:
            errors = self.torch.cat([errors, output], 1)
        return _loss_of_maps(self.torch, batch, errors)

    def train_loss(self) -> Any:
        """The paper's loss on the whole training set, shape (r,)."""
        feed = self._feed
        with self.torch.no_grad():
            if isinstance(feed, Moments):
                return plain(self._loss_of_moments(feed.whole) + feed.rest)
            # A part at a time, so that it stays in the caches.
            (x, further), total = feed.all(), 0.0
            for begin in range(0, x.shape[1], _PART):
                rows = slice(begin, begin + _PART)
                part = x[:, rows], None if further is None else further[:, rows]
                total = total + self._loss_at(part) * part[0].shape[1]
            return plain(total / x.shape[1])

    def weights(self) -> list[Any]:
        """Parameters, in the coordinates in which the network is trained."""
        return [plain(one) for one in self.parameters]


def activated(torch: Any, activation: str, z: Any) -> Any:
    """The value of an activation."""
    if activation == "relu":
        return torch.relu(z)
    return torch.nn.functional.gelu(z) if activation == "gelu" else z


def slope(torch: Any, activation: str, z: Any) -> Any:
    """Its derivative."""
    if activation == "relu":
        return (z > 0).to(z.dtype)
    if activation == "gelu":
        # z Phi(z), so Phi(z) + z phi(z).
        normal = torch.exp(-0.5 * z * z) * (2.0 * torch.pi) ** -0.5
        return 0.5 * (1.0 + torch.erf(z * 0.5**0.5)) + z * normal
    return torch.ones_like(z)


def gram(U: Floats) -> Floats:
    """U U^T, symmetric to the last bit."""
    W = U @ U.swapaxes(-1, -2)
    return np.asarray((W + W.swapaxes(-1, -2)) / 2)
