r"""Which predictions of the theory of U U^T survive in networks it was not made for, run by run.

Two layers are one network U U^T from :math:`U = (W_1^\top + W_2)/2` as far as W is diagonal; ReLU
and GELU have their own U; deeper networks can only be asked what is typical of a Gaussian W(0) of
the same size. docs/networks.md derives this.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from swingby.errors import InvalidInput
from swingby.lab.networks.law_errors import SWING, gram
from swingby.lab.networks.setting import Data, Floats, Integers, Network, Optimizer, Setting
from swingby.lab.networks.training import train
from swingby.lab.networks.training_clock import rate_of
from swingby.lab.networks.training_points import directions
from swingby.lab.networks.training_run import TrainingRun
from swingby.lab.networks.weights import initial_weights, rotated
from swingby.report import Framed, Grid
from swingby.report.files import storable
from swingby.theory.share import Share, agrees, reaches, share_of
from swingby.theory.task import SIMTask
from swingby.theory.verdict import Verdict
from swingby.verify.predict_batch import predict_batch
from swingby.verify.predict_swing import predict_swing_batch

#: Fig. 8: three concepts whose signals differ by factors of 2.15 and 2.25.
FIG8 = SIMTask(["1", "3/2", "11/5"], ["1/20"] * 3)
_MODES = {"linear": "growing mode", "relu": "rectified mode", "gelu": "half mode"}
_TYPICAL = "typical W(0)"
#: Gaussian W(0) drawn where a network has none of its own, for one that is trained.
TYPICAL = 20
#: A prediction holds where the interval of the share of runs as predicted reaches this.
THRESHOLD = 0.9
#: What is only typical holds where shares differ by no more.
TOLERANCE = 0.15
#: A transient is a minor entry that reaches this.
TRANSIENT = 0.1
#: How near a transient or a time has to come.
NEAR = 0.1
PREDICTIONS = ("order", "descents", "transient", "size", "times")


@dataclass(frozen=True)
class Cell:
    """Networks that differ in their seed alone."""

    name: str
    setting: Setting
    runs: int = 200

    @property
    def settings(self) -> tuple[Setting, ...]:
        """One for each seed."""
        first = self.setting.seed
        return tuple(replace(self.setting, seed=first + k) for k in range(self.runs))


def make_cell(
    name: str,
    network: Network,
    *,
    steps: int,
    lr: float,
    dim: int | None = None,
    n_per_class: int | None = None,
    runs: int = 200,
    seed: int = 0,
) -> Cell:
    """Networks that learn the concepts of Fig. 8 by gradient descent on the paper's loss.

    Without `n_per_class`, from infinite data.
    """
    task = SIMTask(FIG8.mu, FIG8.sigma, dim)
    precision = "float64" if network.linear else "float32"
    optimizer = Optimizer("gd", lr=lr, loss="paper")
    setting = Setting(
        task, Data(n_per_class), network, optimizer, steps=steps, seed=seed, precision=precision
    )
    return Cell(name, setting, runs)


#: Name, depth, width, activation, scale of a Gaussian start or None for torch, dim, steps, lr.
_CELLS: tuple[tuple[str, int, int, str, float | None, int | None, int, float], ...] = (
    ("U U^T, small", 2, 5, "linear", 0.03, None, 3000, 0.01),
    ("W2 W1, small", 2, 5, "linear", 0.03, None, 3000, 0.02),
    ("W2 W1, small, d = 8", 2, 8, "linear", 0.03, 8, 3000, 0.02),
    ("W2 W1, larger", 2, 5, "linear", 0.2, None, 3000, 0.02),
    ("W2 W1, torch", 2, 3, "linear", None, None, 3000, 0.02),
    ("W2 W1, torch, bias", 2, 3, "linear", None, None, 3000, 0.02),
    ("W2 W1, torch, d = 64", 2, 64, "linear", None, 64, 1000, 0.02),
    ("depth 3, small", 3, 5, "linear", 0.1, None, 8000, 0.05),
    ("depth 3, torch", 3, 3, "linear", None, None, 6000, 0.02),
    ("depth 3, torch, d = 8", 3, 8, "linear", None, 8, 6000, 0.02),
    ("depth 4, small", 4, 5, "linear", 0.2, None, 8000, 0.02),
    ("depth 4, torch", 4, 3, "linear", None, None, 8000, 0.02),
    ("ReLU 2, small", 2, 32, "relu", 0.01, None, 1200, 0.05),
    ("ReLU 2, small, d = 8", 2, 32, "relu", 0.01, 8, 1200, 0.05),
    ("ReLU 2, torch", 2, 32, "relu", None, None, 1500, 0.02),
    ("ReLU 3, small", 3, 32, "relu", 0.1, None, 1200, 0.05),
    ("ReLU 3, torch", 3, 32, "relu", None, None, 1500, 0.02),
    ("GELU 2, small", 2, 32, "gelu", 0.01, None, 1200, 0.05),
    ("GELU 2, torch", 2, 32, "gelu", None, None, 1500, 0.02),
)


def standard_cells(seed: int = 0, runs: int = 200) -> list[Cell]:
    """The cells of the documentation.

    Linear networks have infinite data; activations have 20 points per cluster and 32 neurons a
    layer. "small" is Gaussian, "torch" the default of ``torch.nn.Linear``.

    >>> [cell.name for cell in standard_cells()][:2]
    ['U U^T, small', 'W2 W1, small']
    """
    found = []
    for name, depth, width, activation, scale, dim, steps, lr in _CELLS:
        start = ("torch", 1.0) if scale is None else ("gaussian", scale)
        network = Network(depth, width, activation, "bias" in name, name.startswith("U U"), *start)
        # The law of a 64 x 64 matrix takes half a second.
        count, points = min(runs, 100) if dim == 64 else runs, None if network.linear else 20
        same: dict[str, Any] = {"steps": steps, "lr": lr, "dim": dim, "seed": seed}
        found.append(make_cell(name, network, n_per_class=points, runs=count, **same))
    return found


@dataclass(frozen=True, eq=False)
class Expected:
    """What the theory says of some networks. Made by :func:`expect`."""

    #: What was taken as W(0): "own W(0)", "growing mode", "rectified mode" (ReLU), "half mode"
    #: (GELU) or "typical W(0)".
    source: str
    #: Steps on the clock of two linear layers, (n, s); nan where undecided or trapped.
    half_times: Floats
    #: Concepts as they are learned, (n, s).
    order: Integers
    #: Of the test loss, -1 where undecided; (n,), or of more W(0) for what is typical.
    descents: Integers
    #: Largest minor entry; of as many.
    transient: Floats

    @property
    def typical(self) -> bool:
        """Whether descents and transients are those of other, like W(0)."""
        return self.source == _TYPICAL


def expect(settings: Sequence[Setting]) -> Expected:
    """What the theory says of networks of one kind before they are trained, by sgd or gd."""
    network, task = settings[0].network, settings[0].task
    if network.depth < 2 or settings[0].optimizer.kind == "adamw":
        shown = f"depth {network.depth}, {settings[0].optimizer.kind}"
        raise InvalidInput("settings", shown, "must have two layers or more, and sgd or gd")
    eta = np.array([rate_of(one) for one in settings])
    signal = np.stack([one.task.signal for one in settings])
    s, source = task.s, _TYPICAL
    if network.symmetric:
        source, W0 = "own W(0)", np.stack([gram(_weights(one)[0]) for one in settings])
    elif network.depth == 2:
        source, W0 = _MODES[network.activation], np.stack([growing_mode(one) for one in settings])
    else:
        W0 = _typical(settings)
        eta, signal = np.repeat(eta, TYPICAL), np.repeat(signal, TYPICAL, axis=0)
    law = predict_batch(signal, W0, eta, "gd")
    usable = np.isfinite(law.crossing) & ~law.undecided
    half_times = np.where(usable, law.crossing, np.nan)[:, :s]
    points = np.broadcast_to(task.test_point, signal.shape)
    found = predict_swing_batch(signal, W0, eta, "gd", test_point=points, swing=SWING)
    descents = found.descents
    if source == _TYPICAL:
        middle = np.nanmedian(half_times.reshape(len(settings), TYPICAL, s), axis=1)
        half_times = np.broadcast_to(np.median(middle, axis=0), middle.shape)
        # Undecided counts lie at the threshold: as often the smaller number as the larger one.
        either = np.where(np.arange(len(W0)) % 2, found.most_descents, found.least_descents)
        descents = np.where(found.undecided, either, descents)
    order = np.argsort(half_times, axis=1, kind="stable")
    return Expected(source, np.array(half_times), order, descents, found.transient)


def _weights(setting: Setting) -> list[Floats]:
    """Initial weights in the coordinates of the concepts, without biases."""
    found = rotated(setting, initial_weights(setting), directions(setting))
    return [one for one in found if one.ndim == 2]


def growing_mode(setting: Setting) -> Floats:
    r"""W(0) of two layers: :math:`U U^\top` with :math:`U = (W_1^\top + W_2)/2`.

    With ReLU only entries of U remain that are positive where :math:`W_1^\top` is; with GELU it
    is half of :math:`U U^\top`.
    """
    first, second = _weights(setting)
    U = (first.T + second) / 2
    if setting.network.activation == "relu":
        U = U * ((first.T > 0) & (U > 0))
    return gram(U) / (2 if setting.network.activation == "gelu" else 1)


def _typical(settings: Sequence[Setting]) -> Floats:
    """Gaussian U U^T whose entries are as large as those of the Jacobian at the start."""
    first = settings[0]
    squares = []
    for one in settings:
        product = np.eye(one.task.dim)
        for weight in _weights(one):
            product = weight @ product
        squares.append(float(np.square(product).mean()))
    omega = math.sqrt(float(np.mean(squares)))
    d, width = first.task.dim, first.width
    rng = np.random.default_rng([first.seed, len(settings), d, width])
    U = rng.standard_normal((len(settings) * TYPICAL, d, width)) * math.sqrt(omega / width)
    return gram(U)


def tail(strong: float, weak: float) -> tuple[float, float]:
    r"""Rate, per unit of eta times steps, and ratio w_jk / w_kj, at which a transient decays.

    In two layers, once the stronger concept is learned: with :math:`w_{kk} = 1`, the entries
    :math:`p = w_{jk}` and :math:`q = w_{kj}` obey :math:`\dot p = a_j q - a_k p` and
    :math:`\dot q = a_j (p - q)`; what lasts is the slower mode. In U U^T both decay at
    :math:`(a_k - a_j)/2`.

    >>> rate, ratio = tail(4.0, 1.0)
    >>> round(rate, 4), round(ratio, 4)
    (0.6972, 0.3028)
    """
    if not 0 < weak < strong < math.inf:
        raise InvalidInput("strong, weak", (strong, weak), "must be signals, the larger one first")
    total = strong + weak
    rate = (total - math.sqrt(total * total - 4 * weak * (strong - weak))) / 2
    return rate, weak / (strong - rate)


@dataclass(frozen=True)
class Outcome:
    """One prediction in one cell."""

    cell: str
    #: One of :data:`PREDICTIONS`.
    prediction: str
    #: What was taken as W(0).
    source: str
    #: Of runs as predicted; for what is typical, of runs with two descents, or with a transient.
    share: Share
    #: The share of runs that match the prediction for another run, or an order by chance; for
    #: what is typical, the share that the theory gives.
    control: float
    verdict: Verdict
    note: str = ""

    @property
    def about(self) -> bool:
        """Whether a share is compared with that of the theory."""
        return self.source == _TYPICAL and self.prediction in ("descents", "transient")

    @property
    def risky(self) -> bool:
        """Whether predictions for other runs do worse: else nothing was at stake."""
        return self.about or not self.control >= self.share.low

    @property
    def word(self) -> str:
        """The verdict, with an asterisk where nothing was at stake."""
        return str(self.verdict) + ("" if self.risky else "*")

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        plain = {name: getattr(self, name) for name in ("cell", "prediction", "source")}
        plain |= {"count": self.share.count, "runs": self.share.total, "share": self.share.value}
        plain |= {"low": self.share.low, "high": self.share.high, "control": self.control}
        plain |= {"verdict": str(self.verdict), "risky": self.risky, "note": self.note}
        return storable(plain)


def judge(name: str, expected: Expected, run: TrainingRun) -> list[Outcome]:
    """Predictions against what the networks of a cell did, in the order of :data:`PREDICTIONS`.

    "size" only where single runs are predicted, and neither that nor "transient" with directions
    that have no concept: the Jacobian is recorded along concepts, the law's is over all d.
    """
    seen, size, descents = run.jacobian_half_times, largest_minor(run), run.descents(SWING)
    along_all = run.settings[0].task.dim == seen.shape[1]
    decided, there = expected.descents >= 0, np.isfinite(expected.transient)
    said, heights = expected.descents[decided], expected.transient[there]
    known = np.isfinite(expected.half_times) & (expected.half_times > 0)
    usable = np.asarray(known.all(axis=1))
    outcomes: list[Outcome] = []

    def single(what: str, good: Any, control: float, note: str = "") -> None:
        share = share_of(good)
        verdict = reaches(share, THRESHOLD)
        outcomes.append(Outcome(name, what, expected.source, share, control, verdict, note))

    def typical(what: str, mine: Any, theory: Any) -> None:
        share, other = share_of(mine), share_of(theory)
        verdict = agrees(share, other, TOLERANCE)
        outcomes.append(Outcome(name, what, expected.source, share, other.value, verdict))

    single("order", *_order(expected, run, usable))
    if expected.typical:
        typical("descents", descents >= 2, said >= 2)
        if along_all:
            typical("transient", size >= TRANSIENT, heights >= TRANSIENT)
    else:
        counted = descents[decided]
        single("descents", said == counted, _crossed(said, counted), "; ".join(_open(decided)))
        if along_all:
            size = size[there]
            tall, seen_tall = heights >= TRANSIENT, size >= TRANSIENT
            single("transient", tall == seen_tall, _crossed(tall, seen_tall))
            ratio, others = size / heights, size[:, None] / heights[None, :]
            control = float((np.abs(others - 1) <= NEAR).mean()) if ratio.size else math.nan
            note = f"observed / predicted: {_quantile(ratio, 0.5):.2f}"
            single("size", np.abs(ratio - 1) <= NEAR, control, note)
    single("times", *_times(expected, seen, usable))
    return outcomes


def _order(expected: Expected, run: TrainingRun, usable: Any) -> tuple[Any, float, str]:
    """The order of runs for which the law gives all half-times, none of them 0."""
    seen = run.jacobian_half_times
    learned = ~np.isnan(seen).any(axis=1)
    order = np.argsort(np.where(np.isnan(seen), np.inf, seen), axis=1, kind="stable")
    same = (expected.order == order).all(axis=1) & learned
    notes = []
    if not expected.typical:
        signal = run.settings[0].task.signal[: seen.shape[1]]
        plain = (order == np.argsort(-signal, kind="stable")).all(axis=1) & learned
        notes.append(f"by signal alone {plain.mean():.2f}")
    if not learned.all():
        notes.append(f"{int((~learned).sum())} runs leave a concept unlearned")
    return same[usable], 1 / math.factorial(seen.shape[1]), "; ".join([*notes, *_open(usable)])


def _times(expected: Expected, seen: Floats, usable: Any) -> tuple[Any, float, str]:
    """Half-times up to one factor."""
    said, seen = expected.half_times[usable], seen[usable]
    scale, residual = fitted(said, seen)
    near = np.asarray((np.abs(residual - 1) <= NEAR).all(axis=1))
    crossed = scale * said[:, None] / np.where(seen > 0, seen, np.nan)[None, :]
    control = math.nan
    if not expected.typical and near.size:
        control = float((np.abs(crossed - 1) <= NEAR).all(axis=2).mean())
    off = np.abs(residual[np.isfinite(residual)] - 1)
    middle, high = _quantile(off, 0.5), _quantile(off, 0.9)
    note = f"scale {scale:.3f}, residual {100 * middle:.1f} % (median), {100 * high:.1f} % (p90)"
    return near, control, "; ".join([note, *_open(usable)])


def fitted(said: Floats, seen: Floats) -> tuple[float, Floats]:
    """One factor for all times, exp of the mean log of seen / said, and scale said / seen.

    >>> scale, residual = fitted(np.array([[1.0, 2.0]]), np.array([[2.0, 4.0]]))
    >>> round(scale, 9), residual.round(9).tolist()
    (2.0, [[1.0, 1.0]])
    """
    known = np.isfinite(said) & np.isfinite(seen) & (said > 0) & (seen > 0)
    if not known.any():
        return math.nan, np.full(said.shape, np.nan)
    logs = np.log(np.where(known, seen, 1.0)) - np.log(np.where(known, said, 1.0))
    scale = float(np.exp(logs[known].mean()))
    return scale, np.where(known, scale / np.exp(logs), np.nan)


def largest_minor(run: TrainingRun) -> Floats:
    """Largest minor entry of the Jacobian of each network, over all recorded steps."""
    minor = np.abs(run.jacobian) * (1 - np.eye(run.jacobian.shape[2]))
    return np.asarray(minor.max(axis=(1, 2, 3)))


def _open(decided: Any) -> list[str]:
    """How many runs are left open, in words."""
    return [] if decided.all() else [f"{int((~decided).sum())} runs undecided by the law"]


def _crossed(said: Any, seen: Any) -> float:
    """The share of all pairs of runs in which one is as the other was predicted."""
    return float((said[:, None] == seen[None, :]).mean()) if len(said) else math.nan


def _quantile(values: Floats, level: float) -> float:
    return float(np.quantile(values, level)) if values.size else math.nan


_DEFINITIONS = (
    f"holds: the 95 % Wilson interval of the share of runs as predicted lies above {THRESHOLD};"
    " fails: below; else undecided",
    "order: all concepts in the predicted order; descents: number of falls of the test loss by"
    f" {100 * SWING:.0f} % of its start",
    f"transient: whether a minor entry of the Jacobian reaches {TRANSIENT}; size: the"
    f" largest one, within {100 * NEAR:.0f} %",
    f"times: all half-times of a run within {100 * NEAR:.0f} %, after one factor per cell",
    "control: share of runs that match the prediction for another run (order: a random order);"
    " * where that is as good: nothing was at stake",
    "typical W(0): share of runs with two descents or more (with a transient), against the share"
    f" that the theory gives (as control), within {TOLERANCE}",
)


@dataclass(frozen=True)
class Survival(Framed):
    """What survives where. Made by :func:`survival`."""

    outcomes: tuple[Outcome, ...]

    def __getitem__(self, key: tuple[str, str]) -> Outcome:
        for one in self.outcomes:
            if (one.cell, one.prediction) == key:
                return one
        raise InvalidInput("key", key, "must be a cell and a prediction of this table")

    def to_grid(self) -> Grid:
        """A row per cell and prediction, with the intervals."""
        columns = ("network", "prediction", "from", ">share [95 %]", ">control", "verdict", "")
        rows = []
        for one in self.outcomes:
            control = "-" if math.isnan(one.control) else f"{one.control:.2f}"
            cells = [one.cell, one.prediction, one.source, str(one.share), control]
            rows.append([*cells, one.word, one.note])
        return Grid("What survives, in full", columns, rows, below=_DEFINITIONS)

    def to_overview(self) -> Grid:
        """A row per cell: verdicts and shares alone."""
        known = {(one.cell, one.prediction): one for one in self.outcomes}
        rows = []
        for cell in dict.fromkeys(one.cell for one in self.outcomes):
            row = [cell, known[cell, "order"].source]
            for prediction in PREDICTIONS:
                one = known.get((cell, prediction))
                told = "" if one is None or not one.about else f" ({one.control:.2f})"
                row.append("-" if one is None else f"{one.word} {one.share.value:.2f}{told}")
            rows.append([*row, known[cell, "times"].note])
        columns = ("network", "from", *PREDICTIONS, "half-times")
        return Grid("What survives", columns, rows, below=_DEFINITIONS)

    def to_dict(self) -> dict[str, Any]:
        """Thresholds and outcomes, as JSON can hold them."""
        limits = {"threshold": THRESHOLD, "tolerance": TOLERANCE, "swing": SWING}
        return {**limits, "transient": TRANSIENT, "near": NEAR, "outcomes": self.records()}

    def records(self) -> list[dict[str, Any]]:
        """One row per outcome."""
        return [one.to_dict() for one in self.outcomes]

    def to_text(self, *, width: int | None = None, color: bool = False) -> str:
        """A row per cell: verdicts and shares alone."""
        return self.to_overview().to_text(width=width, color=color)


def survival(cells: Sequence[Cell]) -> Survival:
    """Train networks and ask which predictions, made from their first weights, came true.

    Times are compared up to one factor per cell.

    >>> found = survival(standard_cells(runs=40)[:1])
    >>> str(found["U U^T, small", "times"].verdict)
    'holds'
    """
    found: list[Outcome] = []
    for cell in cells:
        if not isinstance(cell, Cell):
            raise InvalidInput("cells", cell, "must be Cells")
        # A minor entry is known at recorded steps only; it is smooth.
        run = train(cell.settings, record=max(1, cell.setting.total_steps // 600))
        found += judge(cell.name, expect(cell.settings), run)
    return Survival(tuple(found))
