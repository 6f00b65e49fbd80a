"""How fast the explorer answers in Chromium, beside the same runs in Python.

Run with ``python -m benchmarks.explorer``; needs Chromium and the packages of the tests. *First
paint* is from the start of the navigation, of a file; *to the next frame* is from a moved slider to
the first frame after everything but the runs of all seeds is drawn.
"""

from __future__ import annotations

import shutil
import statistics
import tempfile
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

import swingby
from swingby.report import Grid

STATE = "a=16,4,1&omega=1e-6&seed=4&eta=0.002&dyn="
CHANGES = 30
_FLAGS = ["--headless", "--no-sandbox", "--disable-gpu"]
_PAINT = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
#: A slider moved to so many places, one in a frame: milliseconds to each next frame, of each run.
_MOVED = """async (changes) => {
  const frames = [], computed = [], slider = element("omega-range");
  for (let n = 0; n < changes; n++) {
    slider.value = 0.6 + n / 100;
    const began = performance.now();
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    frames.push(performance.now() - began);
    const { signal, mu, eta, dynamics, start } = setting;
    const before = performance.now();
    run({ signal, testPoint: mu, eta, dynamics, start });
    computed.push(performance.now() - before);
  }
  return [frames, computed];
}"""
_SEEDS = """async (hash) => {
  openState(hash);
  const began = performance.now();
  while (runs.length < SEEDS) await new Promise((done) => setTimeout(done, 5));
  return (performance.now() - began) / 1000;
}"""


def main() -> None:
    """Print the table."""
    rows = []
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = swingby.explore(Path(folder) / "page.html")
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=_FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 860})
        paints = []
        for _ in range(5):
            page.goto(file.as_uri())
            page.wait_for_function("currentRun")
            page.wait_for_timeout(300)
            paints.append(page.evaluate(_PAINT))
        for dynamics in ("gd", "euler", "flow"):
            seconds = page.evaluate(_SEEDS, STATE + dynamics)
            frames, computed = page.evaluate(_MOVED, CHANGES)
            frame, slowest = statistics.median(frames), max(frames)
            mine, python = statistics.median(computed), 1000 * _python(dynamics)
            rows.append([dynamics, *(f"{x:.1f}" for x in (mine, python, frame, slowest, seconds))])
        browser.close()
    columns = ["dynamics", "run, ms", "Python, ms", "frame, ms", "slowest, ms", "200 seeds, s"]
    print(Grid(f"Three concepts, {CHANGES} changes of omega", columns, rows).to_text())
    print(f"First paint: {statistics.median(paints):.0f} ms, at most {max(paints):.0f}")


def _python(dynamics: str) -> float:
    """Seconds of swingby.simulate on the same setting, once it is compiled."""
    task = swingby.SIMTask.from_signal([16, 4, 1])
    W0 = swingby.gaussian(task, "1e-6", rng=4)
    times = []
    for _ in range(6):
        began = time.perf_counter()
        swingby.simulate(task, W0, eta="0.002", dynamics=dynamics)
        times.append(time.perf_counter() - began)
    return statistics.median(times[1:])


if __name__ == "__main__":
    main()
