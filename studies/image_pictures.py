"""Pictures of image studies: responses over training, Fig. 19, and film strips of courses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from studies.image_study import ImageStudy, course_file
from swingby.lab.diffusion.circles import CLASS_NAMES, CONCEPTS, Circles
from swingby.lab.diffusion.course import HALF, ImageCell, responses
from swingby.report.picture_style import styled
from swingby.report.pictures import shown_figure
from swingby.theory import numbers

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

#: Rows of a film strip: one image of each training class, then four held out.
_ROWS = (*CLASS_NAMES[:3], *[CLASS_NAMES[3]] * 4)


def study_figure(study: ImageStudy) -> Figure:
    """The responses to colour and size, mean over runs, a panel for each optimizer and corner."""
    from matplotlib import colormaps

    names = [optimizer.name for optimizer in study.plan.optimizers]
    with styled():
        figure = shown_figure(5.2 * len(names), 7.2)
        panels = figure.subplots(2, len(names), squeeze=False)
        for column, name in enumerate(names):
            cells = [cell for cell in study.plan.cells if cell.optimizer == name and study.at(cell)]
            for row, corner in enumerate(("trained", "held out")):
                ax = panels[row, column]
                for k, cell in enumerate(cells):
                    courses = study.at(cell)
                    mean = np.mean([responses(course, corner) for course in courses], axis=0)
                    label = f"{cell.separation:g}, {cell.contrast:g}, {cell.gain:g}"
                    color = colormaps["viridis"](k / max(1, len(cells) - 1))
                    for p, style in enumerate(("-", ":")):
                        visible_label = label if p == 0 else None
                        ax.plot(
                            courses[0].steps,
                            mean[:, p],
                            style,
                            color=color,
                            lw=1,
                            label=visible_label,
                        )
                ax.axhline(HALF, color="0.6", lw=0.6)
                ax.set(xscale="symlog", xlabel="step", ylabel="response")
                ax.set_xlim(0, study.plan.preset.steps)
                ax.set_title(
                    f"{name}, {corner}: {CONCEPTS[0]} solid, {CONCEPTS[1]} dotted", loc="left"
                )
        panels[0, 0].legend(title="separation, contrast, gain", fontsize=8.5, ncols=2)
    return figure


def circles_figure(
    contrasts: Sequence[float] = (0.8, 0.2), pixels: int = 32, n: int = 4, rng: Any = 0
) -> Figure:
    """Fig. 19: images of the four classes, n by n each, one block for each contrast."""
    generator = numbers.random_source(rng)
    with styled():
        figure = shown_figure(4.6 * len(contrasts), 4.9)
        grids = figure.subplots(2, 2 * len(contrasts), squeeze=False)
        for block, contrast in enumerate(contrasts):
            images = Circles(contrast, pixels).draw(n * n, rng=generator, classes=(0, 1, 2, 3))
            for kind, name in enumerate(CLASS_NAMES):
                colour, size = divmod(kind, 2)
                ax = grids[size, 2 * block + colour]
                pictures = images.pixels[kind * n * n : (kind + 1) * n * n]
                ax.imshow(_tiled(pictures.reshape(n, n, *pictures.shape[1:])))
                suffix = " (held out)" if kind == len(CLASS_NAMES) - 1 else ""
                ax.set_title(f"{name}{suffix}, contrast {contrast:g}", fontsize=8)
                ax.set_axis_off()
    return figure


def course_film(
    study: ImageStudy, folder: Path, cell: ImageCell, seed: int, frames: int = 13
) -> Figure:
    """A film strip of a course, from the folder in which it was trained."""
    from swingby.lab.diffusion.course_training import identity_of, saved_images

    name = identity_of(study.plan.preset_of(cell), cell, seed, study.plan.digest)
    images = saved_images(course_file(Path(folder), cell, seed), name)
    steps = sorted(images)
    places = np.linspace(0, len(steps) - 1, min(frames, len(steps))).round().astype(int)
    return film_strip({steps[k]: images[steps[k]] for k in places}, f"{cell}, seed {seed}")


def film_strip(images: Mapping[int, NDArray[np.uint8]], title: str = "") -> Figure:
    """Images of a network from the same noise as it is trained, by step, from left to right."""
    steps = sorted(images)
    frames = np.stack([images[step] for step in steps], axis=1)
    rows, columns, _, height, width = frames.shape
    with styled():
        figure = shown_figure(1.4 + 0.5 * columns, 0.6 + 0.5 * rows)
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
    """Rows and columns of images as a single picture, with white lines between them."""
    rows, columns, channels, height, width = frames.shape
    sheet = np.ones((rows, height + 1, columns, width + 1, channels))
    sheet[:, :height, :, :width] = frames.transpose(0, 3, 1, 4, 2)
    return sheet.reshape(rows * (height + 1), columns * (width + 1), channels)
