"""swingby verifies a theory of deep learning: the learning dynamics of concept learning.

Give a task and (omega, eta) or an initial matrix W(0); swingby says which assumptions hold,
predicts when every stage of learning happens, runs the discrete dynamics and tables predicted
against observed. Names load on first use, so ``import swingby`` is cheap.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "InvalidInput": "swingby.errors",
    "MissingExtra": "swingby.errors",
    "SwingbyError": "swingby.errors",
    "SwingbyWarning": "swingby.errors",
    "Undecided": "swingby.errors",
    "SIMTask": "swingby.theory.task",
    "Scaled": "swingby.theory.initial",
    "Verdict": "swingby.theory.claims.verdict",
    "one_layer_output": "swingby.theory.lemmas",
    "gaussian": "swingby.simulate.initialization",
    "Run": "swingby.simulate.result",
    "simulate_batch": "swingby.simulate.batch",
    "audit": "swingby.verify.audit",
    "Ledger": "swingby.verify.auditing.ledger",
    "Record": "swingby.verify.auditing.record",
    "check": "swingby.verify.check",
    "Report": "swingby.verify.checking.report",
    "predict": "swingby.verify.predict",
    "predict_gaussian": "swingby.verify.predict",
    "predict_network": "swingby.verify.predict_network",
    "NetworkSchedule": "swingby.verify.predict_network",
    "crossing_function": "swingby.verify.gradients",
    "predict_batch": "swingby.verify.predict_batch",
    "BatchSchedule": "swingby.verify.predict_batch",
    "predict_swing_batch": "swingby.verify.predict_swing",
    "BatchSwing": "swingby.verify.predict_swing",
    "Schedule": "swingby.verify.schedule",
    "compare": "swingby.verify.compare",
    "Comparison": "swingby.verify.comparing.comparison",
    "Stages": "swingby.theory.law.stages",
    "paper_tables": "swingby.verify.compare",
    "certify": "swingby.verify.certify",
    "Certificate": "swingby.verify.certification.certificate",
    "certify_assumptions": "swingby.verify.check",
    "hunt": "swingby.verify.hunt",
    "sweep": "swingby.sweeping.sweep",
    "SweepGrid": "swingby.sweeping.grid",
    "SweepResult": "swingby.sweeping.result",
    "PhaseDiagram": "swingby.sweeping.picture",
    "Disagreements": "swingby.sweeping.result",
    "Hunt": "swingby.verify.hunt",
}

#: Folders that are loaded like names; `simulate` can be called, see its docstring.
_FOLDERS = ("diffusion", "figures", "relu", "simulate", "testing", "training")

__all__ = ["__version__", *_FOLDERS, *sorted(_HOME)]

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


def __getattr__(name: str) -> Any:
    if name in _FOLDERS:
        return importlib.import_module(f"swingby.{name}")
    home = _HOME.get(name)
    if home is None:
        from swingby.errors import suggestion

        hint = suggestion(name, __all__)
        raise AttributeError(f"module 'swingby' has no attribute {name!r}{hint}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
