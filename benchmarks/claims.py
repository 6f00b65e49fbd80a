"""How many everyday claims are proved, by kind, and whether a false one is.

Run with ``python -m benchmarks.claims``; ``--open`` lists what is not decided. The claims and their
near misses stand in ``tests/data/everyday_claims.txt``.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from swingby.proofs.prover.evidence import ClaimVerdict
from swingby.proofs.prover.scalar.scalar_claims import decide_scalar
from swingby.report import Grid
from tests.proofs.prover.test_elementary import claim

CLAIMS = Path(__file__).parents[1] / "tests" / "data" / "everyday_claims.txt"


def claims() -> Iterator[tuple[str, str, str]]:
    """The kind, a true claim, and a false one, line by line."""
    kind = ""
    for line in CLAIMS.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            kind = line.removeprefix("# ")
        elif line:
            true, false = line.split(" :: ")
            yield kind, true, false


def judged(seconds: float) -> Iterator[tuple[str, bool, str, ClaimVerdict, float]]:
    """The kind, whether it is true, the claim, its verdict, and seconds of processor time."""
    for kind, *pair in claims():
        for line, truth in zip(pair, (True, False), strict=True):
            start = time.process_time()
            verdict = decide_scalar(claim(line), seconds=seconds)
            yield kind, truth, line, verdict, time.process_time() - start


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--open", action="store_true")
    parser.add_argument("--seconds", type=float, default=20.0)
    options = parser.parse_args()
    tallies: dict[tuple[str, bool], Counter[str]] = {}
    total = 0.0
    for kind, truth, line, verdict, seconds in judged(options.seconds):
        tallies.setdefault((kind, truth), Counter())[verdict.verdict.value] += 1
        total += seconds
        expected = ("proved",) if truth else ("refuted",)
        if options.open and verdict.verdict.value not in expected:
            print(f"{truth!s:5} {verdict.verdict.value:12} {seconds:5.1f} s  {line}", flush=True)
    kinds = list(dict.fromkeys(kind for kind, _ in tallies))
    words = ("proved", "proved by z3", "undecided", "refuted")
    rows = [
        [kind, *(str(tallies[kind, truth][word]) for truth in (True, False) for word in words)]
        for kind in kinds
    ]
    rows.append(["all", *(str(sum(int(row[at]) for row in rows)) for at in range(1, 9))])
    heads = ["kind", *(f">{half}: {word}" for half in ("true", "false") for word in words)]
    print(Grid(f"Everyday claims, {total:.0f} s", heads, rows).to_text(width=160))


if __name__ == "__main__":
    main()
