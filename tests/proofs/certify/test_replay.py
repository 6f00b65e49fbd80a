"""certify and the replay checker against a second implementation, slow and plain."""

import ast
import copy
import functools
import json
import operator
import random
import re
import subprocess
import sys
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest

from swingby.proofs.certify.certify import certify
from swingby.proofs.checkers import replay as module
from swingby.proofs.checkers.replay import replay
from swingby.theory.task import SIMTask
from tests.forked import FULL, sample
from tests.proofs.certify.reference import LEVELS, leaves, printed_step, put, reference, sealed


def case(dynamics, signal, eta, upper, steps):
    """A run, with W(0) by the rows of its upper triangle."""
    upper_rows = [row.split() for row in upper.split(";")]
    size = range(len(upper_rows))
    W0 = [[str(Fraction(upper_rows[min(i, j)][abs(i - j)])) for j in size] for i in size]
    return dynamics, signal.split(), eta, W0, steps


BEHIND = case("euler", "4 1", "1/20", "-1/9 0; 1/3", 12)
CASES = {
    "one concept": case("euler", "3", "1/20", "1/1000", 100),
    "one concept, gd": case("gd", "3", "1/20", "1/1000", 100),
    "1/2 hit exactly at step 1": case("euler", "1", "3/8", "1/3", 30),
    "1/2 hit exactly at step 0": case("gd", "1", "1/8", "1/2", 30),
    "comes to rest at I": case("euler", "1", "1", "1/2", 12),
    "at rest from the start": case("gd", "4 1", "1/20", "1 0; 1", 50),
    "no step": case("euler", "4 1", "1/20", "1/9 1/8; 1/2", 0),
    "five steps": case("gd", "4 1", "1/20", "1/9 1/80; 1/2", 5),
    "two": case("euler", "4 1", "1/20", "1/1000 1/3000; 1/2000", 140),
    "two, gd": case("gd", "4 1", "1/20", "1/1000 -1/3000; 1/2000", 140),
    "ties for ever at a fixed point": case("euler", "2 2", "1/100", "1/2 1/2; 1/2", 300),
    "a cycle of two steps": case("euler", "1 1", "5/4", "3/10 3/10; 3/10", 301),
    "ties": case("euler", "2 2", "1/20", "1/100 1/200; 1/100", 120),
    "falling from step 0": case("euler", "2 1", "1/20", "3/2 1/3; 5/4", 60),
    "loss at once, runs away": case("euler", "4 1", "1/20", "1/1000000 1/1000000; 1/1000000", 156),
    "rank one that stays": case("euler", "2 2", "1/20", "1/1000000 1/1000000; 1/1000000", 130),
    "rank one, gd": case("gd", "4 1", "1/20", "1/1000 1/1000; 1/1000", 100),
    "loss later": case("euler", "4 1", "1/20", "1/1000000 1/1250000; 1/1000000", 90),
    "indefinite": case("euler", "4 1", "1/20", "1/1000 1/500; 1/1000", 40),
    "indefinite, gd": case("gd", "4 1", "1/20", "1/1000 1/500; 1/1000", 40),
    "negative from the start": case("euler", "4 1", "1/20", "-1/9 0; 1/3", 12),
    "zero signal": case("euler", "4 0", "1/20", "1/100 1/300; 1/10", 100),
    "zero signal, gd": case("gd", "4 0", "1/20", "1/100 1/300; 1/10", 100),
    "signals all zero": case("euler", "0 0", "1/20", "1/3 1/7; 6/7", 100),
    "step too long for the lemma": case("gd", "4 1", "3/10", "1/9 0; 1/9", 30),
    "a zero between blocks from step 1": case("euler", "7 1", "1/8", "1 4/5; 1", 40),
    "tiny": case("euler", "4 1", "1/20", f"1/{10**30} 0; 1/{10**31}", 300),
    "three": case("euler", "4 2 1", "1/20", "1/100 1/500 -1/700; 1/80 1/900; 1/90", 120),
    "three, gd": case("gd", "4 2 1", "1/20", "1/100 1/500 -1/700; 1/80 1/900; 1/90", 120),
    "three, tiny": case(
        "euler",
        "4 3 2",
        "1/20",
        f"3/{10**30} 1/{10**30} -1/{10**30}; 2/{10**30} 1/{10**30}; 5/{10**30}",
        400,
    ),
    "chain": case("euler", "1 2 4", "1/20", "1/100 1/500 0; 1/80 -1/300; 1/90", 120),
    "equal signals": case("gd", "2 2 1", "1/20", "1/100 1/500 0; 1/80 -1/300; 1/90", 120),
    "two blocks": case("euler", "4 2 1", "1/20", "1/9 0 1/90; 1/7 0; 1/8", 90),
    "empty row": case("euler", "4 2 1", "1/20", "1/9 1/90 0; 1/7 0; 0", 90),
    "empty row, gd": case("gd", "4 2 1", "1/20", "1/9 1/90 0; 1/7 0; 0", 90),
    "rest beside motion": case("euler", "0 2 3", "1/20", "1/3 0 0; 1/7 1/70; 1/8", 90),
    "rank two that stays": case("euler", "2 2 2", "1/20", "1/50 1/100 3/100; 1/50 3/100; 3/50", 80),
}


#: They show no more than their neighbours, and take a second each.
LONG = {"three, tiny": pytest.mark.full, "equal signals": pytest.mark.full}


@functools.cache
def made(name):
    """The reference of a case, not to be changed."""
    return reference(*CASES[name])


@pytest.mark.parametrize("name", [pytest.param(one, marks=LONG.get(one, ())) for one in CASES])
def test_the_reference_is_accepted_and_is_what_certify_finds(name):
    dynamics, signal, eta, W0, steps = CASES[name]
    expected = made(name)
    assert replay(expected) == []
    if signal[0] == "0" or name == "indefinite, gd":  # no task, and no W(0) of gradient descent
        return
    certificate = certify(SIMTask.from_signal(signal), W0, eta, dynamics, steps).to_dict()
    for key in expected.keys() - {"made_by", "digest"}:
        assert certificate[key] == expected[key], key


def test_the_cases_reach_what_they_are_named_for():
    """Which events the cases contain, so that none of them is vacuous."""
    assert made("1/2 hit exactly at step 1")["passages"]["1/2"][0]["step"] == 1
    assert made("ties for ever at a fixed point")["passages"]["1/2"][1]["step"] == 0
    # With 2 eta a = 5/2 the eigenvalue of W = x 1 1^T goes 3/5, 6/5, 3/5, ...: 3/5 again and again.
    assert made("a cycle of two steps")["peaks"][0]["step"] == 1
    assert made("loss at once, runs away")["psd"] == {"first_loss": 1}
    assert [run["k"] for run in made("loss at once, runs away")["runs_away"]] == [1, 2]
    assert made("loss at once, runs away")["passages"]["1/10"][1]["never"] is True
    assert made("rank one that stays")["psd"] == {"first_loss": None}
    assert made("rank two that stays")["psd"] == {"first_loss": None}
    assert made("loss later")["psd"]["first_loss"] > 10
    assert made("indefinite, gd")["psd"] == {"first_loss": 0}
    assert made("zero signal")["converges"] is None
    assert made("zero signal")["passages"]["1/2"][1]["never"] is True
    assert made("zero signal, gd")["passages"]["1/2"][1]["never"] is False
    assert made("step too long for the lemma")["converges"] is None
    assert made("three")["converges"]["step"] > 50
    assert all(peak["for_all_time"] for peak in made("three")["peaks"])
    assert made("chain")["peaks"][1]["value"] != ["0", "0"]
    assert made("two blocks")["peaks"][0]["for_all_time"] is True
    assert made("signals all zero")["peaks"][0]["step"] == 0


def changed_digits(text):
    """The text with each of its digits changed, one at a time."""
    for index, letter in enumerate(text):
        if letter.isdigit():
            yield text[:index] + str((int(letter) + 1) % 10) + text[index + 1 :]


def unit_in_last_place(text):
    """A decimal of an enclosure moved by one unit in its 25th digit."""
    mantissa, exponent = text.split("e")
    unit = Fraction(1, 10**24)
    value = Fraction(mantissa) + (unit if not text.startswith("-") else -unit)
    digits = str(abs(value.numerator) * 10**24 // value.denominator)
    moved = (digits[0] + "." + digits[1:]).rstrip("0").rstrip(".")
    return ("-" if value < 0 else "") + moved + "e" + exponent


def flips(path, value):
    """False values for one place of a certificate."""
    if isinstance(value, bool):
        yield from (not value, int(value), None)
    elif isinstance(value, int):
        yield from (value + 1, value - 1, float(value), str(value), None)
    elif value is None:
        yield from (0, 1, False, [])
    elif path[0] in ("signal", "eta", "W0", "converges") and re.fullmatch("[-0-9/]+", value):
        number = Fraction(value)
        yield from (
            str(number + Fraction(1, 10**12)),
            str(-number) if number else "1",
            value + ".0",
        )
        yield f"{2 * number.numerator}/{2 * number.denominator}"
        if path[0] == "converges":
            yield from changed_digits(value)
    elif re.fullmatch("-?[0-9.]+e.*", value):
        yield from (unit_in_last_place(value), value.upper(), "+" + value, value + "0")
        yield from list(changed_digits(value))[:: 1 if path[0] == "converges" else 9]
        yield "-" + value if value[0] != "-" else value[1:]
    elif value == "0":
        yield from ("0e+00", "-0", "1e-300", "")
    else:
        yield from (value + " ", value.upper(), "")


def once(function, name):
    """The function, with its results kept under a name made of its arguments."""
    results = {}

    def keeping(*arguments):
        key = name(*arguments)
        if key not in results:
            results[key] = function(*arguments)
        return copy.deepcopy(results[key]) if isinstance(results[key], dict) else results[key]

    return keeping


def inputs_of(given):
    return json.dumps([[key, given.get(key)] for key in module.INPUTS])


@pytest.mark.parametrize(
    "case",
    [
        *sample(
            [
                case("euler", "4 1", "1/10", "1/100 1/300; 1/90", 45),
                case("euler", "4 1", "1/10", "1/1000 1/1000; 1/1000", 40),
            ],
            2,
        ),
        pytest.param(case("gd", "4 1", "1/10", "1/100 -1/300; 1/90", 45), marks=pytest.mark.full),
    ],
)
def test_every_single_change_is_rejected(case, monkeypatch):
    """At every place, with the digest left alone and with the digest made anew.

    What follows from the inputs alone is worked out once for every set of inputs.
    """
    certificate = reference(*case)
    monkeypatch.setattr(module, "Run", once(module.Run, lambda given: inputs_of(given)))
    monkeypatch.setattr(module, "derive", once(module.derive, lambda run, one: (id(run), one)))
    assert replay(certificate) == []
    count = 0
    for path, value in leaves(certificate):
        for wrong in flips(path, value):
            if path == ("made_by",) and isinstance(wrong, str):  # free text under the digest
                assert replay(sealed(put(certificate, path, wrong))) == []
                assert replay(put(certificate, path, wrong)) != []
                continue
            if path[0] == "W0" and path[1] != path[2]:  # both places of a symmetric matrix
                both = put(certificate, path, wrong)
                both["W0"][path[2]][path[1]] = wrong
                assert replay(sealed(both)) != [], (path, wrong)
            false = put(certificate, path, wrong)
            assert replay(false) != [], (path, wrong)
            if path != ("digest",):
                assert replay(sealed(false)) != [], (path, wrong)
            count += 1
    assert count > 200


def test_reasons_name_the_entry():
    certificate = made("two")
    step = certificate["passages"]["1/2"][1]["step"]
    false = sealed(put(certificate, ("passages", "1/2", 1, "step"), step - 1))
    assert replay(false) == [f"passages/1/2/2/step: the certificate says {step - 1}, found {step}"]
    false = put(certificate, ("peaks", 0, "for_all_time"), False)
    # A wrong digest is found before any work.
    assert [reason.split(":")[0] for reason in replay(false)] == ["digest"]
    assert [reason.split(":")[0] for reason in replay(sealed(false))] == ["peaks/1,2/for_all_time"]


def test_what_is_listed_as_undecided_has_to_be_open():
    certificate = reference(*CASES["loss at once, runs away"])
    listed = ["passages/1/2/2", "peaks/1,2", "psd", "converges", "end/1,2"]
    open_ = copy.deepcopy(certificate)
    open_["undecided"] = listed
    open_["passages"]["1/2"][1] = open_["peaks"][0] = open_["psd"] = None
    open_["end"][0][1] = open_["end"][1][0] = None
    reasons = replay(sealed(open_))
    decided = [reason.split(":")[0] for reason in reasons if "but decided" in reason]
    assert decided == sorted([*listed, "end/2,1"])
    open_["undecided"] = listed[:-1]
    assert {"end/1,2", "end/2,1"} <= {reason.split(":")[0] for reason in replay(sealed(open_))}
    for paths in (["psd", "psd"], ["end"], ["psd "], ["passages/1/3/1"], "psd", {}, [1], [[]]):
        assert replay(sealed({**certificate, "undecided": paths})) != []


def test_what_no_precision_decides_is_not_judged():
    """A run that leaves every fixed point behind: of concept 1 nothing is known at its end."""
    certificate = {**reference(*BEHIND), "steps": 40}
    # Concept 2 is apart from it.
    alone = reference(*case("euler", "1", "1/20", "1/3", 40))
    for level in LEVELS:
        certificate["passages"][level][1] = alone["passages"][level][0]
    certificate["end"][1][1] = alone["end"][0][0]
    (reason,) = replay(sealed(certificate))
    assert re.fullmatch(r"passages/1/10/1: not decided at \d+ bits", reason)
    # What is said of it and cannot be known is left open: of 2 only what comes after the 40 steps.
    open_ = copy.deepcopy(certificate)
    open_["undecided"] = ["converges", "end/1,1", "end/2,2", "passages/99/100/2", "runs_away/2"]
    open_["undecided"] += [f"passages/{level}/1" for level in LEVELS]
    for level in LEVELS:
        open_["passages"][level][0] = None
    open_["passages"]["99/100"][1] = open_["converges"] = None
    open_["runs_away"].append(None)
    open_["end"][0][0] = open_["end"][1][1] = None
    assert replay(sealed(open_)) == []
    open_["undecided"].remove("end/1,1")
    assert replay(sealed(open_ | {"end": certificate["end"]})) != []


def deep(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


JUNK = [
    None, True, False, 0, 1, -1, 3, 10**7 + 1, 10**30, 10**5000, 0.5, float("nan"), float("inf"),
    "", "0", "1", "1/0", "0/1", "01", "+1", "-0", "1/-2", "2/4", "1e5", "1e999999999", "nan", " 1",
    "1 ", "1\n", "\u0661", "\ud800", "9" * 30_000, "1/" + "9" * 30_000, "x" * 10_000, [], [[]],
    {}, [None], ["1"], [["1"]], ["1", "1"], [["1", "0"], ["0", "1"]], [["1", "2"], ["3", "4"]],
    {"a": 1}, [["1", "0"], "01"], ["1"] * 9, "euler", "gd", deep(50), deep(100_000),
]  # fmt: skip


def test_any_value_at_any_place_is_rejected_with_a_reason_or_means_the_same():
    certificate = made("five steps")
    places = [
        (), *((key,) for key in certificate), ("passages", "1/2"),
        ("passages", "1/2", 0), ("passages", "1/2", 0, "at"), ("peaks", 0),
        ("peaks", 0, "i"), ("peaks", 0, "value"), ("psd", "first_loss"), ("end", 0), ("end", 1, 1),
        ("signal", 0), ("W0", 0), ("W0", 1, 1), ("undecided",),
    ]  # fmt: skip
    for path in places:
        old = functools.reduce(operator.getitem, path, certificate)
        for junk in (*JUNK, (1,)):
            if junk == old and type(junk) is type(old):
                continue
            reasons = replay(put(certificate, path, junk) if path else junk)
            assert reasons, (path, str(junk)[:50])
            assert all(type(x) is str and x and "\n" not in x and x.isascii() for x in reasons)


def test_keys_are_exactly_those_of_the_format():
    certificate = reference(*CASES["at rest from the start"])
    for path in [(), ("passages",), ("passages", "1/2", 0), ("peaks", 0), ("psd",), ("converges",)]:
        assert replay(sealed(put(certificate, (*path, "more"), None))) != []
        for key in functools.reduce(operator.getitem, path, certificate):
            less = copy.deepcopy(certificate)
            del functools.reduce(operator.getitem, path, less)[key]
            assert replay(less if key == "digest" else sealed(less)) != []


def test_long_rationals_are_read_without_a_limit_on_digits():
    """1e-5000 has more digits than Python turns into an integer at once."""
    small = Fraction(1, 10**5000)
    assert module.rational("1/1" + "0" * 5000, "W0", 20_000) == small
    limit = sys.get_int_max_str_digits()
    case = ("euler", ["4", "1"], "1/20", [["1/1" + "0" * 5000, "0"], ["0", "1/2"]], 3)
    certificate = unlimited(case)
    assert replay(certificate) == []
    assert certificate["end"][0][0][0].endswith("e-5000")
    assert sys.get_int_max_str_digits() == limit


def unlimited(case):
    """A reference certificate of long numbers, which the reference cannot read by itself."""
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        return reference(*case)
    finally:
        sys.set_int_max_str_digits(limit)


@pytest.mark.parametrize("dynamics", ["euler", "gd"])
@pytest.mark.parametrize("seed", range(12) if FULL else [0, 1, 2, 5])
def test_a_step_in_fixed_point_encloses_the_printed_map(dynamics, seed):
    """The bound of the error against the map as printed, at random points within the enclosure.

    Also the exact step, in entries, against the matrices: equal as fractions.
    """
    rng = random.Random(seed)
    size, unit = rng.choice([1, 2, 3, 4]), 1 << 160
    a = [Fraction(rng.randint(0, 9), rng.randint(1, 9)) for _ in range(size)]
    scale = rng.choice([1, 1, 10**6, 10**12])
    close = rng.choice([0, 1])
    W = [[Fraction(0)] * size for _ in range(size)]
    for i in range(size):
        for j in range(i, size):
            W[i][j] = W[j][i] = close * (i == j) + Fraction(rng.randint(-99, 99), 98 * scale)
    document = {
        "signal": [str(x) for x in a],
        "eta": str(Fraction(rng.randint(1, 20), 100)),
        "W0": [[str(x) for x in row] for row in W],
        "steps": 40,
        "dynamics": dynamics,
        "undecided": [],
        "made_by": "",
    }
    eta = Fraction(document["eta"])
    run = module.Run(document)
    exact = run.exact
    for before, after in pairwise(exact):
        assert after == printed_step(dynamics, a, eta, before)
    active = last = None
    for M, R, active in run.enclosures(unit):
        for _ in range(2 if R and last is not None and last[1] else 0):
            inside = [list(row) for row in exact[-1]]
            for i, j in active:
                error = rng.choice([-1, 1]) * last[1]
                inside[i][j] = inside[j][i] = Fraction(last[0][i][j] + error, unit)
            image = printed_step(dynamics, a, eta, inside)
            assert all(abs(image[i][j] * unit - M[i][j]) <= R for i, j in active)
        last = M, R
    assert active is not None


def test_widths_follow_the_linearised_dynamics():
    """A converged run of 5000 steps loses no more than the growth from omega to 1, squared."""
    for dynamics in ("euler", "gd"):
        run = case(dynamics, "4 1", "1/50", "1/1000000 1/3000000; 1/1000000", 5000)
        inputs = dict(zip(("dynamics", "signal", "eta", "W0", "steps"), run, strict=True))
        replayed = module.Run({**inputs, "undecided": [], "made_by": ""})
        widths = [R for _, R, _ in replayed.enclosures(1 << 256)]
        assert max(widths) < 2**80
        assert widths[-1] < 10**6


def test_the_module_stands_alone():
    source = Path(module.__file__).read_text(encoding="utf-8")
    assert len(source.splitlines()) <= 300
    nodes = list(ast.walk(ast.parse(source)))
    names = [name.name for node in nodes if isinstance(node, ast.Import) for name in node.names]
    names += [node.module for node in nodes if isinstance(node, ast.ImportFrom)]
    assert all(name.split(".")[0] in sys.stdlib_module_names for name in names)


def command(*arguments):
    return subprocess.run(
        [sys.executable, "-I", module.__file__, *map(str, arguments)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_the_command_line(tmp_path):
    certificate = made("five steps")
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(certificate))
    done = command(path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "accepted\n", "")
    open_ = sealed({**certificate, "psd": None, "undecided": ["psd"]})
    path.write_text(json.dumps(open_))
    assert "psd: listed as undecided, but decided\n" in command(path).stdout
    path.write_text(json.dumps({**open_, "steps": 6, "eta": "2/40"}))
    done = command(path)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("digest: ")
    path.write_text(json.dumps(sealed({**open_, "eta": "2/40"})))
    assert command(path).stdout.startswith("eta: ")
    twice = json.dumps(certificate)[:-1] + ', "steps": 5}'
    path.write_text(twice)
    assert command(path).returncode == 1
    path.write_text(json.dumps({**certificate, "steps": float("nan")}))
    assert command(path).returncode == 2
    for text in ("", "{", "[" * 100_000, "\xff", "1" * 5000):
        path.write_bytes(text.encode("latin-1"))
        done = command(path)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.count("\n") == 1
        assert "Traceback" not in done.stderr
    assert command(tmp_path / "missing").returncode == 2
    assert command().returncode == 2
