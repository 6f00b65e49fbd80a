"""Old paths of modules that moved: they import for one release, with a warning."""

from __future__ import annotations

import importlib
import sys
import types
import warnings
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from typing import Any

from swingby.checkout import studies_module

#: Old and new path below ``swingby``, of a module or a folder; all in a folder moved with it.
MOVED = {
    "simulate.observe": "simulate.observation",
    "simulate.result": "simulate.trajectory",
    "diffusion": "lab.diffusion",
    "diffusion.theory": "lab.diffusion.signals",
    "diffusion.train": "lab.diffusion.course_training",
    "diffusion.vectors.compare": "lab.diffusion.vectors.vector_comparison",
    "diffusion.vectors.laws": "lab.diffusion.vectors.vector_prediction",
    "diffusion.vectors.setting": "lab.diffusion.vectors.vector_setting",
    "diffusion.vectors.train": "lab.diffusion.vectors.vector_training",
    "figures": "lab.figures",
    "figures.criteria": "lab.figures.stage_criteria",
    "figures.paper.stages": "lab.figures.paper.loss_stages",
    "figures.result": "lab.figures.figures_result",
    "figures.theory": "lab.figures.theory_runs",
    "figures.trained": "lab.figures.network_runs",
    "relu": "lab.relu",
    "relu.data": "lab.relu.data_report",
    "relu.results": "lab.relu.alignment",
    "report.numbers": "report.number_text",
    "report.text": "report.tables",
    "sweeping": "lab.sweeps",
    "sweeping.picture": "lab.sweeps.phase_diagram",
    "sweeping.result": "lab.sweeps.sweep_result",
    "theory.claims": "proofs.language",
    "theory.claims.formula": "proofs.language.formula_printer",
    "theory.claims.ledger": "proofs.language.claims",
    "theory.claims.text": "proofs.language.claim_text",
    "theory.claims.verdict": "theory.verdict",
    "theory.law.compiled": "theory.compiled_text",
    "theory.law.deep": "theory.law.deep_law",
    "theory.law.lanes": "theory.law.walk_lanes",
    "theory.proofs": "proofs.language",
    "theory.proofs.formulas": "proofs.language.formula_parser",
    "theory.reading": "theory.input_files",
    "testing.assertions": "testing.run_assertions",
    "testing.setting": "testing.assumption_setting",
    "training": "lab.networks",
    "training.data": "lab.networks.samples",
    "training.laws": "lab.networks.forecast",
    "training.model": "lab.networks.weights",
    "training.result": "lab.networks.training_run",
    "training.run": "lab.networks.training",
    "verify.audit": "proofs.audit.audit",
    "verify.auditing": "proofs.audit",
    "verify.certification": "proofs.certify",
    "verify.certification.replay": "proofs.checkers.replay",
    "verify.certify": "proofs.certify.certify",
    "verify.hunt": "proofs.hunt.hunt",
    "verify.hunting": "proofs.hunt",
    "verify.hunting.search": "proofs.hunt.trajectory_search",
    "verify.hunting.theorems": "proofs.hunt.theorem_search",
    "verify.prover": "proofs.prover",
    "verify.prover.algebra.dispatch": "proofs.prover.algebra.algebraic_claims",
    "verify.prover.check_identity": "proofs.checkers.check_identity",
    "verify.prover.check_proof": "proofs.checkers.check_proof",
    "verify.prover.check_witness": "proofs.checkers.check_witness",
    "verify.prover.judge": "proofs.prover.prove",
    "verify.prover.repaired.theorems": "proofs.prover.repaired.random_trials",
    "verify.prover.scalar.certificate": "proofs.prover.scalar.positivity_certificate",
    "verify.prover.scalar.dispatch": "proofs.prover.scalar.scalar_claims",
    "verify.prover.trajectories.judge": "proofs.prover.trajectories.trajectory_claims",
    "verify.prover.witness_files": "proofs.audit.witness_files",
}
#: Old path below ``swingby`` of modules that left the package for ``studies`` of a checkout.
LEFT = {
    "diffusion.plan": "studies.image_plan",
    "diffusion.study": "studies.image_study",
    "diffusion.verdicts": "studies.image_judgement",
    "relu.network": "studies.relu_descent",
    "relu.runs": "studies.relu_cells",
    "relu.verdicts": "studies.relu_threshold",
    "training.deep_networks": "studies.deep_networks",
    "training.studies": "studies.network_tables",
    "training.survival": "studies.survival",
}


def new_path(name: str) -> str | None:
    """Where a module lies now, or None for a path that never was one.

    >>> new_path("swingby.sweeping.grid"), new_path("swingby.theory.tasks")
    ('swingby.lab.sweeps.grid', None)
    """
    package, _, head = name.partition(".")
    tail = ""
    while head and package == "swingby":
        if head in LEFT and not tail:
            return LEFT[head]
        if head in MOVED:
            return f"swingby.{MOVED[head]}{tail}"
        head, _, last = head.rpartition(".")
        tail = f".{last}{tail}"
    return None


#: Public names that are paths as well: their old paths stay, and need no warning.
PUBLIC = ("swingby.diffusion.vectors",)
#: Folders that are public names still: what moved is below them.
FACES = ("swingby.training", "swingby.diffusion", "swingby.relu", "swingby.figures")


class MovedModules(MetaPathFinder, Loader):
    """Finds a module under its old path.

    It comes first: below a folder that was imported by its old path, another finder would load the
    same file a second time.
    """

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: types.ModuleType | None = None,
    ) -> ModuleSpec | None:
        """Return a spec for an old path, None for any other."""
        moved = fullname not in FACES and new_path(fullname) is not None
        return ModuleSpec(fullname, self) if moved else None

    def exec_module(self, module: types.ModuleType) -> None:
        """Import the module under its new path in place of `module`."""
        path = str(new_path(module.__name__))
        if module.__name__ not in PUBLIC:
            warnings.warn(
                f"{module.__name__} is {path} now; the next release removes the old path",
                DeprecationWarning,
                stacklevel=2,
            )
        if path.startswith("studies."):
            sys.modules[module.__name__] = studies_module(path, module.__name__)
        else:
            sys.modules[module.__name__] = importlib.import_module(path)


def names(module: str, home: str, *moved: str) -> Callable[[str], Any]:
    """``__getattr__`` of a module for names that live in another one now."""

    def load(name: str) -> Any:
        if name not in moved:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        text = f"{module}.{name} is in {home} now; the next release removes the old path"
        warnings.warn(text, DeprecationWarning, stacklevel=2)
        return getattr(importlib.import_module(home), name)

    return load


def install() -> None:
    """Let old paths be found; once in a process."""
    if not any(isinstance(finder, MovedModules) for finder in sys.meta_path):
        sys.meta_path.insert(0, MovedModules())
