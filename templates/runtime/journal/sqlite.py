"""A journal in a SQLite file: durable on one machine, for any number of processes that share the file.

- Every intent and result is on the disk (WAL, `synchronous=FULL`) before its caller goes on. Many callers share one
  commit, see `batches.py`.
- An owner is a process that holds a lock of the operating system, see `owners.py`: one that was killed is known to be
  gone at once, one that was stopped is known to be alive, and no clock is asked.
- The file has to be on a local disk: SQLite's WAL needs shared memory.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
import threading
import time
from pathlib import Path
from typing import Any

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
from .owners import Owner
from .stored import (
    LAZY,
    READING,
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
    new_key,
)

APPLICATION = 0x746F6F6C
"""SQLite's application id of a journal."""

MIGRATIONS: tuple[str, ...] = (
    """
    create table meta (digest_key blob not null, key_check blob not null);
    create table calls (
        session_id text not null,
        turn_id text not null,
        call_id text not null,
        tool text not null,
        state text not null
            check (state in ('started', 'cleared', 'succeeded', 'failed', 'parked')),
        fresh integer not null, -- whether the handler cannot have run before this attempt
        attempt integer not null,
        digest blob not null,
        idempotency_key text not null,
        owner text, -- null once the claim was given up
        token text,
        started_at real not null,
        ended_at real,
        submitted_at real,
        arguments blob,
        record blob,
        primary key (session_id, turn_id, call_id)
    ) without rowid;
    """,
)
"""The schema, a step a version: the file's `user_version` counts those it has."""

CHECKED = 64 * 1024 * 1024
"""Bytes up to which the whole file is checked when it is opened. `verify` checks any file."""

COLUMNS = """session_id, turn_id, call_id, tool, state, attempt, idempotency_key, owner,
    started_at, ended_at, submitted_at"""
ONE = "session_id = ? and turn_id = ? and call_id = ?"

_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_creating = threading.Lock()
_OF_ONE = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_TOOBIG)
"""Failures that a smaller batch may not have."""


class SQLiteJournal(StoredJournal):
    """Keeps calls in the file at `path`, which is made where there is none. The folder `path`-owners belongs to it."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        privacy: Privacy | None = None,
        patience: float = 5.0,
        max_bytes: int | None = None,
    ) -> None:
        """
        Args:
            path: the file, on a local disk.
            privacy: what is kept of calls, and how.
            patience: seconds to wait for another process that writes.
            max_bytes: bound of the file's size; beyond it calls end as `journal_unavailable` until `purge` made room.

        Raises:
            JournalTooNew: a newer version of this code wrote the file.
            JournalDamaged: the file is no journal, or is broken. It is not touched.
            JournalUnavailable: it cannot be opened or written to.
            JournalError: it was begun with another digest key.
        """
        # Without links: as many names as the file may have, its owners are in one place.
        self.path = Path(os.path.realpath(path))
        self._patience = patience
        self._max_bytes = max_bytes
        self._connection: sqlite3.Connection | None = None
        self._owner: Owner | None = None
        self._eager = True
        self._checked = False
        super().__init__(privacy or Privacy())
        renew_after_fork(self)
        try:
            self._connected()
        except sqlite3.Error as error:
            raise self._told(error) from error

    def renew(self) -> None:
        """What a forked child needs: an owner of its own. The connection was closed before the fork."""
        self._renew()
        if self._owner is not None:
            self._owner.forget()
            self._owner = None

    def close(self) -> None:
        super().close()
        if self._owner is not None:
            self._owner.free()
            self._owner = None

    # ---- the connection

    def _connected(self) -> sqlite3.Connection:
        """The connection. Raises what SQLite raises, and `JournalError`."""
        if self._connection is None:
            with contextlib.ExitStack() as undo:
                connection = self._open()
                undo.callback(connection.close)
                self._prepare(connection)
                if self._owner is None:
                    try:
                        self._owner = Owner(self._owners)
                    except OSError as error:
                        raise self._cannot(error) from error
                undo.pop_all()
            self._connection, self._eager = connection, True
        return self._connection

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(sqlite3.Error):
                connection.close()

    @property
    def _owners(self) -> Path:
        return self.path.with_name(f"{self.path.name}-owners")

    def _open(self) -> sqlite3.Connection:
        try:
            # SQLite gives the files beside it the same rights. A file that is there is not opened: to close any handle
            # of it frees all locks that this process has on it, those of another journal's connection, too, and then
            # whoever is the last to leave removes the log under that (https://www.sqlite.org/howtocorrupt.html, 2.2).
            with _creating, contextlib.suppress(FileExistsError):
                flags = os.O_RDWR | os.O_CREAT | os.O_EXCL
                os.close(os.open(self.path, flags, 0o600))
            empty = self.path.stat().st_size == 0
            # SQLite would open it, and tell with the first call.
            if not os.access(self.path, os.R_OK | os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        except OSError as error:
            raise self._cannot(error) from error
        if empty and self._owners.exists():
            raise JournalDamaged(
                f"{self.path} is empty, and was a journal before; remove {self._owners} to begin a new one"
            )
        return sqlite3.connect(
            self.path,
            timeout=self._patience,
            isolation_level=None,
            check_same_thread=False,
        )

    def _prepare(self, connection: sqlite3.Connection) -> None:
        """Checks the file, brings it to this version, and sets the connection up."""

        def number(question: str) -> int:
            return int(connection.execute(question).fetchone()[0])

        def version() -> int:
            known, found = len(MIGRATIONS), number("pragma user_version")
            if number("select count(*) from sqlite_master") == 0 and found == 0:
                return 0
            if number("pragma application_id") != APPLICATION:
                raise JournalDamaged(f"{self.path} is a database, but no journal")
            if found > known:
                raise JournalTooNew(str(self.path), found, known)
            return found

        small = self.path.stat().st_size <= CHECKED
        if version() and small and not self._checked:
            found = [str(row[0]) for row in connection.execute("pragma quick_check(1)")]
            if found != ["ok"]:
                raise JournalDamaged(f"{self.path} is damaged: {found[0]}")
        self._checked = True
        connection.execute("pragma journal_mode = wal").fetchone()
        connection.execute("pragma synchronous = full")
        connection.execute("pragma fullfsync = on")  # macOS needs to be told
        # What is dropped is overwritten, also where SQLite was built to leave it in free pages.
        connection.execute("pragma secure_delete = on").fetchone()
        if self._max_bytes is not None:
            pages = self._max_bytes // number("pragma page_size")
            connection.execute(f"pragma max_page_count = {pages}")
        if version() < len(MIGRATIONS):
            connection.execute("begin immediate")
            try:
                # Another process may have done it by now.
                for step in range(version(), len(MIGRATIONS)):
                    _run_script(connection, MIGRATIONS[step])
                    if step == 0:
                        connection.execute(
                            "insert into meta values (?, ?)", new_key(self._privacy)
                        )
                connection.execute(f"pragma application_id = {APPLICATION}")
                connection.execute(f"pragma user_version = {len(MIGRATIONS)}")
                connection.execute("commit")
            except BaseException:
                _roll_back(connection)
                raise
        meta = connection.execute("select digest_key, key_check from meta").fetchone()
        if meta is None:
            raise JournalDamaged(f"{self.path} has lost its digest key")
        self._use_key(*meta)

    # ---- operations

    def _carry_out(self, operations: list[Any]) -> list[Any]:
        if not operations:
            return []
        try:
            return self._transaction(operations)
        except JournalError as error:
            self._disconnect()
            return [error] * len(operations)
        except sqlite3.Error as error:
            if self._connection is not None:
                _roll_back(self._connection)
            if len(operations) > 1 and _primary(error) in _OF_ONE:
                return [
                    outcome
                    for operation in operations
                    for outcome in self._carry_out([operation])
                ]
            self._disconnect()
            return [self._told(error)] * len(operations)
        except BaseException:
            self._disconnect()
            raise

    def _transaction(self, operations: list[Any]) -> list[Any]:
        connection = self._connected()
        eager = not all(isinstance(operation, LAZY) for operation in operations)
        if eager != self._eager:
            connection.execute(f"pragma synchronous = {'full' if eager else 'normal'}")
            self._eager = eager
        reads = all(isinstance(operation, READING) for operation in operations)
        # Reading holds up no writer, however long it takes.
        connection.execute("begin" if reads else "begin immediate")
        outcomes = [self._do(connection, operation) for operation in operations]
        connection.execute("commit")
        return outcomes

    def _do(self, connection: sqlite3.Connection, operation: Any) -> Any:
        match operation:
            case Begin():
                return self._begin(connection, operation)
            case Finish():
                return self._finish(connection, operation)
            case Release():
                return self._release(connection, operation)
            case Submit():
                return self._submit(connection, operation)
            case Listing():
                return self._list(connection, operation)
            case Show():
                return self._show(connection, operation)
            case Resolve():
                return self._resolve(connection, operation)
            case Purge():
                return self._purge(connection, operation)
            case _:
                return self._verify(connection)

    def _begin(self, connection: sqlite3.Connection, begin: Begin) -> Any:
        assert self._owner is not None
        fields, now = _fields(begin.key), time.time()
        row = connection.execute(
            f"select digest, state, owner, record, attempt from calls where {ONE}",
            fields,
        ).fetchone()
        if row is None:
            connection.execute(
                "insert into calls (session_id, turn_id, call_id, tool, state, fresh, attempt, digest,"
                " idempotency_key, owner, token, started_at, arguments)"
                " values (?, ?, ?, ?, 'started', 1, 1, ?, ?, ?, ?, ?, ?)",
                (
                    *fields,
                    begin.tool,
                    begin.digest,
                    begin.idempotency_key,
                    self._owner.name,
                    begin.token,
                    now,
                    begin.arguments,
                ),
            )
            return Fresh(Claim(begin.key, begin.token))
        digest, state, owner, record, attempt = row
        if digest != begin.digest:
            return Conflict()
        if state in ("succeeded", "failed", "parked"):
            return Redacted() if record is None else record
        cleared = state == "cleared"
        if not cleared and owner is not None and self._owner.is_alive(owner):
            return Running()
        connection.execute(
            "update calls set state = 'started', fresh = ?, attempt = attempt + 1, owner = ?, token = ?,"
            f" started_at = ? where {ONE}",
            (cleared, self._owner.name, begin.token, now, *fields),
        )
        claim = Claim(begin.key, begin.token, attempt + 1)
        return Fresh(claim) if cleared else Interrupted(claim)

    def _finish(self, connection: sqlite3.Connection, finish: Finish) -> bool:
        changed = connection.execute(
            f"update calls set state = ?, record = ?, ended_at = ?, owner = null where {ONE}"
            " and token = ? and state = 'started'",
            (
                finish.how,
                finish.record,
                time.time(),
                *_fields(finish.claim.key),
                finish.claim.token,
            ),
        )
        return changed.rowcount == 1

    def _release(self, connection: sqlite3.Connection, release: Release) -> None:
        held = (*_fields(release.claim.key), release.claim.token)
        if not release.ran:
            connection.execute(
                f"delete from calls where {ONE} and token = ? and state = 'started' and fresh",
                held,
            )
        connection.execute(
            f"update calls set owner = null, token = null where {ONE} and token = ? and state = 'started'",
            held,
        )

    def _submit(self, connection: sqlite3.Connection, submit: Submit) -> None:
        redacted = REDACTED if self._privacy.redact else ""
        connection.execute(
            f"update calls set submitted_at = ?{redacted} where {ONE}"
            " and state in ('succeeded', 'failed', 'parked')",
            (time.time(), *_fields(submit.key)),
        )

    def _list(self, connection: sqlite3.Connection, listing: Listing) -> list[Row]:
        wanted, given = ["1"], list[Any]()
        if listing.after is not None:
            wanted.append("(session_id, turn_id, call_id) > (?, ?, ?)")
            given.extend(_fields(listing.after))
        if listing.state is not None:
            stored = "started" if listing.state == "interrupted" else listing.state
            wanted.append("state = ?")
            given.append(stored)
        rows = connection.execute(
            f"select {COLUMNS}, null, null from calls where {' and '.join(wanted)}"
            " order by session_id, turn_id, call_id",
            given,
        )
        found: list[Row] = []
        for row in rows:
            shown = self._shown(row)
            if listing.state in (None, shown[4]):
                found.append(shown)
                if len(found) == listing.limit:
                    break
        return found

    def _show(self, connection: sqlite3.Connection, show: Show) -> Row | None:
        row = connection.execute(
            f"select {COLUMNS}, arguments, record from calls where {ONE}",
            _fields(show.key),
        ).fetchone()
        return None if row is None else self._shown(row)

    def _shown(self, row: Row) -> Row:
        """A row as people see it: a call that was started and whose owner is gone is an interrupted one."""
        assert self._owner is not None
        *key, tool, state, attempt, idempotency_key, owner = row[:8]
        if state == "started" and (owner is None or not self._owner.is_alive(owner)):
            state = "interrupted"
        return (*key, tool, state, attempt, idempotency_key, owner or "", *row[8:])

    def _resolve(self, connection: sqlite3.Connection, resolve: Resolve) -> bool:
        row = self._show(connection, Show(resolve.key))
        if row is None or row[4] not in ("parked", "interrupted"):
            return False
        ended = None if resolve.record is None else time.time()
        connection.execute(
            "update calls set state = ?, record = ?, ended_at = ?, submitted_at = null, owner = null, token = null"
            f" where {ONE}",
            (
                "cleared" if resolve.record is None else "succeeded",
                resolve.record,
                ended,
                *_fields(resolve.key),
            ),
        )
        return True

    def _purge(self, connection: sqlite3.Connection, purge: Purge) -> int:
        assert self._owner is not None
        self._owner.tidy()
        sent = "" if purge.unsent else " and submitted_at is not null"
        gone = connection.execute(
            f"delete from calls where state in ('succeeded', 'failed') and ended_at < ?{sent}",
            (time.time() - purge.older_than,),
        )
        return gone.rowcount

    def _verify(self, connection: sqlite3.Connection) -> list[str]:
        found = [str(row[0]) for row in connection.execute("pragma integrity_check")]
        problems = [] if found == ["ok"] else found
        for session, turn, call in connection.execute(
            "select session_id, turn_id, call_id from calls where state in ('succeeded', 'failed', 'parked')"
            " and record is null and submitted_at is null"
        ):
            problems.append(f"{Key(session, turn, call)}: ended without a result")
        return problems

    # ---- failures

    def _told(self, error: sqlite3.Error) -> JournalUnavailable:
        if _primary(error) in _DAMAGED:
            self._checked = False
            return JournalDamaged(f"{self.path} is damaged: {error}")
        name = getattr(error, "sqlite_errorname", type(error).__name__)
        return JournalUnavailable(f"{self.path}: {error} ({name})")

    def _cannot(self, error: OSError) -> JournalUnavailable:
        name = errno.errorcode.get(error.errno or 0, type(error).__name__)
        return JournalUnavailable(f"{self.path}: {error.strerror} ({name})")


def _fields(key: Key) -> tuple[str, str, str]:
    return key.session_id, key.turn_id, key.call_id


def _primary(error: sqlite3.Error) -> int:
    """SQLite's error code without what it adds to it."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def _roll_back(connection: sqlite3.Connection) -> None:
    """Leaves a transaction that failed. What fails here as well is left to the closing of the connection."""
    if connection.in_transaction:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("rollback")


def _run_script(connection: sqlite3.Connection, script: str) -> None:
    """Runs a few statements inside the transaction; `executescript` would commit first."""
    for statement in script.split(";\n"):
        if statement.strip():
            connection.execute(statement)
