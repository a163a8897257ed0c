"""A short soak: workers that are killed with SIGKILL, at each step and at any moment."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.journal.crashes import Tally
from tests.journal.support import POSTGRES


@pytest.mark.parametrize(("store", "kills"), [("sqlite", 40), pytest.param("postgres", 16, marks=POSTGRES.marks)])
def test_nothing_is_duplicate_lost_or_unanswered(store: str, kills: int) -> None:
    # In a process of its own, because it forks workers that must not inherit the threads of the test runner.
    done = subprocess.run(
        [sys.executable, "-m", "tests.journal.soak", "--kills", str(kills), "--store", store, "--lease", "1"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    *_, total = done.stdout.strip().splitlines()
    assert int(total.split()[1]) >= kills
    assert total.split()[-4:] == ["0"] * 4


def test_the_judge_sees_what_a_journal_forgets(tmp_path: Path) -> None:
    """The same with a journal that does not outlast its worker: effects happen twice, and answers differ."""
    program = f"""
from pathlib import Path
from tests.journal.crashes import Crashes
crashes = Crashes(Path({str(tmp_path)!r}), 1, lambda runtime: runtime("journal.memory").MemoryJournal())
crashes.run(12)
print(sum(tally.duplicate for tally in crashes.tallies.values()))
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 0


def test_what_counts_as_wrong() -> None:
    assert Tally(kills=1, calls=1, unknown=1).wrong == 0
    assert [Tally(**{name: 1}).wrong for name in ("duplicate", "lost", "missing", "unanswered")] == [1] * 4
