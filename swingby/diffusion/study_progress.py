"""How a study goes on: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

from swingby.diffusion.preset import Preset

#: Seconds between two lines where there is no terminal.
EVERY = 30.0


class StudyProgress:
    """What is said on stderr while a study runs; a context manager.

    Parameters
    ----------
    preset : Preset
    jobs : list of (contrast, seed)
    shown : bool
        Whether anything is said.
    """

    def __init__(self, preset: Preset, jobs: list[tuple[float, int]], *, shown: bool) -> None:
        self._jobs, self._steps = jobs, preset.steps
        self._shown = shown
        self._bar: Any = None
        self._task: Any = None
        self._said = time.monotonic()
        self._before = [0] * len(jobs)

    def __enter__(self) -> StudyProgress:
        if self._shown and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as Bar

            self._bar = Bar(
                TextColumn("study"),
                BarColumn(),
                TaskProgressColumn(),
                TimeRemainingColumn(),
                TextColumn("{task.fields[what]}"),
                console=Console(stderr=True),
            )
            self._bar.start()
            total = max(1, self._steps * len(self._jobs))
            self._task = self._bar.add_task("study", total=total, what="")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def say(self, what: str) -> None:
        """Name what is done.

        Parameters
        ----------
        what : str
        """
        if self._bar is not None:
            self._bar.update(self._task, what=what)
        elif self._shown:
            self._write(what)

    def reach(self, done: list[int], point: Callable[[int], tuple[float, float] | None]) -> None:
        """Say how far the courses are, and where one that is under way is in concept space.

        Parameters
        ----------
        done : list of int
            Steps of each course.
        point : callable
            From the number of a course to its last point in concept space.
        """
        moving = [k for k, step in enumerate(done) if step != self._before[k]]
        silent = self._bar is None and time.monotonic() - self._said < EVERY
        if not self._shown or not moving or silent:
            return
        self._before = done
        lines = [self._told(k, done[k], point(k)) for k in moving]
        if self._bar is not None:
            self._bar.update(self._task, completed=sum(done), what=" | ".join(lines))
        else:
            self._said = time.monotonic()
            share = 100 * sum(done) / max(1, self._steps * len(self._jobs))
            for line in lines:
                self._write(f"{share:.0f} %, {line}")

    def _told(self, k: int, step: int, point: tuple[float, float] | None) -> str:
        contrast, seed = self._jobs[k]
        where = "" if point is None else f", colour {point[0]:.2f} size {point[1]:.2f}"
        return f"contrast {contrast:g} seed {seed} step {step}{where}"

    def _write(self, text: str) -> None:
        sys.stderr.write(f"swingby: {text}\n")
        sys.stderr.flush()
