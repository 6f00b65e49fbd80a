"""Write the page of the command line, from the help of the commands, as Markdown.

Run by ``conf.py`` at every build; writes ``docs/generated/commands.md``.
"""

from collections.abc import Iterator
from pathlib import Path

import click

from swingby.cli import cli

INTRODUCTION = """# The command line

Each section is the output of `swingby COMMAND --help`.

| exit code | meaning |
| --- | --- |
| 0 | done; the checked statement holds |
| 1 | done; the checked statement fails |
| 2 | wrong input: one line on stderr |
| 3 | done; undecided |
| 4 | the budget is spent |
| 5 | something broke, such as a full disk: one line on stderr, and no verdict |
| 130 | interrupted |
| 141 | the reader of the output went away, as `head` does: no verdict |

To complete the names of commands, options and values in bash, run
`eval "$(_SWINGBY_COMPLETE=bash_source swingby)"`. For zsh and fish, use `zsh_source` and
`fish_source`.
"""


def helps(group: click.Group, parent: click.Context) -> Iterator[tuple[str, str]]:
    """The words that call each command, and its help at 80 columns."""
    for name, command in sorted(group.commands.items()):
        context = click.Context(command, info_name=name, parent=parent, max_content_width=80)
        context.terminal_width = 80
        yield context.command_path, command.get_help(context)
        if isinstance(command, click.Group):
            yield from helps(command, context)


def main(folder: Path) -> Path:
    """Write the page."""
    top = click.Context(cli, info_name="swingby", **cli.context_settings)
    parts = [f"## {words}\n\n```text\n{text}\n```" for words, text in helps(cli, top)]
    folder.mkdir(exist_ok=True)
    page = folder / "commands.md"
    page.write_text("\n\n".join([INTRODUCTION.rstrip(), *parts]) + "\n", encoding="utf-8")
    return page


if __name__ == "__main__":
    main(Path(__file__).parent / "generated")
