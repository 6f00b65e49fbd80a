"""What to type in place of a name that is not there: an argument, an option, or an attribute."""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

#: Alternatives that a sentence names at most.
_MOST = 3
#: How a hint starts that lists all names.
_ALL = "; it has"
#: Where a result has its single numbers.
_HOLDERS = ("events", "to_frame()")


def _table(text: str) -> Mapping[str, Sequence[str]]:
    """Alternatives by name, of lines ``names: alternative | alternative``."""
    table: dict[str, list[str]] = {}
    for line in text.strip().splitlines():
        names, _, alternatives = line.partition(": ")
        for name in names.split():
            table.setdefault(name, []).extend(alternatives.split(" | "))
    return table


#: What an argument may be meant for. An alternative applies where its first word is an argument;
#: one of ``swingby`` applies anywhere.
_ARGUMENTS = _table("""
T t t_max n_steps num_steps max_steps steps epochs n_epochs: steps
n_iter iterations num_iterations max_iter horizon time: seconds | steps
T t_max n_steps num_steps max_steps steps epochs: swingby.simulate(..., steps=...)
timeout budget limit: seconds | steps
rng seed random_state generator key: rng | seed | W0 = swingby.gaussian(task, omega, rng=0)
lr learning_rate rate alpha: lr | eta, which is 2 lr on the loss (4.1) | grid = {"eta": [...]}
step_size stepsize dt h: eta | lr
predict_network.eta: lr = eta, for W_2 W_1 runs the clock of (D.2) at eta = lr
predict_network.optimizer predict_network.betas: lr and momentum of SGD: others have no law
predict_network.scheduler predict_network.schedule: lr, one for all steps; see swingby.watch
predict_network.activation: weights of linear layers; swingby.watch forecasts others
predict_network.bias: weights, and X and Y less their means: biases have no law
predict_network.steps predict_network.epochs: lr alone: half-times are in steps, to the end
predict_network.model predict_network.layers predict_network.network: weights
predict_network.inputs predict_network.data: X
predict_network.outputs predict_network.targets predict_network.labels: Y
predict_network.dynamics: lr, for layers are trained by gradient descent
predict_network.observed predict_network.every: swingby.compare_network(weights, X=X, Y=Y, lr=...)
compare_network.record compare_network.stride: every
batch_size batchsize bs: batch
wd decay weightdecay l2: weight_decay
dampening: momentum, for which dampening is 0 as in torch's SGD
reshuffle shuffle: replacement=False, for epochs that are reshuffled
eta: eta | lr = eta / 2, on the loss (4.1) | grid = {"eta": [...]}
W w W_0 w0 W0 init initial initialization start x0: W0 | w0 | weights
weights: W0
U u U_0 u0 U0: U0 | u0 | W0 = U0 @ U0.T
run data trajectory actual simulated observations measured W_t: observed
omega: omega | scale = (omega / width) ** 0.5, or swingby.predict(task, omega=...)
omega: grid = {"omega": [...]} | W0 = swingby.gaussian(task, omega, rng=0)
epsilon eps init_scale magnitude: omega | scale | W0 = swingby.gaussian(task, omega, rng=0)
std stds: scale | sigma
std tau scale init_std deviation: scale | omega, which is width * scale ** 2
std scale: W0 = swingby.gaussian(task, omega, rng=0)
width hidden hidden_dim hidden_size n_hidden m: width | grid = {"width": [...]}
width: W0 = swingby.gaussian(task, omega, width, rng=0)
n N n_samples num_samples: n_per_class
size shape: n_per_class | width
mu mus means centres centers distances: mu | task = swingby.SIMTask(mu, sigma)
sigma sigmas spreads: sigma | task = swingby.SIMTask(mu, sigma)
a signal signals eigenvalues: a | signal | task = swingby.SIMTask.from_signal(a)
a signal signals: grid = {"signal": [[4, 1]]} | swingby.SIMTask.from_signal(a)
d dim ndim dimension n_dims: dim | a with zeros at its end: [4, 1, 0]
n_concepts num_concepts concepts s k: mu, a value for each concept | dim
y Y label labels targets classes: labels | y | Y
x points samples data: X
method mode kind optimizer algorithm solver rule: dynamics
version variant: edition
record_every save_every every stride log_every: record
path file filename folder directory store output o: path | out
save plot format latex tex markdown csv html png pdf: out, whose ending gives the format
n_jobs jobs processes num_workers n_workers cores threads: workers
item id ids name line lines lemma claim: items | item | statement
figsize width height: size
units: unit
save savefig path filename: ax, and plot().figure.savefig(path) for a file
plot show: swingby.predict(...).plot(), or compare(...).plot()
t times: swingby.predict(...).evaluate(t)
assumption assumptions item: swingby.check(...)["D.4"]
loss activation batch_size weight_decay: swingby.training.train(settings)
q quantile levels percentile p: level
""")

#: What an attribute may be meant for. An alternative applies where its first name is an attribute,
#: and ``[`` where records are looked up by their id.
_ATTRIBUTES = _table("""
loss losses test_losses train_losses: test_loss | train_loss | run.test_loss
t time times: half_times | steps | crossing | schedule.half_times | mean
half_time halftimes half_life t_half T_half stage_times learning_times: half_times
half_times learning_times: schedule.half_times | mean | passages
step n_steps num_steps T: steps | last_step
w Ws W_t weights history trajectory states W_final final_W final last: W | evaluate(t)
converged status success finished: outcome | verdict | holds
order ranking: order | task.order | schedule.task.order | half_times
stages peaks: events | peaks | half_times
crossing crossings: crossing | half_times
end_step t_end converged_at end: end | last_step
learned never: half_times | trapped
half_times half_time t_half learning_times: learned | forecasts[-1].half_times
losses loss test_loss: train_loss
steps step t T: last_step | time
time: time | predicted | observed
pivots pivot log_pivot pi: log_pivots
bar bars errors error_bar error_bars uncertainty: error | largest_error | rows
sd std stdev: sd | error | spread
relative_error max_error mean_error: largest_error | median_error | rows
save savefig export write dump to_file to_excel: save_picture(path) | to_csv(path) | save(path)
save export write to_csv to_excel: to_frame().to_csv(path) | plot().figure.savefig(path)
savefig: plot().figure.savefig(path)
df frame data dataframe to_df to_pandas to_dataframe table head columns: to_frame() | to_dict()
json to_json dict as_dict asdict: to_dict()
to_numpy to_array array values: W | half_times | to_frame()
show print display figure fig draw: plot() | to_text()
summary describe report text: to_text() | reason | verdict
predicted: schedule.half_times | rows | half_times
observed actual: run.half_times | rows
predicted observed relative_error inside: to_frame()
D4 margins margin slack: ["D.4"].margin | margin
reason reasons why explanation: ["D.4"].reason | reasons | reason | failing
verdicts: verdict | to_frame()
assumptions items values results: results | to_dict() | records | rows
omega_max max_omega omega_limit critical_omega: largest_omega
eta_max max_eta eta_limit: largest_eta
valid ok passed satisfied all_hold success result holds: holds | verdict
binds binding_assumption worst bottleneck: binding
value: margin | verdict
quantiles percentile percentiles ppf interval ci lower upper: quantile(level) | spread | rows
median mean: quantile(0.5) | mean | half_times
mus means centres centers: mu
sigmas std stds spreads: sigma
a A signals strengths eigenvalues: signal
d dimension ndim n_dims input_dim: dim
n_concepts num_concepts n_classes concepts k: s
data X points generate draw train_data dataset: sample(n_per_class, rng=0)
x_hat xhat x_test ood: test_point
from_data from_dataset from_points from_array fit: from_samples(X, labels)
from_a from_signals from_eigenvalues: from_signal(a)
U W0 initial W: initial | matrix | evaluate(t) | W
P K kappa C alpha gamma: constants
final_loss: test_loss
error: largest_error | error_bar | rows
keys: results | to_dict() | records
verdict verdicts holds: counts | ["D.27"].verdict | undecided
intervals enclosures: passages
eta_t: to_frame(unit="eta t")
""")


#: What a name of a module may be meant for.
_NAMES = _table("""
run iterate descend: simulate
table comparison: compare
plot show: predict(...).plot() | compare(...).plot()
evidence: the command swingby evidence
timing stages half_times: predict
task Task Sim sim: SIMTask
verify assumptions: check
prove ledger: audit
search counterexample: hunt
init initialize initialization normal randn: gaussian
train fit: train | training.train
learn: training.train
load read from_samples from_data: SIMTask.from_samples
from_signal signal: SIMTask.from_signal
gradient_descent gd euler flow dynamics: simulate
uniform random rand: gaussian
check_assumptions: check
version: __version__
align extremal_vectors: relu.align | relu.extremal_vectors
""")


def suggestion(name: str, names: Iterable[str]) -> str:
    """The known names close to an unknown name, as the end of a sentence."""
    return _question(difflib.get_close_matches(name, list(names), 2, 0.6))


def _question(alternatives: Iterable[str]) -> str:
    listed = " or ".join(alternatives)
    return f"; did you mean {listed}?" if listed else ""


def _first_name(alternative: str) -> str:
    match = re.match(r"\[|\w+", alternative)
    return match[0] if match else ""


def _applying(table: Mapping[str, Sequence[str]], name: str, names: Iterable[str]) -> list[str]:
    known = set(names)
    return [text for text in table.get(name, ()) if _first_name(text) in known]


def name_hint(name: str, names: Sequence[str]) -> str:
    """The end of a sentence about a module that has no such name."""
    alternatives = _applying(_NAMES, name, [*names, "__version__", "the"])
    listed = ", ".join(word for word in names if not word.startswith("_"))
    return _question(alternatives) or suggestion(name, names) or f"; it has {listed}"


def argument_hint(name: str, names: Sequence[str], title: str) -> str:
    """The end of a sentence that refuses an argument of the function `title`."""
    # The arguments of compare_network are mistaken as those of predict_network.
    keys = [f"{title}.{name}", f"{title.replace('compare_n', 'predict_n')}.{name}", name]
    for word, known in (("give", names), ("use", ["swingby"])):
        for alternative in itertools.chain(*(_applying(_ARGUMENTS, key, known) for key in keys)):
            return f"; {word} {alternative}"
    return suggestion(name, names) or f"; {title} takes {', '.join(names)}"


def option_hint(
    name: str, options: Sequence[str], title: str, others: Mapping[str, Sequence[str]]
) -> str:
    """The end of a sentence that refuses an option of a command; names are without dashes.

    `others`: the options of other commands.
    """
    word = name.replace("-", "_")
    for spelling in (word, word.lower()):
        if spelling in options:
            return f"; give --{spelling.replace('_', '-')}"
        for alternative in _applying(_ARGUMENTS, spelling, options):
            return f"; give --{alternative}"
    if elsewhere := [command for command, own in others.items() if word in own]:
        return f"; it is an option of {', '.join(elsewhere)}"
    dashed = [option.replace("_", "-") for option in options]
    close = difflib.get_close_matches(name.lower(), dashed, 3, 0.7)
    return _question(f"--{option}" for option in close) or (
        f"; {title} takes {', '.join(f'--{option}' for option in dashed)}"
    )


def _attribute_hint(owner: Hinted | type[Hinted], name: str) -> str:
    """The end of a sentence about a result, or a class of results, that has no such attribute."""
    if isinstance(owner, type):
        kind, members = owner, dict[str, Any]()
    else:
        kind, members = type(owner), vars(owner)
    names = sorted(word for word in {*dir(kind), *members} if not word.startswith("_"))
    line = re.fullmatch(r"([A-Za-z])_?(\d+)", name)
    if line and kind._has_ids:
        return f'; write ["{line[1].upper()}.{line[2]}"]'
    applying = _applying(_ATTRIBUTES, name, [*names, *("[" * kind._has_ids)])
    inside = [
        f"{member}.{name}"
        for member, value in members.items()
        if isinstance(value, Hinted) and hasattr(type(value), name)
    ]
    alternatives = list(dict.fromkeys([*inside, *applying]))[:_MOST]
    folded = {_folded(word): word for word in names}
    if not alternatives and _folded(name) in folded:
        alternatives = [folded[_folded(name)]]
    return _question(alternatives) or suggestion(name, names) or f"{_ALL} {', '.join(names)}"


def _folded(name: str) -> str:
    """A name without what is easily mistaken: capitals, underscores, a plural."""
    return name.lower().replace("_", "").rstrip("s")


class Hinted:
    """A result that says which attribute may be meant where one is not there."""

    #: Whether its records are looked up by their ids, such as ``["D.4"]``.
    _has_ids: ClassVar[bool] = False

    if not TYPE_CHECKING:  # type checkers refuse an unknown attribute by themselves

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_") or hasattr(type(self), name):
                return object.__getattribute__(self, name)  # raises what a property raised
            title = f"{type(self).__name__!r} object"
            raise AttributeError(f"{title} has no attribute {name!r}{_attribute_hint(self, name)}")

        def __getitem__(self, key: object) -> Any:
            name = key if isinstance(key, str) else ""
            hint = f"; write .{name}" if hasattr(self, name) else _attribute_hint(self, name)
            if hint.startswith(_ALL):  # a key is rarely meant for one of so many names
                holders = [word for word in _HOLDERS if hasattr(type(self), _first_name(word))]
                hint = f"; see .{' or .'.join(holders)}" if holders else hint
            raise TypeError(f"{type(self).__name__!r} object has attributes, not items{hint}")

        __iter__ = None  # items are not numbered either


class HintedType(type):
    """The type of a class that says so of names of its own, such as its constructors."""

    if not TYPE_CHECKING:

        def __getattr__(cls, name: str) -> Any:
            hint = "" if name.startswith("_") else _attribute_hint(cls, name)
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}{hint}")
