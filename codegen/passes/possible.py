"""Which values a schema can have at all.

For a set of subschemas that hold at once, `Possibilities` finds the kinds of values that could meet them, and for a
kind that is ruled out the reason. It errs on one side only: a kind that it rules out has no value, while one that it
leaves may have none. What it does not look at (patterns, `if`, most of `not`, what `$dynamicRef` leads to) takes
nothing away.

Values inside values are looked at as far as they must exist: required properties, and items up to `minItems`. Where a
schema comes back to itself on that way, the least that satisfies the equations counts, since a value is finite.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from codegen.passes import kinds as k
from codegen.passes.intervals import narrow_numbers
from codegen.passes.judge import Judge, matches
from codegen.passes.spelling import unquoted
from codegen.passes.verdict import EVERYTHING, Key, Reason, Verdict
from codegen.passes.vocabulary import KEYWORDS
from codegen.schema.dialects import OLD
from codegen.schema.pointers import join
from codegen.schema.references import Document
from codegen.specs.faults import nearest

GROUPS: Final = ("anyOf", "oneOf")
_SILENT: Final = frozenset(word for word, keyword in KEYWORDS.items() if not keyword.asserts)
_TYPE_ONLY: Final = _SILENT | {"type"}
_PLAIN: Final = _SILENT | {"type", "format"}
"""Keywords beside which nothing but the type can rule a value out."""
_LISTED: Final = _PLAIN | {"enum", "const"}

# Bounds on the work for one schema; beyond them everything counts as possible.
_MAX_STEPS: Final = 3_000
_MAX_OPEN: Final = 40
_MAX_POSITIONS: Final = 64


@dataclass(frozen=True, slots=True)
class _Held:
    """The schemas of a key with those that they bring in by `$ref` and `allOf`."""

    schemas: list[tuple[str, dict[str, Any]]]
    """With their pointers."""
    forbidden: str | None = None
    """Pointer of the schema `false` among them."""


@dataclass(slots=True)
class _Open:
    """A key whose verdict is being worked out."""

    depth: int
    """How many values lie around the value that it is for."""
    kinds: int = 0
    """What is known to be possible so far."""
    met: bool = False
    """Whether the way came back to it."""


class Possibilities:
    """What is possible at the subschemas of one document. Its patterns and references have compiled before."""

    def __init__(self, document: Document, judge: Judge) -> None:
        self._document = document
        self._judge = judge
        self._known: dict[tuple[Key, bool], Verdict] = {}
        self._open: dict[tuple[Key, bool], _Open] = {}
        self._depth = 0
        self._outermost = 0
        self._steps = 0
        self._matches: dict[tuple[str, str], bool] = {}

    def of(self, *pointers: str) -> Verdict:
        """What is possible where the schemas at `pointers` all hold."""
        return self._verdict(pointers, with_groups=True)

    def beside(self, pointer: str, branch: str) -> Verdict:
        """What is possible where the schema at `pointer` holds, its groups of branches apart, and one branch does."""
        own = self.of(branch)
        both = self._verdict((pointer, branch), with_groups=False)
        return Verdict(own.kinds & both.kinds, () if both.kinds else both.reasons)

    def parts(self, pointer: str) -> list[str]:
        """The schemas that the one at `pointer` brings in directly, for the same value."""
        schema = self._document.at(pointer)
        if not isinstance(schema, dict):
            return []
        found = []
        if isinstance(schema.get("$ref"), str):
            target = self._document.resolve(schema["$ref"], pointer)
            found += [target] if target is not None else []
            if self._document.ref_hides_siblings:
                return found
        if isinstance(schema.get("allOf"), list):
            found += [place for i in range(len(schema["allOf"])) if self._document.has(place := f"{pointer}/allOf/{i}")]
        return found

    def members(self, pointer: str) -> dict[str, Key]:
        """The schemas that hold for each property that the schema at `pointer`, with its parts, describes."""
        held = self._hold((pointer,))
        return {name: self._member(held, name) for name in _described(held)}

    def unusable(self, *pointers: str) -> Iterator[tuple[str, str, Reason]]:
        """Name, place and reason of each optional property that the schemas at `pointers` describe and never allow.

        Only what comes of their meeting: not a property that one of them rules out on its own or forbids by `false`.
        """
        held = self._hold(pointers)
        required = self._required(held)
        for name in _described(held):
            key = self._member(held, name)
            if name in required or len(key) < 2:
                continue
            verdict = self._inside(key)
            described = [place for place in key if not place.endswith("/additionalProperties")]
            if not verdict.kinds and described and all(self.of(place).kinds for place in described):
                yield name, described[0], verdict.reasons[0]

    # The way through the schemas

    def _verdict(self, key: Key, *, with_groups: bool) -> Verdict:
        key = tuple(sorted(set(key)))
        entry = (key, with_groups)
        if entry in self._known:
            return self._known[entry]
        if entry in self._open:
            return self._come_back(entry)
        quick = self._quick(key)
        if quick is not None:
            return quick
        self._steps += 1
        if self._steps > _MAX_STEPS or len(self._open) > _MAX_OPEN:
            self._outermost = 0
            return EVERYTHING
        return self._settle(entry)

    def _come_back(self, entry: tuple[Key, bool]) -> Verdict:
        state = self._open[entry]
        state.met = True
        self._outermost = min(self._outermost, list(self._open).index(entry))
        if state.depth == self._depth:  # nothing lies between: the validator takes it for true
            return EVERYTHING
        reason = Reason(k.ALL, "it would have to hold itself, without end", entry[0][0])
        return Verdict(state.kinds, (reason,) if not state.kinds else ())

    def _settle(self, entry: tuple[Key, bool]) -> Verdict:
        """The verdict of a key, again and again while it learns of more from itself."""
        position = len(self._open)
        around, self._outermost = self._outermost, position
        state = self._open[entry] = _Open(self._depth)
        verdict = self._work_out(*entry)
        while state.met and verdict.kinds & ~state.kinds:
            state.kinds |= verdict.kinds
            verdict = self._work_out(*entry)
        del self._open[entry]
        if self._outermost >= position:  # it hangs on nothing that is still open
            self._known[entry] = verdict
            self._outermost = around
        else:
            self._outermost = min(around, self._outermost)
        return verdict

    def _inside(self, key: Key) -> Verdict:
        """The verdict on a value inside the one that is being looked at."""
        self._depth += 1
        try:
            return self._verdict(key, with_groups=True)
        finally:
            self._depth -= 1

    def _quick(self, key: Key) -> Verdict | None:
        """The verdict on schemas that need no second look, as most do."""
        if not key:
            return EVERYTHING
        if len(key) > 1:
            return None
        schema = self._document.at(key[0])
        if schema is True:
            return EVERYTHING
        if isinstance(schema, dict) and _PLAIN.issuperset(schema):
            return Verdict(k.kinds_of_type(schema.get("type")))
        return None

    def _hold(self, key: Key) -> _Held:
        schemas: dict[str, dict[str, Any]] = {}
        seen: set[str] = set()
        stack = list(reversed(key))
        while stack:
            pointer = stack.pop()
            if pointer in seen:
                continue
            seen.add(pointer)
            schema = self._document.at(pointer)
            if schema is False:
                return _Held([], pointer)
            if not isinstance(schema, dict):
                continue
            hidden = self._document.ref_hides_siblings and isinstance(schema.get("$ref"), str)
            if not hidden:
                schemas[pointer] = schema
            stack.extend(reversed(self.parts(pointer)))
        return _Held(list(schemas.items()))

    def _work_out(self, key: Key, with_groups: bool) -> Verdict:
        held = self._hold(key)
        if held.forbidden is not None:
            text = "`false` allows no value"
            return Verdict(0, (Reason(k.ALL, text, held.forbidden),), intended=key == (held.forbidden,))
        kinds, reason = self._types(held)
        if reason is not None:
            return Verdict(0, (reason,))
        if any(schema.get("not") in (True, {}) for _, schema in held.schemas):
            place = next(pointer for pointer, schema in held.schemas if schema.get("not") in (True, {}))
            return Verdict(0, (Reason(k.ALL, "`not` excludes every value", f"{place}/not"),), intended=len(key) == 1)
        # Where groups are to be left apart, a whole schema that has some cannot be asked.
        asked = key if with_groups else tuple(each for each in key if not self._has_groups(each))
        listed = self._listed(asked, held, kinds)
        if listed is not None:
            return listed
        if with_groups:
            kinds, reason = self._groups(key, held, kinds)
            if reason is not None:
                return Verdict(0, (reason,))
        reasons = []
        if kinds & k.NUMBER:
            kinds, reason = narrow_numbers(held.schemas, self._document.dialect, kinds)
            reasons += [reason] if reason is not None else []
        for mask, find in ((k.STRING, _texts), (k.ARRAY, self._arrays), (k.OBJECT, self._objects)):
            found = list(find(held)) if kinds & mask else []
            if found:
                kinds &= ~mask
                reasons += found
        if not kinds and not reasons:
            reasons = [Reason(k.ALL, "its rules leave nothing", held.schemas[0][0])]
        return Verdict(kinds, tuple(reasons))

    def _has_groups(self, pointer: str) -> bool:
        schema = self._document.at(pointer)
        return isinstance(schema, dict) and ("anyOf" in schema or "oneOf" in schema)

    # Rules for all kinds

    def _types(self, held: _Held) -> tuple[int, Reason | None]:
        kinds, said = k.ALL, ""
        for pointer, schema in held.schemas:
            if "type" not in schema:
                continue
            shown = json.dumps(schema["type"])
            allowed = k.kinds_of_type(schema["type"])
            if not kinds & allowed:
                text = f"no value is of type {said} and of type {shown}"
                return 0, Reason(k.ALL, text, f"{pointer}/type", "leave one of the two types out")
            if allowed != k.ALL:
                kinds, said = kinds & allowed, shown
        for pointer, schema in held.schemas:
            excluded = schema.get("not")
            if isinstance(excluded, dict) and "type" in excluded and _PLAIN.issuperset(excluded):
                barred = k.kinds_of_type(excluded["type"])
                if self._document.dialect == "draft4" and not barred & k.FRACTION:
                    barred &= ~k.INTEGER  # 1.0 is no integer there
                if not kinds & ~barred:
                    text = f"`not` excludes {f'the type {said}' if said else 'every type'}"
                    return 0, Reason(k.ALL, text, f"{pointer}/not", "leave one of the two out")
                kinds &= ~barred
        return kinds, None

    def _listed(self, asked: Key, held: _Held, kinds: int) -> Verdict | None:
        """The verdict where the values are listed; None where they are not.

        A value has to be taken by all schemas in `asked`.
        """
        lists = [
            (f"{pointer}/{keyword}", values)
            for pointer, schema in held.schemas
            for keyword, values in listed_values(schema, self._document.dialect)
        ]
        if not lists:
            return None
        place, values = min(lists, key=lambda found: len(found[1]))
        name = place.rpartition("/")[2]
        typed = [value for value in values if k.kind_of(value) & kinds]
        fine = typed
        if len(lists) > 1 or not all(_LISTED.issuperset(schema) for _, schema in held.schemas):
            fine = [value for value in typed if all(self._judge.is_valid(one, value) is not False for one in asked)]
        if fine:
            return Verdict(k.sum_of(map(k.kind_of, fine)), values=tuple(fine))
        if not values:
            reason = Reason(k.ALL, "`enum` is empty", place, "list the values, or leave `enum` out")
        elif not typed:
            reason = Reason(k.ALL, _refused_by_type(name, values, kinds), place, _enum_hint(values, kinds))
        else:
            each = f"every value of `{name}`" if name == "enum" else "the value of `const`"
            reason = Reason(k.ALL, f"{each} is refused by what stands beside it", place, "mend one of the two")
        return Verdict(0, (reason,))

    def _groups(self, key: Key, held: _Held, kinds: int) -> tuple[int, Reason | None]:
        for pointer, schema in held.schemas:
            for keyword in GROUPS:
                branches = schema.get(keyword)
                if not isinstance(branches, list) or not branches:
                    continue
                allowed = 0
                for index in range(len(branches)):
                    place = f"{pointer}/{keyword}/{index}"
                    if not self._document.has(place):
                        allowed = k.ALL
                        break
                    own = self._verdict((place,), with_groups=True).kinds & kinds
                    if own & ~allowed:
                        allowed |= own & self._verdict((*key, place), with_groups=False).kinds
                    if not kinds & ~allowed:
                        break
                kinds &= allowed
                if not kinds:
                    text = f"no branch of `{keyword}` can hold"
                    return 0, Reason(k.ALL, text, f"{pointer}/{keyword}", "mend the branches, or what stands beside")
                kinds &= ~_taken_twice(branches) if keyword == "oneOf" else kinds
                if not kinds:
                    text = "whatever fits one branch of `oneOf` fits another one too"
                    return 0, Reason(k.ALL, text, f"{pointer}/oneOf", "write `anyOf`, or keep the branches apart")
        return kinds, None

    # Lists

    def _arrays(self, held: _Held) -> Iterator[Reason]:
        reason = _sizes(held, "Items", k.ARRAY)
        if reason is not None:
            yield reason
            return
        least, cause = _largest(held, "minItems")
        most, limit = _smallest(held, "maxItems")
        if self._document.dialect != "draft4":
            for pointer, schema in held.schemas:
                if "contains" in schema:
                    needed, by = self._contained(pointer, schema)
                    if isinstance(needed, Reason):
                        yield needed
                        return
                    if needed > least:
                        least, cause = needed, by
        if most is not None and least > most:
            text = f"{_name(cause)} asks for at least {_items(least)} and {_name(limit)} allows {most}"
            yield Reason(k.ARRAY, text, limit, _SWAP)
        elif least:
            yield from self._needed_items(held, least, cause)

    def _contained(self, pointer: str, schema: dict[str, Any]) -> tuple[int | Reason, str]:
        """How many items `contains` asks for; the reason why it cannot be met."""
        place = f"{pointer}/contains"
        needed = 1
        if self._document.dialect not in OLD:
            needed = _count(schema.get("minContains"), 1)
            most = _count(schema.get("maxContains"), -1)
            if 0 <= most < needed:
                told = f"`minContains` {needed}" if "minContains" in schema else "`contains`, which asks for one item,"
                text = f"{told} is more than `maxContains` {most}"
                return Reason(k.ARRAY, text, f"{pointer}/maxContains", _SWAP), place
        if needed and not self._inside((place,)).kinds:
            text, hint = "no item can be what `contains` asks for", "mend the schema under `contains`"
            return Reason(k.ARRAY, text, place, hint, (place,)), place
        return needed, place

    def _needed_items(self, held: _Held, least: int, cause: str) -> Iterator[Reason]:
        """Why there cannot be as many items as there must be."""
        layouts = [self._layout(pointer, schema) for pointer, schema in held.schemas]
        positions = max((len(prefix) for prefix, _ in layouts), default=0)
        for index in range(min(least, positions, _MAX_POSITIONS)):
            key = tuple(
                place
                for prefix, rest in layouts
                for place in ([prefix[index]] if index < len(prefix) else [rest] if rest is not None else [])
            )
            if not self._inside(key).kinds:
                text = f"{_name(cause)} asks for {_items(least)} and the one at position {index + 1} can have no value"
                yield Reason(k.ARRAY, text, cause, "mend the schema of that item", key)
                return
        if least <= positions:
            return
        key = tuple(rest for _, rest in layouts if rest is not None)
        verdict = self._inside(key)
        if not verdict.kinds:
            allowed = f"only {positions} can be valid" if positions else "no item can be valid"
            text = f"{_name(cause)} asks for {_items(least)} and {allowed}"
            yield Reason(k.ARRAY, text, cause, "mend the schema of the items", key)
        elif any(schema.get("uniqueItems") is True for _, schema in held.schemas):
            different = verdict.count
            if different is not None and least - positions > different:
                text = f"{_name(cause)} asks for {least} different items and there are only {different + positions}"
                yield Reason(k.ARRAY, text, cause, "lower `minItems`, or leave `uniqueItems` out")

    def _layout(self, pointer: str, schema: dict[str, Any]) -> tuple[list[str], str | None]:
        """Pointers of the schemas of items by position, and of the one for those that follow."""
        if self._document.dialect == "2020-12":
            positions, rest = "prefixItems", "items"
        elif isinstance(schema.get("items"), list):
            positions, rest = "items", "additionalItems"
        else:
            positions, rest = "", "items"
        prefix = schema.get(positions)
        places = [f"{pointer}/{positions}/{i}" for i in range(len(prefix))] if isinstance(prefix, list) else []
        places = [place if self._document.has(place) else "" for place in places]
        following = f"{pointer}/{rest}"
        has_rest = isinstance(schema.get(rest), (dict, bool)) and self._document.has(following)
        return [] if "" in places else places, following if has_rest and "" not in places else None

    # Objects

    def _objects(self, held: _Held) -> Iterator[Reason]:
        reason = _sizes(held, "Properties", k.OBJECT)
        if reason is not None:
            yield reason
            return
        required = self._required(held)
        most, limit = _smallest(held, "maxProperties")
        if most is not None and len(required) > most:
            text = f"{len(required)} properties are required and `maxProperties` allows {most}"
            yield Reason(k.OBJECT, text, limit, "raise `maxProperties`")
            return
        for name, place in required.items():
            reason = self._requirement(held, name, place)
            if reason is not None:
                yield reason
        least, cause = _largest(held, "minProperties")
        if least:
            yield from self._room(held, least, cause)

    def _required(self, held: _Held) -> dict[str, str]:
        """The names that every object must have, and where that is said."""
        found: dict[str, str] = {}
        dependent: list[tuple[str, list[str], str]] = []
        keyword = "dependencies" if self._document.dialect in OLD else "dependentRequired"
        for pointer, schema in held.schemas:
            names = schema.get("required")
            if isinstance(names, list):
                for index, name in enumerate(names):
                    if isinstance(name, str):
                        found.setdefault(name, f"{pointer}/required/{index}")
            members = schema.get(keyword)
            for name, needed in members.items() if isinstance(members, dict) else ():
                if isinstance(needed, list):
                    dependent.append((name, needed, join(pointer, keyword, name)))
        grows = bool(dependent)
        while grows:
            before = len(found)
            for name, needed, place in dependent:
                if name in found:
                    for other in needed:
                        if isinstance(other, str):
                            found.setdefault(other, place)
            grows = len(found) > before
        return found

    def _requirement(self, held: _Held, name: str, place: str) -> Reason | None:
        """Why a required property cannot be there."""
        shown = json.dumps(name, ensure_ascii=False)
        key = self._member(held, name)
        verdict = self._inside(key)
        if not verdict.kinds:
            forbidding = next((each for each in key if self._document.at(each) is False), None)
            if forbidding is None:
                text = f"the required property {shown} can have no value"
                return Reason(k.OBJECT, text, place, "mend the schema of the property", key)
            if forbidding.endswith("/additionalProperties"):
                text = f"{shown} is required and is none of the properties that `additionalProperties: false` leaves"
                return Reason(k.OBJECT, text, place, _missing_hint(name, _described(held)), key)
            return Reason(k.OBJECT, f"{shown} is required and its schema is false", place, _REQUIRE_NOT, key)
        for pointer, schema in held.schemas:
            if "propertyNames" in schema and self._judge.is_valid(f"{pointer}/propertyNames", name) is False:
                return Reason(k.OBJECT, f"{shown} is required and `propertyNames` refuses it", place, _REQUIRE_NOT)
            is_shut = schema.get("unevaluatedProperties") is False and self._document.dialect not in OLD
            if is_shut and not self._may_evaluate(pointer, name):
                text = f"{shown} is required and nothing describes it where `unevaluatedProperties` is false"
                return Reason(k.OBJECT, text, place, _missing_hint(name, _described(held)))
        return None

    def _member(self, held: _Held, name: str) -> Key:
        """The schemas that hold for a property."""
        found: list[str] = []
        for pointer, schema in held.schemas:
            properties, patterns = schema.get("properties"), schema.get("patternProperties")
            own = []
            if isinstance(properties, dict) and name in properties:
                own.append(join(pointer, "properties", name))
            if isinstance(patterns, dict):
                own += [join(pointer, "patternProperties", each) for each in patterns if self._is_match(each, name)]
            if not own and isinstance(schema.get("additionalProperties"), (dict, bool)):
                own.append(f"{pointer}/additionalProperties")
            found += own
        return tuple(place for place in found if self._document.has(place))

    def _may_evaluate(self, pointer: str, name: str) -> bool:
        """Whether anything in the schema at `pointer`, for the same value, could describe the property `name`."""
        stack, seen = [(pointer, True)], {pointer}
        while stack:
            here, is_top = stack.pop()
            schema = self._document.at(here)
            if not isinstance(schema, dict):
                continue
            if not is_top and "unevaluatedProperties" in schema:
                return True
            if "additionalProperties" in schema or "$dynamicRef" in schema or "$recursiveRef" in schema:
                return True
            properties, patterns = schema.get("properties"), schema.get("patternProperties")
            if isinstance(properties, dict) and name in properties:
                return True
            if isinstance(patterns, dict) and any(self._is_match(each, name) for each in patterns):
                return True
            places = [f"{here}/{word}" for word in ("if", "then", "else") if word in schema]
            for word in ("allOf", *GROUPS):
                branches = schema.get(word)
                places += [f"{here}/{word}/{i}" for i in range(len(branches))] if isinstance(branches, list) else []
            dependent = schema.get("dependentSchemas")
            places += [join(here, "dependentSchemas", key) for key in dependent] if isinstance(dependent, dict) else []
            if isinstance(schema.get("$ref"), str):
                target = self._document.resolve(schema["$ref"], here)
                if target is None:
                    return True
                places.append(target)
            for place in places:
                if not self._document.has(place):
                    return True
                if place not in seen:
                    seen.add(place)
                    stack.append((place, False))
        return False

    def _room(self, held: _Held, least: int, cause: str) -> Iterator[Reason]:
        """Why there cannot be as many properties as there must be."""
        for _, schema in held.schemas:
            if schema.get("additionalProperties") is False and not schema.get("patternProperties"):
                properties = schema.get("properties")
                names = [n for n, s in properties.items() if s is not False] if isinstance(properties, dict) else []
                if len(names) < least:
                    text = f"`minProperties` asks for {least} properties and only {len(names)} are described"
                    yield Reason(k.OBJECT, text, cause, "lower `minProperties`, or describe more properties")
                    return

    def _is_match(self, pattern: str, name: str) -> bool:
        known = self._matches.get((pattern, name))
        if known is None:
            known = self._matches[pattern, name] = matches(pattern, name)
        return known


def listed_values(schema: dict[str, Any], dialect: str) -> Iterator[tuple[str, list[Any]]]:
    """The keywords of a schema that list its values, with the values."""
    if isinstance(schema.get("enum"), list):
        yield "enum", schema["enum"]
    if "const" in schema and dialect != "draft4":
        yield "const", [schema["const"]]


_SWAP: Final = "raise the upper bound or lower the lower one"
_REQUIRE_NOT: Final = "allow the property, or do not require it"


def _missing_hint(name: str, described: Sequence[str]) -> str:
    if name in described:
        return "describe it where the object is closed, or close the object with `unevaluatedProperties` instead"
    near = nearest(name, described)
    if near is not None:
        return f'did you mean "{near}"?'
    return "describe the property under `properties`, or do not require it"


def _refused_by_type(name: str, values: list[Any], kinds: int) -> str:
    each = "every value of `enum`" if name == "enum" else "the value of `const`"
    return f"`type` allows {k.with_article(kinds)} and {each} is {k.with_article(k.sum_of(map(k.kind_of, values)))}"


def _enum_hint(values: list[Any], kinds: int) -> str:
    if kinds == k.ARRAY:
        return "move `enum` into `items`, for a list of such values"
    if all(isinstance(value, str) and k.kind_of(unquoted(value)) & kinds for value in values):
        return "write the values without quotes"
    return "mend `type`, or the values"


def _taken_twice(branches: Sequence[Any]) -> int:
    """The kinds of which two branches take every value, so that `oneOf` takes none."""
    once = twice = 0
    for branch in branches:
        if branch is True or (isinstance(branch, dict) and _TYPE_ONLY.issuperset(branch)):
            kinds = k.ALL if branch is True else k.kinds_of_type(branch.get("type"))
            twice |= once & kinds
            once |= kinds
    return twice


def _described(held: _Held) -> list[str]:
    names: dict[str, None] = {}
    for _, schema in held.schemas:
        properties = schema.get("properties")
        if isinstance(properties, dict):
            names.update(dict.fromkeys(properties))
    return list(names)


def _texts(held: _Held) -> Iterator[Reason]:
    reason = _sizes(held, "Length", k.STRING)
    if reason is not None:
        yield reason


def _sizes(held: _Held, what: str, kinds: int) -> Reason | None:
    least, _ = _largest(held, f"min{what}")
    most, place = _smallest(held, f"max{what}")
    if most is None or least <= most:
        return None
    return Reason(kinds, f"`min{what}` {least} is more than `max{what}` {most}", place, _SWAP)


def _largest(held: _Held, keyword: str) -> tuple[int, str]:
    found = [(_count(schema.get(keyword), 0), f"{pointer}/{keyword}") for pointer, schema in held.schemas]
    return max(found, key=lambda pair: pair[0], default=(0, ""))


def _smallest(held: _Held, keyword: str) -> tuple[int | None, str]:
    found = [
        (count, f"{pointer}/{keyword}")
        for pointer, schema in held.schemas
        if (count := _count(schema.get(keyword), -1)) >= 0
    ]
    return min(found, key=lambda pair: pair[0], default=(None, ""))


def _count(value: Any, otherwise: int) -> int:
    """A size as an integer; `otherwise` where it is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value or math.isinf(value):
        return otherwise
    return int(value) if value == int(value) and value >= 0 else otherwise


def _items(count: int) -> str:
    return f"{count} item{'s' if count != 1 else ''}"


def _name(place: str) -> str:
    return f"`{place.rpartition('/')[2]}`"
