"""Mends made in one text, and proved: what is read from the new text is the old document with the mends, or nothing
is changed."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from codegen.passes.fixing.edits import Edit, Writer, apply, overlap
from codegen.passes.fixing.outline import Node, Place, find, json_outline, yaml_outline
from codegen.passes.mend import Mend, Rename, Replace, Require
from codegen.schema.pointers import resolve, tokens
from codegen.specs.source import SourceFile

Placed: TypeAlias = tuple[str, Mend]
"""A mend and the pointer of the value that it is for."""


@dataclass(frozen=True, slots=True)
class FixedText:
    """A text after some mends."""

    text: str
    made: tuple[Placed, ...]
    """Those of the wanted mends that were made."""


def fix_text(path: str, text: str, mends: Iterable[Placed]) -> FixedText:
    """`text` with as many of `mends` as can be made at once; `path` tells JSON from YAML.

    Some that get in each other's way are left for a second time. Nothing else changes: the new text is read, and its
    value compared with what the mends make of the old one. Raises nothing on texts that cannot be read: no mend is
    made in them.
    """
    source = SourceFile.of_text(path, text)
    parsed = source.parse()
    if parsed.faults:
        return FixedText(text, ())
    outline = yaml_outline(text) if source.is_yaml else json_outline(text)
    wanted = list(dict.fromkeys(mends))
    if outline is None:
        return FixedText(text, ())
    fixer = _Fixer(source, parsed.value, outline)
    at_once = fixer.fix(wanted)
    if at_once is not None:
        return at_once
    for one in wanted:  # one of them is to blame: whichever works alone is made, the others have their turn later
        alone = fixer.fix([one])
        if alone is not None and alone.made:
            return alone
    return FixedText(text, ())


@dataclass(slots=True)
class _Change:
    """One change of the document, and of its text."""

    placed: list[Placed]
    edits: list[Edit]
    """None are needed where an alias stands for a value that is mended where it is written."""
    make: Callable[[Any], None]


class _Fixer:
    def __init__(self, source: SourceFile, value: Any, outline: Node) -> None:
        self._source = source
        self._value = value
        self._outline = outline
        self._writer = Writer(source.text, source.is_yaml)

    def fix(self, wanted: Sequence[Placed]) -> FixedText | None:
        """The text with the mends that fit together; None where what is read from it is not what was meant."""
        changes: list[_Change] = []
        taken: list[Edit] = []
        for change in self._changes(wanted):
            if not any(overlap(edit, other) for edit in change.edits for other in taken):
                changes.append(change)
                taken += change.edits
        if not taken:
            return FixedText(self._source.text, ())
        expected = copy.deepcopy(self._value)
        for change in changes:
            change.make(expected)
        text = apply(self._source.text, taken)
        parsed = SourceFile.of_text(self._source.path, text).parse()
        if parsed.faults or not same(parsed.value, expected):
            return None
        return FixedText(text, tuple(placed for change in changes for placed in change.placed))

    def _changes(self, wanted: Sequence[Placed]) -> Iterable[_Change]:
        required: dict[str, list[tuple[str, Placed]]] = {}
        for pointer, mend in wanted:
            place = find(self._outline, pointer)
            if place is None:
                continue
            if isinstance(mend, Require):
                around, name = _around(pointer)
                required.setdefault(around, []).append((name, (pointer, mend)))
            else:
                change = self._change(pointer, mend, place)
                if change is not None:
                    yield change
        for around, members in required.items():
            change = self._requirement(around, members)
            if change is not None:
                yield change

    def _change(self, pointer: str, mend: Mend, place: Place) -> _Change | None:
        around, name = pointer.rpartition("/")[0], tokens(pointer)[-1]
        edits: list[Edit] | None
        match mend:
            case Replace(text):
                value = json.loads(text)
                edits = self._writer.replaced(place, text)
                make = _assignment(around, name, value)
            case Rename(key):
                parent = resolve(self._value, around)
                edits = None if not isinstance(parent, dict) or key in parent else self._writer.renamed(place, key)
                make = _renaming(around, name, key)
            case _:
                edits = self._writer.removed(place)
                make = _removal(around, name)
        if place.through_alias:
            edits = []
        return None if edits is None else _Change([(pointer, mend)], edits, make)

    def _requirement(self, around: str, members: Sequence[tuple[str, Placed]]) -> _Change | None:
        """All that one object has to require, and the words inside its properties that go."""
        place = find(self._outline, around)
        owner = resolve(self._value, around)
        listed = owner.get("required", []) if isinstance(owner, dict) else None
        if place is None or not isinstance(listed, list):
            return None
        edits: list[Edit] = []
        made: list[tuple[str, Placed]] = []
        for name, placed in members:
            there = find(self._outline, placed[0])
            removed = None if there is None else [] if there.through_alias else self._writer.removed(there)
            if removed is not None and not any(overlap(one, other) for one in removed for other in edits):
                edits += removed
                made.append((name, placed))
        names = [name for name, _ in made if name not in listed]
        if names and not place.through_alias:
            added = self._writer.required(place, names)
            if added is None:
                return None
            edits += added
        if not made:
            return None

        def make(document: Any) -> None:
            for _, (pointer, _) in made:
                _removal(pointer.rpartition("/")[0], "required")(document)
            if names:
                object_ = resolve(document, around)
                object_["required"] = [*object_.get("required", []), *names]

        return _Change([placed for _, placed in made], edits, make)


def _around(pointer: str) -> tuple[str, str]:
    """The pointer of the object that has the property in whose schema `required` stands, and the property's name."""
    path = pointer.rsplit("/", 3)
    return path[0], tokens(f"/{path[2]}")[0]


def _assignment(around: str, name: str, value: Any) -> Callable[[Any], None]:
    def make(document: Any) -> None:
        parent = resolve(document, around)
        parent[int(name) if isinstance(parent, list) else name] = value

    return make


def _renaming(around: str, name: str, key: str) -> Callable[[Any], None]:
    def make(document: Any) -> None:
        parent = resolve(document, around)
        members = [(key if each == name else each, member) for each, member in parent.items()]
        parent.clear()
        parent.update(members)

    return make


def _removal(around: str, name: str) -> Callable[[Any], None]:
    def make(document: Any) -> None:
        del resolve(document, around)[name]

    return make


def same(one: Any, other: Any) -> bool:
    """Whether two documents are the same, the order of keys and the kinds of numbers included.

    Only where a member was added its position is free: `required` may come before `properties` or after it.
    """
    return json.dumps(_ordered(one)) == json.dumps(_ordered(other))


def _ordered(value: Any) -> Any:
    """The value with `required` of each object at its end."""
    if isinstance(value, dict):
        members = [(key, _ordered(member)) for key, member in value.items()]
        return dict(sorted(members, key=lambda member: member[0] == "required"))
    return [_ordered(member) for member in value] if isinstance(value, list) else value
