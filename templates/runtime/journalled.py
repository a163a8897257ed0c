"""Execution through the journal: no side effect twice, and the same answer every time.

The rule (seed: store results by session, turn and call; check what happened before running a side effect again):

| What the journal says | What happens |
|---|---|
| the call is new | its intent is stored, the handler runs, its result is stored |
| it has a result | that result is given again; the handler does not run |
| it runs right now | in this process: its result is awaited; elsewhere: `in_progress` |
| it was begun and has no result | `read` and `idempotent` tools run again; for `write` the `reconcile` hook decides |
| a `write` was begun and timed out | the `reconcile` hook decides; without its word the outcome is unknown |
| the same key, another tool or other arguments | `call_conflict`; nothing runs |
| the journal fails | before the handler: it does not run; after it: the result must not be submitted |
"""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import Awaitable
from concurrent.futures import Future
from typing import Any, TypeVar

from .bounds import NotStarted, StillRunning
from .calls import Call, CallError, Result, fingerprint
from .content import Content, Image, Text
from .errors import Issue
from .hooks import Done, NotDone
from .journal import Begun, Conflict, Fresh, Interrupted, Journal, Key, Running, Stored
from .models import integral
from .output import encode
from .runner import Runner
from .tools import Tool

log = logging.getLogger(__name__)

T = TypeVar("T")

WAIT = 8.0
"""Seconds that a call waits for another delivery of the same call before it is answered `in_progress`."""


def key_of(call: Call) -> Key:
    """The journal key of a call. Raises `ValueError` where the call lacks a part of it."""
    if not (call.session_id and call.turn_id and call.call_id):
        raise ValueError(
            f"a call needs session_id, turn_id and call_id when there is a journal: {call.name}"
        )
    return Key(call.session_id, call.turn_id, call.call_id)


def digest_of(tool: str, args: Any) -> str:
    """A digest of the tool and its arguments, the same for every spelling of the same JSON."""
    wire = integral(args.model_dump(mode="json", by_alias=True, exclude_unset=True))
    return fingerprint(
        (
            tool,
            json.dumps(wire, sort_keys=True, ensure_ascii=True, separators=(",", ":")),
        )
    )


async def execute_once(
    journal: Journal, runner: Runner, tool: Tool[Any], call: Call, args: Any
) -> Result:
    """Runs `call` unless the journal knows its result. Raises nothing but what ends the caller's own task."""
    key = key_of(call)
    digest = digest_of(tool.name, args)
    refusal: Result | None = None
    try:
        begun = await _begin(journal, key, digest)
        if tool.entry.confirm and isinstance(begun, Fresh):
            # People may take hours to decide. No intent stands meanwhile, or a restart would find a call that was
            # interrupted, where none had begun.
            await _completed(journal.release(key, ran=False))
            refusal = await runner.approve(call)
            begun = await _begin(journal, key, digest)
    except Exception:
        log.exception("the journal cannot store the intent of %s", call.label)
        return Result(
            call,
            error=CallError(
                "journal_unavailable",
                "The call was not run: its record cannot be kept.",
            ),
        )
    if not isinstance(begun, (Fresh, Interrupted)):
        return _known(call, begun)
    if refusal is not None:
        result = refusal if isinstance(begun, Fresh) else _unknown(call)
    else:
        try:
            result = await _run(runner, tool, call, args, begun)
        except StillRunning as error:
            _finish_later(journal, key, error.job)
            raise
        except BaseException as error:
            await _release(
                journal,
                key,
                ran=isinstance(begun, Interrupted) or not isinstance(error, NotStarted),
            )
            raise
    try:
        await _completed(journal.finish(key, to_record(result)))
    except Exception:
        log.exception("the journal cannot store the result of %s", call.label)
        # Else it would count as running for as long as this process lives.
        await _release(journal, key, ran=True)
        message = "The call was run, but its result cannot be kept."
        return Result(call, error=CallError("journal_unavailable", message), ran=True)
    return result


async def _begin(journal: Journal, key: Key, digest: str) -> Begun:
    """Claims the key. While another delivery of the call runs, its end is awaited for some seconds."""
    pause, waited = 0.002, 0.0
    while True:
        begin = asyncio.ensure_future(journal.begin(key, digest))
        try:
            begun = await _completed(begin)
        except asyncio.CancelledError:
            known = begin.done() and not begin.cancelled() and begin.exception() is None
            if known and isinstance(claim := begin.result(), (Fresh, Interrupted)):
                await _release(journal, key, ran=isinstance(claim, Interrupted))
            raise
        if not isinstance(begun, Running) or waited >= WAIT:
            return begun
        await asyncio.sleep(pause)
        waited += pause
        pause = min(pause * 2, 0.25)


async def _completed(writing: Awaitable[T]) -> T:
    """The outcome of a write. A cancellation waits for its end, so that it is known what the journal holds."""
    task = asyncio.ensure_future(writing)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})  # the second cancellation does not wait
        raise


async def _run(
    runner: Runner, tool: Tool[Any], call: Call, args: Any, begun: Fresh | Interrupted
) -> Result:
    """Runs a call whose key is claimed, as far as it may."""
    is_write = tool.entry.effect == "write"
    if is_write and isinstance(begun, Interrupted):
        outcome = await runner.reconcile(call)
        if isinstance(outcome, Done):
            return runner.write(tool, call, outcome.value)
        if not isinstance(outcome, NotDone):
            return _unknown(call)
    result = await runner.run(tool, args, call)
    if (
        is_write
        and result.ran
        and result.error is not None
        and result.error.code in ("timeout", "cancelled")
    ):
        # The handler began, and cannot say how far it came. In a thread it may even still run.
        outcome = await runner.reconcile(call)
        if isinstance(outcome, Done):
            return runner.write(tool, call, outcome.value)
        if not isinstance(outcome, NotDone) or not tool.is_async:
            return _unknown(call)
    return result


def _known(call: Call, begun: Stored | Running | Conflict) -> Result:
    """The answer to a call that must not run."""
    if isinstance(begun, Stored):
        return from_record(call, begun.record)
    if isinstance(begun, Running):
        return Result(
            call, error=CallError("in_progress", "This call is already running.")
        )
    log.error(
        "call %s of session %s comes again with another tool or other arguments",
        call.call_id,
        call.session_id,
    )
    message = "This call id was used before for another call; nothing was run."
    return Result(call, error=CallError("call_conflict", message))


def _unknown(call: Call) -> Result:
    message = "It is not known whether this call had its effect. Do not repeat it; check first."
    return Result(call, error=CallError("outcome_unknown", message))


async def _release(journal: Journal, key: Key, *, ran: bool) -> None:
    try:
        await _completed(journal.release(key, ran=ran))
    except Exception:
        log.exception("the journal cannot note that a call was given up")


def _finish_later(journal: Journal, key: Key, job: Future[Any]) -> None:
    """Stores what a handler comes to that outlived its call. Until it has ended nobody else may run the call."""

    async def store() -> None:
        result = job.result()
        try:
            if isinstance(result, Result):
                await journal.finish(key, to_record(result))
            else:
                await journal.release(key, ran=True)
        except Exception:
            log.exception(
                "the journal cannot store the result of a handler that outlived its call"
            )

    def ended(_job: Future[Any]) -> None:
        # With a thread and a loop of its own: the loop of the call may be gone, and the handler's thread is the pool's.
        threading.Thread(
            target=asyncio.run, args=(store(),), name="toolgen-late", daemon=True
        ).start()

    job.add_done_callback(ended)


def to_record(result: Result) -> str:
    """A result as the journal keeps it."""
    record: dict[str, Any] = {"output": result.output}
    if result.content is not None:
        record["content"] = [
            {"text": part.text} if isinstance(part, Text) else {"image": part.url}
            for part in result.content.parts
        ]
    if result.error is not None:
        issues = [
            [issue.pointer, issue.keyword, issue.message]
            for issue in result.error.issues
        ]
        record["error"] = {
            "code": result.error.code,
            "message": result.error.message,
            "issues": issues,
        }
    return encode(record)


def from_record(call: Call, record: str) -> Result:
    """The result that a record holds, for a call that came again."""
    value: dict[str, Any] = json.loads(record)
    content: Content | None = None
    if "content" in value:
        content = Content(
            Text(part["text"]) if "text" in part else Image(part["image"])
            for part in value["content"]
        )
    error: CallError | None = None
    if "error" in value:
        kept = value["error"]
        error = CallError(
            kept["code"],
            kept["message"],
            tuple(Issue(*issue) for issue in kept["issues"]),
        )
    return Result(call, value["output"], content, error, replayed=True)
