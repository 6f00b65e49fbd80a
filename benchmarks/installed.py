"""How large each extra is: what it adds to the core, unpacked. ``python -m benchmarks.installed``.

Sizes are read from the records of the packages that are installed here, so run it where all are.
"""

from __future__ import annotations

from importlib.metadata import Distribution, PackageNotFoundError, distribution

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

EXTRAS = ("torch", "testing", "prove", "report", "cluster", "all")


def needed(*wanted: str) -> dict[str, Distribution]:
    """All packages that some requirements bring, by name."""
    found, seen = {}, set()
    waiting = [Requirement(one) for one in wanted]
    while waiting:
        one = waiting.pop()
        name, extras = canonicalize_name(one.name), frozenset(one.extras)
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        try:
            found[name] = distribution(name)
        except PackageNotFoundError:
            continue
        for text in found[name].requires or ():
            new = Requirement(text)
            if new.marker is None or any(new.marker.evaluate({"extra": e}) for e in (*extras, "")):
                waiting.append(new)
    return found


def size(packages: dict[str, Distribution]) -> float:
    """Megabytes of all their files."""
    files = (path for one in packages.values() for path in (one.files or ()))
    paths = (path.locate() for path in files)
    return sum(path.stat().st_size for path in paths if path.is_file()) / 1e6


def main() -> None:
    core = needed("swingby")
    print(f"core: {len(core) - 1} packages, {size(core):.0f} MB")
    for extra in EXTRAS:
        more = {n: d for n, d in needed(f"swingby[{extra}]").items() if n not in core}
        print(f"{extra}: {len(more)} more, {size(more):.0f} MB")


if __name__ == "__main__":
    main()
