"""The order of the text, how claims read, and the outputs of a ledger."""

import json
import re

import pytest
import sympy

from swingby.errors import InvalidInput
from swingby.proofs.audit.corrections import (
    corrections,
    corrections_latex,
    corrections_markdown,
    corrections_text,
)
from swingby.proofs.audit.ledger import COLUMNS, Ledger, anchors, summary_lines
from swingby.proofs.audit.ledger_picture import SIZE, draw, save_picture
from swingby.proofs.audit.record import AUDITED, Record
from swingby.proofs.language import claims as text
from swingby.proofs.language.claim import Claim, Flaw
from swingby.proofs.language.claim_text import to_latex, to_text
from swingby.proofs.language.formula_parser import Piece, values
from swingby.proofs.language.formula_printer import formula
from swingby.proofs.language.reader import packaged
from swingby.proofs.prover.evidence import TAUTOLOGY, ClaimVerdict, Witness
from swingby.report.pictures import new_figure
from swingby.theory.verdict import Finding
from tests.proofs.letters import NOISE, ROOT_RATE, K, a_i, a_j, eta, le, w

D61 = text.by_id("D.61")
WITNESS = Witness({"a_i": "7/2", "omega": "1e-80"}, "a_i <= omega", "7/2", "1e-80", ("exact",))


def record_of(claim, verdict="proved", **more):
    flaw = claim.flaw if verdict == "refuted" else None
    words = ("id", "kind", "edition", "reference", "about", "reading", "rests_on")
    flaws = ("breaks", "severity", "explanation")
    witness = WITNESS if verdict == "refuted" else None
    fields = {
        **{name: getattr(claim, name) for name in words},
        **{name: getattr(flaw, name, "") for name in flaws},
        **vars(ClaimVerdict(Finding(verdict), "by a rule", ("0 = 0",), witness)),
        "statement": claim,
        "repair": None if claim.repair is None else record_of(claim.repair),
        "rests_on_refuted": (),
        "downstream": (),
        "seconds": 0.0,
        "part": "Lemma D.7",
    }
    return Record(**(fields | more))


@pytest.fixture
def ledger():
    refuted = record_of(D61, "refuted", downstream=(("D.63", "still follows"),))
    unrepaired = Claim("D.62", "step", "a | b_c", le(w, 1), D61.cite())
    return Ledger([refuted, record_of(unrepaired, "tested", rests_on_refuted=("D.61",), cases=7)])


def test_the_contents_name_every_line_of_the_package_once():
    by_file = [name for file in text.FILES for name in packaged(file)]
    assert len(by_file) == len(set(by_file))
    assert set(text.sections()) == set(by_file)
    pattern = re.compile(r"[A-Z\d]\.\d+|.* .*|\w+'?")
    assert all(pattern.fullmatch(name) for claim in text.claims() for name in claim.rests_on)


def test_displays_stand_in_the_order_of_their_numbers_and_lemmas_before_their_proofs():
    names = list(text.Claims())
    for section in "BCDE":
        numbers = [int(name[2:]) for name in names if re.fullmatch(rf"{section}\.\d+", name)]
        assert numbers == sorted(numbers)
    for number, first in enumerate((11, 23, 35, 36, 47, 55, 57, 73), 1):
        here = (f"D.{first - 1}", f"Lemma D.{number}", f"D.{first}")
        assert sorted(here, key=names.index) == list(here)


@pytest.mark.parametrize(
    ("expression", "shown"),
    [
        (
            le(eta * NOISE, ROOT_RATE * eta * (a_i + a_j)),
            "2 P η γ α d β² ω² ≤ (1 − κ^(−1/2)) η (a_i + a_j)",
        ),
        (-(w**2) / 2, "−w_ij(t)²/2"),
        ((a_i + a_j) ** -2, "1/(a_i + a_j)²"),
        (sympy.sqrt(a_i) / (a_i * a_j), "a_i^(−1/2)/a_j"),
        (sympy.exp(w) ** 2 * a_i, "a_i exp(2 w_ij(t))"),
        (2 * (a_i - 1), "2 a_i − 2"),
        (eta * 2 * (a_i - 1), "2 η (a_i − 1)"),
        (sympy.Rational(4, 5), "0.8"),
        (sympy.Max(w, a_i), "max{a_i, w_ij(t)}"),
    ],
)
def test_formulas_read_as_printed(expression, shown):
    assert formula(expression) == shown


def test_formulas_evaluate_to_what_they_show():
    for expression in (
        (a_i - 3 * a_j) / (2 * K * eta) - eta * a_i**2 * (a_i + a_j) / 7,
        1 / (9 * K * a_i) + (a_i / a_j) ** 2,
        -(a_i + 1) * (a_j - 2) / K**3,
    ):
        (read,) = values(Piece("", 1, 1, formula(expression)), packaged("letters").names)
        assert sympy.expand(read - expression) == 0


def test_a_claim_names_hypotheses_sources_entries_and_what_is_in_force():
    text = to_text(D61)
    for piece in ("given", "Assumption D.5", "D.1 to D.5 are in force", "i ≠ j with a_i > a_j"):
        assert " ".join(piece.split()) in text
    assert text.splitlines()[-1] == "  3 a_j w_ij(t)/5 − a_i w_ij(t)/5 ≤ −α ω/C"
    latex = to_latex(D61)
    assert latex.count("{") == latex.count("}")
    assert r"\text{Assumption D.5}" in latex


def test_a_ledger_is_an_immutable_sequence(ledger):
    assert len(ledger) == 2
    assert [record.id for record in ledger] == ["D.61", "D.62"]
    assert ledger["(d.62)"] is ledger[1]
    assert isinstance(ledger[:1], Ledger)
    counts = ledger.counts()
    assert counts == dict.fromkeys(map(str, Finding), 0) | {"refuted": 1, "tested": 1}
    assert repr(ledger) == "<Ledger: 2 lines; 1 refuted, 1 tested>"
    assert repr(ledger[0]) == "<Record D.61: refuted, repaired: proved>"
    with pytest.raises(InvalidInput):
        ledger["D.1"]
    with pytest.raises(TypeError):
        ledger[0] = ledger[1]


def test_the_summary_does_not_count_tautologies_as_proved():
    """kappa = kappa is true, and no result."""
    true = record_of(Claim("D.62", "step", "", le(w, 1)))
    empty = record_of(Claim("D.63", "step", "", le(w, w)), method=TAUTOLOGY)
    both = Ledger([true, empty])
    assert both.counts()["proved"] == 2
    assert "1 proved, 1 tautological" in summary_lines(both)[0]


def test_the_frame_has_a_row_per_record(ledger):
    frame = ledger.to_frame()
    assert list(frame.columns) == list(COLUMNS)
    assert frame["verdict"].tolist() == ["refuted", "tested"]
    assert frame["witness"].tolist() == ["a_i=7/2, omega=1e-80", ""]
    assert frame["repair"].tolist() == ["proved", ""]
    assert frame["rests_on_refuted"].tolist() == ["", "D.61"]


def test_json_is_strict_and_complete(ledger, tmp_path):
    content = json.loads(ledger.to_json())
    assert content == ledger.to_dict()
    assert content["text"] == AUDITED
    first = content["records"][0]
    assert first["witness"]["values"] == WITNESS.values
    assert first["repair"]["verdict"] == "proved"
    assert first["downstream"] == [{"id": "D.63", "verdict": "still follows"}]
    assert ledger.to_json(tmp_path / "ledger.json") is None
    assert json.loads((tmp_path / "ledger.json").read_text(encoding="utf-8")) == content
    with pytest.raises(InvalidInput, match="must be writable"):
        ledger.to_json(tmp_path / "no" / "ledger.json")


@pytest.mark.parametrize("make", [str, Ledger.to_markdown, Ledger.to_latex, Ledger.to_html])
def test_every_output_names_the_text_and_every_line(ledger, make):
    output = make(ledger)
    assert re.sub(r"\s+", " ", AUDITED) in re.sub(r"\s+", " ", output)
    for name in ("D.61", "D.62", "refuted", "tested", "wrong constant", "local"):
        assert name in output


def test_outputs_survive_their_own_markup(ledger):
    assert r"a \| b_c" in ledger.to_markdown()
    assert r"a $|$ $b_{c}$" in ledger.to_latex()
    table = [line for line in ledger.to_markdown().splitlines() if line.startswith("| [")]
    assert all(len(re.findall(r"(?<!\\)\|", line)) == 6 for line in table)
    hostile = Ledger([record_of(Claim("D.1", "step", "<script>", le(w, 1)))])
    assert "<script>" not in hostile.to_html()
    assert "<script>" not in hostile._repr_html_()


def test_links_of_the_markdown_lead_to_its_headings(ledger):
    text = ledger.to_markdown()
    headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
    expected = anchors(name.replace("\\", "") for name in headings)
    assert anchors(["R [1.1]", "R [11]"]) == {"R [1.1]": "r-11", "R [11]": "r-11-1"}
    assert set(expected.values()) == set(re.findall(r"\]\(#([^)]+)\)", text))


def test_a_record_shows_all_that_is_known(ledger):
    words = " ".join(str(ledger["D.61"]).split())
    for piece in (
        "a_i = 7/2,  ω = 1e-80",
        "left  = 7/2",
        "What breaks: wrong constant (local).",
        "corrected: 3 a_j w_ij(t)/5 − a_i w_ij(t)/5 ≤ −α ω/(5 C)",
        "(D.63): still follows",
        AUDITED,
    ):
        assert " ".join(piece.split()) in words
    assert "Rests on (D.61), refuted." in str(ledger["D.62"])
    assert "Cases: 7." in str(ledger["D.62"])


def test_parts_of_a_verdict_are_shown_and_colour_only_where_asked(ledger):
    euler = ClaimVerdict(Finding.REFUTED, "a run", witness=WITNESS)
    record = record_of(D61, "refuted", parts={"euler": euler})
    assert "euler: refuted, by a run." in str(record)
    for output in (record, ledger):
        assert "\x1b[" in output.to_text(color=True)
        assert "\x1b[" not in str(output)


def test_corrections_list_refuted_lines_with_a_repair_that_stands(ledger):
    (correction,) = corrections(ledger)
    assert (correction.id, correction.severity, correction.verdict) == ("(D.61)", "local", "proved")
    for make in (corrections_text, corrections_markdown, corrections_latex):
        assert "D.61" in make(ledger)
        assert "Nothing to correct" in make(ledger[1:]) or make is corrections_latex


@pytest.mark.parametrize(
    ("verdict", "count"), [("proved", 1), ("tested", 1), ("undecided", 0), ("refuted", 0)]
)
def test_a_repair_that_does_not_stand_is_no_correction(verdict, count):
    claim = Claim("D.9", "step", "", le(w, 1), flaw=Flaw("typo", "cosmetic", "x")).with_repair(
        conclusion=le(w, 2)
    )
    ledger = Ledger([record_of(claim, "refuted", repair=record_of(claim.repair, verdict))])
    assert len(corrections(ledger)) == count
    remarked = "without a correction that stands: (D.9)" in corrections_text(ledger)
    assert remarked == (count == 0)


def test_labels_of_the_picture_are_whole_and_end_before_the_next_column():
    claims = [claim for claim in text.claims() if claim.edition != "repaired"]
    ax = new_figure(*SIZE).add_subplot()
    draw([record_of(claim, "tested") for claim in claims], ax)
    ax.figure.draw_without_rendering()
    labels = [artist for artist in ax.texts if artist.get_bbox_patch() is not None]
    assert len(labels) == len(claims)
    words = {" ".join(label.get_text().split()) for label in labels}
    assert {"D.9 (its other bounds)", "> D.77 (Lemma D.7 asks for more)"} <= words
    for label in labels:
        width = label.get_window_extent().transformed(ax.transData.inverted()).width
        assert width < 0.8, label.get_text()


def test_the_picture_has_a_sign_per_line_and_an_arrow_per_use(ledger, tmp_path):
    from matplotlib.patches import FancyArrowPatch

    ax = ledger.plot()
    arrows = [artist for artist in ax.patches if isinstance(artist, FancyArrowPatch)]
    assert len(arrows) == 1
    texts = {artist.get_text() for artist in ax.texts}
    assert {"D.61", "D.62", "R", "T", "Lemma D.7"} <= texts
    assert "R: refuted (1)" in {artist.get_text() for artist in ax.get_legend().get_texts()}
    again = new_figure(14, 9).add_subplot()
    assert ledger.plot(again) is again
    save_picture(ledger, tmp_path / "graph.png")
    assert (tmp_path / "graph.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(InvalidInput, match="must end in"):
        save_picture(ledger, tmp_path / "graph.gif")
