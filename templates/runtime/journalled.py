"""Execution through the journal: no side effect twice, and the same answer every time.

The rule (seed: store results by session, turn and call; check what happened before running a side effect again):

| What the journal says | What happens |
|---|---|
| the call is new | its intent is stored, the handler runs, its result is stored |
| it has a result | that result is given again; the handler does not run |
| it runs right now | in this process: its result is awaited; elsewhere: `in_progress` |
| it was begun and has no result | `read` and `idempotent` tools run again; for `write` the `reconcile` hook decides |
| a `write` was begun and timed out | the `reconcile` hook decides; without its word the outcome is unknown |
| nobody knows the outcome | the call is parked: `outcome_unknown`, now and whenever it comes again, until `resolve` |
| another worker took the call over meanwhile | this result is dropped; the answer is what the other one comes to |
| the same key, another tool or other arguments | `call_conflict`; nothing runs |
| the journal fails | before the handler: it does not run; after it: the result must not be submitted |
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable
from concurrent.futures import Future
from typing import Any, TypeVar

from .bounds import NotStarted, StillRunning
from .calls import Call, CallError, Result, fingerprint
from .content import Content, Image, Text
from .errors import Issue
from .hooks import Done, NotDone
from .journal import (
    Begun,
    Claim,
    Conflict,
    Ended,
    Fresh,
    Intent,
    Interrupted,
    Journal,
    Key,
    Operable,
    Redacted,
    Running,
    Stored,
)
from .loopthread import run_apart
from .models import integral
from .output import encode
from .runner import Runner
from .running import may_wait
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


def intent_of(call: Call, tool: str, args: Any) -> Intent:
    """What the journal is told of a call of `tool`, the same for every spelling of the same arguments."""
    wire = integral(args.model_dump(mode="json", by_alias=True, exclude_unset=True))
    text = json.dumps(wire, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return Intent(
        key_of(call), tool, fingerprint((tool, text)), call.idempotency_key, text
    )


async def execute_once(
    journal: Journal, runner: Runner, tool: Tool[Any], call: Call, args: Any
) -> Result:
    """Runs `call` unless the journal knows its result. Raises nothing but what ends the caller's own task."""
    may_wait()
    intent = intent_of(call, tool.name, args)
    must_ask = tool.entry.confirm
    refusal: Result | None = None
    try:
        begun = await _begin(journal, intent)
        if must_ask and isinstance(begun, Fresh):
            must_ask = False
            # People may take hours to decide. No intent stands meanwhile, or a restart would find a call that was
            # interrupted, where none had begun.
            await _completed(journal.release(begun.claim, ran=False))
            refusal = await runner.approve(tool, call, args)
            begun = await _begin(journal, intent)
        if not isinstance(begun, (Fresh, Interrupted)):
            return _known(call, begun)
    except Exception:
        log.exception("the journal cannot store the intent of %s", call.label)
        return Result(
            call,
            error=CallError(
                "journal_unavailable",
                "The call was not run: its record cannot be kept.",
            ),
        )
    claim = begun.claim
    jobs: list[Future[Any]] = []
    try:
        if isinstance(begun, Interrupted):
            settled = await _settled(runner, tool, call, args, must_ask, refusal)
        else:
            settled = refusal
        result = settled or await _run(runner, tool, call, args, jobs)
    except StillRunning as error:
        _finish_later(journal, claim, error.job)
        raise
    except BaseException as error:
        ran = isinstance(begun, Interrupted) or not isinstance(error, NotStarted)
        if (job := _outliving(jobs)) is not None:
            _finish_later(journal, claim, job)
        elif isinstance(error, GeneratorExit):
            # The call's loop is gone, so that it cannot wait for anything any more.
            run_apart(lambda: _release(journal, claim, ran=ran), "toolgen-late")
        else:
            await _release(journal, claim, ran=ran)
        raise
    try:
        accepted = await _completed(
            journal.finish(claim, to_record(result), how_it_ended(result))
        )
        if accepted:
            return result
        log.error(
            "%s was taken over by another worker while it ran here; the result of this run is dropped",
            call.label,
        )
        return await _of_the_other(journal, intent, call)
    except Exception:
        log.exception("the journal cannot store the result of %s", call.label)
        if (job := _outliving(jobs)) is not None:
            _finish_later(journal, claim, job)
        else:
            # Else it would count as running for as long as this process lives.
            await _release(journal, claim, ran=True)
        message = "The call was run, but its result cannot be kept."
        return Result(call, error=CallError("journal_unavailable", message), ran=True)


async def resolve(journal: Operable, key: Key, outcome: Done | NotDone) -> bool:
    """Ends a call that is parked or was interrupted, with what a person found out about it.

    With `Done(value)`, `value` is what the handler would have returned, as plain JSON; the call is answered with it
    from now on. With `NotDone()` the handler runs when the call comes again. False where there is no such call.
    """
    record: str | None = None
    if isinstance(outcome, Done):
        value = outcome.value
        output = value if isinstance(value, str) else encode(value)
        record = encode({"output": output})
    return await journal.resolve(key, record)


def how_it_ended(result: Result) -> Ended:
    """The state in which a call with this result is kept; an unknown outcome waits for a person."""
    if result.error is None:
        return "succeeded"
    return "parked" if result.error.code == "outcome_unknown" else "failed"


async def _of_the_other(journal: Journal, intent: Intent, call: Call) -> Result:
    """The answer to a call whose claim was lost while it ran here: this worker must not run it again."""
    begun = await _begin(journal, intent)
    if isinstance(begun, (Fresh, Interrupted)):
        await _release(journal, begun.claim, ran=True)
        begun = Running()
    return _known(call, begun)


async def _begin(journal: Journal, intent: Intent) -> Begun:
    """Claims the key. While another delivery of the call runs, its end is awaited for some seconds."""
    pause, waited = 0.002, 0.0
    while True:
        begin = asyncio.ensure_future(journal.begin(intent))
        try:
            begun = await _completed(begin)
        except asyncio.CancelledError:
            if not begin.done():  # the second cancellation
                begin.add_done_callback(
                    lambda begin: run_apart(
                        lambda: _take_back(journal, begin), "toolgen-late"
                    )
                )
            else:
                await _take_back(journal, begin)
            raise
        if not isinstance(begun, Running) or waited >= WAIT:
            return begun
        await asyncio.sleep(pause)
        waited += pause
        pause = min(pause * 2, 0.25)


async def _take_back(journal: Journal, begin: asyncio.Future[Begun]) -> None:
    """Gives up what a `begin` that has ended claimed."""
    if begin.cancelled() or begin.exception() is not None:
        return
    if isinstance(begun := begin.result(), (Fresh, Interrupted)):
        await _release(journal, begun.claim, ran=isinstance(begun, Interrupted))


async def _completed(writing: Awaitable[T]) -> T:
    """The outcome of a write. A cancellation waits for its end, so that it is known what the journal holds."""
    task = asyncio.ensure_future(writing)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})  # the second cancellation does not wait
        raise


async def _settled(
    runner: Runner,
    tool: Tool[Any],
    call: Call,
    args: Any,
    must_ask: bool,
    refusal: Result | None,
) -> Result | None:
    """The answer to an interrupted call that must not run again, or None. People are asked where `must_ask` says so:
    who began the call may have died before they were."""
    effect = tool.entry.effect
    if effect == "write":
        outcome = await runner.reconcile(tool, call, args)
        if isinstance(outcome, Done):
            return runner.write(tool, call, outcome.value)
        if not isinstance(outcome, NotDone):
            return _unknown(call)
    if must_ask:
        refusal = await runner.approve(tool, call, args)
    # Of an idempotent tool it is not known whether it had its effect before it was refused.
    return _unknown(call) if refusal and effect == "idempotent" else refusal


async def _run(
    runner: Runner,
    tool: Tool[Any],
    call: Call,
    args: Any,
    jobs: list[Future[Any]],
) -> Result:
    """Runs a call whose key is claimed."""
    result = await runner.run(tool, args, call, jobs)
    if (
        tool.entry.effect == "write"
        and result.ran
        and result.error is not None
        and result.error.code in ("timeout", "cancelled")
    ):
        # The handler began, and cannot say how far it came. In a thread it may even still run.
        outcome = await runner.reconcile(tool, call, args)
        if isinstance(outcome, Done):
            return runner.write(tool, call, outcome.value)
        if not isinstance(outcome, NotDone) or not tool.is_async:
            return _unknown(call)
    return result


def _known(call: Call, begun: Stored | Redacted | Running | Conflict) -> Result:
    """The answer to a call that must not run."""
    if isinstance(begun, Stored):
        return from_record(call, begun.record)
    if isinstance(begun, Redacted):
        message = "This call was answered before, and its result is not kept."
        return Result(call, error=CallError("result_redacted", message), replayed=True)
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


async def _release(journal: Journal, claim: Claim, *, ran: bool) -> None:
    try:
        await _completed(journal.release(claim, ran=ran))
    except Exception:
        log.exception("the journal cannot note that a call was given up")


def _finish_later(journal: Journal, claim: Claim, job: Future[Any]) -> None:
    """Stores what a handler comes to that outlived its call. Until it has ended nobody else may run the call."""

    async def store() -> None:
        result = job.result()
        try:
            if isinstance(result, Result):
                await journal.finish(claim, to_record(result), how_it_ended(result))
            else:
                await journal.release(claim, ran=True)
        except Exception:
            log.exception(
                "the journal cannot store the result of a handler that outlived its call"
            )

    # The handler's thread is the pool's, and not to be held up.
    job.add_done_callback(lambda _job: run_apart(store, "toolgen-late"))


def _outliving(jobs: list[Future[Any]]) -> Future[Any] | None:
    """What still runs of a handler in a thread, although its call has ended."""
    if not jobs or jobs[-1].done() or jobs[-1].cancel():
        return None
    return jobs[-1]


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
