"""Exported files, edited by a program: what does not say what the line says is not accepted."""

import copy
import random

import pytest

from swingby.proofs.audit.witness_files import faults, files
from swingby.proofs.checkers import check_witness
from swingby.proofs.checkers.check_witness import digest, judge
from swingby.proofs.language.claims import by_id

#: Sums, exponentials, logarithms, sizes, cases, Taylor series, identities, words, witnesses.
LINES = (
    "D.59",
    "D.37",
    "D.82",
    "D.61",
    "D.24",
    "D.72",
    "before D.29",
    "2.1",
    "4.1",
    "Theorem R [R.5.1]",
)
#: How many files are edited, each in its own way.
EDITS = 300


@pytest.fixture(scope="module")
def contents(record):
    written = {}
    for name in LINES:
        for claim in by_id(name):
            label = name if claim.edition == "printed" else f"{name} ({claim.edition})"
            written |= dict(files(record(claim), label))
    return written


def places(value, path=()):
    """Every text of a file, with the way to it."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from places(inner, (*path, key))
    elif isinstance(value, list):
        for key, inner in enumerate(value):
            yield from places(inner, (*path, key))
    elif isinstance(value, str) and path[0] not in ("digest", "id", "line"):
        yield path, value


def put(content, path, text):
    """A copy with another text somewhere."""
    edited = copy.deepcopy(content)
    inner = edited
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = text
    return edited


def sealed(content):
    return content | {"digest": digest(content)}


def test_every_file_is_accepted_and_is_of_its_line(contents):
    assert len(contents) >= len(LINES)
    assert {name: faults(content) for name, content in contents.items() if faults(content)} == {}


def test_a_file_with_anything_changed_is_not_accepted(contents):
    """Its digest is not that of what it says."""
    rng, names = random.Random(0), sorted(contents)
    for _ in range(EDITS):
        content = contents[rng.choice(names)]
        path, text = rng.choice([*places(content)])
        assert judge(put(content, path, text + " "))


def test_a_file_with_a_digest_of_its_own_is_no_proof_of_another_line(contents):
    """Numbers, signs, names, hypotheses, statements: sealed anew, and judged with the line."""
    rng, names, refused = random.Random(1), sorted(contents), 0
    while refused < EDITS:
        name = rng.choice(names)
        content = contents[name]
        way = rng.choice(["number", "sign", "less", "statement", "letter", "given", "missing"])
        paths = [*places(content)]
        path, text = rng.choice(paths)
        if way == "number":
            path, text = rng.choice([p for p in paths if any(c in "0123456789" for c in p[1])])
            at = rng.choice([k for k, c in enumerate(text) if c in "0123456789"])
            edited = put(content, path, text[:at] + str((int(text[at]) + 1) % 10) + text[at + 1 :])
        elif way == "sign" and " <= " in text:
            edited = put(content, path, text.replace(" <= ", " < ", 1))
        elif way == "less" and len(text) > 1:
            edited = put(content, path, text[: rng.randrange(1, len(text))])
        elif way == "statement":
            other = contents[
                rng.choice([x for x in names if contents[x]["statement"] != content["statement"]])
            ]
            edited = content | {key: other[key] for key in ("statement", "latex")}
        elif way == "letter" and "signs" in content:
            edited = content | {"signs": content["signs"] | {"x - 5": "positive"}}
        elif way == "given" and content.get("given"):
            edited = content | {"given": [*content["given"], "1 <= 0"]}
        elif way == "missing":
            gone = rng.choice([*content])
            edited = {key: value for key, value in content.items() if key != gone}
        else:
            continue
        if edited == content or harmless(content, edited):
            continue
        assert faults(sealed(edited) if "digest" in edited else edited), (name, way, path, text)
        refused += 1


def harmless(content, edited):
    """Whether an edit leaves a true proof, or witness, of the same line: other numbers may do."""
    if content.keys() != edited.keys():
        return False
    words = all(content.get(key) == edited.get(key) for key in ("id", "line", "statement", "latex"))
    same = (
        "format",
        "signs",
        "whole",
        "given",
        "fails",
        "holds",
        "assumed",
        "letters",
        "scalars",
        "rules",
    )
    if not words or any(content.get(key) != edited.get(key) for key in same):
        return False
    if content["format"] == check_witness.PROOF:
        goals = [step["relation"] for step in content["shows"]]
        if goals != [step["relation"] for step in edited["shows"]]:
            return False
    elif "values" not in content:
        return False
    # What is shown is the same, and the checker decides by what: a larger factor may do, too.
    return not check_witness.judge_shown(
        {k: v for k, v in edited.items() if k not in ("statement", "latex", "digest")}
    )
