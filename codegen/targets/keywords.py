"""What is lost with a keyword that a payload leaves out."""

from __future__ import annotations

from typing import Any, Final

from codegen.targets.composing import SHAPING
from codegen.targets.nodes import PLUMBING

TYPE_OF_KEYWORD: Final = {
    **dict.fromkeys(("minLength", "maxLength", "pattern"), "string"),
    **dict.fromkeys(("contentEncoding", "contentMediaType", "contentSchema"), "string"),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"), "number"),
    **dict.fromkeys(("items", "prefixItems", "contains", "minContains", "maxContains", "unevaluatedItems"), "array"),
    **dict.fromkeys(("minItems", "maxItems", "uniqueItems"), "array"),
    **dict.fromkeys(("properties", "patternProperties", "additionalProperties", "propertyNames"), "object"),
    **dict.fromkeys(("required", "minProperties", "maxProperties", "unevaluatedProperties"), "object"),
    **dict.fromkeys(("dependentRequired", "dependentSchemas"), "object"),
}
"""Keywords that limit values of one type only and say nothing about others."""

_OFF: Final = frozenset({"uniqueItems", "deprecated", "readOnly", "writeOnly", "not"})


def says_nothing(keyword: str, value: Any) -> bool:
    """Whether a keyword with this value refuses no value and tells nothing, so that leaving it out loses nothing."""
    match keyword:
        case _ if keyword in PLUMBING:
            return True
        case _ if keyword in _OFF:
            return value is False
        case "minLength" | "minItems" | "minProperties":
            return bool(value == 0)
        case "dependentRequired" | "dependentSchemas" | "examples" | "properties" | "patternProperties" | "required":
            return not value
        case "propertyNames" | "additionalProperties" | "unevaluatedProperties" | "items" | "unevaluatedItems":
            return value is True or (value == {} and getattr(value, "target", None) is None)
        case _:
            return False


def consequence(keyword: str, *, described: bool = False) -> str:
    """What becomes of the rule of a keyword that is no keyword of the payload, as the end of a sentence.

    With `described`, the model reads of it in a description.
    """
    if keyword == "default":
        return "; a property that stays absent gets it when a call arrives"
    if keyword in SHAPING and keyword != "format":  # a format informs, unless the configuration says otherwise
        return "; arguments are checked against it when a call arrives"
    return "" if described else ": the model does not see it"


def told(description: str | None, *lines: str) -> str:
    """`description` with further lines."""
    return "\n".join([*([description] if description else []), *lines])
