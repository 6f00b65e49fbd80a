"""Seals: a digest in a file, by which a later reader sees that the file is as it was written.

A digest is against damage and careless editing; it is no signature.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any


def sealed(content: Mapping[str, Any], arrays: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Plain values, with a digest of them and of some arrays under the name sha256.

    >>> unsealed(sealed({"steps": 3}))
    {'steps': 3}
    >>> unsealed({**sealed({"steps": 3}), "steps": 4})
    Traceback (most recent call last):
        ...
    ValueError: it was changed after it was written
    """
    return {**content, "sha256": _digest(content, arrays or {})}


def unsealed(content: Any, arrays: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The content of a seal; ValueError where it, or an array, was changed since."""
    if not isinstance(content, dict) or "sha256" not in content:
        raise ValueError("it has no digest of its content")
    facts = {name: value for name, value in content.items() if name != "sha256"}
    if content["sha256"] != _digest(facts, arrays or {}):
        raise ValueError("it was changed after it was written")
    return facts


def _digest(content: Mapping[str, Any], arrays: Mapping[str, Any]) -> str:
    # Once through JSON: what is read from it has texts as keys, and lists.
    canonical = json.loads(json.dumps(content))
    digest = hashlib.sha256(json.dumps(canonical, sort_keys=True).encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(json.dumps([name, array.dtype.str, list(array.shape)]).encode())
        digest.update(array.tobytes())
    return digest.hexdigest()
