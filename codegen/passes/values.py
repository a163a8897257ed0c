"""Defaults and examples that their own schema refuses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from codegen.diagnostics import Diagnostic
from codegen.passes import kinds as k
from codegen.passes.mend import Mend, Replace
from codegen.passes.spelling import shown, spelled, unquoted
from codegen.passes.subject import ToolSchema
from codegen.passes.vocabulary import KEYWORDS

_PLAIN: Final = frozenset(word for word, keyword in KEYWORDS.items() if not keyword.asserts) | {"type", "format"}
"""Keywords beside which only the type decides."""


def check_defaults(subject: ToolSchema) -> Iterator[Diagnostic]:
    """Each default that is not valid against the schemas that describe its value (`default-misfit`).

    That is the schema in which it stands, and for a property the others that hold for it through `$ref` and `allOf`.
    """
    stated = [(pointer, schema) for pointer, schema in subject.places if "default" in schema]
    if not stated:
        return
    fine: list[str] = []
    for pointer, schema in stated:
        reason = _refusal(subject, pointer, schema, schema["default"])
        if reason:
            yield _misfit(subject, "default-misfit", pointer, schema, ("default",), reason)
        else:
            fine.append(pointer)
    for pointer, others in _described_again(subject, fine):
        default = subject.document.at(pointer)["default"]
        for other in others:
            if subject.judge.is_valid(other, default) is False:
                text = f"the default {shown(default)} is refused where the property is described a second time"
                hint = "change the default, or one of the two schemas"
                yield subject.problem("default-misfit", f"{pointer}/default", f"{text}; it is not applied", hint)
                break


def check_examples(subject: ToolSchema) -> Iterator[Diagnostic]:
    """Each value of `examples`, or of OpenAPI's `example`, that is not valid against its schema (`example-misfit`)."""
    for pointer, schema in subject.places:
        examples = schema.get("examples")
        for index, example in enumerate(examples if isinstance(examples, list) else ()):
            if reason := _refusal(subject, pointer, schema, example):
                yield _misfit(subject, "example-misfit", pointer, schema, ("examples", index), reason)
        if "example" in schema and (reason := _refusal(subject, pointer, schema, schema["example"])):
            yield _misfit(subject, "example-misfit", pointer, schema, ("example",), reason)


def _described_again(subject: ToolSchema, pointers: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Those of `pointers` that are properties which other schemas describe too, with these."""
    wanted = {pointer for pointer in pointers if subject.document.has(pointer)}
    told: set[str] = set()
    for pointer, schema in subject.places:
        if ("allOf" in schema or "$ref" in schema) and not subject.hides(schema) and subject.document.has(pointer):
            for key in subject.possible.members(pointer).values():
                for place in key:
                    if len(key) > 1 and place in wanted and place not in told and subject.possible.of(*key).kinds:
                        told.add(place)
                        yield place, [other for other in key if other != place]


def _refusal(subject: ToolSchema, pointer: str, schema: dict[str, Any], value: Any) -> str:
    """Why a schema refuses a value that stands in it; empty where it does not."""
    kind = k.kind_of(value)
    types = k.ALL if subject.hides(schema) else k.kinds_of_type(schema.get("type"))
    if kind & types and _PLAIN.issuperset(schema):
        return ""
    if not kind & types:
        what = "does not fit" if value is None else f"is {k.with_article(kind)}"
        return f"{what}: `type` allows {_types(schema['type'])}"
    if subject.judge.is_valid(pointer, value) is not False:
        return ""
    keyword = subject.judge.refusing(pointer, value)
    return f"is refused by `{keyword}`" if keyword else "is refused"


def _types(named: Any) -> str:
    return " or ".join(named) if isinstance(named, list) else str(named)


def _misfit(
    subject: ToolSchema, code: str, pointer: str, schema: dict[str, Any], path: tuple[str | int, ...], reason: str
) -> Diagnostic:
    value: Any = schema
    for token in path:
        value = value[token]
    is_default = code == "default-misfit"
    what, effect = ("default", "; it is not applied") if is_default else ("example", "")
    hint = f"change the {what}, or the schema around it"
    mends: list[Mend] = []
    if value is None and is_default:
        hint = "remove the default: an argument that is not given reads None anyway"
    text = spelled(value) if isinstance(value, str) else None
    if text is not None and not _refusal(subject, pointer, schema, unquoted(value)):
        mends.append(Replace(text))
        hint = f"write {text} without quotes"
    below = "/".join((pointer, *map(str, path)))
    return subject.problem(code, below, f"the {what} {shown(value)} {reason}{effect}", hint, *mends)
