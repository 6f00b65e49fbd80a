"""TrainingRun: the record of networks while they were trained; its table, pictures and file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.errors import InvalidInput
from swingby.lab.networks.recorder import LEAST_TURN
from swingby.lab.networks.setting import Booleans, Floats, Integers, Setting
from swingby.lab.networks.weights import as_given
from swingby.report import Framed, Grid
from swingby.report.files import BROKEN, storable, write_arrays
from swingby.report.number_text import counted
from swingby.report.result_formats import ReadOnly
from swingby.simulate.series import Extremum, turning_points
from swingby.theory import input_files, numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from swingby.report.pictures import Size

#: Of the file of a run.
FORMAT = "swingby training run 2"
#: Rows of the table before the rest is summed up.
_MOST_ROWS = 24
#: Marks along a drawn trajectory, at equal intervals of time.
_MARKS = 41
_DASHED = (0, (4, 2))
#: Shape of each array, for r networks, n and e recorded steps, p test points, s concepts, k turns.
_ARRAYS = {
    "points": "rps",
    "steps": "n",
    "output": "rnps",
    "jacobian": "rnss",
    "point_loss": "rnp",
    "half_times": "rs",
    "jacobian_half_times": "rs",
    "first_loss": "r",
    "turns": "k4",
    "train_loss_steps": "e",
    "train_loss": "re",
}


@dataclass(frozen=True, repr=False)
class TrainingRun(Framed, ReadOnly):
    """The record of networks in training, in the coordinates of the concepts.

    What is kept of every step (output, Jacobian, losses) is in the precision of the settings.

    Parameters
    ----------
    settings : tuple of r Setting
    index : tuple of p tuples
        v of each test point (B.1); the last is the test point of Sec. 2.1, all ones.
    points : ndarray of shape (r, p, s)
        The test points.
    steps : ndarray of int, shape (n,)
        Steps of the optimizer that were kept; step 0 is before the first.
    output : ndarray of shape (r, n, p, s)
        Along the concepts.
    jacobian : ndarray of shape (r, n, s, s)
        Derivative of output i along concept j at the last test point: W where f(x) = W x.
    point_loss : ndarray of shape (r, n, p)
        Half the squared distance of output and test point, in all d dimensions.
    half_times : ndarray of shape (r, s)
        First step at which the output at the last test point has reached half of it along a
        concept; nan for never, and of a network that diverged. Found at every step, whatever was
        kept.
    jacobian_half_times : ndarray of shape (r, s)
        The same for the diagonal of the Jacobian.
    first_loss : ndarray of shape (r,)
        At the last test point, before the first step.
    turns : ndarray of shape (k, 4)
        Turns of that loss by more than a thousandth of its first value: run, step, loss, and 1
        for a maximum or -1 for a minimum.
    train_loss_steps : ndarray of int, shape (e,)
    train_loss : ndarray of shape (r, e)
        The loss (2.1) on the whole training set.
    weights : tuple of ndarray of shape (r, ...)
        Parameters at the end, in the coordinates in which the network was trained: those of the
        concepts, or with "adam" and "adamw" those of the data. Empty where the networks differ in
        shape; see :meth:`parameters`.

    References
    ----------
    Sec. 2.1, App. B, App. F.1.
    """

    settings: tuple[Setting, ...]
    index: tuple[tuple[int, ...], ...]
    points: Floats
    steps: Integers
    output: Floats
    jacobian: Floats
    point_loss: Floats
    half_times: Floats
    jacobian_half_times: Floats
    first_loss: Floats
    turns: Floats
    train_loss_steps: Integers
    train_loss: Floats
    weights: tuple[Floats, ...]

    def __len__(self) -> int:
        return len(self.settings)

    def __repr__(self) -> str:
        return f"<TrainingRun {_networks(self)}, {int(self.steps[-1])} steps>"

    @property
    def epochs(self) -> Floats:
        """Steps in passes over the training set, shape (n,)."""
        return np.asarray(self.steps / self.settings[0].steps_per_epoch)

    @property
    def test_loss(self) -> Floats:
        """Loss at the test point of Sec. 2.1, shape (r, n)."""
        return self.point_loss[:, :, -1]

    @property
    def outcomes(self) -> tuple[str, ...]:
        """The outcome of each network: ``"learned"``, ``"not learned"`` or ``"diverged"``.

        A network diverged if the last loss on its training set is not finite, or above both its
        first and that of the answer 0. It learned if its output at the test point reached half
        along every concept.
        """
        late = np.where(np.isnan(self.half_times).any(axis=1), "not learned", "learned")
        lost = diverged(self.settings, self.train_loss)
        return tuple(np.where(lost, "diverged", late).tolist())

    def extrema(self, run: int, least: float = 0.01) -> list[Extremum]:
        """Turns of the test loss of a network, with the start and the last extreme.

        `least`: smallest rise or fall that counts, as a part of the loss before the first step; at
        least a thousandth. Returns a list of (step, loss, "max" or "min").
        """
        index = numbers.whole(run, "run", 0, most=len(self) - 1)
        share = numbers.within_float(numbers.positive(least, "least"), "least")
        if share < LEAST_TURN:
            raise InvalidInput("least", least, f"must be at least {LEAST_TURN}: what was followed")
        steps, loss = self.turns[self.turns[:, 0] == index][:, 1:3].T
        swing = share * float(self.first_loss[index])
        return list(turning_points(loss, swing, steps.astype(int))) if len(loss) else []

    def descents(self, least: float = 0.01) -> Integers:
        """How often the test loss of each network fell, shape (r,); `least` as for extrema()."""
        kinds = [[kind for _, _, kind in self.extrema(run, least)] for run in range(len(self))]
        return np.array([turns[:-1].count("max") for turns in kinds], dtype=np.int64)

    def order(self) -> Integers:
        """Concepts of each network as they are learned, shape (r, s), from 0; -1 for never."""
        return order_of(self.half_times)

    def records(self) -> list[dict[str, Any]]:
        """A row per network and concept: half-times in steps and epochs, descents, losses."""
        descents, outcomes = self.descents().tolist(), self.outcomes
        return [
            {
                "network": index,
                "seed": setting.seed,
                "outcome": outcomes[index],
                "concept": concept + 1,
                "mu": float(setting.task.mu[concept]),
                "sigma": float(setting.task.sigma[concept]),
                "half_time": half,
                "half_time_epochs": half / setting.steps_per_epoch,
                "descents": descents[index],
                "test_loss": float(self.test_loss[index, -1]),
                "train_loss": float(self.train_loss[index, -1]),
            }
            for index, setting in enumerate(self.settings)
            for concept, half in enumerate(self.half_times[index].tolist())
        ]

    def to_dict(self) -> dict[str, Any]:
        """The rows of :meth:`to_frame` and the settings, as JSON can hold them."""
        rows = [storable(row) for row in self.records()]
        return {"settings": [setting.to_dict() for setting in self.settings], "concepts": rows}

    def parameters(self, run: int) -> list[Floats]:
        """Parameters of a network at the end, in the coordinates of its data.

        Returns a list of arrays, a weight or bias each, first layer first, as `start` of
        :func:`swingby.lab.networks.train` takes them.
        """
        index = numbers.whole(run, "run", 0, most=len(self) - 1)
        if not self.weights:
            raise InvalidInput("run", run, "has no weights kept: its networks differ in shape")
        return as_given(self.settings[index], [weight[index] for weight in self.weights])

    def to_grid(self) -> Grid:
        """The table that is printed: half-times, descents and losses."""
        order, descents, outcomes = self.order(), self.descents(), self.outcomes
        per_epoch = np.array([setting.steps_per_epoch for setting in self.settings])[:, None]
        times = self.half_times / per_epoch
        rows = [
            [
                str(k),
                str(setting.seed),
                outcomes[k],
                order_text(order[k]),
                " ".join("never" if np.isnan(time) else f"{time:.3f}" for time in times[k]),
                str(descents[k]),
                f"{self.test_loss[k, -1]:.3g}",
                f"{self.train_loss[k, -1]:.3g}",
            ]
            for k, setting in enumerate(self.settings[:_MOST_ROWS])
        ]
        below = [f"{int(self.steps[-1])} steps, {per_epoch[0, 0]} to an epoch."]
        if len(self) > _MOST_ROWS:
            below.insert(0, f"... and {len(self) - _MOST_ROWS} more networks.")
        if len(self) > 1:
            below.append(_summary(times))
        heads = ("network", "seed", "outcome", "order", "half-times (epochs)", "descents")
        columns = [f">{name}" for name in (*heads, "test loss", "train loss")]
        title = f"{_networks(self)}: {_shared(self, _shape)}; {_shared(self, _steps)}"
        return Grid(title, columns, rows, below=below)

    def plot(self, ax: Axes | None = None, *, size: Size = None) -> Axes:
        """Output trajectories at the test point, in the plane of the first two concepts.

        `size`: ``"column"`` or ``"text"`` of a paper, a width or (width, height), in inches or as
        ``"240pt"``.
        """
        from swingby.report.pictures import drawn

        if self.points.shape[2] < 2:
            raise InvalidInput("plot", "one concept", "needs two concepts to span a plane")
        return drawn(lambda ax: _draw_trajectories(self, ax), ax, size, (4.4, 4.4))

    def plot_losses(self, ax: Axes | None = None, *, size: Size = None) -> Axes:
        """Loss at the test point and on the training set against epochs; `size` as in `plot`."""
        from swingby.report.pictures import drawn

        return drawn(lambda ax: _draw_losses(self, ax), ax, size, (5.2, 3.4))

    def save_picture(self, path: str | Path) -> None:
        """Write trajectories and losses to a .png, .pdf or .svg file."""
        from swingby.report.pictures import save_figure

        save_figure(lambda: _figure(self), path)

    def save(self, path: str | Path) -> None:
        """Write an npz file; nothing in it is pickled."""
        header = {
            "format": FORMAT,
            "settings": [setting.to_dict() for setting in self.settings],
            "index": self.index,
            "weights": len(self.weights),
        }
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        arrays |= {f"weights{index}": weight for index, weight in enumerate(self.weights)}
        write_arrays(path, header, arrays)

    @classmethod
    def load(cls, path: str | Path) -> TrainingRun:
        """Read what :meth:`save` wrote; InvalidInput for anything else."""
        expected = "a file of TrainingRun.save, or of swingby train --out FILE.npz"
        header, arrays = input_files.read_sealed(path, "path", expected)
        try:
            if header["format"] != FORMAT:
                raise ValueError(f"format {header['format']}")
            run = cls(
                settings=tuple(Setting.from_dict(fields) for fields in header["settings"]),
                index=tuple(tuple(bits) for bits in header["index"]),
                weights=tuple(arrays.pop(f"weights{k}") for k in range(header["weights"])),
                **arrays,
            )
            _require_shapes(run)
            return run
        except BROKEN as error:
            requirement = f"must be {expected} ({type(error).__name__}: {error})"
            raise InvalidInput("path", path, requirement) from None


def _require_shapes(run: TrainingRun) -> None:
    """Refuse arrays that do not belong together."""
    sizes = dict(zip("rnps", run.output.shape, strict=True)) | {"4": 4}
    sizes |= {"e": len(run.train_loss_steps), "k": len(run.turns)}
    for name, letters in _ARRAYS.items():
        array, shape = getattr(run, name), tuple(sizes[letter] for letter in letters)
        if array.shape != shape or array.dtype.kind not in "fi":
            raise ValueError(f"{name} of shape {array.shape}, not {shape}")
    r, p, s = (sizes[letter] for letter in "rps")
    if np.shape(run.index) != (p, s) or [setting.task.s for setting in run.settings] != [s] * r:
        raise ValueError("settings or test points of other networks")
    if any(len(weight) != r for weight in run.weights):
        raise ValueError("weights of other networks")


def diverged(settings: Sequence[Setting], train_loss: Floats) -> Booleans:
    """True for networks whose loss ends not finite, or above its start and that of the answer 0."""
    last = train_loss[:, -1]
    zero = np.array([0.5 * setting.second_moment for setting in settings])
    return np.asarray(~np.isfinite(last) | (last > np.maximum(train_loss[:, 0], zero)))


def join(runs: Sequence[TrainingRun], members: Sequence[Sequence[int]]) -> TrainingRun:
    """The runs of all groups as a run, in the order of `members`, the indices of each group.

    Its weights are empty where the groups have other shapes.
    """
    if len(runs) == 1 and list(members[0]) == sorted(members[0]):
        return runs[0]
    order = np.argsort(np.concatenate([np.asarray(group) for group in members]), kind="stable")
    turns = []
    for run, mine in zip(runs, members, strict=True):
        moved = run.turns.copy()
        moved[:, 0] = np.asarray(mine)[moved[:, 0].astype(np.int64)]
        turns.append(moved)
    weights: tuple[Any, ...] = ()
    if len({tuple(weight.shape[1:] for weight in run.weights) for run in runs}) == 1:
        groups = zip(*(run.weights for run in runs), strict=True)
        weights = tuple(np.concatenate(same)[order] for same in groups)
    settings = [setting for run in runs for setting in run.settings]
    stacked: dict[str, Any] = {
        name: np.concatenate([getattr(run, name) for run in runs])[order]
        for name, shape in _ARRAYS.items()
        if shape[0] == "r"
    }
    chosen = tuple(settings[k] for k in order)
    return replace(
        runs[0], settings=chosen, turns=np.concatenate(turns), weights=weights, **stacked
    )


def order_of(half_times: Floats) -> Integers:
    """Concepts as they are learned, (r, s), from 0; -1 for never."""
    order = np.argsort(half_times, axis=1, kind="stable")
    times = np.take_along_axis(half_times, order, axis=1)
    return np.where(np.isnan(times), -1, order)


def order_text(order: Iterable[int]) -> str:
    """The concepts of an order by their numbers from 1; "-" if it is never learned."""
    return " ".join("-" if concept < 0 else str(concept + 1) for concept in order)


def _networks(run: TrainingRun) -> str:
    return counted(len(run), "network")


def _shared(run: TrainingRun, phrase: Callable[[Setting], str]) -> str:
    """The phrase that describes all networks, or that they differ."""
    phrases = sorted({phrase(setting) for setting in run.settings})
    return (
        phrases[0]
        if len(phrases) == 1
        else f"{len(phrases)} kinds, first {phrase(run.settings[0])}"
    )


def _shape(setting: Setting) -> str:
    network = setting.network
    layers = "1 layer" if network.depth == 1 else f"{network.depth} layers"
    kind = "U U^T" if network.symmetric else f"{layers}, {network.activation}"
    return f"{kind}, d = {setting.task.dim}"


def _steps(setting: Setting) -> str:
    optimizer = setting.optimizer
    rule = ", Nesterov" if optimizer.nesterov else ","
    further = f"{rule} momentum {optimizer.momentum:g}" if optimizer.momentum else ""
    further += f", decay {optimizer.weight_decay:g}" if optimizer.weight_decay else ""
    return f"{optimizer.kind}, lr {optimizer.lr:g}{further}, {optimizer.loss} loss"


def _summary(times: Floats) -> str:
    """Mean half-times over the networks that have them, from those in epochs."""
    entries = []
    for concept, column in enumerate(times.T, 1):
        learned = column[~np.isnan(column)]
        spread = f" \N{PLUS-MINUS SIGN} {learned.std(ddof=1):.3f}" if learned.size > 1 else ""
        share = f"{spread} ({learned.size} of {len(times)})"
        entries.append(
            f"{concept}: {learned.mean():.3f}{share}" if learned.size else f"{concept}: never"
        )
    return f"Half-times by concept, mean and spread: {'; '.join(entries)}."


def _draw_trajectories(run: TrainingRun, ax: Axes) -> None:
    # At about equal intervals of time, whatever was kept.
    nearest = np.searchsorted(run.steps, np.linspace(0, run.steps[-1], _MARKS))
    marks = np.unique(nearest.clip(max=len(run.steps) - 1))
    for k in range(len(run)):
        path = run.output[k, :, -1, :2]
        color, strength, name = _line(run, k)
        ax.plot(*path.T, color=color, lw=1.0, alpha=strength)
        if name:
            ax.plot([], [], color=color, lw=1.2, label=name)
        if not _bundled(run):
            ax.plot(*path[marks].T, ls="none", marker="o", ms=2.4, color=color)
    points = np.unique(run.points[:, -1, :2], axis=0)
    corners = [point * np.eye(2) for point in points]
    corners += [np.zeros((1, 2))] if run.settings[0].data.center_cluster else []
    ring: dict[str, Any] = {"marker": "o", "ms": 7, "mfc": "none", "mec": "0.35"}
    clusters = np.concatenate(corners).T
    ax.plot(*clusters, ls="none", label="training clusters", zorder=4, **ring)
    star: dict[str, Any] = {"marker": "*", "ms": 11, "color": "black"}
    ax.plot(*points.T, ls="none", label="test point", zorder=5, **star)
    ax.set_aspect("equal", adjustable="datalim")
    ax.set_xlabel("output along concept 1")
    ax.set_ylabel("output along concept 2")
    _draw_legend(ax)


def _draw_losses(run: TrainingRun, ax: Axes) -> None:
    from swingby.report.picture_style import COLORS

    epochs = run.train_loss_steps / run.settings[0].steps_per_epoch
    first, second = COLORS[:2] if _bundled(run) else ("0.4", "0.4")
    for k in range(len(run)):
        color, strength, name = _line(run, k)
        under = second if _bundled(run) else color
        ax.plot(run.epochs, run.test_loss[k], color=color, alpha=strength, lw=1.2)
        ax.plot(epochs, run.train_loss[k], color=under, alpha=strength, lw=1.0, ls=_DASHED)
        if not _bundled(run):
            ax.plot([], [], color=color, lw=1.2, label=name)
    ax.plot([], [], color=first, lw=1.2, label="at the test point")
    ax.plot([], [], color=second, lw=1.0, ls=_DASHED, label="on the training set")
    ax.set_yscale("log")
    ax.set_xlabel("epoch" if run.settings[0].points else "step")
    ax.set_ylabel("loss (2.1)")
    _draw_legend(ax)


def _draw_legend(ax: Axes) -> None:
    from matplotlib.transforms import ScaledTranslation

    from swingby.report.picture_style import legend_above

    if not legend_above(ax, 4.0):
        below = ax.transAxes + ScaledTranslation(0, -0.4, ax.figure.dpi_scale_trans)
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, 0), bbox_transform=below, ncols=3)


def _figure(run: TrainingRun) -> Figure:
    """Trajectories on the left, with two concepts or more, and losses on the right."""
    from swingby.report.pictures import new_figure

    plane = run.points.shape[2] > 1
    figure = new_figure(9.6 if plane else 5.2, 4.6 if plane else 3.6)
    axes = figure.subplots(1, 2 if plane else 1, squeeze=False)[0]
    _draw_losses(run, axes[-1])
    if plane:
        _draw_trajectories(run, axes[0])
    return figure


def _bundled(run: TrainingRun) -> bool:
    """True for so many networks that they are drawn alike."""
    from swingby.report.picture_style import COLORS

    return len(run) > len(COLORS)


def _line(run: TrainingRun, k: int) -> tuple[str, float, str | None]:
    """Colour, opacity and name of a network."""
    from swingby.report.picture_style import COLORS

    if _bundled(run):
        return COLORS[0], max(0.12, 3.0 / len(run)), f"{len(run)} networks" if k == 0 else None
    seeds = {setting.seed for setting in run.settings}
    alone = len(seeds) == len(run)
    return COLORS[k], 1.0, f"seed {run.settings[k].seed}" if alone else f"network {k}"
