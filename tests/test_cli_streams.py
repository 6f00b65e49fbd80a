"""Output streams: a reader that goes away gives 141, and no encoding changes what is answered."""

import io
import os
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest

from swingby.cli import cli, run
from swingby.cli.streams import spell_signs

CHECK = ["check", "--signal", "4,1", "--omega", "1e-80", "--eta", "1e-4"]
PREDICT = ["predict", "--signal", "4,1", "--omega", "1e-8", "--eta", "0.01", "--dynamics", "gd"]
ENCODINGS = ("cp1252", "latin-1", "gbk", "cp437", "ascii")


def names(group, before=()):
    """The words of every command."""
    for name in group.commands:
        yield (*before, name)
        if isinstance(group.commands[name], click.Group):
            yield from names(group.commands[name], (*before, name))


class Gone(io.StringIO):
    """A stream whose reader has gone."""

    def write(self, text):
        raise BrokenPipeError(32, "Broken pipe")


@pytest.mark.parametrize(
    "arguments",
    [*([*words, "--help"] for words in names(cli)), [], ["--version"], CHECK, [*PREDICT, "--json"]],
    ids=" ".join,
)
def test_a_reader_that_left_is_no_verdict(arguments, monkeypatch):
    """Also one of both streams, as with ``2>&1 | head``."""
    for streams in (("stdout",), ("stdout", "stderr")):
        with monkeypatch.context() as patch:
            for name in streams:
                patch.setattr(sys, name, Gone())
            assert run(arguments) == 141


def test_a_line_on_stderr_that_nobody_reads_is_no_verdict(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Gone())
    assert run(["predict", "--nosuch"]) == 141


@pytest.mark.parametrize("taken", [0, 1])
def test_a_real_pipe_gives_141_and_no_words(taken):
    arguments = ["table", "--paper"] if taken else CHECK
    call = [sys.executable, "-m", "swingby", *arguments]
    with subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        child.stdout.read(taken)
        child.stdout.close()
        assert child.stderr.read() == b""
    assert child.returncode == 141


@pytest.mark.parametrize("module", ["swingby.proofs.checkers.check_witness", "studies"])
def test_programs_of_their_own_end_with_their_reader(module, tmp_path):
    if module == "studies":
        pytest.importorskip("torch")
    root = Path(__file__).resolve().parents[1]
    call = [sys.executable, "-m", module, *[str(tmp_path)][: module != "studies"]]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "cwd": root}
    with subprocess.Popen(call, **pipes) as child:
        child.stdout.close()
        assert child.stderr.read() == b""
    assert child.returncode == -signal.SIGPIPE  # which a shell calls 141


#: How the table of the README spells what is in the answers below.
SPELLED = {
    "ω": "omega", "α": "alpha", "β": "beta", "γ": "gamma", "η": "eta", "κ": "kappa",
    "≤": "<=", "≥": ">=", "≠": "!=", "−": "-", "─": "-", "±": "+-", "²": "^2",
}  # fmt: skip


def answer(arguments, encoding, patch):
    """Exit code and text of a command whose output has an encoding."""
    raw, errors = io.BytesIO(), io.BytesIO()
    with patch.context() as patched:
        patched.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding=encoding))
        patched.setattr(sys, "stderr", io.TextIOWrapper(errors, encoding=encoding))
        spell_signs()
        code = run(arguments)
        sys.stdout.flush()
        sys.stderr.flush()
        return code, (raw.getvalue() + errors.getvalue()).decode(encoding)


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize(
    "arguments",
    [CHECK, PREDICT, ["audit", "--item", "D.61"], ["predict", "--mu", "no nω ≤ ─", "--eta", "1"]],
    ids=lambda arguments: arguments[0],
)
def test_signs_that_a_stream_lacks_are_spelled(arguments, encoding, monkeypatch):
    code, text = answer(arguments, encoding, monkeypatch)
    expected_code, expected = answer(arguments, "utf-8", monkeypatch)
    assert code == expected_code
    for sign, spelled in SPELLED.items():
        try:
            sign.encode(encoding)
        except UnicodeEncodeError:
            expected = expected.replace(sign, spelled)
    assert text.split() == expected.replace("nomega", "n omega").split()


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("βω 2ω ωd x² 10⁻¹²", "beta omega 2omega omega d x^2 10^-12"),
        ("┌─┬─┐│a│ │…│ λ∞ ∎", "+-+-+|a| |...| lambdainf QED"),
        ("naïve 日 ½ ≰ w₁₂ \udcf6", r"naive \u65e5 \xbd \u2270 w_12 \udcf6"),
    ],
)
def test_spellings_can_be_read(text, spelled, monkeypatch):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    spell_signs()
    click.echo(text, nl=False)
    sys.stdout.flush()
    assert raw.getvalue().decode("ascii") == spelled


def test_files_stay_utf_8(tmp_path):
    """Whatever the stream, and a process of its own."""
    path = tmp_path / "a.txt"
    environment = {**os.environ, "PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0", "LC_ALL": "C"}
    call = [sys.executable, "-m", "swingby", "audit", "--item", "D.61"]
    subprocess.run([*call, "--out", str(path)], env=environment, check=True)
    assert "≥" in path.read_text(encoding="utf-8")
    printed = subprocess.run(call, env=environment, check=True, capture_output=True)
    assert b">=" in printed.stdout
