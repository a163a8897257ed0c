"""The journal in a SQLite file: owners, processes, and everything that can be wrong with a file."""

from __future__ import annotations

import asyncio
import functools
import os
import resource
import signal
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from templates.runtime.journal import (
    Fresh,
    Interrupted,
    JournalDamaged,
    JournalTooNew,
    JournalUnavailable,
    Running,
    Stored,
    sqlite,
)
from templates.runtime.journal.sqlite import SQLiteJournal
from tests.journal.support import Child, in_child, intent, key

Make = Callable[..., Any]


def begin(journal: Any, number: object = 1) -> Any:
    return asyncio.run(journal.begin(intent(number)))


def complete(path: Path, count: int = 1, record: str = "{}") -> None:
    """Leaves a journal with so many calls that have ended."""

    async def all_of_them(journal: Any) -> None:
        for number in range(count):
            begun = await journal.begin(intent(number))
            await journal.finish(begun.claim, record, "succeeded")

    journal = SQLiteJournal(path)
    asyncio.run(all_of_them(journal))
    journal.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.db"


class TestOwners:
    """An owner is a process: gone when it is killed, alive when it is stopped."""

    def _child(self, path: Path) -> Child:
        def work(tell: Callable[[Any], None]) -> None:
            journal = SQLiteJournal(path)
            begun = begin(journal)
            tell(type(begun).__name__)
            signal.sigwait([signal.SIGUSR1])
            tell(asyncio.run(journal.finish(begun.claim, '"of the child"', "succeeded")))

        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
        try:
            child = Child(work)
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGUSR1])
        assert child.heard() == "Fresh"
        return child

    def test_one_that_was_killed_is_gone_at_once(self, path: Path) -> None:
        child = self._child(path)
        journal = SQLiteJournal(path)
        assert begin(journal) == Running()
        child.kill()
        assert isinstance(begin(journal), Interrupted)
        assert len(list(Path(f"{path}-owners").iterdir())) == 1
        journal.close()
        assert list(Path(f"{path}-owners").iterdir()) == []

    def test_one_that_was_stopped_keeps_its_calls(self, path: Path) -> None:
        child = self._child(path)
        journal = SQLiteJournal(path)
        child.send(signal.SIGSTOP)
        for _ in range(3):
            assert begin(journal) == Running()
        child.send(signal.SIGCONT)
        child.send(signal.SIGUSR1)
        assert child.heard() is True
        assert child.ended() == 0
        assert begin(journal) == Stored('"of the child"')
        journal.close()

    def test_no_clock_is_asked(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        first, second = SQLiteJournal(path), SQLiteJournal(path)
        claim = begin(first).claim
        begin(first, 2)
        for now in (0.0, 4e9, -1e9, 2e9):
            monkeypatch.setattr(time, "time", lambda now=now: now)
            assert begin(second) == Running()
            assert asyncio.run(second.purge(60)) == 0
        assert asyncio.run(first.finish(claim, '"done"', "succeeded"))
        monkeypatch.setattr(time, "time", lambda: 1e9)  # earlier than the call ended
        assert asyncio.run(second.purge(0)) == 0
        assert begin(second) == Stored('"done"')
        first.close()
        second.close()

    def test_a_forked_child_is_an_owner_of_its_own(self, path: Path) -> None:
        journal = SQLiteJournal(path)
        claim = begin(journal).claim
        for number in range(3):

            def work(number: int = number) -> list[Any]:
                names = [type(begin(journal, one)).__name__ for one in (1, f"of the child {number}")]
                accepted = asyncio.run(journal.finish(claim, '"of the parent"', "succeeded")) if number == 9 else None
                return [*names, accepted]

            assert in_child(work) == ["Running", "Fresh", None]
            assert isinstance(begin(journal, f"of the child {number}"), Interrupted)
        assert asyncio.run(journal.finish(claim, '"done"', "succeeded"))
        assert asyncio.run(journal.verify()) == []
        journal.close()

    def _begun(self, journal: Any, number: int) -> str:
        return type(begin(journal, f"of the child {number}")).__name__

    def test_a_fork_in_the_middle_of_much_work(self, path: Path) -> None:
        journal: Any = SQLiteJournal(path)
        stop = threading.Event()
        found: list[Any] = []

        async def work() -> None:
            number = 0
            while not stop.is_set():
                number += 1
                begun = await journal.begin(intent(number))
                found.append(await journal.finish(begun.claim, "{}", "succeeded"))

        thread = threading.Thread(target=lambda: asyncio.run(work()))
        thread.start()
        for number in range(10):
            assert in_child(functools.partial(self._begun, journal, number)) == "Fresh"
        stop.set()
        thread.join(60)
        assert all(found)
        assert asyncio.run(journal.verify()) == []
        journal.close()


class TestOneFile:
    """However many journals have it open, and by whatever names."""

    @pytest.mark.parametrize("others", ["open", "are closed", "are made again"])
    def test_several_in_one_process(self, path: Path, others: str) -> None:
        """What one of them does with the file must not free the locks of another one's connection."""
        journal: Any = SQLiteJournal(path)
        begun = begin(journal)
        more = [SQLiteJournal(path) for _ in range(2)]
        if others != "open":
            for other in more:
                other.close()
        if others == "are made again":
            more = [SQLiteJournal(path)]

        def elsewhere(number: int) -> str:
            # Not the forked one: another process, which is the only one there is as far as it can see.
            inner = SQLiteJournal(path)
            found = type(begin(inner, number)).__name__
            inner.close()
            return found

        assert in_child(lambda: elsewhere(1)) == "Running"
        assert isinstance(begin(journal, 2), Fresh)
        assert asyncio.run(journal.finish(begun.claim, "{}", "succeeded"))
        assert [in_child(lambda n=n: elsewhere(n)) for n in (1, 2)] == ["Stored", "Running"]  # type: ignore[misc]
        assert asyncio.run(journal.verify()) == []
        for other in (journal, *more):
            other.close()
        again = SQLiteJournal(path)
        assert begin(again) == Stored("{}")
        again.close()

    def test_by_a_link(self, path: Path) -> None:
        link = path.parent / "elsewhere" / "link.db"
        link.parent.mkdir()
        link.symlink_to(path)
        first, second = SQLiteJournal(link), SQLiteJournal(path)
        claim = begin(first).claim
        assert begin(second) == Running()
        assert asyncio.run(first.finish(claim, "{}", "succeeded"))
        assert begin(second) == Stored("{}")
        first.close()
        second.close()


class TestNoRoom:
    """The handler does not run where its intent cannot be kept, and the service goes on when there is room again."""

    def _fill(self, journal: Any) -> None:
        number = 0
        with pytest.raises(JournalUnavailable, match="full"):
            while True:
                number += 1
                begun = begin(journal, f"filling {number}")
                asyncio.run(journal.finish(begun.claim, "x" * 20_000, "succeeded"))

    def test_a_full_file(self, path: Path, dispatcher: Make, call: Make, runtime: Make) -> None:
        ran: list[str] = []
        journal = SQLiteJournal(path, max_bytes=300_000)
        self._fill(journal)
        d = dispatcher(
            runtime("journal.sqlite").SQLiteJournal(path, max_bytes=300_000),
            pay=lambda args, call: ran.append(args.key),
        )
        refused = [result for number in range(300) if not (result := d.execute_sync(call(number))).success]
        assert refused
        for result in refused:
            assert (result.error.code, result.ran) == ("journal_unavailable", False)
            assert result.call.arguments["key"] not in ran
        assert asyncio.run(journal.purge(-1)) > 0
        journal.close()
        assert d.execute_sync(refused[0].call).success
        assert ran.count(refused[0].call.arguments["key"]) == 1

    def test_a_result_that_does_not_fit(self, path: Path, dispatcher: Make, call: Make, runtime: Make) -> None:
        """The effect is there and its record is not: that is unknown, and others are not touched."""
        sizes = {"key_1": 400_000, "key_2": 1}
        d = dispatcher(
            runtime("journal.sqlite").SQLiteJournal(path, max_bytes=300_000),
            pay=lambda args, call: "x" * sizes[args.key],
        )
        large, small = d.execute_all_sync([call(1), call(2)])
        assert (large.error.code, large.ran, small.success) == ("journal_unavailable", True, True)
        assert [d.execute_sync(call(1)).error.code for _ in range(2)] == ["outcome_unknown"] * 2

    def test_a_limit_of_file_sizes(self, path: Path, dispatcher: Make, call: Make, runtime: Make) -> None:
        ran: list[str] = []

        def pay(args: Any, call: Any) -> str:
            ran.append(args.key)
            return "x" * 5_000

        d = dispatcher(runtime("journal.sqlite").SQLiteJournal(path), pay=pay)

        def work() -> list[Any]:
            resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
            results = [d.execute_sync(call(number)) for number in range(100)]
            refused = [result for result in results if not result.success and not result.ran]
            none_ran = not any(result.call.arguments["key"] in ran for result in refused)
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            codes = sorted({result.error.code for result in results if not result.success})
            return [codes, bool(refused), none_ran, d.execute_sync(refused[0].call).success]

        assert in_child(work) == [["journal_unavailable"], True, True, True]

    def test_a_file_that_cannot_be_written_to(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            complete(folder / "journal.db")

            def work() -> list[str]:
                if os.geteuid() == 0:  # who may write to everything
                    os.setgid(65534)
                    os.setuid(65534)
                messages = []
                for path in (folder / "journal.db", folder / "new.db", folder / "no" / "folder.db"):
                    with pytest.raises(JournalUnavailable) as caught:
                        SQLiteJournal(path)
                    messages.append(f"{type(caught.value).__name__} {str(caught.value).removeprefix(name)}")
                return messages

            (folder / "journal.db").chmod(0o444)
            folder.chmod(0o555)
            told = in_child(work)
            folder.chmod(0o755)
        assert told == [
            "JournalUnavailable /journal.db: Permission denied (EACCES)",
            "JournalUnavailable /new.db: Permission denied (EACCES)",
            "JournalUnavailable /no/folder.db: No such file or directory (ENOENT)",
        ]

    def test_a_file_that_somebody_else_keeps_locked(
        self, path: Path, dispatcher: Make, call: Make, runtime: Make
    ) -> None:
        ran: list[str] = []
        d = dispatcher(
            runtime("journal.sqlite").SQLiteJournal(path, patience=0.1), pay=lambda args, call: ran.append(args.key)
        )
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("begin immediate")
        result = d.execute_sync(call())
        assert (result.error.code, result.ran, ran) == ("journal_unavailable", False, [])
        other.execute("rollback")
        other.close()
        assert d.execute_sync(call()).success


class TestDamage:
    """What is no journal is told, and left as it is."""

    def _refused(self, path: Path, error: type[Exception] = JournalDamaged) -> str:
        before = path.read_bytes()
        with pytest.raises(error) as caught:
            SQLiteJournal(path)
        assert path.read_bytes() == before
        return str(caught.value)

    def test_garbage_in_the_middle(self, path: Path) -> None:
        complete(path, 200, "x" * 300)
        data = bytearray(path.read_bytes())
        for page in range(2, len(data) // 4096):
            data[page * 4096 : page * 4096 + 512] = os.urandom(512)
        path.write_bytes(data)
        assert "damaged" in self._refused(path)

    def test_a_file_that_was_cut_off(self, path: Path) -> None:
        complete(path, 200, "x" * 300)
        path.write_bytes(path.read_bytes()[: 10 * 4096 + 100])
        assert "damaged" in self._refused(path)

    @pytest.mark.parametrize("content", [b"this is a text", b"\0" * 8192, os.urandom(4096)])
    def test_what_never_was_a_database(self, path: Path, content: bytes) -> None:
        path.write_bytes(content)
        self._refused(path)

    def test_another_database(self, path: Path) -> None:
        with sqlite3.connect(path) as connection:
            connection.execute("create table orders (id)")
        connection.close()
        assert "no journal" in self._refused(path)

    def test_one_that_was_emptied(self, path: Path) -> None:
        complete(path)
        path.write_bytes(b"")
        assert "empty" in self._refused(path)

    def test_it_is_told_also_when_it_comes_later(self, path: Path, call: Make, dispatcher: Make, runtime: Make) -> None:
        ran: list[str] = []
        d = dispatcher(runtime("journal.sqlite").SQLiteJournal(path), pay=lambda args, call: ran.append(args.key))
        assert d.execute_sync(call(1)).success

        def work() -> list[Any]:  # its journal connects anew
            path.write_bytes(os.urandom(20_000))
            Path(f"{path}-wal").unlink(missing_ok=True)
            result = d.execute_sync(call(2))
            return [result.error.code, result.ran, ran]

        assert in_child(work) == ["journal_unavailable", False, ["key_1"]]

    def test_a_torn_end_loses_what_was_not_yet_safe_and_nothing_else(self, path: Path) -> None:
        def work(tell: Callable[[Any], None]) -> None:
            journal = SQLiteJournal(path)
            for number in range(20):
                asyncio.run(journal.finish(begin(journal, number).claim, "{}", "succeeded"))
            tell("done")
            signal.pause()

        child = Child(work)
        assert child.heard() == "done"
        child.kill()
        log = Path(f"{path}-wal")
        whole = log.read_bytes()
        for torn in (whole[:-1], whole[:-2000], whole[:-2000] + b"\xff" * 2000, whole + b"\xff" * 5000):
            log.write_bytes(torn)
            Path(f"{path}-shm").unlink(missing_ok=True)
            copy = path.with_name("copy.db")
            copy.write_bytes(path.read_bytes())
            copy.with_name("copy.db-wal").write_bytes(torn)
            journal = SQLiteJournal(copy)
            assert [begin(journal, number) for number in range(19)] == [Stored("{}")] * 19
            assert isinstance(begin(journal, 19), (Stored, Interrupted))
            assert asyncio.run(journal.verify()) == []
            journal.close()


class TestVersions:
    LATER = (*sqlite.MIGRATIONS, "alter table calls add column note text;\n", "update calls set note = 'old';\n")

    def test_an_older_file_is_brought_up_to_date(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        complete(path)
        monkeypatch.setattr(sqlite, "MIGRATIONS", self.LATER)
        journal = SQLiteJournal(path)
        assert begin(journal, 0) == Stored("{}")
        journal.close()
        with sqlite3.connect(path) as connection:
            assert connection.execute("select note from calls").fetchall() == [("old",)]
            assert connection.execute("pragma user_version").fetchone() == (3,)
        connection.close()

    def test_a_newer_file_is_left_alone(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with monkeypatch.context() as later:
            later.setattr(sqlite, "MIGRATIONS", self.LATER)
            complete(path)
        before = path.read_bytes()
        with pytest.raises(JournalTooNew) as caught:
            SQLiteJournal(path)
        assert (caught.value.found, caught.value.known) == (3, 1)
        assert path.read_bytes() == before

    @pytest.mark.parametrize("there", [False, True], ids=["made", "migrated"])
    def test_several_at_once(self, path: Path, monkeypatch: pytest.MonkeyPatch, there: bool) -> None:
        if there:
            complete(path)
        monkeypatch.setattr(sqlite, "MIGRATIONS", self.LATER)
        reading, writing = os.pipe()

        def work(tell: Callable[[Any], None]) -> None:
            os.close(writing)
            os.read(reading, 1)  # until all are there
            journal = SQLiteJournal(path)
            tell(type(begin(journal, os.getpid())).__name__)
            journal.close()

        children = [Child(work) for _ in range(6)]
        os.close(writing)
        os.close(reading)
        assert [child.heard() for child in children] == ["Fresh"] * 6
        assert [child.ended() for child in children] == [0] * 6
        with sqlite3.connect(path) as connection:
            assert connection.execute("select count(*) from meta").fetchone() == (1,)
            assert connection.execute("select count(*) from calls").fetchone() == (6 + there,)
        connection.close()

    def test_a_migration_that_fails_changes_nothing(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        complete(path)
        with monkeypatch.context() as later:
            later.setattr(sqlite, "MIGRATIONS", (*sqlite.MIGRATIONS, "create table more (x);\nthis is not SQL;\n"))
            with pytest.raises(JournalUnavailable):
                SQLiteJournal(path)
        journal = SQLiteJournal(path)
        assert begin(journal, 0) == Stored("{}")
        journal.close()


def test_only_its_owner_may_read_the_file(path: Path) -> None:
    journal = SQLiteJournal(path)
    assert isinstance(begin(journal), Fresh)
    assert {name.name: name.stat().st_mode & 0o077 for name in path.parent.iterdir()} == {
        "journal.db": 0,
        "journal.db-wal": 0,
        "journal.db-shm": 0,
        "journal.db-owners": 0,
    }
    journal.close()
    again = SQLiteJournal(path)
    assert [entry.key for entry in asyncio.run(again.entries("interrupted"))] == [key()]
    again.close()
