"""Whether a built page cuts anything: ``python -m docs.check_pages FOLDER [PAGE ...]``.

Each page is laid out in a browser at four widths, with its details open. The page itself must not
scroll sideways. Code of 88 characters has room from 768 pixels on, and of 44 at 400 pixels, where
more of it scrolls in a frame of its own, as wide tables do. No cell is narrower than its longest
word, and on the widest screen no table scrolls beside free room.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

#: Pixels, and the characters of code that have room there without scrolling.
WIDTHS = {1920: 88, 1280: 88, 768: 88, 400: 44}
#: The explorer has tests of its own; indices are lists of names.
APART = ("explorer", "genindex", "py-modindex", "search")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"]
#: Milliseconds that a page may take to load and to set its mathematics.
PATIENCE = 300_000
#: Formulas that a page may set before they are in sight: hundreds take half a minute.
AT_ONCE = 100
#: Opens all details, and sets all mathematics; the formulas that were set before.
READY = """async () => {
  for (const folded of document.querySelectorAll("details")) folded.open = true;
  await window.MathJax?.startup?.promise;
  const count = (selector) => document.querySelectorAll(selector).length;
  const atOnce = count("mjx-container") - count("mjx-lazy");
  await window.MathJax?.startup?.document?.lazyTypesetAll?.();
  return atOnce;
}"""
#: What is beside the page, and code that has no room, as [kind, characters, first words].
LAYOUT = """(room) => {
  const edge = document.documentElement.clientWidth, cut = [];
  const framed = (e) => e.closest("pre, .pst-scrollable-table-container, mjx-container");
  for (const e of document.querySelectorAll("article table, article img, article p, article li")) {
    if (e.getBoundingClientRect().right > edge + 1 && !framed(e))
      cut.push([e.tagName, 0, e.innerText.slice(0, 40)]);
  }
  // Cells that were narrower than their longest word are wider where no word may break.
  const cells = [...document.querySelectorAll("article td, article th")];
  const widths = cells.map((e) => e.getBoundingClientRect().width);
  const whole = document.createElement("style");
  whole.textContent = "article table, article table * { word-break: normal !important;" +
    " overflow-wrap: normal !important; }";
  document.head.append(whole);
  const grown = cells.map((e, k) => e.getBoundingClientRect().width - widths[k]);
  whole.remove();
  const tables = new Set();
  for (const k of grown.keys()) {
    const table = cells[k].closest("table");
    if (grown[k] <= 1 || tables.has(table)) continue;
    tables.add(table);
    cut.push(["a cell narrower than its longest word", 0, cells[k].innerText.slice(0, 40)]);
  }
  const frames = "article :is(.pst-scrollable-table-container, .table-frame)";
  for (const e of edge > 1900 ? document.querySelectorAll(frames) : []) {
    if (e.scrollWidth > e.clientWidth + 1 && e.clientWidth < 1400)
      cut.push([`a table that scrolls ${e.scrollWidth - e.clientWidth} px`, 0,
        e.innerText.slice(0, 40)]);
  }
  // All rulers are put in before any is read: a page of thousands of formulas is laid out once.
  const blocks = [...document.querySelectorAll("article pre")];
  const rulers = blocks.map((e) => {
    const ruler = document.createElement("span");
    ruler.textContent = "x".repeat(20);
    e.append(ruler);
    return ruler;
  });
  const characters = rulers.map((ruler) => ruler.getBoundingClientRect().width / 20);
  for (const ruler of rulers) ruler.remove();
  for (const [k, e] of blocks.entries()) {
    const character = characters[k];
    const style = getComputedStyle(e);
    const inner = e.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
    const longest = Math.max(...e.textContent.split("\\n").map((line) => line.length));
    const lacks = Math.min(longest, room) > Math.floor(inner / character + 0.05);
    if (lacks || (edge > 720 && e.scrollWidth > e.clientWidth + 1))
      cut.push([`code with room for ${Math.floor(inner / character)}`, longest,
        e.innerText.slice(0, 40)]);
  }
  return { over: document.documentElement.scrollWidth - edge, cut };
}"""


def complaints(page: Any, path: Path) -> list[str]:
    """What a page cuts, at each width."""
    page.goto(path.as_uri(), wait_until="load", timeout=PATIENCE)
    at_once = page.evaluate(READY)
    texts = []
    if at_once > AT_ONCE:
        texts.append(f"{path.name} sets {at_once} formulas before they are in sight")
    for width, room in WIDTHS.items():
        page.set_viewport_size({"width": width, "height": 900})
        layout = page.evaluate(LAYOUT, room)
        over = layout["over"]
        found = [f"the page is {over} px too wide"] if over > 0 else []
        found += [
            f"{kind}, {characters} characters: {' '.join(words.split())}"
            for kind, characters, words in layout["cut"]
        ]
        texts += [f"{path.name} at {width}: {text}" for text in found]
    return texts


def main(folder: Path, names: Sequence[str] = ()) -> int:
    """Print what the pages of a folder cut, or those named; 1 if anything is."""
    browser_path = shutil.which("chromium") or shutil.which("google-chrome")
    if browser_path is None:
        if os.environ.get("SWINGBY_WITHOUT_BROWSER"):
            print("pages are not laid out: SWINGBY_WITHOUT_BROWSER")
            return 0
        print("no Chromium to lay out the pages: apt-get install chromium", file=sys.stderr)
        return 1
    from playwright.sync_api import sync_playwright

    paths = sorted(path for path in folder.rglob("*.html") if "_" not in path.parts[-2][:1])
    paths = [path for path in paths if path.stem not in APART]
    paths = [path for path in paths if not names or path.stem in names]
    texts = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=FLAGS)
        page = browser.new_page()
        for path in paths:
            texts += complaints(page, path)
        browser.close()
    print("\n".join([*texts, f"{len(paths)} pages at {len(WIDTHS)} widths: {len(texts)} cuts"]))
    return int(bool(texts))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve(), sys.argv[2:]))
