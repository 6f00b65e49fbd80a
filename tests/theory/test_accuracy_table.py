"""What the accuracy table counts, on predictions and runs made by hand; what its observer sees."""

import json
import math

import numpy as np
import pytest

from benchmarks import accuracy
from benchmarks.accuracy import Predicted, Tally, quantile
from benchmarks.instances import CELLS, Cell, instances
from benchmarks.observe import Observed, observe
from tests.forked import FULL
from tests.theory import crossings

NAN, INF = math.nan, math.inf


def law(crossing, error, trapped=(False, False), undecided=(False, False), blow_up=INF, bar=NAN):
    arrays = [np.array(values) for values in (crossing, error, trapped, undecided)]
    return Predicted(*arrays, blow_up, bar, {})


def run(crossing, learned=(True, True), runaway=INF):
    crossing = np.array(crossing)
    return Observed(crossing, np.ceil(crossing), np.array(learned), runaway, False, np.eye(2))


#: What is predicted and what is seen, and what the table counts of it.
COUNTED = {
    "inside its bar and outside": (
        law([10.4, 99.9], [0.2, 0.2]),
        run([10.5, 100.2]),
        # 99.9 +- 0.2 says that the step may be 100 or 101; 101 is what is seen.
        {"covered": [True, False], "exact": [True, False], "overconfident": 0},
    ),
    "no whole step within the bar is the one": (
        law([10.4, 99.5], [0.1, 0.2]),
        run([10.4, 100.2]),
        {"covered": [True, False], "overconfident": 1},
    ),
    "before a runaway that the law cuts off": (
        law([10.0, NAN], [0.1, NAN], (False, True)),
        run([10.0, 20.5], runaway=30.0),
        {"unmatched": 1, "distance": [0.0, INF], "covered": [True, False], "overconfident": 1}
        | {"lost": 1, "agree": 1, "blind": 0},
    ),
    "a doubt covers what it is about, with an infinite bar": (
        law([10.0, 20.0], [0.1, 0.1], undecided=(False, True)),
        run([10.0, NAN], runaway=30.0),
        {"covered": [True, True], "bar": [0.1, INF], "missed": 1, "undecided": 1}
        | {"blind": 0, "unmatched": 1},
    ),
    "predicted and never seen": (
        law([10.0, 29.0], [0.1, 0.5]),
        run([10.0, NAN], runaway=28.0),
        {"covered": [True, False], "missed": 1, "blind": 1},
    ),
    "where a run settles each concept has to be right": (
        law([10.0, NAN], [0.1, NAN], trapped=(False, True)),
        run([NAN, 12.0], learned=(False, True)),
        {"agree": 0, "missed": 1, "false": 1, "blind": 1},
    ),
    **{
        f"a runaway with a bar of {bar}": (
            law([10.0, NAN], [0.1, INF], blow_up=29.0, bar=bar),
            run([10.0, NAN], runaway=30.0),
            {"runaway": [1.0], "runaway_covered": [covered]},
        )
        for bar, covered in ((2.0, True), (0.5, False), (NAN, False))
    },
}


@pytest.mark.parametrize("case", COUNTED)
def test_what_is_counted(case):
    predicted, observed, expected = COUNTED[case]
    tally = Tally()
    tally.add(predicted, observed)
    assert {name: getattr(tally, name) for name in expected} == expected


def test_a_miss_is_said_in_words():
    wrong = Tally().add(law([10.4, 99.9], [0.2, 0.2]), run([10.5, 100.2]))
    off = ["concept 1 off by 0.1", "concept 2 off by 0.3"]
    assert wrong == [*off, "concept 2 outside its bar of 0.2"]


def test_quantiles_count_what_is_infinite():
    assert quantile([1.0, INF, 2.0], 0.5) == 2.0
    assert quantile([1.0, INF, 2.0], 0.99) == INF
    assert math.isnan(quantile([], 0.5))


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.label)
def test_instances_are_in_the_range_that_the_row_names(cell):
    for instance, again in zip(instances(cell, 3), instances(cell, 4), strict=False):
        assert np.array_equal(instance.U0, again.U0)
        assert cell.sizes[0] <= len(instance.signal) <= cell.sizes[1]
        assert instance.signal.max() == pytest.approx(1.0, abs=1e-15)
        assert cell.steps[0] <= instance.eta <= cell.steps[1]
        assert (
            cell.omega[0]
            <= np.trace(instance.W0) / len(instance.W0) * (1 + 1e-9)
            <= cell.omega[1] * 1.01
        )
        if cell.tied:
            assert len(set(instance.signal.tolist())) < len(instance.signal)


def test_a_miss_can_be_replayed_to_the_digit(tmp_path, capsys):
    cell = Cell("made to miss", (0.05, 0.1), (1.0, 1.05), steps=(0.3, 0.5), dynamics=("gd",))
    file = tmp_path / "misses.jsonl"
    grid = accuracy.table(2, [cell], file)
    assert len(grid.rows) == 1
    misses = [json.loads(line) for line in file.read_text().splitlines()]
    for miss, instance in zip(misses, instances(cell, 2), strict=False):
        assert np.array_equal(miss["U0"], instance.U0)
        observed = observe(instance.signal, instance.eta, instance.U0, instance.W0, "gd")
        assert np.array_equal(miss["observed"], observed.crossing)
    accuracy.replay(file)
    assert capsys.readouterr().out.count("law [") == len(misses)


def test_a_page_keeps_its_text(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("before\n" + accuracy.MARKS[0] + "old\n" + accuracy.MARKS[1] + "\nafter\n")
    cell = Cell("one", (1e-3, 1e-2), dynamics=("flow",))
    accuracy.write(accuracy.table(1, [cell]), page)
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    assert "old" not in text
    assert "| one | flow | 1 (0) |" in text
    second_cell = Cell("other", (1e-3, 1e-2), dynamics=("flow",))
    accuracy.write(accuracy.table(1, [cell, second_cell]), page)
    both = page.read_text().splitlines()
    accuracy.write(accuracy.table(2, [second_cell]), page, whole=False)
    changed = [line for line in page.read_text().splitlines() if line not in both]
    assert [line[:22] for line in changed] == ["| other | flow | 2 (0)"]


@pytest.mark.parametrize("dynamics", ["euler", "gd", "flow"])
@pytest.mark.parametrize("label", ["omega 1e-2 to 1e-1", "equal signals", "rank one", "drift"])
def test_the_observer_of_the_accuracy_table_sees_what_the_witnesses_see(label, dynamics):
    cell = next(cell for cell in CELLS if cell.label == label)
    for instance in instances(cell, 3 if FULL else 2):
        run = observe(instance.signal, instance.eta, instance.U0, instance.W0, dynamics)
        last = np.nanmax(run.crossing) + 5
        if dynamics == "flow":
            witnessed = crossings.flow(instance.signal, instance.U0, instance.eta, last)
        else:
            start = instance.W0 if dynamics == "euler" else instance.U0
            witnessed = crossings.brute(instance.signal, start, instance.eta, dynamics, int(last))
        assert run.crossing == pytest.approx(witnessed, abs=1e-4, nan_ok=True)
        assert run.half_times == pytest.approx(np.ceil(run.crossing), nan_ok=True)


def test_the_observer_follows_a_runaway_to_the_last_finite_step():
    signal, W0 = np.array([1.0, 0.5]), np.array([[1e-3, 1.1e-3], [1.1e-3, 1e-3]])
    run = observe(signal, 0.05, np.eye(2), W0, "euler")
    with np.errstate(all="ignore"):
        steps = crossings.steps_of(signal, W0, 0.05, "euler")
        last = next(n for n, values in enumerate(steps) if not np.isfinite(values).all()) - 1
    assert run.runaway == pytest.approx(last, abs=1)
    assert not run.learned.any()
    assert math.isnan(run.crossing[1])
