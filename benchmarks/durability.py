"""What durable execution costs over the whole path of a call: journals, committing inline, and engines, in one run.

Every column executes the same calls with the same dispatcher, an `async` handler that returns at once, and real stores:
what is measured is the transport and the journal. Each is run in a process of its own, so that its memory is its own,
and all take turns over the rounds; figures are medians. Columns:

- none, memory, sqlite, postgres: `dispatcher.execute` with that journal, so many calls in flight.
- inline: the SQLite journal, each operation committed in a transaction of its own on the event loop; 64 in flight.
- dbos: a workflow of one step a call, DBOS on the PostgreSQL server, the call's journal in memory.
- temporal: a workflow of one activity a call, the SDK's worker and the development server with a file, the call's
  journal in memory.

Commits are those that wait for the disk: batches of the journals, transactions that PostgreSQL counts for DBOS.

    python -m benchmarks.durability [--calls 10000] [--rounds 3] [--engine-calls 500] [--columns ...] [--folder FOLDER]
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import importlib
import json
import resource
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from benchmarks.journal import Inline, counted

PACKAGE = "durable_benchmark"
FLOW = "durable_benchmark_flow"
FLOW_SOURCE = f"""
from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from {PACKAGE}.runtime.engines import call_from_wire, result_to_wire, temporal


@workflow.defn
class Answer:
    @workflow.run
    async def run(self, wire: dict) -> dict:
        return result_to_wire(await temporal.execute(call_from_wire(wire)))
"""
SPEC = {
    "name": "ship_parcel",
    "description": "Ships a parcel.",
    "parameters": {
        "type": "object",
        "properties": {"order": {"type": "string"}, "weight": {"type": "number"}},
        "required": ["order"],
        "additionalProperties": False,
    },
}
INLINE = 64
"""Calls in flight where each operation is committed by itself: more would only wait."""

COLUMNS = ("none", "memory", "sqlite", "postgres", "inline", "dbos", "temporal")


def part(name: str) -> Any:
    return importlib.import_module(f"{PACKAGE}.runtime{name and '.'}{name}")


def call(session: str, number: int) -> Any:
    arguments = json.dumps({"order": f"o-{number}", "weight": 3.75})
    ids = {"call_id": f"call-{number}", "turn_id": f"turn-{number // 8}", "session_id": session}
    return part("").Call("ship_parcel", arguments, **ids)


def dispatcher(journal: Any) -> Any:
    async def ship_parcel(args: Any, call: Any) -> dict[str, str]:
        return {"label": f"L-{args.order}"}

    made = importlib.import_module(PACKAGE).dispatcher(SimpleNamespace(ship_parcel=ship_parcel), journal=journal)
    made.preload()
    return made


async def at_once(work: Callable[[Any], Awaitable[Any]], calls: Iterable[Any], in_flight: int) -> float:
    """Seconds until all calls have ended, of which so many are under way at any time."""
    waiting = iter(calls)

    async def caller() -> None:
        for one in waiting:
            await work(one)

    began = time.perf_counter()
    await asyncio.gather(*(caller() for _ in range(in_flight)))
    return time.perf_counter() - began


async def journalled(column: str, given: argparse.Namespace) -> tuple[float, int, float | None]:
    counts: list[int] = [0]
    journal: Any = None
    if column == "memory":
        journal = part("journal.memory").MemoryJournal()
    elif column in ("sqlite", "inline"):
        path = Path(given.folder, f"{uuid.uuid4()}.db")
        journal = counted(part("journal.sqlite").SQLiteJournal(path), counts)
    elif column == "postgres":
        journal = counted(part("journal.postgres").PostgresJournal(given.server, schema="benchmark"), counts)
    d, session = dispatcher(journal), str(uuid.uuid4())
    number, in_flight = given.calls, given.calls
    if column == "inline":
        number, in_flight = max(given.calls // 10, 1), INLINE
        inline = Inline(journal)
        journal.begin, journal.finish = inline.begin, inline.finish
    if given.in_flight:
        in_flight = given.in_flight
    await d.execute(call(session, -1))
    counts[0] = 0

    async def execute(one: Any) -> None:
        assert (await d.execute(one)).success

    seconds = await at_once(execute, [call(session, n) for n in range(number)], in_flight)
    d.close()
    if journal is not None:
        journal.close()
    commits = None if column in ("none", "memory") else counts[0] / number
    return seconds, number, commits


async def with_dbos(given: argparse.Namespace) -> tuple[float, int, float | None]:
    import psycopg
    from dbos import DBOS, run_dbos_database_migrations

    host = dict(pair.split("=") for pair in given.server.split())["host"]
    url = f"postgresql+psycopg://test@/dbos?host={host}"
    await asyncio.to_thread(run_dbos_database_migrations, url)
    serve = part("engines.dbos").workflow_for(dispatcher(part("journal.memory").MemoryJournal()))
    config: Any = {"name": "tools", "system_database_url": url, "log_level": "ERROR"}
    DBOS(config=config)
    await asyncio.to_thread(DBOS.launch)
    to_wire, session, number = part("engines").call_to_wire, str(uuid.uuid4()), given.engine_calls

    def commits() -> int:
        time.sleep(1.2)  # the server's statistics lag by up to a second
        with psycopg.connect(given.server, dbname="dbos") as connection:
            row = connection.execute("select xact_commit from pg_stat_database where datname = 'dbos'").fetchone()
        assert row is not None
        return int(row[0])

    async def execute(one: Any) -> None:
        await serve(to_wire(one))

    await execute(call(session, -1))
    before = await asyncio.to_thread(commits)
    seconds = await at_once(execute, [call(session, n) for n in range(number)], number)
    after = await asyncio.to_thread(commits)
    DBOS.destroy(destroy_registry=True)
    return seconds, number, (after - before) / number


@contextlib.asynccontextmanager
async def temporal_server(folder: str) -> AsyncIterator[Any]:
    from temporalio.testing import WorkflowEnvironment

    program = shutil.which("temporal", path=sysconfig.get_path("scripts")) or shutil.which("temporal")
    async with await WorkflowEnvironment.start_local(
        dev_server_existing_path=program,
        dev_server_log_level="never",
        dev_server_database_filename=str(Path(folder, f"{uuid.uuid4()}.temporal")),
    ) as environment:
        yield environment


async def with_temporal(given: argparse.Namespace) -> tuple[float, int, float | None]:
    from temporalio.worker import Worker

    activity = part("engines.temporal").activity_for(dispatcher(part("journal.memory").MemoryJournal()))
    flow = importlib.import_module(FLOW).Answer
    to_wire, session, number = part("engines").call_to_wire, str(uuid.uuid4()), given.engine_calls
    async with temporal_server(given.folder) as environment:
        client = environment.client

        async def execute(one: Any) -> None:
            await client.execute_workflow("Answer", to_wire(one), id=str(uuid.uuid4()), task_queue="tools")

        async with Worker(client, task_queue="tools", workflows=[flow], activities=[activity]):
            await execute(call(session, -1))
            seconds = await at_once(execute, [call(session, n) for n in range(number)], number)
    return seconds, number, None


def measure(column: str, given: argparse.Namespace) -> None:
    """One column, once; prints what it found as JSON."""
    sys.path.insert(0, given.folder)
    part("journalled")
    before = _peak()
    if column in ("dbos", "temporal"):
        seconds, calls, commits = asyncio.run((with_dbos if column == "dbos" else with_temporal)(given))
    else:
        seconds, calls, commits = asyncio.run(journalled(column, given))
    peak = _peak()
    found = {"rate": calls / seconds, "commits": commits, "peak": peak, "grown": peak - before}
    print(json.dumps(found))


def _peak() -> float:
    """The most memory that this process has had so far, in MiB."""
    status = Path("/proc/self/status")
    if status.exists():  # what `getrusage` says of a new program is still that of the one that started it
        (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) / 1024
    return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def run(column: str, given: argparse.Namespace, folder: str, server: str, in_flight: int) -> dict[str, Any] | str:
    """The figures of one column in a process of its own, or why there are none."""
    command = [sys.executable, "-m", "benchmarks.durability", "--measure", column, "--folder", folder]
    command += ["--server", server, "--calls", str(given.calls), "--engine-calls", str(given.engine_calls)]
    command += ["--in-flight", str(in_flight)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["it ended"])[-1]
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--engine-calls", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--columns", nargs="+", choices=COLUMNS, default=list(COLUMNS))
    parser.add_argument("--folder", help="where the files of the stores go; it decides which disk is measured")
    parser.add_argument("--measure", choices=COLUMNS, help=argparse.SUPPRESS)
    parser.add_argument("--server", default="", help=argparse.SUPPRESS)
    parser.add_argument("--in-flight", type=int, default=0, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        measure(given.measure, given)
        return

    from tests.conftest import build_folder
    from tests.journal.server import running

    with tempfile.TemporaryDirectory(dir=given.folder) as folder, running() as server:
        (Path(folder) / "specs").mkdir()
        (Path(folder) / "specs" / "tools.json").write_text(json.dumps([SPEC]), encoding="utf-8")
        choices = {"journals": ["sqlite", "postgres"], "engines": ["temporal", "dbos"]}
        build_folder([Path(folder) / "specs"], Path(folder) / PACKAGE, **choices)
        (Path(folder) / f"{FLOW}.py").write_text(FLOW_SOURCE, encoding="utf-8")
        turns = [(column, in_flight) for column in given.columns for in_flight in _in_flight(column, given)]
        found: dict[tuple[str, int], list[dict[str, Any]]] = {turn: [] for turn in turns}
        reasons: dict[str, str] = {}
        for _ in range(given.rounds):
            for column, in_flight in turns:
                figures = run(column, given, folder, server.conninfo, in_flight)
                if isinstance(figures, str):
                    reasons[column] = figures
                else:
                    found[column, in_flight].append(figures)
    _print(found, reasons)


def _in_flight(column: str, given: argparse.Namespace) -> list[int]:
    if column == "inline":
        return [INLINE]
    return [given.engine_calls] if column in ("dbos", "temporal") else [INLINE, given.calls]


def _print(found: dict[tuple[str, int], list[dict[str, Any]]], reasons: dict[str, str]) -> None:
    def median(key: str, column: str, in_flight: int) -> float:
        return float(statistics.median(figures[key] for figures in found[column, in_flight]))

    inline = median("rate", "inline", INLINE) if found.get(("inline", INLINE)) else 0.0
    print("| Transport and journal | In flight | Calls a second | Against inline | Commits a call | Memory |")
    print("|---|---|---|---|---|---|")
    for (column, in_flight), rounds in found.items():
        if not rounds:
            print(f"| {column} | | not measured: {reasons.get(column, '')} | | | |")
            continue
        rate = median("rate", column, in_flight)
        commits = "" if rounds[0]["commits"] is None else f"{median('commits', column, in_flight):.3f}"
        against = f"{rate / inline:.1f}" if inline else ""
        memory = f"{median('peak', column, in_flight):.0f} MiB, {median('grown', column, in_flight):.0f} of them for it"
        print(f"| {column} | {in_flight:,} | {rate:,.0f} | {against} | {commits} | {memory} |")


if __name__ == "__main__":
    main()
