"""No option is ignored: giving it changes what comes out, or it is refused by its name."""

import re
import shlex

import click
import numpy as np
import pytest

from swingby import cli
from swingby.cli import cli as group
from swingby.report.files import json_text
from swingby.report.seals import sealed
from tests import results
from tests.forked import sample

GRID = "signal = [[4, 1]]\nomega = [1e-2]\neta = 0.1\nseeds = 1\n"
POINTS = "".join(f"{x},{y},{x * y}\n" for x in (-2, -1, 1, 2) for y in (-3, 1, 2))
PROOF = "letters real: x\ndefault place Mine\n\nstep square: a square\n  then x^2 >= 0\n"
ROW = {
    **dict.fromkeys(("setting", "edition", "statement", "predicted", "observed", "interval"), ""),
    **{"verdict": "holds", "seeds": 1, "needed": None, "kind": "law"},
}
STUDIES = {
    name: {"about": "a toy", "inputs": {}, "canary": {}, "rows": [{**ROW, "source": name}]}
    for name in ("map", "deep")
}
RECORD = json_text(sealed({"format": "swingby evidence 3", "studies": STUDIES}))
THEORY = """
import numpy as np
import sympy as sp
from swingby.own import Passage, Theory

r, q = sp.symbols("r q", positive=True)
times = [sp.log(2) / -sp.log(1 - rate) for rate in (r, q)]
theory = Theory(
    "two decays",
    numbers={r: (0.01, 0.1, 0.3), q: (0.01, 0.05, 0.3)},
    assume={"slow": r <= 0.2},
    draws={"size": lambda n, rng: rng.uniform(0.99, 1, n)},
    start=lambda size: np.stack([size, size]),
    step=lambda x, r, q: x * np.stack([1 - r, 1 - q]),
    observe={"x": lambda x: x[0], "y": lambda x: x[1]},
    predict=[
        Passage("a", "x", 0.5, times[0], within=1, falling=True),
        Passage("b", "y", 0.5, times[1], within=1, falling=True),
    ],
)
"""
INPUTS = {
    **{"grid.toml": GRID, "points.csv": POINTS, "mine.proof": PROOF, "record.json": RECORD},
    "mine.py": THEORY,
}
RANDOM = np.random.default_rng(0)
#: A network of two layers and its data, as `network` reads them.
LAYERS = {"0": 0.1 * RANDOM.standard_normal((4, 3)), "1": 0.1 * RANDOM.standard_normal((2, 4))}
SAMPLES = {"X": RANDOM.standard_normal((20, 3)), "Y": RANDOM.standard_normal((20, 2))}
MATRIX = "--signal 4,1 --eta 0.01 --w0 '2e-2,1e-2;1e-2,2e-2'"
TINY = "--signal 4,1 --eta 1e-4 --w0 '1e-80,1e-80;1e-80,1e-80'"
SCALE = "--signal 4,1 --eta 0.01 --omega 1e-3"
CERTIFIED = "certify --signal 4,1 --eta 1/100 --w0 '2e-3,1e-3;1e-3,2e-3' --steps 20"
#: A value of every option that differs from what the commands below are given.
VALUES = {
    "mu": "1,2", "sigma": "0.2,0.1", "signal": "3,1", "dim": "3", "eta": "0.02", "omega": "1e-5",
    "beta": "2", "w0": "3e-2,0;0,3e-2", "u0": "0.2,0;0,0.1", "dynamics": "euler", "steps": "7",
    "seed": "3", "width": "5", "edition": "corrected", "rho": "0.2", "item": "D.64",
    "assume": "PSD", "source": "map", "verdict": "fails", "record": "none.json", "only": "5",
    "kind": "claim", "accuracy": "leading",
    "x": "omega", "y": "eta", "where": "omega=1e-2", "workers": "1", "chunk": "3", "dask": "local",
    "export_old": "old.sqlite",
    "size": "tiny", "seconds": "0.5", "replay": "none.json", "lr": "0.3", "depth": "2",
    "activation": "relu", "initialization": "gaussian", "scale": "0.5", "optimizer": "gd",
    "batch_size": "5", "loss": "paper", "shuffle": "epoch", "weight_decay": "0.5", "epochs": "2",
    "seeds": "2", "start": "none.npz", "record of train": "log", "precision": "float64",
    "device": "none", "unit": "eta t",
    "momentum": "0.5", "order": "none.npy", "points_per_class": "9", "truncation": "1",
    "free_sigma": "0.3",
    "denoiser": "linear", "reads": "both", "batch": "3", "data of train": "none.npz",
    "vary": "omega", "between": "1e-4,1e-3", "data of network": "none.npz",
    "columns": "entry,event", "rows": "half", "latex_width": "240pt",
    "loss of network": "mse", "every": "10", "observed": "none.npz", "gradients": "3",
    "steps of network": "0,10", "weight_decay of network": "0.01", "at": "q=0.2",
    "question": "a before b", "over": "r=3", "count": "40", "store of theory": "rows",
    "seconds of theory": "0.02",
}  # fmt: skip
#: Each command as it is typed; its other options are given one by one.
TYPED = {
    "check": f"check {SCALE}",
    "check, repaired": f"check {SCALE} --edition repaired",
    "check, statements": f"check {SCALE} --statements",
    "check of a matrix": f"check {MATRIX}",
    "predict": "predict --signal 4,1 --eta 1e-4 --omega 1e-80 --json",
    "predict, matrix": f"predict {TINY} --json",
    "simulate": f"simulate {SCALE} --steps 20",
    "simulate, matrix": f"simulate {MATRIX} --steps 20",
    "table": f"table {SCALE} --steps 900",
    "table, matrix": f"table {MATRIX} --steps 900",
    "table, tex": f"table {MATRIX} --steps 900 --out table.tex",
    "predict, tex": f"predict {TINY} --out table.tex",
    "certify": CERTIFIED,
    "figures": "figures --list",
    "evidence": "evidence --record record.json",
    "evidence, json": "evidence --record record.json --json",
    "sweep": "sweep grid.toml --out s --workers 0",
    "train": "train --mu 1,2 --sigma 0.1,0.1 --dim 3 --points-per-class 8 --steps 60 --json",
    "train, deep": "train --mu 1,2 --dim 3 --points-per-class 8 --steps 60 --json --depth 2",
    "vectors": "vectors --mu 1,2 --sigma 0.05,0.05 --eta 0.05 --steps 5",
    "audit": "audit mine.proof",
    "audit, item": "audit --item D.27",
    "hunt": "hunt D.61 --seconds 1 --json",
    "relu": "relu --data points.csv",
    "threshold": "threshold 'loss rises' --signal 4,1 --eta 0.01 --w0 '2,1;1,2' --vary omega",
    "threshold, start": "threshold '1 by 100' --signal 4,1 --omega 1e-4 --vary eta",
    "network": "network weights.npz --data data.npz --lr 0.01",
    "explore": f"explore {SCALE}",
    "theory, check": "theory mine.py check",
    "theory, hunt": "theory mine.py hunt --json",
    "theory, threshold": "theory mine.py threshold --question 'a before b' --vary r",
    "theory, sweep": "theory mine.py sweep --over q=3",
    "verify": "verify record.json",
    "diffusion judge": "diffusion judge recorded",
    "diffusion plan": "diffusion plan --out new.toml",
}
#: What would take long, or needs what is not there: every other option is refused before it.
REFUSED = {
    "table --paper": {"as_json", "out"},
    "certify --replay none.json": {"as_json"},
    "sweep grid.toml --out s --status": {
        *("as_json", "export", "diagram", "x", "y", "where", "disagreements", "descents")
    },
}
#: (command, option) that may leave all as it was, and why.
NOTHING = {
    ("audit", "no_trajectories"): "a line about numbers has no search to leave out",
    ("audit", "no_cache"): "the same verdicts, judged anew",
    ("theory", "workers"): "who does the work",
    ("theory", "chunk"): "how the work is cut",
    ("network", "replacement"): "batches of all samples are refused below",
    ("sweep", "chunk"): "how the work is cut",
    ("sweep", "dask"): "who does the work",
    ("sweep", "status"): "a second command beside the one above",
    ("sweep", "restart"): "the same rows, measured again",
    ("train", "checkpoint"): "it is there to go on with, and gone at the end",
    ("train", "record"): "what the file of --out holds",
    ("table", "edition"): "windows come with starts so small that the run takes minutes",
}


def test_every_option_of_a_shared_command_is_given_below():
    missing = set()
    for name in TYPED:
        for option in options(name.partition(",")[0]):
            value = VALUES.get(f"{option.name} of {name.split()[0]}", VALUES.get(option.name))
            if not option.is_flag and value is None and option.name not in FILES:
                missing.add(option.name)
    assert not missing


#: Options that name a file or folder to be written.
FILES = {
    *("store", "out", "export", "diagram", "checkpoint", "plot", "graph", "data", "film", "table")
}


def options(command):
    found, words = group, iter(command.split())
    while isinstance(found, click.Group):
        found = found.commands[next(words)]
    return [one for one in found.params if isinstance(one, click.Option) and one.name != "budget"]


def typed(option, command):
    flag = option.opts[-1]
    if option.is_flag:
        return [flag]
    if option.name in FILES and f"{option.name} of {command}" not in VALUES:
        return [flag, {"out": "x.md", "table": "x.md"}.get(option.name, "x.png")]
    return [flag, VALUES.get(f"{option.name} of {command}", VALUES.get(option.name, "x"))]


def outcome(arguments, capsys, folder, monkeypatch):
    """The exit code, the files and what was printed."""
    folder.mkdir()
    monkeypatch.chdir(folder)
    for name, text in INPUTS.items():
        (folder / name).write_text(text)
    np.savez(folder / "weights.npz", **LAYERS)
    np.savez(folder / "data.npz", **SAMPLES)
    code = cli.run(arguments)
    out, err = capsys.readouterr()
    out = re.sub(r'"seconds": [\d.e-]+', "", out)
    pages = [*folder.glob("explorer.html"), *folder.glob("table.tex")]
    pages = [page.read_text() for page in pages]
    return code, out, err, [*sorted(str(one.name) for one in folder.iterdir()), *pages]


@pytest.mark.parametrize("name", sample(TYPED, 2))
def test_an_option_changes_something_or_is_refused(name, capsys, tmp_path, monkeypatch):
    command = name.split(",")[0]
    base = shlex.split(TYPED[name])
    if command in ("train", "vectors"):
        pytest.importorskip("torch")
    if command == "diffusion judge":
        monkeypatch.setattr("studies.image_study.recorded_study", results.small_study)
    before = outcome(base, capsys, tmp_path / "before", monkeypatch)
    ignored = []
    for option in options(command):
        if set(option.opts) & set(base) or (command, option.name) in NOTHING:
            continue
        given = [*base, *typed(option, command)]
        after = outcome(given, capsys, tmp_path / option.name, monkeypatch)
        assert after[0] in (0, 1, 2, 3), (given, after)
        if after[0] == 2 and before[0] != 2:
            assert after[2].startswith("swingby: "), after
            assert after[2].count("\n") == 1
        elif after[:2] == before[:2] and after[3] == before[3]:
            ignored.append(" ".join(typed(option, command)))
    assert not ignored


@pytest.mark.parametrize("base", REFUSED)
def test_what_does_not_apply_is_refused_before_the_work(base, refused, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "grid.toml").write_text(GRID)
    words = shlex.split(base)
    for option in options(words[0]):
        if option.opts[-1] in words or option.name in REFUSED[base]:
            continue
        given = [*words, *typed(option, words[0])]
        assert refused(given).startswith(f"swingby: {option.name} must not be given"), given
