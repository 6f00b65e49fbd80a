"""Draws per second and share of rejected draws, for each strategy of swingby.testing.

Run with ``python -m benchmarks.strategies --draws 3000``. The baseline in the first row is one
whole number, the least that a Hypothesis test can draw. Seconds are of processor time, and the
first draws fill the tables of limits. Nothing is checked or simulated.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from swingby.testing import initializations, satisfying, step_sizes, tasks, violating
from swingby.theory.task import SIMTask

TASK = SIMTask([1, 2, 3], "1/10")

STRATEGIES: dict[str, Callable[[], st.SearchStrategy[Any]]] = {
    "integers(0, 99)": lambda: st.integers(0, 99),
    "tasks()": tasks,
    "tasks(dim=4, ratio=(2, 5))": lambda: tasks(dim=4, ratio=(2, 5)),
    "tasks(free=True)": lambda: tasks(free=True),
    "step_sizes(task)": lambda: step_sizes(TASK),
    "initializations(task)": lambda: initializations(TASK),
    "initializations(task, omega, beta)": lambda: initializations(TASK, None, "1e-80", 3),
    "satisfying()": satisfying,
    'satisfying("corrected", dim=1)': lambda: satisfying("corrected", 1),
    'satisfying("repaired")': lambda: satisfying("repaired"),
    'violating("D.1")': lambda: violating("D.1"),
    'violating("D.2")': lambda: violating("D.2"),
    'violating("D.4")': lambda: violating("D.4"),
    'violating("D.5")': lambda: violating("D.5"),
    'violating("D.4", "corrected")': lambda: violating("D.4", "corrected"),
    'violating("D.4\'", "repaired")': lambda: violating("D.4'", "repaired"),
}


def measure(strategy: st.SearchStrategy[Any], draws: int) -> tuple[float, float]:
    """Draws per second of processor time, and the share of draws that were begun and not finished.

    Parameters
    ----------
    strategy : strategy
    draws : int

    Returns
    -------
    rate, rejected : float
    """
    begun = finished = 0

    @st.composite
    def counted(draw: st.DrawFn) -> None:
        nonlocal begun, finished
        begun += 1
        draw(strategy)
        finished += 1

    @settings(
        max_examples=draws,
        database=None,
        phases=(Phase.generate,),
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(counted())
    def run(value: None) -> None:
        pass

    start = time.process_time()
    run()
    return finished / (time.process_time() - start), 1 - finished / begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=3000)
    draws = parser.parse_args().draws
    print("| strategy | draws per second | rejected |")
    print("| --- | ---: | ---: |")
    for name, make in STRATEGIES.items():
        rate, rejected = measure(make(), draws)
        print(f"| `{name}` | {rate:.0f} | {rejected:.2%} |", flush=True)


if __name__ == "__main__":
    main()
