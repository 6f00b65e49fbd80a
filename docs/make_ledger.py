"""Write the ledger of the proofs as Markdown: summary, corrections, every record, the picture.

Run by ``conf.py`` at every build; writes ``docs/generated/ledger.md`` and ``ledger.png``. Verdicts
come from the cache where they are there. The searches over trajectories take a few minutes more;
``SWINGBY_LEDGER_TRAJECTORIES=0`` leaves them out, and those verdicts *undecided* unless the cache
has them.
"""

import os
from pathlib import Path

import swingby
from swingby.proofs.audit.corrections import corrections_markdown
from swingby.proofs.audit.ledger import summary_markdown
from swingby.proofs.audit.ledger_picture import save_picture
from swingby.proofs.audit.record import record_markdown

#: As seen from ``docs/ledger.md``, which includes what is written here.
PICTURE = "![Lines by section and lemma, coloured by verdict](generated/ledger.png)"

SWITCH = "SWINGBY_LEDGER_TRAJECTORIES"


def audited(items=None):
    """The ledger, with trajectories unless the environment says no."""
    trajectories = os.environ.get(SWITCH, "1") != "0"
    return swingby.audit(items, trajectories=trajectories)


def render(ledger):
    """All of the page below its title."""
    return "\n\n".join(
        [
            "## Summary",
            PICTURE,
            summary_markdown(ledger),
            corrections_markdown(ledger, level=2),
            "## Every line",
            *(record_markdown(record, level=3) for record in ledger),
        ]
    )


def main(folder=Path(__file__).parent / "generated", items=None):
    """Write the page part and the picture, and return the path of the page part."""
    folder = Path(folder)
    folder.mkdir(exist_ok=True)
    ledger = audited(items)
    save_picture(ledger, folder / "ledger.png")
    target = folder / "ledger.md"
    target.write_text(render(ledger) + "\n", encoding="utf-8")
    return target


if __name__ == "__main__":
    print(main())
