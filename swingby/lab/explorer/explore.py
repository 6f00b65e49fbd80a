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
from swingby.lab.explorer import limits
from swingby.report.files import write_text
from swingby.report.number_text import python_text, scientific
from swingby.theory import numbers
from swingby.theory.growth import DYNAMICS, require_dynamics
from swingby.theory.initial import Initial, Scaled, initial_state
from swingby.theory.task import SIMTask, as_task

_PAGE = resources.files("swingby.lab.explorer") / "page"
#: Files of ``page/`` that need no document, so that workers read them too, and the others.
_ENGINE = ("starts", "law", "advance", "modified", "jump", "run", "assumptions", "worker")
_CHARTS = ("text", "axes", "entries", "loss", "plane", "seeds")
_CONTROLS = ("numbers", "address", "reading", "work", "words", "fields", "main")


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
        "SEEDS": str(limits.SEEDS),
        "LAST_SEED": str(limits.SEEDS - 1),
        "COLUMNS": str(limits.COLUMNS),
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
    state: dict[str, str] = {}
    d = limits.DIRECTIONS[0]
    require_dynamics(dynamics or limits.FIRST_DYNAMICS)
    if task is not None:
        task = as_task(task)
        d = task.dim
        if d not in limits.DIRECTIONS:
            least, *_, most = limits.DIRECTIONS
            requirement = f"must have {least} to {most} directions to be explored"
            raise InvalidInput("task", d, requirement)
        state |= _task_words(task)
    if W0 is not None:
        if task is None:
            raise InvalidInput("task", None, "must be given with W0: explore(out, [4, 1], W0)")
        for name, value in drawn.items():
            if value is not None:
                raise InvalidInput(name, value, "must not be given together with W0")
        initial = initial_state(W0, None, d)
        initial.require_psd(dynamics or limits.FIRST_DYNAMICS)
        state |= {"start": "typed", "W0": _matrix_text(initial)}
    elif task is not None or any(value is not None for value in drawn.values()):
        state["start"] = "seed"
    omega, seed, width = drawn.values()
    if omega is not None:
        scale = numbers.positive(omega, "omega", "Assumption D.1")
        if scale > 1:
            raise InvalidInput("omega", omega, "must be at most 1 to be explored")
        state["omega"] = _typed(scale)
    if seed is not None:
        state["seed"] = str(numbers.whole(seed, "seed", most=limits.SEEDS - 1))
    if width is not None:
        state["width"] = str(numbers.whole(width, "width", d, most=limits.COLUMNS))
    signal = task.exact_signal if task else [*map(Fraction, limits.FIRST_SIGNAL)][:d]
    step = limits.FIRST_ETA if eta is None else numbers.step_size(eta, signal)
    if DYNAMICS[dynamics or limits.FIRST_DYNAMICS].of and step * max(signal) > limits.LARGEST_STEP:
        limit = scientific(limits.LARGEST_STEP / max(signal))
        requirement = f"must be at most {limit} to be explored: larger steps only diverge"
        raise InvalidInput("eta", f"the page's {float(step)}" if eta is None else eta, requirement)
    if eta is not None:
        state["eta"] = _typed(step)
    if dynamics is not None:
        state["dyn"] = dynamics
    return state


def _task_words(task: SIMTask) -> dict[str, str]:
    def listed(values: Iterable[Fraction], most: int) -> str:
        values = [*values]
        if max(values) >= most:
            requirement = f"must have numbers below {most} to be explored"
            raise InvalidInput("task", scientific(max(values)), requirement)
        return ",".join(map(_typed, values))

    if task.signal_override is None and task.dim == task.s:
        return {
            "mu": listed(task.mu, limits.MOST_CLUSTER),
            "sigma": listed(task.sigma, limits.MOST_CLUSTER),
        }
    if task != SIMTask.from_signal(task.exact_signal):
        requirement = "must be its signal, or mu and sigma in as many directions, to be explored"
        raise InvalidInput("task", task, requirement)
    return {"a": listed(task.exact_signal, limits.MOST_SIGNAL)}


def _matrix_text(initial: Initial) -> str:
    smallest = Fraction(10) ** limits.SMALLEST_ENTRY_POWER
    for entry in (entry for row in initial.entries for entry in row if entry):
        if not smallest <= abs(entry) <= limits.LARGEST_ENTRY:
            requirement = (
                f"must have entries from 1e{limits.SMALLEST_ENTRY_POWER} to {limits.LARGEST_ENTRY}"
                " in size; omega= has any size"
            )
            raise InvalidInput("W0", scientific(entry), requirement)
    return ";".join(",".join(map(_typed, row)) for row in initial.entries)


def _typed(value: Fraction) -> str:
    """A number as the page reads it."""
    text = python_text(abs(value)).strip('"')
    size = scientific(abs(value), 17) if text.startswith("Fraction") else text
    return f"-{size}" if value < 0 else size
