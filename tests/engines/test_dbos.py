"""DBOS, on a real PostgreSQL: what its workers do, and what is left when they are killed."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from dbos import DBOS, DBOSClient, error, run_dbos_database_migrations

from tests.engines.conftest import Workers
from tests.engines.support import begun_again, survive
from tests.engines.workers import QUEUE, configuration, module
from tests.journal.server import Server

pytestmark = pytest.mark.xdist_group("postgres")
KILLS = 12


async def test_workers_that_are_killed(folder: Path, tmp_path: Path, server: Server) -> None:
    url = configuration(server.conninfo)["system_database_url"]
    await asyncio.to_thread(run_dbos_database_migrations, url)
    workers = Workers("dbos", folder, tmp_path, server.conninfo, 2, KILLS)
    client = DBOSClient(system_database_url=url)

    async def one(call: dict[str, Any], position: int) -> tuple[str, str | None]:
        engines = module("engines")
        name = ("answer", module("engines.dbos").NAME)[position % 2]
        options: Any = {"workflow_name": name, "queue_name": QUEUE, "app_version": "1"}
        handle: Any = await client.enqueue_async(options, call)
        result = engines.result_from_wire(engines.call_from_wire(call), await handle.get_result())
        return result.output, result.error and result.error.code

    async def execute(calls: list[dict[str, Any]], attempt: int) -> list[tuple[str, str | None]]:
        return await asyncio.gather(*(one(call, attempt + index // 4) for index, call in enumerate(calls)))

    try:
        tally = await workers.during(survive(tmp_path, execute))
    finally:
        killed = await asyncio.to_thread(workers.end)
        client.destroy()
    assert killed >= KILLS
    assert (tally.duplicate, tally.lost, tally.missing, tally.unanswered) == (0, 0, 0, 0)
    assert await begun_again(module("journal.postgres").PostgresJournal(server.conninfo))


@pytest.fixture
def launched(folder: Path, server: Server) -> Iterator[Callable[[], None]]:
    """DBOS in this process; call it once everything is registered."""
    yield lambda: (DBOS(config=configuration(server.conninfo)), DBOS.launch())[1]
    DBOS.destroy(destroy_registry=True)


class TestInOneProcess:
    def dispatcher(self, tools: ModuleType, **handlers: Any) -> Any:
        return tools.dispatcher(SimpleNamespace(**handlers), journal=module("journal.memory").MemoryJournal())

    async def test_a_step_gives_the_result(self, tools: ModuleType, launched: Callable[[], None]) -> None:
        api = module("")
        seen: list[Any] = []

        def pay(args: Any, call: Any) -> Any:
            seen.append(call.context)
            raise api.ToolError("no money")

        d = self.dispatcher(tools, pay=pay, look_up=lambda args, call: {"found": args.key})
        execute = module("engines.dbos").step_for(d, context=lambda given: given and given["user"])

        @DBOS.workflow()
        async def two_calls() -> list[Any]:
            ids = {"session_id": "s", "turn_id": "t"}
            first = await execute(api.Call("look_up", '{"key": "a"}', "1", **ids))
            second = await execute(api.Call("pay", {"key": "a"}, "2", **ids), context={"user": "ada"})
            return [first.output, second.error.code, second.error.message, second.ran]

        await asyncio.to_thread(launched)
        handle: Any = await DBOS.start_workflow_async(two_calls)
        assert await handle.get_result() == ['{"found":"a"}', "handler_error", "no money", True]
        assert seen == ["ada"]

    async def test_a_journal_that_is_away_is_asked_again(self, tools: ModuleType, launched: Callable[[], None]) -> None:
        d = self.dispatcher(tools, look_up=lambda args, call: "found")
        begin, failures = d.journal.begin, [OSError("away")] * 2

        async def away(intent: Any) -> Any:
            if failures:
                raise failures.pop()
            return await begin(intent)

        d.journal.begin = away
        workflow = module("engines.dbos").workflow_for(lambda: d, pause=0.01)
        await asyncio.to_thread(launched)
        call = module("").Call("look_up", {"key": "a"}, "1", "t", "s")
        handle: Any = await DBOS.start_workflow_async(workflow, module("engines").call_to_wire(call))
        assert module("engines").result_from_wire(call, await handle.get_result()).output == "found"
        assert not failures

    async def test_a_workflow_that_is_cancelled_leaves_an_unknown(
        self, tools: ModuleType, launched: Callable[[], None]
    ) -> None:
        began = threading.Event()

        async def pay(args: Any, call: Any) -> None:
            began.set()
            await asyncio.Event().wait()

        d = self.dispatcher(tools, pay=pay)
        workflow = module("engines.dbos").workflow_for(d)
        await asyncio.to_thread(launched)
        call = module("").Call("pay", {"key": "a"}, "1", "t", "s")
        handle: Any = await DBOS.start_workflow_async(workflow, module("engines").call_to_wire(call))
        assert await asyncio.to_thread(began.wait, 30)
        await DBOS.cancel_workflow_async(handle.get_workflow_id())
        with pytest.raises(error.DBOSException):
            await handle.get_result()
        result = await d.execute(call)
        assert result.error.code == "outcome_unknown"

    def test_a_journal_is_needed(self, tools: ModuleType) -> None:
        with pytest.raises(ValueError, match="the dispatcher needs a journal"):
            module("engines.dbos").step_for(tools.dispatcher(SimpleNamespace()))
