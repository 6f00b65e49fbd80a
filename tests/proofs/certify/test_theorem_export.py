"""Theorems of Lean 4 and Coq: their grammar, line by line, and whether Coq accepts them."""

import re
import shutil
import subprocess

import pytest

from swingby.proofs.audit.theorem_export import COQ, LEAN, export_theorems
from swingby.proofs.language.claims import by_id

#: Lines that sums of products of hypotheses prove.
LINES = ("D.59", "D.18", "D.37", "D.12", "before D.12")

NAME, LETTER = r"[a-z]+_?\d*", r"x\d+"
TERM = rf"(?:[ ()*/^+-]|\d+|{LETTER}|F\d+|: ℝ)+"
CLAIM = rf"{TERM} (?:≤|<|=) {TERM}"
#: What a line of a file may be, and nothing else.
GRAMMAR = re.compile(
    "|".join(
        (
            r"-- .*",
            "import Mathlib",
            "",
            rf"theorem step_\d+ \((?:{LETTER} )+: ℝ\)(?: \({NAME} : {CLAIM}\))* :",
            rf"    {CLAIM} := by",
            r"  by_contra not_goal",
            r"  push_neg at not_goal",
            rf"  obtain ⟨F\d+, e\d+⟩ : ∃ F : ℝ, F = {TERM} := ⟨_, rfl⟩",
            r"  have f\d+ : 0 (?:≤|<) F\d+ := by",
            r"    rw \[e\d+\]",
            r"    first \| linarith \| positivity \| nlinarith \| \(field_simp at \*; nlinarith\)",
            rf"  have key : {CLAIM} := by",
            r"    subst(?: e\d+)+",
            r"    (?:field_simp|ring)",
            rf"  have p\d+ : 0 (?:≤|<) {TERM} := by positivity",
            r"  linarith",
        )
    )
)


@pytest.fixture(scope="module")
def ledger(record):
    return [record(claim) for name in LINES for claim in by_id(name)]


def test_every_line_of_a_file_is_of_the_grammar(ledger, tmp_path):
    written, _ = export_theorems(ledger, tmp_path, LEAN)
    assert len(written) >= 4
    for path in tmp_path.glob("*.lean"):
        for line in path.read_text(encoding="utf-8").splitlines():
            assert GRAMMAR.fullmatch(line), line
            assert line.count("(") == line.count(")")


def test_the_grammar_refuses_what_is_none_of_it():
    for line in ("  sorry", "axiom false : False", "  have p1 : 0 < x1 := by sorry"):
        assert not GRAMMAR.fullmatch(line)


@pytest.mark.full
def test_coq_accepts_the_same_sums(ledger, tmp_path):
    if shutil.which("coqc") is None:
        pytest.skip(f"{len(LINES)} lines are not run through Coq: there is no coqc")
    written, _ = export_theorems(ledger, tmp_path, COQ)
    assert written

    def accepted(name):
        run = ["coqc", name]
        return subprocess.run(run, cwd=tmp_path, capture_output=True, check=False).returncode == 0

    for path in sorted(tmp_path.glob("*.v")):
        assert accepted(path.name), path.name
        # a larger side that is smaller by a million is not accepted
        text = path.read_text(encoding="utf-8")
        (tmp_path / "spoiled.v").write_text(text.replace(".\nProof.", " - 1000000.\nProof."))
        assert not accepted("spoiled.v")
