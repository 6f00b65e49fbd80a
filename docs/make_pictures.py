"""Draw the pictures of the documentation: ``python -m docs.make_pictures``, or these: ``... relu``.

Letters are 8.5 points or more in a figure of 10.4 inches, that is 6 points in the column of a page.
"""

import re
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory

import mpmath
import numpy as np

import swingby
from benchmarks.network_pictures import draw
from studies.image_pictures import circles_figure, study_figure
from swingby.lab.diffusion import recorded_study
from swingby.lab.diffusion.vectors import VectorSetting, predict_vectors, train_vectors
from swingby.lab.explorer.explore import explore
from swingby.lab.figures.evidence import evidence
from swingby.lab.networks import Data, Setting, train
from swingby.report.picture_style import COLORS, styled
from swingby.report.pictures import new_figure
from swingby.theory.task import SIMTask
from swingby.verify.check import SIGNALS
from swingby.verify.paper_settings import paper_settings

FOLDER = Path(__file__).parent / "pictures"

#: File name, and the setting of ``swingby table --paper`` that it shows.
PICTURES = {
    "fig5.png": "Fig. 5 (caption and code), rates a^2, euler",
    "fig8.png": "Fig. 8 (code), rates a^2, euler",
    "inside.png": "Inside D.1-D.5 (omega = 1e-90, beta = 2), rates a, euler",
}


def settings_of_the_paper() -> None:
    """Pictures of settings of the paper, predicted and observed."""
    settings = {setting.title: setting for setting in paper_settings()}
    for name, title in PICTURES.items():
        settings[title].compare().save_picture(FOLDER / name)
        print(f"{name}: {title}")


def printed_table(page: str, title: str) -> list[list[str]]:
    """The rows of a table of a page, below its title in bold."""
    text = (FOLDER.parent / page).read_text(encoding="utf-8")
    below = text[text.index(f"\n**{title}") :]
    table = re.split(r"\n(?!\|)", below[below.index("\n|") + 1 :])[0]
    return [
        [cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]
    ]


def relu() -> None:
    """Shares of data sets with two extremal vectors: the table of relu.md."""
    rows = printed_table("relu.md", "Two extremal vectors")
    with styled():
        figure = new_figure(10.4, 3.4)
        panels = figure.subplots(1, 2, sharey=True)
        for ax, family in zip(panels, ("gap", "gaussian"), strict=True):
            for d, color in zip(range(2, 7), COLORS, strict=False):
                cells = [row for row in rows if row[:2] == [family, str(d)]]
                numbers = [re.findall(r"[\d.]+", row[3]) for row in cells]
                share, low, high = np.array(numbers, dtype=float).T
                points = [int(row[2]) for row in cells]
                bars = [share - low, high - share]
                ax.errorbar(points, share, bars, fmt="o-", color=color, capsize=2, label=f"d = {d}")
            ax.set(xscale="log", xlabel="points n", ylim=(0, 1))
            ax.set_xticks(points, points, minor=False)
            ax.minorticks_off()
            ax.set_title("with a gap" if family == "gap" else "Gaussian data")
        panels[0].set_ylabel("share with exactly two")
        panels[1].legend(ncols=2)
        figure.savefig(FOLDER / "relu.png", dpi=110)
    print("relu.png: the table of relu.md")


def accuracy() -> None:
    """How far predicted crossings are off: the table of accuracy.md."""
    rows = printed_table("accuracy.md", "Accuracy over")
    names = list(dict.fromkeys(row[0] for row in rows))
    with styled():
        figure = new_figure(10.4, 4.6)
        ax = figure.subplots()
        for k, dynamics in enumerate(("euler", "gd", "flow")):
            for row in (row for row in rows if row[1] == dynamics):
                median, p99, largest = (float(cell) for cell in row[4].split(" / "))
                height = names.index(row[0]) + 0.25 * (k - 1)
                label = dynamics if row[0] == names[0] else None
                ax.plot([median, p99], [height] * 2, color=COLORS[k], label=label)
                ax.plot(median, height, "o", color=COLORS[k], markersize=3)
                if np.isfinite(largest):
                    ax.plot(largest, height, "|", color=COLORS[k], markersize=7)
        ax.axvline(0.02, color="black", linewidth=0.7, linestyle=":")
        ax.set_yticks(range(len(names)), names)
        ax.invert_yaxis()
        ax.set(xscale="log", xlabel="predicted crossing off by (steps): median, 99 %, largest")
        ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
        figure.savefig(FOLDER / "accuracy.png", dpi=110)
    print("accuracy.png: the table of accuracy.md")


#: Layers of the picture of deep networks: depth, and the standard deviation of a layer.
DEEP = ((2, 0.03), (3, 0.1), (4, 0.2))


def deep() -> None:
    """Gradient descent of linear networks by depth, and half-times predicted from the layers."""
    signal, lr = np.array([4.0, 2.0, 1.0]), 0.01
    with styled():
        figure = new_figure(10.4, 3.2)
        for ax, (depth, scale) in zip(figure.subplots(1, 3, sharey=True), DEEP, strict=True):
            rng = np.random.default_rng(1)
            sizes = [3, *[5] * (depth - 1), 3]
            layers = [scale * rng.standard_normal((sizes[k + 1], sizes[k])) for k in range(depth)]
            task = swingby.SIMTask.from_signal([4, 2, 1])
            times = swingby.predict_network(layers, task, lr=lr).half_times
            steps = int(1.3 * max(times))
            entries = np.empty((steps, 3))
            for step in range(steps):
                below = [np.eye(3)]
                for layer in layers:
                    below.append(layer @ below[-1])
                entries[step] = np.diagonal(below[-1])
                above, changes = (np.eye(3) - below[-1]) * signal, []
                for k in reversed(range(depth)):
                    changes.append(above @ below[k].T)
                    above = layers[k].T @ above
                layers = [
                    layer + lr * change
                    for layer, change in zip(layers, reversed(changes), strict=True)
                ]
            for k, color in zip(range(3), COLORS, strict=False):
                ax.plot(entries[:, k], color=color, label=f"$w_{{{k + 1}{k + 1}}}$")
                ax.plot(times[k], 0.5, "v", color=color)
            ax.set(xlabel="step", title=f"{depth} layers of {scale:g}")
        figure.axes[0].set_ylabel("entry of W")
        figure.axes[0].legend()
        figure.savefig(FOLDER / "deep.png", dpi=110)
    print("deep.png: entries trained, half-times predicted")


def vectors() -> None:
    """The conditional map of two denoisers, and half-times predicted before training."""
    task = swingby.SIMTask(mu=[1, 2], sigma="1/20")
    settings = {
        "reads the condition alone": VectorSetting(
            task, "two_layer", width=8, omega=1e-4, eta=0.03, steps=500, batch=32
        ),
        "reads the noisy point as well": VectorSetting(
            task, "linear", "both", omega=1e-5, lr=4e-4, batch=64, steps=300
        ),
    }
    with styled():
        figure = new_figure(10.4, 3.2)
        panels = figure.subplots(1, 2, sharey=True)
        for ax, (title, setting) in zip(panels, settings.items(), strict=True):
            predicted, run = predict_vectors(setting), train_vectors([setting])
            for k, color in zip(range(2), COLORS, strict=False):
                ax.plot(run.jacobian[0, :, k, k], color=color, label=f"concept {k + 1}")
                bar = predicted.error[k]
                time = predicted.half_times[k]
                ax.errorbar(time, 0.5, xerr=bar, fmt="v", color=color, capsize=3)
                ax.plot(predicted.plain[k], 0.5, "x", color=color)
            ax.axhline(0.5, color="black", linewidth=0.6, linestyle=":")
            ax.set(xlabel="step", title=title)
        panels[0].set_ylabel("entry of the conditional map")
        panels[0].plot([], [], "v", color="0.4", label="predicted")
        panels[0].plot([], [], "x", color="0.4", label="plain SIM theory")
        panels[0].legend()
        figure.savefig(FOLDER / "vectors.png", dpi=110)
    print("vectors.png: two denoisers of points")


def verdicts() -> None:
    """How many rows of the evidence hold, fail and are open, by kind and source."""
    rows = evidence().rows
    groups = list(dict.fromkeys((str(row.kind), row.source) for row in rows))
    order = ("numerics", "law", "claim", "description")
    groups.sort(key=lambda group: order.index(group[0]))
    words = ("holds", "undecided", "fails", "nothing at stake")
    colors = (COLORS[2], COLORS[5], COLORS[1], "0.8")
    with styled():
        figure = new_figure(10.4, 5.0)
        ax = figure.subplots()
        for height, group in enumerate(groups):
            start = 0
            for word, color in zip(words, colors, strict=True):
                count = sum(
                    (str(row.kind), row.source) == group and str(row.verdict) == word
                    for row in rows
                )
                label = word if height == 0 else None
                ax.barh(height, count, 0.7, start, color=color, label=label)
                start += count
        ax.set_yticks(range(len(groups)), [f"{kind}: {source}" for kind, source in groups])
        ax.invert_yaxis()
        ax.set_xlabel("rows of the table")
        ax.legend(loc="lower right")
        figure.savefig(FOLDER / "evidence.png", dpi=110)
    print(f"evidence.png: {len(rows)} rows")


#: W(0) of the picture of proved half-times, its scale, signal and eta.
PROVED = ([[2, 1, 0.5], [1, 3, -1], [0.5, -1, 4]], "2e-7", (16, 4, 1), "1/320")


def descent() -> None:
    """Largest omega of each edition, and half-times proved before a run of gradient descent."""
    matrix, omega, signal, eta = PROVED
    W0 = swingby.Scaled(matrix, omega)
    schedule = swingby.predict(signal, W0, eta=eta, proved=True)
    run = swingby.simulate(signal, W0, eta=eta)
    with styled():
        figure = new_figure(10.4, 3.6)
        left, right = figure.subplots(1, 2, width_ratios=[1, 1.5])
        for place, a in enumerate(SIGNALS):
            at = {"omega": "1e-5000", "beta": 2}
            limits = [
                swingby.check(a, eta="1e-9", **at).largest_omega,
                swingby.check(
                    a, eta="1e-9", **at, edition="repaired", dynamics="flow"
                ).largest_omega,
                swingby.check(
                    a, eta=Fraction(1, 50 * a[0]), **at, edition="repaired"
                ).largest_omega,
            ]
            for row, limit in enumerate(limits):
                power = float(mpmath.log10(limit))
                name = ("printed", "flow", "gd, eta a_1 = .02")[row] if not place else None
                left.barh(
                    place + 0.25 * row, power + 150, 0.22, -150, color=COLORS[row], label=name
                )
                spot = power - 2, place + 0.25 * row
                left.text(
                    *spot, f"{power:.1f}", ha="right", va="center", fontsize=8.5, color="white"
                )
        left.set_yticks([0.25, 1.25, 2.25], [":".join(map(str, a)) for a in SIGNALS])
        left.invert_yaxis()
        left.set_xlabel("log10 of the largest omega, beta = 2, rho = 1/10")
        left.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, fontsize=8.5)
        for k, color in zip(range(3), COLORS, strict=False):
            first, last = schedule.proved[k]
            right.plot(run.steps, run.W[:, k, k], color=color, label=f"$w_{{{k + 1}{k + 1}}}$")
            right.axvspan(first - 0.5, last + 0.5, color=color, alpha=0.35, linewidth=0.8)
            text = str(first) if first == last else f"{first} to {last}"
            right.text(first, 1.04, text, color=color, ha="center", fontsize=8.5)
        right.set_xscale("log")
        right.set_xlim(30, 5000)
        right.set_ylim(0, 1.12)
        right.axhline(0.5, color="black", linewidth=0.6, linestyle=":")
        right.set_xlabel("step")
        right.legend(loc="upper left", bbox_to_anchor=(0.0, 0.93))
        figure.savefig(FOLDER / "gradient_descent.png", dpi=110)
    print("gradient_descent.png: largest omega, and half-times proved before the run")


def diffusion() -> None:
    """Fig. 19, and the responses of the recorded study."""
    circles_figure((0.8, 0.2)).savefig(FOLDER / "diffusion_circles.png", dpi=110)
    print("diffusion_circles.png: Fig. 19")
    study = recorded_study()
    study_figure(study).savefig(FOLDER / "diffusion_study.png", dpi=110)
    print(f"diffusion_study.png: {len(study.courses)} runs of the plan {study.plan.digest}")


def training() -> None:
    """Six seeds of experiment 2 of the public code; needs torch."""
    data = Data(center_cluster=True, rotation=True)
    setting = Setting(SIMTask([1, 2], [0.05**0.5] * 2, dim=64), data)
    run = train([replace(setting, seed=seed) for seed in range(6)])
    run.save_picture(FOLDER / "training.png")
    print("training.png: experiment 2 of the public code, six seeds")


def explorer() -> None:
    """The explorer below its title; needs Chromium and playwright."""
    from PIL import Image
    from playwright.sync_api import sync_playwright

    path = FOLDER / "explorer.png"
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        page = explore(Path(folder) / "page.html")
        flags = ["--headless", "--no-sandbox", "--disable-gpu"]
        browser = playwright.chromium.launch(executable_path=which("chromium"), args=flags)
        screen = browser.new_page(viewport={"width": 1240, "height": 780}, color_scheme="light")
        screen.goto(page.as_uri())
        screen.wait_for_function("currentRun && runs.length === SEEDS")
        screen.evaluate("document.querySelector('main').scrollIntoView()")
        screen.screenshot(path=path)
        browser.close()
    Image.open(path).convert("RGB").quantize(256).save(path, optimize=True)
    print("explorer.png: what swingby explore writes")


def networks() -> None:
    """Half-times of trained networks, and their transients; needs torch, takes minutes."""
    draw(FOLDER, 0)
    print("networks.png, transients.png: networks trained by torch")


#: By name: what draws a picture, or some.
DRAWN = {
    "settings": settings_of_the_paper,
    "descent": descent,
    "diffusion": diffusion,
    "training": training,
    "relu": relu,
    "accuracy": accuracy,
    "deep": deep,
    "vectors": vectors,
    "evidence": verdicts,
    "networks": networks,
    "explorer": explorer,
}


def main(names: list[str]) -> None:
    """Draw these, or all of them."""
    FOLDER.mkdir(exist_ok=True)
    for name in names or DRAWN:
        DRAWN[name]()


if __name__ == "__main__":
    main(sys.argv[1:])
