"""swingby vectors: as typed, as printed, and what it ends with."""

import json
import re

import pytest

from swingby import cli
from swingby.theory.task import SIMTask

pytest.importorskip("torch")

from swingby.lab.diffusion.vectors import VectorSetting, compare_vectors

pytestmark = pytest.mark.torch

SHORT = ["vectors", "--mu", "1,2", "--eta", "0.1", "--denoiser", "linear", "--steps", "80"]
# Where both are read, the plain ratio of half-times is wrong.
BOTH = [
    *("vectors", "--mu", "1,2", "--sigma", "0.05,0.05", "--denoiser", "linear", "--reads", "both"),
    *("--omega", "1e-5", "--lr", "4e-4", "--batch", "64", "--steps", "300"),
]


def test_what_is_printed_is_what_is_compared(capsys):
    options = ["--seed", "4", "--seeds", "2", "--batch", "32", "--sigma", "0.05,0.1"]
    assert cli.run([*SHORT, *options, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    task = SIMTask([1, 2], ["0.05", "0.1"])
    settings = [
        VectorSetting(task, "linear", eta=0.1, steps=80, seed=seed, batch=32) for seed in (4, 5)
    ]
    assert told == compare_vectors(settings).to_dict()


@pytest.mark.parametrize(
    ("typed", "code", "word"),
    [
        (SHORT, 0, "4 hold"),
        (BOTH, 1, "1 fail"),
        # An MLP is outside the range: nothing is said.
        ([*SHORT, "--denoiser", "mlp"], 3, "outside"),
        # No rate is stable: a line says so, and no half-time is predicted.
        ([*SHORT, "--reads", "both", "--eta", "2"], 3, "diverged"),
    ],
)
def test_exit_codes(typed, code, word, capsys):
    assert cli.run(typed) == code
    out = capsys.readouterr().out
    assert word in out
    assert "nan" not in out


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (["--mu", "1,2"], "eta"),
        (["--eta", "0.1"], "mu"),
        (["--mu", "1,2", "--eta", "0.1", "--lr", "1"], "lr and eta"),
        (["--mu", "1,2", "--eta", "fast"], "eta"),
        (["--mu", "1,2", "--eta", "0.1", "--seeds", "99999"], "seeds"),
        (["--mu", "1,2", "--eta", "0.1", "--denoiser", "x"], "Invalid value for '--denoiser'"),
        (["--mu", "1,2", "--eta", "0.1", "--out", "a.zip"], "out"),
    ],
)
def test_wrong_input_is_one_line(options, word, refused):
    assert re.match(rf"swingby: (Invalid value for '--)?{word}", refused(["vectors", *options]))
