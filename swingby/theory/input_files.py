"""Files from outside, read within bounds and digit by digit; nothing is unpickled or evaluated."""

from __future__ import annotations

import codecs
import errno
import io
import json
import lzma
import re
import stat
import tokenize
import tomllib
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np

from swingby.errors import InvalidInput
from swingby.report.files import BROKEN
from swingby.report.seals import unsealed

#: Bytes of a file of text, and of arrays once they are unpacked.
MOST_TEXT, MOST_BYTES = 1 << 25, 1 << 30
#: Characters of a key of TOML: its reader takes time quadratic in the parts of one.
_LONG_KEY = re.compile(r"^[\s\[]*[\w.\-\"']{500}", re.MULTILINE)
#: Byte order marks of what is not UTF-8; those of UTF-32 begin as those of UTF-16 do.
_MARKS = {
    "UTF-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE),
    "UTF-16": (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE),
}
#: What a check makes of a file.
Parsed = TypeVar("Parsed")


def opened(path: str | Path) -> BinaryIO:
    """Open a regular file to read bytes; OSError for a pipe or a device, which may never end."""
    mode = Path(path).stat().st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        kind = "a pipe" if stat.S_ISFIFO(mode) else "a device"
        raise OSError(errno.EINVAL, f"it is {kind}")
    return open(path, "rb")


def content_of(path: str | Path, argument: str, what: str, most: int = MOST_TEXT) -> bytes:
    """The bytes of a file. `what`: its kind, for errors."""
    try:
        with opened(path) as stream:
            content = stream.read(most + 1)
    except (OSError, ValueError, TypeError) as error:
        reason = getattr(error, "strerror", None) or "it is no path"
        raise InvalidInput(argument, path, f"must be a readable {what} ({reason})") from None
    if len(content) > most:
        raise InvalidInput(argument, path, f"must be a {what} of at most {most >> 20} MB")
    return content


def text_of(path: str | Path, argument: str, what: str, most: int = MOST_TEXT) -> str:
    """The text of a file in UTF-8, without a byte order mark, with line ends as Python has them."""
    content = content_of(path, argument, what, most)
    for encoding, marks in _MARKS.items():
        if content.startswith(marks):
            reason = f"it is {encoding}: save it as UTF-8"
            raise InvalidInput(argument, path, f"must be a {what} ({reason})")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        reason = "it is no text in UTF-8"
        raise InvalidInput(argument, path, f"must be a {what} ({reason})") from None
    if "\0" in text:
        reason = "it has characters of two bytes, as UTF-16: save it as UTF-8"
        raise InvalidInput(argument, path, f"must be a {what} ({reason})")
    # DOS ends a text with Ctrl-Z.
    return text.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\x1a")


def json_of(
    path: str | Path,
    argument: str,
    what: str,
    check: Callable[[Any], Parsed],
    most: int = MOST_TEXT,
) -> Parsed:
    """Read a JSON file through `check`; a failure is an InvalidInput with the reason."""
    text = text_of(path, argument, what, most)
    try:
        return check(json.loads(text))
    except BROKEN as error:
        # Its own words name the function that gave up.
        reason = "it is nested too deep" if isinstance(error, RecursionError) else error
        raise InvalidInput(argument, path, f"must be a {what} ({reason})") from None


def plain_json(text: str) -> Any:
    """JSON with its decimals as text; ValueError for NaN, a repeated key or broken text."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) < len(pairs):
            raise ValueError("a key twice")
        return dict(pairs)

    def refuse(constant: str) -> None:
        raise ValueError(constant)

    try:
        return json.loads(text, parse_float=str, parse_constant=refuse, object_pairs_hook=once)
    except RecursionError:
        raise ValueError("brackets within brackets") from None


def plain_toml(text: str, parse_float: Callable[[str], Any] = str) -> dict[str, Any]:
    """TOML with its decimals as text by default; ValueError for broken text."""
    if _LONG_KEY.search(text):
        raise ValueError("a key of 500 characters")
    try:
        return tomllib.loads(text, parse_float=parse_float)
    except RecursionError:
        raise ValueError("brackets within brackets") from None


#: What a damaged file of arrays makes NumPy and the unpackers raise.
_DAMAGED = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, tokenize.TokenError, SyntaxError),
    *(RuntimeError, MemoryError, OverflowError),
)


def read_arrays(path: str | Path, argument: str) -> dict[str, Any]:
    """The arrays of an npz file in its order, or the array of an npy file under an empty name.

    Raises InvalidInput if it cannot be read, would fill the memory, or holds Python objects.
    """
    what = "file of arrays"
    content = content_of(path, argument, what, MOST_BYTES)
    try:
        if content[:2] != b"PK":
            return {"": np.load(io.BytesIO(content), allow_pickle=False)}
        with zipfile.ZipFile(io.BytesIO(content)) as packed:
            if sum(member.file_size for member in packed.infolist()) > MOST_BYTES:
                raise InvalidInput(argument, path, f"must unpack to at most {MOST_BYTES} bytes")
            if len(names := packed.namelist()) != len({*names}):
                raise InvalidInput(argument, path, f"must be a {what} with each name once")
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        if not all(isinstance(array, np.ndarray) for array in arrays.values()):
            raise ValueError("a member that is no array")
        return arrays
    except InvalidInput:
        raise
    except (*BROKEN, *_DAMAGED):
        raise InvalidInput(argument, path, f"must be a {what}: npy or npz, no objects") from None


def read_sealed(
    path: str | Path, argument: str, what: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Facts and arrays of a sealed npz file. `what`: the kind that is required, and its maker."""
    arrays = read_arrays(path, argument)
    try:
        return unsealed(json.loads(str(arrays.pop("facts"))), arrays), arrays
    except BROKEN as error:
        reason = "it has no digest of its content" if isinstance(error, KeyError) else error
        raise InvalidInput(argument, path, f"must be {what} ({reason})") from None
