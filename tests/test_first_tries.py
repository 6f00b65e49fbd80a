"""What a new user types first: a result, or a sentence that says what to type instead."""

import io

import numpy as np
import pandas as pd
import pytest
import sympy

import swingby
from swingby import SIMTask, check, compare, gaussian, predict, simulate
from swingby.cli import run as command

A = [4, 1]
W0 = [[2e-3, 1e-3], [1e-3, 2e-3]]
U0 = [[0.04, 0.02], [0.01, 0.04]]
ETA = 0.01
RUN = simulate(A, W0, ETA)
HALF = [79.0, 326.0]


def half(result):
    """Half-times of whatever has some."""
    return getattr(result, "run", result).half_times.tolist()


def table(**columns):
    """A trajectory as another program writes it."""
    return io.StringIO(pd.DataFrame({"step": RUN.steps, **columns}).to_csv(index=False))


ENTRIES = {"w_1_1": RUN.W[:, 0, 0], "w_1_2": RUN.W[:, 0, 1], "w_2_2": RUN.W[:, 1, 1]}

#: What is typed, and the half-times of W0 that it gives.
RESULTS = {
    "signal as a list": lambda: predict(A, W0, eta=ETA),
    "signal of sympy": lambda: simulate([sympy.Integer(4), sympy.Rational(2, 2)], W0, ETA),
    "eta as text": lambda: simulate(A, W0, eta="1/100"),
    "eta of sympy": lambda: simulate(A, W0, eta=sympy.Rational(1, 100)),
    "W0 as a frame": lambda: predict(A, pd.DataFrame(W0), eta=ETA),
    "W0 of sympy": lambda: predict(A, sympy.Matrix(W0), eta=ETA),
    "steps as a float": lambda: simulate(A, W0, eta=ETA, steps=1e3),
    "own run": lambda: compare(A, W0, eta=ETA, observed=RUN),
    "own arrays": lambda: compare(A, eta=ETA, observed=RUN.W, steps=RUN.steps),
    "own list of arrays": lambda: compare(A, W0, eta=ETA, observed=list(RUN.W), steps=RUN.steps),
    "own frame": lambda: compare(A, W0, eta=ETA, observed=pd.read_csv(table(**ENTRIES))),
}

#: What is typed, and the sentence about it.
SENTENCES = {
    "no eta": (lambda: predict(A, W0), "eta must be given: eta=..."),
    "no start": (lambda: predict(A, eta=ETA), "one of W0, U0 and omega must be given"),
    "T": (lambda: simulate(A, W0, ETA, T=100), "T is not an argument of simulate; give steps"),
    "lr": (lambda: predict(A, W0, lr=0.005), "give eta, which is 2 lr on the loss (4.1)"),
    "seed": (lambda: gaussian(2, 1e-3, seed=0), "give rng"),
    "omega of a run": (lambda: simulate(A, omega=1e-3, eta=ETA), "W0 = swingby.gaussian(task"),
    "U0 of a proof": (lambda: swingby.certify(A, eta=ETA, U0=U0), "give W0 = U0 @ U0.T"),
    "mu and sigma of a check": (lambda: check(mu=[1, 2], eta=ETA), "SIMTask(mu, sigma)"),
    "a misspelt argument": (lambda: compare(A, W0, eta=ETA, dynamic="gd"), "mean dynamics?"),
    "several omegas": (lambda: check(A, omega=[1e-3, 1e-4], eta=ETA), "swingby.sweep"),
    "an irrational omega": (
        lambda: check(A, omega=sympy.sqrt(2), eta=ETA),
        "omega must be rational, or rounded: x.evalf(30)",
    ),
    "a symbol": (lambda: check(A, omega=sympy.Symbol("w"), eta=ETA), "omega must be a number"),
    "a negative eta": (lambda: simulate(A, W0, eta=-ETA), "eta must be positive, got -0.01"),
    "W0 of another size": (lambda: predict(A, np.eye(3), eta=ETA), "must have shape (2, 2)"),
    "W0 as a vector": (lambda: predict(A, [1e-3, 1e-3], eta=ETA), "W0 must be a square matrix"),
    "W0 as a path": (lambda: predict(A, "W0.npy", eta=ETA), "numpy.load"),
    "W0 and U0": (lambda: simulate(A, W0, ETA, U0=U0), "one of W0 and U0 must be given"),
    "signal as text": (lambda: check("4,1", omega=1e-3, eta=ETA), "task must be a SIMTask"),
    "mu as text": (lambda: SIMTask("1,2"), "mu must be a sequence of numbers"),
    "dynamics misspelt": (
        lambda: simulate(A, W0, ETA, dynamics="GD"),
        "one of euler, gd, flow, got GD",
    ),
    "own steps misfit": (
        lambda: compare(A, W0, eta=ETA, observed=RUN.W, steps=[0, 1]),
        "steps must have shape",
    ),
    "own table misses a column": (
        lambda: compare(A, W0, eta=ETA, observed=pd.read_csv(table(w_1_1=RUN.W[:, 0, 0]))),
        "must be a column: step, w_1_1, w_1_2",
    ),
    "no labels": (lambda: SIMTask.from_samples([[1, 0]], label=[0]), "give labels"),
    "unit misspelt": (lambda: RUN.to_frame(unit="seconds"), "unit must be one of step, eta t"),
    "no store": (lambda: swingby.sweep({"signal": [A]}), "out must be given"),
    "a picture of unknown kind": (lambda: compare(A, W0, eta=ETA).save_picture("a.jpg"), ".pdf"),
    "a seed as text": (
        lambda: gaussian(2, 1e-3, rng="x"),
        "rng must be None, a whole number from 0",
    ),
    "gradients of a task": (
        lambda: swingby.crossing_function(SIMTask(A)),
        "schedule must come from a W(0), by predict",
    ),
    "a line of the paper as a number": (lambda: swingby.audit(27), "close to it: D.27"),
}

#: On the command line: exit code, and words of what is printed.
COMMANDS = {
    "check --mu 1,4 --sigma 0.05 --omega 1e-70 --eta 1e-5": (0, "a = (0.5025, 8.002)"),
    "predict --signal 4,1 --omega 1e-8 --eta 0.01 --unit 'eta t'": (0, "eta t"),
    "predict --signal 4,1 --omega 1e-8 --eta 0.01 --dynamics gf": (2, "'gd', 'euler', 'flow'"),
    "check --signal 4,1 --omega 1e-8": (2, "--eta 0.01"),
    "simulate --signal 4,1 --eta 0.01 --w0 start.dat": (2, "such as 2,1;1,2 or a file: .json"),
    "simulate --signal 4,1 --eta 0.01 --w0 '2,1;1'": (2, "got 2 row(s) of 1 and 2"),
    "simulate --signal 4,1 --eta 1e-300 --w0 '1e-2,0;0,1e-2'": (0, "about 2.3e+300"),
    "table --paper --out pyproject.toml": (2, "out must be a folder"),
    "evidence --record no.json": (2, "record must be a readable file of python -m studies"),
    "chek --signal 4,1": (2, "did you mean check?"),
    "check --sigmal 4,1": (2, "--signal"),
    **{
        f"{verb} --signal 4,1 --eta 0.01": (2, "one of --w0, --u0 and --omega must be given")
        for verb in ("check", "predict", "simulate", "table")
    },
    "predict --eta .01": (2, "--mu 1,2 (or --signal 4,1), and one of --w0, --u0 and --omega"),
    "evidence networks": (2, "give --source networks"),
}


@pytest.mark.parametrize("name", RESULTS)
def test_a_first_try_gives_the_result(name):
    assert half(RESULTS[name]()) == HALF


@pytest.mark.parametrize("name", SENTENCES)
def test_a_first_try_gives_a_sentence(name):
    if name == "gradients of a task":
        pytest.importorskip("torch")
    call, words = SENTENCES[name]
    with pytest.raises(swingby.InvalidInput) as caught:
        call()
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("line", COMMANDS)
def test_a_first_command(line, capsys):
    import shlex

    code, words = COMMANDS[line]
    assert command(shlex.split(line)) == code
    captured = capsys.readouterr()
    assert words in captured.out + captured.err
    assert captured.err.count("\n") <= 1


@pytest.mark.torch
def test_what_comes_from_torch():
    torch = pytest.importorskip("torch")
    start, steps = torch.tensor(W0, requires_grad=True), torch.tensor(RUN.steps)
    assert half(predict(A, start, eta=ETA)) == HALF
    own = [torch.tensor(one) for one in RUN.W]
    assert half(compare(A, W0, eta=ETA, observed=own, steps=steps)) == HALF
    model = torch.nn.Sequential(torch.nn.Linear(2, 2, bias=False))
    schedule = swingby.predict_network(model, SIMTask.from_signal(A), lr=0.1)
    by_matrix = swingby.predict_network([model[0].weight], SIMTask.from_signal(A), lr=0.1)
    assert schedule.crossing.tolist() == by_matrix.crossing.tolist()

    class Own(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = torch.nn.Linear(2, 2, bias=False)

    for other, words in (
        (Own(), "the one applied first first: [model."),
        (torch.nn.Sequential(*model, torch.nn.ReLU()), "no law for ReLU"),
        (torch.nn.Sequential(torch.nn.Linear(2, 2)), "bias=False"),
        (torch.nn.Sequential(torch.nn.Conv2d(1, 1, 1)), "Conv2d"),
    ):
        with pytest.raises(swingby.InvalidInput) as caught:
            swingby.predict_network(other, SIMTask.from_signal(A), lr=0.1)
        assert words in str(caught.value)


def test_times_in_eta_t_are_steps_times_eta():
    for result in (predict(A, W0, eta=ETA), compare(A, W0, eta=ETA)):
        steps, times = result.to_frame(), result.to_frame(unit="eta t")
        column = "time" if "time" in steps else "predicted"
        height = steps["event"] == "peak height"
        expected = np.where(height, steps[column], steps[column] * ETA)
        np.testing.assert_allclose(times[column], expected, rtol=1e-15)
        texts = (result.to_grid(unit="eta t").to_text(), result.to_grid().to_text())
        assert "eta t" in texts[0]
        assert "0.79" in texts[0]
        assert "0.79" not in texts[1]
    np.testing.assert_allclose(RUN.to_frame(unit="eta t")["eta t"], RUN.steps * ETA, rtol=1e-15)
