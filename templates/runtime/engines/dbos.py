"""DBOS (https://docs.dbos.dev) as the transport of calls: a step for workflows of yours, and a workflow for queues.

    execute = dbos.step_for(dispatcher)

    @DBOS.workflow()
    async def answer(...) -> ...:
        result = await execute(Call("pay", ..., session_id=..., turn_id=..., call_id=...))

    serve = dbos.workflow_for(dispatcher)                # for `DBOS.enqueue_workflow_async("tools", serve, wire)`

It needs `pip install dbos`. DBOS keeps what a step gave; a step that was interrupted it begins again, and then the
journal says what may happen.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Protocol

from dbos import DBOS, StepOptions

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
"""Name of the step, and of the workflow."""

PAUSE = 2.0
"""Seconds between two deliveries of a call that has no answer yet."""

FOR_EVER = 2**31 - 1
"""A call is delivered until it has an answer: that its handler failed is one."""


class Execute(Protocol):
    """Executes calls inside a workflow."""

    async def __call__(self, call: Call, *, context: Any = None) -> Result:
        """The result of a call; a call that failed is a result as well.

        `call` has session, turn and call id, which are the same whenever the workflow is run again; `context` is what
        the handlers are to know about the caller, as JSON. DBOS keeps both.

        Raises what DBOS raises where the workflow was cancelled.
        """
        ...


def step_for(
    dispatcher: DispatcherSource,
    *,
    context: ContextOf | None = None,
    pause: float = PAUSE,
) -> Execute:
    """A function that executes calls as steps of a workflow.

    Args:
        dispatcher: with a journal that all workers share.
        context: makes the handlers' `call.context` of what the function was given as `context`.
        pause: seconds between two deliveries of a call that another worker runs, or whose journal is away.

    Raises `ValueError` for a dispatcher without a journal.
    """
    deliver = _step(dispatcher, context, pause)

    async def execute(call: Call, *, context: Any = None) -> Result:
        return result_from_wire(call, await deliver(call_to_wire(call, context)))

    return execute


def workflow_for(
    dispatcher: DispatcherSource,
    *,
    context: ContextOf | None = None,
    name: str = NAME,
    pause: float = PAUSE,
) -> Callable[[Wire], Coroutine[Any, Any, Wire]]:
    """A workflow of one call, from `call_to_wire` to what `result_from_wire` takes. Make it before `DBOS.launch`.

    It can be enqueued, and started again with another id as often as you like: the journal knows the call. `name` is
    that of the workflow, where a process serves several packages; the rest is as for `step_for`.
    """
    deliver = _step(dispatcher, context, pause)

    @DBOS.workflow(name=name)
    async def execute_call(call: Wire) -> Wire:
        return await deliver(call)

    return execute_call


def _step(
    dispatcher: DispatcherSource, context: ContextOf | None, pause: float
) -> Callable[[Wire], Coroutine[Any, Any, Wire]]:
    executor = Executor(dispatcher, context)
    options: StepOptions = {
        "name": NAME,
        "retries_allowed": True,
        "interval_seconds": pause,
        "backoff_rate": 1.0,
        "max_attempts": FOR_EVER,
        "should_retry": _has_no_answer,
        # Else the handler of a cancelled workflow would run on, and nobody would hear of it.
        "preemptible": True,
    }

    async def execute(call: Wire) -> Wire:
        return await DBOS.run_step_async(options, executor.execute, call)

    return execute


def _has_no_answer(error: BaseException) -> bool:
    return isinstance(error, TryAgain)
