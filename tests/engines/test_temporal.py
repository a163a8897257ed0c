"""Temporal, on the real server: what its workers do, and what is left when they are killed."""

from __future__ import annotations

import asyncio
import importlib
import uuid
from datetime import timedelta
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from temporalio.client import WorkflowFailureError
from temporalio.worker import Worker

from tests.engines.conftest import Workers
from tests.engines.support import begun_again, survive
from tests.engines.workers import FLOWS, QUEUE, module

pytestmark = pytest.mark.xdist_group("temporal")
KILLS = 12


async def start(client: Any, call: dict[str, Any]) -> Any:
    return await client.start_workflow(
        "Answer", call, id=str(uuid.uuid4()), task_queue=QUEUE, task_timeout=timedelta(seconds=1)
    )


async def test_workers_that_are_killed(folder: Path, tmp_path: Path, temporal: Any) -> None:
    address = temporal.client.service_client.config.target_host
    workers = Workers("temporal", folder, tmp_path, address, 1, KILLS)

    async def execute(calls: list[dict[str, Any]], attempt: int) -> list[tuple[str, str | None]]:
        handles = [await start(temporal.client, call) for call in calls]
        answers = await asyncio.gather(*(handle.result() for handle in handles))
        return [(answer["output"], answer["code"]) for answer in answers]

    try:
        tally = await workers.during(survive(tmp_path, execute))
    finally:
        killed = await asyncio.to_thread(workers.end)
    assert killed >= KILLS
    assert (tally.duplicate, tally.lost, tally.missing, tally.unanswered) == (0, 0, 0, 0)
    assert await begun_again(module("journal.sqlite").SQLiteJournal(tmp_path / "journal.db"))


def dispatcher(tools: ModuleType, **handlers: Any) -> Any:
    return tools.dispatcher(SimpleNamespace(**handlers), journal=module("journal.memory").MemoryJournal())


def worker(temporal: Any, d: Any, **options: Any) -> Worker:
    options.setdefault("max_cached_workflows", 0)
    activity = module("engines.temporal").activity_for(d, context=lambda given: given and given["user"])
    flow = importlib.import_module(FLOWS).Answer
    return Worker(temporal.client, task_queue=QUEUE, workflows=[flow], activities=[activity], **options)


def wire(tool: str, **more: Any) -> dict[str, Any]:
    ids = {"call_id": "1", "turn_id": "t", "session_id": "s", "target": ""}
    return {"name": tool, "arguments": {"key": "a"}, **ids, **more}


async def test_the_activity_gives_the_result(tools: ModuleType, temporal: Any) -> None:
    api = module("")
    seen: list[Any] = []

    def pay(args: Any, call: Any) -> Any:
        seen.append(call.context)
        raise api.ToolError("no money")

    async with worker(temporal, dispatcher(tools, pay=pay, look_up=lambda args, call: {"found": args.key})):
        found = await (await start(temporal.client, wire("look_up"))).result()
        assert found == {"output": '{"found":"a"}', "code": None, "ran": True, "replayed": False}
        failed = await (await start(temporal.client, wire("pay", call_id="2", context={"user": "ada"}))).result()
        assert (failed["code"], failed["replayed"], seen) == ("handler_error", False, ["ada"])
        again = await (await start(temporal.client, wire("pay", call_id="2"))).result()
        assert (again["code"], again["replayed"], seen) == ("handler_error", True, ["ada"])
        refused = await (await start(temporal.client, wire("pay", call_id="3", arguments="[NaN"))).result()
        assert refused["code"] == "invalid_json"


async def test_a_journal_that_is_away_is_asked_again(tools: ModuleType, temporal: Any) -> None:
    d = dispatcher(tools, look_up=lambda args, call: "found")
    begin, failures = d.journal.begin, [OSError("away")] * 2

    async def away(intent: Any) -> Any:
        if failures:
            raise failures.pop()
        return await begin(intent)

    d.journal.begin = away
    async with worker(temporal, lambda: d):
        assert (await (await start(temporal.client, wire("look_up"))).result())["output"] == "found"
    assert not failures


async def test_a_workflow_that_is_cancelled_leaves_an_unknown(tools: ModuleType, temporal: Any) -> None:
    began, ended = asyncio.Event(), asyncio.Event()

    async def pay(args: Any, call: Any) -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    d = dispatcher(tools, pay=pay)
    async with worker(temporal, d):
        handle = await start(temporal.client, wire("pay"))
        await began.wait()
        await handle.cancel()
        with pytest.raises(WorkflowFailureError):
            await handle.result()
        assert ended.is_set()  # the workflow heard of the end, not of the wish
        assert (await (await start(temporal.client, wire("pay"))).result())["code"] == "outcome_unknown"


async def test_another_worker_goes_on_after_a_shutdown(tools: ModuleType, temporal: Any) -> None:
    began = asyncio.Event()

    async def look_up(args: Any, call: Any) -> str:
        if began.is_set():
            return "found"
        began.set()
        await asyncio.Event().wait()
        return "never"

    d = dispatcher(tools, look_up=look_up)
    async with worker(temporal, d):
        handle = await start(temporal.client, wire("look_up"))
        await began.wait()
    async with worker(temporal, d):
        assert (await handle.result())["output"] == "found"


def test_a_journal_is_needed(tools: ModuleType) -> None:
    with pytest.raises(ValueError, match="the dispatcher needs a journal"):
        module("engines.temporal").activity_for(tools.dispatcher(SimpleNamespace()))
