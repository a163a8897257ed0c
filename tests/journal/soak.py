"""Kills many workers and prints what is left of their calls.

    python -m tests.journal.soak --kills 200 --store sqlite|postgres [--seed N] [--lease SECONDS]

It ends with 1 where anything is duplicate, lost, missing or unanswered. See `crashes.py` for the words.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.journal.crashes import Crashes, Tally
from tests.journal.server import running


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--store", choices=("sqlite", "postgres"), default="sqlite")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lease", type=float, default=2.0, help="of a worker, on PostgreSQL")
    given = parser.parse_args()
    began = time.monotonic()
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        open_journal: Callable[[Callable[[str], Any]], Any]
        if given.store == "sqlite":

            def open_journal(runtime: Callable[[str], Any]) -> Any:
                return runtime("journal.sqlite").SQLiteJournal(folder / "journal.db", patience=30)

        else:
            conninfo = stack.enter_context(running()).conninfo

            def open_journal(runtime: Callable[[str], Any]) -> Any:
                return runtime("journal.postgres").PostgresJournal(conninfo, lease=given.lease, patience=30)

        crashes = Crashes(folder, given.seed, open_journal)
        crashes.run(given.kills)
    return report(crashes.tallies, f"{given.store}, seed {given.seed}, {time.monotonic() - began:.0f} s")


def report(tallies: dict[str, Tally], title: str) -> int:
    names = list(asdict(Tally()))
    total = Tally(**{name: sum(getattr(tally, name) for tally in tallies.values()) for name in names})
    print(title)
    print(f"{'killed':30}" + "".join(f"{name:>12}" for name in names))
    for way, tally in {**tallies, "all": total}.items():
        print(f"{way:30}" + "".join(f"{getattr(tally, name):>12}" for name in names))
    return 1 if total.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
