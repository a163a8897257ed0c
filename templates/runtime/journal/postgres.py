"""A journal in PostgreSQL: durable for workers on many machines.

- Operations of many callers go out in one pipelined transaction: one round trip and one commit, see `batches.py`.
- An owner is a worker with a lease. The lease is kept by heartbeats and judged by the database's clock alone. A worker
  that is gone, or was stopped for longer, loses its calls to whoever asks for them next.
- A claim is a fencing token. The result of a worker that lost its lease and comes back changes nothing.
- A lost connection is made again, and a batch whose outcome nobody heard is sent again: every operation can be.

It needs psycopg 3 (`pip install "psycopg[binary]"`), which is imported when a journal is made.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import math
import re
import secrets
import time
from collections.abc import Callable, Generator
from typing import Any, TypeVar

from ..forks import renew_after_fork
from . import (
    Claim,
    Conflict,
    Fresh,
    Interrupted,
    JournalDamaged,
    JournalError,
    JournalTooNew,
    JournalUnavailable,
    Key,
    Redacted,
    Running,
)
from .stored import (
    LAZY,
    REDACTED,
    Begin,
    Finish,
    Listing,
    Privacy,
    Purge,
    Release,
    Resolve,
    Row,
    Show,
    StoredJournal,
    Submit,
    Verify,
    new_key,
)

log = logging.getLogger(__name__)

T = TypeVar("T")

MIGRATIONS: tuple[str, ...] = (
    """
    create table {schema}.owners (
        name text primary key,
        lease_until timestamptz not null
    );
    create table {schema}.calls (
        session_id text collate "C" not null,
        turn_id text collate "C" not null,
        call_id text collate "C" not null,
        tool text not null,
        state text not null
            check (state in ('started', 'cleared', 'succeeded', 'failed', 'parked')),
        fresh boolean not null, -- whether the handler cannot have run before this attempt
        attempt integer not null,
        digest bytea not null,
        idempotency_key text not null,
        owner text, -- null once the claim was given up
        token text,
        started_at timestamptz not null,
        ended_at timestamptz,
        submitted_at timestamptz,
        arguments bytea,
        record bytea,
        primary key (session_id, turn_id, call_id)
    );
    """,
)
"""The schema, a step a version."""

PAUSES = (0.05, 0.1, 0.2, 0.5)
"""Seconds before each attempt to connect again; the last one counts for all that follow."""

AGAIN = ("08", "57P", "40001", "40P01", "55P03")
"""SQLSTATE of failures after which a batch is sent again: connections, shutdowns, deadlocks and the like."""

OF_ONE = ("22", "54")
"""SQLSTATE of failures that concern one operation of a batch: its data is wrong, or larger than the server takes."""

ONE = "session_id = %s and turn_id = %s and call_id = %s"
ALIVE = """exists (
    select from {schema}.owners o where o.name = c.owner and o.lease_until > statement_timestamp())"""
"""Whether the owner of a call is alive. Only a statement that begins when the call's row is locked already may decide
by it: one that had to wait for the lock sees the row as it is, but the leases as they were before."""

SHOWN = """session_id, turn_id, call_id, tool,
    case when c.state = 'started' and not {alive} then 'interrupted' else c.state end,
    attempt, idempotency_key, coalesce(owner, ''), extract(epoch from started_at)::float8,
    extract(epoch from ended_at)::float8, extract(epoch from submitted_at)::float8"""

STATEMENTS = {
    "renew": """
        insert into {schema}.owners values (%s, clock_timestamp() + make_interval(secs => %s))
        on conflict (name) do update set lease_until = excluded.lease_until
        """,
    "leave": "delete from {schema}.owners where name = %s",
    "begin": """
        insert into {schema}.calls (session_id, turn_id, call_id, tool, digest, idempotency_key, arguments,
            owner, token, state, fresh, attempt, started_at)
        values (%s, %s, %s, %s, %s, %s, %s, %s, %s, 'started', true, 1, clock_timestamp())
        on conflict (session_id, turn_id, call_id) do nothing
        """,
    "lock": f"select from {{schema}}.calls where {ONE} for update",
    "take over": f"""
        update {{schema}}.calls c set state = 'started', fresh = (c.state = 'cleared'), attempt = c.attempt + 1,
            owner = %s, token = %s, started_at = clock_timestamp()
        where {ONE} and digest = %s and owner is distinct from %s
            and (state = 'cleared' or state = 'started' and not {ALIVE})
        """,
    "known": f"select digest, state, record, token, fresh, attempt from {{schema}}.calls where {ONE}",
    "finish": f"""
        update {{schema}}.calls set ended_at = coalesce(ended_at, clock_timestamp()), state = %s, record = %s,
            owner = null
        where {ONE} and token = %s and (state = 'started' or state = %s and record = %s)
        """,
    "take back": f"delete from {{schema}}.calls where {ONE} and token = %s and state = 'started' and fresh",
    "release": f"""
        update {{schema}}.calls set owner = null, token = null where {ONE} and token = %s and state = 'started'
        """,
    "submit": f"""
        update {{schema}}.calls set submitted_at = clock_timestamp() {{redacted}}
        where {ONE} and state in ('succeeded', 'failed', 'parked')
        """,
    "list": f"""
        select * from (select {SHOWN}, null::bytea, null::bytea from {{schema}}.calls c)
            as s (session_id, turn_id, call_id, tool, state)
        where (session_id, turn_id, call_id) > (%s, %s, %s) and (%s::text is null or state = %s)
        order by session_id, turn_id, call_id limit %s
        """,
    "show": f"select {SHOWN}, arguments, record from {{schema}}.calls c where {ONE}",
    "resolve": f"""
        update {{schema}}.calls c set state = %s, record = %s, submitted_at = null, owner = null, token = null,
            ended_at = case when %s::bytea is null then null else clock_timestamp() end
        where {ONE} and (state = 'parked' or state = 'started' and not {ALIVE})
        """,
    "purge": """
        delete from {schema}.calls where state in ('succeeded', 'failed')
            and ended_at < clock_timestamp() - make_interval(secs => %s) and (%s or submitted_at is not null)
        """,
    "purge owners": """
        delete from {schema}.owners o where lease_until < clock_timestamp() - interval '1 day'
            and not exists (select from {schema}.calls c where c.owner = o.name)
        """,
    "verify": """
        select session_id, turn_id, call_id from {schema}.calls
        where state in ('succeeded', 'failed', 'parked') and record is null and submitted_at is null
        """,
    "lazy": "set local synchronous_commit = off",
}


class PostgresJournal(StoredJournal):
    """Keeps calls in a schema of a PostgreSQL database, which is made where there is none."""

    def __init__(
        self,
        connect: str | Callable[[], Any],
        *,
        schema: str = "toolgen",
        privacy: Privacy | None = None,
        lease: float = 30.0,
        patience: float = 10.0,
    ) -> None:
        """
        Args:
            connect: where the database is, as psycopg and libpq understand it, or a function that gives a new
                connection of psycopg. A journal uses one connection a process, for as long as it lives.
            schema: name of the schema that holds the tables.
            privacy: what is kept of calls, and how.
            lease: seconds after which a worker that does not say that it is alive loses the calls that it runs. The
                heartbeats come four times as often.
            patience: seconds to wait for a database that is away.

        Raises:
            JournalTooNew: a newer version of this code made the schema.
            JournalDamaged: the schema lacks what it has to have. It is not touched.
            JournalUnavailable: the database cannot be reached, or not written to.
            JournalError: the journal was begun with another digest key.
            ImportError: psycopg is not installed.
            ValueError: `schema` is no plain name.
        """
        self._psycopg: Any = importlib.import_module("psycopg")
        self._connect = connect
        self._schema = schema
        self._lease = lease
        self._patience = patience
        self._connection: Any = None
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", schema):
            raise ValueError(f"no name for a schema: {schema!r}")
        quoted = f'"{schema}"'
        chosen = privacy or Privacy()
        redacted = REDACTED if chosen.redact else ""
        alive = ALIVE.format(schema=quoted)
        self._quoted = quoted
        self._statements = {
            name: text.format(schema=quoted, redacted=redacted, alive=alive).encode()
            for name, text in STATEMENTS.items()
        }
        super().__init__(chosen)
        self._new_owner()
        renew_after_fork(self)
        failure = self._patiently(self._connected)
        if isinstance(failure, Exception):
            raise failure

    def renew(self) -> None:
        """What a forked child needs: an owner and a connection of its own."""
        self._renew()
        self._new_owner()

    def close(self) -> None:
        self._leaving = True
        super().close()

    def _new_owner(self) -> None:
        self._leaving = False
        self._name = secrets.token_hex(8)
        self._renewed = float("-inf")
        self._sent = False
        """Whether anything of this batch may have reached the server."""
        self._held: set[str] = set()
        """Tokens of the claims that this process holds."""

    # ---- the connection

    def _connected(self) -> Any:
        """The connection. Raises what psycopg raises, and `JournalError`."""
        if self._connection is None:
            connection = (
                self._connect_to(self._connect)
                if isinstance(self._connect, str)
                else self._connect()
            )
            try:
                connection.autocommit = True
                self._prepare(connection)
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _connect_to(self, conninfo: str) -> Any:
        # Else a server that does not answer is waited for as long as the system likes, which may be hours.
        defaults = {
            "connect_timeout": max(2, math.ceil(self._patience)),
            "tcp_user_timeout": max(1, int(self._patience * 1000)),
            "application_name": "toolgen journal",
        }
        given = self._psycopg.conninfo.conninfo_to_dict(conninfo)
        return self._psycopg.connect(conninfo, **{**defaults, **given})

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is None:
            return
        try:
            if self._leaving:
                connection.execute(self._statements["leave"], (self._name,))
        except self._psycopg.Error as error:
            # The server then waits for the end of the lease, as it does for a worker that died.
            log.info("the lease could not be given back: %s", type(error).__name__)
        finally:
            connection.close()

    def _prepare(self, connection: Any) -> None:
        """Brings the schema to this version. Of several workers that try at once, one does it and the others wait."""
        known = len(MIGRATIONS)
        if connection.execute("show synchronous_commit").fetchone()[0] == "off":
            connection.execute("set synchronous_commit = on")
        connection.execute(
            f"set lock_timeout = {max(1, int(self._patience * 1000))}".encode()
        )
        found = self._version(connection)
        if found < known:
            with connection.transaction():
                connection.execute(
                    "select pg_advisory_xact_lock(hashtextextended(%s, 0))",
                    (f"toolgen journal {self._schema}",),
                )
                found = self._version(connection)
                self._migrate(connection, found)
        elif found > known:
            raise JournalTooNew(f"the schema {self._schema}", found, known)
        meta = connection.execute(
            f"select digest_key, key_check from {self._quoted}.meta".encode()
        ).fetchone()
        self._use_key(*(bytes(value) for value in meta))

    def _migrate(self, connection: Any, found: int) -> None:
        def run(text: str, *values: Any) -> None:
            connection.execute(
                text.replace("{schema}", self._quoted).encode(), values or None
            )

        if found == 0:
            # Not `if not exists` alone: that asks for the right to make schemas even where there is nothing to make.
            there = connection.execute(
                "select from pg_namespace where nspname = %s", (self._schema,)
            ).fetchone()
            if there is None:
                run("create schema {schema}")
            run(
                "create table {schema}.meta (version integer not null, digest_key bytea not null,"
                " key_check bytea not null)"
            )
            run("insert into {schema}.meta values (0, %s, %s)", *new_key(self._privacy))
        for step in MIGRATIONS[found:]:
            for statement in step.split(";\n"):
                if statement.strip():
                    run(statement)
        run("update {schema}.meta set version = %s", len(MIGRATIONS))

    def _version(self, connection: Any) -> int:
        tables = connection.execute(
            "select tablename from pg_tables where schemaname = %s", (self._schema,)
        ).fetchall()
        names = {str(name) for (name,) in tables}
        if not names & {"meta", "calls", "owners"}:
            return 0
        row = None
        if "meta" in names:
            row = connection.execute(
                f"select version from {self._quoted}.meta".encode()
            ).fetchone()
        if row is None:
            raise JournalDamaged(f"the schema {self._schema} has lost its digest key")
        version = int(row[0])
        if version <= len(MIGRATIONS) and not names >= {"calls", "owners"}:
            raise JournalDamaged(f"the schema {self._schema} has lost tables")
        return version

    # ---- operations

    def _beat(self) -> float | None:
        if not self._held:
            return None
        return max(self._renewed + self._lease / 4 - time.monotonic(), 0.001)

    def _carry_out(self, operations: list[Any]) -> list[Any]:
        self._sent = False
        outcomes = self._patiently(lambda: self._transaction(operations))
        if isinstance(outcomes, _Refused) and len(operations) > 1:
            return [
                outcome
                for operation in operations
                for outcome in self._carry_out([operation])
            ]
        if isinstance(outcomes, JournalError):
            for operation in operations:
                # Nobody heard whether it was claimed.
                if self._sent and isinstance(operation, Begin):
                    self._owe(Release(Claim(operation.key, operation.token), ran=False))
            return [outcomes] * len(operations)
        for operation, outcome in zip(operations, outcomes, strict=True):
            if isinstance(outcome, (Fresh, Interrupted)):
                self._held.add(outcome.claim.token)
            elif isinstance(operation, (Finish, Release)):
                self._held.discard(operation.claim.token)
        return outcomes

    def _patiently(self, work: Callable[[], T]) -> T | JournalError:
        """The outcome of `work`, tried again while the database is away; a `JournalError` where it stays away."""
        end = time.monotonic() + self._patience
        attempt = 0
        while True:
            try:
                return work()
            except JournalError as error:
                self._disconnect()
                return error
            except self._psycopg.Error as error:
                self._disconnect()
                pause = PAUSES[min(attempt, len(PAUSES) - 1)]
                attempt += 1
                if not _may_pass(error) or time.monotonic() + pause > end:
                    state = getattr(error, "sqlstate", None)
                    reason = str(error).strip().split("\n")[0]
                    kind = JournalUnavailable
                    if str(state).startswith(OF_ONE):
                        kind = _Refused
                    return kind(f"{reason} ({state})" if state else reason)
            except BaseException:
                self._disconnect()
                raise
            time.sleep(pause)

    def _transaction(self, operations: list[Any]) -> list[Any]:
        connection = self._connected()
        self._sent = True
        outcomes: list[Any] = [None] * len(operations)
        begins = any(isinstance(operation, Begin) for operation in operations)
        # Always in the order of their keys, or two workers may wait for each other.
        order = sorted(
            range(len(operations)), key=lambda index: _order(operations[index])
        )
        with connection.transaction(), self._sending(connection) as send:
            now = time.monotonic()
            renews = now > self._renewed + self._lease / 5 and (begins or self._held)
            with connection.pipeline():
                if operations and all(isinstance(o, LAZY) for o in operations):
                    send("lazy")
                if renews:
                    send("renew", self._name, self._lease)
                asked = [(index, self._ask(send, operations[index])) for index in order]
            for index, cursor in asked:
                outcomes[index] = _HEARD[type(operations[index])](cursor)
        if renews:
            self._renewed = now
        known = [
            index
            for index in order
            if isinstance(operations[index], Begin) and not outcomes[index]
        ]
        for index in order:
            if outcomes[index] is True and isinstance(
                begin := operations[index], Begin
            ):
                outcomes[index] = Fresh(Claim(begin.key, begin.token))
        if known:
            self._begin_known(connection, operations, known, outcomes)
        return outcomes

    def _begin_known(
        self,
        connection: Any,
        operations: list[Any],
        indices: list[int],
        outcomes: list[Any],
    ) -> None:
        """What there is to say of calls that the journal knows already; takes over those that may be."""

        def look(indices: list[int]) -> list[int]:
            """Those of the calls that may be taken over."""
            with connection.pipeline():
                rows = [
                    (i, send("known", *_fields(operations[i].key))) for i in indices
                ]
            for index, cursor in rows:
                outcomes[index] = _known(operations[index], cursor.fetchone())
            return [index for index in indices if outcomes[index] == Running()]

        with connection.transaction(), self._sending(connection) as send:
            started = look(indices)
            if not started:
                return
            with connection.pipeline():
                for index in started:
                    send("lock", *_fields(operations[index].key))
            with connection.pipeline():
                for index in started:
                    begin = operations[index]
                    mine = (self._name, begin.token)
                    send(
                        "take over",
                        *mine,
                        *_fields(begin.key),
                        begin.digest,
                        self._name,
                    )
            look(started)

    @contextlib.contextmanager
    def _sending(self, connection: Any) -> Generator[Callable[..., Any]]:
        """A function that sends one of the statements and gives its cursor."""
        with contextlib.ExitStack() as cursors:

            def send(name: str, *values: Any) -> Any:
                cursor = cursors.enter_context(connection.cursor())
                cursor.execute(self._statements[name], values or None)
                return cursor

            yield send

    def _ask(self, send: Callable[..., Any], operation: Any) -> Any:
        """Sends the statements of an operation; gives the cursor of the one that has its outcome."""
        match operation:
            case Begin(key, tool, digest, idempotency_key, arguments, token):
                facts = (tool, digest, idempotency_key, arguments, self._name, token)
                return send("begin", *_fields(key), *facts)
            case Finish(claim, record, how):
                held = (*_fields(claim.key), claim.token)
                return send("finish", how, record, *held, how, record)
            case Release(claim, ran):
                held = (*_fields(claim.key), claim.token)
                if not ran:
                    send("take back", *held)
                return send("release", *held)
            case Submit(key):
                return send("submit", *_fields(key))
            case Listing(state, limit, after):
                first = ("", "", "") if after is None else _fields(after)
                return send("list", *first, state, state, limit)
            case Show(key):
                return send("show", *_fields(key))
            case Resolve(key, record):
                state = "cleared" if record is None else "succeeded"
                send("lock", *_fields(key))
                return send("resolve", state, record, record, *_fields(key))
            case Purge(older_than, unsent):
                send("purge owners")
                return send("purge", older_than, unsent)
            case _:
                return send("verify")


class _Refused(JournalUnavailable):
    """The server cannot take one of the operations; the others it may."""


def _known(begin: Begin, row: Row | None) -> Any:
    """What there is to say of a call with this row."""
    if row is None:  # it was purged between the two questions
        return Running()
    digest, state, record, token, fresh, attempt = row
    if token == begin.token and state == "started":
        # It was just taken over, or this very claim was sent before and nobody heard the answer.
        claim = Claim(begin.key, begin.token, attempt)
        return Fresh(claim) if fresh else Interrupted(claim)
    if bytes(digest) != begin.digest:
        return Conflict()
    if state in ("succeeded", "failed", "parked"):
        return Redacted() if record is None else bytes(record)
    return Running()


_HEARD: dict[type[Any], Callable[[Any], Any]] = {
    Begin: lambda cursor: cursor.rowcount == 1,
    Finish: lambda cursor: cursor.rowcount == 1,
    Release: lambda cursor: None,
    Submit: lambda cursor: None,
    Listing: lambda cursor: cursor.fetchall(),
    Show: lambda cursor: cursor.fetchone(),
    Resolve: lambda cursor: cursor.rowcount == 1,
    Purge: lambda cursor: cursor.rowcount,
    Verify: lambda cursor: [
        f"{Key(*row)}: ended without a result" for row in cursor.fetchall()
    ],
}


def _fields(key: Key) -> tuple[str, str, str]:
    return key.session_id, key.turn_id, key.call_id


def _order(operation: Any) -> tuple[str, str, str]:
    match operation:
        case Finish(claim, _, _) | Release(claim, _):
            return _fields(claim.key)
        case Begin() | Submit() | Resolve() | Show():
            return _fields(operation.key)
        case _:
            return ("", "", "")


def _may_pass(error: Any) -> bool:
    """Whether what failed may work in a moment: a connection that broke has no SQLSTATE, or one of these."""
    state = getattr(error, "sqlstate", None)
    if state is None:
        return type(error).__name__ in ("OperationalError", "InterfaceError")
    return str(state).startswith(AGAIN)
