"""How many everyday claims about matrices are proved, and that no false one is.

Run with ``python -m benchmarks.matrix_claims``; ``--open`` lists what is not as it should be. The
claims and their near misses stand in ``tests/data/matrix_claims.txt``.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.claims import print_table
from swingby.proofs.language.claim import Claim
from swingby.proofs.language.reader import Proof
from swingby.proofs.prover.evidence import ClaimVerdict
from swingby.proofs.prover.prove import decide

CLAIMS = Path(__file__).parents[1] / "tests" / "data" / "matrix_claims.txt"


def claim(line: str) -> Claim:
    """A claim of the list, as a line of a proof file."""
    letters = [x[2:] for x in CLAIMS.read_text("utf-8").splitlines() if x.startswith("# letters")]
    given, _, concluded = line.rpartition("|-")
    rows = [*letters, "step 1: a claim"]
    rows += [f"  given {x.strip()} [case]" for x in [given] if x.strip() and ";" not in x]
    if ";" in given:
        rows += ["  given", *(f"    {x.strip()} [case]" for x in given.split(";"))]
    rows += ["  then", *(f"    {x.strip()}" for x in concluded.split(";"))]
    return Proof("\n".join(rows), "claims.proof")["1"]


def claims() -> Iterator[tuple[str, str, str]]:
    """The kind, a true claim, and a false one, line by line."""
    kind = ""
    for line in CLAIMS.read_text(encoding="utf-8").splitlines():
        if line.startswith("##"):
            kind = line.removeprefix("## ")
        elif " :: " in line and not line.startswith("#"):
            true, false = line.split(" :: ")
            yield kind, true, false


def judged(text: str = "") -> Iterator[tuple[str, bool, str, ClaimVerdict, float]]:
    """The kind, whether it is true, the claim, its verdict, and seconds of processor time."""
    for kind, *pair in claims():
        for line, truth in zip(pair, (True, False), strict=True):
            if text not in line:
                continue
            start = time.process_time()
            verdict = decide(claim(line))
            yield kind, truth, line, verdict, time.process_time() - start


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--open", action="store_true")
    parser.add_argument("--match", default="", help="only claims with this text")
    options = parser.parse_args()
    words = ("proved", "undecided", "refuted")
    title = "Everyday claims about matrices"
    print_table(title, judged(options.match), words, is_open=options.open)


if __name__ == "__main__":
    main()
