"""Counterexamples as files, with the program that checks them."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from swingby.errors import InvalidInput
from swingby.theory import assumptions
from swingby.theory.verdict import Finding
from swingby.verify.output import writable
from swingby.verify.prover import check_witness
from swingby.verify.prover.judge import is_scalar
from swingby.verify.prover.scalar.dispatch import prepared
from swingby.verify.prover.scalar.relation import relation_from

#: What N_ij(t) is once a witness names the third concept, and that W(t) is U U^T.
_NOISE = "N_ij(t) = (a_i + a_j + 2*a_k)*w_ki(t)*w_kj(t)/2"
_SEMIDEFINITE = (
    "w_ki(t)^2 <= w_kk(t)*w_ii(t)",
    "w_kj(t)^2 <= w_kk(t)*w_jj(t)",
    "0 <= w_ii(t)*w_jj(t)*w_kk(t) + 2*w_ij(t)*w_ki(t)*w_kj(t) - w_ii(t)*w_kj(t)^2"
    " - w_jj(t)*w_ki(t)^2 - w_kk(t)*w_ij(t)^2",
)


def export(records: Iterable[Any], folder: str | Path) -> tuple[list[str], list[str]]:
    """Write the witnesses of refuted lines about numbers: see `Ledger.export`."""
    place = Path(folder)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = f"must be a folder that can be made ({error.strerror})"
        raise InvalidInput("export", folder, reason) from None
    written, left = [], []
    for record in records:
        if record.verdict != Finding.REFUTED:
            continue
        content = plain(record)
        if content is None:
            left.append(record.id)
            continue
        name = re.sub(r"[^A-Za-z0-9._]+", "_", record.id).strip("_")
        with writable(place / f"{name}.json") as target:
            text = json.dumps(content, indent=1, ensure_ascii=False)
            target.write_text(text + "\n", encoding="utf-8")
        written.append(record.id)
    with writable(place / "check.py") as target:
        shutil.copyfile(check_witness.__file__, target)
    return written, left


def plain(record: Any) -> dict[str, Any] | None:
    """What is judged of a witness: its numbers, the hypotheses and the relation that fails."""
    claim, witness = record.statement, record.witness
    if witness is None or not is_scalar(claim) or claim.quantifier != "for all":
        return None
    search, _ = prepared(claim)
    given = list(dict.fromkeys(map(str, search.given)))
    if "w_kj(t)" in witness.values and "N_ij(t)" in witness.values:
        given += [_NOISE, *(_SEMIDEFINITE if "w_kk(t)" in witness.values else ())]
    assumed = [
        [one.over, str(relation_from(one.relation))]
        for statement in assumptions.PRINTED
        for one in statement.conditions
        if search.in_force and one.over != "entry"
    ]
    return {
        "format": check_witness.FORMAT,
        "id": record.id,
        "line": record.about,
        "given": given,
        "assumed": assumed,
        "fails": witness.relation,
        "values": witness.values,
    }
