"""`explore`: the explorer as a file, opened at a task and a start."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from importlib import resources
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

import swingby
from swingby.errors import InvalidInput, named
from swingby.report.files import write_text
from swingby.report.number_text import python_text, scientific
from swingby.theory import numbers
from swingby.theory.growth import require_dynamics
from swingby.theory.initial import Initial, Scaled, initial_state
from swingby.theory.task import SIMTask, as_task

_PAGE = resources.files("swingby.lab.explorer") / "page"
#: Files of ``page/`` that need no document, so that workers read them too, and the others.
_ENGINE = ("starts", "law", "advance", "modified", "jump", "run", "assumptions", "worker")
_CHARTS = ("text", "axes", "entries", "loss", "plane", "seeds")
_CONTROLS = ("numbers", "address", "reading", "work", "words", "fields", "main")
#: Sizes of typed entries of W(0) that the page takes.
_SMALLEST, _LARGEST = Fraction(1, 10**300), 5


@named
def explore(
    out: str | Path = "explorer.html",
    task: SIMTask | Sequence[Any] | None = None,
    W0: ArrayLike | Scaled | Initial | None = None,
    *,
    omega: Any = None,
    seed: int | None = None,
    width: int | None = None,
    eta: Any = None,
    dynamics: str | None = None,
) -> Path:
    r"""Write the explorer: a browser page that predicts and runs while you move the numbers.

    The page runs the dynamics (D.2) from W(0), predicts stage times by the closed law
    :math:`t_k = -\log\pi_k / g_{kk}`, and shows margins of Assumptions D.1 to D.5 and 200 Gaussian
    starts. It is a single file, makes no network request, and keeps its state in its address.
    Arguments that you leave out are those of the page's first example.

    Parameters
    ----------
    out : path
        The file, ending in ``.html``; it appears whole or not at all.
    task : SIMTask or sequence of 2 to 4 numbers, optional
        The task, or its signal a. A task has as many directions as concepts, and no signal of
        its own beside mu and sigma; a signal may end in zeros, which are free directions.
    W0 : array of shape (d, d), optional
        W(0), its entries from 1e-300 to 5 in size, or zero. Without it the page draws one.
    omega : number or text, optional
        Scale of a Gaussian W(0), of any size up to 1.
    seed : int, optional
        From 0 to 199: ``swingby.gaussian(task, omega, width, rng=seed)`` is the same W(0).
    width : int, optional
        Columns of U(0), from d to 6.
    eta : number or text, optional
        Step size in the clock of (D.2).
    dynamics : {"gd", "euler", "flow"}, optional

    Returns
    -------
    Path
        The file.

    Raises
    ------
    InvalidInput
        For what the page cannot show, and for a file that cannot be written.

    References
    ----------
    (D.2), Assumptions D.1 to D.5.

    Examples
    --------
    >>> folder = getfixture("tmp_path")
    >>> page = explore(folder / "page.html", [4, 1], omega="1e-80", eta="1e-3", dynamics="euler")
    >>> page.name, page.stat().st_size < 400_000
    ('page.html', True)
    """
    if Path(out).suffix != ".html":
        raise InvalidInput("out", out, "must end in .html")
    drawn = {"omega": omega, "seed": seed, "width": width}
    state = _state(task, W0, drawn, eta, dynamics)
    return write_text(out, page_text("&".join(f"{name}={text}" for name, text in state.items())))


def page_text(first: str = "") -> str:
    """The page, opened at the state of an address.

    `first`: as the address of a page holds it after its ``#``.
    """
    from swingby.lab.explorer import formulas

    def joined(folder: str, names: Iterable[str]) -> list[str]:
        return [_PAGE.joinpath(folder, f"{name}.js").read_text("utf-8") for name in names]

    page = _PAGE.joinpath("index.html").read_text("utf-8")
    charts, controls = joined("charts", _CHARTS), joined("controls", _CONTROLS)
    texts = {
        "STYLE": _PAGE.joinpath("style.css").read_text("utf-8"),
        "ENGINE": "\n".join(['"use strict";', formulas.generated(), *joined("engine", _ENGINE)]),
        "PAGE": "\n".join(charts + controls),
        "NORMALS": formulas.normals(),
        "FIRST": first,
        "VERSION": swingby.__version__,
        "SEEDS": str(formulas.SEEDS),
        "LAST_SEED": str(formulas.SEEDS - 1),
        "COLUMNS": str(formulas.COLUMNS),
    }
    for name, text in texts.items():
        if "</script" in text or "</style" in text:
            raise ValueError(f"{name} of the page ends an element")
        page = page.replace(f"%{name}%", text)
    return page


def _state(
    task: SIMTask | Sequence[Any] | None,
    W0: Any,
    drawn: dict[str, Any],
    eta: Any,
    dynamics: str | None,
) -> dict[str, str]:
    """The state as the address of the page holds it, by its names there."""
    from swingby.lab.explorer.formulas import COLUMNS, DIRECTIONS, SEEDS

    state: dict[str, str] = {}
    d = DIRECTIONS[0]
    if task is not None:
        task = as_task(task)
        d = task.dim
        if d not in DIRECTIONS:
            requirement = f"must have {DIRECTIONS[0]} to {DIRECTIONS[-1]} directions to be explored"
            raise InvalidInput("task", d, requirement)
        state |= _task_words(task)
    if W0 is not None:
        if task is None:
            raise InvalidInput("task", None, "must be given with W0: explore(out, [4, 1], W0)")
        for name, value in drawn.items():
            if value is not None:
                raise InvalidInput(name, value, "must not be given together with W0")
        state |= {"start": "typed", "W0": _matrix_text(initial_state(W0, None, d))}
    elif task is not None or any(value is not None for value in drawn.values()):
        state["start"] = "seed"
    omega, seed, width = drawn.values()
    if omega is not None:
        scale = numbers.positive(omega, "omega", "Assumption D.1")
        if scale > 1:
            raise InvalidInput("omega", omega, "must be at most 1 to be explored")
        state["omega"] = _typed(scale)
    if seed is not None:
        state["seed"] = str(numbers.whole(seed, "seed", most=SEEDS - 1))
    if width is not None:
        state["width"] = str(numbers.whole(width, "width", d, most=COLUMNS))
    if eta is not None:
        state["eta"] = _typed(numbers.step_size(eta, task.exact_signal if task else [Fraction(1)]))
    if dynamics is not None:
        require_dynamics(dynamics)
        state["dyn"] = dynamics
    return state


def _task_words(task: SIMTask) -> dict[str, str]:
    def listed(values: Iterable[Fraction]) -> str:
        return ",".join(map(_typed, values))

    if task.signal_override is None and task.dim == task.s:
        return {"mu": listed(task.mu), "sigma": listed(task.sigma)}
    if task != SIMTask.from_signal(task.exact_signal):
        requirement = "must be its signal, or mu and sigma in as many directions, to be explored"
        raise InvalidInput("task", task, requirement)
    return {"a": listed(task.exact_signal)}


def _matrix_text(initial: Initial) -> str:
    for entry in (entry for row in initial.entries for entry in row if entry):
        if not _SMALLEST <= abs(entry) <= _LARGEST:
            requirement = "must have entries from 1e-300 to 5 in size; omega= has any size"
            raise InvalidInput("W0", scientific(entry), requirement)
    return ";".join(",".join(map(_typed, row)) for row in initial.entries)


def _typed(value: Fraction) -> str:
    """A number as the page reads it."""
    text = python_text(abs(value)).strip('"')
    size = scientific(abs(value), 17) if text.startswith("Fraction") else text
    return f"-{size}" if value < 0 else size
