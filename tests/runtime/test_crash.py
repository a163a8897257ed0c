"""A process that is killed in the middle of a call, and the one that takes over, with a journal in a file."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

POINTS = ["before the intent", "after the intent", "in the handler", "before the result", "after the result"]


class FileJournal:
    """A line for each fact. No two processes run at once here: an intent without a result is an interrupted one."""

    def __init__(self, path: Path, types: ModuleType, reached: Callable[[str], None]) -> None:
        self.path, self.types, self.reached = path, types, reached

    def _facts(self, key: Any) -> list[str]:
        lines = self.path.read_text(encoding="utf-8").splitlines() if self.path.exists() else []
        ids = [key.session_id, key.turn_id, key.call_id]
        return [fact for *found, fact in map(json.loads, lines) if found == ids]

    def _write(self, key: Any, fact: str) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps([key.session_id, key.turn_id, key.call_id, fact]) + "\n")

    async def begin(self, intent: Any) -> Any:
        facts = self._facts(intent.key)
        claim = self.types.Claim(intent.key, "", 1)
        if not facts:
            self.reached("before the intent")
            self._write(intent.key, intent.fingerprint)
            self.reached("after the intent")
            return self.types.Fresh(claim)
        if facts[0] != intent.fingerprint:
            return self.types.Conflict()
        return self.types.Interrupted(claim) if len(facts) == 1 else self.types.Stored(facts[1])

    async def finish(self, claim: Any, record: str, how: str) -> bool:
        self.reached("before the result")
        self._write(claim.key, record)
        self.reached("after the result")
        return True

    async def release(self, claim: Any, *, ran: bool) -> None:
        if not ran:
            ids = [claim.key.session_id, claim.key.turn_id, claim.key.call_id]
            lines = self.path.read_text(encoding="utf-8").splitlines(keepends=True)
            self.path.write_text("".join(line for line in lines if json.loads(line)[:3] != ids), encoding="utf-8")

    async def submitted(self, key: Any) -> None: ...


class Service:
    """One service after another, each in a process of its own, over the same files."""

    def __init__(self, folder: Path, tools: ModuleType, runtime: Callable[[str], ModuleType]) -> None:
        self.folder, self.tools, self.runtime, self.api = folder, tools, runtime, runtime("")

    def run(self, tool: str, killed_at: str = "", outcome: Any = None) -> list[Any] | None:
        """Output, error code, and whether it was replayed; None where the process was killed."""
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            code = 1
            try:
                os.write(writing, json.dumps(self._serve(tool, killed_at, outcome)).encode())
                code = 0
            finally:
                os._exit(code)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            told = pipe.read().decode()
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == (9 if killed_at else 0)
        return None if killed_at else json.loads(told)

    def _serve(self, tool: str, killed_at: str, outcome: Any) -> list[Any]:
        def reached(point: str) -> None:
            if point == killed_at:
                os._exit(9)

        def handler(args: Any, call: Any) -> Any:
            with (self.folder / "runs").open("a") as file:
                file.write(call.idempotency_key + "\n")
            reached("in the handler")
            return {"paid": args.key}

        d = self.tools.dispatcher(
            SimpleNamespace(**{tool: handler}),
            journal=FileJournal(self.folder / "journal.jsonl", self.runtime("journal"), reached),
            hooks=self.api.Hooks(approve=lambda call: True, reconcile=lambda call: outcome or self.api.Unknown()),
        )
        call = self.api.Call(tool, {"key": "a"}, call_id="c", turn_id="t", session_id="s")
        result = d.execute_sync(call)
        return [result.output, result.error and result.error.code, result.replayed]

    @property
    def runs(self) -> list[str]:
        """The idempotency key of every run of the handler."""
        path = self.folder / "runs"
        return path.read_text().split() if path.exists() else []


@pytest.fixture
def service(tmp_path: Path, tools: ModuleType, runtime: Callable[[str], ModuleType]) -> Service:
    return Service(tmp_path, tools, runtime)


@pytest.mark.parametrize("tool", ["pay", "guarded_pay"])
@pytest.mark.parametrize("point", POINTS)
def test_a_write_never_runs_twice_on_its_own(service: Service, tool: str, point: str) -> None:
    assert service.run(tool, point) is None
    ran_before = service.runs
    first, again = service.run(tool), service.run(tool)
    assert first is not None
    assert again == [*first[:2], True]
    if point == "before the intent":
        assert first == ['{"paid":"a"}', None, False]
    elif point == "after the result":
        assert first == ['{"paid":"a"}', None, True]
    else:
        assert first == ["", "outcome_unknown", False]
        assert service.runs == ran_before
    assert len(service.runs) <= 1


@pytest.mark.parametrize("point", POINTS[1:4])
def test_the_service_knows_that_it_was_done(service: Service, point: str) -> None:
    assert service.run("pay", point) is None
    runs = service.runs
    assert service.run("pay", outcome=service.api.Done({"paid": "found"})) == ['{"paid":"found"}', None, False]
    assert service.run("pay") == ['{"paid":"found"}', None, True]
    assert service.runs == runs


@pytest.mark.parametrize("point", POINTS[1:4])
def test_the_service_knows_that_it_was_not_done(service: Service, point: str) -> None:
    assert service.run("pay", point) is None
    runs = service.runs
    assert service.run("pay", outcome=service.api.NotDone()) == ['{"paid":"a"}', None, False]
    assert service.run("pay") == ['{"paid":"a"}', None, True]
    assert len(service.runs) == len(runs) + 1
    assert len(set(service.runs)) == 1  # every attempt hands the same key to other systems


@pytest.mark.parametrize("tool", ["look_up", "set_flag", "guarded_look"])
@pytest.mark.parametrize("point", POINTS[1:4])
def test_reads_and_idempotent_calls_run_again(service: Service, tool: str, point: str) -> None:
    assert service.run(tool, point) is None
    assert service.run(tool) == ['{"paid":"a"}', None, False]
    assert service.run(tool) == ['{"paid":"a"}', None, True]
