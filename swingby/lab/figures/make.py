"""make_figures: compute, judge and draw the figures of the paper.

Which figures there are: :mod:`swingby.lab.figures.paper` has a module for each kind.
"""

from __future__ import annotations

import functools
import importlib
import json
import pkgutil
import platform
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import swingby
from swingby.errors import InvalidInput
from swingby.lab.figures.figure import EDITIONS, Data, Edition, Figure
from swingby.lab.figures.figures_result import FiguresResult, Made, Problem
from swingby.report.files import BROKEN, json_text, whole, writable, write_arrays, write_json
from swingby.report.progress import PartProgress
from swingby.report.seals import unsealed
from swingby.theory.input_files import read_sealed, text_of

#: Raised when the layout of the files changes.
FORMAT = "swingby figure 2"
#: Where the verdicts lie in the folder.
VERDICTS = "figures.json"
#: Endings of the pictures.
PICTURES = (".pdf", ".png")


@functools.cache
def all_figures() -> tuple[Figure, ...]:
    """All figures, in the order of the paper."""
    from swingby.lab.figures import paper

    modules = (one.name for one in pkgutil.iter_modules(paper.__path__, f"{paper.__name__}."))
    found: list[Figure] = [one for name in modules for one in importlib.import_module(name).FIGURES]
    return tuple(sorted(found, key=lambda one: (int(one.number.rstrip("abc")), one.number)))


def figure(number: str) -> Figure:
    """The figure of a number."""
    known = {one.number: one for one in all_figures()}
    if number not in known:
        raise InvalidInput("only", number, f"must be among {', '.join(known)}")
    return known[number]


def chosen(
    only: str | int | Iterable[str | int] | None, editions: str | Iterable[str] | None
) -> tuple[tuple[Figure, Edition], ...]:
    """The figures and editions that a call asks for."""
    asked = None if only is None else _parts(only, "only")
    names = EDITIONS if editions is None else _parts(editions, "editions")
    for name in names:
        if name not in EDITIONS:
            raise InvalidInput("editions", name, f"must be among {', '.join(EDITIONS)}")
    figures = all_figures() if asked is None else tuple(map(figure, dict.fromkeys(asked)))
    return tuple(
        (one, edition) for one in figures for edition in one.editions if edition.name in names
    )


def _parts(given: object, argument: str) -> tuple[str, ...]:
    """``"5,8"``, ``5`` and ``["5", 8]`` as texts."""
    single = isinstance(given, str | int)
    several = list(given) if isinstance(given, Iterable) and not single else [given]
    for one in several:
        if isinstance(one, bool) or not isinstance(one, str | int):
            raise InvalidInput(argument, one, "must be text or a list of texts")
    texts = [part.strip().lower() for one in several for part in str(one).split(",")]
    found = tuple(text for text in texts if text)
    if not found:
        raise InvalidInput(argument, given, "must name at least one")
    return found


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
    holds the verdicts. An interrupted call keeps what it finished, and the next one goes on from
    there. A figure that raises an error is recorded and the others are made.

    Parameters
    ----------
    out : path
        A folder; made if it does not exist.
    only : text such as ``"5,8"``, number, or several, optional
        Default: all figures.
    quick : bool
        Take the quicker parameters where a figure has some.
    editions : {"caption", "code"}, or several, optional
        Default: both.
    resume : bool
        Take data that is there, of the same parameters and code, instead of computing it.
    progress : bool
        Say on stderr how far it is.

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
    with PartProgress(len(work), shown=progress) as said:
        for figure, edition in work:
            said.start(f"Fig. {figure.number}, {edition.name}")
            try:
                made = _made(folder, figure, edition, quick, resume, said)
                result = replace(result, made=(*result.made, made))
                said.finish("computed" if made.computed else "kept")
            except MemoryError:
                raise  # what is made is kept; the rest would meet it too
            except Exception as error:  # recorded, so that one figure does not stop the rest
                if isinstance(error, InvalidInput) and error.argument == "out":
                    raise  # the folder: no other figure could be written either
                text = f"{type(error).__name__}: {' '.join(str(error).split())}"
                problem = Problem(figure.number, edition.name, text)
                result = replace(result, problems=(*result.problems, problem))
                said.finish(text)
            write_json(folder / VERDICTS, result.to_dict())
    return result


def _made(
    folder: Path, figure: Figure, edition: Edition, quick: bool, resume: bool, said: PartProgress
) -> Made:
    """One edition: its data, its verdicts and its picture."""
    data = kept(folder, figure, edition, quick) if resume else None
    computed = data is None
    if data is None:
        start = time.monotonic()
        fresh = figure.compute(edition.given(quick=quick), said.tell)
        data = _keep(folder, figure, edition, quick, fresh, time.monotonic() - start)
    key, faster = figure.key(edition, quick=quick), quick and bool(edition.quick)
    name = _stem(figure, edition)
    files = tuple(f"{name}{ending}" for ending in (".npz", ".json", *PICTURES))
    judged = figure.judge(data)
    made = Made(figure.number, edition.name, key, computed, faster, files, judged)
    json_text(made.criteria())
    _draw(folder / name, figure, edition, data)
    return made


def _draw(path: Path, figure: Figure, edition: Edition, data: Data) -> None:
    """Draw an edition, without the time, so that the same data gives the same files."""
    from swingby.report.pictures import styled

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


# The data of a figure in a folder: arrays in an npz file, everything else in a JSON file. The JSON
# file is written last, so data counts only when it is whole. Nothing is pickled.


def _stem(figure: Figure, edition: Edition) -> str:
    """Name of the files of an edition, without their ending: ``fig5-caption``."""
    return f"fig{figure.number}-{edition.name}"


def _keep(
    folder: Path, figure: Figure, edition: Edition, quick: bool, data: Data, seconds: float
) -> dict[str, Any]:
    """Write the data of an edition; what JSON or numpy cannot hold is refused before that.

    Returns the data as it is written, so that a file alone gives the same verdicts.
    """
    arrays = {name: value for name, value in data.items() if isinstance(value, np.ndarray)}
    plain = {name: value for name, value in data.items() if name not in arrays}
    provenance = figure.inputs(edition, quick=quick) | {
        "key": figure.key(edition, quick=quick),
        "note": edition.note,
        "quick": quick and bool(edition.quick),
        "python": platform.python_version(),
        "numpy": np.__version__,
    }
    content = {
        "format": FORMAT,
        "provenance": provenance,
        "seconds": round(seconds, 3),
        "arrays": {name: list(value.shape) for name, value in arrays.items()},
        "data": json.loads(json_text(plain)),
    }
    path = folder / _stem(figure, edition)
    # The arrays carry all the rest, so that files of two runs do not pass for one.
    write_arrays(f"{path}.npz", content, arrays)
    write_json(f"{path}.json", content)
    return {**content["data"], **arrays}


def kept(folder: Path, figure: Figure, edition: Edition, quick: bool) -> dict[str, Any] | None:
    """The data of an edition, if it is there, whole, and made from the same parameters."""
    name = _stem(figure, edition)
    try:
        content = unsealed(json.loads(text_of(folder / f"{name}.json", "out", "file of a figure")))
        if content["provenance"]["key"] != figure.key(edition, quick=quick):
            return None
        facts, arrays = read_sealed(folder / f"{name}.npz", "out", "data of a figure")
        if facts != content or content["format"] != FORMAT:
            return None
        return {**content["data"], **{one: arrays[one] for one in content["arrays"]}}
    except BROKEN:
        return None
