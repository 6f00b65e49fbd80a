"""make_figures: compute, judge and draw the figures of the paper.

Which figures there are: one file each in :mod:`swingby.figures.paper`.
"""

from __future__ import annotations

import importlib
import json
import logging
import pkgutil
import platform
import re
import time
from collections.abc import Iterable
from pathlib import Path
from string import ascii_lowercase
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

import swingby
from swingby.errors import InvalidInput
from swingby.figures.figure import EDITIONS, Data, Edition, Figure
from swingby.figures.result import FiguresResult, Judged, Made, Problem
from swingby.report.files import (
    BROKEN,
    json_text,
    unsealed,
    whole,
    writable,
    write_arrays,
    write_json,
)
from swingby.report.progress import PartProgress
from swingby.theory.reading import read_sealed, text_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

_NAME = re.compile(r"figure_(\d+[a-z]?)")


def numbers() -> tuple[str, ...]:
    """The numbers of the figures, in the order of the paper.

    Examples
    --------
    >>> {"5", "8", "9", "10", "17", "18"} <= set(numbers())
    True
    """
    from swingby.figures import paper

    names = (module.name for module in pkgutil.iter_modules(paper.__path__))
    found = [match[1] for name in names if (match := _NAME.fullmatch(name))]
    return tuple(sorted(found, key=lambda one: (int(one.rstrip(ascii_lowercase)), one)))


def figure(number: str) -> Figure:
    """The figure of a number.

    Raises InvalidInput if there is none.
    """
    if number not in numbers():
        raise InvalidInput("only", number, f"must be among {', '.join(numbers())}")
    found: Figure = module_of(number).FIGURE
    return found


def module_of(number: str) -> ModuleType:
    """The file of a figure."""
    return importlib.import_module(f"swingby.figures.paper.figure_{number}")


def all_figures() -> tuple[Figure, ...]:
    """All figures, in the order of the paper."""
    return tuple(figure(number) for number in numbers())


def chosen(
    only: str | int | Iterable[str | int] | None,
    editions: str | Iterable[str] | None,
) -> tuple[tuple[Figure, Edition], ...]:
    """The figures and editions that a call asks for.

    Raises InvalidInput for a figure or an edition that does not exist, and where nothing is left.
    """
    asked = None if only is None else _parts(only, "only")
    names = EDITIONS if editions is None else _parts(editions, "editions")
    for name in names:
        if name not in EDITIONS:
            raise InvalidInput("editions", name, f"must be among {', '.join(EDITIONS)}")
    figures = all_figures() if asked is None else tuple(map(figure, dict.fromkeys(asked)))
    found = tuple(
        (one, edition) for one in figures for edition in one.editions if edition.name in names
    )
    if not found:
        raise InvalidInput("editions", ", ".join(names), "must be editions that the figures have")
    return found


def _parts(given: object, argument: str) -> tuple[str, ...]:
    """``"5,8"``, ``5`` and ``["5", 8]`` as texts."""
    if isinstance(given, bool) or not isinstance(given, str | int | Iterable):
        raise InvalidInput(argument, given, "must be text or a list of texts")
    several = [given] if isinstance(given, str | int) else list(given)
    for one in several:
        if isinstance(one, bool) or not isinstance(one, str | int):
            raise InvalidInput(argument, one, "must be text or a list of texts")
    texts = [part.strip() for one in several for part in str(one).split(",")]
    texts = [text.lower() for text in texts if text]
    if not texts:
        raise InvalidInput(argument, given, "must name at least one")
    return tuple(texts)


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
        Take data that is there and has the same parameters and version, instead of computing it.
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
    result = FiguresResult(folder, (), ())
    with PartProgress(len(work), shown=progress) as said:
        for figure, edition in work:
            said.start(f"Fig. {figure.number}, {edition.name}")
            result = _with(result, figure, edition, quick=quick, resume=resume, said=said)
            write_json(folder / VERDICTS, result.to_dict())
    return result


def _with(
    result: FiguresResult,
    figure: Figure,
    edition: Edition,
    *,
    quick: bool,
    resume: bool,
    said: PartProgress,
) -> FiguresResult:
    """The result with one more edition, made or recorded as a problem."""
    try:
        data, computed = _data(
            result.folder, figure, edition, quick=quick, resume=resume, said=said
        )
        rows = tuple(Judged(figure, edition, *one) for one in figure.judge(data))
        json.dumps([row.to_dict() for row in rows], allow_nan=False)
        files = _draw(result.folder, figure, edition, data)
    except InvalidInput as error:
        if error.argument == "out":  # the folder: no other figure could be written either
            raise
        return _with_problem(result, figure, edition, error, said)
    except Exception as error:  # recorded, so that one figure does not stop the rest
        return _with_problem(result, figure, edition, error, said)
    said.finish("computed" if computed else "kept")
    made = Made(
        figure.number,
        edition.name,
        figure.key(edition, quick=quick),
        computed,
        quick and bool(edition.quick),
        files,
    )
    return FiguresResult(
        result.folder, (*result.made, made), (*result.rows, *rows), result.problems
    )


def _with_problem(
    result: FiguresResult,
    figure: Figure,
    edition: Edition,
    error: Exception,
    said: PartProgress,
) -> FiguresResult:
    text = f"{type(error).__name__}: {' '.join(str(error).split())}"
    said.finish(text)
    problem = Problem(figure.number, edition.name, text)
    return FiguresResult(result.folder, result.made, result.rows, (*result.problems, problem))


def _data(
    folder: Path,
    figure: Figure,
    edition: Edition,
    *,
    quick: bool,
    resume: bool,
    said: PartProgress,
) -> tuple[Data, bool]:
    """The data of an edition as it lies in the folder, and whether it was computed just now."""
    if resume:
        found = kept(folder, figure, edition, quick=quick)
        if found is not None:
            return found, False
    start = time.monotonic()
    fresh = figure.compute(edition.given(quick=quick), said.tell)
    seconds = time.monotonic() - start
    keep(folder, figure, edition, fresh, quick=quick, seconds=seconds)
    # What is judged and drawn is what was written, so a file alone gives the same verdicts.
    found = kept(folder, figure, edition, quick=quick)
    if found is None:
        raise OSError("the data just written could not be read again")
    return found, True


def _draw(folder: Path, figure: Figure, edition: Edition, data: Data) -> tuple[str, ...]:
    from swingby.report.pictures import styled

    name = stem(figure, edition)
    with styled():
        picture = figure.draw(data, f"Fig. {figure.number}, {edition.name}: {edition.note}")
        for ending in PICTURES:
            with whole(folder / f"{name}{ending}") as target:
                _save(picture, target, figure)
    return tuple(f"{name}{ending}" for ending in (".npz", ".json", *PICTURES))


def _save(picture: Picture, target: Path, figure: Figure) -> None:
    """Write a picture without its time, so that the same data gives the same file."""
    about: dict[str, Any] = {"Title": f"Fig. {figure.number}: {figure.title}"}
    maker = f"swingby {swingby.__version__}"
    if target.suffix == ".pdf":
        about |= {"Creator": maker, "CreationDate": None}
    else:
        about |= {"Software": maker}
    # fontTools warns that the mathematical fonts of matplotlib carry an old date.
    fonts = logging.getLogger("fontTools")
    level = fonts.level
    fonts.setLevel(logging.ERROR)
    try:
        picture.savefig(target, dpi=200, metadata=about)
    finally:
        fonts.setLevel(level)


# The data of a figure in a folder: arrays in an npz file, everything else in a JSON file. The JSON
# file is written last, so data counts only when it is whole. Nothing is pickled.

#: Raised when the layout of the files changes.
FORMAT = "swingby figure 2"


def stem(figure: Figure, edition: Edition) -> str:
    """Name of the files of an edition, without their ending: ``fig5-caption``."""
    return f"fig{figure.number}-{edition.name}"


def provenance(figure: Figure, edition: Edition, *, quick: bool) -> dict[str, Any]:
    """What made the data: versions, parameters, and their hash."""
    return {
        "swingby": swingby.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "figure": figure.number,
        "version": figure.version,
        "edition": edition.name,
        "note": edition.note,
        "quick": quick and bool(edition.quick),
        "parameters": edition.given(quick=quick),
        "key": figure.key(edition, quick=quick),
    }


def keep(
    folder: Path, figure: Figure, edition: Edition, data: Data, *, quick: bool, seconds: float
) -> None:
    """Write the data of an edition; what JSON or numpy cannot hold is refused before that."""
    arrays = {name: value for name, value in data.items() if isinstance(value, np.ndarray)}
    plain = {name: value for name, value in data.items() if name not in arrays}
    json_text(plain)
    origin = provenance(figure, edition, quick=quick)
    name = stem(figure, edition)
    content = {
        "format": FORMAT,
        "provenance": origin,
        "seconds": round(seconds, 3),
        "arrays": {name: list(value.shape) for name, value in arrays.items()},
        "data": plain,
    }
    # The arrays carry all the rest, so that files of two runs do not pass for one.
    write_arrays(folder / f"{name}.npz", content, arrays)
    write_json(folder / f"{name}.json", content)


def kept(folder: Path, figure: Figure, edition: Edition, *, quick: bool) -> dict[str, Any] | None:
    """The data of an edition, if it is there, whole, and made from the same parameters."""
    name = stem(figure, edition)
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
