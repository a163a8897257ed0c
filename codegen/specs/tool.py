"""The intermediate representation: what everything after reading works with.

A `Tool` is one function, whatever shape its spec was written in; a `Catalog` is all tools of one build, by wire name.
Both are immutable: a pass that refines a tool makes a new one (`dataclasses.replace`). Nothing later reaches back to
the raw JSON of a spec file, except to say where in it a problem stands (`Origin`).
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from codegen.diagnostics import Diagnostic, Locator

Schema = dict[str, Any] | bool
"""A JSON Schema: an object or a boolean."""


class Effect(enum.Enum):
    """What running a tool twice would do."""

    READ = "read"
    IDEMPOTENT = "idempotent"
    WRITE = "write"

    @staticmethod
    def hinted(annotations: Mapping[str, Any] | None) -> Effect:
        """What the hints of MCP say. Absent ones are false, by the protocol's own defaults."""
        hints = annotations or {}
        if hints.get("readOnlyHint") is True:
            return Effect.READ
        return Effect.IDEMPOTENT if hints.get("idempotentHint") is True else Effect.WRITE


@dataclass(frozen=True, slots=True)
class Override:
    """What one target shows instead of the tool's own name and description."""

    name: str | None = None
    description: str | None = None
    strict: bool | None = None


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a tool was read: the file, and the pointers of its parts in that file."""

    source: Locator
    pointer: str
    """Pointer of the whole definition."""
    parts: Mapping[str, str] = field(default_factory=dict)
    """Pointers of `name`, `description`, `parameters`, `returns`, `title`, `annotations`, `x-toolgen`, as far as the
    spec has them."""
    moved: Mapping[str, tuple[Locator, str]] = field(default_factory=dict)
    """Where bundled schemas were copied from: `parameters/$defs/Address` → the file and the pointer in it."""

    def of(self, part: str, below: str = "") -> str:
        """The pointer of `part` (the whole definition if the spec has no such part), followed by `below`."""
        return self.parts[part] + below if part in self.parts else self.pointer

    def place(self, part: str, below: str = "") -> tuple[Locator, str]:
        """The file and the pointer in it where `below` inside `part` was written, also for what was bundled."""
        wanted = part + below
        for copied, (source, pointer) in self.moved.items():
            if wanted == copied or wanted.startswith(copied + "/"):
                return source, pointer + wanted[len(copied) :]
        return self.source, self.of(part, below)


@dataclass(frozen=True, slots=True)
class ToolNames:
    """The Python names of a tool; each is a checked identifier, unique in the catalog."""

    module: str
    """Module of its model and of its handler."""
    function: str
    """The handler, and the method of the `Handlers` protocol."""
    prefix: str
    """Prefix of its classes: `GetCustomer` for `GetCustomerArguments` and `GetCustomerResult`."""


@dataclass(frozen=True, slots=True)
class Tool:
    """One function that models may call."""

    name: str
    """The wire name, exactly as in the spec."""
    description: str | None
    parameters: dict[str, Any]
    """Schema of the arguments as written, with references into other files bundled. Any reference in it is local."""
    returns: Schema | None
    """Schema of the result, where the spec has one."""
    dialect: str
    """One of `codegen.schema.dialects`: "draft4", "draft6", "draft7", "2019-09", "2020-12"."""
    origin: Origin
    strict: bool | None = None
    """What the spec says about strict mode; None where it says nothing."""
    effect: Effect = Effect.WRITE
    timeout: float | None = None
    """Seconds; None leaves it to the dispatcher."""
    defer_loading: bool = False
    confirm: bool = False
    title: str | None = None
    """The name for people, where the spec has one."""
    annotations: Mapping[str, Any] | None = None
    """The hints of MCP, as written; `effect` already follows from them where the spec says nothing else."""
    overrides: Mapping[str, Override] = field(default_factory=dict)
    """By target id."""
    only_targets: tuple[str, ...] | None = None
    """The targets the tool is registered with; None means all targets of the build. Ask `is_registered`."""
    excluded_targets: tuple[str, ...] = ()
    """The targets the tool is not registered with, where `only_targets` is None."""
    names: ToolNames | None = None
    """Set by the naming pass."""

    def is_registered(self, target: str) -> bool:
        """Whether the tool is registered with `target`, once that is a target of the build."""
        if self.only_targets is not None:
            return target in self.only_targets
        return target not in self.excluded_targets

    def exposed_name(self, target: str) -> str:
        """The name that `target` shows the model."""
        override = self.overrides.get(target)
        return override.name if override and override.name is not None else self.name

    def exposed_description(self, target: str) -> str | None:
        """The description that `target` shows the model."""
        override = self.overrides.get(target)
        return override.description if override and override.description is not None else self.description

    def problem(
        self, code: str, message: str, hint: str = "", *, part: str = "parameters", below: str = "", target: str = ""
    ) -> Diagnostic:
        """A diagnostic about this tool; `below` is a pointer inside `part`."""
        source, pointer = self.origin.place(part, below)
        return Diagnostic.at(source, pointer, code, message, hint, tool=self.name, target=target)


@dataclass(frozen=True, slots=True)
class Catalog:
    """All tools of one build, sorted by wire name."""

    tools: tuple[Tool, ...]
    faulty: tuple[Tool, ...] = ()
    """Tools whose references lead nowhere, which is reported. They are no part of the catalog; they are kept so that
    what else is wrong with them is found in the same run."""
    inputs: Mapping[str, str] = field(default_factory=dict)
    """Every file that was read, as it is shown to people, with the SHA-256 of its bytes."""

    def __iter__(self) -> Iterator[Tool]:
        return iter(self.tools)

    def __len__(self) -> int:
        return len(self.tools)

    def names(self) -> list[str]:
        return [tool.name for tool in self.tools]
