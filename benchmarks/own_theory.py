"""Machine-made faults in the shipped theories, hunted: ``python -m benchmarks.own_theory``.

A mutant is a theory with a prediction times 2 or 1.1, one sign or one power changed, or one
assumption dropped. It is *killable* where a search of another kind, with thousands of settings and
another seed, meets a violation that stays under a rounding of its numbers. Of these, the share that
``hunt`` finds within 60 s, whose numbers have three digits at most, and that ``rerun()`` confirms.
True theories are hunted with many seeds: a counterexample there is a false alarm.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import sympy as sp

import swingby
from swingby.errors import InvalidInput
from swingby.own_theory.hunting import is_confirmed
from swingby.own_theory.kinds import Bound, Outcome, Passage, Prediction, Value
from swingby.own_theory.runs import judge, worst
from swingby.own_theory.settings import samples
from swingby.own_theory.theory import Theory
from swingby.own_theory.theory_files import theories_in

FOLDER = Path(__file__).resolve().parents[1] / "docs/theories"
#: The field of a prediction that a mutant changes.
AIM = {Passage: "time", Value: "value", Bound: "below"}


def shipped() -> dict[str, Theory]:
    """The theories of the documentation, by file."""
    return {
        path.stem: next(iter(theories_in(path).values())) for path in sorted(FOLDER.glob("*.py"))
    }


def mutants(theory: Theory) -> Iterator[tuple[str, Theory]]:
    """Every mutant with its name."""
    for name in theory.assume:
        rest = {other: r for other, r in theory.assume.items() if other != name}
        yield f"without {name!r}", replace(theory, assume=rest)
    for rank, prediction in enumerate(theory.predict):
        for change, mutant in changed(prediction):
            predict = [*theory.predict]
            predict[rank] = mutant
            yield f"{prediction.name}: {change}", replace(theory, predict=predict)


def changed(prediction: Prediction) -> Iterator[tuple[str, Prediction]]:
    """A prediction with one change."""
    if isinstance(prediction, Outcome):
        for factor in (2, 1.1):
            labels = {label: scaled(c, factor) for label, c in prediction.predicted.items()}
            yield f"edges x {factor}", replace(prediction, predicted=labels)
        return
    field = AIM.get(type(prediction))
    if field is None:
        return
    aim = sp.sympify(getattr(prediction, field))
    if not aim.free_symbols:
        return
    for factor in (2, 1.1):
        used = 1 / factor if isinstance(prediction, Bound) else factor
        yield f"x {factor}", replace(prediction, **{field: used * aim})
    for kind, atoms in (("sign", sp.Add), ("power", sp.Pow)):
        # The last in the order of printing: the same on every machine.
        for atom in sorted(aim.atoms(atoms), key=str)[-1:]:
            if kind == "sign":
                *rest, last = atom.args
                new = sp.Add(*rest, -last)
            else:
                new = sp.Pow(atom.base, atom.exp * 2)
            yield (
                f"one {kind}: {atom} is {new}",
                replace(prediction, **{field: aim.xreplace({atom: new})}),
            )


def scaled(condition: sp.Basic, factor: float) -> sp.Basic:
    """A condition with the right sides of its relations multiplied."""
    relations = condition.atoms(sp.core.relational.Relational)
    return condition.xreplace({r: r.func(r.lhs, r.rhs * factor) for r in relations})


def is_killable(theory: Theory, origin: Theory, dropped: str, count: int = 1000) -> bool:
    """Whether plain draws meet a violation: of the mutant, and outside what it dropped."""
    rng = np.random.default_rng(987_654)
    sources = [(theory, count, "")]
    if dropped:
        sources.append((origin, 200, dropped))
    for source, total, outside in sources:
        try:
            for batch in samples(source, total, rng, outside):
                # Settings of the origin are settings of the mutant: the numbers are the same.
                own = replace(batch, family=family_of(theory, batch.family.length))
                ratio = worst(judge(own, 1))
                for index in np.argsort(-ratio)[:2]:
                    if ratio[index] > 1 and is_confirmed(own.take(index), 2):
                        return True
        except InvalidInput:
            continue
    return False


def family_of(theory: Theory, length: int):
    """The family of a theory."""
    from swingby.own_theory.settings import family

    return family(theory, length)


def hunt_mutants(theories: dict[str, Theory], seconds: float) -> None:
    """Print a line for every mutant, and the shares."""
    total = found = short = again = refused = 0
    slowest = 0.0
    for file, theory in theories.items():
        for name, mutant in mutants(theory):
            begun = time.process_time()
            try:
                hunt = swingby.hunt(mutant, seconds=seconds, rng=0)
            except InvalidInput as error:
                refused += 1
                print(f"{file}: {name}: refused: {error}", flush=True)
                continue
            used = time.process_time() - begun
            if hunt.violation is not None:
                total, found = total + 1, found + 1
                slowest = max(slowest, used)
                short += hunt.violation.longest <= 3
                confirmed = hunt.rerun()
                again += confirmed
                words = f"found in {used:.1f} s, {hunt.violation.setting.text()}, again {confirmed}"
            else:
                dropped = name.partition("'")[2][:-1] if name.startswith("without") else ""
                killable = is_killable(mutant, theory, dropped)
                total += killable
                words = "MISSED" if killable else "not killable by 1000 plain draws"
            print(f"{file}: {name}: {words}", flush=True)
    print(f"killable {total}, found {found} ({found / max(total, 1):.1%}), slowest {slowest:.1f} s")
    print(f"of {found}: at most three digits {short}, rerun() true {again}; refused {refused}")


def hunt_true(theories: dict[str, Theory], hunts: int, seconds: float) -> None:
    """Print every counterexample to a true theory, and their number."""
    alarms = 0
    for file, theory in theories.items():
        for seed in range(hunts):
            hunt = swingby.hunt(theory, seconds=seconds, rng=seed)
            if hunt.found:
                alarms += 1
                print(f"FALSE ALARM {file}, seed {seed}: {hunt}", flush=True)
        print(f"{file}: {hunts} hunts", flush=True)
    print(f"true theories: {alarms} counterexamples in {hunts * len(theories)} hunts")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="files of docs/theories, by default all")
    parser.add_argument("--hunts", type=int, default=3, help="hunts of each true theory")
    parser.add_argument("--no-mutants", action="store_true", help="hunt the true theories alone")
    parser.add_argument("--seconds", type=float, default=60)
    options = parser.parse_args()
    chosen = {
        name: theory
        for name, theory in shipped().items()
        if not options.names or name in options.names
    }
    if not options.no_mutants:
        hunt_mutants(chosen, options.seconds)
    hunt_true(chosen, options.hunts, options.seconds)
