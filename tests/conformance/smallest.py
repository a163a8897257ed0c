"""Makes a counterexample small, so that a person can read it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

_TRIES = 200


def smallest(schema: Any, value: Any, fails: Callable[[Any, Any], bool]) -> tuple[Any, Any]:
    """Parts of `schema` and `value` that still fail together, and no longer do when anything more is left out.

    `fails` has to answer False to what is no schema. It is asked a few hundred times at most.
    """
    tries = _TRIES
    progress = True
    while progress and tries > 0:
        progress = False
        for candidate in (*_smaller(schema, value), *((schema, less) for less in _without_one(value))):
            tries -= 1
            if tries <= 0:
                break
            if fails(*candidate):
                schema, value = candidate
                progress = True
                break
    return schema, value


def _smaller(schema: Any, value: Any) -> Iterator[tuple[Any, Any]]:
    return ((less, value) for less in _without_one(schema))


def _without_one(whole: Any) -> Iterator[Any]:
    """Copies of a JSON value that lack one member or item each, outer ones first."""
    waiting: list[tuple[str | int, ...]] = [()]
    while waiting:
        path = waiting.pop(0)
        here = _at(whole, path)
        keys: list[str | int] = list(here) if isinstance(here, dict) else list(range(len(here)))
        for key in keys:
            less = copy.deepcopy(whole)
            del _at(less, path)[key]
            yield less
            if isinstance(here[key], (dict, list)):
                waiting.append((*path, key))


def _at(value: Any, path: tuple[str | int, ...]) -> Any:
    for token in path:
        value = value[token]
    return value
