"""Every prediction against what was seen, from every source, as rows of one table.

The package ships a record of each study; what a user runs again lies in a file of her own and goes
before it. A record is named by the code that made it, so that rows of other code are told apart.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from swingby.errors import InvalidInput
from swingby.figures import evidence_sources as sources
from swingby.figures.evidence_sources import Row
from swingby.figures.figure import Tell
from swingby.report import Grid
from swingby.report.files import whole as writable
from swingby.theory.verdict import Verdict, counted
from swingby.verify.audit_cache import hash_of

if TYPE_CHECKING:
    import pandas as pd

#: What each study is, and what makes its rows.
STUDIES: dict[str, tuple[str, Callable[[Tell], list[Row]]]] = {
    "map": ("the iterated map, in the settings of the paper's figures", sources.map_rows),
    "autograd": ("U U^T trained by automatic differentiation", sources.autograd_rows),
    "networks": ("networks that the theory was not made for", sources.network_rows),
    "figures": ("the paper's figures", sources.figure_rows),
    "vectors": ("diffusion models of points", sources.vector_rows),
    "images": ("diffusion models of images, as recorded", sources.image_rows),
}
FORMAT = "swingby evidence 1"


@dataclass(frozen=True)
class Evidence:
    """Rows of every study. Made by :func:`evidence`.

    Parameters
    ----------
    rows : tuple of Row
    current : dict from str to bool
        Whether the rows of a study were made by the code that is here.
    """

    rows: tuple[Row, ...]
    current: Mapping[str, bool]

    def __len__(self) -> int:
        return len(self.rows)

    def __str__(self) -> str:
        return self.to_overview().to_text(width=100)

    def _repr_html_(self) -> str:
        return self.to_overview().to_html()

    def to_overview(self) -> Grid:
        """How many rows of each study and statement hold, fail and are open."""
        groups: dict[tuple[str, str], list[Verdict]] = {}
        for row in self.rows:
            groups.setdefault((row.source, row.statement), []).append(row.verdict)
        rows = [
            [source, statement, *(str(found.count(one)) for one in Verdict)]
            for (source, statement), found in groups.items()
        ]
        old = [name for name, same in self.current.items() if not same]
        below = [f"{len(self.rows)} rows: {counted(row.verdict for row in self.rows)}."]
        below += [f"{name}: {STUDIES[name][0]}." for name in self.current]
        if old:
            below.append(f"Recorded by other code than this: {', '.join(old)}; see --update.")
        columns = ("source", "statement", ">hold", ">fail", ">undecided")
        return Grid("Predicted against observed", columns, rows, below=below)

    def to_grid(self) -> Grid:
        """A line a row."""
        columns = (
            *("source", "setting", "edition", "statement", "predicted", "observed"),
            *("95 %", ">seeds", ">needed", "verdict"),
        )
        rows = [
            [
                *(row.source, row.setting, row.edition, row.statement, row.predicted),
                *(row.observed, row.interval),
                str(row.seeds),
                "-" if row.needed is None else str(row.needed),
                str(row.verdict),
            ]
            for row in self.rows
        ]
        below = (
            "needed: seeds at which what was observed, if it stays as it is, decides the row",
            f"{len(self.rows)} rows: {counted(row.verdict for row in self.rows)}.",
        )
        return Grid("Predicted against observed", columns, rows, below=below)

    def to_frame(self) -> pd.DataFrame:
        """One row per prediction."""
        import pandas as pd

        return pd.DataFrame([asdict(row) for row in self.rows])

    def to_dict(self) -> dict[str, Any]:
        """The rows as JSON can hold them."""
        return {"current": dict(self.current), "rows": [asdict(row) for row in self.rows]}

    def to_markdown(self) -> str:
        """The rows as Markdown."""
        return self.to_grid().to_markdown()

    def to_latex(self) -> str:
        """The rows as LaTeX (booktabs)."""
        return self.to_grid().to_latex()


def evidence(
    source: str | Sequence[str] | None = None,
    *,
    record: str | Path | None = None,
    verdict: str | None = None,
) -> Evidence:
    """Every prediction against what was observed, as it is recorded.

    Parameters
    ----------
    source : str or several, optional
        Of ``map``, ``autograd``, ``networks``, ``figures``, ``vectors``, ``images``; all by
        default.
    record : path, optional
        A file that :func:`update` wrote: its studies go before those of the package.
    verdict : {"holds", "fails", "undecided"}, optional
        These rows alone.

    Raises
    ------
    InvalidInput
        For a source or a verdict that does not exist, and a file that cannot be read.

    Examples
    --------
    >>> found = evidence("images")
    >>> found.rows[0].source, found.rows[0].statement
    ('images', 'order')
    """
    names = _names(source)
    if verdict is not None and verdict not in list(Verdict):
        raise InvalidInput("verdict", verdict, f"must be among {', '.join(Verdict)}")
    known = _shipped() | ({} if record is None else _read(Path(record)))
    rows: list[Row] = []
    current = {}
    for name in names:
        if name in known:
            found = map(_row, known[name]["rows"])
            rows += [row for row in found if verdict is None or row.verdict == verdict]
            current[name] = known[name]["code"] == code_of(name)
    return Evidence(tuple(rows), current)


def update(
    source: str | Sequence[str] | None,
    record: str | Path,
    *,
    force: bool = False,
    tell: Tell | None = None,
) -> tuple[str, ...]:
    """Make the studies again whose code has changed, keep them, and say which verdicts moved.

    Parameters
    ----------
    source : str or several, optional
    record : path
        A JSON file; a study is in it as soon as it is finished.
    force : bool
        Also those whose code is the same.
    tell : callable, optional
        Gets a share from 0 to 1 and a few words.

    Returns
    -------
    tuple of str
        A line for each verdict that moved.
    """
    path = Path(record)
    own = _read(path) if path.exists() else {}
    known = _shipped() | own
    moved: list[str] = []
    for name in _names(source):
        before = known.get(name)
        code = code_of(name)
        if before is not None and before["code"] == code and not force:
            continue
        rows = STUDIES[name][1](_within(name, tell or _silent))
        own[name] = {"code": code, "rows": [asdict(row) for row in rows]}
        with writable(path) as target:
            target.write_text(json.dumps({"format": FORMAT, "studies": own}, indent=1) + "\n")
        old = {_key(row): row.verdict for row in map(_row, before["rows"] if before else ())}
        moved += [
            f"{name}: {', '.join(filter(None, _key(row)))}: {old[_key(row)]} -> {row.verdict}"
            for row in rows
            if old.get(_key(row), row.verdict) != row.verdict
        ]
    return tuple(moved)


def code_of(name: str) -> str:
    """A hash of the code that makes a study."""
    package = Path(__file__).parents[1]
    parts = [path for part in sources.PARTS[name] for path in package.glob(part)]
    text = inspect.getsource(STUDIES[name][1]) + hash_of(*parts, words=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _names(source: str | Sequence[str] | None) -> list[str]:
    asked = [source] if isinstance(source, str) else list(STUDIES if source is None else source)
    for one in asked:
        if one not in STUDIES:
            raise InvalidInput("source", one, f"must be among {', '.join(STUDIES)}")
    return asked


def _shipped() -> dict[str, Any]:
    file = resources.files("swingby").joinpath("data/evidence.json")
    studies: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))["studies"]
    return studies


def _read(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["format"] != FORMAT:
            raise ValueError(content["format"])
        studies: dict[str, Any] = content["studies"]
        for study in studies.values():
            list(map(_row, study["rows"]))
            str(study["code"])
    except OSError as error:
        raise InvalidInput("record", path, f"must be readable ({error.strerror})") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InvalidInput("record", path, "must be a file of swingby evidence --update") from None
    return studies


def _row(plain: Mapping[str, Any]) -> Row:
    return Row(**{**plain, "verdict": Verdict(plain["verdict"])})


def _key(row: Row) -> tuple[str, str, str]:
    return row.setting, row.edition, row.statement


def _within(name: str, tell: Tell) -> Tell:
    return lambda share, words: tell(share, f"{name}: {words}")


def _silent(share: float, words: str) -> None:
    """Nobody is told."""
    del share, words
