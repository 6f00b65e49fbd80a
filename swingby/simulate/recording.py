"""Which steps of a run are kept."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from swingby.errors import InvalidInput
from swingby.theory import numbers

#: The recorded trajectory has at most this many steps by default.
MOST_RECORDS = 10_001
#: Steps that record="log" keeps, about.
_LOG_RECORDS = 200
_RECORD_HELP = 'must be None, "none", "log", a whole number of steps, or a sequence of steps'


def needs_last_step(record: object) -> bool:
    """Whether the steps to record depend on where the run ends.

    Parameters
    ----------
    record : as in :func:`swingby.simulate.run.simulate`

    Returns
    -------
    bool
    """
    return record is None or (isinstance(record, str) and record == "log")


def record_steps(record: object, last: int) -> list[int]:
    """Ascending steps to record, from 0; the last step is added after the run where missing.

    Parameters
    ----------
    record : as in :func:`swingby.simulate.run.simulate`
    last : int
        The last step of the run.

    Returns
    -------
    list of int

    Raises
    ------
    InvalidInput
        If `record` is none of the forms understood.
    """
    if record is None:
        spacing = max(1, -(-last // (MOST_RECORDS - 1)))
        marks: Sequence[int] | range = range(0, last + 1, spacing)
        if last % spacing and len(marks) == MOST_RECORDS:
            marks = range(0, last + 1, spacing + 1)
    elif isinstance(record, str):
        if record not in ("none", "log"):
            raise InvalidInput("record", record, _RECORD_HELP)
        marks = [0]
        if record == "log":
            spaced = np.geomspace(1, last, _LOG_RECORDS)
            marks = sorted({0, *(round(step) for step in spaced.tolist())})
    elif isinstance(record, (list, tuple, range, np.ndarray)):
        marks = sorted({0, *(numbers.whole(step, "record", 0) for step in record)})
    else:
        try:
            spacing = numbers.whole(record, "record", 0)
        except InvalidInput:
            raise InvalidInput("record", record, _RECORD_HELP) from None
        marks = range(0, last + 1, spacing) if spacing else [0]
        if spacing and len(marks) > 10_000_000:
            raise InvalidInput("record", record, f"must keep at most 10 million of {last} steps")
    return [step for step in marks if step <= last]
