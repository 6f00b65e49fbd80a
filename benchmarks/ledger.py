"""How long the audit takes, item by item, with nothing cached.

Run with ``python -m benchmarks.ledger``; ``--trajectories`` adds the searches over trajectories.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import swingby
from swingby.report import Grid

#: An item counts as quick below this many seconds.
QUICK = 5.0


def table(trajectories: bool) -> Grid:
    """Time one audit.

    Parameters
    ----------
    trajectories : bool
        With the searches over trajectories.

    Returns
    -------
    Grid
    """
    started = time.perf_counter()
    ledger = swingby.audit(trajectories=trajectories, cache=False, progress=False)
    total = time.perf_counter() - started
    judged = [record for record in ledger if record.method != "not run"]
    slowest = sorted(judged, key=lambda record: -record.seconds)[:8]
    quick = sum(record.seconds < QUICK for record in judged)
    counts = ", ".join(f"{number} {name}" for name, number in ledger.counts().items())
    return Grid(
        "The audit, one process, nothing cached",
        ["item", ">seconds", "method"],
        [[record.id, f"{record.seconds:.1f}", record.method] for record in slowest],
        above=[
            f"{total:.0f} s for {len(judged)} items with their repairs "
            f"({'with' if trajectories else 'without'} trajectories); {quick} items below "
            f"{QUICK:.0f} s; the slowest are listed.",
            f"Of {len(ledger)}: {counts}.",
        ],
    )


def main() -> None:
    """Print the table, and write it where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trajectories", action="store_true")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    grid = table(arguments.trajectories)
    print(grid.to_text(width=110))
    if arguments.out is not None:
        arguments.out.write_text(grid.to_markdown() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
