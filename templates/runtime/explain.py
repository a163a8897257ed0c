"""Why a value is refused, in words that a model can act on: where, what was expected, what came.

The facts come from the validator's own errors. Of a union only the alternative that came nearest is explained: by its
tag, by its type, or by having the fewest errors.
"""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urljoin

import jsonschema_rs

from .errors import Issue
from .values import is_array, is_object, pointer, show

Error = jsonschema_rs.ValidationError

SHOWN = 20
"""Names or options that are listed in one message."""

LISTED = 300
"""Characters that a list of options may take."""


def explain(errors: Iterable[Error], root: Any) -> Iterator[Issue]:
    """The issues behind the errors of one value. `root` is the schema that it was held against."""
    missing: dict[str, list[str]] = {}
    others: list[Error] = []
    for error in errors:
        if _keyword(error) == "required" and not _dependent(error):
            # Told together: a model that learns of one missing property at a time needs as many attempts.
            missing.setdefault(pointer(error.instance_path), []).append(
                str(_kind(error).property)
            )
        else:
            others.append(error)
    for where, names in missing.items():
        noun, verb = ("property", "is") if len(names) == 1 else ("properties", "are")
        yield Issue(
            where, "required", f"the required {noun} {_names(names)} {verb} missing"
        )
    for error in others:
        if not (missing or len(others) > 1) or not _is_consequence(error, root):
            yield from _explain(error, root)


def _explain(error: Error, root: Any) -> Iterator[Issue]:
    keyword = _keyword(error)
    if keyword in ("anyOf", "oneOf"):
        yield from _union(error, root)
        return
    expected = _expected(error, root)
    message = (
        _other(error, root)
        if expected is None
        else f"expected {expected}, got {_got(error)}"
    )
    yield Issue(pointer(error.instance_path), keyword, message)


# ---- one error


def _kind(error: Error) -> Any:
    return error.kind


def _keyword(error: Error) -> str:
    return str(_kind(error).name)


def _expected(error: Error, root: Any) -> str | None:
    """What stands between "expected" and "got"; None for errors that need a sentence of their own."""
    kind = _kind(error)
    match _keyword(error):
        case "type":
            return _either(
                [
                    _NOUNS[name]
                    for name in sorted(kind.types, key=lambda name: name == "null")
                ]
            )
        case "enum":
            return _one_of(kind.options, error.instance)
        case "const":
            return show(kind.expected_value)
        case "minimum":
            return f"at least {show(kind.limit)}"
        case "maximum":
            return f"at most {show(kind.limit)}"
        case "exclusiveMinimum":
            return f"more than {show(kind.limit)}"
        case "exclusiveMaximum":
            return f"less than {show(kind.limit)}"
        case "multipleOf":
            return f"a multiple of {show(kind.multiple_of)}"
        case "minLength" | "minItems" | "minProperties" as keyword:
            return f"at least {_count(kind.limit, _COUNTED[keyword])}"
        case "maxLength" | "maxItems" | "maxProperties" as keyword:
            return f"at most {_count(kind.limit, _COUNTED[keyword])}"
        case "additionalItems":
            return f"at most {_count(kind.limit, 'item')}"
        case "pattern":
            # A pattern that takes too long to try has none.
            pattern = getattr(kind, "pattern", None)
            return (
                "text of another form"
                if pattern is None
                else f"text that matches {pattern[:LISTED]}"
            )
        case "format":
            return f"text in the format {kind.format}"
        case "contains":
            return _contained(error, root)
        case _:
            return None


_NOUNS = {
    "null": "null",
    "boolean": "a boolean",
    "integer": "an integer",
    "number": "a number",
    "string": "a string",
    "array": "an array",
    "object": "an object",
}

_COUNTED = {
    "minLength": "character",
    "maxLength": "character",
    "minItems": "item",
    "maxItems": "item",
    "minProperties": "property",
    "maxProperties": "property",
}


def _got(error: Error) -> str:
    value: Any = error.instance
    keyword = _keyword(error)
    if (keyword in _COUNTED and keyword != "minLength") or keyword == "additionalItems":
        return str(len(value))
    if (
        keyword == "type"
        and isinstance(value, str)
        and not {"object", "array"}.isdisjoint(_kind(error).types)
    ):
        is_json = value.lstrip()[:1] in ("{", "[")
        return show(value) + (
            " (give the value itself, not JSON text)" if is_json else ""
        )
    return show(value)


def _other(error: Error, root: Any) -> str:
    """A sentence for an error that is no matter of expected and got."""
    kind = _kind(error)
    match _keyword(error):
        case "additionalProperties" | "unevaluatedProperties":
            return _unexpected(error, root)
        case "unevaluatedItems":
            return f"unexpected items: {', '.join(map(str, kind.unexpected[:SHOWN]))}"
        case "required":
            given = _names(_triggers(error, root))
            return f"the property {show(kind.property)} is required" + (
                f" when {given} is given" if given else ""
            )
        case "propertyNames":
            inner = next(iter(_explain(kind.error, root)))
            return f"unfit property name: {inner.message}"
        case "uniqueItems":
            return "expected items that are all different"
        case "not":
            return _excluded(kind.schema, error.instance)
        case "falseSchema":
            path = list(error.instance_path)
            return f"no {'item' if path and isinstance(path[-1], int) else 'value'} is allowed here"
        case _:
            return error.message


def _either(texts: Sequence[str]) -> str:
    return " or ".join(dict.fromkeys(texts))


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(show(name) for name in names[:SHOWN]) + more


def _count(number: int, noun: str) -> str:
    if number == 1:
        return f"1 {noun}"
    return f"{number} {noun[:-1]}ies" if noun.endswith("y") else f"{number} {noun}s"


def _one_of(options: Sequence[Any], value: Any) -> str:
    shown: list[str] = []
    for option in options[:SHOWN]:
        if shown and sum(map(len, shown)) > LISTED:
            break
        shown.append(show(option))
    if len(shown) == len(options):
        return shown[0] if len(shown) == 1 else f"one of {', '.join(shown)}"
    texts = [option for option in options if isinstance(option, str)]
    near = _near(value, texts, 3) if isinstance(value, str) else []
    hint = f"; perhaps {_either([show(option) for option in near])}" if near else ""
    return f"one of {', '.join(shown)}, … ({len(options)} in all{hint})"


def _near(text: str, known: Sequence[str], most: int) -> list[str]:
    """The nearest of some texts; of the first few hundred, as every one takes time."""
    return difflib.get_close_matches(text[:100], known[:500], most)


def _contained(error: Error, root: Any) -> str:
    holder = _holder(error, root)
    wanted: Any = holder.get("contains")
    if is_object(wanted) and "const" in wanted:
        what = show(wanted["const"])
    elif is_object(wanted) and set(wanted) == {"type"}:
        types: Any = wanted["type"]
        what = _either(
            [_NOUNS[name] for name in ([types] if isinstance(types, str) else types)]
        )
    else:
        what = f"what {show(wanted, 100)} describes"
    if list(error.schema_path)[-1:] == ["maxContains"]:
        return f"at most {_count(holder.get('maxContains', 1), 'item')} to be {what}"
    return f"at least {_count(holder.get('minContains', 1), 'item')} to be {what}"


def _excluded(schema: Any, value: Any) -> str:
    if is_object(schema) and set(schema) == {"required"}:
        names = schema["required"]
        if len(names) == 1:
            return f"the property {show(names[0])} must not be given here"
        return f"the properties {_names(names)} must not all be given"
    if is_object(schema) and set(schema) <= {"const", "enum", "type"}:
        return f"{show(value)} is not allowed here"
    return f"expected a value that {show(schema, 100)} does not describe"


def _is_consequence(error: Error, root: Any) -> bool:
    """Whether properties count as unevaluated only because a schema that declares them refused the value."""
    if _keyword(error) != "unevaluatedProperties":
        return False
    known = set(_declared(_holder(error, root), root, set()))
    return all(name in known for name in _kind(error).unexpected)


def _unexpected(error: Error, root: Any) -> str:
    names = [str(name) for name in _kind(error).unexpected]
    known = list(dict.fromkeys(_declared(_holder(error, root), root, set())))
    told: list[str] = []
    lost = False
    for name in names[:SHOWN]:
        near = _near(name, known, 1)
        lost |= not near
        told.append(show(name) + (f" (did you mean {show(near[0])}?)" if near else ""))
    noun = "property" if len(names) == 1 else "properties"
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    hint = f"; known are {_names(known)}" if lost and known else ""
    return f"unknown {noun} {', '.join(told)}{more}{hint}"


# ---- the schema around an error


def _holder(error: Error, root: Any) -> Mapping[str, Any]:
    """The schema object that the failed keyword stands in; empty where it is not found."""
    location = error.absolute_keyword_location
    schema: Any = (
        root if location is None else _resource(root, location.partition("#")[0], "")
    )
    for token in list(error.schema_path)[:-1]:
        try:
            schema = schema[token]
        except (KeyError, IndexError, TypeError):
            return {}
    return schema if is_object(schema) else {}


def _resource(schema: Any, identifier: str, base: str) -> Any:
    """The part of a schema that has this `$id`; None where there is none."""
    if is_object(schema):
        own = schema.get("$id")
        if isinstance(own, str):
            base = urljoin(base, own.partition("#")[0])
            if base == identifier:
                return schema
        inner: Iterable[Any] = schema.values()
    elif is_array(schema):
        inner = schema
    else:
        return None
    return next(
        (
            found
            for part in inner
            if (found := _resource(part, identifier, base)) is not None
        ),
        None,
    )


def _declared(schema: Any, root: Any, seen: set[int]) -> Iterator[str]:
    """The property names of an object schema, those of the schemas applied beside it included."""
    if not is_object(schema) or id(schema) in seen:
        return
    seen.add(id(schema))
    properties: Any = schema.get("properties")
    if is_object(properties):
        yield from properties
    for keyword in ("allOf", "anyOf", "oneOf"):
        branches: Any = schema.get(keyword)
        for branch in branches if is_array(branches) else ():
            yield from _declared(branch, root, seen)
    for keyword in ("if", "then", "else"):
        yield from _declared(schema.get(keyword), root, seen)
    reference: Any = schema.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/"):
        yield from _declared(_at(reference, root), root, seen)


def _dependent(error: Error) -> bool:
    path = list(error.schema_path)
    return path[-1:] != ["required"] or (
        len(path) > 2 and path[-3] in ("dependentSchemas", "dependencies")
    )


def _triggers(error: Error, root: Any) -> list[str]:
    """The given properties that make another one required."""
    path = list(error.schema_path)
    if path[-1:] == ["required"]:
        return [str(path[-2])]
    value: Any = error.instance
    rules: Any = _holder(error, root).get(str(path[-1])) if path else None
    name = _kind(error).property
    if not is_object(rules) or not is_object(value):
        return []
    return [
        given
        for given, needed in rules.items()
        if given in value and is_array(needed) and name in needed
    ]


# ---- unions


def _union(error: Error, root: Any) -> Iterator[Issue]:
    where, keyword = pointer(error.instance_path), _keyword(error)
    branches = [list(branch) for branch in _kind(error).context]
    depth = len(error.instance_path)
    if type(error.kind).__name__ == "OneOfMultipleValid":
        yield Issue(where, keyword, _too_many(error, root, branches))
        return
    if (tagged := _tagged(error, root)) is not None:
        name, values = tagged
        given: Any = error.instance
        value = given[name]
        fitting = [
            i for i, own in enumerate(values) if any(_same(value, one) for one in own)
        ]
        if not fitting:
            every = [one for own in values for one in own]
            message = f"expected {_one_of(every, value)}, got {show(value)}"
            yield Issue(pointer([*error.instance_path, name]), "enum", message)
            return
        branches = [branches[i] for i in fitting]
    near = [
        branch for branch in branches if branch and not _of_other_kind(branch, depth)
    ]
    if len(near) > 1 and (groups := _missing(near, depth)):
        yield Issue(
            where,
            keyword,
            f"one of these is required: {_either([' with '.join(names) for names in groups])}",
        )
        return
    if near and _one_is_nearest(near):
        nearest: list[Error] = min(near, key=_distance)
        yield from explain(nearest, root)
        return
    if not near and (tag := _tag(branches, depth)) is not None:
        name, options, value = tag
        message = f"expected {_one_of(options, value)}, got {show(value)}"
        yield Issue(pointer([*error.instance_path, name]), "enum", message)
        return
    options = near or branches
    together = [
        alternative
        for branch in options
        for alternative in _alternatives(branch, depth, root)
    ]
    if together and all(together):
        yield Issue(
            where,
            keyword,
            f"expected {_either([str(text) for text in together])}, got {show(error.instance)}",
        )
        return
    told = [_briefly(branch, where, root) for branch in options if branch]
    yield Issue(
        where,
        keyword,
        f"fits none of the alternatives: {' / '.join(list(dict.fromkeys(told))[:3])}",
    )


def _tagged(error: Error, root: Any) -> tuple[str, list[list[Any]]] | None:
    """The given property that has fixed values in each alternative, and these values for each; None without one."""
    written: Any = _holder(error, root).get(_keyword(error))
    value: Any = error.instance
    if not is_array(written) or not is_object(value):
        return None
    members = [_fixed(branch, root) for branch in written]
    if not members or len(members) != len(_kind(error).context):
        return None
    for name in members[0]:
        if name in value and all(name in other for other in members):
            return name, [other[name] for other in members]
    return None


def _fixed(schema: Any, root: Any) -> dict[str, list[Any]]:
    """The properties of an object schema that have fixed values, with these."""
    schema = _followed(schema, root)
    properties: Any = schema.get("properties") if is_object(schema) else None
    found: dict[str, list[Any]] = {}
    for name, member in properties.items() if is_object(properties) else ():
        member = _followed(member, root)
        if is_object(member):
            options: Any = (
                [member["const"]] if "const" in member else member.get("enum")
            )
            if is_array(options):
                found[name] = options
    return found


def _followed(schema: Any, root: Any) -> Any:
    """The schema that a chain of local references leads to."""
    for _ in range(8):
        reference: Any = schema.get("$ref") if is_object(schema) else None
        if not isinstance(reference, str) or not reference.startswith("#/"):
            break
        schema = _at(reference, root)
    return schema


def _at(reference: str, root: Any) -> Any:
    """The schema that a local pointer leads to; None where there is none."""
    target: Any = root
    for token in reference[2:].split("/"):
        name = token.replace("~1", "/").replace("~0", "~")
        target = target.get(name) if is_object(target) else None
    return target


def _same(left: Any, right: Any) -> bool:
    """Whether two plain values are one in JSON: true is not 1."""
    return isinstance(left, bool) is isinstance(right, bool) and bool(left == right)


def _briefly(branch: Sequence[Error], where: str, root: Any) -> str:
    """An alternative in a few words; places inside the value are told from the value on."""
    texts: list[str] = []
    for issue in itertools.islice(explain(branch, root), 2):
        below = issue.pointer.removeprefix(where)
        texts.append(f"{below}: {issue.message}" if below else issue.message)
    return "; ".join(texts)


def _too_many(error: Error, root: Any, branches: Sequence[Sequence[Error]]) -> str:
    """Why a value that fits several alternatives of `oneOf` is refused."""
    written: Any = _holder(error, root).get("oneOf")
    fitting = [i for i, branch in enumerate(branches) if not branch]
    if is_array(written) and all(
        i < len(written) and is_object(written[i]) for i in fitting
    ):
        groups = [written[i].get("required") for i in fitting]
        if groups and all(
            is_array(group) and set(written[i]) == {"required"}
            for i, group in zip(fitting, groups, strict=True)
        ):
            return f"only one of these may be given: {_either([' with '.join(map(show, group)) for group in groups])}"
    return f"{show(error.instance)} fits more than one of the alternatives, and must fit exactly one"


def _of_other_kind(branch: Sequence[Error], depth: int) -> bool:
    """Whether the value is plainly not meant for this alternative: another type, or another tag."""
    for error in branch:
        keyword = _keyword(error)
        below = len(error.instance_path) - depth
        if below == 0 and keyword == "type":
            return True
        if below == 0 and keyword in ("anyOf", "oneOf"):
            context = [list(inner) for inner in _kind(error).context]
            if all(inner and _of_other_kind(inner, depth) for inner in context):
                return True
        if below == 1 and (
            keyword == "const" or (keyword == "enum" and len(_kind(error).options) == 1)
        ):
            return True
    return False


def _distance(branch: Sequence[Error]) -> tuple[int, int]:
    """How far a value is from an alternative: fewer errors are nearer, and errors deeper inside are nearer."""
    return (len(branch), -min(len(error.instance_path) for error in branch))


def _one_is_nearest(branches: Sequence[Sequence[Error]]) -> bool:
    distances = sorted(_distance(branch) for branch in branches)
    return len(distances) == 1 or distances[0] < distances[1]


def _tag(
    branches: Sequence[Sequence[Error]], depth: int
) -> tuple[str, list[Any], Any] | None:
    """The property that tells the alternatives apart, its values, and what came; None where there is none."""
    found: dict[str, list[Any]] = {}
    values: dict[str, Any] = {}
    hits: dict[str, int] = {}
    for branch in branches:
        for error in branch:
            if len(error.instance_path) == depth + 1 and _keyword(error) in (
                "const",
                "enum",
            ):
                name = str(error.instance_path[-1])
                kind = _kind(error)
                options = (
                    kind.options if _keyword(error) == "enum" else [kind.expected_value]
                )
                found.setdefault(name, []).extend(options)
                values[name] = error.instance
                hits[name] = hits.get(name, 0) + 1
    for name, options in found.items():
        if hits[name] == len(branches):
            return name, options, values[name]
    return None


def _alternatives(
    branch: Sequence[Error], depth: int, root: Any
) -> Iterator[str | None]:
    """What an alternative expected of the value as a whole; None where that is no short word."""
    if len(branch) != 1 or len(branch[0].instance_path) != depth:
        yield None
        return
    if _keyword(branch[0]) in ("anyOf", "oneOf"):
        for inner in _kind(branch[0]).context:
            yield from _alternatives(list(inner), depth, root)
        return
    yield _expected(branch[0], root)


def _missing(branches: Sequence[Sequence[Error]], depth: int) -> list[list[str]]:
    """The properties that each alternative lacks, where that is all that is wrong with each."""
    groups: list[list[str]] = []
    for branch in branches:
        if not branch or not all(
            _keyword(e) == "required" and len(e.instance_path) == depth for e in branch
        ):
            return []
        groups.append([show(_kind(error).property) for error in branch])
    return groups
