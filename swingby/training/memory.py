"""How much memory settings need, so that a typing error is refused before it is allocated."""

from __future__ import annotations

import math

from swingby.errors import InvalidInput
from swingby.theory import numbers
from swingby.training.recording import MOST_WHOLE, recorded_steps
from swingby.training.setting import Setting
from swingby.training.weights import shapes

#: Bytes that a call of train() may need.
MOST_BYTES = 2**34
#: Bytes of training points of networks that are trained together.
MOST_POINT_BYTES = 2**30


def needed_bytes(settings: tuple[Setting, ...], kept: int) -> int:
    """About how many bytes the training of some settings takes.

    Parameters
    ----------
    settings : tuple of Setting
    kept : int
        Steps that are kept.
    """
    one = settings[0]
    s, d = one.task.s, one.task.dim
    record = 8 * kept * ((s + 1 << s) + s * s)
    states = 4 if one.optimizer.kind == "adamw" else 2
    weights = 8 * states * sum(sum(map(math.prod, shapes(each))) for each in settings)
    points = max(each.points for each in settings) * d * 8
    together = max(points, min(points * len(settings), MOST_POINT_BYTES))
    hidden = 0 if one.network.linear else 8 * one.batch * one.width * one.network.depth
    return (record + hidden) * len(settings) + weights + 3 * together


def check_memory(settings: tuple[Setting, ...], record: object) -> None:
    """Refuse settings that need absurdly much memory.

    Parameters
    ----------
    settings : tuple of Setting
    record : object
        As of :func:`swingby.training.recording.recorded_steps`.

    Raises
    ------
    InvalidInput
        For more than :data:`MOST_BYTES`.
    """
    total = settings[0].total_steps
    everything = record == "every" or (record is None and total <= MOST_WHOLE)
    if everything:
        kept = total + 1
    elif record is None or isinstance(record, str):
        kept = len(recorded_steps(record, total))
    else:
        kept = total // numbers.whole(record, "record", 1) + 2
    most = needed_bytes(settings, kept)
    if most > MOST_BYTES:
        raise InvalidInput(
            "settings",
            f"{len(settings)} networks, {kept} steps kept",
            f"need about {most / 2**30:.0f} GiB of memory, more than {MOST_BYTES >> 30}:"
            " train fewer at a time, with less data, or keep fewer steps (record)",
        )
