"""Verdicts on disk: used when everything is the same, computed again otherwise, never an error."""

import json
import os
from dataclasses import replace

import pytest

from swingby.proofs.audit import cache as audit_cache
from swingby.proofs.language import claims as text
from swingby.proofs.language.claim import Flaw
from swingby.proofs.prover.evidence import Judged, Witness
from swingby.theory.verdict import Finding
from tests.proofs.letters import le, w

D61, D62 = text.by_id("D.61"), text.by_id("D.62")
WITNESS = Witness({"P": "2"}, "P <= 1", "2", "1", ("exact rationals",))
JUDGED = Judged(
    Finding.REFUTED,
    "a rational point",
    ("line",),
    WITNESS,
    3,
    ("other",),
    {"gd": Judged(Finding.PROVED, "certificate")},
)


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def kept(claim=D61):
    return audit_cache.folder() / f"{audit_cache.key(claim)}.json"


def test_what_is_stored_comes_back():
    assert audit_cache.load(D61) is None
    assert audit_cache.store(D61, JUDGED, 1.5)
    assert audit_cache.load(D61) == (JUDGED, 1.5)
    assert audit_cache.load(D62) is None
    assert [path.name for path in audit_cache.folder().iterdir()] == [kept().name]


def test_the_folder_follows_the_environment(home, monkeypatch):
    assert audit_cache.folder() == home / "swingby" / "ledger"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(home))
    assert audit_cache.folder() == home / ".cache" / "swingby" / "ledger"


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_text("", encoding="utf-8"),
        lambda path: path.write_text("[1, 2]", encoding="utf-8"),
        lambda path: path.write_bytes(b"\x80\x04\x95\xff\x00"),
        lambda path: path.write_text("[" * 100_000, encoding="utf-8"),
        lambda path: edit(path, lambda one: one["judged"].update(verdict="proved")),
        lambda path: edit(path, lambda one: one.update(seconds=9.0)),
        lambda path: edit(path, lambda one: one.update(key="0" * 64)),
        lambda path: edit(path, lambda one: one.pop("judged")),
        lambda path: (path.unlink(), path.mkdir()),
        lambda path: audit_cache.store(D62, JUDGED, 1.0) and kept(D62).rename(path),
    ],
)
def test_a_damaged_or_edited_file_is_ignored(damage):
    audit_cache.store(D61, JUDGED, 1.0)
    damage(kept())
    assert audit_cache.load(D61) is None


def edit(path, change):
    content = json.loads(path.read_text(encoding="utf-8"))
    change(content)
    path.write_text(json.dumps(content), encoding="utf-8")


def test_an_unwritable_folder_is_no_error(home, monkeypatch):
    (home / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "file"))
    assert audit_cache.store(D61, JUDGED, 1.0) is False
    assert audit_cache.load(D61) is None


def test_words_do_not_change_the_key_and_everything_judged_does():
    name = audit_cache.key(D61)
    words = {"about": "x", "reading": "y", "reference": "z", "repair": None}
    assert audit_cache.key(replace(D61, flaw=Flaw("typo", "local", ""), **words)) == name
    for change in (
        {"conclusion": le(w, 1)},
        {"given": D61.given[1:]},
        {"where": ((w, w + 1),)},
        {"quantifier": "exists"},
        {"in_force": False},
        {"indices": "any"},
        {"edition": "corrected"},
        {"id": "D.62"},
    ):
        assert audit_cache.key(replace(D61, **change)) != name, change


def test_keys_tell_all_statements_apart_and_are_the_same_in_every_process(fresh, monkeypatch):
    contents = [audit_cache.content(version) for claim in text.claims() for version in claim]
    assert len(set(contents)) == len(contents)
    monkeypatch.setenv("PYTHONHASHSEED", "1" if os.environ.get("PYTHONHASHSEED") == "2" else "2")
    names = ["D.61", "D.10", "D.36", "C.8"]  # chains, sets of letters, trajectories, means
    code = f"""
from swingby.proofs.language.claims import by_id
from swingby.proofs.audit.cache import content
print([content(by_id(name)) for name in {names}])
"""
    assert fresh(code) == repr([audit_cache.content(text.by_id(name)) for name in names])


@pytest.mark.parametrize("part", ["code_hash", "_versions"])
def test_the_code_behind_a_verdict_is_part_of_the_key(monkeypatch, part):
    name = audit_cache.key(D61)
    monkeypatch.setattr(audit_cache, part, lambda: "other")
    assert audit_cache.key(D61) != name
