"""In a Jupyter kernel: the same text and HTML as in a script, and each picture once."""

import json
import os
import re
from pathlib import Path

import pytest

from tests import results
from tests.forked import FULL, sample

pytest.importorskip("ipykernel")
manager = pytest.importorskip("jupyter_client.manager")

LOAD = f"""
import json, sys, warnings
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
import results
"""
#: Of every kind of text one, as all others are written by the same code.
NAMES = ["check that fails", "gaussian", "comparison", "ledger", "phase diagram"]
if FULL:
    NAMES = [name for name in results.NAMES if name not in (*results.TORCH, "hunt", "judgement")]


@pytest.fixture(scope="module")
def kernel():
    """``kernel(code)``: messages that a cell sends, without its status."""
    unbound = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    running, client = manager.start_new_kernel(3000, "python3", env=unbound)

    def run(code):
        found = []
        reply = client.execute_interactive(code, timeout=3000, output_hook=found.append)
        assert reply["content"]["status"] == "ok", reply["content"]
        kinds = ("stream", "display_data", "execute_result", "update_display_data")
        return [one for one in found if one["msg_type"] in kinds]

    try:
        run(LOAD)
        yield run
    finally:
        client.stop_channels()
        running.shutdown_kernel(now=True)


def pictures(messages):
    return [one for one in messages if "image/png" in one["content"].get("data", {})]


def told(messages):
    """What one cell prints, which must be all that it sends."""
    assert {one["msg_type"] for one in messages} == {"stream"}, messages
    assert {one["content"]["name"] for one in messages} == {"stdout"}
    return json.loads("".join(one["content"]["text"] for one in messages))


def same(text):
    """Times and temporary folders differ; Markdown writes their ``_`` as ``\\_``."""
    return re.sub(r"tmp(\w|\\_)+|[0-9.]+( s\b| per second)", "", text)


def test_texts_are_those_of_a_script(kernel, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    found = told(
        kernel(
            f"""
formats = ("__str__", "_repr_html_", "to_html", "to_markdown", "to_latex")
def written(result):
    return {{name: getattr(result, name)() for name in formats if hasattr(result, name)}}
print(json.dumps({{name: written(results.result(name)) for name in {NAMES!r}}}))
"""
        )
    )
    assert list(found) == NAMES
    for name, texts in found.items():
        assert ("_repr_html_" in texts) != (name in results.NO_HTML)
        for kind, text in texts.items():
            assert text.strip()
            expected = getattr(results.result(name), kind)()
            assert same(text) == same(expected), (name, kind)


def test_a_result_is_shown_as_html(kernel):
    (shown,) = kernel("results.result('check')")
    assert shown["msg_type"] == "execute_result"
    assert "<table>" in shown["content"]["data"]["text/html"]


@pytest.mark.parametrize("name", sample(["comparison", "phase diagram", "training run"]))
def test_a_picture_is_shown_once(kernel, name):
    if name in results.TORCH:
        pytest.importorskip("torch")
    plot = f"results.result({name!r}).plot()"
    assert len(pictures(kernel(plot))) == 1
    assert len(pictures(kernel(f"shown = {plot}\nNone"))) == 1
    assert not pictures(kernel("None"))


def test_a_figure_that_was_shown_can_be_shown_again(kernel):
    kernel("figure = results.result('comparison').plot().figure")
    assert len(pictures(kernel("figure"))) == 1


def test_what_is_saved_is_not_shown(kernel, tmp_path):
    path = str(tmp_path / "a.png")
    for name in sample(["phase diagram", "comparison"], 2):
        assert not kernel(f"results.result({name!r}).save_picture({path!r})")
        assert Path(path).read_bytes().startswith(b"\x89PNG")
