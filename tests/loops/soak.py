"""Kills many workers in the middle of the loops and prints what is left of their turns.

    python -m tests.loops.soak --kills 200 [--seed N] [--journal sqlite|memory] [--steps]

It ends with 1 where anything is duplicate, lost, missing or unanswered. See `crashes.py` for the words. With the
journal in memory, which does not outlive its worker, it has to: that shows that the judge sees something.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.journal.soak import report
from tests.loops.crashes import Crashes


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--journal", choices=("sqlite", "memory"), default="sqlite")
    parser.add_argument("--steps", action="store_true", help="also print how often each step was the last")
    given = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        crashes = Crashes(Path(folder), given.seed, given.journal)
        crashes.run(given.kills)
    for step, kills in sorted(crashes.steps.items()) if given.steps else ():
        print(f"{step:42}{kills:>12}")
    print(f"answers of OCI that were reported as lost: {crashes.reported}")
    return report(crashes.tallies, f"loops, seed {given.seed}, {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    sys.exit(main())
