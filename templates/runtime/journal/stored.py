"""What the stores that outlast a process have in common: privacy, claims and operations."""

from __future__ import annotations

import hmac
import itertools
import secrets
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from . import (
    Begun,
    Claim,
    Conflict,
    Ended,
    Entry,
    Fresh,
    Intent,
    Interrupted,
    JournalError,
    Key,
    Redacted,
    Running,
    State,
    Stored,
)
from .batches import Batches


@dataclass(frozen=True, slots=True)
class Privacy:
    """What a store keeps, and how."""

    digest_key: bytes | None = None
    """Key of the HMAC-SHA256 that stands for a call's tool and arguments.

    Without one, the store makes a key and keeps it beside the calls. That hides arguments from who sees digests alone,
    in a log or an export; from who has the whole store only a key that is kept elsewhere hides them. A journal stays
    with the key it began with.
    """
    seal: Callable[[bytes], bytes] | None = None
    """Encrypts results, and arguments where they are kept, before they are stored."""
    unseal: Callable[[bytes], bytes] | None = None
    """Gives back what `seal` was given."""
    keep_arguments: bool = False
    """Whether arguments are stored, for people who look at calls. Execution never needs them."""
    redact: bool = False
    """Whether a result and its arguments are dropped as soon as the result was sent and accepted.

    A call that comes again after that is answered `result_redacted`.
    """

    def __post_init__(self) -> None:
        if (self.seal is None) != (self.unseal is None):
            raise ValueError("give both of seal and unseal, or neither")
        if self.digest_key is not None and len(self.digest_key) < 16:
            raise ValueError("a digest key has at least 16 bytes")


@dataclass(frozen=True, slots=True)
class Begin:
    """Claim a key under a new token. Texts that need it are sealed, the digest is keyed."""

    key: Key
    tool: str
    digest: bytes
    idempotency_key: str
    arguments: bytes | None
    token: str


@dataclass(frozen=True, slots=True)
class Finish:
    """Store the result of a claim, if it still holds."""

    claim: Claim
    record: bytes
    how: Ended


@dataclass(frozen=True, slots=True)
class Release:
    """Give a claim up; `ran` says whether the handler may have begun."""

    claim: Claim
    ran: bool


@dataclass(frozen=True, slots=True)
class Submit:
    """Note that a result was sent and accepted."""

    key: Key


@dataclass(frozen=True, slots=True)
class Listing:
    """The calls in one state, or all, by key, at most `limit` of those behind `after`."""

    state: State | None
    limit: int
    after: Key | None


@dataclass(frozen=True, slots=True)
class Show:
    """One call."""

    key: Key


@dataclass(frozen=True, slots=True)
class Resolve:
    """End a parked or interrupted call with a record; None clears it, so that it may run again."""

    key: Key
    record: bytes | None


@dataclass(frozen=True, slots=True)
class Purge:
    """Forget results older than some seconds; `unsent` says whether also those not noted as sent."""

    older_than: float
    unsent: bool


@dataclass(frozen=True, slots=True)
class Verify:
    """Look for what is wrong with the store."""


Operation = (
    Begin | Finish | Release | Submit | Listing | Show | Resolve | Purge | Verify
)

READING = (Listing, Show, Verify)
"""Operations that change nothing."""

LAZY = (Release, Submit)
"""Operations that need not be safe from a power cut at once: losing them leaves a call as one that was interrupted, or
a result as one that was not sent."""

REDACTED = """, arguments = null,
    record = case when state = 'parked' then record else null end"""
"""What `Privacy.redact` adds to the update of a call whose result was sent. That an outcome is unknown is no secret,
and has to be the answer for ever."""

Row = tuple[Any, ...]
"""The columns of an `Entry`, the key's three first; arguments and record as stored."""


class StoredJournal(ABC):
    """A journal whose operations are carried out in batches by a thread of its own."""

    def __init__(self, privacy: Privacy) -> None:
        self._privacy = privacy
        self._keyed = hmac.new(privacy.digest_key or b"", digestmod="sha256")
        self._batches = Batches(
            self._batch, self._give_up, self._disconnect, self._beat
        )
        self._renew()

    def _renew(self) -> None:
        self._prefix = secrets.token_hex(8)
        self._numbers = itertools.count(1)
        self._owing = threading.Lock()
        self._owed: list[Release] = []

    # ---- what a store does, in the thread of the batches

    @abstractmethod
    def _carry_out(self, operations: list[Any]) -> list[Any]:
        """Carries out all in one transaction; gives an outcome for each, or the exception that kept it from it.

        `Begin` gives `Fresh`, `Interrupted`, `Running`, `Conflict`, `Redacted`, or the bytes of the record; `Finish`
        and `Resolve` a bool; `Listing` rows; `Show` a row or None; `Purge` a number; `Verify` lines.
        """

    @abstractmethod
    def _disconnect(self) -> None:
        """Lets go of connections. The next operation connects again."""

    def _beat(self) -> float | None:
        """Seconds until an empty batch is to be carried out, if any."""
        return None

    # ---- the journal

    async def begin(self, intent: Intent) -> Begun:
        _refuse_unfit(intent.key)
        kept = intent.arguments if self._privacy.keep_arguments else None
        begun = await self._batches.do(
            Begin(
                intent.key,
                intent.tool,
                self._digest(intent.fingerprint),
                intent.idempotency_key,
                None if kept is None else self._sealed(kept),
                f"{self._prefix}/{next(self._numbers)}",
            )
        )
        if isinstance(begun, bytes):
            return Stored(self._unsealed(begun))
        assert isinstance(begun, (Fresh, Interrupted, Running, Conflict, Redacted))
        return begun

    async def finish(self, claim: Claim, record: str, how: Ended) -> bool:
        return bool(await self._batches.do(Finish(claim, self._sealed(record), how)))

    async def release(self, claim: Claim, *, ran: bool) -> None:
        await self._batches.do(Release(claim, ran))

    async def submitted(self, key: Key) -> None:
        await self._batches.do(Submit(key))

    async def entries(
        self,
        state: State | None = None,
        *,
        limit: int = 100,
        after: Key | None = None,
    ) -> list[Entry]:
        rows = await self._batches.do(Listing(state, limit, after))
        return [self._entry(row) for row in rows]

    async def show(self, key: Key) -> Entry | None:
        row = await self._batches.do(Show(key))
        return None if row is None else self._entry(row)

    async def resolve(self, key: Key, record: str | None) -> bool:
        sealed = None if record is None else self._sealed(record)
        return bool(await self._batches.do(Resolve(key, sealed)))

    async def purge(self, older_than: float, *, unsent: bool = True) -> int:
        return int(await self._batches.do(Purge(older_than, unsent)))

    async def verify(self) -> list[str]:
        """What is wrong with the store, a line each: broken content, and results that cannot be read.

        Results are read one page after the other, so that calls can go on meanwhile.
        """
        problems = list(await self._batches.do(Verify()))
        if problems:
            return problems
        after: Key | None = None
        while page := await self.entries(limit=200, after=after):
            for entry in page:
                try:
                    await self.show(entry.key)
                except JournalError as error:
                    problems.append(f"{entry.key}: {error}")
            after = page[-1].key
        return problems

    def close(self) -> None:
        """Ends the work that was begun and lets go of the store. Calls that still run become interrupted ones."""
        self._batches.close()

    # ---- claims that nobody holds any more

    def _batch(self, operations: list[Any]) -> list[Any]:
        with self._owing:
            owed, self._owed = self._owed, []
        operations = [*owed, *operations]
        outcomes = self._carry_out(operations)
        # A claim that could not be given up would count as running for as long as this process lives.
        for operation, outcome in zip(operations, outcomes, strict=True):
            if isinstance(outcome, Exception) and isinstance(operation, Release):
                self._owe(operation)
        return outcomes[len(owed) :]

    def _owe(self, release: Release) -> None:
        with self._owing:
            self._owed.append(release)

    def _give_up(self, outcome: Any) -> None:
        """Takes back a claim whose caller went away before it heard of it."""
        if isinstance(outcome, (Fresh, Interrupted)):
            self._owe(Release(outcome.claim, ran=False))
            self._batches.poke()

    # ---- privacy

    def _use_key(self, made: bytes, check: bytes) -> None:
        """Takes the digest key into use: the service's own, which has to fit `check`, else the one the store made."""
        key = self._privacy.digest_key or made
        self._keyed = hmac.new(key, digestmod="sha256")
        if not hmac.compare_digest(check, check_of(key)):
            raise JournalError(
                "this journal was begun with another digest key; its calls cannot be recognised with this one"
            )

    def _digest(self, fingerprint: str) -> bytes:
        # A copy of what the key was mixed into already: faster than to begin anew.
        digest = self._keyed.copy()
        digest.update(fingerprint.encode())
        return digest.digest()

    def _sealed(self, text: str) -> bytes:
        data = text.encode("utf-8", "surrogatepass")
        if self._privacy.seal is None:
            return data
        try:
            return bytes(memoryview(self._privacy.seal(data)))
        except Exception as error:  # noqa: BLE001 - `seal` is not ours
            # As below. What is no bytes could be stored in some stores, and never be read again.
            kind = type(error).__name__
            raise JournalError(
                f"what is to be stored cannot be sealed: {kind}"
            ) from None

    def _unsealed(self, data: bytes) -> str:
        try:
            if self._privacy.unseal is not None:
                data = self._privacy.unseal(data)
            return data.decode("utf-8", "surrogatepass")
        except Exception as error:  # noqa: BLE001 - `unseal` is not ours
            # Not the error's own text, nor the error itself: it may quote what was sealed.
            kind = type(error).__name__
            raise JournalError(f"what was stored cannot be read: {kind}") from None

    def _entry(self, row: Row) -> Entry:
        facts, (arguments, record) = row[3:-2], row[-2:]
        entry = Entry(Key(*row[:3]), *facts)
        return replace(
            entry,
            arguments=None if arguments is None else self._unsealed(bytes(arguments)),
            record=None if record is None else self._unsealed(bytes(record)),
        )


def _refuse_unfit(key: Key) -> None:
    """Raises `JournalError` for a key with a NUL or half of a surrogate pair, which PostgreSQL or UTF-8 has no room
    for."""
    parts = key.session_id + key.turn_id + key.call_id
    try:
        unfit = b"\0" in parts.encode()
    except UnicodeEncodeError:
        unfit = True
    if unfit:
        raise JournalError("an id of the call has characters that no store keeps")


def new_key(privacy: Privacy) -> tuple[bytes, bytes]:
    """What a new store keeps: the digest key, where the service gives none, and what tells a wrong key."""
    made = b"" if privacy.digest_key is not None else secrets.token_bytes(32)
    return made, check_of(privacy.digest_key or made)


def check_of(digest_key: bytes) -> bytes:
    return hmac.digest(digest_key, b"toolgen journal", "sha256")
