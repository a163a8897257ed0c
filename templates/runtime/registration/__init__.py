"""Registering tools with APIs that keep them: what a registration gives back, and what can go wrong with one.

Each module has the same face as a loop: `register` (async) and `register_sync`, both written once as a generator.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..errors import ToolgenError


@dataclass(slots=True)
class Registered:
    """What a registration did, by the names that the tools are registered under."""

    created: list[str] = field(default_factory=list[str])
    updated: list[str] = field(default_factory=list[str])
    unchanged: list[str] = field(default_factory=list[str])
    removed: list[str] = field(default_factory=list[str])
    stale: list[str] = field(default_factory=list[str])
    """Tools of ours that the package no longer has, still there because nobody asked to remove them."""
    ids: dict[str, str] = field(default_factory=dict[str, str])
    """The API's id of each tool that is registered now."""

    @property
    def changed(self) -> bool:
        """Whether anything was created, updated or removed."""
        return bool(self.created or self.updated or self.removed)


class RegistrationError(ToolgenError):
    """Tools cannot be registered."""


class ToolConflict(RegistrationError):
    """A tool of somebody else has a name of ours. Nothing was changed.

    `name` is the name, `tool_id` the other tool, `owner` whose it is as far as its tag says.
    """

    def __init__(self, name: str, tool_id: str, owner: str, ours: str) -> None:
        self.name = name
        self.tool_id = tool_id
        self.owner = owner
        whose = f"belongs to {owner!r}" if owner else "was not made by toolgen"
        super().__init__(
            f"the agent already has a tool named {name!r} ({tool_id}) that {whose}, not to {ours!r}: "
            "delete or rename one of the two, or register under the owner it belongs to"
        )


class RegistrationFailed(RegistrationError):
    """The API did not carry a change out.

    `operation` is create, update or remove; `name` and `tool_id` say of what; `status` is the API's last word on it;
    `errors` are its reasons, as texts; `done` is what was registered before.
    """

    def __init__(
        self,
        operation: str,
        name: str,
        tool_id: str,
        status: str,
        errors: Sequence[str],
        done: Registered,
    ) -> None:
        self.operation = operation
        self.name = name
        self.tool_id = tool_id
        self.status = status
        self.errors = tuple(errors)
        self.done = done
        reasons = "; ".join(errors) or "no reason given"
        super().__init__(
            f"could not {operation} the tool {name!r} ({tool_id or 'no id'}): {status}: {reasons}"
        )


__all__ = ["Registered", "RegistrationError", "RegistrationFailed", "ToolConflict"]
