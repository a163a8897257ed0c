"""Group commit: who shares a batch, and what becomes of callers and of the thread."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
import weakref
from pathlib import Path
from typing import Any

import pytest

from templates.runtime.journal import JournalUnavailable
from templates.runtime.journal import batches as module
from templates.runtime.journal.batches import Batches
from templates.runtime.journal.sqlite import SQLiteJournal
from tests.journal.support import in_child, intent


class Recorder:
    """Carries nothing out, and remembers the batches."""

    def __init__(self) -> None:
        self.batches: list[list[Any]] = []
        self.lost: list[Any] = []
        self.go = threading.Event()
        self.go.set()
        self.made = Batches(self._carry_out, self.lost.append, lambda: None, lambda: None)

    def _carry_out(self, operations: list[Any]) -> list[Any]:
        self.batches.append(operations)
        assert self.go.wait(20)
        if "break" in operations:
            raise RuntimeError
        return [KeyError(one) if one == "bad" else f"{one} done" for one in operations]


async def test_what_comes_while_one_batch_waits_is_the_next_batch() -> None:
    recorder = Recorder()
    recorder.go.clear()
    first = asyncio.create_task(recorder.made.do("first"))
    while not recorder.batches:
        await asyncio.sleep(0.001)
    others = [asyncio.create_task(recorder.made.do(number)) for number in range(50)]
    await asyncio.sleep(0)
    recorder.go.set()
    assert await asyncio.gather(first, *others) == ["first done", *(f"{number} done" for number in range(50))]
    assert recorder.batches == [["first"], list(range(50))]
    recorder.made.close()


async def test_one_that_fails_is_alone(caplog: pytest.LogCaptureFixture) -> None:
    recorder = Recorder()
    found = await asyncio.gather(*(recorder.made.do(one) for one in ("a", "bad", "b")), return_exceptions=True)
    assert [type(one) for one in found] == [str, KeyError, str]
    with pytest.raises(JournalUnavailable, match="RuntimeError"):
        await recorder.made.do("break")
    assert await recorder.made.do("c") == "c done"
    recorder.made.close()
    with pytest.raises(JournalUnavailable, match="closed"):
        await recorder.made.do("d")


async def test_outcomes_that_nobody_waits_for_are_told() -> None:
    recorder = Recorder()
    recorder.go.clear()
    task = asyncio.create_task(recorder.made.do("cancelled"))
    while not recorder.batches:
        await asyncio.sleep(0.001)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    recorder.go.set()
    while not recorder.lost:
        await asyncio.sleep(0.001)
    assert recorder.lost == ["cancelled done"]
    recorder.made.close()


@pytest.mark.parametrize("cancelled", [True, False])
def test_also_those_on_their_way_to_a_loop_that_is_closed(cancelled: bool) -> None:
    recorder = Recorder()
    recorder.go.clear()
    loop = asyncio.new_event_loop()
    task = loop.create_task(recorder.made.do("asked"))
    loop.run_until_complete(asyncio.sleep(0))
    recorder.go.set()
    recorder.made.close()  # the outcome has been handed to the loop by now
    if cancelled:
        task.cancel()
        loop.run_until_complete(asyncio.wait({task}))
    else:
        loop.set_exception_handler(lambda *_: None)  # which would say that the task was left pending
    loop.close()
    del task
    gc.collect()
    assert recorder.lost == ["asked done"]


async def test_what_was_asked_for_before_the_end_is_done() -> None:
    recorder = Recorder()
    tasks = [asyncio.create_task(recorder.made.do(number)) for number in range(5)]
    await asyncio.sleep(0)
    await asyncio.to_thread(recorder.made.close)
    assert await asyncio.gather(*tasks) == [f"{number} done" for number in range(5)]


def test_several_threads_fork_at_once(tmp_path: Path) -> None:
    journals = [SQLiteJournal(tmp_path / f"{number}.db") for number in range(3)]
    start = threading.Barrier(4, timeout=20)

    def fork() -> None:
        start.wait()
        for _ in range(5):
            in_child(lambda: [type(asyncio.run(one.begin(intent(os.getpid())))).__name__ for one in journals])

    threads = [threading.Thread(target=fork) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    for journal in journals:
        assert type(asyncio.run(journal.begin(intent()))).__name__ == "Fresh"
        assert len(asyncio.run(journal.entries("interrupted"))) == 20
        journal.close()


def test_the_thread_ends_when_there_is_nothing_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Also, a journal that nobody uses any more is gone, and its calls are interrupted ones."""
    monkeypatch.setattr(module, "IDLE", 0.01)
    journal = SQLiteJournal(tmp_path / "journal.db")
    asyncio.run(journal.begin(intent()))
    while any(thread.name == "toolgen-journal" for thread in threading.enumerate()):
        pass
    assert type(asyncio.run(journal.begin(intent()))).__name__ == "Running"
    while any(thread.name == "toolgen-journal" for thread in threading.enumerate()):
        pass
    gone = weakref.ref(journal)
    journal._disconnect()
    del journal
    gc.collect()
    assert gone() is None
    other = SQLiteJournal(tmp_path / "journal.db")
    assert type(asyncio.run(other.begin(intent()))).__name__ == "Interrupted"
    other.close()
