"""One line of the ledger by its id, as a reader writes it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

from swingby.errors import InvalidInput

_SHORT = {"cor": "corollary ", "ass": "assumption ", "def": "definition "}


def find(text: str, ids: Sequence[str]) -> str:
    """The id that is meant, among some.

    Returns
    -------
    str
        One of `ids`.

    Raises
    ------
    InvalidInput
        If none is meant; the closest are named.
    """
    known = {_plain(name): name for name in ids}
    wanted = _plain(text)
    if wanted in known:
        return known[wanted]
    # "t_0" alone names no line, but there is "t_0 (Lemma D.8)".
    begun = [name for name in known if wanted and name.startswith(f"{wanted} (")]
    if len(begun) == 1:
        return known[begun[0]]
    close = begun or difflib.get_close_matches(wanted, list(known), 4, 0.5)
    near = ", ".join(known[name] for name in close)
    hint = f" (close to it: {near})" if near else ", such as D.61, Lemma D.3 or Assumption D.4"
    raise InvalidInput("item", text, f"must be the id of a line of the ledger{hint}")


def _plain(id: str) -> str:
    text = " ".join(str(id).split()).casefold()
    text = re.sub(r"^(cor|ass|def)\.\s*", lambda match: _SHORT[match[1]], text)
    text = re.sub(r"^(?:equation|eq\.?|display|line)\s*", "", text)
    text = re.sub(r"\(([a-z\d]\.\d+)\)", r"\1", text)
    return text.replace("≥", ">=")
