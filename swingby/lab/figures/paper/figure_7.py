"""Figure 7: losses at all test points while two layers with ReLU learn four concepts."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.lab.figures.figure import Data, Figure, Measured, Tell, criterion
from swingby.lab.figures.network_cells import cell_of, code_cells, edition_of, settings_of
from swingby.lab.figures.run_criteria import THRESHOLD, verdict_of
from swingby.lab.networks import Network, train
from swingby.lab.networks.setting import Floats, Integers
from swingby.report.picture_style import PAGE
from swingby.report.pictures import titled
from swingby.theory.share import share_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

#: Epochs that the figure shows; its labels 1, 3, 5 count the state before training as epoch 1.
SHOWN = (0, 2, 4)
#: The picture cuts losses at 1, and a point counts as learned once it stays below a quarter.
CUT, LEARNED = 1.0, 0.25


_PRINTED = "2 layers, ReLU, \u03c3 = 1/2, loss (2.1)"
_CODED = "1 linear layer, \u03c3\u00b2 = 1/2, mean loss"
_CELL = cell_of("caption", _PRINTED, list("1234"), ("1/2",) * 4, network=Network(2, None, "relu"))


def comparable_pairs(index: Any) -> Integers:
    """Places of pairs u < v of test points in the componentwise order: (3^s - 2^s, 2).

    >>> comparable_pairs([(0, 0), (0, 1), (1, 0), (1, 1)]).tolist()
    [[0, 1], [0, 2], [0, 3], [1, 3], [2, 3]]
    """
    pairs = [
        (a, b)
        for (a, u), (b, v) in itertools.permutations(enumerate(index), 2)
        if all(x <= y for x, y in zip(u, v, strict=True))
    ]
    return np.array(pairs, dtype=np.int64)


def train_points(parameters: Mapping[str, Any], tell: Tell) -> dict[str, Any]:
    """Train with every seed and keep the loss at every test point after every epoch.

    Returns ``index`` of the p test points; ``loss`` (r, e, p) after e - 1 epochs; ``violated`` (r,
    e), the pairs u <= v with the larger loss at u; ``learned`` (r, p), the epoch from which on the
    loss stays below :data:`LEARNED`, nan for never.
    """
    cell = parameters["cells"][0]
    tell(0.0, f"{cell['label']}, {parameters['seeds']} seeds")
    settings = settings_of(parameters, cell)
    run = train(settings, record=settings[0].steps_per_epoch)
    pairs = comparable_pairs(run.index)
    loss = run.point_loss
    violated = (~(loss[:, :, pairs[:, 0]] <= loss[:, :, pairs[:, 1]])).sum(axis=2)
    above = ~(loss < LEARNED)
    last = loss.shape[1] - 1 - above[:, ::-1].argmax(axis=1)
    first = np.where(above.any(axis=1), last + 1.0, 0.0)
    first[first >= loss.shape[1]] = np.nan
    return {
        "index": [list(point) for point in run.index],
        "loss": loss,
        "violated": violated,
        "learned": first,
        "pairs": len(pairs),
    }


@criterion(
    "strict",
    "Losses follow the componentwise order of the test points strictly (B.2).",
    "strictly",
    f"no pair is violated at the three epochs; {THRESHOLD}",
)
def follows_the_order(data: Data) -> Measured:
    """No test point has a larger loss than a point above it, (B.2)."""
    violated, loss = data["violated"][:, SHOWN], data["loss"][:, SHOWN]
    share = share_of((violated == 0).all(axis=1))
    means = zip(violated.mean(axis=0), SHOWN, strict=True)
    mean = ", ".join(f"{count:.1f} after {epoch} epochs" for count, epoch in means)
    end = data["violated"][:, -1].mean()
    origin = [sum(bits) == 0 for bits in data["index"]].index(True)
    late = (loss[:, :, origin, None] > np.delete(loss, origin, axis=2)).sum()
    return Measured(
        f"{violated.mean():.1f} of {data['pairs']}",
        verdict_of(share),
        f"Of {data['pairs']} ordered pairs are violated, in the mean over the runs, {mean}, "
        f"and {end:.1f} at the end; none at the three epochs in a share {share} of the runs. "
        "The origin, to which only the biases answer, is in "
        f"{late / max(violated.sum(), 1):.0%} of the pairs violated there.",
        {"violated": violated.mean(axis=0).tolist(), "end": float(end)},
    )


#: Share of the pairs that may be learned the other way round.
_EARLY = 0.05


@criterion(
    "learned",
    "A test point is learned only after all of its predecessors.",
    "clear trend",
    f"at most {_EARLY:.0%} of the pairs the other way round; {THRESHOLD}",
)
def learned_in_order(data: Data) -> Measured:
    """A test point is learned after all of its predecessors."""
    pairs = comparable_pairs([tuple(bits) for bits in data["index"]])
    times = np.where(np.isnan(data["learned"]), np.inf, data["learned"])
    early = (times[:, pairs[:, 1]] < times[:, pairs[:, 0]]).mean(axis=1)
    learned = np.isfinite(times).any(axis=1)
    return Measured(
        f"{early.mean():.1%} too early",
        verdict_of(share_of((early <= _EARLY) & learned)),
        f"Of all pairs u <= v, v is learned before u in {early.mean():.1%} on average and "
        f"{early.max():.0%} at most (loss below {LEARNED:g} for good, by epochs).",
        {"early": float(early.mean())},
    )


def graph_picture(data: Data, title: str) -> Picture:
    """Graphs of the test points after some epochs, and violated pairs against epochs."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    picture = titled(title, PAGE, 4.6)
    sides: Any = picture.subfigures(2, 1, height_ratios=[1.5, 1], squeeze=False)
    graphs = sides[0, 0].subplots(1, len(SHOWN))
    shade = ScalarMappable(Normalize(0.0, CUT), "cividis")
    for ax, epoch in zip(graphs, SHOWN, strict=True):
        _graph(ax, data["index"], data["loss"][0, epoch], shade)
        ax.set_title("before training" if epoch == 0 else f"after {epoch} epochs")
    sides[0, 0].colorbar(shade, ax=graphs, label=f"loss, cut at {CUT:g}", shrink=0.8, pad=0.01)
    below = sides[1, 0].subplots()
    _violations(below, data)
    return picture


def _graph(ax: Axes, index: Any, loss: Floats, shade: Any) -> None:
    places = _places(index)
    for (a, u), (b, v) in itertools.combinations(enumerate(index), 2):
        if sum(x != y for x, y in zip(u, v, strict=True)) == 1:
            ax.plot(*np.array([places[a], places[b]]).T, color="0.75", linewidth=0.6, zorder=1)
    for (x, y), point, value in zip(places, index, loss, strict=True):
        color = shade.to_rgba(min(value, CUT))
        dark = 0.3 * color[0] + 0.59 * color[1] + 0.11 * color[2] < 0.5
        ax.text(
            x,
            y,
            "".join(map(str, point)),
            ha="center",
            va="center",
            fontsize=6,
            color="white" if dark else "black",
            bbox={"boxstyle": "round,pad=0.25", "facecolor": color, "edgecolor": "none"},
            zorder=3,
        )
    ax.set_xlim(-0.5, len(index[0]) + 0.5)
    ax.set_axis_off()


def _places(index: Any) -> list[tuple[float, float]]:
    """A column for each number of concepts, test points from top to bottom."""
    positions = []
    for point in index:
        column = [bits for bits in index if sum(bits) == sum(point)]
        positions.append((float(sum(point)), (len(column) - 1) / 2 - column.index(point)))
    return positions


def _violations(ax: Axes, data: Data) -> None:
    violated = data["violated"]
    epochs = np.arange(violated.shape[1])
    low, middle, high = np.quantile(violated, [0.1, 0.5, 0.9], axis=0)
    ax.fill_between(epochs, low, high, color="0.88", linewidth=0, label="10 % to 90 % of the runs")
    ax.plot(epochs, middle, color="black", label="median of the runs")
    ax.plot(epochs, violated[0], color="black", linestyle=(0, (1, 1)), label="the run above")
    ax.set(xlim=(0, epochs[-1]), ylim=(0, None))
    ax.set(xlabel="epoch", ylabel=f"violated pairs of {data['pairs']}")
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))


FIGURES = (
    Figure(
        number="7",
        title="loss at every test point, four concepts",
        claim="A combination of concepts is learned only after all that it is made of.",
        source="App. B",
        editions=(
            edition_of("caption", [_CELL], f"{_PRINTED}, d = 64"),
            edition_of("code", code_cells((1,), [_CODED]), f"{_CODED}, d = 64"),
        ),
        compute=train_points,
        criteria=(follows_the_order, learned_in_order),
        draw=graph_picture,
    ),
)
