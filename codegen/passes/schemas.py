"""Schemas must be what they claim to be: valid by their own meta-schema, and compilable.

jsonschema-rs judges all schemas, since it is fast and is the gate at run time. Only for one that it refuses does
jsonschema explain why, with a pointer to each fault.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jsonschema_rs

from codegen.diagnostics import Diagnostic, Report
from codegen.passes.advice import Fault, advise
from codegen.passes.judge import compiles
from codegen.passes.keywords import check_sound_parts
from codegen.passes.mend import with_mends
from codegen.passes.spelling import shown
from codegen.passes.subject import schemas_of
from codegen.schema.dialects import URIS, walk
from codegen.schema.pointers import join
from codegen.specs.tool import Catalog, Tool


def check_schemas(catalog: Catalog, report: Report) -> Catalog:
    """The catalog without the tools whose schemas do not compile; each of those is reported."""
    for tool in catalog.faulty:
        report.add(*_faults(tool, "parameters", tool.parameters))
        if tool.returns is not None:
            report.add(*_faults(tool, "returns", tool.returns))
        report.add(*_beside(tool))
    sound: list[Tool] = []
    for tool in catalog:
        problems = [*_check(tool, "parameters", tool.parameters)]
        if tool.returns is not None:
            problems += _check(tool, "returns", tool.returns)
        report.add(*problems)
        if problems:
            report.add(*_beside(tool))
        else:
            sound.append(tool)
    return Catalog(tuple(sound))


def _beside(tool: Tool) -> Iterator[Diagnostic]:
    """What else can be told of a tool whose schemas do not all compile."""
    for subject in schemas_of(tool):
        yield from check_sound_parts(subject)


def _check(tool: Tool, part: str, schema: Any) -> Iterator[Diagnostic]:
    try:
        jsonschema_rs.meta.validate(_with_dialect(schema, tool.dialect))
        jsonschema_rs.validator_for(_with_dialect(schema, tool.dialect), validate_formats=False, offline=True)
    except jsonschema_rs.ReferencingError as error:
        yield tool.problem("unresolved-reference", f"a reference leads nowhere: {error}", part=part)
    except (jsonschema_rs.ValidationError, ValueError) as error:
        yield from _faults(tool, part, schema) or [
            tool.problem("schema-invalid", f"the schema does not compile: {error}", part=part)
        ]


def _faults(tool: Tool, part: str, schema: Any) -> list[Diagnostic]:
    """All that can be told of why a schema does not compile."""
    return [*_explain(tool, part, schema), *_bad_patterns(tool, part, schema)]


def _with_dialect(schema: Any, dialect: str) -> Any:
    return {**schema, "$schema": URIS[dialect]} if isinstance(schema, dict) else schema


def _explain(tool: Tool, part: str, schema: Any) -> Iterator[Diagnostic]:
    """One diagnostic a fault, at the place of the fault."""
    from jsonschema.validators import validator_for

    judge = validator_for({"$schema": URIS[tool.dialect]})
    meta = judge(judge.META_SCHEMA)
    seen: set[str] = set()
    for error in sorted(_leaves(meta.iter_errors(schema)), key=lambda e: [str(token) for token in e.absolute_path]):
        path = list(error.absolute_path)
        below = join("", *path)
        if below in seen:
            continue
        seen.add(below)
        advice = advise(_fault(schema, error, path, tool.dialect))
        message = f"{_where(path)}: {_message(error)}"
        found = tool.problem("schema-invalid", message, advice.hint, part=part, below=below)
        yield with_mends(found, *advice.mends)


def _fault(schema: Any, error: Any, path: list[str | int], dialect: str) -> Fault:
    parent = schema
    for step in path[:-1]:
        parent = parent[step]
    return Fault(error.instance, tuple(path), error.validator_value, error.validator, parent, dialect)


def _where(path: list[str | int]) -> str:
    """What a fault concerns: a key, or an item of the list behind a key."""
    if not path:
        return "the schema"
    if isinstance(path[-1], int) and len(path) > 1:
        return f'"{path[-2]}", item {path[-1] + 1}'
    return f'"{path[-1]}"'


def _bad_patterns(tool: Tool, part: str, schema: Any) -> Iterator[Diagnostic]:
    """The regular expressions that are none: a meta-schema does not look into them."""
    for pointer, current in walk(schema):
        if not isinstance(current, dict):
            continue
        patterns = [(join(pointer, "pattern"), current.get("pattern"))]
        keys = current.get("patternProperties")
        patterns += [(join(pointer, "patternProperties", key), key) for key in keys] if isinstance(keys, dict) else []
        for below, pattern in patterns:
            if isinstance(pattern, str) and not compiles(pattern):
                message = f"{shown(pattern)} is no regular expression by ECMA-262"
                yield tool.problem("schema-invalid", message, part=part, below=below)


def _leaves(errors: Any) -> Iterator[Any]:
    """The errors at the bottom: a meta-schema is built of unions, and only their inner errors say something."""
    for error in errors:
        inner = list(error.context or ())
        deeper = [one for one in inner if len(one.absolute_path) > len(error.absolute_path)]
        if deeper:
            yield from _leaves(deeper)
        else:
            yield error


def _message(error: Any) -> str:
    value = shown(error.instance)
    if error.validator == "type":
        expected = error.validator_value
        allowed = " or ".join(expected) if isinstance(expected, list) else str(expected)
        return f"{value} must be of type {allowed.replace('object or boolean', 'object (a schema) or boolean')}"
    if error.validator in ("anyOf", "oneOf"):
        return f"{value} is not allowed here"
    if error.validator == "uniqueItems":
        return f"{value} lists something twice"
    if error.validator == "enum":
        return f"{value} is none of {', '.join(str(one) for one in error.validator_value)}"
    return str(error.message)
