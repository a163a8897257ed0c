"""What can go wrong with a call, as exceptions that carry facts.

    ToolgenError
    ├── UnknownTool            a name that no tool has
    ├── UnknownToolset         a name that no toolset has
    ├── InvalidArguments       arguments that the tool's schema refuses
    │   └── InvalidJSON        arguments that are no JSON object at all
    ├── UnserializableOutput   a handler's return value that cannot be sent
    ├── HandlersMissing        tools without a usable handler, found by `preload`
    └── LoopError              a conversation that cannot go on
        ├── StepLimit          the model asked for tools more often than allowed
        ├── TurnFailed         the API ended the turn with a failure
        ├── UnhandledAction    the API waits for something no callback handles
        ├── AnswerLost         the API answered while the process died, and cannot be asked again
        └── ResultsNotStored   the journal failed or the service shuts down, so nothing was submitted

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


class UnknownToolset(ToolgenError, LookupError):
    """No toolset has this name."""

    def __init__(self, name: str, known: Sequence[str], near: Sequence[str]) -> None:
        self.name = name
        self.near = tuple(near)
        hint = f"Did you mean {' or '.join(self.near)}?" if near else ""
        if not near:
            hint = (
                f"The toolsets are {', '.join(known)}." if known else "There are none."
            )
        super().__init__(f"There is no toolset {show(name)}. {hint}")


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
        words = f"still asks for tools after {steps} steps: {names}"
        if not pending:
            words = f"has not come to an end after {steps} steps"
        super().__init__(f"the model {words}", raw)


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


class AnswerLost(LoopError):
    """A request went out, or was about to, and nobody kept its answer; the API has no way to ask for it again.

    The session may wait for calls that nobody knows: go on in another one. Calls whose answer was kept are not
    concerned. The journal has the request as an interrupted call with this `key`; `NotDone` for it, from a person who
    knows that the request did not arrive, lets it go out again.
    """

    def __init__(self, session_id: str, turn_key: str, name: str) -> None:
        self.session_id = session_id
        self.key = (session_id, turn_key, name)
        super().__init__(
            f"{name} of the turn {turn_key!r} in session {session_id} was lost before it could be kept"
        )


class ResultsNotStored(LoopError):
    """The loop stopped before it submitted any result; `results` are the results.

    The journal could not store one, or the service is shutting down and a call was not run, or not to its end.
    """

    def __init__(self, results: Sequence[Any]) -> None:
        self.results = tuple(results)
        codes = {result.error.code for result in self.results if result.error}
        why = (
            "the service is shutting down"
            if "shutting_down" in codes
            else "the journal is unavailable"
        )
        super().__init__(f"{why}: nothing was submitted")
