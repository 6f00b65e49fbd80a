"""The notebooks of the documentation, run in a kernel of their own."""

import json

import pytest

from docs import make_notebooks
from tests.forked import sample

pytest.importorskip("ipykernel")
pytest.importorskip("jupyter_client")

NOTEBOOKS = sorted(make_notebooks.FOLDER.glob("*.ipynb"))


def shown(cell):
    """What a cell prints and returns, and how many pictures it shows."""
    outputs = cell.get("outputs", ())
    pictures = ["image/png" in one.get("data", {}) for one in outputs]
    texts = [
        "".join(one.get("text", one.get("data", {}).get("text/plain", "")))
        for one, picture in zip(outputs, pictures, strict=True)
        if not picture
    ]
    return "".join(texts), sum(pictures)


@pytest.mark.parametrize("path", sample(NOTEBOOKS), ids=lambda path: path.stem)
def test_a_notebook_shows_what_a_kernel_shows(path, tmp_path, monkeypatch):
    """``docs/make_notebooks.py`` writes the outputs anew, from the notebook alone."""
    monkeypatch.delenv("COLUMNS", raising=False)
    stored = json.loads(path.read_text(encoding="utf-8"))
    if path.stem == "own_network":
        pytest.importorskip("torch")
    expected = [shown(cell) for cell in stored["cells"]]
    found = make_notebooks.run(stored, tmp_path)
    assert [shown(cell) for cell in found["cells"]] == expected
    assert sum(bool(text) for text, _ in expected) >= 2


def test_the_proof_of_the_notebook_is_that_of_the_documentation():
    notebook = json.loads((make_notebooks.FOLDER / "audit_a_proof.ipynb").read_text("utf-8"))
    proof = make_notebooks.FOLDER.parent / "proofs" / "planted_error.proof"
    code = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert any(proof.read_text("utf-8") in text for text in code)


def test_there_are_five_and_each_has_a_page(tmp_path):
    pages = make_notebooks.main(tmp_path)
    assert [page.stem for page in pages] == [
        "audit_a_proof",
        "first_steps",
        "own_data",
        "own_network",
        "own_theory",
    ]
    for page, path in zip(pages, NOTEBOOKS, strict=True):
        text = page.read_text(encoding="utf-8")
        for place, cell in enumerate(json.loads(path.read_text(encoding="utf-8"))["cells"]):
            words, pictures = shown(cell)
            assert "".join(cell["source"]) in text
            assert words.rstrip() in text
            assert (tmp_path / f"{path.stem}_{place}.png").exists() == bool(pictures)
