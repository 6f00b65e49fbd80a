"""The results as tables of plain text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from swingby.report import Grid

#: Parts of the measurement as they were recorded, by name.
Records = Mapping[str, Mapping[str, Any]]


def tables(summary: Mapping[str, Any], records: Records) -> str:
    """All of them, with the machine above."""
    facts = summary["machine"]
    lines = [
        f"{key.replace('_', ' ')}: {value}" for key, value in facts.items() if value is not None
    ]
    if summary["tiny"]:
        lines.append("the tiny form: it shows that everything runs, and measures nothing")
    blocks = ["\n".join(lines), status(summary)]
    for name, record in records.items():
        if record["rows"]:
            try:
                blocks.append("\n".join([GRIDS[name](record["rows"]), *notes(record["facts"])]))
            except Exception as error:  # the numbers are in the JSON; other parts go on
                blocks.append(f"{name}: no table, {type(error).__name__}: {error}")
    return "\n\n".join(blocks)


def status(summary: Mapping[str, Any]) -> str:
    """How each part ended."""
    rows = [
        [name, part["status"], f"{part['seconds']:.0f}", part["error"] or ""]
        for name, part in summary["parts"].items()
    ]
    return _text(f"{summary['seconds']:.0f} s in all", ["part", "", ">s", "error"], rows)


def notes(facts: Mapping[str, Any]) -> list[str]:
    """Facts of a part that are a number or a text, and where a device is worth its code."""
    lines = [
        f"{key.replace('_', ' ')}: {value:.3g}" if isinstance(value, float) else f"{key}: {value}"
        for key, value in facts.items()
        if isinstance(value, int | float | str) and key != "traceback"
    ]
    for text, sizes in facts.get("worth", {}).items():
        lines.append(f"{text}: d = {', '.join(map(str, sizes)) or 'none'}")
    return lines


def batches(rows: list[Mapping[str, Any]]) -> str:
    """Rates, ratios and agreement."""
    cores = [baseline["cores"] for baseline in rows[0]["baselines"]]
    heads = ["d", "", ">runs", ">device"]
    heads += [head for n in cores for head in (f">{n} cores", ">ratio")]
    cells = [
        [
            str(row["d"]), row["dynamics"], str(row["on_device"]["runs"]),
            f"{row['on_device']['rate']:.2e}",
            *(f"{baseline[key]:{form}}" for baseline in row["baselines"]
              for key, form in (("rate", ".2e"), ("ratio", ".2f"))),
            f"{row['agreement']['half_times_that_differ']} of {row['agreement']['half_times']}",
            f"{row['agreement']['largest_error_of_W']:.0e}",
        ]
        for row in rows
    ]  # fmt: skip
    heads += [">half-times that differ", ">error of W"]
    return _text("Batches: steps a second, of all runs together", heads, cells)


def precision(rows: list[Mapping[str, Any]]) -> str:
    """The first layer, the output, and training."""
    first = [
        [row["way"], _number(row["noise_left"], ".4f"), _number(row["expected"], ".4f")]
        for row in rows
        if row["what"] == "first layer"
    ]
    output: dict[str, dict[float, float]] = {}
    for row in rows:
        if row["what"] == "output":
            output.setdefault(row["way"], {})[row["gamma"]] = row["relative_error"]
    gammas = list(next(iter(output.values()), {}))
    errors = [[way, *(_number(by[gamma], ".1e") for gamma in gammas)] for way, by in output.items()]
    training = [
        [row["way"], str(row["steps"]), _number(row["squared_error"], ".4f"),
         _number(1e3 * row["step_seconds"], ".1f")]
        for row in rows
        if row["what"] == "training"
    ]  # fmt: skip
    return "\n\n".join(
        [
            _text("Noise left by the first layer", ["", ">measured", ">expected"], first),
            _text("Error of the output", ["", *(f">gamma = {g:g}" for g in gammas)], errors),
            _text(
                "Training at the low end alone",
                ["", ">steps", ">squared error of the noise", ">ms a step"],
                training,
            ),
        ]
    )


def paper(rows: list[Mapping[str, Any]]) -> str:
    """Images per second, and what a save costs."""
    training = [
        [str(row["courses"]), f"{row['images_per_second']:.0f}", f"{row['memory_gb']:.1f}"]
        for row in rows
        if row["what"] == "training"
    ]
    saves = [
        f"a save of {row['images']} images: {row['save_seconds']:.2f} s, of which sampling "
        f"{row['sampling_seconds']:.2f} s"
        for row in rows
        if row["what"] == "save"
    ]
    heads = [">courses at once", ">images per second", ">GB each"]
    return "\n".join([_text("Training", heads, training), *saves])


def circles(rows: list[Mapping[str, Any]]) -> str:
    """Milliseconds of an image."""
    heads = [">images", ">ms an image", ">on a core", ">ratio", ">kinds that differ"]
    cells = [
        [
            str(row["images"]), f"{row['ms_per_image']:.3f}",
            f"{row['ms_per_image_on_a_core']:.2f}", f"{row['ratio']:.1f}",
            str(row["kinds_that_differ"]),
        ]
        for row in rows
    ]  # fmt: skip
    return _text("Circles read", heads, cells)


def courses(rows: list[Mapping[str, Any]]) -> str:
    """When colour and size were learned."""
    heads = [
        ">contrast", ">separation", ">seed", ">steps", ">s", ">colour learned", ">size learned",
        ">held out right",
    ]  # fmt: skip
    cells = [
        [
            f"{row['cell']['contrast']:g}", f"{row['cell']['separation']:g}", str(row["seed"]),
            str(row["step"]), f"{row['seconds']:.0f}", _number(row["colour_learned"], ".0f"),
            _number(row["size_learned"], ".0f"), f"{row['held_out']:.2f}",
        ]
        for row in rows
    ]  # fmt: skip
    return _text("Courses", heads, cells)


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else f"{value:{form}}"


def _text(title: str, heads: list[str], rows: list[list[str]]) -> str:
    return Grid(title, heads, rows).to_text(width=120)


GRIDS: dict[str, Callable[[list[Mapping[str, Any]]], str]] = {
    "batches": batches,
    "precision": precision,
    "paper": paper,
    "circles": circles,
    "courses": courses,
}
