"""The decorator that makes a command of a function, with its options under headings."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from swingby.cli.arguments import Arguments, refuse
from swingby.cli.budget_option import BUDGET
from swingby.cli.options import Option, ResultOption

#: Headings of the options in the help of a command that has many.
_SECTIONS = {
    "The task": (
        *("mu", "sigma", "signal", "dim", "data", "points_per_class", "center_cluster"),
        *("rotation", "truncation", "free_sigma"),
    ),
    "The start": (
        *("w0", "u0", "omega", "beta", "width", "seed", "seeds", "start", "initialization"),
        "scale",
    ),
    "The network": ("depth", "activation", "no_bias", "symmetric", "denoiser", "reads"),
    "The run": (
        *("eta", "dynamics", "steps", "edition", "rho", "optimizer", "lr", "batch_size", "batch"),
        *("loss", "shuffle", "weight_decay", "epochs", "record", "precision", "device"),
    ),
}
#: From so many options on, they are shown under headings.
_MANY = 13


class _SectionedCommand(click.Command):
    """A command whose options are shown under headings, if there are many."""

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, each under the heading of its name."""
        many = len(self.params) > _MANY
        heading = {name: title for title, names in _SECTIONS.items() for name in names if many}
        all_options = [option for option in self.params if isinstance(option, click.Option)]
        for title in (*_SECTIONS, "Options"):
            options = [
                option
                for option in all_options
                if heading.get(str(option.name), "Options") == title
            ]
            if title == "Options":
                options += filter(None, [self.get_help_option(context)])
            records = [option.get_help_record(context) for option in options]
            if any(records):
                with formatter.section(title):
                    formatter.write_dl([option for option in records if option])


def command(*options: Option, group: click.Group | None = None) -> Callable[[Any], click.Command]:
    """Make a command of a function of its arguments; options are shown in this order."""

    def decorate(function: Callable[[Arguments], int]) -> click.Command:
        @functools.wraps(function)
        def called(**values: Any) -> int:
            for parameter in click.get_current_context().command.params:
                if isinstance(parameter, ResultOption) and values[str(parameter.name)] is not None:
                    refuse(
                        f"together with {parameter.name}: the ending gives the format", "as_json"
                    )
            return function(Arguments(**values))

        decorated: Any = called
        for option in reversed((*options, BUDGET)):
            decorated = option(decorated)
        new_command: click.Command = click.command(cls=_SectionedCommand)(decorated)
        if group is not None:
            group.add_command(new_command)
        return new_command

    return decorate
