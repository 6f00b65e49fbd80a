"""Pictures of a study: Fig. 6 (a), (b) and (c), Fig. 19, and a film strip of generated images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.diffusion.circles import CLASS_NAMES, Circles
from swingby.diffusion.concept_space import concept_error, mean_path, smooth, speed, start
from swingby.diffusion.study import Study
from swingby.errors import InvalidInput
from swingby.report.pictures import new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

#: Rows of a film strip: one image of each training class, then four held out.
_ROWS = (*CLASS_NAMES[:3], *[CLASS_NAMES[3]] * 4)
_CORNERS = ((0, 0), (0, 1), (1, 0))


def plot_paths(study: Study, ax: Axes | None = None, *, smoothed: bool = True) -> Axes:
    """Fig. 6 (a): the held-out class on its way through concept space, mean over seeds.

    Parameters
    ----------
    study : Study
    ax : matplotlib Axes, optional
    smoothed : bool
        Blur paths over two saves, as the paper does; they begin where images are recognizable.
    """
    with styled():
        if ax is None:
            ax = new_figure(4.6, 4.6).add_subplot()
        for contrast, color in _colors(study):
            _, path = _path(study, contrast, smoothed=smoothed)
            ax.plot(*path.T, color=color, lw=1.3, label=f"{contrast:g}")
            ax.plot(*path[:1].T, color=color, marker="o", ms=4, ls="none")
        for k, corner in enumerate(_CORNERS):
            ax.plot(*corner, marker="o", ms=7, mfc="none", mec="0.35", ls="none")
            ax.annotate(CLASS_NAMES[k], corner, (0, 7), textcoords="offset points", ha="center")
        ax.plot(1, 1, marker="*", ms=11, color="black", ls="none", zorder=5)
        ax.annotate(CLASS_NAMES[3], (1, 1), (0, 8), textcoords="offset points", ha="center")
        ax.set(xlim=(-0.12, 1.12), ylim=(-0.08, 1.12), aspect="equal")
        ax.set_xlabel("probability of blue")
        ax.set_ylabel("probability of small")
        ax.legend(title="contrast", loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=5)
    return ax


def plot_errors(study: Study, ax: Axes | None = None, *, smoothed: bool = True) -> Axes:
    """Fig. 6 (b): mean squared distance to the held-out corner of concept space."""
    with styled():
        if ax is None:
            ax = new_figure(5.0, 3.4).add_subplot()
        for contrast, color in _colors(study):
            steps, path = _path(study, contrast, smoothed=smoothed)
            ax.plot(steps, concept_error(path), color=color, lw=1.2, label=f"{contrast:g}")
        ax.set_xscale("log")
        ax.set_xlabel("step")
        ax.set_ylabel("concept error")
        ax.legend(title="contrast", loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=5)
    return ax


def plot_speeds(study: Study, ax: Axes | None = None, *, smoothed: bool = True) -> Axes:
    """Fig. 6 (c): distance covered in concept space per step; straight where exponential."""
    with styled():
        if ax is None:
            ax = new_figure(5.0, 3.4).add_subplot()
        for contrast, color in _colors(study):
            steps, path = _path(study, contrast, smoothed=smoothed)
            if len(steps) > 1:
                middle, rate = speed(steps, path)
                ax.plot(middle, rate, color=color, lw=1.0, label=f"{contrast:g}")
        ax.set_yscale("log")
        ax.set_xlabel("step")
        ax.set_ylabel("speed in concept space per step")
        ax.legend(title="contrast", loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=5)
    return ax


def study_figure(study: Study, *, smoothed: bool = True) -> Figure:
    """Fig. 6: the three panels side by side."""
    with styled():
        figure = new_figure(13.2, 4.6)
        first, second, third = figure.subplots(1, 3)
        plot_paths(study, first, smoothed=smoothed)
        plot_errors(study, second, smoothed=smoothed)
        plot_speeds(study, third, smoothed=smoothed)
        for letter, ax in zip("abc", (first, second, third), strict=True):
            ax.set_title(f"({letter})", loc="left")
    return figure


def circles_figure(
    contrasts: Sequence[float] = (0.8, 0.2), pixels: int = 32, n: int = 4, rng: Any = 0
) -> Figure:
    """Fig. 19: images of the four classes, one block for each contrast.

    Parameters
    ----------
    contrasts : sequence of float
    pixels : int
    n : int
        Images per class along each side of its square.
    rng : None, int, SeedSequence or Generator
    """
    generator = np.random.default_rng(rng)
    with styled():
        figure = new_figure(4.6 * len(contrasts), 4.9)
        grids = figure.subplots(2, 2 * len(contrasts), squeeze=False)
        for block, contrast in enumerate(contrasts):
            images = Circles(contrast, pixels).draw(n * n, rng=generator, classes=(0, 1, 2, 3))
            for kind, name in enumerate(CLASS_NAMES):
                colour, size = divmod(kind, 2)
                ax = grids[size, 2 * block + colour]
                shown = images.pixels[kind * n * n : (kind + 1) * n * n]
                ax.imshow(_tiled(shown.reshape(n, n, *shown.shape[1:])))
                held = " (held out)" if kind == len(CLASS_NAMES) - 1 else ""
                ax.set_title(f"{name}{held}, contrast {contrast:g}", fontsize=8)
                ax.set_axis_off()
    return figure


def course_film(study: Study, folder: Path, contrast: float, seed: int, frames: int = 13) -> Figure:
    """A film strip of one course of a study.

    Parameters
    ----------
    study : Study
    folder : Path
        In which it was trained.
    contrast : float
    seed : int
    frames : int
        Saves that are shown, at most.

    Raises
    ------
    InvalidInput
        If the images are not there.
    """
    from swingby.diffusion.record import Record, course_folder

    steps = study.preset.save_steps
    places = np.unique(np.linspace(0, len(steps) - 1, min(frames, len(steps))).round().astype(int))
    record = Record(course_folder(Path(folder), contrast, seed), study.preset, contrast, seed)
    images = {steps[k]: record.images(steps[k]) for k in places}
    return film_strip(images, f"contrast {contrast:g}, seed {seed}")


def film_strip(images: Mapping[int, NDArray[np.uint8]], title: str = "") -> Figure:
    """What a network makes of the same noise as it is trained, from left to right.

    Parameters
    ----------
    images : dict of int to ndarray of shape (7, 3, height, width)
        By step, as :meth:`swingby.diffusion.record.Record.images` reads them.
    title : str

    Raises
    ------
    InvalidInput
        For no images, or others.
    """
    if not images:
        raise InvalidInput("images", "nothing", "must be images by step")
    steps = sorted(images)
    if len({images[step].shape for step in steps}) > 1:
        raise InvalidInput("images", "several shapes", "must be of one shape")
    frames = np.stack([images[step] for step in steps], axis=1)
    rows, columns, _, height, width = frames.shape
    with styled():
        figure = new_figure(1.4 + 0.5 * columns, 0.6 + 0.5 * rows)
        ax = figure.add_subplot()
        ax.imshow(_tiled(frames / 255.0), interpolation="nearest")
        ax.set_xticks((np.arange(columns) + 0.5) * (width + 1), [str(step) for step in steps])
        ax.set_yticks((np.arange(rows) + 0.5) * (height + 1), _ROWS[:rows])
        ax.tick_params(length=0, labelsize=7)
        ax.set_xlabel("step")
        ax.spines[:].set_visible(False)
        ax.set_title(title, loc="left")
    return figure


def _tiled(frames: Any) -> Any:
    """Rows and columns of images as one, with white lines between them."""
    rows, columns, channels, height, width = frames.shape
    sheet = np.ones((rows * (height + 1), columns * (width + 1), channels))
    for r in range(rows):
        for c in range(columns):
            top, left = r * (height + 1), c * (width + 1)
            sheet[top : top + height, left : left + width] = frames[r, c].transpose(1, 2, 0)
    return sheet


def _colors(study: Study) -> list[tuple[float, Any]]:
    """Contrasts that were trained, weak ones red and strong ones blue."""
    from matplotlib import colormaps

    shown = [one for one in study.preset.contrasts if study.at(one)]
    places = np.linspace(0.0, 0.9, len(shown)) if len(shown) > 1 else [0.5]
    return [(one, colormaps["plasma"](p)) for one, p in zip(shown, places, strict=True)]


def _path(study: Study, contrast: float, *, smoothed: bool) -> tuple[Floats, Floats]:
    """Mean path of a contrast from the first save at which every seed counts."""
    courses = study.at(contrast)
    steps, path = mean_path(courses)
    begins = [start(one) for one in courses]
    first = max((one for one in begins if one is not None), default=0)
    if smoothed:
        path = smooth(path)
    return steps[first:].astype(np.float64), path[first:]
