"""Whatever is written can be read again, and says the same; whatever is printed can be parsed."""

import csv
import importlib.util
import io
import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import swingby
from swingby.report.number_text import scientific
from swingby.testing import initializations, step_sizes, tasks
from swingby.theory import numbers
from swingby.theory.matrix_files import read_matrix

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
    again = numbers.exact(scientific(exact, digits), "x")
    assert abs(again - exact) <= abs(exact) * Fraction(10) ** (1 - digits) / 2 * (
        1 + Fraction(1, 9)
    )


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_is_the_binary_number_it_stores(value):
    assert float(numbers.exact(value, "x")) == value
    assert numbers.exact(repr(value), "x") == Fraction(repr(value))


@given(st.data())
def test_a_matrix_survives_the_command_line_and_its_files(tmp_path_factory, data):
    """Rows as text, CSV, JSON, TOML, npy, npz and of savetxt give it back, bit for bit."""
    task = data.draw(tasks())
    W0 = data.draw(initializations(task))
    rows = W0.matrix.tolist()
    text = ";".join(",".join(map(repr, row)) for row in rows)
    folder = tmp_path_factory.mktemp("matrix")
    table = io.StringIO()
    csv.writer(table).writerows(rows)
    (folder / "W.csv").write_text(table.getvalue(), encoding="utf-8")
    (folder / "W.json").write_text(json.dumps(rows), encoding="utf-8")
    (folder / "W.toml").write_text(f"matrix = {json.dumps(rows)}", encoding="utf-8")
    np.save(folder / "W.npy", W0.matrix)
    np.savez(folder / "W.npz", W0.matrix)
    np.savetxt(folder / "W.txt", W0.matrix)
    square = (len(rows), len(rows))
    files = [str(folder / f"W.{ending}") for ending in ("csv", "json", "toml", "npy", "npz", "txt")]
    for source in (text, *files):
        assert np.array_equal(np.asarray(read_matrix(source, square)), W0.matrix)
    digits = [[Fraction(repr(entry)) for entry in row] for row in rows]
    for source in (text, *files[:3]):
        assert read_matrix(source, square, exact=True) == digits
    omega = scientific(W0.omega, 20)
    scaled = {"matrix": rows, "omega": omega}
    (folder / "S.json").write_text(json.dumps(scaled), encoding="utf-8")
    assert read_matrix(str(folder / "S.json"), square) == swingby.Scaled(rows, omega)


@pytest.mark.parametrize("ending", ["csv", "json", "toml"])
def test_no_digit_of_a_matrix_is_lost_on_the_way(ending, tmp_path):
    """Below the float range an entry is exact or refused, and never 0; a blank is no entry."""
    path = tmp_path / f"W.{ending}"

    def written(*rows):
        parts = [", ".join(row) for row in rows]
        nested = f"[{', '.join(f'[{x}]' for x in parts)}]"
        texts = {"csv": "\n".join(parts), "json": nested, "toml": f"matrix = {nested}"}
        path.write_text(texts[ending])
        return str(path)

    source = written(("1e-400", "0"), ("0", "0.1"))
    tiny, tenth = Fraction(1, 10**400), Fraction(1, 10)
    assert read_matrix(source, (2, 2), exact=True) == [[tiny, 0], [0, tenth]]
    for rows in [
        (("1e-400", "0"), ("0", "0.1")),
        (("1e400", "0"), ("0", "1")),
        (("1", "", "0"), ("0", "", "1")),
        (("NaN", "0"), ("0", "1")),
        (("true", "0"), ("0", "1")),
        (("1", "0", "0"), ("0", "1")),
        (("1", "0"), ("0", "1"), ("0", "0")),
    ]:
        with pytest.raises(swingby.InvalidInput, match="w0"):
            read_matrix(written(*rows), (2, 2))


@given(st.data())
def test_a_task_survives_its_exact_numbers(data):
    """mu and sigma as text make the same task, with the same exact signal."""
    task = data.draw(tasks())
    again = swingby.SIMTask(list(map(str, task.mu)), list(map(str, task.sigma)), task.dim)
    assert again == task
    assert again.exact_signal == task.exact_signal


@pytest.mark.filterwarnings("ignore::swingby.errors.SwingbyWarning")
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


def _containers(rows):
    """The same whole numbers over 2^12 in every container that holds numbers."""
    import mpmath
    import pandas as pd
    import sympy

    exact = [[Fraction(entry, 4096) for entry in row] for row in rows]
    floats = np.array(exact, dtype=np.float64)
    found = {
        "lists": floats.tolist(),
        "tuples": tuple(map(tuple, floats)),
        "text": [[str(entry) for entry in row] for row in exact],
        "arrays of text": np.array([[str(entry) for entry in row] for row in exact]),
        "fractions": exact,
        "objects": floats.astype(object),
        "float16": floats.astype(np.float16),
        "float32": floats.astype(np.float32),
        "long doubles": floats.astype(np.longdouble),
        "the other byte order": floats.astype(floats.dtype.newbyteorder()),
        "Fortran order": np.asfortranarray(floats),
        "np.matrix": np.asmatrix(floats),
        "an empty mask": np.ma.array(floats),
        "pandas": pd.DataFrame(floats),
        "columns of pandas": [pd.Series(row) for row in floats],
        "sympy": sympy.Matrix([[sympy.Rational(entry) for entry in row] for row in exact]),
        "mpmath": mpmath.matrix(floats.tolist()),
        "omega apart": swingby.Scaled(rows, Fraction(1, 4096)),
    }
    if importlib.util.find_spec("torch"):
        import torch

        tensor = torch.tensor(floats)
        found |= {
            "torch": tensor,
            "a tensor with gradients": tensor.clone().requires_grad_(),
            "bfloat16": tensor.to(torch.bfloat16),
            "rows of torch": list(tensor),
        }
    return found


def _answers(task, W0):
    eta = Fraction(1, 64)
    report = swingby.check(task, W0=W0, eta=eta)
    yield [(row.verdict, row.margin) for row in report]
    yield swingby.predict(task, W0, eta=eta).half_times.tolist()
    yield swingby.simulate(task, W0, eta=eta).half_times.tolist()
    yield swingby.certify(task, W0, eta=eta, steps=20).to_json()
    if not isinstance(W0, swingby.Scaled):
        signal = task.signal
        yield swingby.predict_batch(signal, W0, 1 / 64).half_times.tolist()
        yield swingby.simulate_batch([signal], [W0], [1 / 64]).half_times.tolist()


@pytest.mark.filterwarnings("ignore:the matrix subclass")
@pytest.mark.parametrize(
    ("first", "between", "second"),
    [(12, -5, 9), *(pytest.param(*one, marks=pytest.mark.full) for one in ((9, 7, 15), (9, 1, 9)))],
)
def test_every_door_gives_the_same_answer(first, between, second):
    """Equal numbers are equal input to all functions, whatever holds them."""
    task = swingby.SIMTask.from_signal([4, 1])
    containers = _containers([[first, between], [between, second]])
    wanted = list(_answers(task, containers.pop("fractions")))
    for name, W0 in containers.items():
        for found, one in zip(_answers(task, W0), wanted, strict=False):
            assert found == one, name


@pytest.mark.parametrize(
    "W0",
    [
        np.ma.array([[1, 0], [0, 1]], mask=[[0, 1], [1, 0]]),
        [np.ma.array([1.0, 0.0], mask=[0, 1]), [0.0, 1.0]],
        np.eye(2, dtype=bool),
        np.eye(2).astype(complex),
        np.array([[1, 2], [2, 1]], dtype="M8[s]"),
        [[1, "0"], ["", 1]],
        {"W0": 1},
        "1,0;0,1",
    ],
    ids=["mask", "mask in a row", "truth", "complex", "dates", "blank", "dict", "text"],
)
def test_what_holds_no_numbers_passes_through_no_door(W0):
    task = swingby.SIMTask.from_signal([4, 1])
    asked = (
        lambda: swingby.check(task, W0=W0, eta=0.01),
        lambda: swingby.predict(task, W0, eta=0.01),
        lambda: swingby.simulate(task, W0, eta=0.01),
        lambda: swingby.certify(task, W0, eta=0.01),
        lambda: swingby.predict_batch([4, 1], W0, 0.01),
        lambda: swingby.simulate_batch([[4, 1]], [W0], [0.01]),
    )
    for ask in asked:
        with pytest.raises(swingby.InvalidInput, match="W0"):
            ask()
