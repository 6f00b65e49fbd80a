"""How making figures goes on: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

from swingby.report.progress import Progress as Telling
from swingby.sweeping.progress import EVERY


class FigureProgress(Telling):
    """What is said on stderr while figures are made; a context manager.

    Parameters
    ----------
    total : int
        Editions to make.
    shown : bool
        Whether anything is said.
    """

    def __init__(self, total: int, *, shown: bool) -> None:
        self.total, self.done = total, 0
        self._name = ""
        super().__init__("figures", total, "count elapsed what", shown=shown)

    def start(self, name: str) -> None:
        """Name the edition that is being made."""
        self._name = name
        self._on_bar(what=name)

    def tell(self, share: float, text: str) -> None:
        """Say how far its computation is; given to it as its ``Tell``.

        Parameters
        ----------
        share : float
            From 0 to 1.
        text : str
        """
        told = f"{self._name}, {share:.0%}: {text}"
        if not self._on_bar(what=told) and self._is_due(EVERY):
            self._write(told)

    def finish(self, text: str) -> None:
        """Count an edition as made.

        Parameters
        ----------
        text : str
            How it went.
        """
        self.done += 1
        if not self._on_bar(completed=self.done) and self._shown:
            self._write(f"{self.done} of {self.total}: {self._name}, {text}")
