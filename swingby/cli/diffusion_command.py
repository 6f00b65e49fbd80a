"""The command ``swingby diffusion``: image diffusion models against the theory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from swingby.cli.given import check_target, say, whole
from swingby.errors import InvalidInput
from swingby.report.pictures import ENDINGS as PICTURES

if TYPE_CHECKING:
    from swingby.diffusion.preset import Preset
    from swingby.diffusion.study import Study


@click.command()
@click.argument("what", metavar="tiny|small|quiet|paper|recorded|recorded-quiet|STUDY.json")
@click.option("--contrast", multiple=True, metavar="X", help="Others than the preset's: 0.1,0.8.")
@click.option("--seed", default="0", metavar="N", help="The first seed.")
@click.option("--seeds", metavar="N", help="That many. Default: as many as the preset has.")
@click.option("--workers", metavar="N", help="Courses at a time. Default: the cores; 4 on a GPU.")
@click.option("--device", default="cpu", metavar="NAME", help="Or cuda.")
@click.option("--out", metavar="FOLDER", help="Default: swingby-diffusion-tiny and so on.")
@click.option("--plot", metavar="PICTURE", help="Fig. 6 (a) to (c): .png, .pdf or .svg.")
@click.option("--film", metavar="PICTURE", help="Images of the strongest contrast over training.")
@click.option("--data", "sheet", metavar="PICTURE", help="Fig. 19: images of the four classes.")
@click.option("--representation", default="registered", metavar="NAME", help="Of signals, or all.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def diffusion(
    what: str,
    contrast: tuple[str, ...],
    seed: str,
    seeds: str | None,
    workers: str | None,
    device: str,
    out: str | None,
    plot: str | None,
    film: str | None,
    sheet: str | None,
    representation: str,
    as_json: bool,
) -> int:
    """Train diffusion models on circles and see whether the theory predicts how they learn.

    A preset is trained into a folder, at several contrasts between red and blue and with several
    seeds; the same command goes on where it was stopped. A study that was written, study.json, is
    only judged again; recorded and recorded-quiet are those in the documentation. Exit code 0:
    every prediction holds, 1: some fail, 3: none fails, but some are undecided. With
    --representation all, one table of what each kind of signals foretells, and exit code 0.

    \b
    swingby diffusion tiny
    swingby diffusion small --out small --plot small.png
    swingby diffusion small/study.json
    swingby diffusion recorded
    """  # noqa: D301 (click reads the backspace as a sign to keep the lines)
    from swingby.diffusion.signals import REPRESENTATIONS
    from swingby.training.fields import one_of

    for name, path in (("plot", plot), ("film", film), ("data", sheet)):
        if path is not None:
            check_target(name, path, PICTURES)
    one_of(representation, "representation", (*REPRESENTATIONS, "all"))
    if what in _RECORDED or what.endswith(".json"):
        study, folder = _read(what, film, contrast, seeds)
    else:
        folder = Path(f"swingby-diffusion-{what}" if out is None else out)
        preset = _preset(what, contrast, seed, seeds)
        study = _trained(preset, folder, workers, device)
    _draw(study, folder, plot, film, sheet)
    return _tell(study, representation, as_json=as_json)


def _preset(what: str, contrast: tuple[str, ...], seed: str, seeds: str | None) -> Preset:
    from swingby.diffusion.presets import preset_of

    preset = preset_of(what)
    first = whole(seed, "seed", 0) or 0
    count = len(preset.seeds) if seeds is None else whole(seeds, "seeds") or 1
    if count > _MOST_SEEDS:
        raise InvalidInput("seeds", count, f"must be at most {_MOST_SEEDS}")
    preset = replace(preset, seeds=tuple(range(first, first + count)))
    if contrast:
        parts: list[Any] = [one for text in contrast for one in text.split(",")]
        preset = replace(preset, contrasts=tuple(parts))
    return preset


_RECORDED = {"recorded": "small", "recorded-quiet": "quiet"}
#: A typing error should not plan a million courses.
_MOST_SEEDS = 1000


def _trained(preset: Preset, folder: Path, workers: str | None, device: str) -> Study:
    from swingby.simulate.device import load_torch

    load_torch()
    from swingby.diffusion.studying import run_study

    count = whole(workers, "workers")
    return run_study(preset, folder, workers=count, device=device, progress=True)


def _read(
    what: str, film: str | None, contrast: tuple[str, ...], seeds: str | None
) -> tuple[Study, Path]:
    from swingby.diffusion.study import Study, recorded_study

    for name, value in (("contrast", contrast), ("seeds", seeds)):
        if value:
            raise InvalidInput(name, value, "belongs to training; a study has its own")
    if what in _RECORDED:
        if film is not None:
            raise InvalidInput("film", film, "needs the folder in which the study was trained")
        return recorded_study(_RECORDED[what]), Path()
    folder = Path(what).parent
    if film is not None and not (folder / "preset.json").exists():
        raise InvalidInput("film", film, "needs the folder in which the study was trained")
    return Study.load(what), folder


def _draw(
    study: Study, folder: Path, plot: str | None, film: str | None, sheet: str | None
) -> None:
    from swingby.diffusion import pictures

    if plot is not None:
        pictures.study_figure(study).savefig(plot, dpi=150, bbox_inches="tight")
    if film is not None:
        strongest = study.courses[-1]
        figure = pictures.course_film(study, folder, strongest.contrast, strongest.seed)
        figure.savefig(film, dpi=150, bbox_inches="tight")
    if sheet is not None:
        ends = (max(study.preset.contrasts), min(study.preset.contrasts))
        figure = pictures.circles_figure(ends, study.preset.pixels)
        figure.savefig(sheet, dpi=150, bbox_inches="tight")


def _tell(study: Study, representation: str, *, as_json: bool) -> int:
    from swingby.diffusion.judged import JudgedStudy, judged_study
    from swingby.diffusion.representations import Representations, compare_representations

    result: JudgedStudy | Representations
    if representation == "all":
        result, code = compare_representations(study), 0
    else:
        result = judged_study(study, representation)
        code = result.exit_code
    say(result, result.to_dict(), as_json=as_json)
    return code
