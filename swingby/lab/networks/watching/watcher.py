"""The hook on an optimizer: what it looks at and when, and when forecasts are made and void."""

from __future__ import annotations

import itertools
import math
import time
import weakref
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from swingby.errors import SwingbyError
from swingby.lab.networks.watching.forecaster import (
    LEAST_GRADIENTS,
    MANY_POINTS,
    Outlook,
    affordable,
    made_forecast,
)
from swingby.lab.networks.watching.grades import loss_multiple, why_no_copy, why_no_law
from swingby.lab.networks.watching.gradient_check import Comparison, GradientCheck
from swingby.lab.networks.watching.mode_forecast import ModeForecast
from swingby.lab.networks.watching.observer import Observer
from swingby.lab.networks.watching.update_rule import (
    GroupRule,
    LearningRates,
    group_rules,
    is_sgd,
    parameters_of,
)
from swingby.lab.networks.watching.watch_report import watch_grid, watch_records
from swingby.lab.networks.watching.weight_changes import WeightChanges
from swingby.report import Framed, Grid
from swingby.report.pictures import Size, drawn
from swingby.theory.numbers import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Looks at the outputs are this part of the steps apart.
_APART = 1.08
#: Steps at which gradients are compared start with these digits.
_DIGITS = (1, 2, 3, 5)
#: Relative change of a learning rate from which a forecast is made again.
_NEW_RATE = 0.1
#: Relative difference of a learning rate from that of a schedule.
_SAME_SCHEDULE = 1e-6
#: What a forecast by the law costs, in gradients of the training.
_LAW_GRADIENTS = 100
#: The multiple of minibatches is looked at again after so many times the steps.
_LATER = 1.5
#: How a multiple of the loss is said.
_TIMES = "times those of the loss that was given"
#: So many steps at which the learning rate changed are listed.
_MOST_STEPS = 5
#: Share of a component from which its rise is under way.
_RISING = 0.2


class Watch(Framed):
    """A watched training: forecasts and what came. Made by :func:`swingby.watch`.

    It is printed at any time; ``close()``, or the end of a ``with`` block, ends it.
    """

    def __init__(
        self,
        observer: Observer,
        optimizer: Any,
        *,
        at: Iterable[int],
        level: float,
        steps: int,
        share: float,
        schedule: Any,
        every: int,
    ) -> None:
        self.level = level
        #: Steps of the optimizer since the watch began.
        self.step = 0
        self._learned: Floats = np.full(len(observer.data), np.nan)
        self._not_before: Floats = np.full(len(observer.data), np.nan)
        self._observer = observer
        self._optimizer = weakref.ref(optimizer)
        self._check = GradientCheck(
            observer, [entry for entry in parameters_of(optimizer) if entry.requires_grad]
        )
        self._outlook = Outlook(observer, self._check, level, float(steps), share, schedule, every)
        self._follows = schedule is not None
        self._rates = LearningRates(optimizer, 0, schedule, every)
        self._last_rates: list[Any] = _rates_of(optimizer)
        self._rules = group_rules(optimizer)
        self._at = frozenset(at)
        self._rising = set[int]()
        self._looked_again = 1
        self._sized = False
        self._forecasts: list[ModeForecast] = []
        self._notes: list[str] = []
        self._rate_changes: list[tuple[int, float, float]] = []
        self._looks: list[tuple[int, Floats, float]] = []
        self._spent = 0
        #: Seconds that looks, comparisons and forecasts took.
        self.seconds = 0.0
        self._no_copy = why_no_copy(observer, optimizer)
        self._no_law = "" if self._no_copy else why_no_law(observer, optimizer)
        if schedule is not None and not self._no_law:
            self._no_law = "the learning rate follows a schedule"
        self._next = 1
        self._handle: Any = None
        #: The hook before the first step.
        self._first: Any = None
        self._changes = WeightChanges(parameters_of(optimizer))
        #: The last step at which weights were changed by something else.
        self._changed = -2
        self._begin(optimizer)

    def _begin(self, optimizer: Any) -> None:
        begin = time.perf_counter()
        self._look()
        if self.grade != "none":
            if not self._no_law or len(self._observer.X) <= MANY_POINTS:
                self._renew(optimizer)
            self._check.arm()
        if self._outlook.schedule is None and "initial_lr" in optimizer.param_groups[0]:
            self._notes.append(
                "a scheduler is attached to the optimizer; with watch(..., schedule=scheduler)"
                " forecasts follow it"
            )
        self.seconds += time.perf_counter() - begin
        own = weakref.ref(self)

        def after_step(stepped: Any, arguments: Any, keywords: Any) -> None:
            watch = own()
            if watch is not None:
                watch._after_step(stepped)

        def before_step(stepped: Any, arguments: Any, keywords: Any) -> None:
            watch = own()
            if watch is not None:
                watch._changes.before_first_step()

        self._first = optimizer.register_step_pre_hook(before_step)
        self._handle = optimizer.register_step_post_hook(after_step)
        # A watch that nobody has any more leaves no hook.
        for handle in (self._first, self._handle):
            weakref.finalize(self, handle.remove).atexit = False

    @property
    def grade(self) -> str:
        """Which forecasts there are: "law", "copy" or "none"."""
        if self._no_copy:
            return "none"
        current = self.forecasts[-1].grade if self.forecasts else "law"
        return "copy" if self._no_law else current

    @property
    def reason(self) -> str:
        """Why there is no better grade; "" for the law."""
        if self._no_copy or self._no_law:
            return self._no_copy or self._no_law
        return (
            "" if self.grade == "law" else "the law is undecided, beyond its budget or by rounding"
        )

    @property
    def learned(self) -> Floats:
        """First step at which each component was learned, nan where it is not yet, (modes,)."""
        return self._learned.copy()

    @property
    def not_before(self) -> Floats:
        """The last look before that, (modes,); the step is exact where this is one less."""
        return self._not_before.copy()

    @property
    def forecasts(self) -> tuple[ModeForecast, ...]:
        """All forecasts, as they were made."""
        return tuple(self._forecasts)

    @property
    def notes(self) -> tuple[str, ...]:
        """What happened on the way that a reader should know."""
        if not self._rate_changes:
            return tuple(self._notes)
        steps = [f"{step}" for step, _, _ in self._rate_changes]
        if len(steps) > _MOST_STEPS:
            steps = [*steps[: _MOST_STEPS - 2], "...", steps[-1]]
        first, last = self._rate_changes[0][1], self._rate_changes[-1][2]
        words = f"the learning rate went from {first:.4g} to {last:.4g}, in step {', '.join(steps)}"
        return (*self._notes, f"{words}: what was forecast before is void from there")

    @property
    def explained(self) -> Floats:
        """Share of the variance of the best linear fit that each component explains."""
        return self._observer.data.explained

    @property
    def omitted(self) -> int:
        """How many components are left out, each of which explains less than 0.1 %."""
        return self._observer.data.omitted

    @property
    def falls(self) -> Floats | None:
        """By how much the loss falls with each component, if it is a multiple of the square."""
        multiple = loss_multiple(self._observer.loss, self._observer.Y)
        if multiple is None:
            return None
        left = (1 - self.shares[0]) ** 2
        return np.asarray(multiple / 2 * self._observer.data.modes.sigma**2 * left)

    @property
    def steps(self) -> Any:
        """Steps at which the outputs were looked at, (n,)."""
        return np.array([step for step, _, _ in self._looks], dtype=np.int64)

    @property
    def shares(self) -> Floats:
        """All a_k there, (n, modes)."""
        return np.array([shares for _, shares, _ in self._looks])

    @property
    def train_loss(self) -> Floats:
        """The loss at X, Y there, (n,)."""
        return np.array([loss for _, _, loss in self._looks])

    @property
    def closed(self) -> bool:
        """Whether the watch has ended."""
        return self._handle is None

    def forecast(self) -> ModeForecast:
        """Make a forecast from the training as it stands, and return it."""
        optimizer = self._optimizer()
        if self.closed or optimizer is None:
            raise SwingbyError("the watch is closed: swingby.watch(...) begins another")
        if self.grade == "none":
            raise SwingbyError(f"there is no forecast: {self.reason}")
        if self._undecided:
            raise SwingbyError(
                "the loss's multiple is not known yet: it takes more minibatches, or larger ones"
            )
        begin = time.perf_counter()
        self._look()
        self._renew(optimizer)
        self.seconds += time.perf_counter() - begin
        return self._forecasts[-1]

    def close(self) -> None:
        """Take the hook off the optimizer; what was seen stays."""
        if self._handle is not None:
            self._first.remove()
            self._handle.remove()
            self._handle = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        learned = int(np.isfinite(self.learned).sum())
        count = f"{learned} of {len(self.learned)} learned"
        return f"<Watch {self.grade}: step {self.step}, {count}>"

    def to_grid(self) -> Grid:
        """A row for each component: how far it is, when it was learned, and the forecasts."""
        return watch_grid(self)

    def records(self) -> Sequence[Mapping[str, Any]]:
        """A row for each component and forecast."""
        return watch_records(self)

    def plot(self, ax: Axes | None = None, *, size: Size = None) -> Axes:
        """Shares over steps, forecasts as marks with bars, and the loss with its staircase.

        `size`: ``"column"`` or ``"text"`` of a paper, a width or (width, height), in inches or as
        ``"240pt"``.
        """
        from swingby.lab.networks.watching.watch_picture import draw_watch

        return drawn(lambda axes: draw_watch(self, axes), ax, size)

    def _after_step(self, optimizer: Any) -> None:
        """After each step of the optimizer: next to nothing, most of the time."""
        self.step += 1
        if self.step < self._next:
            # Whether a schedule is followed is seen at looks.
            if self._follows:
                return
            # One group is compared without a list: this is what each step costs.
            groups, last = optimizer.param_groups, self._last_rates
            if len(groups) == len(last) == 1 and groups[0]["lr"] == last[0]:
                return
            rates = _rates_of(optimizer)
            if rates == last or self._drifts(rates):
                return
        begin = time.perf_counter()
        try:
            self._attend(optimizer)
        except Exception as error:
            # A training does not end because it is watched.
            self._notes.append(f"the watch ended at step {self.step}: {error}")
            self.close()
        self.seconds += time.perf_counter() - begin

    def _drifts(self, rates: list[Any]) -> bool:
        """Whether rates are near to those of the last forecast, which is void since they moved."""
        self._last_rates = rates
        if not self._forecasts or self._forecasts[-1].void_from is None:
            return not self._forecasts
        return self._spent > self._outlook.budget or all(
            abs(rate / rule.lr - 1) <= _NEW_RATE if rule.lr else not rate
            for rate, rule in zip(rates, self._rules, strict=False)
        )

    def _attend(self, optimizer: Any) -> None:
        self._first.remove()
        if self._observer.model is None:
            self._notes.append(f"the watch ended at step {self.step}: the model is gone")
            self.close()
            return
        self._last_rates = _rates_of(optimizer)
        rules = group_rules(optimizer)
        since = self._changes.seen(self.step)
        if since is not None:
            # The gradient that was expected is that of other weights.
            self._check.disarm()
        if self._check.armed:
            revision = self._check.revision
            self._judge(self._check.compare(), optimizer)
            if self._check.revision != revision and self.grade != "none":
                self._of_epochs(optimizer)
        elif self._check.noisy and self.grade != "none":
            comparison = self._check.clipped()
            if comparison is not None:
                self._judge(comparison, optimizer)
        if self.grade != "none" and rules != self._rules:
            self._rules_changed(rules, optimizer)
        elif self.grade != "none" and since is not None:
            self._weights_changed(since, optimizer)
        if self.step < self._next:
            return
        shares = self._look()
        if not np.isfinite(shares).all():
            self._withdraw("the outputs are not finite")
            self.close()
            return
        if self.step in self._at and self.grade != "none" and self._last_made != self.step:
            self._renew(optimizer)
        self._next = self._next_look()
        if self.grade != "none" and (self._compares_next(shares) or since is not None):
            self._check.arm()
            self._next = self.step + 1
        elif self._check.noisy and self._check.at_largest:
            # A clip shows where gradients are largest.
            self._next = self.step + 1

    @property
    def _undecided(self) -> bool:
        """Whether the multiple of the loss in minibatches is still to be found out."""
        return self._check.noisy and self._check.batch is None

    @property
    def _last_made(self) -> int:
        return self._forecasts[-1].made_at if self._forecasts else -1

    def _look(self) -> Floats:
        """Look at the outputs, and note what has been learned."""
        shares, loss = self._observer.look()
        if self._looks and self._looks[-1][0] == self.step:
            return shares
        last = self._looks[-1][0] if self._looks else -1
        new = np.isnan(self._learned) & (shares >= self.level)
        self._learned[new], self._not_before[new] = self.step, last
        self._looks.append((self.step, shares, loss))
        return shares

    def _next_look(self) -> int:
        """A few percent on, but step by step where a component is about to be learned."""
        step = self.step
        steps = [max(step + 1, int(step * _APART)), *(at for at in self._at if at > step)]
        if self._forecasts:
            forecast = self._forecasts[-1]
            open_times = forecast.half_times[np.isnan(self._learned)]
            ahead = open_times[np.isfinite(open_times) & (open_times > step + 1)]
            steps += [max(int(value) - 1, step + 1) for value in ahead]
        now = self._looks[-1][1]
        for earlier, old in self._earlier_looks():
            for k in np.flatnonzero(np.isnan(self._learned)):
                wait = _steps_to(self.level, old[k], now[k], step - earlier)
                if math.isfinite(wait):
                    # Half of the wait, as the rise may be faster than it was.
                    steps.append(step + max(1, int(wait / 2)))
        return min(steps)

    def _earlier_looks(self) -> list[tuple[int, Floats]]:
        """Step and shares of the look before, and of one so much earlier that noise is less."""
        before = [(step, shares) for step, shares, _ in self._looks[-2:-1]]
        if self._check.noisy:
            looks = reversed(self._looks)
            far = (look for look in looks if look[0] * _APART <= self.step)
            before += [(step, shares) for step, shares, _ in itertools.islice(far, 1)]
        return before

    def _compares_next(self, shares: Floats) -> bool:
        """Whether the gradient of the next step is compared with that of the loss."""
        following = self.step + 1
        rising = {int(k) for k in np.flatnonzero(shares >= _RISING)} - self._rising
        self._rising |= rising
        if self._check.noisy:
            if rising or following >= _LATER * self._looked_again:
                self._looked_again = following
                self._check.look_again()
            return self._check.compares
        digit = following / 10 ** math.floor(math.log10(following))
        return bool(rising) or digit in _DIGITS

    def _judge(self, comparison: Comparison, optimizer: Any) -> None:
        """Act on a comparison of gradients."""
        check, step = self._check, self.step
        if comparison is Comparison.SAME:
            if not self._forecasts:
                self._renew(optimizer)
        elif comparison is Comparison.SCALED:
            self._void(1, "the loss is another multiple")
            words = f"gradients are {check.scale:.4g} {_TIMES}"
            self._notes.append(f"step {step}: {words}")
            self._renew(optimizer)
        elif comparison is Comparison.CLIPPED and check.noisy:
            self._withdraw(f"gradients of minibatches are clipped to the norm {check.clip:.4g}")
        elif comparison is Comparison.CLIPPED:
            self._void(1 if step <= 3 else step, "gradients are clipped")
            if check.scale == 1:
                # What looked like a multiple was the clip.
                self._notes = [note for note in self._notes if _TIMES not in note]
            self._notes.append(f"step {step}: gradients are clipped to the norm {check.clip:.4g}")
            self._no_law = self._no_law or "gradients are clipped"
            self._renew(optimizer)
        elif comparison is Comparison.CUT:
            self._withdraw("gradients are clipped entry by entry")
        elif comparison is Comparison.CHANGED:
            off = f"{100 * check.off:.2g} %"
            self._withdraw(f"gradients are {off} off those of the loss at X, Y, and were not")
        elif comparison is Comparison.FOREIGN:
            self._withdraw(
                "gradients are off every multiple of those of the loss at X, Y, in the same"
                " direction from step to step: another loss (give it as loss=), other points, or a"
                " penalty that the loop adds"
            )
        elif not is_sgd(optimizer):
            name = type(optimizer).__name__
            self._withdraw(f"{name} in minibatches: its second moment holds their noise")
        elif check.batch is not None:
            if not self._sized:
                self._sized = True
                check.listen(affordable(self._outlook))
                self._of_minibatches(check.batch, optimizer)
        elif step == 1:
            self._void(1, "minibatches")
            words = "forecasts follow once their size and the loss's multiple are known"
            self._notes.append(f"step 1: minibatches; {words}")

    def _of_minibatches(self, batch: float, optimizer: Any) -> None:
        """Forecast again, once the size of minibatches is known."""
        words = f"minibatches of about {batch:.0f} points{self._multiple_text()}"
        self._notes.append(f"step {self.step}: {words}; bars hold draws with replacement")
        if affordable(self._outlook) < LEAST_GRADIENTS:
            few = (
                f"copies of {len(self._observer.X)} points would cost more than"
                f" {self._outlook.share:.0%} of the run: give X[:1000] and Y[:1000], or a larger"
                " share="
            )
            self._notes[-1] = f"step {self.step}: {words}; {few}"
            if self._no_law:
                self._no_copy = few
                return
        self._renew(optimizer)

    def _multiple_text(self) -> str:
        """What is known of the multiple of the loss in minibatches."""
        check = self._check
        if check.scale == 1 and not check.uncertainty:
            return ""
        open_part = f" (+- {check.uncertainty:.0%})" if check.uncertainty else ""
        return f", gradients {check.scale:.4g}{open_part} {_TIMES}"

    def _of_epochs(self, optimizer: Any) -> None:
        """Forecast again, once it is known whether minibatches are those of epochs."""
        epoch, words = self._check.epoch, f"minibatches of about {self._check.batch:.0f} points"
        words += self._multiple_text()
        if epoch is not None:
            words += f", each point once in {epoch} steps: bars are at least so wide"
        self._notes.append(f"step {self.step}: {words}")
        self._renew(optimizer)

    def _rules_changed(self, rules: tuple[GroupRule, ...], optimizer: Any) -> None:
        """Void what was forecast for other learning rates or settings, and forecast again."""
        now, before = ([rule.lr for rule in listed] for listed in (rules, self._rules))
        if len(now) != len(before):
            self._withdraw("the optimizer has other parameter groups")
            return
        if not self._rates.constant:
            expected = self._rates.at(self.step - 1)
            current = [now, [rule.memory for rule in rules]]
            if np.allclose(current, expected, rtol=_SAME_SCHEDULE, atol=0):
                return
            self._rates = LearningRates(optimizer, self.step)
            self._outlook, self._follows = replace(self._outlook, schedule=None), False
            row = int(np.allclose(now, expected[0], rtol=_SAME_SCHEDULE, atol=0))
            name = ("the learning rate", "the momentum")[row]
            self._notes.append(
                f"step {self.step}: {name} is {current[row][0]:.4g}, not the"
                f" {expected[row][0]:.4g} of the schedule"
            )
        changed = "the learning rate" if now != before else "a setting of the optimizer"
        if self._void(self.step, f"{changed} changed"):
            if now != before:
                self._rate_changes.append((self.step, before[0], now[0]))
            else:
                self._notes.append(f"step {self.step}: {changed} changed; forecasts are void")
        moved = any(
            not old or abs(new / old - 1) > _NEW_RATE for new, old in zip(now, before, strict=True)
        )
        if (moved or now == before) and self._spent <= self._outlook.budget:
            self._look()
            self._renew(optimizer)

    def _weights_changed(self, since: int, optimizer: Any) -> None:
        """Void what was forecast for other weights, and forecast again, but not at every look."""
        again, self._changed = since <= self._changed + 1, self.step
        if again:
            self._withdraw("the loop changes the weights between steps of the optimizer")
            return
        self._void(since, "the weights were changed")
        self._notes.append(
            f"step {self.step}: the weights were changed, by something else than the optimizer;"
            " forecasts are void"
        )
        self._look()
        self._renew(optimizer)

    def _renew(self, optimizer: Any) -> None:
        """Make a forecast from now on."""
        if self._undecided:
            return
        forecast, spent = made_forecast(
            self._outlook, optimizer, self.step, lawful=not self._no_law
        )
        self._spent += max(spent, _LAW_GRADIENTS)
        self._rules = group_rules(optimizer)
        self._forecasts.append(forecast)

    def _void(self, step: int, reason: str) -> bool:
        """End what all forecasts are answerable for; whether there was one."""
        fresh = [forecast.void_from is None for forecast in self._forecasts]
        self._forecasts = [
            replace(forecast, void_from=step, reason=reason) if new else forecast
            for forecast, new in zip(self._forecasts, fresh, strict=True)
        ]
        return any(fresh)

    def _withdraw(self, reason: str) -> None:
        """From now on there is no forecast."""
        self._void(1 if self.step <= 3 else self.step, reason)
        self._notes.append(f"step {self.step}: {reason}; no forecast")
        self._no_copy = reason


def _rates_of(optimizer: Any) -> list[Any]:
    return [group["lr"] for group in optimizer.param_groups]


def _steps_to(level: float, old: float, now: float, apart: int) -> float:
    """Steps to a level at the growth of the logit between two looks; inf where it does not grow."""
    if not 0 < old < now < level:
        return math.inf
    low, high, end = (math.log(value / (1 - value)) for value in (old, now, level))
    return (end - high) / (high - low) * apart
