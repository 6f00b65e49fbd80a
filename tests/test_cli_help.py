"""The help of every command: whole lines at 80 columns, defaults, endings, and an example."""

import re
import shlex

import click
import pytest

from docs import make_commands
from swingby.cli import cli, run
from swingby.cli.options import Target


def commands(group=cli, path=()):
    """Every command with the words that call it."""
    for name, command in group.commands.items():
        yield (*path, name), command
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))


COMMANDS = {" ".join(path): command for path, command in commands()}


@pytest.fixture
def help_of(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")

    def shown(words):
        assert run([*words.split(), "--help"]) == 0
        return capsys.readouterr().out

    return shown


@pytest.mark.parametrize("words", ["", *COMMANDS])
def test_help_is_whole_lines_of_at_most_80_columns(words, help_of):
    usage, *lines = help_of(words).splitlines()
    assert max(map(len, [usage, *lines])) <= 80
    assert not [line for line in lines if line.endswith("...")]


def test_certify_offers_no_start_that_it_refuses(help_of):
    """What is certified starts from W(0) alone."""
    text = help_of("certify")
    assert "--w0" in text
    assert not [one for one in ("--u0", "--omega", "--beta") if one in text]


@pytest.mark.parametrize("words", COMMANDS)
def test_every_option_says_what_it_is_and_its_default(words, help_of):
    text = " ".join(help_of(words).split())
    for option in COMMANDS[words].params:
        if not isinstance(option, click.Option):
            continue
        assert option.opts[-1] in text
        assert option.help.endswith(".")
        default = option.to_info_dict()["default"]
        if default is not None and not option.is_flag:
            assert f"[default: {', '.join(default) if option.multiple else default}]" in text
        if option.required:
            assert "[required]" in text
        if isinstance(option.type, Target):
            assert all(ending in text for ending in option.type.endings)


@pytest.mark.parametrize("words", [words for words in COMMANDS if words != "doctor"])
def test_every_command_has_an_example_that_is_understood(words):
    """The words after ``swingby`` are parsed, and not run."""
    examples = re.findall(rf"^ *(swingby {words}\b.*)$", COMMANDS[words].help or "", re.MULTILINE)
    assert examples or isinstance(COMMANDS[words], click.Group)
    for example in examples:
        group, arguments = cli, shlex.split(example)[1:]
        while isinstance(group, click.Group):
            _, group, arguments = group.resolve_command(click.Context(group), arguments)
        group.make_parser(click.Context(group)).parse_args(arguments)


@pytest.mark.parametrize(
    ("words", "option", "values"),
    [
        ("check", "edition", ["printed", "corrected", "repaired"]),
        ("table", "dynamics", ["gd", "euler", "flow"]),
        ("train", "activation", ["linear", "relu", "gelu"]),
        ("diffusion plan", "size", ["tiny", "small", "paper"]),
    ],
)
def test_names_are_completed(words, option, values):
    (found,) = [one for one in COMMANDS[words].params if one.name == option]
    offered = found.shell_complete(click.Context(COMMANDS[words]), "")
    assert [one.value for one in offered] == values


def test_the_page_of_commands_has_every_option(tmp_path):
    """The documentation's page is made of the help itself."""
    page = make_commands.main(tmp_path).read_text(encoding="utf-8")
    for words, command in COMMANDS.items():
        assert f"## swingby {words}\n" in page
        for option in command.params:
            if isinstance(option, click.Option):
                assert option.opts[-1] in page


def test_the_help_of_evidence_names_every_source():
    from swingby.lab.figures.evidence import evidence

    (source,) = [one for one in COMMANDS["evidence"].params if one.name == "source"]
    assert source.help.rstrip(".").split(", ") == list(evidence().about)
