"""Draw the pictures of the documentation: python docs/make_pictures.py."""

from pathlib import Path

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


if __name__ == "__main__":
    main()
