"""``python -m studies``: lists the studies, runs them, and says whether their records hold."""

from __future__ import annotations

import contextlib
import json
import signal
import sys
import traceback
from pathlib import Path

import click

from studies.catalogue import STUDIES
from studies.plan import RECORDS, load_plan
from studies.runner import (
    inputs,
    moved_rows,
    record_of,
    recorded,
    run_study,
    stale_reasons,
)
from swingby.cli.streams import spell_signs
from swingby.errors import SwingbyError
from swingby.lab.figures.evidence import Evidence, StudyRecord, write_record
from swingby.report import Grid
from swingby.report.files import write_text
from swingby.report.progress import PartProgress
from swingby.report.user_cache import cache_folder

#: Of a study that was never run in full.
NO_RECORD = StudyRecord("", {}, {}, ())


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...", type=click.Choice([*STUDIES, "all"]))
@click.option("--plan", type=click.Path(exists=True), help="A plan of your own, for one NAME.")
@click.option("--canary", is_flag=True, help="Run the canaries alone.")
@click.option("--fresh", is_flag=True, help="Measure again what an interrupted run kept.")
@click.option("--keep", is_flag=True, help="Replace the record of the checkout.")
def main(names: tuple[str, ...], plan: str | None, canary: bool, fresh: bool, keep: bool) -> None:
    """Run studies in full, and say which recorded verdicts moved.

    Without a NAME, the studies are listed. The same command goes on where it was stopped. Exit
    code 0: nothing moved, 1: something did, 5: something broke.

    \b
    python -m studies networks
    python -m studies --canary all
    """  # noqa: D301 (click reads the backspace as a sign to keep the lines)
    if not names:
        if canary or fresh or keep or plan is not None:
            raise click.UsageError("a NAME must be given with an option: python -m studies all")
        click.echo(_list().to_text())
        return
    chosen = tuple(STUDIES) if "all" in names else tuple(dict.fromkeys(names))
    if plan is not None and (len(chosen) > 1 or keep or canary):
        raise click.UsageError("--plan goes with one NAME, and neither with --keep nor --canary")
    moved = [line for name in chosen for line in _run(name, plan, canary, fresh, keep)]
    for line in moved or ["nothing moved"]:
        click.echo(line, err=True)
    sys.exit(1 if moved else 0)


def _list() -> Grid:
    """The studies, with their rows and whether their inputs are as recorded."""
    records, lines = recorded(), []
    for name, study in STUDIES.items():
        plan, record = load_plan(name), records.get(name, NO_RECORD)
        current = "yes" if inputs(name, plan) == record.inputs else "no"
        counts = (len(record.inputs.get("cells", ())), len(record.rows))
        lines.append([name, study.about, *map(str, counts), plan["canary"], current])
    columns = ("name", "about", ">cells", ">rows", "canary", "inputs as recorded")
    below = "python -m studies NAME runs a study in full; --canary measures its canary alone"
    return Grid("Studies", columns, lines, below=(below,))


def _run(name: str, plan_file: str | None, canary: bool, fresh: bool, keep: bool) -> list[str]:
    """Run a study or its canary, print its tables, and return what moved."""
    records = recorded()
    if canary:
        before = records.get(name, NO_RECORD)
        return [f"{name}: {reason}" for reason in stale_reasons(name, before)]
    study, plan = STUDIES[name], load_plan(name, plan_file)
    unfinished = cache_folder("studies")
    store = unfinished / f"{name if plan_file is None else Path(plan_file).stem}.json"
    if fresh:
        store.unlink(missing_ok=True)
    with PartProgress(1, "studies", shown=True) as progress:
        progress.start(name)
        results = run_study(name, plan, store, progress.tell)
        progress.finish("measured")
    record = record_of(name, plan, results)
    tables = [Evidence(record.rows, {name: study.about}).to_grid()]
    for table in tables if study.tables is None else study.tables(results):
        click.echo(table.to_text())
    if plan_file is not None:
        return []
    if keep:
        write_record(RECORDS / "evidence.json", {**records, name: record})
        if study.whole is not None:
            content = study.whole(plan, results)
            write_text(RECORDS / study.data_file, json.dumps(content), "record")
    store.unlink()
    before = records.get(name, NO_RECORD)
    moved = [*moved_rows(before, record), *stale_reasons(name, before)]
    return [f"{name}: {line}" for line in moved]


if __name__ == "__main__":
    spell_signs()
    with contextlib.suppress(AttributeError):  # where the reader leaves, 141: nothing moved
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        main(standalone_mode=False)
    except click.ClickException as refused:
        refused.show()
        sys.exit(2)
    except SwingbyError as error:
        click.echo(f"studies: {error}", err=True)
        sys.exit(2)
    except click.Abort:  # 1 says that a verdict moved
        sys.exit(130)
    except Exception:
        traceback.print_exc()
        sys.exit(5)
