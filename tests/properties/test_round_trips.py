"""Whatever is written can be read again, and says the same; whatever is printed can be parsed."""

import csv
import io
import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import swingby
from swingby.cli.given import read_matrix
from swingby.testing import initializations, satisfying, step_sizes, tasks
from swingby.theory import numbers

fractions = st.fractions(Fraction(-(10**12)), Fraction(10**12), max_denominator=10**12)


@given(fractions, st.integers(-3000, 3000))
def test_a_number_survives_its_text(value, exponent):
    """Quotients and decimals of any size denote exactly the rational that was printed."""
    assert numbers.exact(str(value), "x") == value
    decimal = f"{value.numerator}e{exponent}"
    assert numbers.exact(decimal, "x") == value.numerator * Fraction(10) ** exponent


@given(fractions.filter(bool), st.integers(-3000, 3000), st.integers(2, 15))
def test_a_shown_number_is_within_its_last_digit(value, exponent, digits):
    """scientific() rounds: what it prints denotes a number that differs by half a unit at most."""
    exact = value * Fraction(10) ** exponent
    again = numbers.exact(numbers.scientific(exact, digits), "x")
    assert abs(again - exact) <= abs(exact) * Fraction(10) ** (1 - digits) / 2 * (
        1 + Fraction(1, 9)
    )


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_is_the_binary_number_it_stores(value):
    assert float(numbers.exact(value, "x")) == value
    assert numbers.exact(repr(value), "x") == Fraction(repr(value))


@given(st.data())
def test_a_matrix_survives_the_command_line_and_its_files(tmp_path_factory, data):
    """Rows as text, CSV, JSON and npy give the matrix back, bit for bit."""
    task = data.draw(tasks())
    W0 = data.draw(initializations(task))
    rows = W0.matrix.tolist()
    text = ";".join(",".join(map(repr, row)) for row in rows)
    folder = tmp_path_factory.mktemp("matrix")
    table = io.StringIO()
    csv.writer(table).writerows(rows)
    (folder / "W.csv").write_text(table.getvalue(), encoding="utf-8")
    (folder / "W.json").write_text(json.dumps(rows), encoding="utf-8")
    np.save(folder / "W.npy", W0.matrix)
    for source in (text, *(str(folder / f"W.{ending}") for ending in ("csv", "json", "npy"))):
        assert np.array_equal(np.asarray(read_matrix(source)), W0.matrix)
    digits = [[Fraction(repr(entry)) for entry in row] for row in rows]
    for source in (text, str(folder / "W.csv"), str(folder / "W.json")):
        assert read_matrix(source, exact=True) == digits
    omega = numbers.scientific(W0.omega, 20)
    scaled = {"matrix": rows, "omega": omega}
    (folder / "S.json").write_text(json.dumps(scaled), encoding="utf-8")
    assert read_matrix(str(folder / "S.json")) == swingby.Scaled(rows, omega)


@pytest.mark.parametrize("ending", ["csv", "json"])
def test_no_digit_of_a_matrix_is_lost_on_the_way(ending, tmp_path):
    """Below the float range an entry is exact or refused, and never 0; a blank is no entry."""
    path = tmp_path / f"W.{ending}"

    def written(*rows):
        parts = [", ".join(row) for row in rows]
        text = "\n".join(parts) if ending == "csv" else f"[{', '.join(f'[{x}]' for x in parts)}]"
        path.write_text(text)
        return str(path)

    source = written(("1e-400", "0"), ("0", "0.1"))
    tiny, tenth = Fraction(1, 10**400), Fraction(1, 10)
    assert read_matrix(source, exact=True) == [[tiny, 0], [0, tenth]]
    for rows in [
        (("1e-400", "0"), ("0", "0.1")),
        (("1e400", "0"), ("0", "1")),
        (("1", "", "0"), ("0", "", "1")),
        (("NaN", "0"), ("0", "1")),
        (("true", "0"), ("0", "1")),
    ]:
        with pytest.raises(swingby.InvalidInput, match="w0"):
            read_matrix(written(*rows))


@pytest.mark.parametrize(
    "text",
    [
        '{"matrix": [[1]], "omega": "1e-5", "omega": "1e-4"}',
        '{"matrix": 1, "omega": 1}',
        '{"matrix": [1], "omega": 1}',
        "[[[1]]]",
        '[{"a": 1}]',
        "1",
    ],
)
def test_json_that_is_no_matrix(text, tmp_path):
    (tmp_path / "W.json").write_text(text)
    with pytest.raises(swingby.InvalidInput):
        read_matrix(str(tmp_path / "W.json"))


@given(st.data())
def test_a_task_survives_its_exact_numbers(data):
    """mu and sigma as text make the same task, with the same exact signal."""
    task = data.draw(tasks())
    again = swingby.SIMTask(list(map(str, task.mu)), list(map(str, task.sigma)), task.dim)
    assert again == task
    assert again.exact_signal == task.exact_signal


@given(st.data(), st.sampled_from(["euler", "gd", "flow"]))
def test_a_run_survives_its_file(tmp_path_factory, data, dynamics):
    """Trajectory, events and outcome come back from the npz file as they were."""
    task = data.draw(tasks())
    W0, eta = data.draw(initializations(task)), data.draw(step_sizes(task))
    run = swingby.simulate(task, W0, eta, steps=50, dynamics=dynamics)
    again = swingby.Run.load(run.save(tmp_path_factory.mktemp("run") / "run"))
    assert again.to_dict() == run.to_dict()
    assert np.array_equal(again.W, run.W)
    assert np.array_equal(again.half_times, run.half_times, equal_nan=True)
    assert json.loads(json.dumps(run.to_dict())) == run.to_dict()


@given(satisfying("printed"))
def test_a_report_is_json_with_the_numbers_it_was_made_from(setting):
    """omega, eta and the verdicts of a report can be read back from its JSON."""
    report = setting.check_numbers()
    content = json.loads(json.dumps(report.to_dict()))
    assert content == report.to_dict()
    assert content["verdict"] == "holds"
    signal = tuple(map(Fraction, content["signal"]))
    assert signal == setting.task.exact_signal
    omega = numbers.exact(content["omega"], "omega")
    assert abs(omega / setting.omega - 1) < Fraction(1, 10**13)


@given(satisfying("printed"))
def test_a_setting_is_python_that_makes_it_again(setting):
    """The repr of a setting can be pasted into a test."""
    from swingby.testing import Setting

    names = {"Setting": Setting, "SIMTask": swingby.SIMTask, "Scaled": swingby.Scaled}
    names |= {"Fraction": Fraction, "swingby": swingby}
    assert eval(repr(setting), names) == setting
