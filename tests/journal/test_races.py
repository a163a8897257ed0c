"""Processes that race for the same calls: one accepted result a key, and a `write` handler runs once."""

from __future__ import annotations

import asyncio
import os
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.journal.support import DURABLE, Child, Store

Make = Callable[..., Any]
CALLS = 30
TOOLS = ("pay", "pay_later", "look_up", "set_flag")


@pytest.mark.parametrize("store", DURABLE, indirect=True)
@pytest.mark.parametrize("workers", [2, 4, 8])
def test_all_serve_all_calls(
    store: Store, workers: int, tmp_path: Path, dispatcher: Make, call: Make, runtime: Make
) -> None:
    reading, writing = os.pipe()
    effects = os.open(tmp_path / "effects", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def effect(args: Any) -> dict[str, Any]:
        os.write(effects, f"{args.key}\n".encode())
        return {"by": os.getpid(), "at": random.random()}

    async def pay(args: Any, call: Any) -> dict[str, Any]:
        await asyncio.sleep(0)
        return effect(args)

    def work(tell: Callable[[Any], None]) -> None:
        os.close(writing)
        os.read(reading, 1)  # until all are there
        journal = store.open(runtime, patience=60)
        d = dispatcher(journal, pay=pay, pay_later=lambda args, call: effect(args), look_up=pay, set_flag=pay)
        calls = [call(number, TOOLS[number % 4]) for number in range(CALLS)]
        random.Random(os.getpid()).shuffle(calls)
        answers: dict[str, str] = {}
        while calls:
            results = d.execute_all_sync(calls)
            calls = [result.call for result in results if not result.success]
            assert {result.error.code for result in results if not result.success} <= {"in_progress"}
            answers |= {result.call_id: result.output for result in results if result.success}
        tell(answers)

    children = [Child(work) for _ in range(workers)]
    os.close(writing)
    os.close(reading)
    first, *others = [child.heard() for child in children]
    assert [child.ended() for child in children] == [0] * workers
    assert all(answers == first for answers in others)
    assert len(first) == CALLS
    os.close(effects)
    assert Counter((tmp_path / "effects").read_text().split()) == {f"key_{number}": 1 for number in range(CALLS)}


@pytest.mark.parametrize("store", DURABLE, indirect=True)
def test_those_of_a_killed_worker_are_taken_over_by_one(
    store: Store, tmp_path: Path, dispatcher: Make, call: Make, runtime: Make
) -> None:
    """Many wait for a worker that dies in the middle of its handlers; `reconcile` says that nothing was done."""
    effects = os.open(tmp_path / "effects", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    api = runtime("")
    options = {} if store.kind == "sqlite" else {"lease": 1.0}

    def serve(tell: Callable[[Any], None], handler: Any) -> None:
        journal = store.open(runtime, patience=60, **options)
        d = dispatcher(journal, hooks=api.Hooks(reconcile=lambda call: api.NotDone()), pay=handler)
        calls = [call(number) for number in range(5)]
        codes = {None}
        while True:
            results = d.execute_all_sync(calls)
            codes = {result.error and result.error.code for result in results}
            if "in_progress" not in codes:
                break
        tell(sorted(map(str, codes)))

    def dying(tell: Callable[[Any], None]) -> None:
        async def pay(args: Any, call: Any) -> None:
            tell(args.key)
            await asyncio.sleep(100)

        serve(tell, pay)

    def living(tell: Callable[[Any], None]) -> None:
        async def pay(args: Any, call: Any) -> str:
            os.write(effects, f"{args.key}\n".encode())
            return "done"

        serve(tell, pay)

    victim = Child(dying)
    assert {victim.heard() for _ in range(5)} == {f"key_{number}" for number in range(5)}
    children = [Child(living) for _ in range(4)]
    victim.kill()
    assert [child.heard() for child in children] == [["None"]] * 4
    assert [child.ended() for child in children] == [0] * 4
    os.close(effects)
    assert Counter((tmp_path / "effects").read_text().split()) == {f"key_{number}": 1 for number in range(5)}
