"""The documentation runs: every example, every command, every link.

In the pages, a fence ``python`` with ``>>>`` prompts is a doctest; names carry over from block to
block within a page. A fence ``console`` is run line by line where a line starts with
``$ swingby`` (in this process) or ``$ echo $?`` (the exit code of the line before). The Python
block of the README has no prompts and runs as a script.
"""

import ast
import contextlib
import doctest
import io
import re
import runpy
import shlex
import shutil
from pathlib import Path

import pytest

from docs import make_modules, make_statements
from docs.check_pages import WIDTHS
from swingby import cli
from tests.forked import sample

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.glob("*.md"))
#: Pages whose examples train networks.
WITH_TORCH = ("concept_space_diffusion.md", "howto.md", "training.md", "watch.md")
#: Pages that take seconds: some of them are run, others with each commit.
LONG = ("concept_space_diffusion.md", "diffusion.md", "figures.md", "findings.md", "howto.md")
LONG += ("hunting.md", "paper.md", "phase_diagrams.md", "property_tests.md", "tutorial.md")
#: Scripts; the suites beside them are run by tests/testing.
EXAMPLES = [one for one in sorted((DOCS / "examples").glob("*.py")) if one.name[:5] != "test_"]
LINKING = [*PAGES, ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS

FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def name_of(path):
    return str(path.relative_to(ROOT))


def fences(path, language):
    """(line before the block, its text) for every fence of a language."""
    text = path.read_text(encoding="utf-8")
    for match in FENCE.finditer(text):
        if match[1] == language:
            yield text.count("\n", 0, match.start(2)), match[2]


def doctest_source(path):
    """The page with everything but its prompts and their output blanked, line numbers kept.

    doctest ends an expected output at a blank line; in a page a blank line inside a block belongs
    to the output unless a prompt follows.
    """
    lines = [""] * (path.read_text(encoding="utf-8").count("\n") + 1)
    for start, block in fences(path, "python"):
        rows = block.splitlines()
        for place, row in enumerate(rows):
            later = next((other for other in rows[place:] if other.strip()), ">>>")
            inside = not row.strip() and not later.startswith(">>>")
            lines[start + place] = "<BLANKLINE>" if inside else row
    return "\n".join(lines) + "\n"


@pytest.fixture
def workplace(tmp_path, monkeypatch):
    """An empty folder to write to, and a terminal of known width."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "88")
    shutil.copytree(DOCS / "proofs", tmp_path / "docs" / "proofs")
    return tmp_path


@pytest.mark.parametrize(
    "page", [one for one in PAGES if one.name not in set(LONG) - set(sample(LONG, 5))], ids=name_of
)
def test_page_runs(page, workplace):
    if page.name in WITH_TORCH:
        pytest.importorskip("torch")
        pytest.importorskip("safetensors")
    test = doctest.DocTestParser().get_doctest(
        doctest_source(page), {"__name__": "__main__"}, page.name, str(page), 0
    )
    report = io.StringIO()
    result = doctest.DocTestRunner(optionflags=OPTIONS).run(test, out=report.write)
    assert not result.failed, report.getvalue()
    for start, block in fences(page, "console"):
        run_console(block, f"{page.name}:{start + 1}")


def run_console(block, where):
    """Commands of a block against what is printed below them."""
    code, commands = 0, re.split(r"^\$ ", block, flags=re.MULTILINE)
    assert not commands[0].strip(), f"{where}: a console block starts with a command"
    for text in commands[1:]:
        command, _, expected = text.replace("\\\n", " ").partition("\n")
        if command == "echo $?":
            printed = f"{code}\n"
        else:
            words = shlex.split(command, comments=True)
            assert words[0] == "swingby", f"{where}: {command} cannot be run here"
            out = io.StringIO()
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
                code = cli.run(words[1:])
            # What work is expected to take depends on what is kept, and pages are without it.
            printed = re.sub(r"(?m)^swingby: .* takes up to about .*\n", "", out.getvalue())
        same = doctest.OutputChecker().check_output(expected, printed, OPTIONS)
        assert same, f"{where}: $ {command}\nexpected:\n{expected}\nprinted:\n{printed}"


def test_some_pages_have_examples():
    with_prompts = [page.name for page in PAGES if ">>>" in doctest_source(page)]
    assert {"tutorial.md", "findings.md", "howto.md"} <= set(with_prompts)


def test_readme_script_prints_what_is_below_it(workplace, monkeypatch):
    """Both examples run as they stand, one after the other; the first has its table beneath."""
    monkeypatch.setenv("COLUMNS", "100")  # it is shown by others, who have room for more
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    names, answers = {"__name__": "__main__"}, []
    for _, script in fences(ROOT / "README.md", "python"):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(script, "README.md", "exec"), names)
        answers.append(printed.getvalue().rstrip())
    assert f"```\n{answers[0]}\n```" in text
    assert len(answers) == 2
    assert "mode 1" in answers[1]
    assert "undecided" not in answers[1]
    assert len(text.splitlines()) <= 90


@pytest.mark.parametrize("example", EXAMPLES, ids=name_of)
def test_example(example, workplace, capsys):
    """Examples check their own pinned numbers."""
    assert re.search(r"[Pp]inned", example.read_text(encoding="utf-8"))
    runpy.run_path(str(example), run_name="__main__")
    assert capsys.readouterr().out


#: Pages that report what was found.
RESULTS = ("networks", "relu", "diffusion", "deep", "concept_space_diffusion", "evidence")
RESULTS += ("findings", "accuracy", "figures")
#: Of these, the ones whose details once hid what they say.
SHORT = RESULTS[:3]
WORDS = 1500


def visible(text):
    """A page without what is folded."""
    assert text.count("<details") == text.count("</details>")
    return re.sub(r"<details>.*?</details>", "", text, flags=re.DOTALL)


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_opens_with_a_picture_and_three_sentences(name):
    text = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    opening = re.match(r"# .+\n\n!\[[^\]]+\]\([\w/]+\.png\)\n\n((?:(?!```|[#|<$-]).+\n)+)\n", text)
    assert opening, f"{name}.md opens otherwise"
    sentences = re.split(r"(?<=\.)\s+(?=[A-Z])", opening[1].strip())
    assert 2 < len(sentences) < 6
    assert "<details>" in text


def commands_of_pictures():
    """From the name of a picture to the command that draws it."""
    source = (DOCS / "make_pictures.py").read_text(encoding="utf-8")
    tree = ast.parse(source)
    values = {
        node.target.id if isinstance(node, ast.AnnAssign) else node.targets[0].id: node.value
        for node in tree.body
        if isinstance(node, (ast.Assign, ast.AnnAssign))
    }
    drawn = values["DRAWN"]
    names = {value.id: key.value for key, value in zip(drawn.keys, drawn.values, strict=True)}
    texts = {
        names[node.name]: ast.get_source_segment(source, node)
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name in names
    }
    texts["settings"] += ast.get_source_segment(source, values["PICTURES"])
    return {
        picture: f"python -m docs.make_pictures {name}"
        for name, text in texts.items()
        for picture in re.findall(r"(\w+)\.png", text)
    }


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_page_names_the_commands_of_its_pictures(page):
    text = page.read_text(encoding="utf-8")
    commands = {
        **{name: f"swingby sweep {name}" for name in ("atlas", "dimension")},
        **{"phases": "swingby sweep docs/pictures/phases.toml", "cost": "--picture"},
        **commands_of_pictures(),
    }
    for picture in re.findall(r"\]\(pictures/(\w+)\.png\)", text):
        assert commands.get(picture, "swingby figures --only") in text, picture
    assert not re.search(r"python docs/(?!refresh_examples)", text)


@pytest.mark.parametrize("name", SHORT)
def test_a_long_page_folds_its_details(name):
    text = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    assert len(visible(text).split()) <= WORDS


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_code_fits_the_page(page):
    """Nothing in a block of code is wider than the column (``docs/check_pages.py``)."""
    text = page.read_text(encoding="utf-8")
    for info, block in re.findall(r"^```([^\n]*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        wide = [line for line in block.splitlines() if len(line) > max(WIDTHS.values())]
        assert info.startswith("{") or not wide, f"{page.name}: {wide[0]}"


def anchors(path):
    """Anchors of a page as GitHub and MyST make them from headings."""
    text = FENCE.sub("", path.read_text(encoding="utf-8"))
    headings = re.findall(r"^#{1,4} (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", one.lower()).strip().replace(" ", "-") for one in headings}


@pytest.mark.parametrize("page", LINKING, ids=name_of)
def test_links_lead_somewhere(page):
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:|generated/", target):  # Sphinx looks for what it generates
            continue
        file, _, anchor = target.partition("#")
        path = (page.parent / file).resolve() if file else page
        assert path.exists(), f"{page.name} links to {target}"
        if anchor:
            assert anchor in anchors(path), f"{page.name} links to {target}"


def test_the_glossary_is_short_and_every_word_of_it_is_linked():
    block = re.search(
        r"```\{glossary\}\n(.*?)```", (DOCS / "glossary.md").read_text("utf-8"), re.DOTALL
    )
    words = re.findall(r"^(\S.*)\n  \S", block[1], re.MULTILINE)
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    linked = {word.lower() for word in re.findall(r"\{term\}`(?:[^`<]*<)?([^`<>]+)>?`", text)}
    assert linked == {word.lower() for word in words}
    assert len(words) <= 25


def test_statements_are_generated_for_all_editions():
    text = make_statements.render()
    for heading in ("### As printed", "### Corrected", "### Repaired"):
        assert heading in text
    for label in ("D.1", "D.2", "D.3", "D.4", "D.5", "D.1'", "D.2'", "D.3'", "D.4'"):
        assert f"**Assumption {label}**" in text
    assert r"\left|{w_{ij}(0)}\right|" in text


def test_the_page_of_modules_is_made_of_their_first_lines(tmp_path):
    """Every module is on it once, and says what it is."""
    page = make_modules.main(tmp_path).read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+\.py)` \| (.+) \|$", page, re.MULTILINE)
    modules = [path.name for path in (ROOT / "swingby").rglob("*.py") if "__" not in path.name]
    assert sorted(name for name, _ in rows) == sorted(modules)
    assert all(line.endswith(".") for _, line in rows)
