"""What was tested where: requirements have lower bounds, and a session that failed is no row."""

import json
import tomllib
from pathlib import Path

from tests import tested

ROOT = Path(__file__).resolve().parents[1]
XML = '<testsuites><testsuite tests="5" skipped="1" failures="{}" errors="0"/></testsuites>'


def test_every_requirement_has_a_lower_bound():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    optional = project["optional-dependencies"].values()
    lines = [line for group in (project["dependencies"], *optional) for line in group]
    assert not [line for line in lines if ">=" not in line and "swingby[" not in line]


def test_the_page_has_a_row_for_each_session_that_passed(tmp_path):
    for name, failures in (("minimum", 0), ("newest-3.13", 1)):
        xml = tmp_path / f"{name}.xml"
        xml.write_text(XML.format(failures))
        facts = json.dumps({"session": name, "extent": "a part"})
        tested.record(str(xml), str(tmp_path / f"{name}.json"), facts)
    page = tested.page([json.loads(path.read_text()) for path in tmp_path.glob("*.json")])
    (row,) = [line for line in page.splitlines() if line.startswith("| minimum")]
    assert "| a part | 4 | 1 |" in row
    assert "newest-3.13" not in page
    assert "Windows and macOS are untested" in page
