"""The stores under test, each behind the same few words."""

from __future__ import annotations

import itertools
import json
import os
import signal
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from templates.runtime.journal import Intent, Key, postgres, sqlite
from templates.runtime.journal.memory import MemoryJournal
from tests.journal.server import Server

_numbers = itertools.count(1)

POSTGRES = pytest.param("postgres", marks=pytest.mark.xdist_group("postgres"))
DURABLE = ["sqlite", POSTGRES]


class Store:
    """One store. `open` makes a journal on it, as another worker would; all are closed in the end."""

    def __init__(self, kind: str, folder: Path, server: Server | None) -> None:
        self.kind = kind
        self.server = server
        self._folder = folder
        self._opened: list[Any] = []
        self.renew()

    def renew(self) -> None:
        """Another store, with nothing in it."""
        number = next(_numbers)
        self.path = self._folder / f"journal_{number}.db"
        self.schema = f"journal_{number}"
        self._memory = MemoryJournal()

    def open(self, runtime: Callable[[str], Any] | None = None, **options: Any) -> Any:
        """With `runtime`, which gives the modules of a generated package, the journal is one of that package."""
        journal: Any = self._memory
        if self.kind == "sqlite":
            module = sqlite if runtime is None else runtime("journal.sqlite")
            journal = module.SQLiteJournal(self.path, **options)
        elif self.server is not None:
            module = postgres if runtime is None else runtime("journal.postgres")
            journal = module.PostgresJournal(self.server.conninfo, schema=self.schema, **options)
        self._opened.append(journal)
        return journal

    def close(self) -> None:
        while self._opened:
            self._opened.pop().close()

    def bytes(self) -> bytes:
        """All that the store holds, as it lies on the disk."""
        if self.server is None:
            return b"".join(path.read_bytes() for path in self.path.parent.glob(f"{self.path.name}*") if path.is_file())
        import psycopg

        with psycopg.connect(self.server.conninfo) as connection:
            rows = connection.execute(f"select c::text from {self.schema}.calls c".encode()).fetchall()
            blobs = connection.execute(f"select arguments, record from {self.schema}.calls".encode()).fetchall()
        return repr(rows).encode() + b"".join(part for row in blobs for part in row if part is not None)


def key(number: object = 1, turn: str = "turn", session: str = "session") -> Key:
    return Key(session, turn, f"call_{number}")


def intent(number: object = 1, fingerprint: str = "ab" * 32, arguments: str = '{"card":"4929"}') -> Intent:
    return Intent(key(number), "pay", fingerprint, f"idempotent-{number}", arguments)


class Child:
    """A forked process that runs `work(tell)`; what it tells can be read by `heard`."""

    def __init__(self, work: Callable[[Callable[[Any], None]], None]) -> None:
        reading, writing = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            code = 1
            try:
                os.close(reading)
                work(lambda told: _write(writing, told))
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)
        os.close(writing)
        self._pipe = os.fdopen(reading, encoding="utf-8")

    def heard(self) -> Any:
        """The next thing that it tells; waits for it."""
        line = self._pipe.readline()
        if not line:
            raise AssertionError(f"the process ended without a word, with {self.ended()}")
        return json.loads(line)

    def send(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def ended(self) -> int:
        """How it ended; waits for it."""
        self._pipe.close()
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def kill(self) -> None:
        self.send(signal.SIGKILL)
        assert self.ended() == -signal.SIGKILL


def _write(handle: int, told: Any) -> None:
    os.write(handle, json.dumps(told).encode() + b"\n")


def in_child(work: Callable[[], Any]) -> Any:
    """What `work` gives in a forked process."""
    child = Child(lambda tell: tell(work()))
    told = child.heard()
    assert child.ended() == 0
    return told
