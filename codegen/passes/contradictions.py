"""Schemas that nothing can meet, and values of an enum that nothing else agrees with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from codegen.diagnostics import Diagnostic
from codegen.passes import kinds as k
from codegen.passes.mend import Mend, Replace
from codegen.passes.possible import GROUPS
from codegen.passes.spelling import shown, spelled, unquoted
from codegen.passes.subject import ToolSchema
from codegen.passes.verdict import Key, Reason, Verdict
from codegen.passes.vocabulary import KEYWORDS

_HARMLESS: Final = frozenset(word for word, keyword in KEYWORDS.items() if not keyword.asserts) | {"type", "format"}
"""Keywords that alone contradict nothing."""
_LISTED: Final = _HARMLESS | {"enum", "const"}
_OBJECT_WORDS: Final = _HARMLESS | {"properties", "required", "additionalProperties"}


def check_contradictions(subject: ToolSchema) -> Iterator[Diagnostic]:
    """Each place where no value can be valid (`unsatisfiable`), and each value of an enum that cannot be one
    (`enum-misfit`)."""
    for pointer, schema in subject.places:
        is_plain = _is_plain(schema) and (pointer or "enum" not in schema)
        if is_plain or subject.hides(schema) or not subject.document.has(pointer):
            continue
        verdict = subject.possible.of(pointer)
        if "enum" in schema and verdict.kinds:
            yield from _enum_misfits(subject, pointer, schema)
        if pointer == "" and subject.part == "parameters":
            yield from _no_arguments(subject, verdict)
        elif not verdict.intended:
            for reason in verdict.reasons:
                if _teller(subject, pointer, reason) == pointer:
                    yield _finding(subject, pointer, schema, verdict, reason)
        if "$ref" in schema or "allOf" in schema:
            yield from _unusable_properties(subject, pointer)


def _is_plain(schema: dict[str, Any]) -> bool:
    """Whether a glance shows that a schema contradicts itself nowhere, as most do."""
    if _HARMLESS.issuperset(schema):
        return True
    if _LISTED.issuperset(schema) and "const" not in schema:
        types = k.kinds_of_type(schema.get("type"))
        return not isinstance(schema.get("type"), list) and _all_of(schema["enum"], types)
    if not _OBJECT_WORDS.issuperset(schema) or not k.kinds_of_type(schema.get("type")) & k.OBJECT:
        return False
    properties = schema.get("properties", {})
    for name in schema.get("required", ()):
        member = properties.get(name)
        if not isinstance(member, dict) or not (
            _HARMLESS.issuperset(member) or ("enum" in member and _is_plain(member))
        ):
            return False
    return True


def _all_of(values: list[Any], kinds: int) -> bool:
    return bool(values) and all(k.kind_of(value) & kinds for value in values)


def _no_arguments(subject: ToolSchema, verdict: Verdict) -> Iterator[Diagnostic]:
    """Arguments are objects, whatever else the schema would allow."""
    if verdict.kinds & k.OBJECT:
        return
    if not verdict.reasons:
        yield subject.problem("unsatisfiable", "", "no call of the tool can be valid: it allows no object", _OBJECT)
    for reason in verdict.reasons:
        if reason.kinds & k.OBJECT:
            text, hint = _explained(subject, reason)
            yield subject.problem("unsatisfiable", reason.culprit, f"no call of the tool can be valid: {text}", hint)


_OBJECT: Final = 'allow "type": "object"'


def _finding(subject: ToolSchema, pointer: str, schema: dict[str, Any], verdict: Verdict, reason: Reason) -> Diagnostic:
    what = "value" if not verdict.kinds else k.noun(reason.kinds)
    text, hint = _explained(subject, reason)
    below = reason.culprit if reason.culprit.startswith(f"{pointer}/") else pointer
    mends: list[Mend] = []
    if below == f"{pointer}/enum" and all(_fits_unquoted(schema, value) for value in schema["enum"]):
        mends += [_unquote(value, f"/{index}") for index, value in enumerate(schema["enum"])]
    return subject.problem("unsatisfiable", below, f"no {what} can be valid here: {text}", hint, *mends)


def _explained(subject: ToolSchema, reason: Reason) -> tuple[str, str]:
    """The reason, with that of the value inside where this one is told nowhere else, and what to do about it."""
    if reason.inner and _leads_back(subject, reason):
        text = f"{reason.text}: it would have to hold another one of its like, and so on without end"
        return text, "let the values end somewhere: do not require it, or allow null"
    if len(reason.inner) < 2 or any(subject.document.at(place) is False for place in reason.inner):
        return reason.text, reason.hint
    inner = subject.possible.of(*reason.inner).reasons
    return (f"{reason.text}: {inner[0].text}" if inner else reason.text), reason.hint


def _leads_back(subject: ToolSchema, reason: Reason) -> bool:
    """Whether the schemas of the value inside come back to themselves, and nothing else is wrong with them."""
    seen: set[Key] = set()
    while reason.inner:
        if reason.inner in seen:
            return True
        seen.add(reason.inner)
        reasons = subject.possible.of(*reason.inner).reasons
        if not reasons:
            return False
        reason = reasons[0]
    return False


def _teller(subject: ToolSchema, pointer: str, reason: Reason) -> str:
    """The place at which the reason is told: where it comes from, so that it is told once.

    Where schemas rule each other out in a circle, the first of them tells it.
    """
    way = [pointer]
    while (following := _source(subject, way[-1], reason)) is not None:
        if following in way:
            return min(way[way.index(following) :])
        way.append(following)
        reason = subject.possible.of(following).reasons[0]
    return way[-1]


def _source(subject: ToolSchema, pointer: str, reason: Reason) -> str | None:
    """A schema that the one at `pointer` is made of, or that is for a value inside, and that is impossible itself."""
    possible = subject.possible
    for part in possible.parts(pointer):
        if _is_impossible(subject, part, reason.kinds):
            return part
    for place in reason.inner:
        if _is_impossible(subject, place, k.ALL):
            return place
    group, _, keyword = reason.culprit.rpartition("/")
    if keyword in GROUPS:
        places = [f"{reason.culprit}/{index}" for index in range(len(subject.document.at(group)[keyword]))]
        if all(_is_impossible(subject, place, k.ALL) for place in places):
            return places[0]
    return None


def _is_impossible(subject: ToolSchema, place: str, kinds: int) -> bool:
    """Whether a place that is looked at has no values of some kinds, and was not meant to have none."""
    verdict = subject.possible.of(place)
    return not verdict.kinds & kinds and bool(verdict.reasons) and not verdict.intended and place in subject.pointers


def _unusable_properties(subject: ToolSchema, pointer: str) -> Iterator[Diagnostic]:
    """Optional properties that the schemas which hold at once describe and never allow."""
    possible = subject.possible
    told = {(name, place) for part in possible.parts(pointer) for name, place, _ in possible.unusable(part)}
    for name, place, reason in possible.unusable(pointer):
        if (name, place) not in told:
            yield unusable(subject, pointer, name, place, reason)


def unusable(subject: ToolSchema, pointer: str, name: str, place: str, reason: Reason) -> Diagnostic:
    """The finding that an optional property can never be given, at its description if that is inside `pointer`."""
    closed = reason.culprit.endswith("/additionalProperties")
    text = "another schema that holds here closes the object without it" if closed else reason.text
    message = f"the property {shown(name)} can never be given here: {text}"
    hint = "describe it where the object is closed, or close the object with `unevaluatedProperties` instead"
    below = place if place.startswith(f"{pointer}/") else pointer
    return subject.problem("unsatisfiable", below, message, hint if closed else reason.hint)


def _enum_misfits(subject: ToolSchema, pointer: str, schema: dict[str, Any]) -> Iterator[Diagnostic]:
    values = schema["enum"]
    fits = [_fits(subject, pointer, schema, value) for value in values]
    for index, value in enumerate(values):
        if fits[index]:
            continue
        mends: list[Mend] = []
        hint = "remove the value, or mend what stands beside `enum`"
        if value is None and isinstance(schema.get("type"), str):
            hint = f'write "type": ["{schema["type"]}", "null"], or remove null from `enum`'
        if isinstance(value, str) and _fits_unquoted(schema, value):
            mends, hint = [_unquote(value)], f"write {spelled(value)} without quotes"
        message = f"{shown(value)} is in `enum` and refused by what stands beside it"
        yield subject.problem("enum-misfit", f"{pointer}/enum/{index}", message, hint, *mends)
    named = schema.get("type")
    for index, name in enumerate(named if isinstance(named, list) else ()):
        kinds = k.kinds_of_type(name)
        if not any(fit and k.kind_of(value) & kinds for fit, value in zip(fits, values, strict=True)):
            message = f"`type` allows {name} and no value of `enum` is one"
            hint = f"add {name} to `enum`, or leave it out of `type`" if name == "null" else "leave it out of `type`"
            yield subject.problem("enum-misfit", f"{pointer}/type/{index}", message, hint)


def _fits(subject: ToolSchema, pointer: str, schema: dict[str, Any], value: Any) -> bool:
    """Whether a schema takes a value of its own enum."""
    if not k.kind_of(value) & k.kinds_of_type(schema.get("type")):
        return False
    return _LISTED.issuperset(schema) or subject.judge.is_valid(pointer, value) is not False


def _fits_unquoted(schema: dict[str, Any], value: Any) -> bool:
    """Whether a value of an enum is the text of one that would fit. Sure only where nothing but `type` is beside."""
    if not isinstance(value, str) or spelled(value) is None or not _LISTED.issuperset(schema):
        return False
    return bool(k.kind_of(unquoted(value)) & k.kinds_of_type(schema.get("type")))


def _unquote(value: str, below: str = "") -> Mend:
    text = spelled(value)
    assert text is not None
    return Replace(text, below)
