"""Parts of the measurement: each a process with a deadline, and a JSON file that is whole."""

from __future__ import annotations

import contextlib
import math
import os
import platform
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from swingby.report.files import json_text, write_text

ROOT = Path(__file__).resolve().parents[2]
#: Parts in order of value, with the seconds each may take of 480; the last has all that is left.
SECONDS = {"batches": 120, "precision": 65, "paper": 45, "circles": 20, "courses": 230}
#: Seconds between the time at which a part should stop and that at which it is stopped.
GRACE = 6.0
#: A process whose libraries take all cores would be no baseline of two.
SINGLE = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


@dataclass
class Record:
    """The file of a part: written whole at every row, so that a part that is stopped leaves them.

    `status` is "running", then "done", "cut" (out of time) or "failed".
    """

    name: str
    folder: Path
    device: str
    tiny: bool
    #: Seconds since the epoch at which the part should end.
    until: float
    facts: dict[str, Any] = field(default_factory=dict)
    rows: list[dict[str, Any]] = field(default_factory=list)
    status: str = "running"
    error: str | None = None
    begun: float = field(default_factory=time.time)

    @property
    def path(self) -> Path:
        """Of the file."""
        return self.folder / f"{self.name}.json"

    def remaining(self) -> float:
        """Seconds to the end of the part."""
        return self.until - time.time()

    def add(self, **row: Any) -> None:
        """Keep a row."""
        self.rows.append(row)
        self.write()

    def write(self) -> None:
        """Write the file."""
        content = {
            "part": self.name,
            "status": self.status,
            "error": self.error,
            "seconds": round(time.time() - self.begun, 2),
            "device": self.device,
            "tiny": self.tiny,
            "facts": self.facts,
            "rows": self.rows,
        }
        write_text(self.path, json_text(finite(content)))

    def run(self, measure: Callable[[Record], None]) -> None:
        """Measure, and write down how it ended."""
        self.write()
        try:
            measure(self)
            if self.status == "running":
                self.status = "done"
        except TimeoutError:
            self.status, self.error = "cut", "out of time"
        except Exception as error:
            self.status, self.error = "failed", f"{type(error).__name__}: {error}"
            self.facts["traceback"] = traceback.format_exc()
        self.write()

    def is_spent(self, needed: float = 0.0) -> bool:
        """Whether there is no time for what takes so many seconds; the part then counts as cut."""
        if self.remaining() > needed:
            return False
        self.status = "cut"
        return True


def finite(content: Any) -> Any:
    """The same with None for nan and infinity, which JSON does not have."""
    if isinstance(content, Mapping):
        return {str(key): finite(entry) for key, entry in content.items()}
    if isinstance(content, list | tuple):
        return [finite(entry) for entry in content]
    if hasattr(content, "tolist"):
        return finite(content.tolist())
    if isinstance(content, float) and not math.isfinite(content):
        return None
    return content


def deadlines(now: float, seconds: float) -> Callable[[str, float], float]:
    """When a part that begins now has to end: its own share, the last one at the end of all."""
    scale, *_, last = seconds / sum(SECONDS.values()), *SECONDS

    def until(name: str, begun: float) -> float:
        end = now + seconds - GRACE
        return end if name == last else min(end, begun + scale * SECONDS[name])

    return until


def run_part(name: str, command: list[str], path: Path, until: float) -> dict[str, Any]:
    """Run a part in a process of its own and return what it wrote, or how it ended.

    `until`: seconds since the epoch; it is stopped, with all processes it began, :data:`GRACE`
    seconds later.
    """
    begun, status, error, text = time.time(), "failed", None, ""
    log = path.with_suffix(".log")
    environment = {**os.environ, **SINGLE}
    with log.open("wb") as stream:
        process = subprocess.Popen(
            command, stdout=stream, stderr=stream, cwd=ROOT, env=environment, start_new_session=True
        )
        try:
            process.wait(max(0.1, until + GRACE - time.time()))
        except subprocess.TimeoutExpired:
            status, error = "cut", f"stopped after {time.time() - begun:.0f} s"
        finally:
            # What the part began goes with it.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    text = log.read_text(encoding="utf-8", errors="replace")
    if not text.strip():
        log.unlink()
    record = read(path)
    if record is None or record["status"] == "running":
        lines = text.strip().splitlines() or [f"ended with {process.returncode}"]
        record = record or {"part": name, "facts": {}, "rows": []}
        record |= {"status": status, "error": error or lines[-1]}
    # With the start of the process.
    record["seconds"] = round(time.time() - begun, 2)
    write_text(path, json_text(record))
    return record


def read(path: Path) -> dict[str, Any] | None:
    """What a part wrote, if anything."""
    import json

    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) else None


def machine(device: str) -> dict[str, Any]:
    """What was measured on."""
    import numpy as np
    import torch

    facts = {
        "device": device,
        "card": None,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "commit": _answer("git", "rev-parse", "--short", "HEAD"),
    }
    if torch.cuda.is_available():
        properties = torch.cuda.get_device_properties(0)
        query = ("--query-gpu=driver_version,power.limit,clocks.max.sm", "--format=csv,noheader")
        facts |= {
            "card": properties.name,
            "card_memory_gb": round(properties.total_memory / 1e9, 1),
            "capability": f"{properties.major}.{properties.minor}",
            "cuda": torch.version.cuda,
            "cudnn": torch.backends.cudnn.version(),
            "driver": _answer("nvidia-smi", *query),
        }
    return facts


def _processor() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()


def _answer(*command: str) -> str | None:
    """What a command prints, if it is there."""
    try:
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def part_command(name: str, folder: Path, device: str, until: float, *, tiny: bool) -> list[str]:
    """The command that runs a part."""
    module = [sys.executable, "-m", "benchmarks.on_gpu", "--part", name]
    options = ["--out", str(folder), "--device", device, "--until", repr(until)]
    return [*module, *options, *["--tiny"] * tiny]
