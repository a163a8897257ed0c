"""Temporal (https://temporal.io) as the transport of calls: an activity for workers, and a call of it for workflows.

    worker = Worker(client, task_queue="tools", activities=[temporal.activity_for(dispatcher)])

    @workflow.defn
    class Answer:
        @workflow.run
        async def run(self, ...) -> ...:
            result = await temporal.execute(Call("pay", ..., session_id=..., turn_id=..., call_id=...))

It needs `pip install temporalio`. In a workflow's module the package is imported with `imports_passed_through`.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any

from temporalio import activity, workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ApplicationError

from ..calls import Call, Result
from . import (
    ContextOf,
    DispatcherSource,
    Executor,
    TryAgain,
    Wire,
    call_to_wire,
    result_from_wire,
)

NAME = "toolgen.execute_call"
"""Name of the activity."""

HEARTBEAT = timedelta(seconds=30)
"""After so long without a word of its worker, an activity is delivered again."""

LONGEST = timedelta(hours=1)
"""What one delivery may take, approval by people included. The tools' own time bounds are in their specs."""

PAUSES = RetryPolicy(
    initial_interval=timedelta(seconds=1),
    backoff_coefficient=2.0,
    maximum_interval=timedelta(minutes=1),
    maximum_attempts=0,
)
"""A call is delivered until it has an answer: that its handler failed is one."""


def activity_for(
    dispatcher: DispatcherSource,
    *,
    context: ContextOf | None = None,
    name: str = NAME,
) -> Callable[[Wire], Coroutine[Any, Any, Wire]]:
    """The activity that executes calls, to register with a worker.

    While a call runs, the activity tells the server that its worker is alive. A cancellation by the workflow, or one by
    a worker that shuts down, ends the handler as the caller's own does: what it did is unknown from then on.

    Args:
        dispatcher: with a journal that all workers share.
        context: makes the handlers' `call.context` of what `execute` was given as `context`.
        name: of the activity, where a worker serves several packages.

    Raises `ValueError` for a dispatcher without a journal.
    """
    executor = Executor(dispatcher, context)

    @activity.defn(name=name)
    async def execute_call(call: dict[str, Any]) -> dict[str, Any]:
        beating = asyncio.create_task(_beat())
        try:
            return await executor.execute(call)
        except TryAgain as error:
            raise ApplicationError(str(error), type=error.code) from None
        except asyncio.CancelledError:
            details = activity.cancellation_details()
            if details is not None and details.worker_shutdown:
                # It was not the workflow that cancelled: another worker is to go on.
                raise ApplicationError("shutting_down", type="shutting_down") from None
            raise
        finally:
            beating.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await beating

    return execute_call


async def execute(
    call: Call,
    *,
    context: Any = None,
    name: str = NAME,
    task_queue: str | None = None,
    heartbeat_timeout: timedelta = HEARTBEAT,
    start_to_close_timeout: timedelta = LONGEST,
    schedule_to_close_timeout: timedelta | None = None,
    retry_policy: RetryPolicy = PAUSES,
) -> Result:
    """Executes a call from inside a workflow, and gives its result: a call that failed is a result as well.

    Args:
        call: with session, turn and call id, which are the same whenever the workflow is run again. Ids that come from
            the API, or from the workflow's own id, are.
        context: what the handlers are to know about the caller, as JSON. It is kept in the workflow's history.
        name: of the activity.
        task_queue: of the workers that have the tools; the workflow's own by default.
        heartbeat_timeout: how soon a worker that is gone is noticed.
        start_to_close_timeout: how long one delivery may take.
        schedule_to_close_timeout: how long all of them may take; None for as long as it needs.
        retry_policy: the pauses between deliveries. A policy that gives up leaves calls unanswered.

    Raises:
        temporalio.exceptions.ActivityError: the workflow was cancelled, or the policy or a timeout gave up. What
            became of a `write` call is not known then.
    """
    wire = await workflow.execute_activity(
        name,
        call_to_wire(call, context),
        result_type=dict[str, Any],
        task_queue=task_queue,
        heartbeat_timeout=heartbeat_timeout,
        start_to_close_timeout=start_to_close_timeout,
        schedule_to_close_timeout=schedule_to_close_timeout,
        retry_policy=retry_policy,
        # The workflow hears of the end of a call that it cancelled, not of the wish alone.
        cancellation_type=workflow.ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    )
    return result_from_wire(call, wire)


async def _beat() -> None:
    """Tells the server that this worker is alive, until cancelled. The SDK sends fewer where that is too often."""
    bound = activity.info().heartbeat_timeout or HEARTBEAT
    while True:
        activity.heartbeat()
        await asyncio.sleep(bound.total_seconds() / 3)
