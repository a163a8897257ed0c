"""Any order of operations by several workers, held against a model of a few lines."""

from __future__ import annotations

import asyncio
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from templates.runtime.journal import Claim, Conflict, Fresh, Intent, Interrupted, Key, Redacted, Running, Stored
from templates.runtime.journal.stored import Privacy
from tests.journal.server import Server
from tests.journal.support import POSTGRES, Store

WORKERS = st.integers(0, 2)
KEYS = st.sampled_from([Key("s", "t", "1"), Key("s", "t", "2"), Key("s/t", "", "1")])
RECORDS = st.text(st.characters(codec="utf-8"), max_size=5)


@dataclass
class Call:
    """What the model knows of a call."""

    digest: str
    state: str = "started"
    owner: int | None = None
    token: str = ""
    attempt: int = 1
    record: str = ""
    sent: bool = False


@dataclass
class Model:
    calls: dict[Key, Call] = field(default_factory=dict)
    claims: list[tuple[int, Claim, bool]] = field(default_factory=list)
    """Worker, claim, and whether it was fresh, of every claim ever given."""


def machine(store: Store, redact: bool) -> type[RuleBasedStateMachine]:
    memory = store.kind == "memory"

    class Machine(RuleBasedStateMachine):
        @initialize()
        def open(self) -> None:
            self.model = Model()
            self.runner = asyncio.Runner()
            store.renew()
            self.workers = [self._open() for _ in range(3)]

        def _open(self) -> Any:
            return store.open() if memory else store.open(privacy=Privacy(redact=redact))

        def teardown(self) -> None:
            try:
                self._agree()
            finally:
                self.runner.close()
                store.close()

        def _do(self, work: Any) -> Any:
            return self.runner.run(work)

        @rule(worker=WORKERS, key=KEYS, digest=st.sampled_from(["a", "a", "a", "b"]))
        def begin(self, worker: int, key: Key, digest: str) -> None:
            found = self._do(self.workers[worker].begin(Intent(key, "pay", digest, "i", "{}")))
            call = self.model.calls.get(key)
            if call is None:
                assert isinstance(found, Fresh)
                self.model.calls[key] = call = Call(digest)
            elif call.digest != digest:
                assert found == Conflict()
                return
            elif call.state in ("succeeded", "failed", "parked"):
                gone = call.sent and redact and not memory and call.state != "parked"
                assert found == (Redacted() if gone else Stored(call.record))
                return
            elif call.state == "started" and call.owner is not None:
                assert found == Running()
                return
            else:
                assert isinstance(found, Fresh if call.state == "cleared" else Interrupted)
                call.attempt += 1
            assert found.claim.attempt == call.attempt
            call.state, call.owner, call.token = "started", worker, found.claim.token
            self.model.claims.append((worker, found.claim, isinstance(found, Fresh)))

        def _claimed(self, claim: Claim) -> Call | None:
            call = self.model.calls.get(claim.key)
            held = call is not None and call.state == "started" and call.token == claim.token
            return call if held and call is not None and call.owner is not None else None

        @rule(data=st.data(), record=RECORDS, how=st.sampled_from(["succeeded", "failed", "parked"]))
        def finish(self, data: st.DataObject, record: str, how: str) -> None:
            if not self.model.claims:
                return
            worker, claim, _ = data.draw(st.sampled_from(self.model.claims))
            call = self._claimed(claim)
            accepted = self._do(self.workers[worker].finish(claim, record, how))
            if accepted and call is None:
                # A result that is sent twice, word for word, may be taken for one that was sent again.
                call = self.model.calls[claim.key]
                assert (call.token, call.state, call.record) == (claim.token, how, record)
                return
            assert accepted == (call is not None)
            if call is not None:
                call.state, call.record, call.owner, call.sent = how, record, None, False

        @rule(data=st.data(), ran=st.booleans())
        def release(self, data: st.DataObject, ran: bool) -> None:
            if not self.model.claims:
                return
            worker, claim, fresh = data.draw(st.sampled_from(self.model.claims))
            call = self._claimed(claim)
            # The rule of `journalled.py`: a call that was interrupted stays one.
            self._do(self.workers[worker].release(claim, ran=ran or not fresh))
            if call is not None and (ran or not fresh):
                call.owner, call.token = None, ""
            elif call is not None:
                del self.model.calls[claim.key]

        @rule(worker=WORKERS, key=KEYS)
        def submitted(self, worker: int, key: Key) -> None:
            self._do(self.workers[worker].submitted(key))
            call = self.model.calls.get(key)
            if call is not None and call.state in ("succeeded", "failed", "parked"):
                call.sent = True

        @rule(worker=WORKERS, key=KEYS, record=st.none() | RECORDS)
        def resolve(self, worker: int, key: Key, record: str | None) -> None:
            call = self.model.calls.get(key)
            may = call is not None and (call.state == "parked" or (call.state == "started" and call.owner is None))
            assert self._do(self.workers[worker].resolve(key, record)) == may
            if call is not None and may:
                call.state, call.record = ("cleared", "") if record is None else ("succeeded", record)
                call.owner, call.token, call.sent = None, "", False

        @rule(worker=WORKERS, unsent=st.booleans())
        def purge(self, worker: int, unsent: bool) -> None:
            gone = [
                key
                for key, call in self.model.calls.items()
                if call.state in ("succeeded", "failed") and (unsent or call.sent)
            ]
            assert self._do(self.workers[worker].purge(-1, unsent=unsent)) == len(gone)
            for key in gone:
                del self.model.calls[key]

        @rule(worker=WORKERS)
        def leave_and_come_back(self, worker: int) -> None:
            if memory:
                return
            self.workers[worker].close()
            self.workers[worker] = self._open()
            # Claims belong to the journal that gave them.
            self.model.claims = [claim for claim in self.model.claims if claim[0] != worker]
            for call in self.model.calls.values():
                if call.owner == worker:
                    call.owner = None

        def _agree(self) -> None:
            expected = {}
            for key, call in self.model.calls.items():
                state = "interrupted" if call.state == "started" and call.owner is None else call.state
                expected[key] = (state, call.attempt, call.sent)
            found = self._do(self.workers[0].entries())
            assert {
                entry.key: (entry.state, entry.attempt, entry.submitted_at is not None) for entry in found
            } == expected

    return Machine


@pytest.mark.parametrize("redact", [False, True], ids=["kept", "redacted"])
@pytest.mark.parametrize("kind", ["memory", "sqlite", POSTGRES])
def test_any_order(kind: str, redact: bool, request: pytest.FixtureRequest) -> None:
    server: Server | None = request.getfixturevalue("server") if kind == "postgres" else None
    with tempfile.TemporaryDirectory() as folder:
        store = Store(kind, Path(folder), server)
        run_state_machine_as_test(
            machine(store, redact),
            settings=settings(
                max_examples={"memory": 60, "sqlite": 30, "postgres": 12}[kind],
                stateful_step_count=30,
                deadline=None,
                suppress_health_check=list(HealthCheck),
            ),
        )
