"""The statement of an exported file, spelled from what is checked; ``check.py`` calls it.

One spelling for each file: letters with what they stand for, hypotheses, and what is shown. A
heading begins a line, and what stands under it is indented.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

#: What an assumption is about, before its relation.
_OVER = {
    "": "",
    "concept": "every a_k: ",
    "pair": "every a_i > a_j: ",
    "entry": "every entry of W(0): ",
}

#: Under a heading, texts; headings without any are left out.
_Blocks = Iterator[tuple[str, Iterable[str]]]


def statement(content: dict[str, Any]) -> str:
    """What a file states, on lines; ValueError where a field would break them."""
    kind = content["format"].rpartition(" ")[0].removeprefix("swingby ")
    spelled = {"proof": _proof, "sums": _proof, "witness": _witness, "matrices": _matrices}
    spelled |= {"identity": _identity, "words": _words}
    lines = []
    for heading, texts in spelled[kind](content):
        listed = list(texts)
        lines += [heading, *(f"  {text}" for text in listed)] if listed else []
    if not all(line.isprintable() for line in lines):
        raise ValueError("a text that is not on one line")
    return "\n".join(lines)


def _table(sums: dict[str, Any]) -> list[str]:
    return [
        f"{name} = sum of {term} for {index} from {low} to {high}"
        for name, (term, index, low, high) in sorted(sums.items())
    ]


def _proof(content: dict[str, Any]) -> _Blocks:
    yield "letters", (f"{name} {sign}" for name, sign in sorted(content["signs"].items()))
    yield "whole numbers", sorted(content["whole"])
    named = (fact["texts"] for fact in content.get("facts", []) if fact["rule"] == "name")
    names = (f"{name} = {value}" for name, value, _ in named)
    yield "where", [*_table(content.get("sums", {})), *names]
    yield "given", content["given"]
    yield "then", (step["relation"] for step in content["shows"])


def _witness(content: dict[str, Any]) -> _Blocks:
    if "on" in content:
        letter, low, high = content["on"]
        yield f"for all {letter} from {low} to {high}", [content["holds"]]
        return
    yield "where", _table(content.get("sums", {}))
    assumed = (f"{_OVER[over]}{relation}" for over, relation in content["assumed"])
    yield "given", [*content["given"], *assumed]
    if "run" in content:
        run, words = content["run"], {"when": "at t_0", "during": "from t_0 to t", "until": "at t"}
        conditions = [f"{words[key]}: {x}" for key in words for x in run[key]]
        yield f"along trajectories of {run['dynamics']}", conditions or ["at every step"]
    if "holds" in content:
        yield "for some numbers", content["holds"]
    else:
        yield "not always", [content["fails"]]


def _matrices(content: dict[str, Any]) -> _Blocks:
    letters = sorted(content["letters"].items())
    matrices = (
        f"{name} {rows} x {columns} {trait}".strip() for name, (rows, columns, trait) in letters
    )
    numbers = (f"{name} {sign}" for name, sign in sorted(content["scalars"].items()))
    yield "letters", [*matrices, *numbers]
    yield "given", content["given"]
    yield "then" if "proof" in content else "not always all of", content["says"]


def _identity(content: dict[str, Any]) -> _Blocks:
    yield "positive letters", sorted(content["letters"])
    for case in content["cases"]:
        match case["rates"]:
            case dict(rates):
                moving = (f"d{name}/dt = {rate}" for name, rate in sorted(rates.items()))
                yield "with", moving
                left = f"d/dt ({case['left']})" if rates else case["left"]
            case int(concepts):
                left = f"d/dt ({case['left']}) by (D.2) with d = {concepts}"
            case step:
                left = f"({case['left']}) after a step of {step.replace(' ', ' with d = ')}"
        yield "wherever both sides are defined", [f"{left} = {case['right']}"]


def _words(content: dict[str, Any]) -> _Blocks:
    letters = sorted(content["letters"].items())
    matrices = (
        f"{name} {rows} x {columns}, transposed {flip}{', of each sample' * sample}"
        for name, (flip, rows, columns, sample) in letters
    )
    yield "letters", [*matrices, *(f"{name} number" for name in sorted(content["scalars"]))]
    rules = (f"{x}*{y} = {'*'.join(to) or 'I'}" for x, y, to in content["rules"])
    yield "where", [*rules, *(f"{name} = {value}" for name, value in content["where"])]
    yield "then", map(_identity_of_words, content["says"])


def _identity_of_words(says: dict[str, Any]) -> str:
    left, right = (f"trace({says[x]})" if says["trace"] else says[x] for x in ("left", "right"))
    if not says["along"]:
        return f"{left} = {right}"
    of, direction = says["along"]
    return f"d/d{of} {left} along {direction} = trace(({says['right']})^T*{direction})"
