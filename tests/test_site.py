"""The documentation builds, and no page of it cuts anything at three widths."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

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
