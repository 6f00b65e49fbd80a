r"""Survival of predictions of the theory of U U^T in networks it was not made for, run by run.

Two layers are one network U U^T from :math:`U = (W_1^\top + W_2)/2` as far as W is diagonal; ReLU
and GELU have their own U; deeper networks can only be asked what is typical of a Gaussian W(0) of
the same size. docs/networks.md derives this.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from studies.law_errors import SWING
from studies.plan import RECORDS, Plan, load_plan
from studies.study import (
    MOST,
    Numbers,
    Study,
    at_stake,
    crossed,
    plain_numbers,
    plain_rows,
    recorded_rows,
    rows_of_shares,
)
from swingby.errors import InvalidInput
from swingby.lab.figures.evidence import EvidenceRow, EvidenceVerdict, Kind, read_record
from swingby.lab.networks.setting import Data, Floats, Integers, Network, Optimizer, Setting
from swingby.lab.networks.training import train
from swingby.lab.networks.training_clock import rate_of
from swingby.lab.networks.training_points import directions
from swingby.lab.networks.training_run import TrainingRun
from swingby.lab.networks.weights import gram, initial_weights, rotated
from swingby.report import Framed, Grid
from swingby.report.files import storable
from swingby.theory.share import Share, agrees, reaches, share_of
from swingby.theory.task import SIMTask
from swingby.verify.predict import predict
from swingby.verify.predict_batch import predict_batch
from swingby.verify.predict_swing import predict_swing_batch

#: Fig. 8: three concepts whose signals differ by factors of 2.15 and 2.25.
FIG8 = SIMTask(["1", "3/2", "11/5"], ["1/20"] * 3)
_MODES = {"linear": "growing mode", "relu": "rectified mode", "gelu": "half mode"}
_OWN, _TYPICAL = "own W(0)", "typical W(0)"
#: Gaussian W(0) drawn where a network has none of its own, for one that is trained.
TYPICAL = 20
#: What is only typical holds where shares differ by no more.
TOLERANCE = 0.15
#: A transient is a minor entry that reaches this.
TRANSIENT = 0.1
#: How near a transient or a time has to come; the test loss, as a part of its start.
NEAR = 0.1
PREDICTIONS = ("order", "descents", "transient", "size", "times", "loss")


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


def standard_cells(seed: int = 0, runs: int = 200) -> list[Cell]:
    """The cells of the documentation.

    Linear networks have infinite data; activations have 20 points per cluster and 32 neurons a
    layer. "small" is Gaussian, "positive" uniform between 0 and the scale, "torch" the default of
    ``torch.nn.Linear``.

    >>> [cell.name for cell in standard_cells()][:2]
    ['U U^T, small', 'W2 W1, small']
    """
    cells = []
    for row in load_plan("networks")["cells"]:
        scale, linear = row.get("scale"), row["activation"] == "linear"
        network = Network(
            row["depth"],
            row["width"],
            row["activation"],
            bias="bias" in row["name"],
            symmetric=row["name"].startswith("U U"),
            initialization="torch" if scale is None else row.get("start", "gaussian"),
            scale=1.0 if scale is None else scale,
        )
        cells.append(
            make_cell(
                row["name"],
                network,
                steps=row["steps"],
                lr=row["lr"],
                dim=row.get("dim"),
                n_per_class=None if linear else 20,
                # The law of a 64 x 64 matrix takes half a second.
                runs=min(runs, 100) if row.get("dim") == 64 else runs,
                seed=seed,
            )
        )
    return cells


@dataclass(frozen=True, eq=False)
class Expected:
    """Predictions of the theory for networks. Made by :func:`expect`."""

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
    #: W(0) and eta of the law, of linear networks in which every direction is a concept.
    starts: tuple[tuple[Floats, float], ...] = ()

    @property
    def typical(self) -> bool:
        """Whether descents and transients are those of typical W(0)."""
        return self.source == _TYPICAL


def expect(settings: Sequence[Setting]) -> Expected:
    """Predict networks of a kind before they are trained, by sgd or gd."""
    network, task = settings[0].network, settings[0].task
    if network.depth < 2 or not settings[0].optimizer.plain:
        network_text = f"depth {network.depth}, {settings[0].optimizer.kind}"
        raise InvalidInput(
            "settings", network_text, "must have two layers or more, and plain sgd or gd"
        )
    eta = np.array([rate_of(setting) for setting in settings])
    signal = np.stack([setting.task.signal for setting in settings])
    s, source = task.s, _TYPICAL
    if network.symmetric:
        source, W0 = _OWN, np.stack([gram(_weights(setting)[0]) for setting in settings])
    elif network.depth == 2:
        source, W0 = (
            _MODES[network.activation],
            np.stack([growing_mode(setting) for setting in settings]),
        )
    else:
        W0 = _typical(settings)
        eta, signal = np.repeat(eta, TYPICAL), np.repeat(signal, TYPICAL, axis=0)
    law = predict_batch(signal, W0, eta, "gd")
    usable = np.isfinite(law.crossing) & ~law.undecided
    half_times = np.where(usable, law.crossing, np.nan)[:, :s]
    points = np.broadcast_to(task.test_point, signal.shape)
    swing = predict_swing_batch(signal, W0, eta, "gd", test_point=points, swing=SWING)
    descents = swing.descents
    if source == _TYPICAL:
        middle = np.nanmedian(half_times.reshape(len(settings), TYPICAL, s), axis=1)
        half_times = np.broadcast_to(np.median(middle, axis=0), middle.shape)
        # Undecided counts lie at the threshold: as often the smaller number as the larger one.
        either = np.where(np.arange(len(W0)) % 2, swing.most_descents, swing.least_descents)
        descents = np.where(swing.undecided, either, descents)
    order = np.argsort(half_times, axis=1, kind="stable")
    whole = source != _TYPICAL and network.linear and task.dim == s
    starts = tuple(zip(W0, eta.tolist(), strict=True)) if whole else ()
    return Expected(source, np.array(half_times), order, descents, swing.transient, starts)


def _weights(setting: Setting) -> list[Floats]:
    """Initial weights in the coordinates of the concepts, without biases."""
    weights = rotated(setting, initial_weights(setting), directions(setting))
    return [weight for weight in weights if weight.ndim == 2]


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
    for setting in settings:
        product = np.eye(setting.task.dim)
        for weight in _weights(setting):
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
    """A prediction judged in a cell."""

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
    verdict: EvidenceVerdict
    note: str = ""

    @property
    def about(self) -> bool:
        """Whether a share is compared with the share that the theory gives."""
        return self.source == _TYPICAL and self.prediction in ("descents", "transient")

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        fields = {name: getattr(self, name) for name in ("cell", "prediction", "source")}
        fields |= {"count": self.share.count, "runs": self.share.total, "share": self.share.value}
        fields |= {"low": self.share.low, "high": self.share.high, "control": self.control}
        fields |= {"verdict": str(self.verdict), "note": self.note}
        return storable(fields)


def judge(name: str, expected: Expected, run: TrainingRun) -> list[Outcome]:
    """Predictions against what the networks of a cell did, in the order of :data:`PREDICTIONS`.

    "size" only where single runs are predicted, and neither that nor "transient" with directions
    that have no concept: the Jacobian is recorded along concepts, the law's is over all d.
    """
    observed, size, descents = run.jacobian_half_times, largest_minor(run), run.descents(SWING)
    along_all = run.settings[0].task.dim == observed.shape[1]
    decided, there = expected.descents >= 0, np.isfinite(expected.transient)
    predicted, heights = expected.descents[decided], expected.transient[there]
    positive = np.isfinite(expected.half_times) & (expected.half_times > 0)
    usable = np.asarray(positive.all(axis=1))
    outcomes: list[Outcome] = []

    def single(what: str, good: Any, control: float, note: str = "") -> None:
        share = share_of(good)
        verdict = at_stake(reaches(share, MOST), share, control)
        outcomes.append(Outcome(name, what, expected.source, share, control, verdict, note))

    def typical(what: str, mine: Any, theory: Any) -> None:
        share, expected_share = share_of(mine), share_of(theory)
        verdict = EvidenceVerdict(agrees(share, expected_share, TOLERANCE))
        outcomes.append(Outcome(name, what, expected.source, share, expected_share.value, verdict))

    single("order", *_order(expected, run, usable))
    if expected.typical:
        typical("descents", descents >= 2, predicted >= 2)
        if along_all:
            typical("transient", size >= TRANSIENT, heights >= TRANSIENT)
    else:
        counted = descents[decided]
        single(
            "descents",
            predicted == counted,
            crossed(predicted[:, None] == counted),
            "; ".join(_open(decided)),
        )
        if along_all:
            size = size[there]
            tall, seen_tall = heights >= TRANSIENT, size >= TRANSIENT
            single("transient", tall == seen_tall, crossed(tall[:, None] == seen_tall))
            ratio, others = size / heights, size[:, None] / heights[None, :]
            control = crossed(np.abs(others - 1) <= NEAR)
            note = f"observed / predicted: {_quantile(ratio, 0.5):.2f}"
            single("size", np.abs(ratio - 1) <= NEAR, control, note)
    single("times", *_times(expected, observed, usable))
    if expected.starts:
        single("loss", *_losses(expected, run))
    return outcomes


def _losses(expected: Expected, run: TrainingRun) -> tuple[Any, float, str]:
    """The whole course of the test loss, where the law is in its range."""
    laws = [
        predict(run.settings[k].task, W0, eta=eta, dynamics="gd")
        for k, (W0, eta) in enumerate(expected.starts)
    ]
    usable = [k for k, law in enumerate(laws) if np.isfinite(law.half_times).all()]
    if not usable:
        return [], math.nan, "all runs undecided by the law"
    curves = np.stack([laws[k].test_loss(run.steps) for k in usable])
    observed = run.test_loss[usable] / run.test_loss[usable, :1]
    curves = curves / curves[:, :1]
    # Run by run, as all pairs of curves at once take too much memory.
    off = np.stack([np.abs(curves - curve).max(axis=1) for curve in observed])
    own = np.diagonal(off)
    note = f"largest error {_quantile(own, 0.5):.2g} (median), {_quantile(own, 0.9):.2g} (p90)"
    left = len(laws) - len(usable)
    words = [note, *([f"{left} runs undecided by the law"] if left else [])]
    return own <= NEAR, crossed(off <= NEAR), "; ".join(words)


def _order(expected: Expected, run: TrainingRun, usable: Any) -> tuple[Any, float, str]:
    """The order of runs for which the law gives all half-times, none of them 0."""
    observed = run.jacobian_half_times
    learned = ~np.isnan(observed).any(axis=1)
    order = np.argsort(np.where(np.isnan(observed), np.inf, observed), axis=1, kind="stable")
    same = (expected.order == order).all(axis=1) & learned
    notes = []
    if not expected.typical:
        signal = run.settings[0].task.signal[: observed.shape[1]]
        by_signal = (order == np.argsort(-signal, kind="stable")).all(axis=1) & learned
        notes.append(f"by signal alone {by_signal.mean():.2f}")
    if not learned.all():
        notes.append(f"{int((~learned).sum())} runs leave a concept unlearned")
    return same[usable], 1 / math.factorial(observed.shape[1]), "; ".join([*notes, *_open(usable)])


def _times(expected: Expected, observed: Floats, usable: Any) -> tuple[Any, float, str]:
    """Half-times up to one factor."""
    predicted, observed = expected.half_times[usable], observed[usable]
    scale, residual = fitted(predicted, observed)
    within = np.asarray((np.abs(residual - 1) <= NEAR).all(axis=1))
    others = scale * predicted[:, None] / np.where(observed > 0, observed, np.nan)[None, :]
    control = math.nan
    if not expected.typical and within.size:
        control = crossed((np.abs(others - 1) <= NEAR).all(axis=2))
    off = np.abs(residual[np.isfinite(residual)] - 1)
    middle, high = _quantile(off, 0.5), _quantile(off, 0.9)
    note = f"scale {scale:.3f}, residual {100 * middle:.1f} % (median), {100 * high:.1f} % (p90)"
    return within, control, "; ".join([note, *_open(usable)])


def fitted(predicted: Floats, observed: Floats) -> tuple[float, Floats]:
    """A factor for all times, exp of the mean log of observed / predicted, and the residuals.

    >>> scale, residual = fitted(np.array([[1.0, 2.0]]), np.array([[2.0, 4.0]]))
    >>> round(scale, 9), residual.round(9).tolist()
    (2.0, [[1.0, 1.0]])
    """
    usable = np.isfinite(predicted) & np.isfinite(observed) & (predicted > 0) & (observed > 0)
    if not usable.any():
        return math.nan, np.full(predicted.shape, np.nan)
    logs = np.log(np.where(usable, observed, 1.0)) - np.log(np.where(usable, predicted, 1.0))
    scale = float(np.exp(logs[usable].mean()))
    return scale, np.where(usable, scale / np.exp(logs), np.nan)


def largest_minor(run: TrainingRun) -> Floats:
    """Largest minor entry of the Jacobian of each network, over all recorded steps."""
    minor = np.abs(run.jacobian) * (1 - np.eye(run.jacobian.shape[2]))
    return np.asarray(minor.max(axis=(1, 2, 3)))


def _open(decided: Any) -> list[str]:
    """The number of runs left open, in words."""
    return [] if decided.all() else [f"{int((~decided).sum())} runs undecided by the law"]


def _quantile(values: Floats, level: float) -> float:
    return float(np.quantile(values, level)) if values.size else math.nan


_DEFINITIONS = (
    f"holds: the 95 % Wilson interval of the share of runs as predicted lies above {MOST};"
    " fails: below; else undecided",
    "order: all concepts in the predicted order; descents: number of falls of the test loss by"
    f" {100 * SWING:.0f} % of its start",
    f"transient: whether a minor entry of the Jacobian reaches {TRANSIENT}; size: the"
    f" largest one, within {100 * NEAR:.0f} %",
    f"times: all half-times of a run within {100 * NEAR:.0f} %, after one factor per cell; loss:"
    f" the test loss of the law at every step within {100 * NEAR:.0f} % of the start, nothing"
    " fitted",
    "control: share of runs that match the prediction for another run (order: a random order);"
    " nothing at stake: what does not fail, where the control comes true as often",
    "typical W(0): share of runs with two descents or more (with a transient), against the share"
    f" that the theory gives (as control), within {TOLERANCE}",
)


@dataclass(frozen=True)
class Survival(Framed):
    """Outcomes by network and prediction. Made by :func:`survival`."""

    outcomes: tuple[Outcome, ...]

    def __getitem__(self, key: tuple[str, str]) -> Outcome:
        for outcome in self.outcomes:
            if (outcome.cell, outcome.prediction) == key:
                return outcome
        raise InvalidInput("key", key, "must be a cell and a prediction of this table")

    def to_grid(self) -> Grid:
        """A row per cell and prediction, with the intervals."""
        columns = ("network", "prediction", "from", ">share [95 %]", ">control", "verdict", "")
        rows = []
        for outcome in self.outcomes:
            control = "-" if math.isnan(outcome.control) else f"{outcome.control:.2f}"
            cells = [outcome.cell, outcome.prediction, outcome.source, str(outcome.share), control]
            rows.append([*cells, str(outcome.verdict), outcome.note])
        return Grid("What survives, in full", columns, rows, below=_DEFINITIONS)

    def to_overview(self) -> Grid:
        """A row per cell: verdicts and shares alone."""
        outcomes = {(outcome.cell, outcome.prediction): outcome for outcome in self.outcomes}
        rows = []
        for cell in dict.fromkeys(outcome.cell for outcome in self.outcomes):
            row = [cell, outcomes[cell, "order"].source]
            for prediction in PREDICTIONS:
                outcome = outcomes.get((cell, prediction))
                theory = "" if outcome is None or not outcome.about else f" ({outcome.control:.2f})"
                row.append(
                    "-"
                    if outcome is None
                    else f"{outcome.verdict} {outcome.share.value:.2f}{theory}"
                )
            rows.append([*row, outcomes[cell, "times"].note])
        columns = ("network", "from", *PREDICTIONS, "half-times")
        return Grid("What survives", columns, rows, below=_DEFINITIONS)

    def to_dict(self) -> dict[str, Any]:
        """Thresholds and outcomes, as JSON can hold them."""
        limits = {"threshold": MOST, "tolerance": TOLERANCE, "swing": SWING}
        return {**limits, "transient": TRANSIENT, "near": NEAR, "outcomes": self.records()}

    def records(self) -> list[dict[str, Any]]:
        """One row per outcome."""
        return [outcome.to_dict() for outcome in self.outcomes]

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
    outcomes: list[Outcome] = []
    for cell in cells:
        if not isinstance(cell, Cell):
            raise InvalidInput("cells", cell, "must be Cells")
        # A minor entry is known at recorded steps only; it is smooth.
        run = train(cell.settings, record=max(1, cell.setting.total_steps // 600))
        outcomes += judge(cell.name, expect(cell.settings), run)
    return Survival(tuple(outcomes))


def recorded_survival() -> Survival:
    """The outcomes of the record.

    >>> str(recorded_survival()["U U^T, small", "times"].share.count)
    '200'
    """
    outcomes = []
    for row in read_record(RECORDS / "evidence.json")["networks"].rows:
        source, _, note = row.note.partition("; ")
        share = Share(row.count or 0, row.seeds)
        control = math.nan if row.control is None else row.control
        if row.predicted.endswith("theory"):
            control = float(row.predicted.partition("%")[0]) / 100
        fields = (row.setting, row.statement, source, share, control, row.verdict, note)
        outcomes.append(Outcome(*fields))
    return Survival(tuple(outcomes))


def _network_cells(plan: Plan) -> Mapping[str, Any]:
    return {cell.name: cell for cell in standard_cells(plan["seed"], plan["runs"])}


def _network_rows(cell: Any) -> list[dict[str, Any]]:
    """Networks that the theory was not made for, against what it says of their weights."""
    return plain_rows(_evidence_row(outcome) for outcome in survival([cell]).outcomes)


def _evidence_row(outcome: Outcome) -> EvidenceRow:
    # U U^T trained from its own W(0) is the recursion of the law; other networks are not.
    kind = Kind.NUMERICS if outcome.source == _OWN else Kind.LAW
    control = {} if outcome.about else {outcome.prediction: outcome.control}
    shares = {outcome.prediction: outcome.share}
    (row,) = rows_of_shares("networks", outcome.cell, kind, shares, control)
    if outcome.about:
        row = replace(row, predicted=f"{outcome.control:.1%}, as in theory", needed=None)
    note = f"{outcome.source}; {outcome.note}" if outcome.note else outcome.source
    return replace(row, verdict=outcome.verdict, note=note)


def _network_canary(plan: Plan) -> Numbers:
    cell = replace(_network_cells(plan)[plan["canary"]], runs=plan["canary_runs"])
    expected = expect(cell.settings)
    run = train(cell.settings, record=cell.setting.total_steps)
    return {
        "half-times": plain_numbers(expected.half_times),
        "descents": plain_numbers(expected.descents),
        "transient": plain_numbers(expected.transient),
        "observed": plain_numbers(run.jacobian_half_times),
    }


STUDY = Study(
    "networks that the theory was not made for",
    _network_cells,
    _network_rows,
    _network_canary,
    recorded_rows,
)
