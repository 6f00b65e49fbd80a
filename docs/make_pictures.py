"""Draw the pictures of the documentation: python docs/make_pictures.py."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory

import mpmath

import swingby
from studies.image_pictures import circles_figure, study_figure
from swingby.lab.diffusion import recorded_study
from swingby.lab.explorer.explore import explore
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


def main() -> None:
    """Draw them all."""
    settings = {setting.title: setting for setting in paper_settings()}
    FOLDER.mkdir(exist_ok=True)
    for name, title in PICTURES.items():
        settings[title].compare().save_picture(FOLDER / name)
        print(f"{name}: {title}")
    descent()
    diffusion()
    training()
    explorer()


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
                left.text(*spot, f"{power:.1f}", ha="right", va="center", fontsize=7, color="white")
        left.set_yticks([0.25, 1.25, 2.25], [":".join(map(str, a)) for a in SIGNALS])
        left.invert_yaxis()
        left.set_xlabel("log10 of the largest omega, beta = 2, rho = 1/10")
        left.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, fontsize=8)
        for k, color in zip(range(3), COLORS, strict=False):
            first, last = schedule.proved[k]
            right.plot(run.steps, run.W[:, k, k], color=color, label=f"$w_{{{k + 1}{k + 1}}}$")
            right.axvspan(first - 0.5, last + 0.5, color=color, alpha=0.35, linewidth=0.8)
            text = str(first) if first == last else f"{first} to {last}"
            right.text(first, 1.04, text, color=color, ha="center", fontsize=8)
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
    circles_figure((0.8, 0.2)).savefig(FOLDER / "diffusion_circles.png", dpi=80)
    print("diffusion_circles.png: Fig. 19")
    study = recorded_study()
    study_figure(study).savefig(FOLDER / "diffusion_study.png", dpi=80)
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


if __name__ == "__main__":
    main()
