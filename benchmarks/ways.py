"""What a way of proving wins: claims and lines that are no longer proved once it is switched off.

Run with ``python -m benchmarks.ways means squares``; ``--lines`` adds the paper's lines between
numbers (minutes for each way). The claims are those of ``tests/data``.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any
from unittest import mock

from benchmarks.claims import claims
from swingby.proofs.language.claim import Claim
from swingby.proofs.language.claims import Claims
from swingby.proofs.prover.prove import is_scalar
from swingby.proofs.prover.scalar import positivity_certificate, proof_strategies, scalar_claims
from swingby.proofs.prover.scalar.z3_check import Z3Answer
from swingby.theory.verdict import Finding
from tests.proofs.prover.test_elementary import TRUE, claim

_STRATEGIES = scalar_claims.STRATEGIES
#: Ways: the module and the name that are replaced where one is off, and by what.
WAYS: dict[str, tuple[Any, str, Any]] = {
    "chains": (positivity_certificate, "chain_columns", lambda problem: []),
    "means": (proof_strategies, "certificate_of_means", lambda problem: None),
    "squares": (proof_strategies, "sum_of_squares", lambda core: None),
    "z3": (proof_strategies, "ask_z3", lambda problem: Z3Answer("absent")),
    "logarithms": (proof_strategies, "_PLAIN", {"polynomials": {}}),
    "tangents": (proof_strategies, "_RICH", {}),
    "roots": (proof_strategies, "name_roots", lambda sequent: sequent),
    "sizes": (proof_strategies, "relax", lambda sequent: (sequent, False)),
    "apart": (scalar_claims, "_proved_apart", lambda *_: None),
    "series": (scalar_claims, "STRATEGIES", _STRATEGIES[:1] + _STRATEGIES[2:]),
    "whole": (scalar_claims, "STRATEGIES", _STRATEGIES[:2]),
}


def questions(lines: bool) -> Iterator[tuple[str, Claim]]:
    """True claims, and the paper's lines between numbers, each by its name."""
    listed = (line.lstrip("! ") for line in TRUE.splitlines() if line and not line.startswith("#"))
    yield from ((line, claim(line)) for line in (*(true for _, true, _ in claims()), *listed))
    for line in Claims().values() if lines else ():
        for edition in line:
            if is_scalar(edition) and edition.quantifier == "for all":
                yield f"{edition.id}, {edition.edition}", edition


def lost(way: str, *, lines: bool, seconds: float = 20.0) -> Iterator[tuple[str, str]]:
    """What is proved with a way and not without it: each by its name, with the verdict without."""
    for name, question in questions(lines):
        with mock.patch.object(*WAYS[way]):
            without = scalar_claims.decide_scalar(question, seconds=seconds).verdict
        if without is not Finding.PROVED:
            verdict = scalar_claims.decide_scalar(question, seconds=seconds).verdict
            if verdict is Finding.PROVED:
                yield name, without.value


def main() -> None:
    """Print what each way wins."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ways", nargs="*", choices=WAYS, default=list(WAYS))
    parser.add_argument("--lines", action="store_true")
    options = parser.parse_args()
    for way in options.ways:
        for name, verdict in lost(way, lines=options.lines):
            print(f"{way}: {name} ({verdict} without)", flush=True)


if __name__ == "__main__":
    main()
