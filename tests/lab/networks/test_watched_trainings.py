"""Trainings of many styles: a part of ``python -m benchmarks.watching``, another each time."""

import numpy as np
import pytest

from tests.forked import sample

torch = pytest.importorskip("torch")

from benchmarks import watching  # noqa: E402

pytestmark = pytest.mark.torch
#: With what they print, to see which is which.
LEARNABLE = [entry for entry in watching.TRAININGS if entry.grade != "none"]
REFUSED = [entry for entry in watching.TRAININGS if entry.grade == "none"]


@pytest.mark.parametrize("training", sample(LEARNABLE), ids=lambda entry: entry.name)
def test_a_forecast_holds(training):
    torch.manual_seed(7)
    watch = training.loop(7)
    assert watch.grade == training.grade, watch.reason
    assert watch.closed
    assert not any("ended" in note for note in watch.notes)
    judged = watching.judged(watch)
    learned = np.isfinite(watch.learned)
    assert learned.sum() >= 2
    assert len(judged) >= 2
    errors, inside, _ = zip(*judged, strict=True)
    # Lower bounds may be too narrow.
    bounds = any(forecast.at_least for forecast in watch.forecasts)
    assert np.mean(inside) >= (0.7 if bounds else 1.0)
    noisy = any("minibatches" in note for note in watch.notes)
    assert max(errors) <= (0.08 if noisy else 0.02 if training.grade == "copy" else 0.0)


@pytest.mark.parametrize("training", REFUSED, ids=lambda entry: entry.name)
def test_what_is_not_forecast_has_a_reason(training):
    torch.manual_seed(7)
    watch = training.loop(7)
    assert watch.grade == "none"
    assert not any(forecast.void_from is None for forecast in watch.forecasts)
    word = {"random": "random", "clipped entry by entry": "clipped entry by entry"}
    assert word.get(training.name, training.name.split()[0]) in watch.reason


def test_the_list_is_long():
    names = [entry.name for entry in watching.TRAININGS]
    assert len({*names}) == len(names) >= 35
    assert sum(entry.grade == "law" for entry in watching.TRAININGS) >= 12
