"""The documentation builds, and no page of it cuts anything at four widths."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from docs import check_pages
from tests.forked import WHOLE

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.skipif(not WHOLE, reason="part of make test-full")
def test_the_site_builds_and_no_page_is_cut(tmp_path):
    for name in ("sphinx", "playwright", "torch"):
        pytest.importorskip(name)
    site = str(tmp_path / "site")
    build = ["sphinx", "-W", "--keep-going", "-q", "-b", "html", "docs", site]
    for command in (build, ["docs.check_pages", site]):
        done = subprocess.run(
            [sys.executable, "-m", *command],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert not done.returncode, f"{done.stdout}\n{done.stderr}"


STATIC = ROOT / "docs" / "_static"
#: A page with a table and a picture, and a script that takes Escape, as that of the theme does.
PAGE = """<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<style>{style}</style><script src="{script}"></script>
<script>document.addEventListener("keydown", (e) => e.key === "Escape" && e.preventDefault(), true);
</script><body style="margin: 8px"><article class="bd-article">
<div class="pst-scrollable-table-container"><table class="table"><tr>{cells}</tr></table></div>
<img alt="a dot" width="40" height="40" src="data:image/gif;base64,R0lGODlhAQABAAAAACw="></article>
"""


@pytest.fixture(scope="module")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api")
    if os.environ.get("SWINGBY_WITHOUT_BROWSER"):
        pytest.skip("SWINGBY_WITHOUT_BROWSER")
    path = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=check_pages.FLAGS)
        yield browser
        browser.close()


TEXTS = ("predicted half-times", "0.123456789012345", "self-consistency", "diagonalization")


def written(folder, style="", texts=TEXTS):
    """The page, with the style sheet of the site and one more rule."""
    path = folder / "page.html"
    path.write_text(
        PAGE.format(
            style=STATIC.joinpath("site.css").read_text("utf-8") + style,
            script=STATIC.joinpath("enlarge.js").as_uri(),
            cells="".join(f"<td><p>{text}</p></td>" for text in texts),
        ),
        encoding="utf-8",
    )
    return path


def test_words_of_tables_stay_whole(browser, tmp_path):
    """Also on a telephone; and the check of pages sees words that break letter by letter."""
    page = browser.new_page()
    assert check_pages.complaints(page, written(tmp_path)) == []
    broken = written(tmp_path, "article.bd-article td p { overflow-wrap: anywhere; }")
    found = check_pages.complaints(page, broken)
    assert [text.partition(",")[0] for text in found] == [
        "page.html at 400: a cell narrower than its longest word"
    ]


def test_wide_tables_use_a_wide_screen(browser, tmp_path):
    """Beyond the column of the text; and the check of pages sees one that does not."""
    page = browser.new_page()
    column = "article { margin: auto; max-width: 768px; }"
    assert check_pages.complaints(page, written(tmp_path, column, 3 * TEXTS)) == []
    inside = column + " article.bd-article div.table-frame, article.bd-article "
    inside += "div.pst-scrollable-table-container { max-width: 100%; }"
    found = check_pages.complaints(page, written(tmp_path, inside, 3 * TEXTS))
    assert len(found) == 1
    assert found[0].startswith("page.html at 1920: a table that scrolls ")


def test_escape_closes_an_enlarged_picture(browser, tmp_path):
    page = browser.new_page()
    page.goto(written(tmp_path).as_uri())
    for key in ("Enter", " "):
        page.locator("article img").press(key)
        assert page.locator("dialog").count() == 1
        page.keyboard.press("Escape")
        page.locator("dialog").wait_for(state="detached")
    page.locator("article img").click()
    page.keyboard.press("Escape")
    page.locator("dialog").wait_for(state="detached")
