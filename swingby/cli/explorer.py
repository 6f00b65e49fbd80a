"""The command explore: the explorer as a page of the browser."""

from __future__ import annotations

import click

from swingby.cli import options
from swingby.cli.arguments import Arguments, refuse
from swingby.cli.command import command


@command(
    options.MU,
    options.SIGMA,
    options.SIGNAL,
    options.W0,
    options.OMEGA,
    options.number("--seed", "NumPy's seed of W(0), up to 199.", least=0, shown="first example"),
    options.number("--width", "Number of columns of U(0), from d to 6.", shown="d"),
    options.text("--eta", "X", "Step size of (D.2).", shown="first example"),
    options.choice("--dynamics", "gd euler flow", "The dynamics.", shown="first example"),
    options.target(
        "--out", "File of the page", (".html",), default="explorer.html", show_default=True
    ),
)
def explore(arguments: Arguments) -> int:
    """Write a page that predicts and runs while you move the numbers.

    The page is a single file for any browser and makes no network request. Numbers that you leave
    out are those of its first example. It shows at most four concepts.

    \b
    swingby explore
    swingby explore --signal 4,1 --omega 1e-80 --eta 1e-3 --out page.html
    """  # noqa: D301
    from swingby.lab.explorer.explore import explore as write
    from swingby.theory.matrix_files import read_matrix

    is_task = arguments.mu or arguments.signal
    if not is_task:
        refuse("without mu or signal", "sigma", "w0")
    task = arguments.task() if is_task else None
    W0 = None
    if task is not None and arguments.w0 is not None:
        W0 = read_matrix(arguments.w0, (task.dim, task.dim))
    names = ("omega", "seed", "width", "eta", "dynamics")
    page = write(arguments.out, task, W0, **arguments.named(*names))
    click.echo(f"{page} ({page.stat().st_size / 1000:.0f} kB)")
    return 0
