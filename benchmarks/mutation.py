"""Mutation score: which share of small changes to the code the suite notices.

``python -m benchmarks.mutation map`` runs the suite once under coverage and keeps, in
``.mutation/``, which test reaches which line and how long it takes. ``python -m
benchmarks.mutation score`` draws changes at random from all that cosmic-ray makes, the same number
from every module, and runs on each the tests that reach the changed line, quickest first, until
one fails. Results are kept: a second call goes on where the first one ended. ``python -m
benchmarks.mutation table`` prints the score so far and the survivors.

A change that leaves the syntax tree alone but for annotations is none and is not counted.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import importlib
import io
import itertools
import json
import math
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
STORE = ROOT / ".mutation"
#: What the score is about: the theory, the checker, the predictor and the certifier.
SCOPE = (
    "swingby/theory/**/*.py",
    "swingby/verify/check.py",
    "swingby/verify/evaluation.py",
    "swingby/verify/existential.py",
    "swingby/verify/feasibility.py",
    "swingby/verify/repaired_edition.py",
    "swingby/verify/predict.py",
    "swingby/verify/schedule.py",
    "swingby/verify/curves.py",
    "swingby/verify/windows.py",
    "swingby/verify/certify.py",
    "swingby/verify/certification/*.py",
)
#: Seconds that the tests of one change may take; more counts as noticed, as in cosmic-ray: the
#: tests chosen take :data:`SECONDS` on the code as it is.
LIMIT = 160
#: Of the tests that reach a line, the quickest are run, up to so many seconds together.
SECONDS = 40
#: Claims are made on import, where coverage sees no test; this one reads them all.
TRANSCRIPTION = "tests/theory/test_transcription.py"
#: Modules that many tests need, loaded once before the processes part.
WARM = ("numpy", "scipy.special", "sympy", "mpmath", "flint", "pandas", "hypothesis", "pytest")


@dataclass(frozen=True)
class Change:
    """One small change: its module, the line, and the source before and after."""

    module: str
    operator: str
    occurrence: int
    line: int
    before: str
    after: str

    @property
    def key(self) -> str:
        """A name that is another one when the module has changed."""
        text = f"{self.module} {self.operator} {self.occurrence} {self.before}"
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def shown(self) -> str:
        """The changed line, before and after."""
        rows = zip(self.before.splitlines(), self.after.splitlines(), strict=False)
        old, new = next(((a, b) for a, b in rows if a != b), ("", ""))
        return f"{old.strip()}  ->  {new.strip()}"


def modules() -> list[str]:
    """The modules in scope, as paths from the root."""
    found = (path for pattern in SCOPE for path in sorted(ROOT.glob(pattern)))
    return [str(path.relative_to(ROOT)) for path in found if path.name != "__init__.py"]


def meaning(source: str) -> str:
    """The syntax tree without annotations, docstrings and the frame of a dataclass."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.FunctionDef):
            node.returns = None
        elif isinstance(node, ast.AnnAssign):
            node.annotation = ast.Constant(None)
    return ast.dump(tree)


def changes(module: str, rng: random.Random) -> Iterator[Change]:
    """The changes that cosmic-ray makes to a module and that are one, in random order."""
    from cosmic_ray import plugins
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.mutating import mutate_code

    before = (ROOT / module).read_text(encoding="utf-8")
    unchanged, nodes = meaning(before), list(ast_nodes(get_ast(before)))
    places = []
    for name in plugins.operator_names():
        kind = plugins.get_operator(name)
        if kind.arguments():
            continue
        starts = (start for node in nodes for start, _ in kind().mutation_positions(node))
        places += [(name, number, line) for number, (line, _) in enumerate(starts)]
    rng.shuffle(places)
    for name, number, line in places:
        after = mutate_code(before, plugins.get_operator(name)(), number)
        try:
            if after is not None and meaning(after) != unchanged:
                yield Change(module, name, number, line, before, after)
        except SyntaxError:
            continue


def make_map() -> None:
    """Run the suite once under coverage, with the test as context."""
    STORE.mkdir(exist_ok=True)
    junit = STORE / "durations.xml"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "2"]
    command += ["--deselect", "tests/mutants", "--ignore", "tests/mutants"]
    command += ["--cov=swingby", "--cov-context=test", "--cov-report=", f"--junitxml={junit}"]
    environment = {**os.environ, "COVERAGE_FILE": str(STORE / "coverage")}
    subprocess.run([*command, "-o", "junit_family=xunit1"], cwd=ROOT, env=environment, check=False)


class Reach:
    """Which tests reach a line, quickest first; slow ones are left out, which lowers the score."""

    def __init__(self) -> None:
        import xml.etree.ElementTree as ElementTree

        from coverage import CoverageData

        self.data = CoverageData(str(STORE / "coverage"))
        self.data.read()
        self.seconds: dict[str, float] = {}
        for case in ElementTree.parse(STORE / "durations.xml").iter("testcase"):
            name = f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name')}"
            self.seconds[name] = float(case.get("time", 0))
        self.by_module: dict[str, dict[int, list[str]]] = {}

    def tests(self, module: str, line: int) -> list[str]:
        """Node ids of tests that reach a line; of the module, where it is run on import."""
        if module not in self.by_module:
            self.by_module[module] = self.data.contexts_by_lineno(str(ROOT / module))
        lines = self.by_module[module]
        names = {context.split("|")[0] for context in lines.get(line, []) if context}
        if not any(lines.get(line, [])) or len(names) < 3:
            names |= {c.split("|")[0] for found in lines.values() for c in found if c}
        if "/derivations/" in module:
            names |= {TRANSCRIPTION}
        chosen, total = [], 0.0
        for name in sorted(names, key=lambda name: (self.seconds.get(name, 1.0), name)):
            total += self.seconds.get(name, 1.0)
            if total > SECONDS:
                break
            chosen.append(name)
        return chosen


def survives(change: Change, tests: list[str]) -> bool:
    """Whether all these tests pass on a change, in a process of its own.

    The file itself is changed, here in a copy of the project, and put back: tests that run
    commands, and doctests, read the file.
    """
    path = Path(change.module)
    times = path.stat()
    path.write_text(change.after, encoding="utf-8")
    try:
        child = os.fork()
        if not child:
            _run_tests(tests)
        _, status = os.waitpid(child, 0)
    finally:
        path.write_text(change.before, encoding="utf-8")
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    return os.waitstatus_to_exitcode(status) == 0


def _run_tests(tests: list[str]) -> None:
    """Ends the process: with 0 where all tests pass."""
    signal.alarm(LIMIT)
    sys.dont_write_bytecode = True
    import pytest

    options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:cov", "-p", "no:xdist"]
    options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        code = pytest.main([*options, *tests])
    os._exit(0 if code == 0 else 1)


def workplace(number: int) -> Path:
    """A fresh copy of the project to change files in."""
    place = STORE / f"copy{number}"
    shutil.rmtree(place, ignore_errors=True)
    for name in ("swingby", "tests", "docs", "benchmarks"):
        shutil.copytree(ROOT / name, place / name, ignore=shutil.ignore_patterns("_build"))
    for path in ROOT.glob("*.*"):
        if path.is_file():
            shutil.copy2(path, place)
    return place


def sample(number: int, seed: int, only: str) -> Iterator[Change]:
    """The changes to try: of every module so many, drawn at random; modules in random order."""
    for module in random.Random(seed).sample(modules(), len(modules())):
        if only in module:
            found = changes(module, random.Random(f"{seed} {module}"))
            yield from itertools.islice(found, number)


def score(number: int, seed: int, only: str, share: tuple[int, int]) -> None:
    """Try the sampled changes that have no result yet."""
    os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    place = workplace(share[0])
    os.environ |= {"PYTHONPATH": str(place), "PYTHONDONTWRITEBYTECODE": "1"}
    sys.path.insert(0, str(place))
    for name in WARM:
        importlib.import_module(name)
    os.chdir(place)
    reach, done = Reach(), {row["key"] for row in results()}
    sound: set[str] = set()
    for turn, change in enumerate(sample(number, seed, only)):
        if turn % share[1] != share[0] or change.key in done:
            continue
        tests, start = reach.tests(change.module, change.line), time.perf_counter()
        if change.module not in sound:
            # A suite that fails on the code as it is would notice every change.
            if not survives(replace(change, after=change.before), tests[:40]):
                raise SystemExit(f"the tests of {change.module} fail on the code as it is")
            sound.add(change.module)
        survived = not tests or survives(change, tests)
        row = asdict(change) | {"key": change.key, "shown": change.shown, "survived": survived}
        row |= {"tests": len(tests), "seconds": round(time.perf_counter() - start, 1)}
        del row["before"], row["after"]
        with open(STORE / "results.jsonl", "a", encoding="utf-8") as kept:
            kept.write(json.dumps(row) + "\n")
        state = "survived" if survived else "noticed "
        print(f"{state} {row['seconds']:6.1f} s  {change.module}:{change.line}  {row['shown']}")


def results() -> list[dict[str, Any]]:
    """Everything tried so far."""
    path = STORE / "results.jsonl"
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def table() -> None:
    """Print the score by module, over all, and the survivors."""
    by_module: dict[str, list[bool]] = {}
    for row in results():
        by_module.setdefault(row["module"], []).append(not row["survived"])
    print(f"{'module':60} {'tried':>6} {'noticed':>8} {'score':>6}")
    for module, noticed in sorted(by_module.items()):
        print(f"{module:60} {len(noticed):6} {sum(noticed):8} {sum(noticed) / len(noticed):6.0%}")
    every = [one for noticed in by_module.values() for one in noticed]
    if not every:
        return
    share, n = sum(every) / len(every), len(every)
    spread = 1.96 * math.sqrt(share * (1 - share) / n)
    print(f"{'all':60} {n:6} {sum(every):8} {share:6.1%}  (+- {spread:.1%}, 95 %)")
    for row in results():
        if row["survived"]:
            print(f"survived: {row['module']}:{row['line']} [{row['operator']}] {row['shown']}")


def main() -> None:
    """Parse and run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("map", "score", "table"))
    parser.add_argument("--sample", type=int, default=12, help="changes per module")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="part of a path")
    parser.add_argument("--share", default="0/1", help="this process tries every n-th: 0/2, 1/2")
    given = parser.parse_args()
    first, of = map(int, given.share.split("/"))
    if given.what == "map":
        make_map()
    elif given.what == "score":
        score(given.sample, given.seed, given.only, (first, of))
    table()


if __name__ == "__main__":
    main()
