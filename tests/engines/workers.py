"""Workers of an engine that are really killed: `python -m tests.engines.workers ENGINE FOLDER ADDRESS SEED KILLS`.

Keeps two workers running, each in a process of its own, and lets each be killed with SIGKILL, at a named step or soon
after it began its first call, until so many were killed. Then two go on until stdin ends. Prints a line for each kill.
Everything is imported before the first fork, so that a worker is there in a moment. FOLDER is where the journal and the
effects are.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import itertools
import json
import os
import random
import signal
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tests.journal.crashes import Plan, Round, Watched

PACKAGE = "tools_of_workers"
FLOWS = "flows_of_workers"
"""Module with the workflow for Temporal, as a service writes it."""
FLOWS_SOURCE = """
from datetime import timedelta

from temporalio import workflow
from temporalio.common import RetryPolicy

with workflow.unsafe.imports_passed_through():
    from tools_of_workers.runtime.engines import call_from_wire, temporal

SOON = RetryPolicy(initial_interval=timedelta(seconds=0.05), maximum_attempts=0)


@workflow.defn
class Answer:
    @workflow.run
    async def run(self, wire: dict) -> dict:
        result = await temporal.execute(
            call_from_wire(wire),
            context=wire.get("context"),
            heartbeat_timeout=timedelta(seconds=1),
            start_to_close_timeout=timedelta(seconds=20),
            retry_policy=SOON,
        )
        code = None if result.error is None else result.error.code
        return {"output": result.output, "code": code, "ran": result.ran, "replayed": result.replayed}
"""
QUEUE = "tools"
LEASE = 1.0
STEPS = (
    "before the intent",
    "after the intent",
    "before the effect",
    "after the effect",
    "before the result",
    "after the result",
    "while it asks what happened",
    "",  # any moment
    "",
    "",
)
ROUNDS = {1: False, 2: True}
"""Numbers of the rounds, and whether their calls can be reconciled."""


def module(name: str) -> Any:
    return importlib.import_module(f"{PACKAGE}.runtime{'.' + name if name else ''}")


def rounds(folder: Path) -> dict[str, Round]:
    """The rounds by the session of their calls."""
    return {f"round {number}": Round(folder, number, reconciles) for number, reconciles in ROUNDS.items()}


def dispatcher(engine: str, folder: Path, address: str, plan: Plan, chance: random.Random) -> Any:
    """What a worker executes calls with. Its tools do what those of the journal's own crashes do."""
    api = module("")
    by_session = rounds(folder)
    if engine == "dbos":
        inner = module("journal.postgres").PostgresJournal(address, lease=LEASE)
    else:
        inner = module("journal.sqlite").SQLiteJournal(folder / "journal.db")
    journal: Any = Watched(inner, plan)

    async def short(args: Any, call: Any) -> dict[str, str]:
        await asyncio.sleep(chance.uniform(0, 0.05))
        return {"found": args.key}

    def effect(call: Any) -> None:
        plan.reached("before the effect")
        by_session[call.session_id].append("effects", call.call_id)
        plan.reached("after the effect")

    async def pay(args: Any, call: Any) -> dict[str, str]:
        await asyncio.sleep(chance.uniform(0, 0.05))
        effect(call)
        await asyncio.sleep(chance.uniform(0, 0.05))
        return {"paid": args.key}

    def pay_later(args: Any, call: Any) -> dict[str, str]:
        time.sleep(chance.uniform(0, 0.05))
        effect(call)
        time.sleep(chance.uniform(0, 0.05))
        return {"paid": args.key}

    def reconcile(call: Any) -> Any:
        plan.reached("while it asks what happened")
        this = by_session[call.session_id]
        if not this.reconciles:
            return api.Unknown()
        return api.Done({"paid": call.call_id}) if this.effects()[call.call_id] else api.NotDone()

    handlers = SimpleNamespace(look_up=short, set_flag=short, pay=pay, pay_later=pay_later)
    hooks = api.Hooks(reconcile=reconcile)
    return importlib.import_module(PACKAGE).dispatcher(handlers, journal=journal, hooks=hooks)


def serve_temporal(make: Any, folder: Path, address: str, slot: int) -> None:
    from temporalio.client import Client
    from temporalio.worker import Worker

    flow = importlib.import_module(FLOWS).Answer

    async def serve() -> None:
        client = await Client.connect(address)
        activity = module("engines.temporal").activity_for(make)
        options: Any = {"max_concurrent_activities": 4, "max_cached_workflows": 0}
        async with Worker(client, task_queue=QUEUE, workflows=[flow], activities=[activity], **options):
            await asyncio.Event().wait()

    asyncio.run(serve())


def serve_dbos(make: Any, folder: Path, address: str, slot: int) -> None:
    from dbos import DBOS

    engine = module("engines.dbos")
    execute = engine.step_for(make, pause=0.1)
    call_from_wire = module("engines").call_from_wire
    result_to_wire = module("engines").result_to_wire

    @DBOS.workflow(name="answer")
    async def answer(wire: dict[str, Any]) -> Any:
        return result_to_wire(await execute(call_from_wire(wire)))

    engine.workflow_for(make, pause=0.1)
    DBOS(config={**configuration(address), "executor_id": f"worker-{slot}"})
    DBOS.launch()
    DBOS.register_queue(QUEUE, worker_concurrency=4, polling_interval_sec=0.05)
    while True:
        time.sleep(60)


def configuration(address: str) -> Any:
    """DBOS on the PostgreSQL server whose socket's folder is the host of `address`."""
    host = dict(part.split("=") for part in address.split())["host"]
    url = f"postgresql+psycopg://test@/dbos?host={host}"
    return {
        "name": "tools",
        "system_database_url": url,
        "application_version": "1",
        "log_level": "CRITICAL",
        "notification_listener_polling_interval_sec": 0.05,
    }


class Noticed(Plan):
    """A plan that tells the parent when the first call has begun."""

    def __init__(self, step: str, left: int) -> None:
        super().__init__(step, left)
        self.heard, self.telling = os.pipe()
        os.set_blocking(self.heard, False)
        self.told = False

    def reached(self, step: str) -> None:
        if not self.told and step == "after the intent":
            self.told = True
            os.write(self.telling, b".")
        super().reached(step)


class Victim:
    """A worker that is killed where its plan says, or `patience` seconds after its first call began."""

    LONGEST = 4.0
    """Seconds for one that gets no call, or does not come to its step."""

    def __init__(self, child: int, plan: Noticed, patience: float) -> None:
        self.plan = plan
        self._child = child
        self._patience = self.LONGEST if plan.step else patience
        self._until = time.monotonic() + self.LONGEST
        self._began = False

    def is_gone(self) -> bool:
        with contextlib.suppress(BlockingIOError):
            if not self._began and os.read(self.plan.heard, 1):
                self._began = True
                self._until = time.monotonic() + self._patience
        late = time.monotonic() > self._until
        if late:
            os.kill(self._child, signal.SIGKILL)
        done, status = os.waitpid(self._child, 0 if late else os.WNOHANG)
        if done:
            os.close(self.plan.heard)
            os.close(self.plan.telling)
            if os.waitstatus_to_exitcode(status) != -signal.SIGKILL:
                raise RuntimeError(f"a worker ended by itself: {status}")
        return bool(done)


SERVE = {"temporal": serve_temporal, "dbos": serve_dbos}


def main(engine: str, folder: Path, address: str, seed: int, kills: int) -> None:
    chance = random.Random(seed)
    names = ["journal.postgres", "journal.sqlite", f"engines.{engine}"]
    for name in names:
        module(name)
    if engine == "temporal":
        importlib.import_module("temporalio.worker")
        importlib.import_module(FLOWS)

    def serve(slot: int, plan: Plan) -> int:
        its_seed = chance.random()
        child = os.fork()
        if child == 0:
            try:
                its_chance = random.Random(its_seed)
                SERVE[engine](lambda: dispatcher(engine, folder, address, plan, its_chance), folder, address, slot)
            finally:
                os._exit(1)
        return child

    victims: dict[int, Victim] = {}
    killed = 0
    steps = itertools.cycle(STEPS)
    while True:
        while killed < kills and len(victims) < 2:
            slot = next(slot for slot in range(2) if slot not in victims)
            plan = Noticed(next(steps), chance.randint(1, 3))
            victims[slot] = Victim(serve(slot, plan), plan, chance.uniform(0, 0.4))
        if not victims:
            break
        time.sleep(0.02)
        for slot, victim in list(victims.items()):
            if victim.is_gone():
                del victims[slot]
                killed += 1
                print(json.dumps({"killed": killed, "step": victim.plan.step}), flush=True)
    workers = [serve(slot, Plan()) for slot in range(2)]
    sys.stdin.read()
    for last in workers:
        os.kill(last, signal.SIGKILL)
        os.waitpid(last, 0)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
