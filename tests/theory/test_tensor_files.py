"""Files of safetensors: read as their own library reads them, and refused where they are broken."""

import json
import struct

import numpy as np
import pytest

from swingby import InvalidInput
from swingby.theory import numbers
from swingby.theory.tensor_files import BrainFloats, read_tensors

RNG = np.random.default_rng(3)
ARRAYS = {
    "0.weight": RNG.standard_normal((3, 4)).astype("f4"),
    "2.weight": RNG.standard_normal((2, 3)),
    "half": RNG.standard_normal(5).astype("f2"),
    "none": np.zeros((0, 3)),
}
_NAMES = {"float64": "F64", "float32": "F32", "float16": "F16"}


def head_of(arrays):
    head, end = {}, 0
    for name, array in arrays.items():
        span = [end, end + array.nbytes]
        head[name] = {"dtype": _NAMES[str(array.dtype)], "shape": [*array.shape]}
        head[name]["data_offsets"] = span
        end = span[1]
    return head


def packed(head, data=None):
    """A file as the format is written down: length of the head, head, bytes."""
    text = (head if isinstance(head, str) else json.dumps(head)).encode()
    data = b"".join(array.tobytes() for array in ARRAYS.values()) if data is None else data
    return struct.pack("<Q", len(text)) + text + data


@pytest.fixture
def read(tmp_path):
    def reading(content):
        path = tmp_path / "a.safetensors"
        path.write_bytes(content)
        return read_tensors(path, "weights")

    return reading


def test_arrays_come_back_by_name(read):
    arrays = read(packed(head_of(ARRAYS) | {"__metadata__": {"format": "np"}}))
    assert list(arrays) == list(ARRAYS)
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(arrays[name], array)
        assert arrays[name].dtype == array.dtype


def test_as_the_library_writes_them(tmp_path):
    library = pytest.importorskip("safetensors.numpy")
    path = tmp_path / "theirs.safetensors"
    library.save_file(ARRAYS, path, metadata={"note": "free text"})
    arrays = read_tensors(path, "weights")
    theirs = library.load_file(path)
    assert set(arrays) == set(theirs)
    for name, array in theirs.items():
        np.testing.assert_array_equal(arrays[name], array)


def test_bfloat16_is_the_upper_half_of_float32(read):
    values = np.array([[1.0, -2.5], [3.0e38, 1e-3]], "f4")
    bits = (values.view("<u4") >> 16).astype("<u2")
    entry = {"dtype": "BF16", "shape": [2, 2], "data_offsets": [0, 8]}
    (array,) = read(packed({"w": entry}, bits.tobytes())).values()
    assert isinstance(array, BrainFloats)
    assert (array.shape, array.ndim, len(array), array[1].shape) == ((2, 2), 2, 2, (2,))
    assert numbers.spacing(array) == 2.0**-7
    got = numbers.real_array(array, "w")
    np.testing.assert_allclose(got, values, rtol=2.0**-7)
    assert got[0].tolist() == [1.0, -2.5]


@pytest.mark.torch
def test_bfloat16_of_torch(tmp_path):
    torch = pytest.importorskip("torch")
    save = pytest.importorskip("safetensors.torch").save_file
    tensor = torch.randn(4, 3, generator=torch.Generator().manual_seed(0)).bfloat16()
    save({"w": tensor}, tmp_path / "b.safetensors")
    (array,) = read_tensors(tmp_path / "b.safetensors", "weights").values()
    np.testing.assert_array_equal(numbers.real_array(array, "w"), tensor.double().numpy())


def test_a_file_that_is_cut_off_anywhere_is_refused(read):
    content = packed(head_of(ARRAYS))
    for end in range(len(content)):
        with pytest.raises(InvalidInput, match="must be a file of safetensors"):
            read(content[:end])
    with pytest.raises(InvalidInput, match="its tensors have"):
        read(content + b"\0")


def changed(name="0.weight", **entry):
    head = head_of(ARRAYS)
    head[name] |= entry
    return packed(head)


BROKEN = {
    "overlap": (changed("2.weight", data_offsets=[40, 88]), "overlap"),
    "a gap": (changed("half", data_offsets=[97, 107]), "leave a gap"),
    "another size": (changed(shape=[3, 5]), "has 60 bytes, not those of"),
    "bytes before the first": (changed(data_offsets=[-4, 44]), "-4"),
    "backwards": (changed(data_offsets=[48, 0]), "not those of"),
    "no numbers": (changed(shape=["3", 4]), "has the shape"),
    "a truth value": (changed(shape=[True, 12]), "has the shape"),
    "a fraction": (changed(shape=[1.5, 8]), "has the shape"),
    "a huge shape": (changed(shape=[10**18, 10**18]), "has the shape"),
    "many axes": (changed(shape=[1] * 9), "has 9 axes"),
    "whole numbers": (changed(dtype="I64"), "is I64: only F64, F32, F16, BF16"),
    "float8": (changed(dtype="F8_E4M3"), "is F8_E4M3"),
    "a type that is none": (changed(dtype=["F32"]), "only F64"),
    "another entry": (changed(code="import os"), "needs dtype, shape and data_offsets"),
    "no table": (packed("[1, 2]"), "no table"),
    "an entry of its own": (packed({"w": 3}, b""), "needs dtype"),
    "nothing": (packed({}, b""), "no tensor"),
    "no JSON": (packed("{'w': 3}", b""), "must be a file of safetensors"),
    "a name twice": (packed('{"w": 1, "w": 2}', b""), "a key twice"),
    "brackets": (packed("[" * 100_000, b""), "brackets within brackets"),
    "a number of many digits": (packed('{"w": ' + "9" * 5000 + "}", b""), "safetensors"),
    "a head past the end": (struct.pack("<Q", 1 << 40) + b"{}", "cut off"),
    "another file": (b"PK\3\4" + b"\0" * 40, "must be a file of safetensors"),
    "no text": (struct.pack("<Q", 2) + b"\xff\xfe", "must be a file of safetensors"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_refused_with_the_reason(name, read):
    content, words = BROKEN[name]
    with pytest.raises(InvalidInput) as caught:
        read(content)
    assert str(caught.value).startswith("weights must be a file of safetensors")
    assert words in str(caught.value)


def test_a_long_head_and_a_file_that_is_not_there(read, tmp_path, monkeypatch):
    monkeypatch.setattr("swingby.theory.tensor_files.MOST_TEXT", 10)
    with pytest.raises(InvalidInput, match="a head of"):
        read(packed(head_of(ARRAYS)))
    with pytest.raises(InvalidInput, match="No such file"):
        read_tensors(tmp_path / "none.safetensors", "weights")


@pytest.mark.parametrize("seed", range(300))
def test_bytes_that_changed_are_read_or_refused(seed, read):
    """Whatever the head says, the answer has all bytes in arrays, or is a refusal."""
    rng, content = np.random.default_rng(seed), bytearray(packed(head_of(ARRAYS)))
    for _ in range(rng.integers(1, 4)):
        content[rng.integers(0, min(len(content), 320))] = rng.integers(0, 256)
    try:
        arrays = read(bytes(content))
    except InvalidInput:
        return
    assert sum(array.nbytes for array in arrays.values()) == 106
