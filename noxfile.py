"""The suite on every Python from 3.11 to 3.13 that is installed: ``nox``, or ``nox -s suite-3.13``.

Arguments after ``--`` go to pytest. Versions other than 3.11 run without torch.
"""

import nox

nox.options.error_on_missing_interpreters = False
nox.options.reuse_venv = "yes"

#: Their examples are of torch.
NEED_TORCH = ("lab/networks", "lab/diffusion", "training.py", "diffusion.py", "verify/gradients.py")


@nox.session(python=["3.11", "3.12", "3.13"])
def suite(session: nox.Session) -> None:
    """Everything that ``make test`` runs, but for the linters."""
    extras, parts = "all", []
    if session.python != "3.11":
        extras = "testing,prove,report,cluster,docs,dev"
        parts = [f"--ignore=swingby/{one}" for one in NEED_TORCH]
    session.install("-c", "constraints.txt", "-e", f".[{extras}]")
    call = ("python", "-m", "pytest", "-n", "auto", "--dist", "worksteal")
    session.run(*call, *parts, *session.posargs)
