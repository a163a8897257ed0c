"""What can go wrong with a call, as exceptions that carry facts.

    ToolgenError
    ├── UnknownTool            a name that no tool has
    ├── InvalidArguments       arguments that the tool's schema refuses
    │   └── InvalidJSON        arguments that are no JSON object at all
    ├── UnserializableOutput   a handler's return value that cannot be sent
    ├── HandlersMissing        tools without a usable handler, found by `preload`
    └── LoopError              a conversation that cannot go on
        ├── StepLimit          the model asked for tools more often than allowed
        ├── TurnFailed         the API ended the turn with a failure
        ├── UnhandledAction    the API waits for something no callback handles
        └── ResultsNotStored   the journal failed, so nothing was submitted

`ToolError` is for handlers: its message is the one text of theirs that a model reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .values import show


@dataclass(frozen=True, slots=True)
class Issue:
    """One reason why arguments were refused."""

    pointer: str
    """JSON pointer (RFC 6901) into the arguments; the empty text is the arguments object itself."""
    keyword: str
    """The JSON Schema keyword that failed, or `json` where the text is no JSON."""
    message: str
    """A short sentence that a model can act on."""

    def __str__(self) -> str:
        return f"{self.pointer}: {self.message}" if self.pointer else self.message


class ToolError(Exception):
    """Raised by a handler to tell the model what went wrong: the message is passed on as it is."""


class ToolgenError(Exception):
    """Base of all errors that this package raises."""


class UnknownTool(ToolgenError, LookupError):
    """No tool has this name (or no tool matches this pattern)."""

    def __init__(self, name: str, near: Sequence[str]) -> None:
        self.name = name
        self.near = tuple(near)
        hint = f" Did you mean {' or '.join(self.near)}?" if near else ""
        super().__init__(f"There is no tool {show(name)}.{hint}")


class InvalidArguments(ToolgenError, ValueError):
    """The arguments are not valid against the tool's schema; `issues` says where and why."""

    code = "invalid_arguments"

    def __init__(self, tool: str, issues: Sequence[Issue]) -> None:
        self.tool = tool
        self.issues = tuple(issues)
        super().__init__("; ".join(str(issue) for issue in self.issues))


class InvalidJSON(InvalidArguments):
    """The arguments are no JSON object by RFC 8259."""

    code = "invalid_json"


class UnserializableOutput(ToolgenError, TypeError):
    """A handler returned what cannot be sent: what JSON has no word for, or what does not fit the spec's `returns`.

    `pointer` is where, as a JSON pointer into the value. `issues` say how the value misses `returns`; they quote it,
    the text of the error does not.
    """

    def __init__(
        self, message: str, pointer: str = "", issues: Sequence[Issue] = ()
    ) -> None:
        self.pointer = pointer
        self.issues = tuple(issues)
        super().__init__(message)


class HandlersMissing(ToolgenError):
    """Some tools have no usable handler; `problems` has one line a tool."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


class LoopError(ToolgenError):
    """A conversation that cannot go on; `raw` is the last answer of the API."""

    def __init__(self, message: str, raw: Any = None) -> None:
        self.raw = raw
        super().__init__(message)


class StepLimit(LoopError):
    """The model still asks for tools after the allowed number of steps; `pending` are the calls left unanswered."""

    def __init__(self, steps: int, pending: Sequence[Any], raw: Any = None) -> None:
        self.steps = steps
        self.pending = tuple(pending)
        names = ", ".join(str(call.name) for call in pending)
        super().__init__(
            f"the model still asks for tools after {steps} steps: {names}", raw
        )


class TurnFailed(LoopError):
    """The API ended the turn with a failure; `status` and `code` are the API's own words."""

    def __init__(self, status: str, code: str, message: str, raw: Any = None) -> None:
        self.status = status
        self.code = code
        super().__init__(
            f"the turn ended as {status}: {message or code or 'no reason given'}", raw
        )


class UnhandledAction(LoopError):
    """The API waits for an action that is no function call, and the service gave no callback for it."""

    def __init__(
        self, kind: str, action: Any, raw: Any = None, *, action_id: str = ""
    ) -> None:
        self.kind = kind
        self.action = action
        self.action_id = action_id
        which = f" (id {action_id})" if action_id else ""
        super().__init__(
            f"the API waits for an action of type {kind!r}{which} and no callback handles it",
            raw,
        )


class ResultsNotStored(LoopError):
    """The journal could not store a result, so the loop stopped before it submitted any; `results` are the results."""

    def __init__(self, results: Sequence[Any]) -> None:
        self.results = tuple(results)
        super().__init__("the journal is unavailable: nothing was submitted")
