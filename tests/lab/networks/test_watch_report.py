"""What a watch shows: text, HTML, a frame, a picture."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

import swingby
from tests.lab.networks.watched_data import chain, mse, points

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def watch():
    """A watch that saw a change of the learning rate, closed."""
    X, Y = points(1)
    model = chain(4, 8, 3, scale=0.02)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.04)
    watched = swingby.watch(model, optimizer, X, Y)
    for step in range(1, 261):
        optimizer.param_groups[0]["lr"] = 0.04 if step < 151 else 0.03
        optimizer.zero_grad()
        mse(model(X), Y).backward()
        optimizer.step()
    watched.close()
    return watched


def test_the_text_names_the_grade_first(watch):
    lines = str(watch).splitlines()
    assert lines[:2] == ["Watch", "law: that of linear chains under SGD"]
    assert lines[2].startswith("Step 260, closed; learned: first step with a share of 0.5")
    text = " ".join(str(watch).split())
    learned = watch.learned
    for k in np.flatnonzero(np.isfinite(learned)):
        assert f"{learned[k]:.0f}" in text
    assert "(void from 151)" in text
    assert "(off by +0)" in text
    assert repr(watch) == f"<Watch law: step 260, {np.isfinite(learned).sum()} of 3 learned>"
    assert "<table" in watch._repr_html_()
    assert "| component |" in watch.to_markdown().replace("  ", " ")


def test_many_forecasts_are_shortened():
    X, Y = points(1)
    model = chain(4, 8, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    watched = swingby.watch(model, optimizer, X, Y, at=range(1, 9))
    for _ in range(8):
        optimizer.zero_grad()
        mse(model(X), Y).backward()
        optimizer.step()
    assert len(watched.forecasts) == 9
    text = " ".join(str(watched).split())
    assert "6 forecasts more" in text
    assert "at 0:" in text
    assert "at 8:" in text
    assert "at 4:" not in text


def test_the_frame_has_a_row_for_each_component_and_forecast(watch):
    frame = watch.to_frame()
    assert len(watch.forecasts) == 2
    # The second was made when two components were learned.
    assert len(frame) == 4
    assert list(frame.columns) == [
        *("component", "explained", "share", "learned", "not_before", "grade", "made_at"),
        *("forecast", "error", "void_from", "off_by", "inside"),
    ]
    answerable = frame[frame.inside.notna()]
    assert len(answerable) == np.isfinite(watch.learned).sum()
    assert (answerable.off_by == 0).all()
    assert answerable.inside.all()
    assert frame.drop_duplicates("component").explained.sum() == pytest.approx(1)


def test_the_frame_of_a_watch_without_forecasts():
    X, Y = points()
    model = chain(4, 8, 3)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=0.01)
    frame = swingby.watch(model, optimizer, X, Y).to_frame()
    assert list(frame.grade) == ["none"] * 3
    assert frame.forecast.isna().all()


def test_the_picture_has_shares_forecasts_and_the_staircase(watch):
    ax = watch.plot()
    lines = {line.get_label(): line for line in ax.get_lines()}
    for k in range(3):
        share = 100 * watch.explained[k]
        line = lines[f"component {k + 1} ({share:.2g} %)"]
        assert np.array_equal(line.get_xdata(), watch.steps)
        assert np.array_equal(line.get_ydata(), watch.shares[:, k])
    bars = [container.lines[0].get_xdata()[0] for container in ax.containers]
    expected = [time for forecast in watch.forecasts for time in forecast.half_times]
    assert sorted(bars) == sorted(expected)
    steps, losses = lines["staircase"].get_data()
    # At its foot lies the loss of the best linear fit, over that of the start.
    X, Y = (entry.numpy() for entry in points(1))
    fit = X @ np.linalg.lstsq(X, Y, rcond=None)[0]
    assert losses[-1] == pytest.approx(((Y - fit) ** 2).mean() / watch.train_loss[0], rel=0.02)
    assert list(steps) == sorted([0.0, *watch.forecasts[-1].half_times])
    given = plt.figure().add_subplot()
    assert watch.plot(given) is given
    with pytest.raises(swingby.InvalidInput, match="ax must be axes"):
        watch.plot("picture.png")


def test_arrays_of_a_watch_are_its_own_affair(watch):
    before = watch.learned
    watch.learned[:] = 0
    assert np.array_equal(watch.learned, before, equal_nan=True)
    with pytest.raises(ValueError, match="read-only"):
        watch.forecasts[0].half_times[0] = 0
    with pytest.raises(AttributeError, match=r"did you mean learned or forecasts\[-1\].half_times"):
        _ = watch.half_times
