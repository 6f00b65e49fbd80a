"""The verdicts that are on record for the lines of the ledger."""

from __future__ import annotations

import json
from importlib import resources

from swingby.errors import InvalidInput
from swingby.theory.verdict import Finding


def ledger_verdicts() -> dict[str, str]:
    """The verdict expected of every line of the ledger, by id.

    They are those of a reading by hand, line by line; for claims about whole trajectories, those
    of the search on record.

    Examples
    --------
    >>> ledger_verdicts()["D.61"], ledger_verdicts()["D.62"]
    ('refuted', 'proved')
    """
    source = resources.files("swingby") / "data" / "ledger_verdicts.json"
    found: dict[str, str] = json.loads(source.read_text(encoding="utf-8"))
    return found


def finding(word: object) -> Finding:
    """A verdict by its word.

    `word`: ``"proved"``, ``"refuted"``, ``"tested"`` or ``"undecided"``. Raises InvalidInput for
    anything else.
    """
    words = [str(finding) for finding in Finding]
    if not isinstance(word, str) or word not in words:
        raise InvalidInput("verdict", word, f"must be one of {', '.join(words)}")
    return Finding(word)
