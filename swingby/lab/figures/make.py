"""Making figures: `make_figures` computes, judges and draws the figures of the paper."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import swingby
from swingby.errors import InvalidInput
from swingby.lab.figures.catalogue import chosen
from swingby.lab.figures.figure import Data, Edition, Figure
from swingby.lab.figures.figure_files import read_data, stem, write_data
from swingby.lab.figures.figures_result import FailedEdition, FiguresResult, JudgedEdition
from swingby.report.files import json_text, whole, writable, write_json
from swingby.report.progress import PartProgress

#: Where the verdicts lie in the folder.
VERDICTS = "figures.json"
#: Endings of the pictures.
PICTURES = (".pdf", ".png")


def make_figures(
    out: str | Path,
    only: str | int | Iterable[str | int] | None = None,
    quick: bool = False,
    editions: str | Iterable[str] | None = None,
    resume: bool = True,
    progress: bool = True,
) -> FiguresResult:
    """Compute, judge and draw the paper's figures.

    Every edition of a figure gets its data (npz and JSON), a PDF and a PNG; ``figures.json``
    holds the verdicts. After an interruption, the next call makes the figures that are missing. If
    a figure raises an error, the error is recorded and the other figures are made.

    Parameters
    ----------
    out : path
        A folder; made if it does not exist.
    only : text such as ``"5,8"``, number, or several, optional
        Default: all figures.
    quick : bool
        Use the quicker parameters that some figures have.
    editions : {"caption", "code"}, or several, optional
        Default: both.
    resume : bool
        Reuse data of the same parameters in the folder.
    progress : bool
        Show progress on stderr.

    Returns
    -------
    FiguresResult

    Raises
    ------
    InvalidInput
        For a figure or an edition that does not exist, or a folder that cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     result = make_figures(folder, only=5, editions="code", progress=False)
    >>> result[5, "code", "descents"].value
    '2 (0.001), 2 (0.01)'
    """
    work = chosen(only, editions)
    if not isinstance(out, str | Path) or not str(out):
        raise InvalidInput("out", out, "must be the path of a folder")
    folder = Path(out)
    with writable(folder):
        folder.mkdir(parents=True, exist_ok=True)
    result = FiguresResult(folder)
    with PartProgress(len(work), shown=progress) as bar:
        for figure, edition in work:
            bar.start(f"Fig. {figure.number}, {edition.name}")
            try:
                judged = _judged_edition(folder, figure, edition, quick, resume, bar)
                result = replace(result, made=(*result.made, judged))
                bar.finish("computed" if judged.computed else "kept")
            except MemoryError:
                raise  # the figures made are kept; the others would meet it too
            except Exception as error:  # recorded, so that one figure does not stop the rest
                if isinstance(error, InvalidInput) and error.argument == "out":
                    raise  # the folder: no other figure could be written either
                text = f"{type(error).__name__}: {' '.join(str(error).split())}"
                problem = FailedEdition(figure.number, edition.name, text)
                result = replace(result, problems=(*result.problems, problem))
                bar.finish(text)
            write_json(folder / VERDICTS, result.to_dict())
    return result


def _judged_edition(
    folder: Path, figure: Figure, edition: Edition, quick: bool, resume: bool, bar: PartProgress
) -> JudgedEdition:
    """Compute or read the data of an edition, judge them and draw its picture."""
    data = read_data(folder, figure, edition, quick) if resume else None
    computed = data is None
    if data is None:
        start = time.monotonic()
        fresh = figure.compute(edition.given(quick=quick), bar.tell)
        data = write_data(folder, figure, edition, quick, fresh, time.monotonic() - start)
    key, faster = figure.key(edition, quick=quick), quick and bool(edition.quick)
    name = stem(figure, edition)
    files = tuple(f"{name}{ending}" for ending in (".npz", ".json", *PICTURES))
    judged = figure.judge(data)
    row = JudgedEdition(figure.number, edition.name, key, computed, faster, files, judged)
    json_text(row.criteria())
    _draw(folder / name, figure, edition, data)
    return row


def _draw(path: Path, figure: Figure, edition: Edition, data: Data) -> None:
    """Draw an edition, without the time, so that the same data gives the same files."""
    from swingby.report.picture_style import styled

    title = {"Title": f"Fig. {figure.number}: {figure.title}"}
    maker = f"swingby {swingby.__version__}"
    about: dict[str, dict[str, Any]] = {
        ".pdf": {"Creator": maker, "CreationDate": None},
        ".png": {"Software": maker},
    }
    with styled():
        picture = figure.draw(data, f"Fig. {figure.number}, {edition.name}: {edition.note}")
        for ending in PICTURES:
            with whole(path.with_name(path.name + ending)) as target:
                picture.savefig(target, dpi=200, metadata=title | about[ending])
