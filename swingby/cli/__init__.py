"""The command line: parses, calls, prints. No mathematics.

Exit codes: 0 done (and the assumptions hold), 1 done and they fail, 2 wrong input (one line on
stderr), 3 undecided, 4 the budget is spent, 5 something broke (one line, and never a verdict), 130
interrupted, 141 the reader of the output went away.
"""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from collections import UserDict
from collections.abc import Sequence
from contextlib import redirect_stderr
from typing import Any

import click

from swingby import __version__
from swingby.cli.budget_option import budget_spent
from swingby.cli.command import Group
from swingby.cli.exits import guarded_exit, say_broken
from swingby.cli.streams import ReaderLeft, discard_output, spell_signs, watched_readers
from swingby.errors import SwingbyError, SwingbyWarning

#: What click raises where a command or group needs arguments; click 8.1 prints the help itself.
_NO_ARGUMENTS: Any = getattr(click.exceptions, "NoArgsIsHelpError", ())


class _Commands(UserDict[str, Any]):
    """Commands by name; the module of a command is imported when it is asked for."""

    def __getitem__(self, name: str) -> click.Command:
        module = importlib.import_module(f"swingby.cli.{self.data[name]}")
        command: click.Command = getattr(module, name)
        return command


_MODULES = {
    "core": ("check", "predict", "simulate", "table", "threshold", "certify"),
    "proofs": ("audit", "hunt"),
    "sweep": ("sweep",),
    "network": ("network",),
    "networks": ("train", "vectors", "relu"),
    "figures": ("figures", "evidence", "diffusion"),
    "explorer": ("explore",),
    "theory": ("theory",),
    "verify": ("verify",),
    "doctor": ("doctor",),
}


class _Program(Group):
    """The commands; click itself would make exit code 1 of a reader that went away."""

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        """The context of a call, in which ``--help`` prints."""
        with watched_readers():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        with watched_readers():
            return super().invoke(ctx)


@click.group(
    cls=_Program,
    commands=_Commands({name: module for module, names in _MODULES.items() for name in names}),
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
    epilog="Every option without a default is optional, unless its help says Required.",
)
@click.version_option(__version__, prog_name="swingby")
def cli() -> None:
    """Check assumptions, predict stages of learning, run the dynamics, and compare.

    \b
    swingby check --signal 4,1 --omega 1e-80 --eta 1e-4
    swingby table --paper
    """  # noqa: D301 (click reads the backspace as a sign to keep the lines)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _behind(error: BaseException) -> BaseException:
    """What click made an Abort of; click 8.1 gives no cause."""
    cause = error.__cause__ or error.__context__
    return cause if isinstance(error, click.Abort) and cause is not None else error


def _interruption_lines(error: BaseException, limit_met: BaseException | None) -> list[str]:
    """Lines of an interrupted call about its results; click raises Abort from the interrupt."""
    inner = _behind(error)
    message = "" if inner is limit_met else str(inner)
    return [*filter(None, [message]), *getattr(inner, "__notes__", [])]


def _report_failure(error: BaseException) -> None:
    """One line on stderr, if it can still be written."""
    try:
        text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        click.echo(f"swingby: something broke: {_one_line(text)}", err=True)
    except MemoryError:
        say_broken()
    except (OSError, ValueError):
        pass
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except (OSError, ValueError, MemoryError):
        discard_output(sys.stdout)


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point: runs a command and exits with its code.

    `arguments`: default: the process's own.
    """
    spell_signs()
    sys.exit(run(arguments))


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command; errors become one line on stderr.

    Returns the exit code.
    """
    if sys.stdout is None:  # closed before Python began
        _report_failure(OSError("the standard output is closed"))
        return 5
    if sys.stderr is None:
        with open(os.devnull, "w", encoding="utf-8") as nowhere, redirect_stderr(nowhere):
            return run(arguments)
    try:
        with watched_readers():
            code = _run(arguments)
            sys.stdout.flush()
            return code
    except ReaderLeft:
        # ``swingby ... | head``: no line, and the shell's code for it.
        discard_output(sys.stdout, sys.stderr)
        return 141
    except (Exception, SystemExit) as error:  # whatever it is, it must not look like a verdict
        _report_failure(error)
        return 5


def _run(arguments: Sequence[str] | None) -> int:
    try:
        with guarded_exit(), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", SwingbyWarning)
            code = cli.main(
                None if arguments is None else list(arguments), "swingby", standalone_mode=False
            )
        for warning in caught:
            click.echo(f"swingby: warning: {_one_line(str(warning.message))}", err=True)
    except _NO_ARGUMENTS as error:
        click.echo(error.format_message())
        return 0
    except click.ClickException as error:
        click.echo(f"swingby: {_one_line(error.format_message())}", err=True)
        return 2
    except SwingbyError as error:
        click.echo(f"swingby: {_one_line(str(error))}", err=True)
        return 2
    except (KeyboardInterrupt, click.Abort) as error:
        cause = _behind(error)
        if isinstance(cause, EOFError):  # of a file that is too short; no command asks
            raise cause from None
        limit_met = budget_spent(error)
        line = "interrupted" if limit_met is None else f"undecided within the budget: {limit_met}"
        click.echo(
            f"swingby: {_one_line('; '.join([line, *_interruption_lines(error, limit_met)]))}",
            err=True,
        )
        return 130 if limit_met is None else 4
    return int(code) if isinstance(code, int) else 0
