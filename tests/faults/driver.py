"""Runs a command again and again in forks of one process, and lets another call fail each time.

Reads a line of JSON per command from standard input: its words, the files that stand there before,
whether calls for memory are meant or those that write, what happens at one, and at most how often.
Writes a line per command: of each run the call, what the command gave, and files.
"""

import ctypes
import hashlib
import itertools
import json
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path

OLDER = b"an older file\n"


def digests(folder):
    """Every file below a folder by its name."""
    return {
        str(one.relative_to(folder)): hashlib.sha256(one.read_bytes()).hexdigest()
        for one in sorted(folder.rglob("*"))
        if one.is_file()
    }


def once(words, older, inputs, memory, number, code):
    """A run in a fork: its exit code, what it printed, its files, and the calls that it made.

    Call `number` fails with `code`: of those that write, or of those that ask for memory. If `code`
    is negative, this signal comes instead.
    """
    folder = Path(tempfile.mkdtemp(prefix="faults"))
    work, told = folder / "work", folder / "told"
    work.mkdir()
    for name, text in inputs.items():
        (work / name).write_text(text)
    for name in older:
        (work / name).write_bytes(OLDER)
    child = os.fork()
    if not child:
        signal.alarm(1200)
        told.mkdir()
        os.environ["XDG_CACHE_HOME"] = str(work / "cache")
        for place, name in ((1, "out"), (2, "err")):
            os.dup2(os.open(told / name, os.O_CREAT | os.O_WRONLY), place)
        os.chdir(work)
        from swingby import cli

        calls.fault_arm(str(work).encode(), number, code, memory)
        try:
            found = cli.run(words)
            sys.stdout.flush()
            made = calls.fault_counted()
            calls.fault_arm(b"", 0, 0, 0)
            (told / "calls").write_text(str(made))
        except BaseException as broke:
            sys.stderr.write(f"{broke!r}\n")
            found = 99
        os._exit(found)
    _, status = os.waitpid(child, 0)
    counted = told / "calls"
    result = {
        "call": number,
        "error": code,
        "code": os.waitstatus_to_exitcode(status),
        "out": (told / "out").read_text(),
        "err": (told / "err").read_text(),
        "files": digests(work),
        "calls": int(counted.read_text()) if counted.exists() else -1,
    }
    shutil.rmtree(folder)
    return result


def warm(words, inputs):
    """Run a command here, so that no fork has to load what it needs."""
    from swingby import cli

    printed = os.dup(1)
    with tempfile.TemporaryDirectory() as folder:
        for name, text in inputs.items():
            Path(folder, name).write_text(text)
        os.chdir(folder)
        os.dup2(2, 1)
        cli.run(words)
        sys.stdout.flush()
        os.dup2(printed, 1)
        os.chdir("/")


def main():
    """Answer the lines of standard input; what runs as it is, is asked for once."""
    wholes = {}
    for line in sys.stdin:
        asked = json.loads(line)
        words, older, inputs = asked["words"], asked["older"], asked["inputs"]
        memory, errors = asked["memory"], asked["errors"]
        key = (*words, memory)
        if key not in wholes:
            if (*words, not memory) not in wholes:
                warm(words, inputs)
            wholes[key] = once(words, older, inputs, memory, 0, 0)
        found = [wholes[key]]
        most = max(found[0]["calls"], 1)
        step = max(1, most // asked["most"])
        for number, code in zip(range(1, most + 1, step), itertools.cycle(errors)):
            found.append(once(words, older, inputs, memory, number, code))
        sys.stdout.write(json.dumps(found) + "\n")
        sys.stdout.flush()


calls = ctypes.CDLL(os.environ.get("LD_PRELOAD"))
if __name__ == "__main__":
    main()
