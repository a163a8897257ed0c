"""What group commit is worth: calls a second through a journal, against committing inline.

Every call is one intent and one result, each safe on the disk before the caller goes on. "inline" commits each of them
in a transaction of its own on the event loop, with the same statements, WAL and `synchronous=FULL`; the journals let
callers share commits. All are measured in turns, in one run, with the same number of calls in flight; the figures are
medians of the rounds. Syncs are counted as the batches that were committed: one wait for the disk each.

    python -m benchmarks.journal [--in-flight 64] [--calls 4000] [--rounds 5] [--postgres CONNINFO] [--folder FOLDER]
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import secrets
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from templates.runtime.journal import Fresh, Intent, Key
from templates.runtime.journal.memory import MemoryJournal
from templates.runtime.journal.postgres import PostgresJournal
from templates.runtime.journal.sqlite import SQLiteJournal

RECORD = '{"output":"{\\"order\\":\\"o-1204\\",\\"city\\":\\"Madrid\\",\\"label\\":\\"L-88\\",\\"weight\\":3.75}"}'
FINGERPRINT = "5d41402abc4b2a76b9719d911017c592" * 2


def counted(journal: Any, counts: list[int]) -> Any:
    """Counts the batches of a journal."""
    carry_out = journal._carry_out

    def counting(operations: list[Any]) -> list[Any]:
        counts[0] += bool(operations)
        outcomes: list[Any] = carry_out(operations)
        return outcomes

    journal._carry_out = counting
    return journal


class Inline:
    """The operations of a journal, each committed on the caller's own event loop."""

    def __init__(self, journal: Any) -> None:
        async def do(operation: Any) -> Any:
            (outcome,) = journal._batch([operation])
            if isinstance(outcome, Exception):
                raise outcome
            return outcome

        journal._batches.do = do
        self.begin, self.finish, self.close = journal.begin, journal.finish, journal.close


async def load(journal: Any, calls: int, in_flight: int) -> float:
    """Seconds for so many calls, of which so many are under way at any time."""
    session = secrets.token_hex(8)
    numbers: Iterator[int] = iter(range(calls))

    async def caller() -> None:
        for number in numbers:
            intent = Intent(Key(session, f"turn-{number // 8}", f"call-{number}"), "ship_parcel", FINGERPRINT, "key")
            begun = await journal.begin(intent)
            assert isinstance(begun, Fresh)
            assert await journal.finish(begun.claim, RECORD, "succeeded")

    started = time.perf_counter()
    await asyncio.gather(*(caller() for _ in range(in_flight)))
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--in-flight", type=int, default=64)
    parser.add_argument("--calls", type=int, default=4000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--postgres", default="", help="also measure PostgreSQL, at this address")
    parser.add_argument("--folder", help="where the files of the journals go; it decides which disk is measured")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        counts = {name: [0] for name in ("inline", "sqlite", "postgres", "memory")}
        journals: dict[str, Any] = {
            "inline": Inline(counted(SQLiteJournal(Path(folder, "inline.db")), counts["inline"])),
            "sqlite": counted(SQLiteJournal(Path(folder, "grouped.db")), counts["sqlite"]),
        }
        if given.postgres:
            journals["postgres"] = counted(PostgresJournal(given.postgres, schema="benchmark"), counts["postgres"])
        journals["memory"] = MemoryJournal()
        seconds: dict[str, list[float]] = {name: [] for name in journals}
        for _ in range(given.rounds):
            for name, journal in journals.items():
                calls = max(given.calls // 8, 1) if name == "inline" else given.calls
                seconds[name].append(asyncio.run(load(journal, calls, given.in_flight)) / calls)
        inline = statistics.median(seconds["inline"])
        print(f"{given.in_flight} calls in flight, {given.rounds} rounds of {given.calls} calls")
        print(f"{'journal':10}{'calls/s':>10}{'x inline':>10}{'syncs/call':>12}")
        for name, journal in journals.items():
            median = statistics.median(seconds[name])
            done = given.rounds * (max(given.calls // 8, 1) if name == "inline" else given.calls)
            print(f"{name:10}{1 / median:>10,.0f}{inline / median:>10.1f}{counts[name][0] / done:>12.3f}")
            journal.close()
    print(f"peak memory of the process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MiB")


if __name__ == "__main__":
    main()
