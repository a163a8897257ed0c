"""Execution through the journal: no side effect twice, and the same answer every time.

The rule (seed: store results by session, turn and call; check what happened before running a side effect again):

| What the journal says | What happens |
|---|---|
| the call is new | its intent is stored, the handler runs, its result is stored |
| it has a result | that result is given again; the handler does not run |
| it runs right now | in this process: its result is awaited; elsewhere: `in_progress` |
| it was begun and has no result | `read` and `idempotent` tools run again; for `write` the `reconcile` hook decides |
| the same key, another tool or other arguments | `call_conflict`; nothing runs |
| the journal fails | before the handler: it does not run; after it: the result must not be submitted |
"""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import Any

from .calls import Call, CallError, Result, fingerprint
from .content import Content, Image, Text
from .errors import Issue
from .hooks import Done, Hooks, NotDone, Outcome, Unknown
from .journal import Begun, Conflict, Interrupted, Journal, Key, Running, Stored
from .output import encode
from .tools import Tool

log = logging.getLogger(__name__)

Run = Callable[[Tool[Any], Callable[[Any, Any], Any], Any, Call], Awaitable[Result]]
Write = Callable[[Tool[Any], Call, Any], Result]


class StillRunning(asyncio.CancelledError):
    """A cancellation that could not stop the handler, which goes on in its thread as `job`."""

    def __init__(self, job: Future[Any]) -> None:
        self.job = job
        super().__init__()


def key_of(call: Call) -> Key:
    """The journal key of a call. Raises `ValueError` where the call lacks a part of it."""
    if not (call.session_id and call.turn_id and call.call_id):
        raise ValueError(f"a call needs session_id, turn_id and call_id when there is a journal: {call.name}")
    return Key(call.session_id, call.turn_id, call.call_id)


def digest_of(tool: str, args: Any) -> str:
    """A digest of the tool and its arguments, the same for every spelling of the same JSON."""
    wire = args.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return fingerprint((tool, json.dumps(wire, sort_keys=True, ensure_ascii=True, separators=(",", ":"))))


async def execute_once(
    journal: Journal, hooks: Hooks | None, tool: Tool[Any], call: Call, args: Any, run: Run, write: Write
) -> Result:
    """Runs `call` unless the journal knows its result.

    `run` runs the handler and raises nothing but cancellation; `write` makes the result of a value.
    """
    key = key_of(call)
    try:
        begun = await _begin(journal, key, digest_of(tool.name, args))
    except Exception:
        log.exception("the journal cannot store the intent of %s", call.name)
        return Result(call, error=CallError("journal_unavailable", "The call was not run: its record cannot be kept."))
    if isinstance(begun, Stored):
        return from_record(call, begun.record)
    if isinstance(begun, Running):
        return Result(call, error=CallError("in_progress", "This call is already running."))
    if isinstance(begun, Conflict):
        log.error(
            "call %s of session %s comes again with another tool or other arguments", call.call_id, call.session_id
        )
        message = "This call id was used before for another call; nothing was run."
        return Result(call, error=CallError("call_conflict", message))
    is_write = tool.entry.effect == "write"
    try:
        if is_write and isinstance(begun, Interrupted):
            result = await _reconcile(hooks, tool, call, args, run, write)
        else:
            result = await run(tool, tool.handler, args, call)
        if is_write and result.ran and result.error and result.error.code in ("timeout", "cancelled"):
            result = _unknown(call)  # the handler began, and nobody can say how far it came
    except StillRunning as error:
        _release_after(journal, key, error.job)
        raise
    except BaseException:
        await _release(journal, key)
        raise
    try:
        await journal.finish(key, to_record(result))
    except Exception:
        log.exception("the journal cannot store the result of %s", call.name)
        message = "The call was run, but its result cannot be kept."
        return Result(call, error=CallError("journal_unavailable", message), ran=True)
    return result


async def _begin(journal: Journal, key: Key, digest: str) -> Begun:
    """Claims the key. While another caller runs the call, its end is awaited for some seconds."""
    pause = 0.002
    while isinstance(begun := await journal.begin(key, digest), Running) and pause < 8:  # some eight seconds in all
        await asyncio.sleep(pause)
        pause *= 2
    return begun


async def _release(journal: Journal, key: Key) -> None:
    try:
        await asyncio.shield(journal.release(key))
    except Exception:
        log.exception("the journal cannot note that a call was given up")


def _release_after(journal: Journal, key: Key, job: Future[Any]) -> None:
    """Gives the claim up when the handler has ended: until then nobody else may run the call."""
    loop = asyncio.get_running_loop()

    def ended(_job: Future[Any]) -> None:
        try:
            asyncio.run_coroutine_threadsafe(_release(journal, key), loop)
        except RuntimeError:  # the loop was closed in between; the claim ends with the process
            log.warning("a handler ended after its event loop; its call stays claimed by this process")

    job.add_done_callback(ended)


async def _reconcile(hooks: Hooks | None, tool: Tool[Any], call: Call, args: Any, run: Run, write: Write) -> Result:
    outcome: Outcome = Unknown()
    if hooks is not None and hooks.reconcile is not None:
        try:
            answer = hooks.reconcile(call)
            outcome = await answer if inspect.isawaitable(answer) else answer
        except Exception:
            log.exception("the reconcile hook failed for %s", call.name)
    if isinstance(outcome, Done):
        return write(tool, call, outcome.value)
    if isinstance(outcome, NotDone):
        return await run(tool, tool.handler, args, call)
    return _unknown(call)


def _unknown(call: Call) -> Result:
    message = "It is not known whether this call had its effect. Do not repeat it; check first."
    return Result(call, error=CallError("outcome_unknown", message))


def to_record(result: Result) -> str:
    """A result as the journal keeps it."""
    record: dict[str, Any] = {"output": result.output}
    if result.content is not None:
        record["content"] = [
            {"text": part.text} if isinstance(part, Text) else {"image": part.url} for part in result.content.parts
        ]
    if result.error is not None:
        issues = [[issue.pointer, issue.keyword, issue.message] for issue in result.error.issues]
        record["error"] = {"code": result.error.code, "message": result.error.message, "issues": issues}
    return encode(record)


def from_record(call: Call, record: str) -> Result:
    """The result that a record holds, for a call that came again."""
    value: dict[str, Any] = json.loads(record)
    content: Content | None = None
    if "content" in value:
        content = Content(Text(part["text"]) if "text" in part else Image(part["image"]) for part in value["content"])
    error: CallError | None = None
    if "error" in value:
        kept = value["error"]
        error = CallError(kept["code"], kept["message"], tuple(Issue(*issue) for issue in kept["issues"]))
    return Result(call, value["output"], content, error, replayed=True)
