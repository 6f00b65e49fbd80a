"""`explore` and its formulas, without a browser."""

import random
import re
from fractions import Fraction

import pytest
import sympy

import swingby
from swingby import cli
from swingby.errors import InvalidInput
from swingby.lab.explorer import formulas, limits
from swingby.lab.explorer.javascript import JavaScript
from swingby.theory import dynamics


@pytest.mark.parametrize("d", limits.DIRECTIONS)
@pytest.mark.parametrize("name", ["euler", "gd", "flow"])
def test_the_scaled_map_is_the_map(name, d):
    """X to D^-1 step(D X D) D^-1, at rational numbers, exactly."""
    A, W, eta = dynamics.symbols(d)
    flow = name == "flow"
    after = eta * dynamics.right_side(A, W) if flow else dynamics.step(name, A, W, eta)
    rng = random.Random(d)
    a, q = ([sympy.Rational(rng.randint(1, 9), rng.randint(1, 9)) for _ in range(d)] for _ in "aq")
    X = sympy.Matrix(d, d, lambda i, j: sympy.Rational((7 * min(i, j) + 3 * max(i, j)) % 11 - 5, 7))
    step = sympy.Rational(1, 30)
    values = {A[k, k]: a[k] for k in range(d)} | {eta: step}
    values |= {W[i, j]: q[i] * q[j] * X[i, j] for i in range(d) for j in range(d)}
    expected = [after[i, j].subs(values) / (q[i] * q[j]) for i in range(d) for j in range(i, d)]
    names = {f"x{i}{j}": X[i, j] for i in range(d) for j in range(i, d)}
    names |= {f"r{k}": step * a[k] for k in range(d)} | {f"s{k}": q[k] ** 2 for k in range(d)}
    shared, new = formulas.scaled_map(name, d)
    for symbol, expression in shared:
        names[str(symbol)] = _value(expression, names)
    assert [_value(expression, names) for expression in new] == expected


def _value(expression, names):
    return expression.subs({symbol: names[str(symbol)] for symbol in expression.free_symbols})


def test_what_is_no_float_is_never_printed_as_a_value():
    omega, beta = sympy.symbols("omega beta", positive=True)
    printer = JavaScript([omega])
    assert printer.log(beta * sympy.sqrt(omega)) == "(Math.log(beta) + ((1 / 2) * log_omega))"
    assert printer.arguments(beta * omega) == ["beta", "log_omega"]
    with pytest.raises(ValueError, match="only its logarithm"):
        printer.value(1 + omega)
    with pytest.raises(ValueError, match="only its logarithm"):
        printer.log(1 + omega)


def first_state(page):
    return re.search(r'<script id="first"[^>]*>(.*?)</script>', page.read_text("utf-8"))[1]


STATES = {
    "a=4,1,0&start=typed&W0=0.002,-0.001,0;-0.001,1/700,0;0,0,0&eta=1/300": {
        "task": [4, 1, 0],
        "W0": [["2e-3", "-1e-3", 0], ["-1e-3", "1/700", 0], [0, 0, 0]],
        "eta": "1/300",
    },
    "mu=1,1.5&sigma=0.05,0&start=seed&omega=1e-400&seed=7&width=5&dyn=flow": {
        "task": swingby.SIMTask(["1", "1.5"], ["0.05", 0]),
        **{"omega": "1e-400", "seed": 7, "width": 5, "dynamics": "flow"},
    },
    "a=1/3,4&start=seed&eta=0.01": {"task": ["1/3", 4], "eta": "0.01"},
    "": {},
}


@pytest.mark.parametrize(("state", "arguments"), STATES.items())
def test_the_page_opens_at_what_is_given(state, arguments, tmp_path):
    page = swingby.explore(tmp_path / "page.html", **arguments)
    # Floats of W(0) are exact numbers, which the page reads as the same floats.
    assert first_state(page).replace("0.0014285714285714286", "1/700") == state


def test_the_page_is_small_and_asks_for_nothing(tmp_path):
    text = swingby.explore(tmp_path / "page.html").read_text("utf-8")
    assert len(text.encode()) < 400_000
    assert re.findall(r'(?:src|href)="(?!#|data:)([^"]*)"', text) == [
        "https://arxiv.org/abs/2410.08309"
    ]
    assert not re.search(r"@import|url\((?!#)|\bfetch\(|XMLHttpRequest|import\(", text)
    assert not re.search(r"%[A-Z_]+%", text)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"out": "page.txt"}, "out must end in .html"),
        ({"out": "page.html"} | {"task": [1] * 5}, "must have 2 to 4 directions"),
        ({"task": swingby.SIMTask([1, 2], 0, 3)}, "must be its signal, or mu and sigma"),
        ({"task": [4, 1], "omega": 2}, "omega must be at most 1"),
        ({"task": [4, 1], "omega": 0}, "omega must be positive"),
        ({"seed": 200}, "seed must be at most 199"),
        ({"task": [4, 1, 1], "width": 2}, "width must be at least 3"),
        ({"task": [4, 1], "width": 7}, "width must be at most 6"),
        ({"eta": -1}, "eta must be positive"),
        ({"dynamics": "adam"}, "dynamics must be one of"),
        ({"W0": [[1, 0], [0, 1]]}, "task must be given with W0"),
        ({"task": [4, 1], "W0": [[1, 0], [0, 1]], "seed": 0}, "seed must not be given together"),
        ({"task": [4, 1], "W0": [[6, 0], [0, 1]]}, "W0 must have entries from 1e-300 to 5"),
        ({"task": [4, 1], "W0": swingby.gaussian(2, "1e-400", rng=0)}, "omega= has any size"),
        ({"task": [4, 1], "W0": [[1, 0]]}, "W0"),
        ({"task": [4, 1], "eta": 3}, "eta must be at most 0.5 to be explored"),
        ({"eta": "0.51"}, "eta must be at most 0.5 to be explored"),
        ({"task": [400, 1]}, "eta must be at most 0.005 to be explored: larger steps only diverge"),
        ({"task": [4, 1], "W0": [[1, 2], [2, 1]]}, "W0 must be positive semidefinite"),
        ({"task": [4, 1], "W0": [[1, 2], [2, 1]], "dynamics": "flow"}, "positive semidefinite"),
        ({"task": ["1e6", 1], "eta": "1e-9"}, "task must have numbers below 1000000"),
        ({"task": swingby.SIMTask([1000, 1], [0, 0]), "eta": "1e-9"}, "numbers below 1000"),
    ],
)
def test_what_the_page_cannot_show_is_refused(arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInput, match=re.escape(message)):
        swingby.explore(**arguments)
    assert list(tmp_path.iterdir()) == []


def test_the_command_writes_the_page(tmp_path, capsys, monkeypatch, refused):
    monkeypatch.chdir(tmp_path)
    typed = "--signal 4,1 --w0 2e-3,1e-3;1e-3,2e-3 --eta 0.01 --dynamics euler --out mine.html"
    assert cli.run(["explore", *typed.split()]) == 0
    assert re.fullmatch(r"mine.html \(\d+ kB\)\n", capsys.readouterr().out)
    state = "a=4,1&start=typed&W0=0.002,0.001;0.001,0.002&eta=0.01&dyn=euler"
    assert first_state(tmp_path / "mine.html") == state
    typed = "--mu 1,2 --sigma 0.1 --omega 1e-80 --seed 3 --width 4"
    assert cli.run(["explore", *typed.split()]) == 0
    state = "mu=1,2&sigma=0.1,0.1&start=seed&omega=1e-80&seed=3&width=4"
    assert first_state(tmp_path / "explorer.html") == state
    assert "without mu or signal" in refused(["explore", "--w0", "1,0;0,1"])
    assert "seed must be at most 199" in refused(["explore", "--seed", "200"])
    assert "eta must be at most 0.5" in refused(["explore", "--eta", "3"])
    indefinite = ["explore", "--signal", "4,1", "--w0", "1,2;2,1"]
    assert "W0 must be positive semidefinite" in refused(indefinite)
    assert cli.run([*indefinite, "--dynamics", "euler"]) == 0
    assert cli.run(["explore", "--eta", "3", "--dynamics", "flow"]) == 0


def test_the_largest_eta_of_the_page_is_that_of_the_check():
    """The printed D.2, solved for the largest eta."""
    row = re.search(r"largestEta: .*? => (.*?) }", formulas.generated())[1]
    value = eval(row, {"K": Fraction(20), "top": Fraction(4)})
    assert value == pytest.approx(1 / 720)
    report = swingby.check([4, 1], omega="1e-80", eta="0.01")
    assert float(report.largest_eta) == pytest.approx(value)
