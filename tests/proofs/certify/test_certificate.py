"""Certificates as files, as tables, and their canonical enclosures."""

import hashlib
import json
from dataclasses import replace
from fractions import Fraction

import flint
import numpy as np
import pytest

from swingby.errors import InvalidInput
from swingby.proofs.certify import certify as verb
from swingby.proofs.certify.certificate import Certificate
from swingby.proofs.certify.certify import certify
from swingby.proofs.certify.enclosure import Enclosure, enclose, is_enclosure
from swingby.proofs.checkers.replay import replay
from swingby.theory.task import SIMTask
from tests.proofs.certify.reference import enclose as in_whole_numbers
from tests.proofs.certify.reference import leaves, put, sealed

TASK, MATRIX = SIMTask.from_signal([4, 1]), [["2e-3", "1e-3"], ["1e-3", "2e-3"]]


@pytest.fixture(scope="module")
def certificate():
    return certify(TASK, MATRIX, "1/50")


@pytest.mark.parametrize(
    "number",
    [
        *("1/2", "-9/4", "1/3", "-1/3", "1", "10", "99/100", "1e-100", "-1e100", "7e-1000"),
        "9999999999999999999999999/10",
        *(f"{p}/{q}" for p, q in np.random.default_rng(0).integers(1, 10**18, (30, 2)).tolist()),
    ],
)
def test_enclosures_agree_with_whole_numbers(number):
    exact = Fraction(number)
    rational = flint.fmpq(exact.numerator, exact.denominator)
    assert enclose(rational) == tuple(in_whole_numbers(exact))
    assert is_enclosure(list(enclose(rational)))
    # A narrow ball gives the same two strings, a wide one none.
    with flint.ctx.workprec(200):
        assert enclose(flint.arb(rational)) == tuple(in_whole_numbers(exact))
    assert enclose(flint.arb(rational) * flint.arb(1, 1e-20)) is None


def test_the_examples_of_the_format():
    assert enclose(flint.fmpq(0)) == enclose(flint.arb(0)) == ("0", "0")
    assert enclose(flint.arb(0, 1e-300)) is None
    assert enclose(flint.arb("inf")) is None
    assert enclose(flint.fmpq(1, 2)) == (
        "4.999999999999999999999999e-01",
        "5." + "0" * 23 + "1e-01",
    )
    assert enclose(flint.fmpq(-9, 4)).upper == "-2.249999999999999999999999e+00"
    assert str(enclose(flint.fmpq(1, 2))) == "0.5"
    assert str(enclose(flint.fmpq(-1, 3))) == "-0.3333333333"
    assert str(enclose(flint.fmpq(2, 3 * 10**9))) == "6.666666667e-10"
    assert str(Enclosure("0", "0")) == "0"
    assert enclose(flint.fmpq(1, 2)).middle == Fraction(1, 2)


@pytest.mark.parametrize(
    "wrong",
    [
        *(None, 3, "0", [], ["0"], ["0", "0", "0"], ["0", "1e-01"], [0, 0], ["1e-1", "2e-1"]),
        *(["01e-01", "1e-01"], ["1.0e-01", "1.1e-01"], ["-1e-01", "1e-01"], ["inf", "inf"]),
        *(["1e-9999999999", "1e-01"], ["1.5", "2.5"], ["1e+00 ", "2e+00"], ["nan", "nan"]),
    ],
)
def test_other_pairs_are_no_enclosures(wrong):
    assert not is_enclosure(wrong)


def test_a_file_gives_the_certificate_back(certificate, tmp_path, monkeypatch):
    """Also one that leaves entries open."""
    path = certificate.save(tmp_path / "run.json")
    again = Certificate.load(path)
    assert again == certificate
    assert hash(again) == hash(certificate)
    assert again.bits is None
    assert again.to_json() == path.read_text()
    assert again.to_dict() == json.loads(path.read_text())
    monkeypatch.setattr(verb, "PRECISIONS", (24,))
    poor = certify(TASK, MATRIX, "1/50", steps=300)
    assert Certificate.load(poor.save(path)) == poor
    assert poor.undecided
    assert "undecided" in str(poor)


def test_the_digest_is_that_of_the_rest(certificate):
    """Also of a name in another alphabet, which the replay hashes on its own."""
    certificate_made = replace(certificate, made_by="swingby für 🜁")
    content = certificate_made.to_dict()
    digest = content.pop("digest")
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    assert digest == hashlib.sha256(text.encode()).hexdigest()
    assert certificate_made.verify() == []
    assert replay({**content, "made_by": "swingby fur 🜁", "digest": digest}) != []


def test_every_event_of_a_certificate_is_a_row(certificate):
    rows = list(certificate.to_frame().itertuples(index=False, name=None))
    peaks = [row[1:] for row in rows if row[0] == "peak"]
    assert peaks == [
        (f"w_{peak.i}{peak.j}", peak.step, peak.value.lower, peak.value.upper)
        for peak in certificate.peaks
    ]
    passed = [row[:3] for row in rows if row[0] in certificate.passages]
    assert passed == [
        (level, f"w_{k}{k}", passage.step)
        for level, row in certificate.passages.items()
        for k, passage in enumerate(row, 1)
    ]
    assert rows[-1][2] == certificate.converges.step


JUNK = (
    *(None, True, -1, 3, 10**9, 1.0, "", "0", "1", "1/0", "2/2", "-1", "text", [], ["1"], [3]),
    *([["1"]], ["1", "2"], ["0.5", "0.6"], ["1"] * 7, {}, {"more": 1}),
)


def places(plain):
    """Of everything in a certificate, with all that it is in."""
    paths = {path[:end] for path, _ in leaves(plain) for end in range(1, len(path) + 1)}
    return sorted(paths, key=str)


#: Written as the format says, and not so.
FALSE = (
    *((("format",), "swingby certificate 2"), (("dynamics",), "flow"), (("signal",), ["4", "-1"])),
    *((("signal",), []), (("eta",), "0"), (("W0", 0, 1), "1/7"), (("W0", 0), ["1/7"])),
    *((("steps",), 3), (("passages", "1/2", 0, "step"), None), (("peaks", 0, "i"), 2)),
    *((("peaks",), []), (("runs_away",), [{"k": 3, "step": 1}])),
    *((("converges", "step"), 10**9), (("undecided",), ["psd"])),
)


def test_a_file_is_refused_or_read_as_it_is_and_rejected(certificate, tmp_path):
    """Any value at any place, under a digest of its own; also a key too many or too few."""
    file, content, refused = tmp_path / "wrong.json", certificate.to_dict(), 0
    every = enumerate(places(content))
    wrong = [put(content, path, to) for k, path in every for to in JUNK[k % 4 :: 4]]
    wrong += [{**content, "note": ""}, {"format": "swingby certificate 1"}]
    wrong += [put(content, ("psd",), {**content["psd"], "note": ""})]
    false = [sealed(put(content, *change)) for change in FALSE]
    for document in (*map(sealed, wrong), *false):
        file.write_text(json.dumps(document))
        try:
            read = Certificate.load(file)
        except InvalidInput:
            refused += 1
        else:
            assert read.to_dict() == document
            assert str(read)
            assert document not in false or read.verify() != []
    assert refused > 0.9 * len(wrong)
    file.write_text(json.dumps({**content, "digest": "0" * 64}))
    with pytest.raises(InvalidInput, match="digest"):
        Certificate.load(file)


@pytest.mark.parametrize(
    "text",
    [
        *(b"", b"{", b"[]", b"3", b"null", b'"text"', b"{}", b"[" * 100_000, b"\xff\xfe\x00"),
        *(b'{"a": NaN}', b'{"a": 1, "a": 1}'),
    ],
)
def test_what_is_no_certificate_is_refused(tmp_path, text):
    file = tmp_path / "wrong.json"
    file.write_bytes(text)
    with pytest.raises(InvalidInput):
        Certificate.load(file)


def test_paths_that_cannot_be_used_are_named(certificate, tmp_path):
    for path in (tmp_path / "none.json", tmp_path, None):
        with pytest.raises(InvalidInput, match="path"):
            Certificate.load(path)
    with pytest.raises(InvalidInput, match="out"):
        certificate.save(tmp_path / "no" / "folder.json")
