"""The decorator that makes a command of a function, with its options under headings."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from swingby.cli.arguments import Arguments, refuse
from swingby.cli.budget_option import BUDGET
from swingby.cli.options import Option, ResultOption
from swingby.hints import option_hint, suggestion

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
        *("momentum", "nesterov", "weight_decay", "loss", "replacement", "shuffle", "epochs"),
        *("record", "every", "precision", "device"),
    ),
}
#: From so many options on, they are shown under headings.
_MANY = 13


#: What other words may be meant for in place of a command.
_MEANT = {
    **dict.fromkeys(("run", "descend"), "simulate"),
    **dict.fromkeys(("compare", "plot"), "table"),
    **dict.fromkeys(("prove", "proof", "ledger"), "audit"),
    **dict.fromkeys(("search", "counterexample"), "hunt"),
    **dict.fromkeys(("fit", "learn"), "train"),
    **dict.fromkeys(("layers", "weights", "forecast", "predict_network"), "network"),
    **dict.fromkeys(("version", "v", "V"), "--version"),
    **dict.fromkeys(("help", "usage"), "--help"),
    **dict.fromkeys(("signal", "mu", "eta", "omega"), "swingby check, predict or table"),
}


class Group(click.Group):
    """A group of commands: what it does not know is refused with what may be meant."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words before a command."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            raise self._refusal(error.option_name, ctx) from None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command."""
        if args[0] not in self.commands:
            raise self._refusal(args[0], ctx)
        return super().resolve_command(ctx, args)

    def _refusal(self, word: str, context: click.Context) -> click.UsageError:
        meant = None if context.parent else _MEANT.get(word.lstrip("-"))
        hint = f"; did you mean {meant}?" if meant else suggestion(word, self.commands)
        hint = hint or f"; there are {', '.join(self.commands)}"
        return click.UsageError(f"No such command {word}{hint}", context)


def _options(command: click.Command) -> list[str]:
    """The names of the options of a command, without dashes."""
    return [
        entry.opts[-1].lstrip("-").replace("-", "_")
        for entry in command.params
        if isinstance(entry, click.Option)
    ]


class _SectionedCommand(click.Command):
    """A command whose options are shown under headings, if there are many.

    What it does not know is refused with what may be meant.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words behind the command."""
        options, ctx.allow_extra_args = _options(self), True
        try:
            extra = super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            group = ctx.parent.command if ctx.parent else self
            commands = dict(group.commands) if isinstance(group, click.Group) else {}
            others = {name: _options(other) for name, other in commands.items()}
            hint = option_hint(error.option_name.lstrip("-"), options, str(self.name), others)
            raise click.UsageError(f"No such option {error.option_name}{hint}", ctx) from None
        if extra:
            hint = "; numbers are divided by commas: --signal 4,1" if "signal" in options else ""
            for name in {"only", "source"} & {*options}:
                hint = f"; give --{name} {','.join(extra)}"
            raise click.UsageError(f"{' '.join(extra)} is not an option of {self.name}{hint}", ctx)
        return extra

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
