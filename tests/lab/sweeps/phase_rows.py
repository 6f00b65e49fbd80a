"""Stores whose rows are written by hand, so that every number of a diagram is known."""

from swingby.lab.sweeps.store import StoreWriter
from swingby.lab.sweeps.stored_row import StoredRow
from swingby.lab.sweeps.sweep_result import SweepResult


def by_hand(path, grid, rows):
    """A store of the points of a grid with results written by hand; None fails."""
    writer = StoreWriter(path)
    writer.begin(grid.to_dict())
    points = list(grid.points())
    writer.keep(
        StoredRow(writer.key(point), place, point, row, None if row else "Broken: by hand")
        for place, (point, row) in enumerate(zip(points, rows, strict=False))
    )
    return SweepResult(path, grid)


def row(predicted="in_order", observed="in_order", margin=2.0, descents=1, **more):
    return {
        "predicted": predicted,
        "observed": observed,
        "margin": margin,
        "descents": descents,
        "smallest_pivot": 0.5,
        **more,
    }
