"""Loops whose workers are killed with SIGKILL, at each step and at any moment; `make soak` does it for longer."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.conftest import ROOT


def soak(*options: str) -> tuple[int, list[list[str]], str]:
    """Exit code, the table's rows, and all that was printed."""
    # In a process of its own, because it forks workers that must not inherit the threads of the test runner.
    command = [sys.executable, "-m", "tests.loops.soak", *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    rows = [line.split() for line in done.stdout.strip().splitlines()]
    return done.returncode, rows, done.stdout + done.stderr


@pytest.mark.parametrize("seed", [1, 2])
def test_every_call_is_answered_once_and_no_effect_happens_twice(seed: int) -> None:
    code, rows, told = soak("--kills", "18", "--seed", str(seed))
    assert code == 0, told
    assert rows[-1][0] == "all" and int(rows[-1][1]) >= 18
    assert rows[-1][-4:] == ["0"] * 4


def test_the_judge_sees_what_a_journal_forgets() -> None:
    """The same with a journal that does not outlast its worker: effects happen twice."""
    code, rows, told = soak("--kills", "12", "--journal", "memory")
    assert code == 1, told
    assert int(rows[-1][4]) > 0, told
