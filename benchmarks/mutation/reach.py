"""Which tests reach a line, from one run of the suite under coverage."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

from benchmarks.mutation.changes import ROOT, modules

STORE = ROOT / ".mutation"
#: Of the tests that reach a line, so many seconds' worth are run.
SECONDS = 40
#: Statements and claims are made on import, or shown while tests are collected, where coverage
#: sees no test; these read them all.
READ_ALL = ("tests/proofs/language/test_transcription.py", "tests/test_frozen.py")
SHOWS = ("/language/", "/assumptions.py")


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
    """Tests by the line they reach; those left out for their time lower the score."""

    def __init__(self) -> None:
        from coverage import CoverageData

        self.data = CoverageData(str(STORE / "coverage"))
        self.data.read()
        self.seconds: dict[str, float] = {}
        for case in ElementTree.parse(STORE / "durations.xml").iter("testcase"):
            name = f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name')}"
            self.seconds[name] = float(case.get("time", 0))
        self.by_module: dict[str, dict[int, list[str]]] = {}
        self.importers = _importers()

    def tests(self, module: str, line: int, seconds: float = SECONDS) -> list[str]:
        """Node ids of tests that reach a line, quickest first.

        Where the line is run on import, of the module and of the modules that import it. The
        tests are taken from all files in turn, beginning with the module's own.
        """
        names = self._contexts(module, line)
        on_import = not names
        if on_import:
            # One level is enough: what a module makes on import is used by those that name it.
            names = self._contexts(module) | self._own(module)
            for importer in self.importers.get(module, ()):
                names |= self._contexts(importer)
        shows = on_import or any(part in module for part in SHOWS)
        return self._choose(names, module, seconds, READ_ALL if shows else ())

    def _own(self, module: str) -> set[str]:
        """Tests of the file named after a module: they may only read what it made on import."""
        stem = module.rsplit("/", 1)[-1].removesuffix(".py")
        return {name for name in self.seconds if f"test_{stem}.py::" in name}

    def _contexts(self, module: str, line: int | None = None) -> set[str]:
        if module not in self.by_module:
            self.by_module[module] = self.data.contexts_by_lineno(str(ROOT / module))
        lines = self.by_module[module]
        found = lines.get(line, []) if line is not None else itertools.chain(*lines.values())
        return {context.split("|")[0] for context in found if context}

    def _choose(
        self, names: set[str], module: str, seconds: float, always: tuple[str, ...]
    ) -> list[str]:
        stem = module.rsplit("/", 1)[-1].removesuffix(".py")
        by_file: dict[str, list[str]] = {}
        for name in sorted(names, key=lambda name: (self.seconds.get(name, 1.0), name)):
            by_file.setdefault(name.split("::")[0], []).append(name)
        files = sorted(by_file, key=lambda file: (f"test_{stem}.py" not in file, file))
        chosen, total = list(always), 0.0
        for turn in itertools.zip_longest(*(by_file[file] for file in files)):
            for name in filter(None, turn):
                cost = self.seconds.get(name, 1.0)
                if total + cost <= seconds:
                    chosen.append(name)
                    total += cost
        return sorted(chosen, key=lambda name: self.seconds.get(name, 1.0))


def _importers() -> dict[str, list[str]]:
    """For every module in scope, the modules of the package that name it in an import."""
    found: dict[str, list[str]] = {}
    texts = {
        str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
        for path in sorted((ROOT / "swingby").rglob("*.py"))
    }
    for module in modules():
        dotted = module.removesuffix(".py").replace("/", ".")
        package, _, name = dotted.rpartition(".")
        pattern = re.compile(
            rf"from {re.escape(dotted)} import|from {re.escape(package)} import [^\n]*\b{name}\b"
        )
        found[module] = [other for other, text in texts.items() if pattern.search(text)]
    return found
