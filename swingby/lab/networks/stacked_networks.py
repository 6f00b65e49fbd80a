"""Networks of one shape, stacked: their weights and losses, and the steps that move them.

:class:`WrittenNetworks` holds linear networks under plain gradient descent, whose gradient is
written down; :class:`AutogradNetworks` holds any.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from swingby.lab.networks.batches import Coordinates, Moments, Points
from swingby.lab.networks.loop import Autograd, set_to
from swingby.lab.networks.recorder import Observation, read_points
from swingby.lab.networks.setting import Setting
from swingby.lab.networks.training_clock import loss_factor

#: Points of the training set that are evaluated together.
_PART = 512


def to_array(tensor: Any) -> Any:
    """A tensor as an array of floats of its own."""
    return np.array(tensor.detach().cpu().double().numpy())


class WrittenNetworks:
    r"""Linear networks under plain gradient descent, with a gradient written by hand.

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
        self, torch: Any, settings: Sequence[Setting], weights: list[Any], coords: Coordinates
    ) -> None:
        self._torch, self._coords = torch, coords
        like, self._network = weights[0], settings[0].network
        target = torch.tensor(coords.target.T, dtype=like.dtype, device=like.device)
        if self._network.bias:
            target = torch.cat([target, target.new_zeros(1, target.shape[1])])
            layers = list(zip(weights[::2], weights[1::2], strict=True))
            transposed = [
                _augmented(torch, *layer, last=number == len(layers))
                for number, layer in enumerate(layers, 1)
            ]
        else:
            transposed = [weight if self._network.symmetric else weight.mT for weight in weights]
        if self._network.depth == 1:
            transposed = [transposed[0] - target]
        self._target = target
        self._weights = [
            weight.clone(memory_format=torch.contiguous_format) for weight in transposed
        ]
        rates = like.new_tensor(
            [setting.optimizer.lr * loss_factor(setting) for setting in settings]
        )
        self._moments = Moments(torch, settings, coords, like, rates[:, None, None])
        columns = [*range(settings[0].task.s), *([coords.inputs] if self._network.bias else [])]
        self._columns = torch.tensor(columns, device=like.device)
        ones = ((0, 0), (0, 0), (0, int(self._network.bias)))
        self._points = like.new_tensor(np.pad(coords.points, ones, constant_values=1.0))

    def advance(self, first: int, count: int) -> Observation:
        """Observe and take a step, `count` times."""
        runs, columns, d = len(self._weights[0]), len(self._columns), self._target.shape[1]
        observed = self._target.new_empty((runs, columns, count, d))
        with self._torch.inference_mode():
            for k in range(count):
                errors, below = self._forward()
                observed[:, :, k] = errors[:, self._columns]
                self._descend(*self._moments.batch(first + k), errors, below)
        return self._observation(observed)

    def _observation(self, errors: Any) -> Observation:
        """Observation of n steps, by rows (r, m, n, d) of P - T transposed: concepts and bias."""
        runs, m, count, d = errors.shape
        away = self._torch.bmm(self._points, errors.reshape(runs, m, -1))
        slope = errors[:, : self._coords.points.shape[2]]
        away = away.reshape(runs, -1, count, d)
        return read_points(away.transpose(1, 2), slope.transpose(1, 2), self._coords)

    def _forward(self) -> tuple[Any, list[Any]]:
        """P - T transposed, (r, m, d), and the products of all first weights but the last."""
        torch, weights = self._torch, self._weights
        if self._network.symmetric:
            return torch.baddbmm(self._target, weights[0], weights[0].mT, beta=-1.0), []
        if len(weights) == 1:
            return weights[0], []
        below = [weights[0]]
        for weight in weights[1:-1]:
            below.append(torch.bmm(below[-1], weight))
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
        for layer in range(len(weights) - 1, 0, -1):
            pulled_back = torch.bmm(E, weights[layer].mT)
            if self._network.bias:
                # The column that carries the 1 on is no parameter.
                pulled_back[:, :, -1] = 0.0
            weights[layer].baddbmm_(below[layer - 1].mT, E, alpha=-1.0)
            E = pulled_back
        weights[0].sub_(E)

    def look(self) -> Observation:
        """Look once."""
        return self._observation(self._forward()[0][:, self._columns, None])

    def train_loss(self) -> Any:
        """The paper's loss on the whole training set, shape (r,)."""
        loss = _loss_of_maps(self._torch, self._moments.total, self._forward()[0])
        return to_array(loss + self._moments.constant)

    def state(self) -> dict[str, Any]:
        """The weights, since gradient descent has no memory."""
        return {f"weight{k}": weight for k, weight in enumerate(self._weights)}

    def restore(self, state: dict[str, Any]) -> None:
        """Take the weights of a state."""
        set_to(self.state(), state)

    def weights(self) -> list[Any]:
        """Parameters in the order of :func:`swingby.lab.networks.setting.shapes`."""
        if self._network.symmetric:
            return [to_array(weight) for weight in self._weights]
        last = len(self._weights) - 1
        parameters: list[Any] = []
        for k, weight in enumerate(self._weights):
            matrix = weight + self._target if not last else weight
            if self._network.bias:
                affine = matrix if k == last else matrix[:, :, :-1]
                parameters += [affine[:, :-1].mT, affine[:, -1]]
            else:
                parameters.append(matrix.mT)
        return [to_array(weight) for weight in parameters]


def _loss_of_maps(torch: Any, moments: tuple[Any, Any], errors: Any) -> Any:
    """The paper's loss by P - T transposed, but for what does not depend on P; shape (r,)."""
    moment, cross = moments
    loss = 0.5 * (torch.bmm(moment, errors) * errors).sum((1, 2))
    return loss if cross is None else loss - (errors * cross).sum((1, 2))


def _augmented(torch: Any, W: Any, b: Any, *, last: bool) -> Any:
    stacked = torch.cat([W.mT, b[:, None]], 1)
    if last:
        return stacked
    column = stacked.new_zeros(*stacked.shape[:2], 1)
    column[:, -1] = 1.0
    return torch.cat([stacked, column], 2)


class AutogradNetworks(Autograd):
    """Networks of any kind; parameters of shape (r, ...), in the order of :func:`shapes`."""

    def __init__(
        self, torch: Any, settings: Sequence[Setting], weights: list[Any], coords: Coordinates
    ) -> None:
        first, like = settings[0], weights[0]
        self._coords, self._network = coords, first.network
        rule, s = first.optimizer, first.task.s
        parameters = [weight.clone().requires_grad_() for weight in weights]
        rates = like.new_tensor([loss_factor(setting) for setting in settings])
        decay = rule.weight_decay
        if rule.adaptive:
            kind = torch.optim.AdamW if rule.kind == "adamw" else torch.optim.Adam
            optimizer = kind(parameters, rule.lr, weight_decay=decay, foreach=True)
        else:
            # Where nothing decays, learning rates may differ from run to run: in the loss.
            lr = rule.lr if decay else 1.0
            rates = like.new_tensor(
                [loss_factor(each) * each.optimizer.lr / lr for each in settings]
            )
            optimizer = torch.optim.SGD(
                parameters, lr, rule.momentum, weight_decay=decay, nesterov=rule.nesterov
            )
        self._target = like.new_tensor(coords.target)
        self._source: Moments | Points
        if first.network.linear:
            self._source = Moments(torch, settings, coords, like)
            loss: Any = self._loss_of_moments
        else:
            self._source = Points(torch, settings, coords, like.device, bias=False)
            loss = self._loss_at
        self._inputs = like.new_tensor(coords.test_inputs())
        self._along = like.new_tensor(coords.frames[:, : coords.inputs, :s]).mT
        self._targets = self._inputs @ self._target.mT
        self._slopes = self._along @ self._target.mT
        super().__init__(
            torch,
            parameters,
            self._source.batch,
            lambda batch: loss(batch) * rates,
            optimizer,
            look=self._observe,
        )

    def advance(self, first: int, count: int) -> Observation:
        """Observe and take a step, `count` times."""
        away, slope = (
            tensor.transpose(0, 1).contiguous() for tensor in super().advance(first, count)
        )
        return read_points(away, slope, self._coords)

    def look(self) -> Observation:
        """Look once."""
        with self.torch.no_grad():
            away, slope = self._observe()
        return read_points(away[:, None], slope[:, None], self._coords)

    def _observe(self) -> tuple[Any, Any]:
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
        for index in range(0, len(parameters), stride):
            W = parameters[index].mT
            if self._network.bias:
                x = torch.baddbmm(parameters[index + 1][:, None], x, W)
            else:
                x = torch.bmm(x, W)
            along = None if along is None else torch.bmm(along, W)
            if index + stride < len(parameters):
                if along is not None:
                    along = along * slope(torch, self._network.activation, x[:, -1:])
                x = activated(torch, self._network.activation, x)
        return x, along

    def _loss_at(self, batch: tuple[Any, Any]) -> Any:
        """The paper's loss of each run on some points."""
        (x, offsets), (d, m) = batch, self._target.shape
        away = self._layers(x, None)[0] - self.torch.nn.functional.pad(x, (0, d - m))
        if offsets is not None:
            away = away - offsets
        return 0.5 * away.square().sum(2).mean(1)

    def _loss_of_moments(self, batch: tuple[Any, Any]) -> Any:
        """The loss of linear networks, which are their value at 0 and their derivative."""
        runs, m = len(self.parameters[0]), self._target.shape[1]
        zero, axes = self._target.new_zeros(runs, 1, m), self._target.new_ones(m).diag()
        output, slope = self._layers(zero, axes.expand(runs, m, m))
        errors = slope - self._target.mT
        if self._network.bias:
            errors = self.torch.cat([errors, output], 1)
        return _loss_of_maps(self.torch, batch, errors)

    def train_loss(self) -> Any:
        """The paper's loss on the whole training set, shape (r,)."""
        source = self._source
        with self.torch.no_grad():
            if isinstance(source, Moments):
                return to_array(self._loss_of_moments(source.total) + source.constant)
            # A part at a time, so that it stays in the caches.
            (x, offsets), total = source.all(), 0.0
            for begin in range(0, x.shape[1], _PART):
                rows = slice(begin, begin + _PART)
                batch = x[:, rows], None if offsets is None else offsets[:, rows]
                total = total + self._loss_at(batch) * batch[0].shape[1]
            return to_array(total / x.shape[1])

    def weights(self) -> list[Any]:
        """Parameters, in the coordinates in which the network is trained."""
        return [to_array(parameter) for parameter in self.parameters]


def activated(torch: Any, activation: str, z: Any) -> Any:
    """Values of an activation at `z`."""
    if activation == "relu":
        return torch.relu(z)
    return torch.nn.functional.gelu(z) if activation == "gelu" else z


def slope(torch: Any, activation: str, z: Any) -> Any:
    """Derivatives of an activation at `z`."""
    if activation == "relu":
        return (z > 0).to(z.dtype)
    if activation == "gelu":
        # z Phi(z), so Phi(z) + z phi(z).
        normal = torch.exp(-0.5 * z * z) * (2.0 * torch.pi) ** -0.5
        return 0.5 * (1.0 + torch.erf(z * 0.5**0.5)) + z * normal
    return torch.ones_like(z)
