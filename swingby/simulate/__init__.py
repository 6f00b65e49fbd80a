"""What happens: the discrete maps and the flow, run. Builds on theory.

The folder and the public function have one name: ``swingby.simulate(task, W0, ...)`` runs
:func:`swingby.simulate.run.simulate`, while ``swingby.simulate.run`` and the other modules are
imported as usual. Python binds the folder to that name as soon as one of its modules is loaded,
so the folder itself has to answer the call.
"""

from __future__ import annotations

import inspect
import sys
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from swingby.simulate.result import Run


class _CallablePackage(types.ModuleType):
    """A package that runs :func:`swingby.simulate.run.simulate` when it is called."""

    def __call__(self, *arguments: Any, **options: Any) -> Run:
        from swingby.simulate.run import simulate

        return simulate(*arguments, **options)

    @property
    def __signature__(self) -> inspect.Signature:
        from swingby.simulate.run import simulate

        return inspect.signature(simulate)


sys.modules[__name__].__class__ = _CallablePackage
