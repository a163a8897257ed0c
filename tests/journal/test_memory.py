"""The journal in memory that forgets: what a dispatcher without a journal uses."""

from __future__ import annotations

from typing import Any

from templates.runtime.journal.memory import MemoryJournal
from tests.journal.support import intent, key


async def test_with_a_limit_the_oldest_that_ended_are_forgotten() -> None:
    journal: Any = MemoryJournal(3)
    begun = [await journal.begin(intent(number)) for number in range(6)]
    for one in begun[1:]:
        await journal.finish(one.claim, "record", "succeeded")
    found = [type(await journal.begin(intent(number))).__name__ for number in range(6)]
    assert found == ["Running", "Fresh", "Fresh", "Stored", "Stored", "Stored"]


async def test_it_tells_what_was_sent() -> None:
    journal: Any = MemoryJournal()
    begun = await journal.begin(intent())
    await journal.finish(begun.claim, "record", "succeeded")
    assert not journal.is_submitted(key())
    await journal.submitted(key())
    assert journal.is_submitted(key())
    assert not journal.is_submitted(key(2))
