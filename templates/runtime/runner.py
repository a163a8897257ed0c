"""Running the handler of one call: approval, the time bound, whatever it raises, and its output as text."""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

from .bounds import TookTooLong, concerns_the_caller, in_thread, on_loop, rest_on_loop
from .calls import Call, CallError, Result
from .content import Content, Text
from .errors import ToolError, UnserializableOutput
from .hooks import Done, Hooks, NotDone, Outcome, Unknown
from .models import integral
from .running import may_wait
from .threads import ThreadPool
from .tools import Handler, Tool
from .values import characters

log = logging.getLogger(__name__)

LONGEST_MESSAGE = 100_000
"""Characters of a `ToolError` that are passed on; every API takes as many."""


class Runner:
    """Runs handlers for a dispatcher and makes a result of whatever comes of it."""

    def __init__(
        self,
        hooks: Hooks | None,
        pool: ThreadPool,
        timeout: float | None,
        output_limits: Mapping[str, int],
    ) -> None:
        self.hooks = hooks
        self.pool = pool
        self.timeout = timeout
        self.output_limits = output_limits

    async def run(
        self,
        tool: Tool[Any],
        args: Any,
        call: Call,
        jobs: list[Future[Any]] | None = None,
    ) -> Result:
        """The result of a call that may run. Raises nothing but what ends the caller's own task.

        A handler that is a plain function may outlive its call: what runs in a thread is added to `jobs`.
        """
        timeout = tool.entry.timeout
        if timeout is None:
            timeout = self.timeout
        try:
            handler = tool.handler or tool.load()
            if tool.is_async:
                coroutine = handler(args, call)
                try:
                    waiting = coroutine.send(None)
                except StopIteration as done:
                    value = done.value
                else:
                    value = await rest_on_loop(coroutine, waiting, timeout)
            else:
                plain = functools.partial(self._run_plain, tool, handler, args, call)
                outcome = await in_thread(self.pool, plain, timeout, call.name, jobs)
                if isinstance(outcome, Result):
                    return outcome
                value = await on_loop(outcome, timeout)
        except BaseException as error:
            if concerns_the_caller(error):
                raise
            return _ended_badly(call, error, timeout)
        return self.write(tool, call, value)

    def _run_plain(
        self, tool: Tool[Any], handler: Handler, args: Any, call: Call
    ) -> Result | Awaitable[Any]:
        """Runs a plain function in its thread, and writes its output there too: that may run code of the handler."""
        try:
            value = handler(args, call)
            if inspect.isawaitable(value):  # a plain function that wraps an async one
                return value
            return self.write(tool, call, value)
        except BaseException as error:  # noqa: BLE001 - nothing here is for others
            return _ended_badly(call, error, None)

    def write(self, tool: Tool[Any], call: Call, value: Any) -> Result:
        """The result of a handler that returned `value`."""
        try:
            text = tool.serialize(value)
        except UnserializableOutput as error:
            log.error(
                "the output of %s cannot be sent: %s",
                call.label,
                error,
                exc_info=error.__cause__,
            )
            message = (
                f"The tool ran, but its output cannot be sent: {characters(str(error))}"
            )
            return Result(
                call,
                error=CallError("unserializable_output", message, error.issues),
                ran=True,
            )
        except ToolError as error:  # raised by a generator that the handler returned
            return _ended_badly(call, error, None)
        except Exception:
            log.exception("writing the output of %s failed", call.label)
            message = "The tool ran, but its output cannot be sent."
            return Result(
                call, error=CallError("unserializable_output", message), ran=True
            )
        content = value if isinstance(value, Content) else None
        limit = self.output_limits.get(call.target)
        # A character takes at most six bytes, so that few outputs need to be measured.
        if limit is None or (len(text) * 6 < limit and content is None):
            return Result(call, text, content, None, True)
        if (size := _size(text, content)) > limit:
            message = f"The tool ran, but its output is too large to send: {size} bytes, at most {limit} are allowed."
            return Result(call, error=CallError("output_too_large", message), ran=True)
        return Result(call, text, content, None, True)

    async def approve(self, tool: Tool[Any], call: Call, args: Any) -> Result | None:
        """The refusal of a call that needs approval, or None when it may run."""
        ask = self.hooks.approve if self.hooks else None
        if ask is None:
            log.warning(
                "the tool %s needs approval and no approve hook is set", call.label
            )
            return _refused(
                call, "This call needs approval and nobody can give it here."
            )
        try:
            answer = ask(_as_specified(tool, call, args))
            if inspect.isawaitable(answer):
                may_wait()
                answer = await answer
        except BaseException as error:
            if concerns_the_caller(error):
                raise
            log.error("the approve hook failed for %s", call.label, exc_info=error)
            return _refused(call, "This call needs approval, and asking for it failed.")
        return None if answer is True else _refused(call, "This call was not approved.")

    async def reconcile(self, tool: Tool[Any], call: Call, args: Any) -> Outcome:
        """What became of a `write` call that was interrupted, as the service knows."""
        ask = self.hooks.reconcile if self.hooks else None
        if ask is None:
            return Unknown()
        try:
            answer: Any = ask(_as_specified(tool, call, args))
            if inspect.isawaitable(answer):
                answer = await answer
        except BaseException as error:
            if concerns_the_caller(error):
                raise
            log.error("the reconcile hook failed for %s", call.label, exc_info=error)
            return Unknown()
        if isinstance(answer, (Done, NotDone, Unknown)):
            return answer
        log.error(
            "the reconcile hook gave %s for %s, no outcome",
            type(answer).__name__,
            call.name,
        )
        return Unknown()

    def tell(self, hook: Callable[..., Any] | None, *facts: Any) -> None:
        """Calls a hook that only looks on."""
        if hook is None:
            return
        try:
            answer = hook(*facts)
        except BaseException as error:
            if concerns_the_caller(error):
                raise
            log.error("a hook failed", exc_info=error)
        else:
            if inspect.iscoroutine(answer):
                answer.close()
                log.error(
                    "on_start and on_finish are plain functions; an async one does not run"
                )


def failed(call: Call) -> Result:
    """The result of a call that failed in a way the model is told nothing about."""
    return Result(
        call,
        error=CallError("handler_error", "The tool failed for an internal reason."),
        ran=True,
    )


def not_implemented(call: Call, ran: bool = False) -> Result:
    return Result(
        call,
        error=CallError("not_implemented", "This tool is not implemented."),
        ran=ran,
    )


def cancelled(call: Call) -> Result:
    return Result(
        call,
        error=CallError("cancelled", "The call was cancelled before it ended."),
        ran=True,
    )


def shutting_down(call: Call, ran: bool) -> Result:
    """The result of a call that a shutdown kept from running, or from ending. It must not be sent."""
    what = "stopped before it ended" if ran else "not run"
    message = f"The call was {what}: the service is shutting down."
    return Result(call, error=CallError("shutting_down", message), ran=ran)


def _as_specified(tool: Tool[Any], call: Call, args: Any) -> Call:
    """The call in the words of the spec, for hooks that decide: on some APIs tools and arguments have other names."""
    wire = args.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return replace(call, name=tool.name, arguments=integral(wire))


def _refused(call: Call, message: str) -> Result:
    return Result(call, error=CallError("not_approved", message))


def _ended_badly(call: Call, error: BaseException, timeout: float | None) -> Result:
    """The result of a handler that raised."""
    if isinstance(error, ToolError):
        message = characters(str(error)) or "The tool failed."
        if len(message) > LONGEST_MESSAGE:
            message = message[:LONGEST_MESSAGE] + "…"
        return Result(call, error=CallError("handler_error", message), ran=True)
    if isinstance(error, TookTooLong):
        if error.__cause__ is not None:
            log.error(
                "the handler of %s failed when its time was over",
                call.label,
                exc_info=error.__cause__,
            )
        did = "finish" if error.started else "start"
        message = f"The tool did not {did} within {timeout:g} seconds."
        return Result(call, error=CallError("timeout", message), ran=error.started)
    if isinstance(error, asyncio.CancelledError):
        return cancelled(call)
    if isinstance(error, NotImplementedError):
        log.error("the handler of %s is not implemented", call.label, exc_info=error)
        return not_implemented(call, ran=True)
    # Not even `SystemExit`: a handler must not end the service.
    log.error("the handler of %s failed", call.label, exc_info=error)
    return failed(call)


def _size(text: str, content: Content | None) -> int:
    """Bytes of an output as JSON text."""
    parts = [text]
    if content is not None:
        parts = [
            part.text if isinstance(part, Text) else part.url for part in content.parts
        ]
    return sum(len(json.dumps(part, ensure_ascii=False).encode()) for part in parts)
