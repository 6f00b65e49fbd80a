"""The changes that are tried: all that cosmic-ray makes, drawn at random from every module."""

from __future__ import annotations

import ast
import hashlib
import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: What the score is about: the theory, the checker, the predictor and the certifier.
SCOPE = (
    "swingby/theory/**/*.py",
    "swingby/verify/check.py",
    "swingby/verify/checking/evaluation.py",
    "swingby/verify/checking/evaluation.py",
    "swingby/verify/checking/feasibility.py",
    "swingby/verify/checking/evaluation.py",
    "swingby/verify/predict.py",
    "swingby/verify/schedule.py",
    "swingby/verify/schedule.py",
    "swingby/verify/predict.py",
    "swingby/proofs/certify/certify.py",
    "swingby/proofs/certify/*.py",
    "swingby/verify/checking/*.py",
)


@dataclass(frozen=True)
class Change:
    """One small change: its module, the line, and the source before and after."""

    module: str
    operator: str
    occurrence: int
    line: int
    before: str
    after: str

    @property
    def key(self) -> str:
        """A name that is another one when the module has changed."""
        return fingerprint(f"{self.module} {self.operator} {self.occurrence} {self.before}")

    @property
    def shown(self) -> str:
        """The changed line, before and after."""
        rows = zip(self.before.splitlines(), self.after.splitlines(), strict=False)
        old, new = next(((a, b) for a, b in rows if a != b), ("", ""))
        return f"{old.strip()}  ->  {new.strip()}"


def fingerprint(text: str) -> str:
    """Sixteen hexadecimal digits of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def modules() -> list[str]:
    """The modules in scope, as paths from the root."""
    found = (path for pattern in SCOPE for path in sorted(ROOT.glob(pattern)))
    return [str(path.relative_to(ROOT)) for path in found if path.name != "__init__.py"]


def sample(number: int, seed: int, only: str) -> Iterator[Change]:
    """The changes to try: of every module so many, drawn at random; modules in random order."""
    for module in random.Random(seed).sample(modules(), len(modules())):
        if only in module:
            found = changes(module, random.Random(f"{seed} {module}"))
            yield from itertools.islice(found, number)


def changes(module: str, rng: random.Random) -> Iterator[Change]:
    """The changes that cosmic-ray makes to a module and that are one, in random order."""
    from cosmic_ray import plugins
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.mutating import mutate_code

    before = (ROOT / module).read_text(encoding="utf-8")
    unchanged, nodes = _meaning(before), list(ast_nodes(get_ast(before)))
    places = []
    for name in plugins.operator_names():
        kind = plugins.get_operator(name)
        if kind.arguments():
            continue
        starts = (start for node in nodes for start, _ in kind().mutation_positions(node))
        places += [(name, number, line) for number, (line, _) in enumerate(starts)]
    rng.shuffle(places)
    for name, number, line in places:
        after = mutate_code(before, plugins.get_operator(name)(), number)
        try:
            if after is not None and _meaning(after) != unchanged:
                yield Change(module, name, number, line, before, after)
        except SyntaxError:
            continue


def _meaning(source: str) -> str:
    """The syntax tree without annotations."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.FunctionDef):
            node.returns = None
        elif isinstance(node, ast.AnnAssign):
            node.annotation = ast.Constant(None)
    return ast.dump(tree)
