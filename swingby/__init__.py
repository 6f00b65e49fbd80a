"""swingby verifies a theory of deep learning: the learning dynamics of concept learning.

Give a task and (omega, eta) or an initial matrix W(0); swingby says which assumptions hold,
predicts when every stage of learning happens, runs the discrete dynamics and tables predicted
against observed. Names load on first use, so ``import swingby`` is cheap.
"""

from __future__ import annotations

import ast
import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

#: Folders that are loaded like names; `simulate` can be called, see its docstring.
_FOLDERS = ("diffusion", "figures", "relu", "simulate", "testing", "training")

if TYPE_CHECKING:  # "as" makes a name public for type checkers
    from swingby.errors import InvalidInput as InvalidInput
    from swingby.errors import MissingExtra as MissingExtra
    from swingby.errors import SwingbyError as SwingbyError
    from swingby.errors import SwingbyWarning as SwingbyWarning
    from swingby.errors import Undecided as Undecided
    from swingby.simulate.batch import simulate_batch as simulate_batch
    from swingby.simulate.initialization import gaussian as gaussian
    from swingby.simulate.result import Run as Run
    from swingby.simulate.run import simulate as simulate
    from swingby.sweeping.grid import SweepGrid as SweepGrid
    from swingby.sweeping.picture import PhaseDiagram as PhaseDiagram
    from swingby.sweeping.result import Disagreements as Disagreements
    from swingby.sweeping.result import SweepResult as SweepResult
    from swingby.sweeping.sweep import sweep as sweep
    from swingby.theory.claims.verdict import Verdict as Verdict
    from swingby.theory.initial import Scaled as Scaled
    from swingby.theory.law.stages import Stages as Stages
    from swingby.theory.lemmas import one_layer_output as one_layer_output
    from swingby.theory.task import SIMTask as SIMTask
    from swingby.verify.audit import audit as audit
    from swingby.verify.auditing.ledger import Ledger as Ledger
    from swingby.verify.auditing.record import Record as Record
    from swingby.verify.certification.certificate import Certificate as Certificate
    from swingby.verify.certify import certify as certify
    from swingby.verify.check import certify_assumptions as certify_assumptions
    from swingby.verify.check import check as check
    from swingby.verify.checking.report import Report as Report
    from swingby.verify.compare import compare as compare
    from swingby.verify.compare import paper_tables as paper_tables
    from swingby.verify.comparing.comparison import Comparison as Comparison
    from swingby.verify.gradients import crossing_function as crossing_function
    from swingby.verify.hunt import Hunt as Hunt
    from swingby.verify.hunt import hunt as hunt
    from swingby.verify.predict import predict as predict
    from swingby.verify.predict import predict_gaussian as predict_gaussian
    from swingby.verify.predict_batch import BatchSchedule as BatchSchedule
    from swingby.verify.predict_batch import predict_batch as predict_batch
    from swingby.verify.predict_network import NetworkSchedule as NetworkSchedule
    from swingby.verify.predict_network import predict_network as predict_network
    from swingby.verify.predict_swing import BatchSwing as BatchSwing
    from swingby.verify.predict_swing import predict_swing_batch as predict_swing_batch
    from swingby.verify.schedule import Schedule as Schedule


def _homes() -> dict[str, str]:
    """The module of each name, by the imports above."""
    tree = ast.parse(Path(__file__).read_text(encoding="utf-8"))
    lines = [line for line in ast.walk(tree) if isinstance(line, ast.ImportFrom)]
    return {name.asname: str(line.module) for line in lines for name in line.names if name.asname}


_HOME = _homes()
__all__ = ["__version__", *_FOLDERS, *sorted({*_HOME} - {*_FOLDERS})]


def __getattr__(name: str) -> Any:
    if name in _FOLDERS:
        return importlib.import_module(f"swingby.{name}")
    if name not in _HOME:
        from swingby.errors import suggestion

        hint = suggestion(name, __all__)
        raise AttributeError(f"module 'swingby' has no attribute {name!r}{hint}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
