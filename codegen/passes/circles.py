"""References that come back to where they started without going into a value: judging one would never end.

JSON Schema Core (2020-12, section 9.4.1) leaves the outcome open; the gate takes such a schema for one that allows
everything.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from codegen.diagnostics import Diagnostic
from codegen.passes.spelling import shown
from codegen.passes.subject import ToolSchema
from codegen.schema.pointers import join

_LISTS: Final = ("allOf", "anyOf", "oneOf")
_SINGLE: Final = ("not", "if", "then", "else")
_MAPS: Final = ("dependentSchemas", "dependencies")


def check_circles(subject: ToolSchema) -> Iterator[Diagnostic]:
    """One problem for each reference that closes a circle."""
    finished: set[str] = set()
    for start, _ in subject.places:
        if start in finished:
            continue
        open_: dict[str, Iterator[tuple[str, str]]] = {start: _applied(subject, start)}
        while open_:
            here = next(reversed(open_))
            step = next(open_[here], None)
            if step is None:
                finished.add(here)
                del open_[here]
                continue
            keyword, there = step
            if there in open_:
                reference = shown(subject.document.at(here).get(keyword, there))
                text = f"{reference} leads back to itself before it comes to a rule, so it rules nothing"
                hint = (
                    "describe the value where the reference leads, or go one level into it, as in properties or items"
                )
                yield subject.problem("endless-reference", join(here, keyword), text, hint)
            elif there not in finished:
                open_[there] = _applied(subject, there)


def _applied(subject: ToolSchema, pointer: str) -> Iterator[tuple[str, str]]:
    """The schemas that are held against the same value as the one at `pointer`, with the keyword that says so."""
    schema: Any = subject.document.at(pointer)
    if not isinstance(schema, dict):
        return
    if isinstance(reference := schema.get("$ref"), str):
        target = subject.document.resolve(reference, pointer)
        if target is not None:
            yield "$ref", target
        if subject.hides(schema):
            return
    for keyword in _LISTS:
        members = schema.get(keyword)
        for index in range(len(members) if isinstance(members, list) else 0):
            yield keyword, join(pointer, keyword, index)
    for keyword in _SINGLE:
        if isinstance(schema.get(keyword), dict):
            yield keyword, join(pointer, keyword)
    for keyword in _MAPS:
        members = schema.get(keyword)
        for name, member in members.items() if isinstance(members, dict) else ():
            if isinstance(member, dict):
                yield keyword, join(pointer, keyword, name)
