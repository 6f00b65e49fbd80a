"""Rewrite the outputs shown in the pages with what the examples print today.

Run it from the root of the project after a change of wording (``python docs/refresh_examples.py``,
with names of pages for these alone) and read the diff: every changed line is a change that users
see.
"""

from __future__ import annotations

import contextlib
import doctest
import importlib.util
import io
import os
import re
import shlex
import shutil
import sys
import tempfile
from pathlib import Path
from types import ModuleType

from swingby import cli
from swingby.report.lines import wrapped

ROOT = Path(__file__).resolve().parents[1]
#: Characters that a block of code has room for in the pages (``docs/check_pages.py``).
WIDTH = 88


def load_tests() -> ModuleType:
    """tests/test_docs.py, which knows how a page is read."""
    spec = importlib.util.spec_from_file_location("test_docs", ROOT / "tests" / "test_docs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def folded(printed: str) -> list[str]:
    """What was printed as lines; prose wider than the page goes on in the next line."""
    lines: list[str] = []
    for line in printed.split("\n"):
        is_row = "─" in line or re.search(r"\S {3,}\S", line)
        lines += [line] if is_row or len(line) <= WIDTH else wrapped(line, WIDTH, hang="")
    return lines


def refresh_prompts(page: Path, tests: ModuleType) -> list[str]:
    """The page's lines with the outputs of its prompts renewed."""
    lines = page.read_text(encoding="utf-8").split("\n")
    found: list[tuple[doctest.Example, str]] = []

    class Collector(doctest.DocTestRunner):
        def report_failure(self, out, test, example, got):  # type: ignore[no-untyped-def]
            found.append((example, got))

        def report_unexpected_exception(self, out, test, example, exc_info):  # type: ignore[no-untyped-def]
            raise RuntimeError(f"{page.name}: {example.source.strip()}") from exc_info[1]

    source = tests.doctest_source(page)
    test = doctest.DocTestParser().get_doctest(source, {"__name__": "__main__"}, page.name, None, 0)
    Collector(optionflags=tests.OPTIONS).run(test, out=lambda text: None)
    for example, got in reversed(found):
        start = example.lineno + example.source.count("\n")
        shown = folded(got.rstrip("\n").replace("<BLANKLINE>", ""))
        lines[start : start + example.want.count("\n")] = shown
    return lines


def refresh_commands(lines: list[str]) -> list[str]:
    """Lines with the outputs of ``$ swingby`` commands in console fences renewed."""

    def renew(block: re.Match[str]) -> str:
        parts = re.split(r"^\$ ", block[1], flags=re.MULTILINE)
        shown = [parts[0]]
        code = 0
        for text in parts[1:]:
            command, _, rest = text.replace("\\\n", "\\\0").partition("\n")
            words = shlex.split(command.replace("\\\0", " "), comments=True)
            if words[0] == "swingby" and "..." not in rest:
                out = io.StringIO()
                with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
                    code = cli.run(words[1:])
                gap = "\n" * (len(rest) - len(rest.rstrip("\n")) - 1)
                printed = "\n".join(folded(out.getvalue().rstrip("\n")))
                rest = printed + "\n" + gap if printed else rest
            elif words[0] == "echo":
                rest = f"{code}\n"
            shown.append(command.replace("\\\0", "\\\n") + "\n" + rest)
        return "```console\n" + "$ ".join(shown) + "```"

    pattern = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    return pattern.sub(renew, "\n".join(lines)).split("\n")


def main(names: list[str]) -> None:
    """Renew every page of the documentation, or those named."""
    os.environ["COLUMNS"] = str(WIDTH)
    tests = load_tests()
    for page in tests.PAGES:
        if names and page.name not in names:
            continue
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            shutil.copytree(ROOT / "docs" / "proofs", Path(folder, "docs", "proofs"))
            lines = refresh_commands(refresh_prompts(page, tests))
        text = "\n".join(lines)
        if text != page.read_text(encoding="utf-8"):
            page.write_text(text, encoding="utf-8")
            print(page.name)


if __name__ == "__main__":
    main(sys.argv[1:])
