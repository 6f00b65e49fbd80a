"""The suite on other Pythons, and on other versions of what swingby uses.

``nox`` runs all sessions, ``nox -s minimum`` those with the lowest versions that are declared.
Arguments after ``--`` go to pytest. Torch is tested on 3.11 with ``constraints.txt`` alone. After
the sessions, ``nox -s tested`` writes what was tested where to ``docs/tested.md``.
"""

import json
import sys
from pathlib import Path

import nox
from packaging.requirements import Requirement

nox.options.error_on_missing_interpreters = False
nox.options.reuse_venv = "yes"
nox.options.sessions = ["suite", "minimum", "newest"]

#: Their examples are of torch.
NEED_TORCH = ("lab/networks", "lab/diffusion", "training.py", "diffusion.py", "verify/gradients.py")
#: Extras that are small. What the core, the command line, files and proofs do with a library.
EXTRAS = ("testing", "prove", "report")
PART = (
    *("swingby/theory", "swingby/simulate", "swingby/verify", "swingby/report", "swingby/cli"),
    *("tests/report", "tests/simulate/test_golden.py", "tests/theory/test_number_lines.py"),
    *("tests/verify/test_compare.py", "tests/lab/sweeps/test_store.py", "tests/test_cli.py"),
    *("tests/test_cli_files.py", "tests/test_cli_help.py", "tests/test_cli_streams.py"),
    *("tests/test_cli_audit.py", "tests/test_first_tries.py"),
)
RECORDS = Path(".nox")


@nox.session(python=["3.11", "3.12", "3.13"])
def suite(session: nox.Session) -> None:
    """Everything that ``make test`` runs, but for the linters."""
    extras, parts = "all", []
    if session.python != "3.11":
        extras = "testing,prove,report,cluster,docs,dev"
        parts = [f"--ignore=swingby/{one}" for one in NEED_TORCH]
    session.install("-c", "constraints.txt", "-e", f".[{extras}]")
    run(session, "the whole suite", *parts)


@nox.session(python="3.11")
def minimum(session: nox.Session) -> None:
    """A part of the suite on the lowest versions that ``pyproject.toml`` declares."""
    session.install(*lowest(), "pytest-xdist")
    session.install("--no-deps", "-e", ".")
    # What is old calls by old names what its own requirements have since renamed.
    run(session, "a part", *without_torch(), "-W", "ignore::DeprecationWarning")


@nox.session(python=["3.11", "3.12", "3.13"])
def newest(session: nox.Session) -> None:
    """A part of the suite on the newest versions there are."""
    session.install("--upgrade", "--upgrade-strategy=eager", "-e", f".[{','.join(EXTRAS)}]")
    session.install("pytest-xdist")
    run(session, "a part", *without_torch())


@nox.session(venv_backend="none")
def tested(session: nox.Session) -> None:
    """Write the page of what was tested where, from the sessions that passed."""
    session.run(sys.executable, "tests/tested.py", "page", "docs/tested.md", str(RECORDS))


def lowest() -> list[str]:
    """Requirements pinned to their lower bounds."""
    project = nox.project.load_toml("pyproject.toml")["project"]
    optional = project["optional-dependencies"]
    declared = [*project["dependencies"], *(line for extra in EXTRAS for line in optional[extra])]
    requirements = map(Requirement, declared)
    bounds = {
        requirement.name: bound.version
        for requirement in requirements
        for bound in requirement.specifier
        if bound.operator == ">="
    }
    return [f"{name}=={version}" for name, version in bounds.items()]


def without_torch() -> list[str]:
    """The arguments of pytest for the part that needs no torch."""
    return [*PART, *(f"--ignore=swingby/{path}" for path in NEED_TORCH)]


def run(session: nox.Session, extent: str, *arguments: str) -> None:
    """Run pytest, and keep what passed."""
    record = RECORDS / f"{session.name}.json"
    record.unlink(missing_ok=True)
    # Tests at once would compile the same, each for itself.
    session.run("python", "tests/compiled.py")
    xml = str(record.with_suffix(".xml"))
    call = ("python", "-m", "pytest", "-n", "auto", "--dist", "worksteal", f"--junit-xml={xml}")
    session.run(*call, *arguments, *session.posargs)
    extent = "other" if session.posargs else extent
    facts = json.dumps({"session": session.name, "extent": extent})
    session.run("python", "tests/tested.py", "record", xml, str(record), facts)
