"""The store of a sweep: a folder of chunk files, each named by the SHA-256 digest of its bytes.

A chunk appears whole or not at all and never changes. So a driver may be killed at any moment,
several drivers may write into one folder, and a copy of the folder is a store. A byte that changes
makes the name of its file wrong. Every chunk names the one that its driver wrote before, so that a
file that is gone is noticed, unless it was the last.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import swingby
from swingby.errors import InvalidInput
from swingby.lab.sweeps.point import MEASURE_VERSION, Point
from swingby.lab.sweeps.recorded_arrays import arrays_path, load_arrays, sweep_command
from swingby.lab.sweeps.stored_row import StoredRow, plain_row
from swingby.report.files import BROKEN, whole
from swingby.theory.input_files import MOST_BYTES, content_of, opened

#: Raised when the lines of a chunk change.
_FORMAT = 3
#: Versions of rows of theories of one's own are above this.
OF_THEORIES = 1000
#: Begin of the reason of a point whose worker process died; a resume tries these again.
WORKER_DIED = "WorkerDied"
#: How a SQLite file begins, as stores were until 0.1.
SQLITE = b"SQLite format 3\0"
_CHUNK_NAME = re.compile(r"rows-[0-9a-f]{64}\.jsonl")
_ARRAYS_NAME = re.compile(r"arrays-[0-9a-f]{64}\.npz")
#: The begin of the line of a row, and its key: nothing else is read to find the latest rows.
_BEGIN = re.compile(rb'\{"key":"[0-9a-f]{64}",')
_KEY = slice(len('{"key":"'), len('{"key":"') + 64)
_CHANGED = "was changed after it was written"
_GONE = "is gone, although another file of the store names it"
_LEADS_NOWHERE = "is a link to a missing file"
#: Larger numbers of a head are none of a clock or of a version.
_LARGEST = 2.0**53


@dataclass(frozen=True)
class ChunkHead:
    """The first line of a chunk: its writer, its time, and the chunks before it.

    `started` is when its driver began, in seconds since 1970. `after` has the names of the chunks
    that were the last before it, `rows` is how many rows it has. The first chunk of a driver has
    none, but the `grid`, and under `lost` the names of chunks that were changed or are gone.
    """

    swingby: str
    measure: int
    started: float
    written: float
    rows: int = 0
    after: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    grid: dict[str, Any] | None = None
    format: int = _FORMAT


@dataclass(frozen=True)
class _Chunk:
    """A chunk file that is as it was written: its name, its head, and a line per row."""

    name: str
    head: ChunkHead
    lines: list[bytes]


@dataclass(frozen=True)
class StoreContent:
    """The content of a store: the heads of its chunks, oldest first, and a line per point by key.

    `chunk_of` has the names of the chunks that the lines are in, `ends` those of chunks that no
    other one follows. `broken` has the names of files that are not what was written, or are gone,
    and why.
    """

    folder: Path
    heads: list[ChunkHead]
    lines: dict[str, bytes]
    chunk_of: dict[str, str]
    ends: tuple[str, ...]
    broken: dict[str, str]
    read: Callable[[bytes], dict[str, Any]] = plain_row

    def plain_row(self, key: str) -> dict[str, Any]:
        """The row of a key as plain values; an InvalidInput names the file of a damaged one."""
        row = self.sound_row(key)
        if row is None:
            raise _damaged(self.folder, self.chunk_of[key], _CHANGED)
        return row

    def sound_row(self, key: str) -> dict[str, Any] | None:
        """The row of a key as plain values; None if no driver can have written its line."""
        try:
            row = self.read(self.lines[key])
        except ValueError:
            return None
        return row if row["key"] == key else None

    @property
    def versions(self) -> tuple[str, int]:
        """The versions of swingby and of the measurement that wrote the rows."""
        return self.heads[0].swingby, self.heads[0].measure

    @property
    def grid(self) -> dict[str, Any] | None:
        """The grid of the last driver."""
        return next((head.grid for head in reversed(self.heads) if head.grid is not None), None)

    @property
    def per_second(self) -> float | None:
        """Points per second in the last driver; None if it kept none yet."""
        started = max(head.started for head in self.heads)
        last = [head for head in self.heads if head.started == started]
        seconds, rows = last[-1].written - started, sum(head.rows for head in last)
        return rows / seconds if rows and seconds > 0 else None


# Reading


def read_store(path: Path, read: Callable[[bytes], dict[str, Any]] = plain_row) -> StoreContent:
    """The content of a store; an InvalidInput names a file that was changed or is gone."""
    content = replace(scanned(path), read=read)
    for name, why in content.broken.items():
        raise _damaged(path, name, why)
    if not content.heads:
        raise _refused(path, "must be a sweep store; this folder has no rows")
    if is_of_theory(content) and read is plain_row:
        advice = "swingby.own.TheorySweep.of_store reads that"
        raise _refused(
            path, f"must be a sweep of SIM tasks, it is one of a swingby.Theory: {advice}"
        )
    return content


def is_of_theory(content: StoreContent) -> bool:
    """Whether rows are those of a theory of one's own."""
    return content.versions[1] > OF_THEORIES


def verify_store(
    path: str | Path,
    read: Callable[[bytes], dict[str, Any]] = plain_row,
    point_of: Callable[[dict[str, Any]], Any] = Point.from_plain,
) -> int:
    """Check every byte of a store: its chunks, the keys of its points, and its arrays.

    The number of rows; an :class:`InvalidInput` names the file that was changed, and the
    command that computes it again. `read` and `point_of` are for rows of another kind.
    """
    folder = existing_store(path)
    content = read_store(folder, read)
    for key in content.lines:
        row = StoredRow.from_plain(content.plain_row(key), point_of)
        if row.key != row.point.key(*content.versions):
            requirement = (
                f"has a row under the key of another point, {row.point}: {sweep_command(folder)}"
            )
            raise _refused(folder, f"{requirement} into another folder computes it again")
        if row.arrays is not None:
            load_arrays(folder, row.arrays)
    return len(content.lines)


def scanned(path: Path) -> StoreContent:
    """Read all chunks, also those that are named by others and came after the look at the folder.

    Of two rows of a point, a measured one goes before a failed one, and a later one before an
    earlier one.
    """
    chunks, broken = dict[str, _Chunk](), dict[str, str]()
    lines, ranks = dict[str, bytes](), dict[str, tuple[bool, float]]()
    chunk_of = dict[str, str]()
    waiting = [name for name in _names_in(path) if _CHUNK_NAME.fullmatch(name)]
    while waiting:
        name = waiting.pop()
        if name in chunks or name in broken:
            continue
        chunk = _read_chunk(path, name)
        if isinstance(chunk, str):
            broken[name] = chunk
            continue
        chunks[name] = replace(chunk, lines=[])
        waiting += chunk.head.after
        for line in chunk.lines:
            key = line[_KEY].decode("ascii", "replace")
            rank = (b'"results":null' not in line, chunk.head.written)
            if key not in ranks or ranks[key] < rank:
                ranks[key], lines[key], chunk_of[key] = rank, line, name
    heads = sorted((chunk.head for chunk in chunks.values()), key=lambda head: head.written)
    if len({(head.swingby, head.measure) for head in heads}) > 1:
        raise _refused(path, "must hold rows of one version of swingby, it has those of several")
    lost = {name for head in heads for name in head.lost}
    followed = {name for head in heads for name in head.after}
    return StoreContent(
        folder=path,
        heads=heads,
        lines=lines,
        chunk_of=chunk_of,
        ends=tuple(sorted(chunks.keys() - followed)),
        broken={name: why for name, why in sorted(broken.items()) if name not in lost},
    )


def _read_chunk(folder: Path, name: str) -> _Chunk | str:
    """A chunk, or the fault of its file in words."""
    path = folder / name
    if not path.exists():
        return _LEADS_NOWHERE if path.is_symlink() else _GONE
    content = content_of(path, "store", "chunk of a sweep", MOST_BYTES)
    if name != _chunk_name(content):
        return _CHANGED
    first, *lines = content.splitlines() or [b""]
    try:
        facts = json.loads(first)
        form = facts["format"]
        if type(form) is int and form != _FORMAT:
            required = f"must have files of format {_FORMAT}, {name} has format {form}: read it"
            advice = "with the swingby that wrote it, or sweep into another folder"
            raise _refused(folder, f"{required} {advice}")
        names = {field: tuple(facts[field]) for field in ("after", "lost")}
        head = ChunkHead(**{**facts, **names})
    except InvalidInput:
        raise
    except BROKEN:
        return _CHANGED
    if not _is_sound(head) or len(lines) != head.rows or not all(map(_BEGIN.match, lines)):
        return _CHANGED
    return _Chunk(name, head, lines)


def _is_sound(head: ChunkHead) -> bool:
    """True if every field of a head is of its kind; `after` names chunks, which may be deleted."""
    wholes, times = (head.measure, head.rows, head.format), (head.started, head.written)
    return (
        isinstance(head.swingby, str)
        and head.swingby.isascii()
        and all(type(number) is int and 0 <= number <= _LARGEST for number in wholes)
        and all(type(time) in (int, float) and abs(time) <= _LARGEST for time in times)
        and all(isinstance(name, str) for name in (*head.after, *head.lost))
        and all(map(_CHUNK_NAME.fullmatch, head.after))
        and (head.grid is None or isinstance(head.grid, dict))
    )


def _chunk_name(content: bytes) -> str:
    return f"rows-{hashlib.sha256(content).hexdigest()}.jsonl"


def _names_in(folder: Path) -> list[str]:
    """The names of all files of a folder."""
    try:
        return [file.name for file in folder.iterdir()]
    except OSError as error:
        raise _refused(folder, f"must be a readable folder ({error.strerror})") from None


# Writing


class StoreWriter:
    """A driver of a sweep at its store, which it makes if there is none.

    Refused if the path holds something else, or a store of another version, or cannot be written.
    `settled` are the keys of points that need no more work: measured, with their arrays, or failed
    for a reason of their own. `broken` are files that were changed, or are gone. `measure` is the
    version of what makes the rows, and `read` reads a line of one.
    """

    def __init__(
        self,
        path: str | Path,
        argument: str = "store",
        measure: int = MEASURE_VERSION,
        read: Callable[[bytes], dict[str, Any]] = plain_row,
    ) -> None:
        self.path = _store_path(path, argument)
        content = replace(scanned(self.path), read=read) if self.path.is_dir() else None
        self.versions = (swingby.__version__, measure)
        self.settled = set[bytes]()
        self.broken: dict[str, str] = {}
        self._ends: tuple[str, ...] = ()
        self._started = time.time()
        if content is None:
            return
        if content.heads:
            names = ("swingby", "measure")
            for name, ours, theirs in zip(names, self.versions, content.versions, strict=True):
                if ours != theirs:
                    required = f"must have been written by this version ({name} {ours}, it is"
                    advice = f"{theirs}): rows of two versions cannot be mixed; use another store"
                    raise InvalidInput(argument, path, f"{required} {advice}")
        elif not all(map(_is_of_a_store, _names_in(self.path))):
            required = "must be a sweep store, an empty folder, or no folder yet"
            raise InvalidInput(argument, path, f"{required}; this one holds other files")
        self.broken, self._ends = dict(content.broken), content.ends
        for key, name in content.chunk_of.items():
            row = content.sound_row(key)
            if row is None:
                self.broken[name] = _CHANGED
                continue
            lacks = row["arrays"] and not arrays_path(self.path, row["arrays"]).exists()
            if not lacks and not (row["reason"] or "").startswith(WORKER_DIED):
                self.settled.add(bytes.fromhex(key))
        if self.broken:  # the sound rows beside a damaged one go with its file
            gone = [key for key, name in content.chunk_of.items() if name in self.broken]
            self.settled.difference_update(map(bytes.fromhex, gone))

    def key(self, point: Any) -> bytes:
        """The key of a point in this store, with the versions that write it."""
        key: bytes = point.key(*self.versions)
        return key

    def begin(self, grid: dict[str, Any]) -> None:
        """Write the first chunk of a driver, with its grid, and delete damaged files, not links."""
        try:
            self.path.mkdir(exist_ok=True)
        except OSError as error:
            raise _refused(self.path, f"must be writable ({error.strerror})") from None
        self._write([], lost=tuple(self.broken), grid=grid)
        for name in self.broken:
            damaged = self.path / name
            if not damaged.is_symlink():
                with contextlib.suppress(OSError):
                    damaged.unlink()

    def keep(self, rows: Iterable[StoredRow]) -> None:
        """Keep all of some rows or none of them. If the disk is full, earlier rows stay."""
        self._write([row.to_line() for row in rows])

    def _write(self, lines: list[str], **more: Any) -> None:
        now = time.time()
        head = ChunkHead(*self.versions, self._started, now, len(lines), self._ends, **more)
        content = "\n".join([json.dumps(asdict(head)), *lines, ""]).encode()
        name = _chunk_name(content)
        try:
            with whole(self.path / name, "store") as beside:
                beside.write_bytes(content)
        except InvalidInput as error:
            advice = "the rows so far are kept, and the same call resumes"
            raise _refused(self.path, f"{error.requirement}; {advice}") from error
        self._ends = (name,)


def _is_of_a_store(name: str) -> bool:
    """True for the name of a chunk, of arrays, or of a file that a driver was killed at."""
    complete = _CHUNK_NAME.fullmatch(name) or _ARRAYS_NAME.fullmatch(name)
    return bool(complete) or name.startswith((".rows-", ".arrays-"))


# The path of a store


def _store_path(path: str | Path, argument: str = "store") -> Path:
    """A path at which a store is or can be made."""
    if not isinstance(path, (str, Path)) or not str(path):
        raise InvalidInput(argument, path, "must be the path of a folder")
    try:
        folder = Path(path).resolve()
        if folder.is_dir():
            return folder
        if folder.exists():
            with opened(folder) as stream:
                begin = stream.read(len(SQLITE))
            if begin == SQLITE:
                command = f'"swingby sweep --export-old {folder.name} --out FOLDER"'
                required = f"must be a folder; {command} makes one of a store of swingby 0.1"
                raise InvalidInput(argument, path, required)
            raise InvalidInput(argument, path, "must be a folder, not a file")
        inside = folder.parent.is_dir()
    except InvalidInput:
        raise
    except (OSError, ValueError, RuntimeError) as error:
        raise InvalidInput(argument, path, f"must be the path of a folder ({error})") from None
    if not inside:
        raise InvalidInput(argument, path, "must lie in a folder that exists")
    return folder


def existing_store(path: str | Path, argument: str = "store") -> Path:
    """The path of a store that is there."""
    folder = _store_path(path, argument)
    if not folder.exists():
        raise InvalidInput(argument, path, "must be a sweep store that exists")
    if not any(map(_CHUNK_NAME.fullmatch, _names_in(folder))):
        raise InvalidInput(argument, path, "must be a sweep store; this folder has no rows")
    return folder


def _damaged(folder: Path, name: str, why: str) -> InvalidInput:
    again = f"{sweep_command(folder)} computes its rows again"
    return _refused(folder, f"has a file that {why}, {name}: {again}")


def _refused(path: object, requirement: str) -> InvalidInput:
    return InvalidInput("store", path, requirement)
