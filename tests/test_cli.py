"""The command line: exit codes, one line for wrong input, JSON and files."""

import contextlib
import io
import itertools
import json
import math
import pickle
import platform
import shlex
import subprocess
import sys
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from swingby.cli import exits, run

CHECK = ["check", "--signal", "4,1", "--omega", "1e-80", "--eta", "1e-4"]
PREDICT = ["predict", "--signal", "4,1", "--omega", "1e-8", "--eta", "0.01"]
SIMULATE = ["simulate", "--signal", "4,1", "--w0", "0.02,0.01;0.01,0.02", "--eta", "0.01"]
TABLE = ["table", *SIMULATE[1:]]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (CHECK, 0),
        ([*CHECK[:4], "1e-70", *CHECK[5:]], 1),
        ([*CHECK, "--edition", "corrected"], 1),
        (PREDICT, 0),
        ([*PREDICT, "--dynamics", "flow", "--width", "3"], 0),
        (SIMULATE, 0),
        ([*SIMULATE, "--dynamics", "gd", "--steps", "100"], 0),
        (TABLE, 0),
        (["table", "--mu", "1,2", "--omega", "1e-4", "--eta", "0.02", "--seed", "3"], 0),
        (["predict", "--mu", "1,2", "--dim", "4", "--omega", "1e-3", "--eta", "0.01"], 0),
        ([*TABLE, "--steps", "3"], 0),
        (["table", *PREDICT[1:3], "--w0", "1e-3,1e-3;1e-3,1e-3", "--eta", "0.01"], 0),
        (["--version"], 0),
    ],
)
def test_the_exit_code_says_how_it_went(arguments, code, capsys):
    """In words, and in JSON without nan and infinity."""

    def no_number(word):
        raise AssertionError(word)

    for form in [[], ["--json"]][: 2 - (arguments == ["--version"])]:
        assert run([*arguments, *form]) == code
        out, err = capsys.readouterr()
        assert out
        assert err == ""
        assert not form or isinstance(json.loads(out, parse_constant=no_number), dict)


def test_an_undecided_verdict_exits_with_three(monkeypatch, capsys):
    from swingby.theory.verdict import Verdict
    from swingby.verify.checking import feasibility

    # No rational omega can sit on the border itself, so precision is made to run out here.
    monkeypatch.setattr(feasibility, "omega_verdict", lambda *_: Verdict.UNDECIDED)
    arguments = [*CHECK[:4], "1e-74", *CHECK[5:]]
    assert run(arguments) == 3
    assert "undecided" in capsys.readouterr().out


BAD_NUMBERS = ["nan", "-inf", "", " ", "1e", "1/0", "0x10", "1,,2", "1e999999"]

WRONG = [
    *([*CHECK[:3], "--omega", bad, *CHECK[5:]] for bad in [*BAD_NUMBERS, "0", "-1e-3"]),
    *([*CHECK[:6], bad] for bad in ["nan", "0", "-0.01"]),
    *(["predict", "--mu", bad, *PREDICT[3:]] for bad in [*BAD_NUMBERS, "0", "-1"]),
    *(["predict", "--mu", "1,2", "--sigma", bad, *PREDICT[3:]] for bad in ["-1", "", "1,2,3"]),
    *([*PREDICT, "--width", bad] for bad in ["1", "2.5", "x", "1e99999"]),
    *([*PREDICT, "--beta", bad] for bad in ["1/2", "-2", "much"]),
    *(
        ["predict", "--mu", "1,2", "--dim", bad, *PREDICT[3:]]
        for bad in ["1", "-2", "2.5", "1000000000000"]
    ),
    ["predict", "--signal", "1,0,2", *PREDICT[3:]],
    ["predict", "--signal", "-1,2", *PREDICT[3:]],
    ["predict", "--signal", "0,0", *PREDICT[3:]],
    ["predict", "--signal", "4,1", "--mu", "1,2", *PREDICT[3:]],
    ["predict", *PREDICT[3:]],
    PREDICT[:5],
    PREDICT[:3] + PREDICT[5:],
    [*PREDICT, "--w0", "1,0;0,1"],
    [*PREDICT, "--eta", "1e-400"],
    [*PREDICT, "--dynamics", "adam"],
    [*PREDICT, "--edition", "final"],
    [*CHECK, "--edition", ""],
    [*CHECK, "--w0", "1,0;0,1"],
    *([*SIMULATE, "--steps", bad] for bad in ["0", "1.5", "many"]),
    ["simulate", *PREDICT[1:], "--seed", "-1"],
    ["simulate", *PREDICT[1:], "--seed", "x"],
    ["simulate", *PREDICT[1:], "--width", "1000000000000"],
    ["simulate", "--signal", "4,1", "--w0", "1,2;2,1", "--eta", "0.01", "--dynamics", "gd"],
    [*TABLE, "--paper"],
    [*TABLE, "--edition", "repaired"],
    ["verify"],
    ["check", "--frequency", "3"],
    ["check", "extra", *CHECK[1:]],
    ["check", "--mu"],
]


def name_of(arguments):
    return " ".join(repr(part) if not part.strip() else part for part in arguments)[:90]


@pytest.mark.parametrize("arguments", WRONG, ids=map(name_of, WRONG))
def test_wrong_input_is_one_line_and_exit_two(arguments, refused):
    refused(arguments)


WRONG_MATRICES = """1,0,0;0,1,0 1,0,0;0,1,0;0,0,1 1 1,2;3,1 1,0;0 0,0;0,0 nan,0;0,1 inf,0;0,1
    1,0;0,one ; 1e308,1e308;1e308,1e308 1e400,0;0,1 missing.npy missing.json missing.csv"""


@pytest.mark.parametrize("matrix", ["", "no such thing", *WRONG_MATRICES.split()])
@pytest.mark.parametrize("command", ["check", "predict", "simulate", "table"])
def test_a_wrong_matrix_is_refused_by_every_command(
    command, matrix, refused, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    refused([command, "--signal", "4,1", "--eta", "0.01", "--w0", matrix])


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("broken.npy", b"\x93NUMPY broken"),
        ("pickled.npy", pickle.dumps([[1, 0], [0, 1]])),
        ("broken.json", b"[[1, 0], [0"),
        ("wrong.json", b'{"matrix": [[1, 0], [0, 1]]}'),
        ("names.json", b'{"matrix": [[1, 0], [0, 1]], "scale": 1}'),
        ("twice.json", b'{"matrix": [[1, 0], [0, 1]], "omega": "1e-5", "omega": "1e-4"}'),
        ("flat.json", b'{"matrix": 1, "omega": 1}'),
        ("deeper.json", b"[[[1, 0], [0, 1]]]"),
        ("dicts.json", b'[{"a": 1}, {"b": 1}]'),
        ("one.json", b"1"),
        ("null.json", b"null"),
        ("nan.json", b"[[NaN, 0], [0, 1]]"),
        ("deep.json", b"[" * 100_000),
        ("binary.json", b"\xff\xfe\x00"),
        ("binary.csv", b"\xff\xfe\x00"),
        ("empty.csv", b""),
        ("ragged.csv", b"1,0\n0\n"),
        ("words.csv", b"a,b\nb,a\n"),
    ],
)
def test_a_wrong_matrix_file_is_refused(name, content, tmp_path, refused):
    path = tmp_path / name
    path.write_bytes(content)
    refused(["predict", "--signal", "4,1", "--eta", "0.01", "--w0", str(path)])


def test_a_pickled_array_is_never_unpickled(tmp_path, refused, bomb):
    path = tmp_path / "object.npy"
    np.save(path, np.array([[bomb, 1], [1, 2]], dtype=object), allow_pickle=True)
    refused(["predict", "--signal", "4,1", "--eta", "0.01", "--w0", str(path)])


@pytest.mark.parametrize("diagonal", ["1e-3,0;0,1e-3", "1e-90,0;0,1e-90", "0.5,0;0,0.25"])
def test_a_diagonal_matrix_is_judged_and_not_refused(diagonal, capsys):
    # A zero entry of W(0) fails D.1: an answer, not an error.
    assert run(["check", "--signal", "4,1", "--eta", "1e-4", "--w0", diagonal]) == 1
    assert "zero entry" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("command", ["check", "predict"])
@pytest.mark.parametrize(
    "forms",
    [
        ("--omega 1e-3 --mu 1 --mu 2 --sigma 0.1,0.2", "--omega 1e-3 --mu '1 , 2' --sigma 0.1,.2"),
        ("--signal 4,1 --w0 '0.5,0.25;0.25,0.5'", "--signal 4 --signal 1 --w0 W0.txt"),
    ],
    ids=["commas", "a file"],
)
def test_the_same_numbers_in_another_form_print_the_same(
    command, forms, capsys, tmp_path, monkeypatch
):
    """How a file of each ending is read is a property in ``tests/properties``."""
    monkeypatch.chdir(tmp_path)
    np.savetxt("W0.txt", [[0.5, 0.25], [0.25, 0.5]])
    printed = []
    for form in forms:
        assert run([command, *shlex.split(form), "--eta", "0.01"]) in (0, 1)
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1] != ""


MARKS = {".json": b"{", ".md": b"**", ".tex": b"\\begin{tabular}", ".html": b"<div>", ".txt": b""}
WRITTEN = [
    *itertools.product([CHECK], MARKS),
    *itertools.product([PREDICT, TABLE], [".json", ".md"]),
    *itertools.product([SIMULATE], [".npz", ".csv", ".json"]),
    *itertools.product([TABLE], [".png", ".csv"]),
]


@pytest.mark.parametrize(("arguments", "suffix"), WRITTEN)
def test_out_writes_the_format_of_its_ending(arguments, suffix, tmp_path, capsys):
    path = tmp_path / f"result{suffix}"
    assert run([*arguments, "--out", str(path)]) == 0
    content = path.read_bytes()
    assert content.startswith(MARKS.get(suffix, b""))
    assert len(content) > 100
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("arguments", [CHECK, SIMULATE])
@pytest.mark.parametrize("name", ["missing/a.json", "a.xyz", "a", "folder.json"])
def test_what_cannot_be_written_is_one_line(arguments, name, tmp_path, refused):
    (tmp_path / "folder.json").mkdir()
    refused([*arguments, "--out", str(tmp_path / name)])


def test_a_warning_is_one_line_and_the_result_still_comes(capsys):
    arguments = ["simulate", "--signal", "4,1", "--w0", "1e-3,2e-3;2e-3,1e-3", "--eta", "0.01"]
    assert run([*arguments, "--dynamics", "euler", "--steps", "5"]) == 0
    captured = capsys.readouterr()
    assert captured.err.startswith("swingby: warning: W0 is not positive semidefinite")
    assert captured.err.count("\n") == 1
    assert captured.out


#: Text of every kind, and text that is nearly a number.
NEARLY = "1e-400 1e400 -0 +1 1_000 1/3 ٣ 1e-99999 1e99999 .5 5. 4,1 1;2 1e5 3 1e9"
ANY_TEXT = st.one_of(
    st.text(max_size=12),
    st.text(alphabet="0123456789.,;-+e/ ", max_size=10),
    st.sampled_from(NEARLY.split()),
    st.floats().map(repr),
)


def quiet_run(arguments):
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        code = run(arguments)
    return code, out.getvalue(), err.getvalue()


SHARED = ["mu", "sigma", "signal", "eta", "omega", "beta", "w0", "dynamics", "edition"]
OPTIONS = {"check": [*SHARED, "rho"], "predict": [*SHARED, "width"]}


@pytest.mark.parametrize(
    ("command", "option"), [(name, option) for name, given in OPTIONS.items() for option in given]
)
@given(ANY_TEXT)
def test_any_text_for_any_option_ends_in_a_verdict_or_one_line(command, option, text):
    given_options = {"mu": "1,2", "omega": "1e-3", "eta": "0.01"}
    if option == "signal":
        del given_options["mu"]
    if option == "w0":
        del given_options["omega"]
    given_options[option] = text
    arguments = [command, *(f"--{name}={value}" for name, value in given_options.items())]
    code, out, err = quiet_run([*arguments, "--json"])
    assert code in (0, 1, 2, 3)
    if code == 2:
        assert out == ""
        assert err.startswith("swingby: ")
        assert err.count("\n") == 1
    else:
        content = json.loads(out)
        if command == "predict":
            # A start that is not small may have no prediction, but none before step 0.
            assert all(time == "nan" or float(time) >= 0 for time in content["half_times"])
        if command == "check":
            assert content["verdict"] in ("holds", "fails", "undecided")
            assert code == {"holds": 0, "fails": 1, "undecided": 3}[content["verdict"]]
            verdicts = [entry["verdict"] for entry in content["assumptions"]]
            assert set(verdicts) <= {"holds", "fails", "undecided"}
            assert "nan" not in [entry["margin"] for entry in content["assumptions"]]


@given(
    st.lists(st.one_of(ANY_TEXT, st.sampled_from(["--mu", "--eta", "--json", "-h"])), max_size=4)
)
def test_any_arguments_at_all_end_in_an_exit_code(arguments):
    code, _, err = quiet_run(["predict", *arguments])
    assert code in (0, 2)
    assert err.count("\n") <= 1


def test_u0_is_the_factor_of_w0_and_given_alone(capsys, refused):
    """A pivot of 1e-24 beside 1e-6, which W(0) in floats does not have."""
    start = ["--signal", "4,1", "--eta", "0.01", "--u0", "1e-3,0;1e-3,1e-12"]
    assert run(["predict", *start, "--json", "--dynamics", "gd"]) == 0
    close = json.loads(capsys.readouterr().out)
    late = [e["time"] for e in close["events"] if (e["entry"], e["event"]) == ("w_22", "half")]
    assert late == [pytest.approx(math.log(1e24) / (2 * math.log1p(0.01)), rel=0.01)]
    matrix = ["--w0", "1,0;0,1"]
    assert refused(["predict", *matrix, *start]).startswith("swingby: u0 must")
    assert refused(["check", *matrix, *start]).startswith("swingby: u0 must")
    assert refused(["simulate", "--omega", "1e-3", *start]).startswith("swingby: omega must")


@pytest.mark.parametrize(
    ("redirection", "words"), [(">/dev/full", "No space left"), (">&-", "output is closed")]
)
def test_what_breaks_is_one_line_and_never_a_verdict(redirection, words):
    """Exit code 5, where a traceback would end with 1: the assumptions fail."""
    call = f"{shlex.join([sys.executable, '-m', 'swingby', *PREDICT])} {redirection}"
    done = subprocess.run(call, shell=True, capture_output=True, text=True, check=False)
    assert done.returncode == 5
    assert done.stderr.startswith("swingby: something broke: ")
    assert done.stderr.count("\n") == 1
    assert words in done.stderr


def test_a_fault_of_our_own_is_no_verdict(capsys, monkeypatch):
    def broken(*arguments, **options):
        raise ZeroDivisionError("two\nlines")

    monkeypatch.setattr("swingby.verify.check.check", broken)
    assert run(CHECK) == 5
    assert capsys.readouterr().err == "swingby: something broke: ZeroDivisionError: two lines\n"


@pytest.mark.parametrize("error", [SystemExit(1), EOFError("Ran out of input"), MemoryError()])
def test_what_a_library_raises_is_no_verdict(error, capsys, monkeypatch):
    """Click takes EOFError for Ctrl-D at a question; nothing takes SystemExit for an error."""

    def broken(*arguments, **options):
        raise error

    monkeypatch.setattr("swingby.verify.check.check", broken)
    assert run(CHECK) == 5
    last = capsys.readouterr().err.strip()
    assert last.startswith(f"swingby: something broke: {type(error).__name__}")
    assert last.count("\n") == 0


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="needs GNU's C library")
@pytest.mark.parametrize("what", ["ctypes.CDLL(None).exit(1)", "refuse(); raise MemoryError"])
def test_no_memory_and_a_library_that_exits_are_no_verdict(what):
    """As libraries do where they get no memory: exit(1) of C, which Python does not see."""
    code = f"""
import ctypes, sys
from swingby import cli
import swingby.verify.check as room

class Full:
    def write(self, text):
        raise MemoryError
    flush = lambda self: None

def refuse():
    sys.stdout = sys.stderr = Full()

def broken(*arguments, **options):
    print("half an answer", end="")
    {what}

room.check = broken
cli.main({CHECK!r})
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 5
    assert done.stderr.strip() == exits.BROKEN.decode().strip()


def test_nothing_is_left_to_run_at_the_exit_of_a_command():
    """The guard is for the command alone: what ends the process later has its own code."""
    code = f"import ctypes; from swingby import cli; cli.run({CHECK!r}); ctypes.CDLL(None).exit(7)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (7, b"")


@pytest.mark.parametrize(
    ("error", "program", "code"),
    [
        ("MemoryError", "swingby.proofs.checkers.check_witness", 5),
        ("MemoryError", "swingby.proofs.checkers.replay", 5),
        ("MemoryError", "studies", 5),
        ("KeyboardInterrupt", "studies", 130),
    ],
)
def test_programs_beside_the_command_give_no_verdict_either(error, program, code, tmp_path):
    """Code 1 of theirs says that something is rejected, or moved."""
    pytest.importorskip("torch")  # the studies train networks
    run(["certify", *SIMULATE[1:], "--steps", "2", "--out", str(tmp_path / "a.json")])
    named = {"swingby.proofs.checkers.check_witness": tmp_path, "studies": "all"}
    lines = f"""
import hashlib, json, runpy, sys
from studies import plan, runner

def broken(*arguments, **options):
    raise {error}

plan.load_plan = json.loads = hashlib.sha256 = broken
sys.argv[1:] = [{str(named.get(program, tmp_path / "a.json"))!r}]
runpy.run_module({program!r}, run_name="__main__")
"""
    call = [sys.executable, "-W", "ignore", "-c", lines]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    assert error in done.stderr or code == 130


def test_a_file_that_says_it_is_encrypted_is_refused(tmp_path):
    path = tmp_path / "run.npz"
    assert run([*SIMULATE, "--steps", "2", "--dynamics", "gd", "--out", str(path)]) == 0
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(content)
    assert run(["verify", str(path)]) == 2
