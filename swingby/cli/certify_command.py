"""The command ``swingby certify``: a run proved, step by step, and the replay of such a proof."""

from __future__ import annotations

import sys
from dataclasses import fields

import click

from swingby.cli.given import TABLES, Given, Sections, number, refuse, shared_options, text
from swingby.errors import MISSING, InvalidInput
from swingby.report.files import json_text


@click.command(cls=Sections)
@shared_options(*TABLES)
@number("--steps", "Last step of the run.", shown="until all is settled")
@text("--replay", "FILE", "Check a certificate; needs no other option.")
def certify(given: Given, steps: int | None, replay: str | None) -> int:
    """Prove when a run does what, in ball arithmetic.

    The start is --w0. A file .json keeps the certificate. Exit code 0: all proved, or the replay
    accepts, 1: the replay rejects, 3: something is left undecided.

    \b
    swingby certify --signal 4,1 --w0 W0.csv --eta 0.01 --out run.json
    swingby certify --replay run.json
    """  # noqa: D301
    if replay is not None:
        shared = (field.name for field in fields(Given) if field.name != "as_json")
        refuse("together with replay", *shared, "steps")
        return _replay(replay, as_json=given.as_json)
    if given.w0 is None:
        raise InvalidInput("w0", MISSING, "must be given: --w0 FILE or '1e-3,0;0,1e-3'")
    if given.u0 is not None:
        raise InvalidInput(
            "u0", given.u0, "must be given as w0: what is certified starts from W(0)"
        )
    if given.omega is not None:
        raise InvalidInput("omega", given.omega, "must not be given together with w0")
    refuse("beside w0", "beta")
    from swingby.theory.reading import read_matrix
    from swingby.verify.certify import certify as make

    progress = _report if sys.stderr.isatty() else None
    task = given.task()
    certificate = make(
        task,
        read_matrix(given.w0, (task.dim, task.dim), exact=True),
        eta=given.step_size(),
        dynamics=given.dynamics,
        steps=steps,
        progress=progress,
    )
    if given.out is not None and given.out.endswith(".json"):
        certificate.save(given.out)
    else:
        given.deliver(certificate.to_grids(), certificate.to_dict())
    return 3 if certificate.undecided else 0


def _report(line: str) -> None:
    click.echo(f"\r\x1b[K{line}", err=True, nl=False)


def _replay(path: str, *, as_json: bool) -> int:
    from swingby.theory.reading import text_of
    from swingby.verify.certification.replay import read, replay

    try:
        content = read(text_of(path, "replay", "readable certificate"))
    except InvalidInput:
        raise
    except (ValueError, RecursionError):
        raise InvalidInput("replay", path, "must be a certificate (it is not JSON)") from None
    reasons = replay(content)
    left_open = content.get("undecided", []) if isinstance(content, dict) and not reasons else []
    if as_json:
        answer = {"accepted": not reasons, "reasons": reasons, "not judged": left_open}
        click.echo(json_text(answer))
    elif reasons:
        click.echo("\n".join(["rejected", *(f"  {reason}" for reason in reasons)]))
    else:
        click.echo("\n".join(["accepted", *(f"  not judged: {name}" for name in left_open)]))
    return 1 if reasons else 0
