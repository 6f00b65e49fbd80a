"""What a certificate costs: certify, the file, and its replay, run by run.

``python -m benchmarks.certificates`` prints seconds of processor time; ``--all`` adds the long runs
(minutes).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

import swingby


class Setting(NamedTuple):
    """One run to certify: a start of full rank, drawn from a seed."""

    signal: tuple[float, ...]
    omega: str
    eta: str
    steps: int | None
    dynamics: str
    long: bool = False


def settings() -> Iterator[Setting]:
    """The runs, from everyday to extreme."""
    for dynamics in ("euler", "gd"):
        yield Setting((4, 1), "1e-2", "1/100", None, dynamics)
        yield Setting((4, 2, 1), "1e-6", "1/100", 10_000, dynamics)
        yield Setting((4, 2, 1), "1e-6", "1/1000", 10_000, dynamics)
        yield Setting((4, 2, 1), "1e-100", "1/100", None, dynamics)
        yield Setting((8, 6, 4, 3, 2, 1), "1e-4", "1/1000", 10_000, dynamics)
        yield Setting((8, 6, 4, 3, 2, 1), "1e-100", "1/1000", 100_000, dynamics, True)


def start(setting: Setting) -> swingby.Scaled:
    """Return omega U U^T with U Gaussian, two columns more than rows."""
    d = len(setting.signal)
    U = np.random.default_rng(0).standard_normal((d, d + 2))
    return swingby.Scaled(U @ U.T, setting.omega)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--all", action="store_true", help="the long runs, too")
    everything = parser.parse_args().all
    print(f"{'d':>2} {'omega':>7} {'dynamics':>8} {'steps':>7} {'bits':>5}", end=" ")
    print(f"{'certify s':>10} {'file kB':>8} {'replay s':>9}  half-times")
    for setting in settings():
        if setting.long and not everything:
            continue
        task = swingby.SIMTask.from_signal(setting.signal)
        begin = time.process_time()
        certificate = swingby.certify(
            task, start(setting), setting.eta, setting.dynamics, setting.steps
        )
        made = time.process_time()
        reasons = certificate.verify()
        checked = time.process_time()
        assert not reasons, reasons
        row = f"{task.dim:2} {setting.omega:>7} {setting.dynamics:>8} {certificate.steps:7} "
        row += f"{certificate.bits or 0:5} {made - begin:10.2f} "
        row += f"{len(certificate.to_json()) / 1000:8.1f} {checked - made:9.2f}  "
        print(row + ", ".join(str(step) for step in certificate.half_times))


if __name__ == "__main__":
    main()
