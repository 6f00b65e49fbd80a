"""The command theory: verbs on a theory of one's own, stated in a Python file."""

from __future__ import annotations

import re
from typing import Any

import click

from swingby.cli import options
from swingby.cli.arguments import Arguments, exit_code, refuse
from swingby.cli.command import command
from swingby.errors import MISSING, InvalidInput
from swingby.theory.verdict import Finding, Verdict

#: Exit codes of a hunt.
_HUNTED = {Finding.TESTED: 0, Finding.REFUTED: 1, Finding.UNDECIDED: 3}
_VERBS = ("check", "table", "test", "hunt", "threshold", "sweep")


@command(
    click.argument("file"),
    click.argument("verb", type=click.Choice(_VERBS)),
    options.text("--at", "NAME=X", "Value of a number: h=0.01, or s=4,1.", multiple=True),
    options.text("--question", "TEXT", "Question of threshold: 'half[1] before half[2]'."),
    options.text("--vary", "NAME", "Number that threshold varies."),
    options.text("--over", "NAME=N", "Number that sweep varies, with N values.", multiple=True),
    options.number("--count", "Settings of test and hunt.", shown="200, and 600 or more"),
    options.text("--seconds", "X", "Processor time of hunt.", "60"),
    options.seed("the draws"),
    options.text("--store", "FOLDER", "Folder for the rows of sweep."),
    options.number("--chunk", "Settings that sweep stores at once.", shown="up to 1000"),
    options.number("--workers", "Processes of sweep with --store.", shown="cores", least=0),
    options.JSON,
    options.out(),
)
def theory(arguments: Arguments) -> int:
    """Check, test or hunt a theory of your own.

    FILE is a Python file, my.py, or my.py:name if it has several theories; it is run as code. Exit
    code 0: done, 1: an assumption fails, a prediction is broken, or the test has no power, 3: check
    or hunt is undecided.

    \b
    swingby theory my.py check --at h=0.01
    swingby theory my.py hunt --seconds 30
    """  # noqa: D301
    from swingby.own_theory.theory_files import theory_in

    verb, own = arguments.verb, theory_in(arguments.file)
    if verb != "threshold":
        refuse(f"with {verb}", "question", "vary")
    if verb != "sweep":
        refuse(f"with {verb}", "over", "store", "workers", "chunk")
    if verb in ("test", "hunt"):
        refuse(f"with {verb}", "at")
    else:
        refuse(f"with {verb}", "count")
    if verb != "hunt":
        refuse(f"with {verb}", "seconds")
    if verb in ("threshold", "sweep"):
        refuse(f"with {verb}", "seed")
    result, code = _answer(own, arguments, _values(arguments.at))
    arguments.deliver(result, getattr(result, "to_dict", None) or result.to_grid().to_dict)
    return code


def _answer(own: Any, arguments: Arguments, at: dict[str, Any]) -> tuple[Any, int]:
    """The result of a verb, and the exit code."""
    verb, seed, count = arguments.verb, arguments.seed, arguments.count
    if verb == "check":
        report = own.answer("check", rng=seed, **at)
        return report, exit_code([report.verdict])
    if verb == "table":
        table = own.answer("compare", rng=seed, **at)
        return table, int(not table.kept)
    if verb == "test":
        from swingby.own_theory.power import examined

        test = examined(own, count or 200, seed)
        return test, int(bool(test.faults))
    if verb == "hunt":
        hunt = own.answer("hunt", arguments.seconds, rng=seed, count=count)
        return hunt, _HUNTED[hunt.verdict]
    if verb == "threshold":
        for name in ("question", "vary"):
            if getattr(arguments, name) is None:
                raise InvalidInput(name, MISSING, "must be given with threshold")
        return own.answer("threshold", arguments.question, vary=arguments.vary, at=at), 0
    grid = _values(arguments.over)
    for name, value in grid.items():
        if not str(value).isdecimal():
            raise InvalidInput("over", f"{name}={value}", "must be NAME=N, how many values of it")
    grid = {name: int(value) for name, value in grid.items()}
    if not grid:
        raise InvalidInput("over", MISSING, "must be given with sweep: --over h=24 --over s_1=12")
    more = {"out": arguments.store, "workers": arguments.workers, "chunk": arguments.chunk}
    sweep = own.answer("sweep", grid, at=at, **more)
    broken = sweep.counts["inside, BROKEN"]
    return sweep, exit_code([Verdict.FAILS if broken else Verdict.HOLDS])


def _values(texts: tuple[str, ...]) -> dict[str, Any]:
    """Numbers by name of NAME=X and NAME=X,X; several in one text are the same."""
    values: dict[str, Any] = {}
    for text in (part for typed in texts for part in re.split(r",(?=\s*\w+=)", typed)):
        name, sign, value = text.partition("=")
        if not sign or name in values:
            raise InvalidInput("at", text, "must be NAME=X, every name once")
        values[name.strip()] = value.split(",") if "," in value else value
    return values
