"""Draw the pictures of the documentation: python docs/make_pictures.py."""

from dataclasses import replace
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory

from studies.image_pictures import circles_figure, study_figure
from swingby.lab.diffusion import recorded_study
from swingby.lab.explorer.explore import explore
from swingby.lab.networks import Data, Setting, train
from swingby.theory.task import SIMTask
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
    diffusion()
    training()
    explorer()


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
