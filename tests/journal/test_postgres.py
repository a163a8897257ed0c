"""The journal in PostgreSQL: leases and fencing, and a server that goes away."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from templates.runtime.journal import (
    Fresh,
    Interrupted,
    JournalDamaged,
    JournalTooNew,
    JournalUnavailable,
    Running,
    Stored,
    postgres,
)
from templates.runtime.journal.postgres import PostgresJournal
from tests.journal.server import Server
from tests.journal.support import Child, in_child, intent

pytestmark = pytest.mark.xdist_group("postgres")

Make = Callable[..., Any]

_numbers = itertools.count(1)


@pytest.fixture
def schema() -> str:
    return f"own_{next(_numbers)}"


@pytest.fixture
def open_journal(server: Server, schema: str) -> Iterator[Make]:
    """Opens journals on one schema; they are closed in the end."""
    opened: list[Any] = []

    def make(of: Any = postgres, **options: Any) -> Any:
        opened.append(of.PostgresJournal(options.pop("conninfo", server.conninfo), schema=schema, **options))
        return opened[-1]

    yield make
    for journal in opened:
        journal.close()


def begin(journal: Any, number: object = 1) -> Any:
    return asyncio.run(journal.begin(intent(number)))


async def until(journal: Any, kind: type[Any], number: object = 1) -> Any:
    """What `begin` says once it says that."""
    while not isinstance(found := await journal.begin(intent(number)), kind):
        await asyncio.sleep(0.02)
    return found


class TestLeases:
    LEASE = 0.5

    def _child(self, open_journal: Make) -> Child:
        def work(tell: Callable[[Any], None]) -> None:
            journal = open_journal(lease=self.LEASE)
            begun = begin(journal)
            tell(type(begun).__name__)
            signal.sigwait([signal.SIGUSR1])
            tell(asyncio.run(journal.finish(begun.claim, '"late"', "succeeded")))

        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
        try:
            child = Child(work)
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGUSR1])
        assert child.heard() == "Fresh"
        return child

    def test_an_owner_that_was_stopped_loses_after_its_lease(self, open_journal: Make) -> None:
        child = self._child(open_journal)
        journal = open_journal()
        child.send(signal.SIGSTOP)
        assert begin(journal) == Running()
        taken = asyncio.run(until(journal, Interrupted))
        assert taken.claim.attempt == 2
        child.send(signal.SIGCONT)
        child.send(signal.SIGUSR1)
        assert child.heard() is False  # its result came too late
        assert child.ended() == 0
        assert begin(journal) == Running()
        assert asyncio.run(journal.finish(taken.claim, '"in time"', "succeeded"))
        assert begin(journal) == Stored('"in time"')

    def test_also_when_the_other_one_has_ended_before(self, open_journal: Make) -> None:
        child = self._child(open_journal)
        journal = open_journal()
        child.send(signal.SIGSTOP)
        taken = asyncio.run(until(journal, Interrupted))
        assert asyncio.run(journal.finish(taken.claim, '"in time"', "succeeded"))
        child.send(signal.SIGCONT)
        child.send(signal.SIGUSR1)
        assert child.heard() is False
        assert child.ended() == 0
        assert begin(journal) == Stored('"in time"')

    def test_an_owner_that_was_killed(self, open_journal: Make) -> None:
        child = self._child(open_journal)
        child.kill()
        journal = open_journal()
        assert isinstance(asyncio.run(until(journal, Interrupted)), Interrupted)

    def test_one_that_wakes_before_anybody_asked_has_lost_nothing(self, open_journal: Make) -> None:
        child = self._child(open_journal)
        journal = open_journal()
        child.send(signal.SIGSTOP)
        while asyncio.run(journal.entries("interrupted")) == []:
            time.sleep(0.02)
        child.send(signal.SIGCONT)
        child.send(signal.SIGUSR1)
        assert child.heard() is True
        assert child.ended() == 0
        assert begin(journal) == Stored('"late"')

    def test_heartbeats_keep_a_call_that_takes_longer_than_a_lease(
        self, open_journal: Make, server: Server, schema: str
    ) -> None:
        first, second = open_journal(lease=self.LEASE), open_journal()
        claim = begin(first).claim
        with psycopg.connect(server.conninfo, autocommit=True) as connection:
            over = f"select max(started_at) + interval '{3 * self.LEASE} s' < clock_timestamp() from {schema}.calls"
            while connection.execute(over.encode()).fetchone() != (True,):
                assert begin(second) == Running()
        assert asyncio.run(first.finish(claim, '"done"', "succeeded"))

    def test_a_paused_handler_does_not_answer_after_all(
        self, open_journal: Make, dispatcher: Make, call: Make, runtime: Make
    ) -> None:
        """Through the dispatcher: the one that lost gives the answer of the one that took over."""
        api, module = runtime(""), runtime("journal.postgres")

        def work(tell: Callable[[Any], None]) -> None:
            def pay(args: Any, call: Any) -> str:
                tell("begun")
                signal.sigwait([signal.SIGUSR1])
                return "late"

            d = dispatcher(open_journal(module, lease=self.LEASE), pay=pay)
            result = asyncio.run(d.execute(call()))
            tell([result.output, result.error and result.error.code, result.replayed])

        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
        try:
            child = Child(work)
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGUSR1])
        assert child.heard() == "begun"
        child.send(signal.SIGSTOP)
        ran: list[str] = []
        d = dispatcher(
            open_journal(module),
            hooks=api.Hooks(reconcile=lambda call: api.Done("found")),
            pay=lambda args, call: ran.append(args.key),
        )
        result = d.execute_sync(call())
        while result.error and result.error.code == "in_progress":
            result = d.execute_sync(call())
        assert (result.output, ran) == ("found", [])
        child.send(signal.SIGCONT)
        child.send(signal.SIGUSR1)
        assert child.heard() == ["found", None, True]
        assert child.ended() == 0

    def test_no_clock_of_this_machine_is_asked(self, open_journal: Make, monkeypatch: pytest.MonkeyPatch) -> None:
        first, second = open_journal(), open_journal()
        claim = begin(first).claim
        for now in (0.0, 4e9, -1e9):
            monkeypatch.setattr(time, "time", lambda now=now: now)
            assert begin(second) == Running()
        assert asyncio.run(first.finish(claim, '"done"', "succeeded"))
        assert asyncio.run(second.purge(60)) == 0
        assert begin(second) == Stored('"done"')

    def test_a_forked_child_is_an_owner_of_its_own(self, open_journal: Make) -> None:
        journal = open_journal(lease=self.LEASE)
        claim = begin(journal).claim
        found = in_child(lambda: [type(begin(journal, number)).__name__ for number in (1, 2)])
        assert found == ["Running", "Fresh"]
        assert asyncio.run(journal.finish(claim, '"done"', "succeeded"))
        assert isinstance(asyncio.run(until(journal, Interrupted, 2)), Interrupted)


class TestServer:
    @pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT], ids=["stopped", "crashed"])
    def test_one_that_is_restarted_in_the_middle(
        self, how: signal.Signals, server: Server, open_journal: Make, dispatcher: Make, call: Make, runtime: Make
    ) -> None:
        ran: list[str] = []
        enough = threading.Event()

        async def pay(args: Any, call: Any) -> str:
            ran.append(args.key)
            if len(ran) == 40:
                enough.set()
            await asyncio.sleep(0.001)
            return str(args.key)

        d = dispatcher(open_journal(runtime("journal.postgres"), patience=60), pay=pay)
        results: list[Any] = []
        thread = threading.Thread(
            target=lambda: results.extend(d.execute_all_sync([call(number) for number in range(300)]))
        )
        thread.start()
        assert enough.wait(60)
        server.restart(how)
        thread.join(120)
        assert [result.output for result in results] == [f"key_{number}" for number in range(300)]
        assert sorted(ran) == sorted(f"key_{number}" for number in range(300))
        again = d.execute_all_sync([call(number) for number in range(300)])
        assert all(result.replayed for result in again)
        assert [result.output for result in again] == [result.output for result in results]

    def test_one_that_stays_away(
        self, server: Server, open_journal: Make, dispatcher: Make, call: Make, runtime: Make
    ) -> None:
        ran: list[str] = []
        d = dispatcher(
            open_journal(runtime("journal.postgres"), patience=0.2), pay=lambda args, call: ran.append(args.key)
        )
        server.stop()
        try:
            results = [d.execute_sync(call(number)) for number in range(2)]
        finally:
            server.start()
        assert [(result.error.code, result.ran) for result in results] == [("journal_unavailable", False)] * 2
        assert ran == []
        assert all(d.execute_sync(call(number)).success for number in range(2))

    def test_one_that_is_away_when_a_result_comes(
        self, server: Server, open_journal: Make, dispatcher: Make, call: Make, runtime: Make
    ) -> None:
        """Its effect is there and its record is not: that is unknown, also while this process lives."""
        ran: list[str] = []

        def pay(args: Any, call: Any) -> str:
            ran.append(args.key)
            server.stop()
            return "paid"

        d = dispatcher(open_journal(runtime("journal.postgres"), patience=0.2), pay=pay)
        try:
            result = d.execute_sync(call())
        finally:
            server.start()
        assert (result.error.code, result.ran) == ("journal_unavailable", True)
        assert [d.execute_sync(call()).error.code for _ in range(2)] == ["outcome_unknown"] * 2
        assert ran == ["key_1"]

    def test_one_that_only_reads(self, server: Server, open_journal: Make) -> None:
        open_journal()
        journal = open_journal(conninfo=f"{server.conninfo} options='-c default_transaction_read_only=on'")
        with pytest.raises(JournalUnavailable, match="read-only"):
            begin(journal)

    def test_tables_that_somebody_else_keeps_locked(self, server: Server, open_journal: Make, schema: str) -> None:
        journal = open_journal(patience=0.2)
        with psycopg.connect(server.conninfo) as connection:
            connection.execute(f"lock table {schema}.calls in access exclusive mode".encode())
            with pytest.raises(JournalUnavailable, match="lock timeout"):
                begin(journal)
        assert isinstance(begin(journal), Fresh)

    def test_nobody_there_at_the_start(self, tmp_path: Any) -> None:
        with pytest.raises(JournalUnavailable, match="connection"):
            PostgresJournal(f"host={tmp_path} user=test", patience=0.1)

    def test_a_connection_of_the_services_own_making(self, server: Server, schema: str) -> None:
        made: list[Any] = []

        def connect() -> Any:
            made.append(psycopg.connect(server.conninfo, application_name="of the service"))
            return made[-1]

        journal = PostgresJournal(connect, schema=schema)
        assert isinstance(begin(journal), Fresh)
        made[0].close()
        assert begin(journal) == Running()
        assert len(made) == 2
        journal.close()
        assert made[1].closed


class TestVersions:
    LATER = (
        *postgres.MIGRATIONS,
        "alter table {schema}.calls add column note text;\n",
        "update {schema}.calls set note = 'old';\n",
    )

    def test_an_older_schema_is_brought_up_to_date(
        self, server: Server, open_journal: Make, schema: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        first = open_journal()
        asyncio.run(first.finish(begin(first).claim, "{}", "succeeded"))
        monkeypatch.setattr(postgres, "MIGRATIONS", self.LATER)
        assert begin(open_journal()) == Stored("{}")
        with psycopg.connect(server.conninfo) as connection:
            assert connection.execute(f"select note from {schema}.calls".encode()).fetchall() == [("old",)]

    def test_a_newer_schema_is_left_alone(self, open_journal: Make, monkeypatch: pytest.MonkeyPatch) -> None:
        with monkeypatch.context() as later:
            later.setattr(postgres, "MIGRATIONS", self.LATER)
            open_journal()
        with pytest.raises(JournalTooNew) as caught:
            open_journal()
        assert (caught.value.found, caught.value.known) == (3, 1)

    @pytest.mark.parametrize("there", [False, True], ids=["made", "migrated"])
    def test_several_at_once(self, open_journal: Make, monkeypatch: pytest.MonkeyPatch, there: bool) -> None:
        if there:
            open_journal()
        monkeypatch.setattr(postgres, "MIGRATIONS", self.LATER)
        reading, writing = os.pipe()

        def work(tell: Callable[[Any], None]) -> None:
            os.close(writing)
            os.read(reading, 1)  # until all are there
            tell(type(begin(open_journal(), os.getpid())).__name__)

        children = [Child(work) for _ in range(6)]
        os.close(writing)
        os.close(reading)
        assert [child.heard() for child in children] == ["Fresh"] * 6
        assert [child.ended() for child in children] == [0] * 6

    @pytest.mark.parametrize("table", ["calls", "owners", "meta"])
    def test_a_schema_that_lost_something_is_not_made_again(
        self, server: Server, open_journal: Make, schema: str, table: str
    ) -> None:
        open_journal().close()
        with psycopg.connect(server.conninfo, autocommit=True) as connection:
            connection.execute(f"drop table {schema}.{table}".encode())
            with pytest.raises(JournalDamaged, match="lost"):
                open_journal()
            left = connection.execute("select count(*) from pg_tables where schemaname = %s", (schema,)).fetchone()
        assert left == (2,)

    def test_names_of_schemas(self, server: Server) -> None:
        for name in ("", 'a"b', "a.b", "1a", "a%s", "ñ"):
            with pytest.raises(ValueError, match="schema"):
                PostgresJournal(server.conninfo, schema=name)
