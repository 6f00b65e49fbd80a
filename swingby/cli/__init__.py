"""The command line: parses, calls, prints. No mathematics.

Exit codes: 0 done (and the assumptions hold), 1 done and they fail, 2 wrong input (one line on
stderr), 3 undecided, 130 interrupted.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence

import click

from swingby.cli.audit_command import audit
from swingby.cli.certify_command import certify
from swingby.cli.commands import cli
from swingby.cli.diffusion_command import diffusion
from swingby.cli.figures_command import figures
from swingby.cli.hunt_command import hunt
from swingby.cli.sweep_command import sweep
from swingby.cli.train_command import train
from swingby.cli.vectors_command import vectors
from swingby.errors import SwingbyError, SwingbyWarning

for command in (audit, certify, diffusion, figures, hunt, sweep, train, vectors):
    cli.add_command(command)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point: runs a command and exits with its code.

    Parameters
    ----------
    arguments : sequence of str, optional
        Default: the process's own.
    """
    sys.exit(run(arguments))


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command; errors become one line on stderr.

    Returns
    -------
    int
        The exit code.
    """
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", SwingbyWarning)
            code = cli.main(
                None if arguments is None else list(arguments), "swingby", standalone_mode=False
            )
        for warning in caught:
            click.echo(f"swingby: warning: {_one_line(str(warning.message))}", err=True)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return 0
    except click.ClickException as error:
        click.echo(f"swingby: {_one_line(error.format_message())}", err=True)
        return 2
    except SwingbyError as error:
        click.echo(f"swingby: {_one_line(str(error))}", err=True)
        return 2
    except (KeyboardInterrupt, click.Abort):
        click.echo("swingby: interrupted", err=True)
        return 130
    except BrokenPipeError:
        # The reader went away (``swingby ... | head``); keep Python from complaining at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return int(code) if isinstance(code, int) else 0
