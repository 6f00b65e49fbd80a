"""The output streams: signs that their encoding lacks, and readers that go away."""

from __future__ import annotations

import codecs
import contextlib
import io
import os
import sys
import unicodedata
from collections.abc import Iterator
from encodings import ascii as plain
from typing import TextIO

#: ASCII by another name: click takes a stream in ASCII for a mistake, and writes UTF-8 to it.
_ASCII = "ascii_spelled"
#: Error handler of streams: an ASCII spelling in place of a sign that the encoding lacks.
_SPELLED = "swingby.spelled"
_SIGNS = {
    **{"−": "-", "±": "+-", "×": "x", "·": "*", "≤": "<=", "≥": ">=", "≠": "!=", "≈": "~"},
    **{"→": "->", "√": "sqrt", "∞": "inf", "∎": "QED", "‘": "'", "’": "'", "“": '"', "”": '"'},
    "–": "-",
    "—": "-",
}
#: Marks above and below letters; not the strokes through signs, which negate these.
_ACCENTS = dict.fromkeys(range(0x300, 0x334))


def _spelling(sign: str, before: str, after: str) -> str:
    r"""ASCII for a sign that stands between two others.

    >>> [_spelling(sign, "", "") for sign in "ω≤²─é日"]
    ['omega', '<=', '^2', '-', 'e', '\\u65e5']
    """
    name, kind = unicodedata.name(sign, ""), _kind(sign)
    if sign in _SIGNS:
        return _SIGNS[sign]
    if name.startswith("GREEK ") and " LETTER " in name:
        word = name.partition(" LETTER ")[2].split()[0].lower().replace("lamda", "lambda")
        return " " * before.isalpha() + word + " " * (after.isascii() and after.isalpha())
    if name.startswith("BOX DRAWINGS"):
        return "+" if " AND " in name else "|" if "VERTICAL" in name else "-"
    basic = unicodedata.normalize("NFKD", sign).translate(_ACCENTS)
    letters = "".join(_SIGNS.get(letter, letter) for letter in basic)
    if not (letters and letters.isascii()):
        return sign.encode("ascii", "backslashreplace").decode()
    return {"SUPERSCRIPT": "^", "SUBSCRIPT": "_"}.get(kind * (kind != _kind(before)), "") + letters


def _kind(sign: str) -> str:
    return unicodedata.name(sign, "").partition(" ")[0] if sign else ""


def _spell(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text, start, end = error.object, error.start, error.end
    around = ["", *text, ""]
    return "".join(_spelling(text[k], around[k], around[k + 2]) for k in range(start, end)), end


def _lookup(name: str) -> codecs.CodecInfo | None:
    if name != _ASCII:
        return None
    return codecs.CodecInfo(
        codecs.ascii_encode,
        codecs.ascii_decode,
        incrementalencoder=plain.IncrementalEncoder,
        incrementaldecoder=plain.IncrementalDecoder,
        name=_ASCII,
    )


def spell_signs() -> None:
    """Let standard output and error spell signs that they cannot show, in place of failing."""
    codecs.register(_lookup)
    codecs.register_error(_SPELLED, _spell)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            is_ascii = codecs.lookup(stream.encoding).name == "ascii"
            stream.reconfigure(encoding=_ASCII if is_ascii else None, errors=_SPELLED)


class ReaderLeft(Exception):
    """The reader of the output went away; no OSError, of which click makes an exit code."""


@contextlib.contextmanager
def watched_readers() -> Iterator[None]:
    """Raise ReaderLeft where the reader of the output goes away; rich exits there with 1."""
    try:
        yield
    except (BrokenPipeError, SystemExit) as error:
        cause = error.__context__ if isinstance(error, SystemExit) else error
        if not isinstance(cause, BrokenPipeError):
            raise
        raise ReaderLeft from error


def discard_output(*streams: TextIO) -> None:
    """Discard what waits in streams that cannot be written: Python would complain at its end."""
    for stream in streams:
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
            continue
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
