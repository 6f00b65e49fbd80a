"""How many everyday claims are proved, by kind, and whether a false one is.

Run with ``python -m benchmarks.claims``; ``--open`` lists what is undecided, and ``--sums`` judges
claims with finite sums. The claims and their near misses stand in ``everyday_claims.txt`` and, with
sums, in ``sum_claims.txt``, of ``tests/data``.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from swingby.proofs.language.claim import Claim
from swingby.proofs.language.reader import Proof
from swingby.proofs.prover.evidence import ClaimVerdict
from swingby.proofs.prover.scalar.scalar_claims import decide_scalar
from swingby.proofs.prover.sums.sum_claims import decide_sums
from swingby.report import Grid
from tests.proofs.prover.test_elementary import claim

DATA = Path(__file__).parents[1] / "tests" / "data"
CLAIMS, SUMS = DATA / "everyday_claims.txt", DATA / "sum_claims.txt"
#: The letters of claims with sums.
LETTERS = """letters positive integer: i, n
letters nonnegative integer: t, k
letters positive: L, q, r, p(i), w(i)
letters nonnegative: G(t), m, e(t)
letters real: f(t), d(t), a(i), b(i), c, M
"""


def claims(path: Path = CLAIMS) -> Iterator[tuple[str, str, str]]:
    """The kind, a true claim, and a false one, line by line."""
    kind = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            kind = line.removeprefix("# ")
        elif line:
            true, false = line.split(" :: ")
            yield kind, true, false


def with_sums(text: str) -> Claim:
    """A claim with sums, as its list writes it."""
    given, _, conclusion = text.rpartition("|-")
    lines = [f"{each.strip()}  [case]" for each in given.split(";") if each.strip()]
    hypotheses = "\n        ".join(lines)
    line = f"step 1: a claim\n{f'  given {hypotheses}' * bool(lines)}\n"
    return Proof(f"{LETTERS}{line}  then {conclusion.strip().replace(';', ', ')}\n")["1"]


def judged(seconds: float, sums: bool) -> Iterator[tuple[str, bool, str, ClaimVerdict, float]]:
    """The kind, whether it is true, the claim, its verdict, and seconds of processor time."""
    for kind, *pair in claims(SUMS if sums else CLAIMS):
        for line, truth in zip(pair, (True, False), strict=True):
            start = time.process_time()
            if sums:
                verdict = decide_sums(with_sums(line))
            else:
                verdict = decide_scalar(claim(line), seconds=seconds)
            yield kind, truth, line, verdict, time.process_time() - start


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--open", action="store_true")
    parser.add_argument("--sums", action="store_true")
    parser.add_argument("--seconds", type=float, default=20.0)
    options = parser.parse_args()
    words = ("proved", "proved by z3", "undecided", "refuted")
    listed = judged(options.seconds, options.sums)
    print_table("Everyday claims", listed, words, is_open=options.open)


def print_table(
    title: str,
    listed: Iterable[tuple[str, bool, str, ClaimVerdict, float]],
    words: tuple[str, ...],
    *,
    is_open: bool,
) -> None:
    """Count the verdicts of claims by kind; `is_open`: list those that are undecided or wrong."""
    tallies: dict[tuple[str, bool], Counter[str]] = {}
    total = 0.0
    for kind, truth, line, verdict, seconds in listed:
        tallies.setdefault((kind, truth), Counter())[verdict.verdict.value] += 1
        total += seconds
        if is_open and verdict.verdict.value != ("proved" if truth else "refuted"):
            print(f"{truth!s:5} {verdict.verdict.value:12} {seconds:5.1f} s  {line}", flush=True)
    kinds = list(dict.fromkeys(kind for kind, _ in tallies))
    rows = [
        [kind, *(str(tallies[kind, truth][word]) for truth in (True, False) for word in words)]
        for kind in kinds
    ]
    rows.append(
        ["all", *(str(sum(int(row[at]) for row in rows)) for at in range(1, 1 + 2 * len(words)))]
    )
    heads = ["kind", *(f">{half}: {word}" for half in ("true", "false") for word in words)]
    print(Grid(f"{title}, {total:.0f} s", heads, rows).to_text(width=160))


if __name__ == "__main__":
    main()
