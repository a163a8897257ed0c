"""The lowering of APIs that take any JSON Schema below one plain object at the root.

Every documented example of them has such a root, and composition there is refused or has been reported as refused. What
stands below it goes as it is, with references that lead to `$defs`.
"""

from __future__ import annotations

from typing import Any, Final

from codegen.specs.tool import Tool
from codegen.targets.interface import KeywordRule, Treatment
from codegen.targets.nodes import Notes
from codegen.targets.passes import DEFINE_REFERENCES, OBJECT_ROOT, READ, Pass
from codegen.targets.roots import is_plain

_LOCAL: Final = KeywordRule(Treatment.REWRITTEN, "references lead to $defs, by the names of the spec")
_IDENTITY: Final = KeywordRule(Treatment.DROPPED, "references lead to $defs, so no schema needs another name")
_MERGED: Final = KeywordRule(Treatment.REWRITTEN, "at the root it is merged into one object; below it is kept")

KEYWORDS: Final = {
    **dict.fromkeys(("$ref", "$dynamicRef", "$recursiveRef", "$defs", "definitions"), _LOCAL),
    **dict.fromkeys(("$id", "$anchor", "$dynamicAnchor", "$recursiveAnchor"), _IDENTITY),
    **dict.fromkeys(("allOf", "anyOf", "oneOf"), _MERGED),
    "$schema": KeywordRule(Treatment.DROPPED, "everything is said in the words of 2020-12"),
    "$comment": KeywordRule(Treatment.DROPPED, "not meant for a reader of the tool"),
}

REFUSED_AT_ROOT: Final = ("$ref", "anyOf", "oneOf", "allOf", "not", "enum", "const")


def plain_object_passes(tool: Tool) -> tuple[Pass, ...]:
    """The passes for `tool`. A tool that is a plain object already, as most are, goes through the check alone."""
    checked = (_ROOT_MEMBERS, _CHECK_ROOT)
    return checked if is_plain(tool) else (READ, OBJECT_ROOT, DEFINE_REFERENCES, *checked)


def _root_members(schema: dict[str, Any], notes: Notes) -> dict[str, Any]:
    if schema.get("type") != "object" or "properties" in schema or "$ref" in schema:
        return schema
    notes.rewritten("", "that no properties are declared is said by an empty list of them")
    rest = {key: value for key, value in schema.items() if key != "type"}
    return {"type": "object", "properties": {}, **rest}


def _check_root(schema: dict[str, Any], notes: Notes) -> dict[str, Any]:
    left = [keyword for keyword in REFUSED_AT_ROOT if keyword in schema]
    if left:
        text = f"the root of the arguments has {' and '.join(left)}; the API may refuse that"
        hint = 'describe one object at the root, with "type": "object", and put other rules into its properties'
        notes.add("target-limit-weak", "", text, hint)
    return schema


_ROOT_MEMBERS: Final = Pass(
    "root members",
    "OpenAI's APIs have been seen to refuse an object at the root that has no properties, not even an empty list",
    _root_members,
)
_CHECK_ROOT: Final = Pass(
    "check root", "refusals of anything but one plain object at the root have been reported", _check_root
)
