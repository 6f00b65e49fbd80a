"""Write the notebooks as Markdown, with the outputs that they hold.

Run by ``conf.py`` at every build; writes ``docs/generated/``. The outputs are those of a
kernel: ``python docs/make_notebooks.py [NAME ...]`` runs the notebooks, or those named, in an empty
folder, as a reader does who has the notebook alone, and writes what came out into them.
"""

import base64
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "notebooks"
#: What a cell sends that is kept.
KINDS = ("stream", "display_data", "execute_result")


def kept(message: dict[str, Any]) -> dict[str, Any]:
    """A message of a kernel as the output of a cell: text, or a picture."""
    kind, content = message["msg_type"], message["content"]
    if kind == "stream":
        return {"output_type": kind, "name": content["name"], "text": content["text"]}
    data = {name: content["data"][name] for name in ("image/png", "text/plain")
            if name in content["data"]}  # fmt: skip
    count = {"execution_count": None} if kind == "execute_result" else {}
    return {"output_type": kind, "metadata": {}, "data": data, **count}


def run(notebook: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The notebook with the outputs of a new kernel that works in a folder."""
    from jupyter_client.manager import start_new_kernel

    kernel, client = start_new_kernel(3000, kernel_name="python3", cwd=str(folder))
    try:
        for cell in notebook["cells"]:
            if cell["cell_type"] != "code":
                continue
            found: list[dict[str, Any]] = []
            reply = client.execute_interactive(
                "".join(cell["source"]), timeout=3000, output_hook=found.append
            )
            if reply["content"]["status"] != "ok":
                raise RuntimeError(f"{cell['source']}: {reply['content']}")
            cell["outputs"] = [kept(one) for one in found if one["msg_type"] in KINDS]
    finally:
        client.stop_channels()
        kernel.shutdown_kernel(now=True)
    return notebook


def page(notebook: dict[str, Any], name: str, folder: Path) -> str:
    """The notebook as Markdown; its pictures are written beside it."""
    parts = []
    for place, cell in enumerate(notebook["cells"]):
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```ipython3\n{source}\n```")
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            if "image/png" in data:
                picture = folder / f"{name}_{place}.png"
                picture.write_bytes(base64.b64decode(data["image/png"]))
                parts.append(f"```{{image}} {picture.name}\n:width: 40em\n```")
            else:
                text = output.get("text", data.get("text/plain", ""))
                parts.append(f"```text\n{''.join(text).rstrip()}\n```")
    parts.append(f"*The notebook: {{download}}`{name}.ipynb <../notebooks/{name}.ipynb>`.*")
    return "\n\n".join(parts) + "\n"


def main(folder: Path) -> list[Path]:
    """Write the pages."""
    folder.mkdir(exist_ok=True)
    pages = []
    for path in sorted(FOLDER.glob("*.ipynb")):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        pages.append(folder / f"{path.stem}.md")
        pages[-1].write_text(page(notebook, path.stem, folder), encoding="utf-8")
    return pages


if __name__ == "__main__":
    for path in sorted(FOLDER.glob("*.ipynb")):
        if sys.argv[1:] and path.stem not in sys.argv[1:]:
            continue
        with tempfile.TemporaryDirectory() as folder:
            notebook = run(json.loads(path.read_text(encoding="utf-8")), Path(folder))
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
