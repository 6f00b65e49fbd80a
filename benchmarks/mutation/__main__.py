"""Command line of the mutation score."""

from __future__ import annotations

import argparse
import math

from benchmarks import mutation
from benchmarks.mutation.reach import make_map
from benchmarks.mutation.trial import again, results, score


def table() -> None:
    """Print the score by module, over all, and the survivors."""
    by_module: dict[str, list[bool]] = {}
    for row in results():
        by_module.setdefault(row["module"], []).append(not row["survived"])
    print(f"{'module':60} {'tried':>6} {'noticed':>8} {'score':>6}")
    for module, noticed in sorted(by_module.items()):
        print(f"{module:60} {len(noticed):6} {sum(noticed):8} {sum(noticed) / len(noticed):6.0%}")
    every = [one for noticed in by_module.values() for one in noticed]
    if not every:
        return
    share, n = sum(every) / len(every), len(every)
    spread = 1.96 * math.sqrt(share * (1 - share) / n)
    print(f"{'all':60} {n:6} {sum(every):8} {share:6.1%}  (+- {spread:.1%}, 95 %)")
    for row in results():
        if row["survived"]:
            print(f"survived: {row['module']}:{row['line']} [{row['operator']}] {row['shown']}")


def main() -> None:
    """Parse and run."""
    parser = argparse.ArgumentParser(description=(mutation.__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=("map", "score", "again", "table"))
    parser.add_argument("--sample", type=int, default=12, help="changes per module")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="part of a path")
    parser.add_argument("--share", default="0/1", help="this process tries every n-th: 0/2, 1/2")
    given = parser.parse_args()
    first, of = map(int, given.share.split("/"))
    if given.what == "map":
        make_map()
    elif given.what == "score":
        score(given.sample, given.seed, given.only, (first, of))
    elif given.what == "again":
        again(given.sample, given.seed, given.only, (first, of))
    table()


if __name__ == "__main__":
    main()
