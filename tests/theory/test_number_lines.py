"""Text files of numbers, as spreadsheets, pandas, R and NumPy write them: read, or refused."""

import io
import warnings
import zipfile

import numpy as np
import pandas as pd
import pytest

import swingby
from swingby.errors import InvalidInput
from swingby.theory.matrix_files import read_matrix
from swingby.theory.number_lines import number_lines

W = np.array([[0.5, 0.25], [0.25, 0.75]])
FRAME = pd.DataFrame(W)


def saved(**options):
    stream = io.StringIO()
    np.savetxt(stream, W, **options)
    return stream.getvalue()


#: What writes W so that nothing else can be meant.
READ = {
    "byte order mark": "\ufeff0.5,0.25\n0.25,0.75\n",
    "header of savetxt": saved(header="W(0) of the run", delimiter=","),
    "names of savetxt": saved(header="w1 w2", delimiter=","),
    "blanks of savetxt": saved(),
    "header of names": "w1,w2\r\n0.5,0.25\r\n0.25,0.75\r\n",
    "comments": "# mine\n0.5,0.25 # first\n\n# between\n0.25,0.75\n",
    "a German spreadsheet": FRAME.to_csv(index=False, header=False, sep=";", decimal=","),
    "semicolons": FRAME.to_csv(index=False, header=False, sep=";"),
    "a German header": "\ufeffw1;w2\r\n0,5;0,25\r\n0,25;0,75\r\n",
    "tabs": FRAME.to_csv(index=False, header=False, sep="\t"),
    "blanks after commas": "0.5, 0.25\n0.25, 0.75\n",
    "quotes of R": '"a","b"\n"0.5","0.25"\n"0.25","0.75"\n',
    "quotes and semicolons": '"0,5";"0,25"\n"0,25";"0,75"\n',
    "old line ends": "0.5,0.25\r0.25,0.75\r",
    "one line": "0.5,0.25;0.25,0.75\n",
}


@pytest.mark.parametrize("ending", ["csv", "txt", "TSV"])
@pytest.mark.parametrize("name", READ)
def test_what_can_be_read_in_one_way_is_read(name, ending, tmp_path):
    path = tmp_path / f"W.{ending}"
    path.write_bytes(READ[name].encode())
    assert np.array_equal(read_matrix(str(path), (2, 2)), W)
    assert np.array_equal(read_matrix(str(path), (2, None), argument="u0"), W)
    if name != "one line":
        assert np.array_equal(number_lines(READ[name].lstrip("\ufeff"), "x", "x", "x").floats(), W)


POINT, COMMA, ROWS, COLUMNS = "may be decimal", "decimal comma", "counts the rows", "counts the col"
COUNTED = pd.DataFrame([[0.5, 0.25, 1.0], [0.25, 0.75, 2.0], [1.5, 1.25, 3.0]])
#: What could be read as other numbers, and the word that says why it is refused.
REFUSED = {
    "0,5\n0,25\n": POINT,
    "0,5\n-0,25\n": POINT,
    "0,5,0,25\n0,25,0,75\n": POINT,
    "1,5e-3\n2,5e-3\n": POINT,
    "0,5\n0,05\n": "05 looks like the end of a decimal comma",
    "0.5,05\n1,2\n": "05 looks like the end of a decimal comma",
    FRAME.to_csv(index=False, header=False, decimal=","): "a comma within",
    "0,5\t0,25\n0,25\t0,75\n": "a comma within",
    "1.000,5;2\n1;2\n": "a comma within",
    "1,000,000;2\n1;2\n": "a comma within",
    '"1,000","2,000"\n"3,000","4,000"\n': "a comma within",
    "0,5 0,25\n0,25 0,75\n": "no number",
    COUNTED.to_csv(index=False): COLUMNS,
    COUNTED.to_csv(header=False): ROWS,
    COUNTED.to_csv(): "index=False, header=False",
    COUNTED.set_axis(["a", "b", "c"], axis=1).to_csv(): "index=False",
    COUNTED.to_csv(sep=";", decimal=","): "index=False, header=False",
    '"","V1","V2"\n"1",0.5,0.25\n"2",0.25,0.75\n': "index=False",
    '"1",0.5,0.25\n"2",0.25,0.75\n': ROWS,
    "x1 x2\n1 0.5 0.25\n2 0.25 0.75\n": "2 columns are named",
    "0.5,0.25\n0.25\n": "line 2 has 1 columns, line 1 has 2",
    "# a\n0.5,0.25\n\n0.25,x\n": "line 4: x is no number",
    "0.5,0.25\n0.25,\n": "line 2: an empty cell is no number",
    "nan,inf\n0.5,0.25\n": "",
    "# only this\n": "it holds no numbers",
    "0.5,-1.#IND\n0.25,0.5\n": "-1.#IND is no number",
    "0.5,1.#QNAN\n0.25,0.5\n": "1.#QNAN is no number",
    "0.5,2.5\n#N/A,3.5\n4.5,5.5\n": "#N/A is no number",
    "0.5 #DIV/0!\n0.25 0.5\n": "#DIV/0! is no number",
    "1,000;500\n500;1,000\n": "1,000 may be thousands or a decimal comma",
    '"0.002\n","0.001"\n0.001,0.002\n': "holds a line break",
    f'"{"1" * 140_000}",2\n1,2\n': "is too long",
    "a,b\n": "it holds no numbers",
    "": "it holds no numbers",
}


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: repr(text)[:40])
def test_what_may_mean_other_numbers_is_refused_with_the_reason(text, tmp_path):
    path = tmp_path / "W.csv"
    path.write_text(text)
    if text.startswith("nan"):
        assert np.isnan(number_lines(text, "data", path, "table").floats()[0, 0])
    else:
        with pytest.raises(InvalidInput, match=REFUSED[text]):
            number_lines(text, "data", path, "table").floats()
    # A matrix W(0) of that shape is refused where it is not symmetric.
    for columns in (None,) if REFUSED[text] == POINT else (2, None):
        with pytest.raises(InvalidInput):
            read_matrix(str(path), (2, columns))


@pytest.mark.parametrize(
    ("text", "shape", "matrix"),
    [
        ("0,1\n1,0.5\n", (2, 2), [[0, 1], [1, 0.5]]),
        ("1,0\n0,1\n", (2, 2), [[1, 0], [0, 1]]),
        ("0,1,2\n1,3,4\n2,4,5\n", (3, 3), [[0, 1, 2], [1, 3, 4], [2, 4, 5]]),
        ("1, 0\n0, 1\n", (2, None), [[1, 0], [0, 1]]),
        ("1.0,0.0\n0.0,1.0\n", (2, None), [[1, 0], [0, 1]]),
        ("1,5e-3\n5e-3,1\n", (2, 2), [[1, 0.005], [0.005, 1]]),
        ("10 00.5\n1e05 1\n", (2, 2), None),
    ],
)
def test_a_required_shape_leaves_no_doubt(text, shape, matrix, tmp_path):
    """A W(0) of whole numbers is read; a first row 0,1 is one of numbers where d rows follow it."""
    path = tmp_path / "W.csv"
    path.write_text(text)
    if matrix is None:
        matrix = [[10, 0.5], [1e5, 1]]
    assert read_matrix(str(path), shape) == matrix
    head = ",".join(map(str, range(len(matrix)))) + "\n"
    if shape[1]:
        for counted in (head + text, "".join(f"{k},{row}\n" for k, row in enumerate(text.split()))):
            path.write_text(counted)
            with pytest.raises(InvalidInput):
                read_matrix(str(path), shape)


def test_typed_decimal_commas_are_refused(refused):
    said = refused(["predict", "--signal", "4,1", "--eta", "0.01", "--w0", "0,05;0,07"])
    assert "decimal points" in said


def test_utf_16_says_so(tmp_path, refused):
    path = tmp_path / "W.csv"
    path.write_bytes("0.5,0.25\n0.25,0.75\n".encode("utf-16"))
    said = refused(["predict", "--signal", "4,1", "--eta", "0.01", "--w0", str(path)])
    assert "save it as UTF-8" in said


def test_a_table_of_a_run_is_read_however_it_was_written(tmp_path):
    """By the names of its columns: row numbers are none of them."""
    task = swingby.SIMTask.from_signal([4, 1])
    given = [[1e-3, 1e-4], [1e-4, 2e-3]]
    run = swingby.simulate(task, given, eta="0.01", dynamics="gd")
    frame, path = run.to_frame(), tmp_path / "run.csv"

    def observed(source):
        return swingby.compare(task, given, eta="0.01", dynamics="gd", observed=source)

    expected = observed(frame).to_csv()
    for options in ({}, {"index": False}, {"index": False, "sep": ";", "decimal": ","}):
        frame.to_csv(path, encoding="utf-8-sig", **options)
        assert observed(path).to_csv() == expected
        with open(path, encoding="utf-8-sig") as text, open(path, "rb") as binary:
            assert observed(text).to_csv() == observed(binary).to_csv() == expected
    path.write_text(frame.to_csv(index=False, decimal=","))
    with pytest.raises(InvalidInput, match="a comma within a number"):
        observed(path)


def test_damaged_files_of_arrays_are_wrong_input(tmp_path):
    """What NumPy and the unpackers raise is not what broke; a name twice is not the second one."""
    text, deep, twice = (tmp_path / name for name in ("text.npz", "deep.npy", "twice.npz"))
    with zipfile.ZipFile(text, "w") as packed:
        packed.writestr("w", "no array")
    header = b"(" * 200
    deep.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
    with zipfile.ZipFile(twice, "w") as packed, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for value in (1.0, 2.0):
            stream = io.BytesIO()
            np.save(stream, np.full((2, 2), value))
            packed.writestr("w.npy", stream.getvalue())
    for path in (text, deep, twice):
        with pytest.raises(InvalidInput, match="w0 must be"):
            read_matrix(str(path), (2, 2))


TYPED = "1e-3 2e-4; 2e-4 1e-3"


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("w.txt", "1 0\n0 1\n".encode("utf-32"), "it is UTF-32: save it as UTF-8"),
        ("w.txt", "1 0\n0 1\n".encode("utf-16-le"), "as UTF-16: save it as UTF-8"),
        ("w.csv", b"1,0,\n0,1,\n", "must not end its lines in a separator"),
        ("w.csv.gz", b"\x1f\x8b", "must be unpacked first: gunzip "),
    ],
)
def test_what_a_file_is_instead_is_said(tmp_path, refused, name, content, words):
    path = tmp_path / name
    path.write_bytes(content)
    assert words in refused(["predict", "--signal", "2,1", "--eta", "0.01", "--w0", str(path)])


@pytest.mark.parametrize(
    "text", [f"[{TYPED}]", "[1e-3, 2e-4; 2e-4, 1e-3]", "[1e-3 2e-4\n2e-4 1e-3]"]
)
def test_rows_in_one_pair_of_brackets_are_those_of_matlab(tmp_path, text):
    path, rows = tmp_path / "w.txt", [[1e-3, 2e-4], [2e-4, 1e-3]]
    path.write_bytes(text.encode() + b"\x1a")
    assert read_matrix(str(path), (2, 2)) == rows
    assert read_matrix(text, (2, 2)) == rows
