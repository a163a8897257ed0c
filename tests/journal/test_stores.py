"""What every store promises, in one suite over all of them."""

from __future__ import annotations

import asyncio
import random
import threading
import traceback
from typing import Any

import pytest

from templates.runtime.journal import (
    Conflict,
    Fresh,
    Intent,
    Interrupted,
    JournalError,
    JournalUnavailable,
    Key,
    Redacted,
    Running,
    Stored,
)
from templates.runtime.journal.stored import Privacy
from tests.journal.support import DURABLE, POSTGRES, Store, intent, key

every_store = pytest.mark.parametrize("store", ["memory", "sqlite", POSTGRES], indirect=True)
durable_store = pytest.mark.parametrize("store", DURABLE, indirect=True)


async def begun(journal: Any, number: object = 1) -> Any:
    """A claim on a new call."""
    found = await journal.begin(intent(number))
    assert isinstance(found, Fresh)
    return found.claim


@every_store
class TestStates:
    async def test_one_of_many_gets_the_claim(self, store: Store) -> None:
        journal = store.open()
        found = await asyncio.gather(*(journal.begin(intent()) for _ in range(20)))
        assert sorted(type(one).__name__ for one in found) == ["Fresh"] + ["Running"] * 19

    async def test_a_result_is_given_again_as_it_was(self, store: Store) -> None:
        journal = store.open()
        record = '{"output":"Málaga \\u0000 \u2028 9007199254740993"}'
        assert await journal.finish(await begun(journal), record, "succeeded")
        for _ in range(3):
            assert await journal.begin(intent()) == Stored(record)
        entry = await journal.show(key())
        assert (entry.state, entry.record, entry.attempt) == ("succeeded", record, 1)

    @pytest.mark.parametrize("how", ["succeeded", "failed", "parked"])
    async def test_how_it_ended_is_kept(self, store: Store, how: str) -> None:
        journal = store.open()
        await journal.finish(await begun(journal), "{}", how)
        (entry,) = await journal.entries()
        assert (entry.key, entry.tool, entry.state, entry.idempotency_key) == (key(), "pay", how, "idempotent-1")
        assert entry.started_at <= entry.ended_at

    async def test_another_call_under_the_same_key_is_a_conflict_in_every_state(self, store: Store) -> None:
        journal = store.open()
        claim = await begun(journal)
        other = intent(fingerprint="cd" * 32)
        assert await journal.begin(other) == Conflict()
        await journal.release(claim, ran=True)
        assert await journal.begin(other) == Conflict()
        await journal.finish((await journal.begin(intent())).claim, "{}", "parked")
        assert await journal.begin(other) == Conflict()
        await journal.resolve(key(), None)
        assert await journal.begin(other) == Conflict()

    async def test_given_up_after_it_ran(self, store: Store) -> None:
        journal = store.open()
        await journal.release(await begun(journal), ran=True)
        assert (await journal.show(key())).state == "interrupted"
        for attempt in (2, 3):
            again = await journal.begin(intent())
            assert isinstance(again, Interrupted)
            assert again.claim.attempt == attempt
            assert await journal.begin(intent()) == Running()
            await journal.release(again.claim, ran=True)

    async def test_given_up_before_it_ran(self, store: Store) -> None:
        journal = store.open()
        await journal.release(await begun(journal), ran=False)
        assert await journal.show(key()) is None
        assert isinstance(await journal.begin(intent(fingerprint="cd" * 32)), Fresh)

    async def test_a_claim_ends_with_its_result(self, store: Store) -> None:
        journal = store.open()
        claim = await begun(journal)
        assert await journal.finish(claim, '{"a":1}', "succeeded")
        await journal.release(claim, ran=True)
        await journal.release(claim, ran=False)
        assert await journal.begin(intent()) == Stored('{"a":1}')

    async def test_a_claim_that_was_given_up_is_worth_nothing(self, store: Store) -> None:
        journal = store.open()
        old = await begun(journal)
        await journal.release(old, ran=True)
        assert not await journal.finish(old, '"old"', "succeeded")
        new = (await journal.begin(intent())).claim
        assert not await journal.finish(old, '"old"', "succeeded")
        await journal.release(old, ran=False)
        assert await journal.finish(new, '"new"', "succeeded")
        assert not await journal.finish(old, '"old"', "succeeded")
        assert await journal.begin(intent()) == Stored('"new"')

    async def test_the_key_is_three_fields(self, store: Store) -> None:
        journal = store.open()
        keys = [
            ("a/b", "c", "d"),
            ("a", "b/c", "d"),
            ("a", "b", "c/d"),
            ("ab", "c", "d"),
            ("a", "bc", "d"),
            ("A", "bc", "d"),
        ]
        for fields in [*keys, ("a ", "bc", "d"), ("á", "'", '"; drop table calls; --')]:
            assert isinstance(await journal.begin(Intent(Key(*fields), "pay", "f")), Fresh)

    async def test_what_was_sent_is_noted(self, store: Store) -> None:
        journal = store.open()
        await journal.submitted(key())  # of a call that nobody knows
        claim = await begun(journal)
        await journal.submitted(key())  # of a call without a result
        assert (await journal.show(key())).submitted_at is None
        await journal.finish(claim, "{}", "succeeded")
        assert (await journal.show(key())).submitted_at is None
        await journal.submitted(key())
        assert (await journal.show(key())).submitted_at is not None
        assert await journal.begin(intent()) == Stored("{}")

    def test_from_several_loops_and_threads(self, store: Store) -> None:
        journal = store.open()
        found: list[Any] = []
        start = threading.Barrier(8, timeout=20)

        async def many() -> None:
            found.extend(await asyncio.gather(*(journal.begin(intent(number)) for number in range(25))))

        def thread() -> None:
            start.wait()
            asyncio.run(many())

        threads = [threading.Thread(target=thread) for _ in range(8)]
        for one in threads:
            one.start()
        for one in threads:
            one.join(60)
        assert sorted(type(one).__name__ for one in found) == ["Fresh"] * 25 + ["Running"] * 175


@every_store
class TestOperations:
    async def test_a_parked_call_that_had_its_effect(self, store: Store) -> None:
        journal = store.open()
        await journal.finish(await begun(journal), '"unknown"', "parked")
        await journal.submitted(key())
        assert await journal.begin(intent()) == Stored('"unknown"')
        assert await journal.resolve(key(), '"paid"')
        entry = await journal.show(key())
        assert (entry.state, entry.record, entry.submitted_at) == ("succeeded", '"paid"', None)
        assert await journal.begin(intent()) == Stored('"paid"')
        assert not await journal.resolve(key(), '"other"')

    async def test_a_parked_call_that_had_no_effect_runs_when_it_comes_again(self, store: Store) -> None:
        journal = store.open()
        await journal.finish(await begun(journal), '"unknown"', "parked")
        assert await journal.resolve(key(), None)
        assert (await journal.show(key())).state == "cleared"
        assert not await journal.resolve(key(), None)
        again = await journal.begin(intent())
        assert isinstance(again, Fresh)
        assert again.claim.attempt == 2
        await journal.release(again.claim, ran=True)
        assert isinstance(await journal.begin(intent()), Interrupted)

    async def test_an_interrupted_call_can_be_resolved_a_running_one_cannot(self, store: Store) -> None:
        journal = store.open()
        claim = await begun(journal)
        assert not await journal.resolve(key(), "{}")
        await journal.release(claim, ran=True)
        assert await journal.resolve(key(), '"paid"')
        assert await journal.begin(intent()) == Stored('"paid"')
        assert not await journal.resolve(key(2), "{}")

    async def test_calls_are_listed_page_by_page(self, store: Store) -> None:
        journal = store.open()
        for number in range(10):
            claim = await begun(journal, number)
            if number % 3 == 1:
                await journal.finish(claim, "{}", "parked")
            elif number % 3 == 2:
                await journal.release(claim, ran=True)
        seen: list[Key] = []
        after = None
        while page := await journal.entries(limit=4, after=after):
            seen += [entry.key for entry in page]
            after = page[-1].key
        assert seen == [key(number) for number in range(10)]
        found = {
            state: [entry.key.call_id[-1] for entry in await journal.entries(state)]
            for state in ("started", "interrupted", "parked", "failed")
        }
        assert found == {
            "started": ["0", "3", "6", "9"],
            "interrupted": ["2", "5", "8"],
            "parked": ["1", "4", "7"],
            "failed": [],
        }
        assert len(await journal.entries("interrupted", limit=2)) == 2

    async def test_what_ended_long_ago_is_forgotten(self, store: Store) -> None:
        journal = store.open()
        for number, how in enumerate(["succeeded", "failed", "parked"]):
            await journal.finish(await begun(journal, number), "{}", how)
        await journal.submitted(key(0))
        await begun(journal, 3)
        await journal.release(await begun(journal, 4), ran=True)
        assert await journal.purge(3600) == 0
        assert await journal.purge(-1, unsent=False) == 1
        assert await journal.purge(-1) == 1
        assert [entry.state for entry in await journal.entries()] == ["parked", "started", "interrupted"]
        assert isinstance(await journal.begin(intent(0)), Fresh)

    async def test_nothing_is_wrong(self, store: Store) -> None:
        journal = store.open()
        await journal.finish(await begun(journal), "{}", "succeeded")
        assert await journal.verify() == []


@durable_store
class TestOwners:
    async def test_who_lives_is_not_disturbed(self, store: Store) -> None:
        first, second = store.open(), store.open()
        claim = await begun(first)
        assert await second.begin(intent()) == Running()
        assert (await second.show(key())).state == "started"
        assert await first.finish(claim, '"done"', "succeeded")
        assert await second.begin(intent()) == Stored('"done"')

    async def test_who_left_has_left_its_calls(self, store: Store) -> None:
        first, second = store.open(), store.open()
        await begun(first)
        first.close()
        assert (await second.show(key())).state == "interrupted"
        again = await second.begin(intent())
        assert isinstance(again, Interrupted)
        assert await second.finish(again.claim, '"done"', "succeeded")

    async def test_it_is_all_there_when_it_is_opened_again(self, store: Store) -> None:
        first = store.open()
        await first.finish(await begun(first), '"done"', "succeeded")
        await first.submitted(key())
        await begun(first, 2)
        first.close()
        again = store.open()
        assert await again.begin(intent()) == Stored('"done"')
        assert (await again.show(key())).submitted_at is not None
        assert isinstance(await again.begin(intent(2)), Interrupted)

    async def test_a_closed_journal_says_so(self, store: Store) -> None:
        journal = store.open()
        journal.close()
        journal.close()
        with pytest.raises(JournalUnavailable, match="closed"):
            await journal.begin(intent())

    async def test_a_claim_whose_caller_went_away_is_taken_back(self, store: Store) -> None:
        journal = store.open()
        for number in range(20):
            task = asyncio.create_task(journal.begin(intent(number)))
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait({task})
        for number in range(20):
            while isinstance(found := await journal.begin(intent(number)), Running):
                await asyncio.sleep(0.001)
            assert isinstance(found, (Fresh, Interrupted))

    def test_also_when_its_loop_is_gone(self, store: Store) -> None:
        journal = store.open()
        loop = asyncio.new_event_loop()
        task = loop.create_task(journal.begin(intent()))
        loop.run_until_complete(asyncio.sleep(0))
        task.cancel()
        loop.run_until_complete(asyncio.wait({task}))
        loop.close()

        async def again() -> Any:
            while isinstance(found := await journal.begin(intent()), Running):
                await asyncio.sleep(0.001)
            return found

        assert isinstance(asyncio.run(again()), Fresh)

    async def test_an_id_that_no_store_keeps(self, store: Store) -> None:
        journal = store.open()
        for strange in ("nul \0", "half \ud800"):
            with pytest.raises(JournalError, match="characters"):
                await journal.begin(Intent(Key(strange, "t", "c"), "pay", "f"))
        assert isinstance(await journal.begin(intent()), Fresh)

    async def test_what_a_store_cannot_take_touches_no_other_call(self, store: Store) -> None:
        """PostgreSQL has no room for such a key in its index. It comes in one batch with other calls."""
        journal = store.open()
        claims = [await begun(journal, number) for number in range(10)]
        noise = "".join(random.Random(7).choices("abcdefghijklmnopqrstuvwxyz0123456789", k=20_000))
        asked = [journal.finish(claim, "{}", "succeeded") for claim in claims]
        asked.insert(5, journal.begin(Intent(Key(noise, "t", "c"), "pay", "f")))
        outcomes = await asyncio.gather(*asked, journal.begin(intent("next")), return_exceptions=True)
        strange = outcomes.pop(5)
        assert isinstance(strange, (Fresh, JournalUnavailable))
        assert outcomes[:-1] == [True] * 10 and isinstance(outcomes[-1], Fresh)
        assert [await journal.begin(intent(number)) for number in range(10)] == [Stored("{}")] * 10


def swap(data: bytes) -> bytes:
    """As good as encrypted, for what is asked here."""
    return bytes(byte ^ 0x5A for byte in data)


@durable_store
class TestPrivacy:
    async def test_arguments_are_not_kept_and_digests_are_keyed(self, store: Store) -> None:
        journal = store.open()
        await journal.finish(await begun(journal), "{}", "succeeded")
        held = store.bytes()
        assert b"4929" not in held
        assert (b"ab" * 32) not in held and (bytes.fromhex("ab" * 32)) not in held
        assert (await journal.show(key())).arguments is None

    async def test_arguments_are_kept_when_asked(self, store: Store) -> None:
        journal = store.open(privacy=Privacy(keep_arguments=True))
        await begun(journal)
        assert (await journal.show(key())).arguments == '{"card":"4929"}'
        assert (await journal.entries())[0].arguments is None

    async def test_what_is_sealed_is_not_there_in_clear(self, store: Store) -> None:
        journal = store.open(privacy=Privacy(seal=swap, unseal=swap, keep_arguments=True))
        await journal.finish(await begun(journal), '{"output":"secret"}', "succeeded")
        assert b"secret" not in store.bytes() and b"4929" not in store.bytes()
        assert await journal.begin(intent()) == Stored('{"output":"secret"}')
        assert (await journal.show(key())).arguments == '{"card":"4929"}'
        assert await journal.verify() == []

    async def test_what_cannot_be_unsealed_is_told_and_not_quoted(self, store: Store) -> None:
        def refuse(data: bytes) -> bytes:
            raise ValueError(f"bad key for {data!r}")

        first = store.open(privacy=Privacy(seal=swap, unseal=swap))
        await first.finish(await begun(first), "secret", "succeeded")
        other = store.open(privacy=Privacy(seal=swap, unseal=refuse))
        with pytest.raises(JournalError) as caught:
            await other.begin(intent())
        assert "ValueError" in str(caught.value) and "bad key" not in str(caught.value)
        (problem,) = await other.verify()
        assert "call_1" in problem

    @pytest.mark.parametrize("kind", ["raises", "text", "nothing"])
    async def test_what_cannot_be_sealed_is_neither_kept_nor_quoted(self, store: Store, kind: str) -> None:
        def seal(data: bytes) -> Any:
            if kind == "raises":
                raise ValueError(f"cannot encrypt {data!r}")
            return data.decode() if kind == "text" else None

        secret = str(2**61)  # not a word of these lines, which a traceback quotes
        journal = store.open(privacy=Privacy(seal=seal, unseal=swap))
        held = await begun(journal)
        with pytest.raises(JournalError) as caught:
            await journal.finish(held, secret, "succeeded")
        assert secret not in "".join(traceback.format_exception(caught.value))
        assert secret.encode() not in store.bytes()
        await journal.release(held, ran=True)
        assert isinstance(await journal.begin(intent()), Interrupted)
        asking = store.open(privacy=Privacy(seal=seal, unseal=swap, keep_arguments=True))
        with pytest.raises(JournalError):
            await asking.begin(intent(2))
        assert await journal.show(key(2)) is None

    async def test_a_result_that_was_sent_is_dropped(self, store: Store) -> None:
        journal = store.open(privacy=Privacy(redact=True, keep_arguments=True))
        await journal.finish(await begun(journal), '{"output":"secret"}', "succeeded")
        assert await journal.begin(intent()) == Stored('{"output":"secret"}')
        await journal.submitted(key())
        assert await journal.begin(intent()) == Redacted()
        assert await journal.begin(intent(fingerprint="cd" * 32)) == Conflict()
        entry = await journal.show(key())
        assert (entry.record, entry.arguments, entry.state) == (None, None, "succeeded")
        assert await journal.verify() == []

    async def test_that_an_outcome_is_unknown_is_never_dropped(self, store: Store) -> None:
        journal = store.open(privacy=Privacy(redact=True, keep_arguments=True))
        await journal.finish(await begun(journal), '"unknown"', "parked")
        await journal.submitted(key())
        assert await journal.begin(intent()) == Stored('"unknown"')
        assert (await journal.show(key())).arguments is None

    async def test_the_service_may_give_the_key(self, store: Store) -> None:
        own = Privacy(digest_key=b"a key of the service")
        first = store.open(privacy=own)
        await first.finish(await begun(first), "{}", "succeeded")
        assert b"a key of the service" not in store.bytes()
        assert await store.open(privacy=own).begin(intent()) == Stored("{}")
        for other in (Privacy(), Privacy(digest_key=b"another key altogether")):
            with pytest.raises(JournalError, match="digest key"):
                store.open(privacy=other)

    def test_settings_that_make_no_sense(self, store: Store) -> None:
        with pytest.raises(ValueError, match="both"):
            Privacy(seal=swap)
        with pytest.raises(ValueError, match="16 bytes"):
            Privacy(digest_key=b"short")
