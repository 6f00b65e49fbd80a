"""How a study goes on: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

from collections.abc import Callable

from swingby.diffusion.preset import Preset
from swingby.report.progress import Progress as Telling

#: Seconds between two lines where there is no terminal.
EVERY = 30.0


class StudyProgress(Telling):
    """What is said on stderr while a study runs; a context manager."""

    def __init__(self, preset: Preset, jobs: list[tuple[float, int]], *, shown: bool) -> None:
        self._jobs, self._steps = jobs, max(1, preset.steps * len(jobs))
        self._before = [0] * len(jobs)
        super().__init__("study", self._steps, "share remaining what", shown=shown)

    def say(self, what: str) -> None:
        """Name what is done."""
        if not self._on_bar(what=what) and self._shown:
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
        if not moving or (self._bar is None and not self._is_due(EVERY)):
            return
        self._before = done
        # One course beside the bar: more would take its place.
        if self._on_bar(completed=sum(done), what=self._told(moving[0], "", point(moving[0]))):
            return
        share = 100 * sum(done) / self._steps
        for k in moving:
            self._write(f"{share:.0f} %, {self._told(k, f' step {done[k]}', point(k))}")

    def _told(self, k: int, step: str, point: tuple[float, float] | None) -> str:
        contrast, seed = self._jobs[k]
        where = "" if point is None else f", colour {point[0]:.2f} size {point[1]:.2f}"
        return f"contrast {contrast:g} seed {seed}{step}{where}"
