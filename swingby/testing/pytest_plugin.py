"""The pytest plugin: the lines of a ledger as tests, and Hypothesis profiles.

``pytest --ledger`` judges every line of the paper's proofs as a test of its own, named
``ledger::D.61`` or ``ledger::Lemma D.3``, and fails where the verdict is not the one on record
(``swingby/data/ledger_verdicts.json``). Claims that a conftest.py returns from
``pytest_swingby_claims`` are judged too, as ``claims::<id>``, and so are the lines of a proof file
that is named: ``pytest --ledger my.proof``. All of them carry the mark ``ledger``, so that
``-m ledger`` leaves out everything else.

``pytest --hypothesis-profile=swingby`` loads the profile of :mod:`swingby.testing.profiles`.

This module is imported in every run of pytest, so it imports nothing but pytest; without these
options it does nothing.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from swingby.testing import hookspecs

#: The names that :func:`swingby.testing.profiles.register_profiles` gives.
PROFILES = ("swingby", "swingby-full")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options to the command line."""
    group = parser.getgroup("swingby", "swingby: ledgers of claims")
    group.addoption(
        "--ledger",
        action="store_true",
        help="judge the lines of the paper's proofs, and claims of pytest_swingby_claims, as tests",
    )
    group.addoption(
        "--ledger-item",
        action="append",
        default=[],
        metavar="ID",
        help="only this line, such as D.61 or 'Lemma D.3'; may be repeated, or list several "
        "with commas; implies --ledger, and runs a search over trajectories where one is named",
    )
    group.addoption(
        "--ledger-trajectories",
        action="store_true",
        help="also run the searches over trajectories (minutes), which are skipped otherwise; "
        "implies --ledger",
    )
    group.addoption(
        "--ledger-repaired",
        action="store_true",
        help="also the lines of swingby's own proofs; implies --ledger",
    )


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Declare ``pytest_swingby_claims``."""
    pluginmanager.add_hookspecs(hookspecs)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Register the mark, and the profiles before Hypothesis looks for the one asked for."""
    config.addinivalue_line("markers", "ledger: a claim that swingby judges, see --ledger")
    if config.getoption("--hypothesis-profile", default=None) in PROFILES:
        from swingby.testing.profiles import register_profiles

        register_profiles()


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """The lines of a proof file that the command line names."""
    named = file_path.suffix == ".proof" and parent.session.isinitpath(file_path)
    if not named or not parent.config.option.ledger:
        return None
    from swingby.testing.ledger_items import ProofFile

    return ProofFile.from_parent(parent, path=file_path)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, items: list[pytest.Item]) -> None:
    """Append the claims to what was collected, before -k and -m choose."""
    option = session.config.option
    # A proof file that is named stands in place of the paper's lines.
    asked = option.ledger and not any(item.path.suffix == ".proof" for item in items)
    asked = asked or option.ledger_item
    if asked or option.ledger_trajectories or option.ledger_repaired:
        from swingby.testing.ledger_items import ledger_items

        items.extend(ledger_items(session))
