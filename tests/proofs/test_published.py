"""Proofs of published theorems: all of them stand, and an error in a lemma reaches the theorem."""

from pathlib import Path

import pytest

import swingby

PROOFS = Path(__file__).parents[2] / "docs" / "proofs"

#: By file: the line with the error, what is put for what in it, and the theorem that rests on it.
PLANTED = {
    "smooth_convex": ("descent", "gap(t) - |g(t)|²/(2 L)", "gap(t) - |g(t)|²/L", "rate"),
    "gradient_descent": ("descent", "gap(t) - |g(t)|²/(2 L)", "gap(t) - |g(t)|²/L", "rate"),
    "acceleration": ("move", "s² |g|²/L²", "s² |g|²/(2 L²)", "Lyapunov"),
    "heavy_ball": ("below", "(1 - c²/(4 m))", "(1 - c²/(8 m))", "rate"),
    "gronwall": ("exponential", "1 + h <= exp(h)", "1 + h <= exp(h/2)", "Gronwall"),
    "balanced": ("step", "J(t+1) = J(t) + η² (", "J(t+1) = J(t) - η² (", "drift"),
    "saxe": ("product", "(a² + b²) (s - u)", "2 (a² + b²) (s - u)", "time"),
    "sgd": ("outcome", "(L η²/2) |g(t)|²", "(L η²/4) |g(t)|²", "rate"),
    "weyl": ("cross", "dot(v, v') <= ρ ρ'", "dot(v, v') <= ρ ρ'/2", "perturbation"),
    "deep_linear": ("power", "-(N - 2) e", "-(N - 1) e", "escape"),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_published_proof_stands_and_a_planted_error_reaches_it(name, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    broken, old, new, theorem = PLANTED[name]
    text = (PROOFS / f"{name}.proof").read_text(encoding="utf-8")
    states = {}
    for edition in (text, text.replace(old, new)):
        file = tmp_path / f"{name}.proof"
        file.write_text(edition, encoding="utf-8")
        ledger = swingby.audit(file, progress=False)
        states[edition] = {line.id: line.state for line in ledger.standing()}
    assert set(states[text].values()) == {"stands"}
    assert len(states) == 2
    assert ledger[broken].verdict == "refuted"
    assert (states[edition][broken], states[edition][theorem]) == ("falls", "falls")
