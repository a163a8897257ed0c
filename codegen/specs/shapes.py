"""The shapes that function definitions are written in, as data: what each API calls the parts of a definition."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from codegen.specs.settings import KEY as SETTINGS


@dataclass(frozen=True, slots=True)
class Shape:
    """How one API writes a function definition."""

    title: str
    parameters: tuple[str, ...]
    """The keys that may hold the schema of the arguments; at most one is used."""
    returns: tuple[str, ...] = ("returns",)
    """The keys that may hold the schema of the result; at most one is used."""
    optional: bool = True
    """Whether a definition without a schema, or with null, is one without parameters."""
    types: frozenset[str] | None = None
    """What `type` may say; None where the shape has no such key."""
    strict: bool = False
    defer_loading: bool = False
    titled: bool = False
    """Whether a definition may have a `title` and `annotations`."""
    silent: frozenset[str] = frozenset()
    """Keys with no bearing on what is generated, for which nobody needs a diagnostic."""
    without_effect: frozenset[str] = frozenset()
    """Keys that the API knows and toolgen does nothing with: noted."""

    known: tuple[str, ...] = field(init=False)
    """All keys of a definition, the usual ones first."""

    def __post_init__(self) -> None:
        names = ["name", "description", *self.parameters, *self.returns, SETTINGS]
        names += ["type"] if self.types is not None else []
        names += ["strict"] if self.strict else []
        names += ["defer_loading"] if self.defer_loading else []
        names += ["title", "annotations"] if self.titled else []
        object.__setattr__(self, "known", (*names, *sorted(self.silent | self.without_effect)))


def keys(text: str) -> frozenset[str]:
    return frozenset(text.split())


SHARED: Final = keys("$schema $comment $defs definitions")
"""Keys around or beside definitions: the editor's schema, remarks, and schemas that references may lead to."""

FLAT: Final = Shape(
    "flat (OpenAI Responses, Agents, toolgen)",
    ("parameters",),
    ("returns", "output_schema"),
    types=keys("function"),
    strict=True,
    defer_loading=True,
    titled=True,
    silent=SHARED,
    without_effect=keys("async allowed_callers"),
)
NESTED: Final = Shape("Chat Completions", ("parameters",), strict=True)
ANTHROPIC: Final = Shape(
    "Anthropic",
    ("input_schema",),
    optional=False,
    types=keys("custom"),
    strict=True,
    defer_loading=True,
    without_effect=keys("allowed_callers cache_control eager_input_streaming input_examples"),
)
MCP: Final = Shape(
    "MCP",
    ("inputSchema",),
    ("outputSchema", "returns"),
    optional=False,
    titled=True,
    without_effect=keys("icons _meta execution"),
)
GEMINI: Final = Shape(
    "Gemini",
    ("parametersJsonSchema", "parameters_json_schema", "parameters"),
    ("responseJsonSchema", "response_json_schema", "response", "returns"),
    without_effect=keys("behavior"),
)
BEDROCK: Final = Shape("Bedrock", ("inputSchema",), optional=False, strict=True)
OCI: Final = Shape("OCI", ("parameters",))
