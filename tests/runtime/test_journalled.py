"""Execution through a journal: no side effect twice, and the same answer every time."""

from __future__ import annotations

import asyncio
import gc
import json
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

Make = Callable[..., Any]


@pytest.fixture
def memory(runtime: Callable[[str], ModuleType]) -> Callable[[], Any]:
    """Makes journals in memory."""
    return lambda: runtime("journal.memory").MemoryJournal()


class Recording:
    """A journal that passes everything on to another one, and remembers what it was asked for."""

    def __init__(self, inner: Any, pause: int = 0) -> None:
        self.inner = inner
        self.pause = pause
        self.seen: list[str] = []
        self.failing: set[str] = set()

    async def begin(self, intent: Any) -> Any:
        return await self._pass("begin", intent)

    async def finish(self, claim: Any, record: str, how: str) -> Any:
        return await self._pass("finish", claim, record, how)

    async def release(self, claim: Any, *, ran: bool) -> None:
        await self._pass("release", claim, ran=ran)

    async def submitted(self, key: Any) -> None:
        await self._pass("submitted", key)

    async def _pass(self, name: str, *given: Any, **options: Any) -> Any:
        for _ in range(self.pause):
            await asyncio.sleep(0)
        self.seen.append(name)
        if name in self.failing:
            raise OSError("the disk is full")
        outcome = await getattr(self.inner, name)(*given, **options)
        for _ in range(self.pause):
            await asyncio.sleep(0)
        return outcome


class Counting:
    """A handler that counts its runs."""

    def __init__(self, output: Any = "done", error: BaseException | None = None) -> None:
        self.runs = 0
        self.output = output
        self.error = error

    async def __call__(self, args: Any, call: Any) -> Any:
        self.runs += 1
        await asyncio.sleep(0)
        if self.error is not None:
            raise self.error
        return self.output


class Plain(Counting):
    def __call__(self, args: Any, call: Any) -> Any:
        self.runs += 1
        if self.error is not None:
            raise self.error
        return self.output


async def interrupted(journal: Any, api: Any, runtime: Callable[[str], ModuleType], call: Any, args: Any) -> None:
    """Leaves what a process leaves that dies between the intent and the result."""
    journalled = runtime("journalled")
    begun = await journal.begin(journalled.intent_of(call, call.name, args))
    await journal.release(begun.claim, ran=True)


class TestOnce:
    @pytest.mark.parametrize("kind", [Counting, Plain])
    async def test_a_call_that_comes_again_has_the_same_answer(
        self, dispatcher: Make, call: Make, memory: Make, kind: type[Counting]
    ) -> None:
        pay = kind({"paid": "Málaga"})
        d = dispatcher(pay=pay, journal=memory())
        first = await d.execute(call("pay", key="a"))
        again = [await d.execute(call("pay", key="a")) for _ in range(3)]
        assert pay.runs == 1
        assert (first.output, first.replayed, first.ran) == ('{"paid":"Málaga"}', False, True)
        assert {(result.output, result.replayed) for result in again} == {(first.output, True)}

    def test_without_an_event_loop(self, dispatcher: Make, call: Make, memory: Make) -> None:
        pay = Plain()
        d = dispatcher(pay=pay, journal=memory())
        assert [d.execute_sync(call("pay", key="a")).output for _ in range(3)] == ["done"] * 3
        assert pay.runs == 1

    async def test_the_intent_stands_before_the_handler_runs_and_the_result_after(
        self, dispatcher: Make, call: Make, memory: Make
    ) -> None:
        journal = Recording(memory())

        async def pay(args: Any, call: Any) -> str:
            journal.seen.append("handler")
            return "done"

        await dispatcher(pay=pay, journal=journal).execute(call("pay", key="a"))
        assert journal.seen == ["begin", "handler", "finish"]

    async def test_failures_are_answers_too(self, dispatcher: Make, call: Make, memory: Make, api: Any) -> None:
        for error in (api.ToolError("No such account."), OSError("secret")):
            pay = Counting(error=error)
            d = dispatcher(pay=pay, journal=memory())
            first, again = [await d.execute(call("pay", key="a")) for _ in range(2)]
            assert pay.runs == 1
            assert again.error == first.error
            assert again.replayed

    async def test_content_is_kept_with_its_parts(self, dispatcher: Make, call: Make, memory: Make, api: Any) -> None:
        content = api.Content(["The map:", api.Image("https://example.com/map.png")])
        d = dispatcher(pay=Counting(content), journal=memory())
        results = [await d.execute(call("pay", key="a")) for _ in range(2)]
        assert [(result.output, result.content) for result in results] == [("The map:", content)] * 2

    async def test_refused_calls_leave_no_trace(self, dispatcher: Make, call: Make, memory: Make) -> None:
        journal = Recording(memory())
        d = dispatcher(pay=Counting(), journal=journal)
        for refused in (call("pay", key=1), call("pay", arguments="{"), call("unheard_of"), call("look_up", key="a")):
            assert not (await d.execute(refused)).success
        assert journal.seen == []
        assert (await d.execute(call("pay", key="a"))).output == "done"

    async def test_the_handler_reads_a_key_that_stays(self, dispatcher: Make, call: Make, memory: Make) -> None:
        keys: list[str] = []

        async def look_up(args: Any, call: Any) -> None:
            keys.append(call.idempotency_key)

        for _ in range(2):  # two processes
            await dispatcher(look_up=look_up, journal=memory()).execute(call("look_up", key="a"))
        await dispatcher(look_up=look_up, journal=memory()).execute(call("look_up", key="a", call_id="other"))
        assert keys[0] == keys[1] != keys[2]
        assert len(keys[0]) == 32


class TestKeys:
    async def test_session_turn_and_call_are_three_fields(self, dispatcher: Make, call: Make, memory: Make) -> None:
        deliveries = [
            ("s1", "t1", "c1", "A"),
            ("s2", "t1", "c1", "B"),
            ("s1", "t1", "c1", "A"),
            ("s1", "t2", "c1", "A"),
            ("a/b", "c", "d", "A"),
            ("a", "b/c", "d", "A"),
            ("a", "b", "c/d", "A"),
            ("ab", "c", "d", "A"),
            ("a", "bc", "d", "A"),
        ]
        look_up = Counting()
        d = dispatcher(look_up=look_up, journal=memory())
        results = [
            await d.execute(call("look_up", key=key, session_id=session, turn_id=turn, call_id=call_id))
            for session, turn, call_id, key in deliveries
        ]
        assert [result.replayed for result in results] == [False, False, True] + [False] * 6
        assert look_up.runs == 8

    async def test_the_keys_for_other_systems_are_as_distinct(self, api: Any) -> None:
        calls = [
            api.Call("x", session_id=s, turn_id=t, call_id=c)
            for s, t, c in (("a", "b", "c"), ("ab", "", "c"), ("", "ab", "c"), ("a", "bc", ""))
        ]
        assert len({call.idempotency_key for call in calls}) == 4

    @pytest.mark.parametrize("missing", ["session_id", "turn_id", "call_id"])
    async def test_each_is_needed(self, dispatcher: Make, call: Make, memory: Make, missing: str) -> None:
        look_up = Counting()
        d = dispatcher(look_up=look_up, journal=memory())
        with pytest.raises(ValueError, match="needs session_id, turn_id and call_id"):
            await d.execute(call("look_up", key="a", **{missing: ""}))
        with pytest.raises(ValueError, match="needs session_id"):
            await d.execute_all([call("look_up", key="a"), call("look_up", key="b", **{missing: ""})])
        assert look_up.runs == 0

    async def test_the_same_key_for_another_call_is_a_conflict(
        self, dispatcher: Make, call: Make, memory: Make
    ) -> None:
        pay, look_up = Counting(), Counting()
        d = dispatcher(pay=pay, look_up=look_up, journal=memory())
        await d.execute(call("pay", key="a"))
        for other in (call("pay", key="b"), call("look_up", key="a")):
            result = await d.execute(other)
            assert (result.error.code, result.ran) == ("call_conflict", False)
        assert (await d.execute(call("pay", key="a"))).output == "done"
        assert (pay.runs, look_up.runs) == (1, 0)

    async def test_another_spelling_of_the_same_arguments_is_the_same_call(
        self, dispatcher: Make, call: Make, memory: Make
    ) -> None:
        anything = Counting()
        d = dispatcher(anything=anything, journal=memory())
        spellings: list[Any] = [
            '{"a": "é", "b": 5, "c": [1.5, null]}',
            b' {"c":[1.50,null],"b":5.0,"a":"\\u00e9"}',
            {"b": 5, "a": "é", "c": (1.5, None)},
        ]
        results = [await d.execute(call("anything", arguments=arguments)) for arguments in spellings]
        assert [result.replayed for result in results] == [False, True, True]
        assert (await d.execute(call("anything", arguments='{"a": "é", "b": true, "c": [1.5, null]}'))).error


class TestTwoAtOnce:
    async def test_in_one_loop(self, dispatcher: Make, call: Make, memory: Make) -> None:
        pay = Counting()
        d = dispatcher(pay=pay, journal=memory())
        results = await d.execute_all([call("pay", key="a") for _ in range(10)])
        assert [result.output for result in results] == ["done"] * 10
        assert [result.replayed for result in results].count(False) == 1
        assert pay.runs == 1

    async def test_with_no_room_for_two(self, dispatcher: Make, call: Make, memory: Make) -> None:
        pay = Counting()
        d = dispatcher(pay=pay, journal=memory(), concurrency=1)
        assert [r.output for r in await d.execute_all([call("pay", key="a") for _ in range(3)])] == ["done"] * 3
        assert pay.runs == 1

    def test_in_several_loops_and_threads(self, dispatcher: Make, call: Make, memory: Make) -> None:
        pay = Plain()
        journal = memory()
        dispatchers = [dispatcher(pay=pay, journal=journal) for _ in range(3)]
        start = threading.Barrier(12, timeout=10)
        outputs: list[str] = []

        def deliver(number: int) -> None:
            d = dispatchers[number % 3]
            start.wait()
            if number % 2:
                outputs.append(d.execute_sync(call("pay", key="a")).output)
            else:
                outputs.append(asyncio.run(d.execute(call("pay", key="a"))).output)

        threads = [threading.Thread(target=deliver, args=(number,)) for number in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
        assert outputs == ["done"] * 12
        assert pay.runs == 1

    async def test_a_call_that_takes_long_is_in_progress(
        self, dispatcher: Make, call: Make, memory: Make, runtime: Any, monkeypatch: Any
    ) -> None:
        monkeypatch.setattr(runtime("journalled"), "WAIT", 0.01)
        go = asyncio.Event()

        async def pay(args: Any, call: Any) -> str:
            await go.wait()
            return "done"

        d = dispatcher(pay=pay, journal=memory())
        first = asyncio.create_task(d.execute(call("pay", key="a")))
        await asyncio.sleep(0)
        second = await d.execute(call("pay", key="a"))
        assert (second.error.code, second.ran) == ("in_progress", False)
        go.set()
        assert (await first).output == "done"
        assert (await d.execute(call("pay", key="a"))).output == "done"

    async def test_the_second_takes_over_when_the_first_is_cancelled(
        self, dispatcher: Make, call: Make, memory: Make
    ) -> None:
        begun = asyncio.Event()

        async def look_up(args: Any, call: Any) -> str:
            if not begun.is_set():
                begun.set()
                await asyncio.sleep(10)
            return "done"

        d = dispatcher(look_up=look_up, journal=memory())
        first = asyncio.create_task(d.execute(call("look_up", key="a")))
        await begun.wait()
        second = asyncio.create_task(d.execute(call("look_up", key="a")))
        await asyncio.sleep(0.01)
        first.cancel()
        assert (await second).output == "done"


class TestInterrupted:
    """An intent without a result, of an owner that is gone."""

    @pytest.mark.parametrize("name", ["look_up", "set_flag"])
    async def test_read_and_idempotent_tools_run_again(
        self, dispatcher: Make, call: Make, memory: Make, api: Any, runtime: Any, name: str
    ) -> None:
        handler, journal = Counting(), memory()
        d = dispatcher(**{name: handler}, journal=journal, hooks=api.Hooks(reconcile=lambda call: 1 / 0))
        await interrupted(journal, api, runtime, call(name, key="a"), d.tool(name).parse({"key": "a"}))
        assert (await d.execute(call(name, key="a"))).output == "done"
        assert handler.runs == 1

    async def test_a_write_without_a_hook_is_unknown_now_and_whenever_it_comes_again(
        self, dispatcher: Make, call: Make, memory: Make, api: Any, runtime: Any
    ) -> None:
        pay, journal = Counting(), memory()
        d = dispatcher(pay=pay, journal=journal)
        await interrupted(journal, api, runtime, call("pay", key="a"), d.tool("pay").parse({"key": "a"}))
        results = [await d.execute(call("pay", key="a")) for _ in range(3)]
        assert {(result.error.code, result.error.message, result.ran) for result in results} == {
            (
                "outcome_unknown",
                "It is not known whether this call had its effect. Do not repeat it; check first.",
                False,
            )
        }
        assert [result.replayed for result in results] == [False, True, True]
        assert pay.runs == 0

    @pytest.mark.parametrize("kind", ["plain", "async"])
    @pytest.mark.parametrize(
        ("word", "output", "code", "runs"),
        [
            ("Done", '{"receipt":7}', None, 0),
            ("NotDone", "done", None, 1),
            ("Unknown", "", "outcome_unknown", 0),
            ("nonsense", "", "outcome_unknown", 0),
            ("unserializable", "", "unserializable_output", 0),
            ("OSError", "", "outcome_unknown", 0),
            ("SystemExit", "", "outcome_unknown", 0),
            ("CancelledError", "", "outcome_unknown", 0),
        ],
    )
    async def test_the_hook_decides_about_a_write(
        self,
        dispatcher: Make,
        call: Make,
        memory: Make,
        api: Any,
        runtime: Any,
        kind: str,
        word: str,
        output: str,
        code: str | None,
        runs: int,
    ) -> None:
        asked: list[Any] = []

        def decide(call: Any) -> Any:
            asked.append(call)
            match word:
                case "Done":
                    return api.Done({"receipt": 7})
                case "NotDone":
                    return api.NotDone()
                case "Unknown":
                    return api.Unknown()
                case "nonsense":
                    return True
                case "unserializable":
                    return api.Done(object())
                case "OSError":
                    raise OSError("secret")
                case "SystemExit":
                    raise SystemExit(1)
                case _:
                    raise asyncio.CancelledError

        async def decide_later(call: Any) -> Any:
            await asyncio.sleep(0)
            return decide(call)

        pay, journal = Counting(), memory()
        hooks = api.Hooks(reconcile=decide if kind == "plain" else decide_later)
        d = dispatcher(pay=pay, ping=lambda a, c: "pong", journal=journal, hooks=hooks)
        await interrupted(journal, api, runtime, call("pay", key="a"), d.tool("pay").parse({"key": "a"}))
        first, ping = await d.execute_all([call("pay", key="a"), call("ping", call_id="2")])
        again = await d.execute(call("pay", key="a"))
        for result in (first, again):
            assert (result.output, result.error and result.error.code) == (output, code)
            assert "secret" not in str(result.error)
        assert (pay.runs, len(asked), ping.output, again.replayed) == (runs, 1, "pong", True)

    async def test_two_deliveries_ask_once(
        self, dispatcher: Make, call: Make, memory: Make, api: Any, runtime: Any
    ) -> None:
        asked: list[Any] = []

        async def decide(call: Any) -> Any:
            asked.append(call)
            await asyncio.sleep(0.01)
            return api.NotDone()

        pay, journal = Counting(), memory()
        d = dispatcher(pay=pay, journal=journal, hooks=api.Hooks(reconcile=decide))
        await interrupted(journal, api, runtime, call("pay", key="a"), d.tool("pay").parse({"key": "a"}))
        results = await d.execute_all([call("pay", key="a") for _ in range(4)])
        assert [result.output for result in results] == ["done"] * 4
        assert (pay.runs, len(asked)) == (1, 1)

    async def test_a_conflict_goes_before(
        self, dispatcher: Make, call: Make, memory: Make, api: Any, runtime: Any
    ) -> None:
        pay, journal = Counting(), memory()
        d = dispatcher(pay=pay, journal=journal)
        await interrupted(journal, api, runtime, call("pay", key="a"), d.tool("pay").parse({"key": "a"}))
        assert (await d.execute(call("pay", key="b"))).error.code == "call_conflict"


class TestTimeouts:
    @pytest.mark.parametrize("kind", ["async", "plain"])
    async def test_a_write_that_began_is_unknown(self, dispatcher: Make, call: Make, memory: Make, kind: str) -> None:
        go = threading.Event()

        async def waits(args: Any, call: Any) -> None:
            await asyncio.sleep(10)

        pay = waits if kind == "async" else lambda a, c: go.wait(10)
        d = dispatcher(pay=pay, journal=memory(), timeout=0.3)
        results = [await d.execute(call("pay", key="a")) for _ in range(2)]
        go.set()
        assert [result.error.code for result in results] == ["outcome_unknown"] * 2
        assert [result.replayed for result in results] == [False, True]

    async def test_a_read_that_began_timed_out(self, dispatcher: Make, call: Make, memory: Make) -> None:
        async def waits(args: Any, call: Any) -> None:
            await asyncio.sleep(10)

        d = dispatcher(quick_look=waits, journal=memory())
        results = [await d.execute(call("quick_look", key="a")) for _ in range(2)]
        assert [result.error.code for result in results] == ["timeout"] * 2

    async def test_a_write_that_did_not_begin_timed_out(self, dispatcher: Make, call: Make, memory: Make) -> None:
        go = threading.Event()
        d = dispatcher(look_up=lambda a, c: go.wait(10), quick_pay=lambda a, c: "paid", threads=1, journal=memory())
        blocking = asyncio.create_task(d.execute(call("look_up", key="a")))
        await asyncio.sleep(0.01)
        result = await d.execute(call("quick_pay", key="a", call_id="2"))
        assert (result.error.code, result.ran) == ("timeout", False)
        go.set()
        await blocking

    @pytest.mark.parametrize(
        ("word", "kind", "code", "output"),
        [
            ("Done", "async", None, "paid"),
            ("Done", "plain", None, "paid"),
            ("NotDone", "async", "timeout", ""),
            ("NotDone", "plain", "outcome_unknown", ""),  # its thread may still run
            ("Unknown", "async", "outcome_unknown", ""),
        ],
    )
    async def test_the_hook_decides_about_a_write_that_began(
        self, dispatcher: Make, call: Make, memory: Make, api: Any, word: str, kind: str, code: Any, output: str
    ) -> None:
        go = threading.Event()

        async def waits(args: Any, call: Any) -> None:
            await asyncio.sleep(10)

        outcome = api.Done("paid") if word == "Done" else getattr(api, word)()
        d = dispatcher(
            pay=waits if kind == "async" else lambda a, c: go.wait(10),
            journal=memory(),
            timeout=0.3,
            hooks=api.Hooks(reconcile=lambda call: outcome),
        )
        results = [await d.execute(call("pay", key="a")) for _ in range(2)]
        go.set()
        assert {(result.error and result.error.code, result.output) for result in results} == {(code, output)}

    async def test_a_write_that_was_cancelled_from_inside_is_unknown(
        self, dispatcher: Make, call: Make, memory: Make
    ) -> None:
        d = dispatcher(
            pay=Counting(error=asyncio.CancelledError()),
            look_up=Counting(error=asyncio.CancelledError()),
            journal=memory(),
        )
        assert (await d.execute(call("pay", key="a"))).error.code == "outcome_unknown"
        assert (await d.execute(call("look_up", key="a", call_id="2"))).error.code == "cancelled"


class TestFailingJournal:
    async def test_without_an_intent_nothing_runs(
        self, dispatcher: Make, call: Make, memory: Make, caplog: Any
    ) -> None:
        pay, journal = Counting(), Recording(memory())
        journal.failing = {"begin"}
        result = await dispatcher(pay=pay, journal=journal).execute(call("pay", key="a"))
        assert (result.error.code, result.ran, pay.runs) == ("journal_unavailable", False, 0)
        assert "disk is full" in caplog.text
        assert "disk" not in result.error.message

    async def test_a_result_that_cannot_be_kept_is_not_given_out(
        self, dispatcher: Make, call: Make, memory: Make, caplog: Any
    ) -> None:
        pay, journal = Counting("secret"), Recording(memory())
        journal.failing = {"finish"}
        result = await dispatcher(pay=pay, journal=journal).execute(call("pay", key="a"))
        assert (result.error.code, result.ran, result.output, pay.runs) == ("journal_unavailable", True, "", 1)

    async def test_it_touches_no_other_call(self, dispatcher: Make, call: Make, memory: Make) -> None:
        class Picky(Recording):
            async def begin(self, intent: Any) -> Any:
                if intent.key.call_id == "1":
                    raise OSError
                return await super().begin(intent)

        d = dispatcher(pay=Counting(), journal=Picky(memory()))
        results = await d.execute_all([call("pay", key="a", call_id=str(i)) for i in range(3)])
        assert [result.error and result.error.code for result in results] == [None, "journal_unavailable", None]


class TestApproval:
    async def test_no_intent_stands_while_people_decide(
        self, dispatcher: Make, call: Make, memory: Make, api: Any
    ) -> None:
        """A process that dies meanwhile leaves nothing to reconcile: the handler never ran."""
        journal = memory()
        asked = asyncio.Event()

        async def approve(call: Any) -> bool:
            asked.set()
            await asyncio.sleep(10)
            return True

        pay = Counting()
        d = dispatcher(guarded_pay=pay, journal=journal, hooks=api.Hooks(approve=approve))
        waiting = asyncio.create_task(d.execute(call("guarded_pay", key="a")))
        await asked.wait()
        d2 = dispatcher(guarded_pay=pay, journal=journal, hooks=api.Hooks(approve=lambda call: True))
        assert (await d2.execute(call("guarded_pay", key="a"))).output == "done"
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert (await d2.execute(call("guarded_pay", key="a"))).output == "done"
        assert pay.runs == 1

    async def test_a_refusal_is_an_answer(self, dispatcher: Make, call: Make, memory: Make, api: Any) -> None:
        words = [False, True]
        pay = Counting()
        d = dispatcher(guarded_pay=pay, journal=memory(), hooks=api.Hooks(approve=lambda call: words.pop(0)))
        results = [await d.execute(call("guarded_pay", key="a")) for _ in range(2)]
        assert [result.error.code for result in results] == ["not_approved"] * 2
        assert (pay.runs, words) == (0, [True])

    async def test_two_deliveries_that_are_both_approved_run_once(
        self, dispatcher: Make, call: Make, memory: Make, api: Any
    ) -> None:
        async def approve(call: Any) -> bool:
            await asyncio.sleep(0.01)
            return True

        pay = Counting()
        d = dispatcher(guarded_pay=pay, journal=memory(), hooks=api.Hooks(approve=approve))
        results = await d.execute_all([call("guarded_pay", key="a") for _ in range(3)])
        assert [result.output for result in results] == ["done"] * 3
        assert pay.runs == 1

    async def test_a_stored_result_needs_no_approval(
        self, dispatcher: Make, call: Make, memory: Make, api: Any
    ) -> None:
        asked: list[Any] = []

        def approve(call: Any) -> bool:
            asked.append(call)
            return True

        d = dispatcher(guarded_pay=Counting(), journal=memory(), hooks=api.Hooks(approve=approve))
        for _ in range(3):
            assert (await d.execute(call("guarded_pay", key="a"))).output == "done"
        assert len(asked) == 1

    @pytest.mark.parametrize("name", ["guarded_pay", "guarded_look"])
    @pytest.mark.parametrize("answer", [True, False])
    async def test_a_call_that_was_interrupted_before_anybody_was_asked(
        self, dispatcher: Make, call: Make, memory: Make, api: Any, runtime: Any, name: str, answer: bool
    ) -> None:
        """A process may die between the first look into the journal and the question: that approves nothing."""
        journal, handler, asked = memory(), Counting(), list[Any]()

        def approve(call: Any) -> bool:
            asked.append(call)
            return answer

        hooks = api.Hooks(approve=approve, reconcile=lambda call: api.NotDone())
        d = dispatcher(**{name: handler}, journal=journal, hooks=hooks)
        coming = call(name, key="a")
        await interrupted(journal, api, runtime, coming, d.tool(name).parse(coming.arguments, ""))
        result = await d.execute(coming)
        assert (result.error and result.error.code) == (None if answer else "not_approved")
        assert (len(asked), handler.runs) == (1, int(answer))
        assert (await d.execute(coming)).output == result.output
        assert (len(asked), handler.runs) == (1, int(answer))

    @pytest.mark.parametrize(("answer", "code"), [("Done", None), ("Unknown", "outcome_unknown")])
    async def test_what_has_happened_needs_no_approval(
        self, dispatcher: Make, call: Make, memory: Make, api: Any, runtime: Any, answer: str, code: Any
    ) -> None:
        outcome = api.Done("paid") if answer == "Done" else api.Unknown()
        hooks = api.Hooks(approve=lambda call: 1 / 0, reconcile=lambda call: outcome)
        journal = memory()
        d = dispatcher(guarded_pay=Counting(), journal=journal, hooks=hooks)
        coming = call("guarded_pay", key="a")
        await interrupted(journal, api, runtime, coming, d.tool("guarded_pay").parse(coming.arguments, ""))
        result = await d.execute(coming)
        assert (result.error and result.error.code) == code


class TestCancellation:
    @pytest.mark.parametrize("name", ["pay", "look_up", "guarded_pay"])
    @pytest.mark.parametrize("after", range(40))
    async def test_at_every_await(
        self, dispatcher: Make, call: Make, memory: Make, api: Any, name: str, after: int
    ) -> None:
        """Whenever it comes: the next delivery has a clear answer, a write never runs twice, and nothing is stuck."""
        journal = Recording(memory(), pause=2)
        handler = Counting()

        async def approve(call: Any) -> bool:
            await asyncio.sleep(0)
            return True

        d = dispatcher(**{name: handler}, journal=journal, hooks=api.Hooks(approve=approve))
        task = asyncio.create_task(d.execute(call(name, key="a")))
        for _ in range(after):
            await asyncio.sleep(0)
        task.cancel()
        try:
            first = await task
        except asyncio.CancelledError:
            first = None
        runs = handler.runs
        again = await d.execute(call(name, key="a"))
        if first is not None:
            assert again.output == first.output == "done"
        if name == "look_up":
            assert again.output == "done"
        elif again.error is None:
            assert handler.runs == 1
        else:  # it was cancelled while the handler ran
            assert (again.error.code, runs, handler.runs) == ("outcome_unknown", 1, 1)

    @pytest.mark.parametrize("name", ["pay", "look_up", "guarded_pay"])
    @pytest.mark.parametrize("gap", [1, 2, 3])
    async def test_also_when_it_comes_twice(
        self, dispatcher: Make, call: Make, memory: Make, api: Any, name: str, gap: int
    ) -> None:
        """The second one waits for nothing; what the journal has done by then is taken back all the same."""

        async def approve(call: Any) -> bool:
            await asyncio.sleep(0)
            return True

        for after in range(30):
            handler = Counting()
            d = dispatcher(
                **{name: handler}, journal=Recording(memory(), pause=4), hooks=api.Hooks(approve=approve), threads=1
            )
            task = asyncio.create_task(d.execute(call(name, key="a")))
            for turns in (after, gap):
                for _ in range(turns):
                    await asyncio.sleep(0)
                task.cancel()
            await asyncio.wait({task})
            again = await d.execute(call(name, key="a"))
            if again.error is None:
                assert again.output == "done" and handler.runs <= (2 if name == "look_up" else 1)
            else:
                assert (again.error.code, handler.runs, name == "look_up") == ("outcome_unknown", 1, False)

    @pytest.mark.parametrize("inner", ["waits", "runs"])
    async def test_a_handler_that_waits_for_another_call_has_begun(
        self, dispatcher: Make, call: Make, memory: Make, inner: str
    ) -> None:
        """Whether the inner handler began, and what it comes to, says nothing about the outer one."""
        go, begun, runs = threading.Event(), threading.Event(), list[str]()

        def look_up(args: Any, call: Any) -> str:
            begun.set()
            assert go.wait(10)
            return f"looked up {args.key}"

        async def pay(args: Any, outer: Any) -> str:
            runs.append(args.key)
            await d.execute(call("look_up", key="inner", call_id="inner"))
            return "paid"

        d = dispatcher(look_up=look_up, pay=pay, threads=1, journal=memory())
        if inner == "waits":
            blocking = asyncio.create_task(d.execute(call("look_up", key="first", call_id="first")))
            assert await asyncio.to_thread(begun.wait, 10)
        task = asyncio.create_task(d.execute(call("pay", key="a")))
        if inner == "runs":
            assert await asyncio.to_thread(begun.wait, 10)
        else:
            while d.busy_threads < 2:
                await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        go.set()
        if inner == "waits":
            await blocking
        assert (await d.execute(call("pay", key="a"))).error.code == "outcome_unknown"
        assert (await d.execute(call("look_up", key="inner", call_id="inner"))).output == "looked up inner"
        assert runs == ["a"]

    @pytest.mark.parametrize("end", ["cancelled", "not kept"])
    async def test_nobody_runs_a_call_whose_thread_is_still_at_it(
        self, dispatcher: Make, call: Make, memory: Make, api: Any, end: str
    ) -> None:
        """Its time was over, and then the call was given up without a result: the thread still has it."""
        go, asked = threading.Event(), asyncio.Event()
        runs: list[str] = []

        def quick_pay(args: Any, call: Any) -> str:
            runs.append(args.key)
            assert go.wait(10)
            return "paid after all"

        async def reconcile(call: Any) -> Any:
            asked.set()
            if end == "cancelled":
                await asyncio.sleep(10)
            return api.NotDone()

        journal = Recording(memory())
        d = dispatcher(quick_pay=quick_pay, journal=journal, hooks=api.Hooks(reconcile=reconcile))
        journal.failing = {"finish"} if end == "not kept" else set()
        task = asyncio.create_task(d.execute(call("quick_pay", key="a")))
        await asked.wait()
        if end == "cancelled":
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        else:
            assert (await task).error.code == "journal_unavailable"
        journal.failing = set()
        again = asyncio.create_task(d.execute(call("quick_pay", key="a")))
        await asyncio.sleep(0.02)
        assert runs == ["a"]
        go.set()
        result = await again
        assert (result.output, result.replayed, runs) == ("paid after all", True, ["a"])

    def test_a_loop_that_is_closed_in_the_middle(self, dispatcher: Make, call: Make, memory: Make) -> None:
        """Its calls are never gone on with, nor cancelled: they must not count as running for ever."""
        runs: list[str] = []

        async def pay(args: Any, call: Any) -> None:
            runs.append(args.key)
            await asyncio.get_running_loop().create_future()

        d = dispatcher(pay=pay, journal=memory())
        loop = asyncio.new_event_loop()
        task = loop.create_task(d.execute(call("pay", key="a")))
        while not runs:
            loop.run_until_complete(asyncio.sleep(0))
        task._log_destroy_pending = False  # type: ignore[attr-defined]
        loop.close()
        del task
        gc.collect()
        assert d.execute_sync(call("pay", key="a")).error.code == "outcome_unknown"
        assert runs == ["a"]

    def test_a_call_that_is_left_keeps_no_interpreter_from_ending(self, tools: ModuleType) -> None:
        program = f"""
import asyncio, types
import {tools.__name__} as package
from {tools.__name__}.runtime.journal.memory import MemoryJournal

runs = []

async def pay(args, call):
    runs.append(call)
    await asyncio.get_running_loop().create_future()

d = package.dispatcher(types.SimpleNamespace(pay=pay), journal=MemoryJournal())
loop = asyncio.new_event_loop()
call = package.runtime.Call("pay", {{"key": "a"}}, "call", "turn", "session")
task = loop.create_task(d.execute(call))
while not runs:
    loop.run_until_complete(asyncio.sleep(0))
loop.close()
"""
        folder = Path(str(tools.__file__)).parent.parent
        subprocess.run([sys.executable, "-c", program], cwd=folder, check=True, timeout=60, capture_output=True)

    async def test_a_handler_that_outlives_its_call_is_remembered(
        self, dispatcher: Make, call: Make, memory: Make, runtime: Any, monkeypatch: Any
    ) -> None:
        """A plain function that runs cannot be stopped: its result is stored when it comes, and it runs only once."""
        go, begun = threading.Event(), threading.Event()
        runs: list[str] = []

        def pay(args: Any, call: Any) -> str:
            runs.append(args.key)
            begun.set()
            assert go.wait(10)
            return "paid after all"

        d = dispatcher(pay=pay, journal=memory())
        task = asyncio.create_task(d.execute(call("pay", key="a")))
        assert await asyncio.to_thread(begun.wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        again = asyncio.create_task(d.execute(call("pay", key="a")))
        await asyncio.sleep(0.01)
        go.set()
        result = await again
        assert (result.output, result.replayed, runs) == ("paid after all", True, ["a"])

    def test_also_when_its_loop_is_gone(self, dispatcher: Make, call: Make, memory: Make) -> None:
        go, begun = threading.Event(), threading.Event()

        def pay(args: Any, call: Any) -> str:
            begun.set()
            assert go.wait(10)
            return "paid after all"

        d = dispatcher(pay=pay, journal=memory())

        async def give_up() -> None:
            task = asyncio.create_task(d.execute(call("pay", key="a")))
            await asyncio.to_thread(begun.wait, 10)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        asyncio.run(give_up())
        go.set()
        assert d.execute_sync(call("pay", key="a")).output == "paid after all"

    async def test_one_that_did_not_get_a_thread_may_run_later(
        self, dispatcher: Make, call: Make, memory: Make
    ) -> None:
        go = threading.Event()
        d = dispatcher(look_up=lambda a, c: go.wait(10), pay=lambda a, c: "paid", threads=1, journal=memory())
        blocking = asyncio.create_task(d.execute(call("look_up", key="a")))
        await asyncio.sleep(0.01)
        waiting = asyncio.create_task(d.execute(call("pay", key="a", call_id="2")))
        await asyncio.sleep(0.01)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        go.set()
        await blocking
        assert (await d.execute(call("pay", key="a", call_id="2"))).output == "paid"

    async def test_what_a_cancelled_function_gives_to_await_is_never_awaited(
        self, dispatcher: Make, call: Make, memory: Make
    ) -> None:
        go, begun = threading.Event(), threading.Event()

        async def later() -> None:
            raise AssertionError

        def pay(args: Any, call: Any) -> Any:
            begun.set()
            assert go.wait(10)
            return later()

        d = dispatcher(pay=pay, journal=memory())
        task = asyncio.create_task(d.execute(call("pay", key="a")))
        assert await asyncio.to_thread(begun.wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        go.set()
        assert (await d.execute(call("pay", key="a"))).error.code == "outcome_unknown"


class TestJournals:
    async def test_with_journal_is_the_same_tools_through_a_journal(
        self, dispatcher: Make, call: Make, memory: Make
    ) -> None:
        pay, journal = Counting(), memory()
        d = dispatcher(pay=pay)
        other = d.with_journal(journal)
        assert (d.journal, other.journal) == (None, journal)
        assert other.names == d.names
        for _ in range(2):
            await other.only("pay").execute(call("pay", key="a"))
            await d.execute(call("pay", key="a"))
        assert pay.runs == 3

    async def test_journalled_remembers_across_parts(self, dispatcher: Make, call: Make, memory: Make) -> None:
        pay = Counting()
        d = dispatcher(pay=pay)
        for part in (d, d.only("pay"), d.only("p*")):
            assert (await part.journalled().execute(call("pay", key="a"))).output == "done"
        assert pay.runs == 1
        own = d.with_journal(memory())
        assert own.journalled() is own

    async def test_submitted_is_noted(self, dispatcher: Make, call: Make, memory: Make, runtime: Any) -> None:
        journal = memory()
        d = dispatcher(pay=Counting(), journal=journal)
        result = await d.execute(call("pay", key="a"))
        key = runtime("journal").Key("session_1", "turn_1", "call_1")
        assert not journal.is_submitted(key)
        await d.submitted([result])
        assert journal.is_submitted(key)
        await dispatcher(pay=Counting()).submitted([result])  # nothing to note
        await asyncio.to_thread(d.submitted_sync, [result])


_texts = st.text(st.characters(exclude_categories=["Cs"]))


class TestRecords:
    @given(output=_texts, issues=st.lists(st.tuples(_texts, _texts, _texts), max_size=3), code=_texts, message=_texts)
    def test_they_read_back_as_they_were(
        self, runtime: Any, api: Any, output: str, issues: list[tuple[str, str, str]], code: str, message: str
    ) -> None:
        journalled, call = runtime("journalled"), api.Call("x")
        error = api.CallError(code, message, tuple(api.Issue(*issue) for issue in issues))
        for result in (api.Result(call, output), api.Result(call, error=error), api.Result(call, output, error=error)):
            record = journalled.to_record(result)
            back = journalled.from_record(call, record)
            assert (back.output, back.error, back.content, back.replayed) == (result.output, result.error, None, True)
            assert journalled.to_record(back) == record

    @given(parts=st.lists(st.tuples(st.booleans(), _texts), max_size=4))
    def test_content_too(self, runtime: Any, api: Any, parts: list[tuple[bool, str]]) -> None:
        journalled, call = runtime("journalled"), api.Call("x")
        content = api.Content([api.Text(text) if is_text else api.Image(text) for is_text, text in parts])
        result = api.Result(call, content.text, content)
        back = journalled.from_record(call, journalled.to_record(result))
        assert (back.output, back.content) == (content.text, content)

    async def test_every_digit_survives(self, dispatcher: Make, call: Make, memory: Make) -> None:
        value = {"id": 9007199254740993, "total": 0.1, "name": "Málaga \u2028", "big": 10**40}
        d = dispatcher(pay=Counting(value), journal=memory())
        outputs = [(await d.execute(call("pay", key="a"))).output for _ in range(2)]
        assert outputs[0] == outputs[1] == json.dumps(value, ensure_ascii=False, separators=(",", ":"))


class TestParked:
    """An unknown outcome is answered once and the same for ever, until a person has found out."""

    @pytest.fixture
    async def parked(self, dispatcher: Make, call: Make, memory: Make, api: Any, runtime: Any) -> Any:
        """A dispatcher whose journal has a parked call, and that would run it if it could."""
        journal = memory()
        words = [api.Unknown()]
        hooks = api.Hooks(reconcile=lambda call: words.pop())
        d = dispatcher(pay=Counting(), journal=journal, hooks=hooks)
        await interrupted(journal, api, runtime, call("pay", key="a"), d.tool("pay").parse({"key": "a"}))
        assert (await d.execute(call("pay", key="a"))).error.code == "outcome_unknown"
        assert [entry.state for entry in await journal.entries()] == ["parked"]
        return d

    async def test_the_hook_is_not_asked_again(self, parked: Any, call: Make) -> None:
        results = [await parked.execute(call("pay", key="a")) for _ in range(3)]
        assert [(result.error.code, result.replayed) for result in results] == [("outcome_unknown", True)] * 3

    @pytest.mark.parametrize(
        ("value", "output"),
        [({"receipt": 7, "name": "Málaga"}, '{"receipt":7,"name":"Málaga"}'), ("paid", "paid"), (None, "null")],
    )
    async def test_it_was_done(self, parked: Any, call: Make, api: Any, runtime: Any, value: Any, output: str) -> None:
        journalled, key = runtime("journalled"), runtime("journal").Key("session_1", "turn_1", "call_1")
        assert await journalled.resolve(parked.journal, key, api.Done(value))
        result = await parked.execute(call("pay", key="a"))
        assert (result.output, result.success, result.replayed) == (output, True, True)
        assert not await journalled.resolve(parked.journal, key, api.NotDone())

    async def test_it_was_not_done(self, parked: Any, call: Make, api: Any, runtime: Any) -> None:
        journalled, key = runtime("journalled"), runtime("journal").Key("session_1", "turn_1", "call_1")
        assert await journalled.resolve(parked.journal, key, api.NotDone())
        results = [await parked.execute(call("pay", key="a")) for _ in range(2)]
        assert [(result.output, result.replayed) for result in results] == [("done", False), ("done", True)]

    async def test_a_timeout_is_parked_and_a_failure_is_none(
        self, dispatcher: Make, call: Make, memory: Make, api: Any
    ) -> None:
        async def waits(args: Any, call: Any) -> None:
            await asyncio.sleep(10)

        journal = memory()
        d = dispatcher(quick_pay=waits, quick_look=waits, pay=Counting(error=api.ToolError("No.")), journal=journal)
        for number, name in enumerate(["quick_pay", "quick_look", "pay"]):
            await d.execute(call(name, key="a", call_id=str(number)))
        assert [entry.state for entry in await journal.entries()] == ["parked", "failed", "failed"]


class TestTakenOver:
    """A worker that lost its call while its handler ran, for instance because it was stopped for too long."""

    def _losing(self, memory: Make, then: Callable[[Any, Any], Any]) -> tuple[Any, Any]:
        """A journal, and a handler during which another worker takes the call over."""
        journal = Recording(memory())
        begin = journal.inner.begin
        claims: list[Any] = []

        async def remembering(intent: Any) -> Any:
            begun = await begin(intent)
            claims.append((intent, getattr(begun, "claim", None)))
            return begun

        async def handler(args: Any, call: Any) -> str:
            intent, claim = claims[-1]
            await journal.inner.release(claim, ran=True)
            await then(intent, (await begin(intent)).claim)
            return "mine"

        journal.inner.begin = remembering
        return journal, handler

    async def test_the_answer_is_that_of_the_other(
        self, dispatcher: Make, call: Make, memory: Make, caplog: Any
    ) -> None:
        async def then(intent: Any, claim: Any) -> None:
            assert await journal.inner.finish(claim, '{"output":"of the other"}', "succeeded")

        journal, handler = self._losing(memory, then)
        d = dispatcher(pay=handler, journal=journal)
        results = [await d.execute(call("pay", key="a")) for _ in range(2)]
        assert [(result.output, result.replayed) for result in results] == [("of the other", True)] * 2
        assert "taken over" in caplog.text

    async def test_while_the_other_one_works_it_is_in_progress(
        self, dispatcher: Make, call: Make, memory: Make, runtime: Any, monkeypatch: Any
    ) -> None:
        monkeypatch.setattr(runtime("journalled"), "WAIT", 0.01)

        async def then(intent: Any, claim: Any) -> None:
            others.append(claim)

        others: list[Any] = []
        journal, handler = self._losing(memory, then)
        d = dispatcher(pay=handler, journal=journal)
        assert (await d.execute(call("pay", key="a"))).error.code == "in_progress"
        assert await journal.inner.finish(others[0], '{"output":"of the other"}', "succeeded")
        assert (await d.execute(call("pay", key="a"))).output == "of the other"

    async def test_when_the_other_one_is_gone_too_the_call_is_left_for_the_next(
        self, dispatcher: Make, call: Make, memory: Make
    ) -> None:
        async def then(intent: Any, claim: Any) -> None:
            await journal.inner.release(claim, ran=True)

        journal, handler = self._losing(memory, then)
        d = dispatcher(pay=handler, journal=journal)
        assert (await d.execute(call("pay", key="a"))).error.code == "in_progress"
        assert (await d.execute(call("pay", key="a"))).error.code == "outcome_unknown"


async def test_a_result_that_is_not_kept_any_more(dispatcher: Make, call: Make, memory: Make, runtime: Any) -> None:
    class Forgetful(Recording):
        async def begin(self, intent: Any) -> Any:
            return runtime("journal").Redacted()

    pay = Counting()
    result = await dispatcher(pay=pay, journal=Forgetful(memory())).execute(call("pay", key="a"))
    assert (result.error.code, result.replayed, pay.runs) == ("result_redacted", True, 0)
