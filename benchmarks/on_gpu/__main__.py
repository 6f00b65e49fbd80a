"""Command line: all parts one after the other, or one of them."""

from __future__ import annotations

import argparse
import importlib
import time
from pathlib import Path
from typing import Any

from benchmarks.on_gpu.parts import (
    SECONDS,
    Record,
    deadlines,
    finite,
    machine,
    part_command,
    run_part,
)
from benchmarks.on_gpu.tables import tables
from swingby.report.files import json_text, write_text


def main() -> None:
    """Run the parts, write ``summary.json`` and ``table.txt``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("build/on_gpu"), help="folder of results")
    parser.add_argument("--minutes", type=float, default=8.0, help="for everything")
    parser.add_argument("--tiny", action="store_true", help="the smallest sizes, on the CPU")
    parser.add_argument("--device", help="default: cuda, or cpu with --tiny")
    parser.add_argument("--parts", default=",".join(SECONDS), help="some of the parts")
    parser.add_argument("--part", choices=list(SECONDS), help=argparse.SUPPRESS)
    parser.add_argument("--until", type=float, help=argparse.SUPPRESS)
    options = parser.parse_args()
    device = options.device or ("cpu" if options.tiny else "cuda")
    folder = options.out.resolve()
    if options.part is not None:
        measure = importlib.import_module(f"benchmarks.on_gpu.{options.part}").measure
        Record(options.part, folder, device, options.tiny, options.until).run(measure)
        return
    names = options.parts.split(",")
    if unknown := set(names) - set(SECONDS):
        parser.error(f"there is no part {', '.join(sorted(unknown))}")
    summary = run_all(folder, device, names, 60 * options.minutes, tiny=options.tiny)
    print((folder / "table.txt").read_text(encoding="utf-8"))
    if any(part["status"] == "failed" for part in summary["parts"].values()):
        raise SystemExit(1)


def run_all(
    folder: Path, device: str, names: list[str], seconds: float, *, tiny: bool
) -> dict[str, Any]:
    """Each part in turn; after each the summary and the tables are written anew."""
    begun = time.time()
    folder.mkdir(parents=True, exist_ok=True)
    for name in SECONDS:
        (folder / f"{name}.json").unlink(missing_ok=True)
    until, records = deadlines(begun, seconds), {}
    summary: dict[str, Any] = {"machine": machine(device), "tiny": tiny, "parts": {}}
    for name in SECONDS:
        if name not in names:
            continue
        end = until(name, time.time())
        command = part_command(name, folder, device, end, tiny=tiny)
        records[name] = record = run_part(name, command, folder / f"{name}.json", end)
        summary["parts"][name] = {
            key: record.get(key) for key in ("status", "seconds", "error")
        } | {"rows": len(record["rows"])}
        summary["seconds"] = round(time.time() - begun, 1)
        write_text(folder / "summary.json", json_text(finite(summary)))
        write_text(folder / "table.txt", tables(summary, records))
        print(f"{name}: {record['status']} in {record['seconds']:.0f} s", flush=True)
    return summary


if __name__ == "__main__":
    main()
