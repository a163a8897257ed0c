"""Words in a schema that do not do what they seem to do.

A validator passes over what it does not know, so a misspelt keyword is no error anywhere: the rule is simply not there.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import jsonschema_rs

from codegen.diagnostics import Diagnostic, Severity
from codegen.passes import kinds as k
from codegen.passes.judge import compiles
from codegen.passes.mend import Mend, Rename
from codegen.passes.spelling import shown
from codegen.passes.subject import ToolSchema
from codegen.passes.vocabulary import (
    BELIEVED,
    COUNTERPARTS,
    DIALECTS,
    FORMAT_NAMES,
    FORMERLY,
    IDLE_VALUES,
    KEYWORDS,
    OTHER_FORMATS,
    SILENT,
    STRANGERS,
    STRING_FORMATS,
    SUPPLANTED,
    keywords_of,
    nearest_keyword,
)
from codegen.schema.dialects import URIS
from codegen.schema.pointers import join

_TYPED: Final = frozenset(word for word, keyword in KEYWORDS.items() if keyword.types is not None and keyword.asserts)
_HIDEABLE: Final = frozenset(word for word, keyword in KEYWORDS.items() if keyword.asserts) - {"$ref", "id", "$id"}


def check_keywords(subject: ToolSchema) -> Iterator[Diagnostic]:
    """Keywords that are misspelt (`misspelt-keyword`), of another dialect (`foreign-keyword`) or not known at all
    (`unknown-keyword`), formats that are none (`unknown-format`), and keywords without effect where they stand
    (`idle-keyword`, `hidden-keyword`)."""
    for pointer, schema in subject.places:
        yield from _words(subject, pointer, schema)
        if subject.hides(schema):
            yield from _hidden(subject, pointer, schema)
        else:
            yield from _idle(subject, pointer, schema)


def check_sound_parts(subject: ToolSchema) -> Iterator[Diagnostic]:
    """The same for a schema that does not compile: of its words, and of those parts that are sound by themselves.

    So one mistake does not hide the others.
    """
    for pointer, schema in subject.places:
        yield from _words(subject, pointer, schema)
        if not subject.hides(schema) and jsonschema_rs.meta.is_valid({**schema, "$schema": URIS[subject.dialect]}):
            yield from _idle(subject, pointer, schema)


def _words(subject: ToolSchema, pointer: str, schema: dict[str, Any]) -> Iterator[Diagnostic]:
    known = keywords_of(subject.dialect)
    for word in schema:
        if word not in known and not word.startswith("x-"):
            yield from _unknown(subject, pointer, schema, word)


# Words that are no keywords here


def _unknown(subject: ToolSchema, pointer: str, schema: dict[str, Any], word: str) -> Iterator[Diagnostic]:
    below = join(pointer, word)
    if word in KEYWORDS:
        yield from _foreign(subject, below, word, schema[word])
    elif word in STRANGERS:
        yield subject.problem("foreign-keyword", below, f"`{word}` is of draft 3 and has no effect", STRANGERS[word])
    elif word == "nullable":
        yield from _nullable(subject, pointer, schema)
    elif word not in SILENT:
        near = nearest_keyword(word, subject.dialect)
        if near is None:
            message = f"`{word}` is no keyword: it informs only"
            yield subject.problem("unknown-keyword", below, message, _advice(schema, word))
            return
        mends: list[Mend] = []
        if near.sure and near.keyword not in schema and _is_taken(near.keyword, schema[word], subject.dialect):
            mends.append(Rename(near.keyword))
        hint = f"did you mean `{near.keyword}`?"
        yield subject.problem("misspelt-keyword", below, f"`{word}` is no keyword and has no effect", hint, *mends)


def _advice(schema: dict[str, Any], word: str) -> str:
    value = schema[word]
    if word.lower() in BELIEVED:
        return BELIEVED[word.lower()]
    if isinstance(value, dict) and ("type" in value or "$ref" in value) and "properties" not in schema:
        return "if it is a property, describe it under `properties`"
    return ""


def _is_taken(keyword: str, value: Any, dialect: str) -> bool:
    """Whether `value` may stand behind `keyword`."""
    if not jsonschema_rs.meta.is_valid({"$schema": URIS[dialect], keyword: value}):
        return False
    patterns = {"pattern": [value], "patternProperties": list(value) if isinstance(value, dict) else []}
    return all(map(compiles, patterns.get(keyword, ())))


def _foreign(subject: ToolSchema, below: str, word: str, value: Any) -> Iterator[Diagnostic]:
    """A keyword of another dialect."""
    keyword, dialect = KEYWORDS[word], subject.dialect
    if word == "id" and not (isinstance(value, str) and ("://" in value or value.startswith("#"))):
        yield subject.problem("unknown-keyword", below, "`id` is no keyword: it informs only")
    elif DIALECTS.index(dialect) < DIALECTS.index(keyword.first):
        newer = f'say "$schema": "{URIS[keyword.first]}"'
        hint = f"{FORMERLY[word]}, or {newer}" if word in FORMERLY else newer
        message = f"`{word}` came with {keyword.first} and has no effect in {dialect}"
        yield subject.problem("foreign-keyword", below, message, hint)
    elif word == "dependencies":  # the gate goes on enforcing it
        message = f"`{word}` is no keyword of {dialect}: other validators may pass over it"
        yield subject.problem("foreign-keyword", below, message, SUPPLANTED[word], severity=Severity.NOTE)
    else:
        message = f"`{word}` has no effect in {dialect}: {keyword.last} is the last dialect that has it"
        yield subject.problem("foreign-keyword", below, message, SUPPLANTED.get(word, ""))


def _nullable(subject: ToolSchema, pointer: str, schema: dict[str, Any]) -> Iterator[Diagnostic]:
    if schema["nullable"] is not True or subject.judge.is_valid(pointer, None) is not False:
        return
    named = schema.get("type")
    hint = 'allow null with "anyOf": [{…}, {"type": "null"}]'
    if isinstance(named, str):
        hint = f'write "type": ["{named}", "null"]' + (" and add null to `enum`" if "enum" in schema else "")
    message = "`nullable` is of OpenAPI and has no effect: null is refused"
    yield subject.problem("foreign-keyword", f"{pointer}/nullable", message, hint)


# Keywords without effect where they stand


def _hidden(subject: ToolSchema, pointer: str, schema: dict[str, Any]) -> Iterator[Diagnostic]:
    """Up to draft 7 a `$ref` makes everything beside it void."""
    hidden = [word for word in schema if word in _HIDEABLE]
    if "type" in hidden and subject.document.has(pointer):
        target = subject.document.resolve(schema["$ref"], pointer)
        if target is not None and not subject.possible.of(target).kinds & ~k.kinds_of_type(schema["type"]):
            hidden.remove("type")  # it says nothing that the schema over there does not say
    if hidden:
        message = f"`$ref` makes {_listed(hidden)} beside it void in {subject.dialect}"
        hint = 'write "allOf": [{"$ref": …}, {…}], or use $schema 2020-12'
        yield subject.problem("hidden-keyword", join(pointer, hidden[0]), message, hint)


def _idle(subject: ToolSchema, pointer: str, schema: dict[str, Any]) -> Iterator[Diagnostic]:
    if "type" in schema and not _TYPED.isdisjoint(schema):
        yield from _idle_for_type(subject, pointer, schema)
    if "format" in schema and schema["format"] in STRING_FORMATS and not k.kinds_of_type(schema.get("type")) & k.STRING:
        message = f"the format {schema['format']} is for strings, and `type` allows none"
        yield subject.problem("idle-keyword", f"{pointer}/format", message, 'remove it, or write "type": "string"')
    if isinstance(named := schema.get("format"), str) and (near := _format_meant(named)) is not None:
        message = f"the format {shown(named)} is none of JSON Schema's: it is never checked"
        yield subject.problem("unknown-format", f"{pointer}/format", message, f'did you mean "{near}"?')
    for words, wanted, is_missing in _COMPANIONS:
        idle = [word for word in words if word in schema and KEYWORDS[word].is_of(subject.dialect)]
        if "if" in idle and subject.counts_evaluated:
            continue  # what `if` looks at counts as evaluated
        if idle and is_missing(schema):
            message = f"{_listed(idle)} {'has' if len(idle) == 1 else 'have'} no effect without {wanted}"
            hint = f"add {wanted}, or remove {'it' if len(idle) == 1 else 'them'}"
            yield subject.problem("idle-keyword", join(pointer, idle[0]), message, hint)


def _format_meant(name: str) -> str | None:
    """The format that a name which is none was meant to be; None for formats, and where no guess is safe."""
    if name in STRING_FORMATS or name in OTHER_FORMATS:
        return None
    word = name.strip().lower()
    if word in STRING_FORMATS or word in FORMAT_NAMES:
        return FORMAT_NAMES.get(word, word)
    return next(iter(difflib.get_close_matches(word, sorted(STRING_FORMATS), 1, 0.85)), None)


_COMPANIONS: Final[tuple[tuple[tuple[str, ...], str, Callable[[dict[str, Any]], bool]], ...]] = (
    (("then", "else"), "`if`", lambda schema: "if" not in schema),
    (("if",), "`then` or `else`", lambda schema: "then" not in schema and "else" not in schema),
    (("minContains", "maxContains"), "`contains`", lambda schema: "contains" not in schema),
    (("additionalItems",), "`items` as a list", lambda schema: not isinstance(schema.get("items"), list)),
)
"""Keywords that act only beside another one."""


def _idle_for_type(subject: ToolSchema, pointer: str, schema: dict[str, Any]) -> Iterator[Diagnostic]:
    """Keywords about values of types that the schema does not allow: one finding for all of them."""
    named = schema["type"]
    types = {named} if isinstance(named, str) else set(named) if isinstance(named, list) else set()
    idle = [
        word
        for word in schema
        if word in _TYPED and KEYWORDS[word].is_of(subject.dialect) and _is_idle(word, schema[word], types)
    ]
    if idle:
        types_shown = " or ".join(sorted(types))
        message = f"{_listed(idle)} {'says' if len(idle) == 1 else 'say'} nothing about a value of type {types_shown}"
        yield subject.problem("idle-keyword", join(pointer, idle[0]), message, _idle_hint(idle, types))


def _is_idle(word: str, value: Any, types: set[str]) -> bool:
    acts_on = KEYWORDS[word].types
    if not types or acts_on is None or not acts_on.isdisjoint(types):
        return False
    return not any(value == idle and type(value) is type(idle) for idle in IDLE_VALUES.get(word, ()))


def _idle_hint(idle: Sequence[str], types: set[str]) -> str:
    if len(types) == 1:
        (named,) = types
        for row in COUNTERPARTS:
            if idle[0] in row.values() and named in row:
                return f"for {'an' if named[0] in 'aio' else 'a'} {named} it is `{row[named]}`"
        if named == "array" and "properties" in idle:
            return "if it describes the items, move it into `items`"
    wanted = " or ".join(sorted(KEYWORDS[idle[0]].types or ()))
    return f"remove {'it' if len(idle) == 1 else 'them'}, or mend `type` ({wanted})"


def _listed(words: Sequence[str]) -> str:
    quoted = [f"`{word}`" for word in words]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"
