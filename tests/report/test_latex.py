"""Tables and figures for a paper: names in math mode, chosen columns, the width of a column."""

import re
import shutil
import subprocess

import numpy as np
import pytest
from matplotlib.text import Text

import swingby
from swingby.errors import InvalidInput
from swingby.report.latex import latex_text, points
from swingby.report.paper_sizes import PAPER_WIDTHS, paper_width
from swingby.report.tables import Grid
from tests.forked import WHOLE

TASK = swingby.SIMTask.from_signal([4, 2, 1])
W0 = np.array([[2e-6, 1e-6, 0], [1e-6, 2e-6, 3e-7], [0, 3e-7, 1e-6]])
LAYERS = [np.full((4, 3), 0.01) + 0.02 * np.eye(4, 3), 0.02 * np.eye(3, 4)]
RESULTS = {
    "comparison": lambda: swingby.compare(TASK, W0, eta=0.01),
    "euler": lambda: swingby.compare(TASK, W0, eta=0.001, dynamics="euler"),
    "schedule": lambda: swingby.predict(TASK, W0, eta=0.01),
    "windows": lambda: swingby.predict(TASK, W0, eta=0.001, dynamics="euler"),
    "omega": lambda: swingby.predict(TASK, omega="1e-8", eta=0.01),
    "tiny": lambda: swingby.predict(TASK, omega="1e-120", eta=0.01),
    "check": lambda: swingby.check(TASK, omega="1e-80", eta="1e-4"),
    "repaired": lambda: swingby.check([4, 1], omega="1e-4", eta="1e-4", edition="repaired"),
    "run": lambda: swingby.simulate(TASK, W0, eta=0.01),
    "network": lambda: swingby.predict_network(LAYERS, TASK, lr=0.01),
    "ledger": lambda: swingby.audit(["D.9", "D.27"]),
}


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("w_33", "$w_{33}$"),
        ("w_1,12 and a_max", r"$w_{1,12}$ and $a_{\max}$"),
        ("omega_0 <= 1.5e-120", r"$\omega_{0}$ $\le$ $1.5{\times}10^{-120}$"),
        ("w_12^2 of 1e-07", r"$w_{12}^{2}$ of $10^{-7}$"),
        ("sigma^2 & 50%", r"$\sigma^{2}$ \& 50\%"),
        ("P omega beta, K = 20", r"$P$ $\omega$ $\beta$, $K$ = 20"),
        ("test_loss, D.1-D.5, eta.", r"test\_loss, D.1-D.5, eta."),
        ("ω <= Γ", r"$\omega$ $\le$ $\Gamma$"),
        ("-0.5 to -1", "$-$0.5 to $-$1"),
        ("{x} ~ \\", r"\{x\} \textasciitilde{} \textbackslash{}"),
        ("3 +- 1", r"3 $\pm$ 1"),
    ],
)
def test_names_and_powers_of_ten_are_in_math_mode(text, latex):
    assert latex_text(text) == latex


def test_siunitx():
    grid = Grid("", ["id", ">x", ">y"], [["D.1", "-1.5e-3", "never"], ["", "2.5e-6", "2"]])
    lines = grid.to_latex(siunitx=True).splitlines()
    assert lines[0] == r"\begin{tabular}{lS[tight-spacing,table-format=-1.1e-1]r}"
    assert lines[2:5] == [r"id & {x} & y \\", r"\midrule", r"D.1 & -1.5e-3 & never \\"]
    # A first cell in brackets would be an argument of the row above.
    assert r"{}[0, 1] & a" in Grid("", ["x", "y"], [["[0, 1]", "a"]]).to_latex()


def test_error_bars_stand_under_each_other():
    grid = Grid("", ["entry", ">step", ">+-"], [["w_11", "58", "0.1"], ["w_22", "1e9", "-"]])
    assert grid.to_latex(width="column").splitlines()[1:] == [
        r"\begingroup\noindent\fontsize{9}{11}\selectfont",
        r"\setlength{\tabcolsep}{5.0pt}%",  # without the sign, the end of the line were a space
        r"\begin{tabular}{@{}lr@{\,}l@{}}",
        r"\toprule",
        r"entry & step &  \\",
        r"\midrule",
        r"$w_{11}$ & 58 & $\pm$\,0.1 \\",
        r"$w_{22}$ & $10^{9}$ &  \\",
        r"\bottomrule",
        r"\end{tabular}%",
        r"\endgroup",
    ]


@pytest.mark.parametrize("width", [None, "column"])
def test_error_bars_have_their_sign_under_siunitx(width):
    rows = [["w_11", "286", "0.0"], ["w_22", "1767", "2.5"]]
    text = Grid("", ["entry", ">step", ">+-"], rows).to_latex(width=width, siunitx=True)
    assert r"$w_{11}$ & 286 & $\pm$\,0.0 \\" in text
    assert "alignment=right,table-format=4]" in text
    assert text.count("S[") == 1


@pytest.mark.parametrize("columns", [None, ["entry", "event", "predicted", "+-", "observed"]])
def test_a_narrow_table_drops_columns_or_has_smaller_type_before_it_is_a_list(columns):
    # Heights of peaks whose exponents have two digits, beside times of six.
    rows = [["w_12", "peak height", "", "4.253e-31", "5.1e-37", "4.253e-31", "0%"]]
    rows += [["w_11", "suppressed", "229483.82", "229484", "0.0", "229484", "0%"]]
    rows = [[*row, "1000000", "2000000", "yes"] for row in rows]
    heads = ["entry", "event", ">closed form", ">predicted", ">+-", ">observed", ">error"]
    minor = ["closed form", "error", "lower", "upper", "inside"]
    grid = Grid("", [*heads, ">lower", ">upper", "inside"], rows, minor=minor).selected(columns)
    text = grid.to_latex(width="column")
    assert r"\fontsize{8}{10}" in text
    assert r"\begin{tabular}{@{}llr@{\,}lr@{}}" in text
    gap = re.search(r"tabcolsep\}\{([\d.]+)pt", text)
    assert float(gap[1]) >= 2


def test_the_gap_between_columns_is_at_least_five_points_in_nine_point_type():
    for width in np.arange(1.5, 6.75, 0.05):
        text = RESULTS["comparison"]().to_latex(width=width)
        gap = float(re.search(r"tabcolsep\}\{([\d.]+)pt", text)[1])
        assert gap >= (2.5 if r"\fontsize{9}" in text else 2)


def test_a_second_table_is_not_indented():
    for width in (None, "column"):
        text = RESULTS["ledger"]().to_latex(width=width, columns=["line", "verdict"])
        assert "\n\n\\medskip\\noindent\n" in text


def test_a_table_without_rows_is_its_head_and_one_without_chosen_rows_is_left_out():
    assert r"entry & step \\" in Grid("", ["entry", ">step"], []).to_latex(width="column")
    text = RESULTS["ledger"]().to_latex(width="column", rows=["D.27"])
    assert text.count(r"\begin{tabular}") == 1


@pytest.mark.parametrize(
    ("width", "inches"),
    [(3.25, 3.25), ("3.25", 3.25), ("240pt", 3.3209), ("83 mm", 3.2677), ("14cm", 5.5118)],
)
def test_a_width_is_in_inches_or_has_a_unit(width, inches):
    assert paper_width(width) == pytest.approx(inches, abs=1e-4)
    table = RESULTS["comparison"]()
    assert table.to_latex(width=width) == table.to_latex(width=inches)


@pytest.mark.parametrize("width", [84, 0.5, True, "84", "240 px", "wide", None, float("nan"), [3]])
def test_another_width_is_refused(width):
    with pytest.raises(InvalidInput, match=r'width must be "column", "text", inches \(1 to 20\)'):
        paper_width(width)


def test_columns_and_rows_are_chosen():
    table = RESULTS["comparison"]()
    text = table.to_latex(columns=["observed", "entry"], rows=["half"])
    body = text.partition("\\midrule\n")[2].splitlines()[:-2]
    assert text.splitlines()[2] == r"observed & entry \\"
    assert body == [
        rf"{row.observed:.0f} & $w_{{{k}{k}}}$ \\"
        for k, row in enumerate((row for row in table.rows if row.event == "half"), 1)
    ]
    with pytest.raises(InvalidInput, match="columns must be among entry, event, closed form"):
        table.to_latex(columns=["time"])
    names = [*dict.fromkeys(row.entry for row in table.rows)]
    names += dict.fromkeys(row.event for row in table.rows)
    with pytest.raises(InvalidInput, match=f"^rows must be among {', '.join(names)}, got w_44"):
        table.to_latex(rows=["w_44"])
    for argument in ("columns", "rows"):
        with pytest.raises(InvalidInput, match=f"{argument} must not be empty: leave it out"):
            table.to_latex(**{argument: []})
    with pytest.raises(InvalidInput, match="rows must be a list of texts"):
        table.to_latex(rows="half")
    with pytest.raises(InvalidInput, match='width must be "column", "text", inches'):
        table.to_latex(width=84)


@pytest.mark.parametrize("name", ["comparison", "schedule"])
def test_a_unit_of_time_is_chosen(name):
    result = RESULTS[name]()
    text = result.to_latex(unit="eta t", rows=["half"], columns=["entry", "event", "closed form"])
    closed = result.to_frame(unit="eta t").query("event == 'half'")["closed_form"]
    body = text.partition("\\midrule\n")[2].splitlines()[:-2]
    assert [row.split(" & ")[2] for row in body] == [rf"{value:.4g} \\" for value in closed]
    assert result.to_latex() == result.to_latex(unit="step") != result.to_latex(unit="eta t")
    with pytest.raises(InvalidInput, match="unit must be"):
        result.to_latex(unit="seconds")


def test_a_heading_goes_with_its_rows():
    rows = [["first"], ["a", "1"], ["second"], ["b", "2"], ["third"], ["a", "3"]]
    grid = Grid("", ["name", "value"], rows)
    assert grid.selected(rows=["a"]).rows == [["first"], ["a", "1"], ["third"], ["a", "3"]]
    assert grid.selected(rows=["b"]).rows == [["second"], ["b", "2"]]


@pytest.mark.parametrize("name", RESULTS)
def test_no_column_of_a_fitted_table_is_wider_than_the_paper(name):
    # By the widths of letters; the full profile compiles them.
    for grid in RESULTS[name]().to_grids():
        text = grid.to_latex(width="column")
        assert "multicolumn{2}{@{}l@{}}" not in text  # not taken apart into records
        for number in re.findall(r"p\{(\d+)pt\}", text):
            assert 60 <= int(number) < 72.27 * PAPER_WIDTHS["column"]


def test_what_has_no_room_becomes_records():
    long = "w" * 60
    text = Grid("", ["id", "first", "second"], [["D.1", long, long]]).to_latex(width="column")
    assert r"\multicolumn{2}{@{}l@{}}{\textbf{D.1}} \\" in text
    assert rf"first & {long} \\" in text


def test_frames_have_latex_of_their_own():
    pytest.importorskip("pandas")
    assert r"\begin{tabular}" in RESULTS["run"]().to_frame().to_latex()


@pytest.mark.skipif(not WHOLE, reason="part of make test-full")
def test_tables_compile_without_an_overfull_box(tmp_path):
    assert shutil.which("pdflatex"), "apt-get install texlive-latex-recommended texlive-science"
    packages = "array,booktabs,siunitx,amsmath,amssymb"
    blocks = [r"\documentclass[10pt]{article}", rf"\usepackage{{{packages}}}"]
    blocks += [r"\usepackage[a4paper,margin=15mm]{geometry}", r"\begin{document}"]
    for make in RESULTS.values():
        for width, inches in {**PAPER_WIDTHS, 5.5: 5.5, "240pt": 240 / 72.27}.items():
            for siunitx in (False, True):
                table = make().to_latex(width=width, siunitx=siunitx)
                blocks.append(rf"\noindent\begin{{minipage}}{{{inches}in}}")
                blocks.append(table + "\n\\end{minipage}\\clearpage\n")
    (tmp_path / "tables.tex").write_text("\n".join([*blocks, r"\end{document}"]))
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "tables.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stdout[-2000:]
    assert "Overfull \\hbox" not in done.stdout
    sizes = [int(size) for size in re.findall(r"/cm[a-z]+(\d+)\.pfb", done.stdout)]
    assert min(sizes) >= 6


def smallest(figure):
    """The smallest type of a figure, in points; subscripts and exponents are 0.7 of it."""
    texts = [text for text in figure.findobj(Text) if text.get_text().strip()]
    assert texts
    return min(
        text.get_fontsize() * (0.7 if re.search(r"\$.*[_^]", text.get_text()) else 1)
        for text in texts
        if text.get_visible()
    )


@pytest.mark.parametrize(
    "name",
    ["comparison", "euler", "schedule", "omega", "tiny", "check", "repaired", "run", "network"],
)
def test_nothing_in_a_figure_is_smaller_than_six_points(name):
    figure = RESULTS[name]().plot(size="column").figure
    figure.draw_without_rendering()
    assert smallest(figure) >= 6
    assert figure.get_size_inches()[0] == PAPER_WIDTHS["column"]


@pytest.mark.parametrize(
    ("text", "width"),  # of a box in 9 point type, as pdflatex measures it
    [
        ("peak height", 47.03),
        ("1.575e-05", 47.46),
        ("Bounded Initialization and Signal Strength", 174.36),
        ("w_11", 14.46),
    ],
)
def test_widths_are_those_of_tex_or_a_little_more(text, width):
    assert width <= points(text) < 1.12 * width
