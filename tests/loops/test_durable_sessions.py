"""Agents sessions that are served by polling and by webhooks, and turns that are repeated under the caller's key."""

from __future__ import annotations

import asyncio
import importlib
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from openai import AsyncOpenAI, DefaultAsyncHttpxClient, DefaultHttpxClient, OpenAI

from codegen.simulator import Simulator
from tests.loops.crashes import SECRET, delivery
from tests.loops.oci_support import runtime_client
from tests.loops.town import Town, town_package

STEPS: list[dict[str, Any]] = [
    {"calls": [{"name": "get_weather", "arguments": {"city": "Lima"}}, {"name": "book", "arguments": {"people": 2}}]},
    {"calls": [{"name": "get_weather", "arguments": {"city": "Cusco"}}]},
    {"say": "Booked."},
]

_names = (f"durable-{number}" for number in itertools.count())


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    root = tmp_path_factory.mktemp("durable")
    patch = pytest.MonkeyPatch()
    with town_package(root, "durable_town", "openai_agents", "openai_responses", "oci_agents") as package:
        for part in ("_worker", "_follower"):
            module = importlib.import_module(f"durable_town.runtime.loops.openai_agents{part}")
            patch.setattr(module, "RACE_PAUSES", (0.01, 0.02, 0.03))
        yield package
        patch.undo()


@pytest.fixture(scope="module")
def simulator() -> Iterator[Simulator]:
    with Simulator() as simulator:
        yield simulator


@dataclass
class Desk:
    """One scenario, a journal in a file, and what the handlers were asked."""

    package: ModuleType
    simulator: Simulator
    folder: Path
    name: str = field(default_factory=lambda: next(_names))
    asked: list[str] = field(default_factory=list)

    def part(self, name: str) -> Any:
        return importlib.import_module(f"{self.package.__name__}.runtime{name and '.'}{name}")

    @property
    def loop(self) -> Any:
        return self.part("loops.openai_agents")

    def plays(self, *steps: dict[str, Any], **fields: Any) -> Desk:
        self.simulator.add({"name": self.name, "tools": "any", "turns": [{"model": list(steps or STEPS)}], **fields})
        return self

    def dispatcher(self, journal: Any = None) -> Any:
        """As a new process has it: the journal is opened anew."""
        handlers = Town(self.part(""))
        handlers.asked = self.asked
        path = self.folder / f"{self.name}.db"
        return self.package.dispatcher(handlers, journal=journal or self.part("journal.sqlite").SQLiteJournal(path))

    def client(self, kind: Any = OpenAI, **options: Any) -> Any:
        # Reading the certificates takes longer than a turn.
        http = (DefaultHttpxClient if kind is OpenAI else DefaultAsyncHttpxClient)(verify=False)
        settings = {"base_url": self.simulator.openai_base_url, "api_key": "none", "max_retries": 0, "timeout": 30}
        return kind(**settings, http_client=http, **options)

    def create(self) -> str:
        """A session that somebody has begun."""
        with self.client() as client:
            tools = self.package.dispatcher(Town(self.part(""))).payload("openai_agents")
            session = client.beta.agents.sessions.create(
                environment={"type": "none"}, agent={"model": self.name, "tools": tools}, input="Hello"
            )
            return str(session.id)

    def requests(self) -> list[str]:
        return [exchange.operation for exchange in self.simulator.report().of(self.name).exchanges]


@pytest.fixture
def make_desk(town: ModuleType, simulator: Simulator, tmp_path: Path) -> Callable[[], Desk]:
    return lambda: Desk(town, simulator, tmp_path)


@pytest.fixture
def desk(make_desk: Callable[[], Desk]) -> Desk:
    return make_desk()


# ---- polling


def test_polling_serves_sessions_to_their_ends(make_desk: Callable[[], Desk]) -> None:
    desks = [make_desk().plays() for _ in range(3)]
    sessions = [desk.create() for desk in desks]
    seen: list[str] = []
    dispatcher = desks[0].dispatcher()
    with desks[0].client() as client:
        served = desks[0].loop.poll_sync(
            dispatcher, client, sessions=sessions, rounds=20, pause=0.01, on_served=lambda one: seen.append(one.status)
        )
    assert [one.session_id for one in served] == sessions
    assert {one.status for one in served} == {"idle"} and seen.count("idle") == 3
    assert desks[0].asked.count("Lima") == desks[0].asked.count("2 None") == 3
    assert all("events.stream" not in desk.requests() for desk in desks)
    dispatcher.close()


async def test_polling_asks_for_the_sessions_of_each_round(desk: Desk) -> None:
    session_id = desk.plays().create()
    asked: list[int] = []

    async def sessions() -> list[str]:
        asked.append(len(asked))
        return [session_id] if asked == [0, 1] else []

    async with desk.client(AsyncOpenAI) as client:
        served = await desk.loop.poll(desk.dispatcher(), client, sessions=sessions, rounds=3, pause=0)
    assert asked == [0, 1, 2]
    assert [one.session_id for one in served] == [session_id]


def test_a_session_that_cannot_be_served_keeps_no_other_waiting(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    session_id = desk.plays().create()
    with desk.client() as client:
        gone, served = desk.loop.poll_sync(desk.dispatcher(), client, sessions=["sess_gone", session_id])
    assert (gone.status, getattr(gone.error, "status_code", None)) == ("", 404)
    assert len(served.results) >= 2 and served.error is None
    assert "sess_gone could not be served" in caplog.text


def test_a_session_that_waits_for_a_person_stays_in_the_rounds(desk: Desk) -> None:
    desk.plays({"approvals": [{"kind": "mcp"}]}, {"say": "Done."})
    seen: list[Any] = []
    with desk.client() as client:
        (served,) = desk.loop.poll_sync(
            desk.dispatcher(), client, sessions=[desk.create()], rounds=3, pause=0, on_served=seen.append
        )
    assert len(seen) == 3 and served.status == "requires_action" and len(served.unhandled) == 1


def test_rounds_are_bounded(desk: Desk) -> None:
    with desk.client() as client, pytest.raises(ValueError, match="rounds"):
        desk.loop.poll_sync(desk.dispatcher(), client, sessions=[], rounds=0)


# ---- webhooks


@pytest.fixture(params=["sync", "async"])
def receive(desk: Desk, request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Takes one delivery, with either client."""

    def take(body: Any, headers: Any, dispatcher: Any = None, **options: Any) -> Any:
        dispatcher = dispatcher or desk.dispatcher()
        options = {"secret": SECRET.decode(), **options}
        if request.param == "sync":
            with desk.client() as client:
                return desk.loop.receive_sync(dispatcher, client, body=body, headers=headers, **options)

        async def go() -> Any:
            async with desk.client(AsyncOpenAI) as client:
                return await desk.loop.receive(dispatcher, client, body=body, headers=headers, **options)

        return asyncio.run(go())

    return take


def test_a_delivery_is_checked_and_its_session_served(desk: Desk, receive: Callable[..., Any]) -> None:
    session_id = desk.plays().create()
    body, headers = delivery(session_id)
    taken = receive(body.encode(), headers, context="ada")
    assert (taken.status, taken.event.data.id, taken.served.session_id) == (204, session_id, session_id)
    assert {result.name for result in taken.served.results} == {"get_weather", "book"}
    again = receive(body.encode(), headers)
    assert again.status == 204 and sorted(desk.asked) == sorted(set(desk.asked))


def test_what_is_not_genuine_is_not_served(desk: Desk, receive: Callable[..., Any]) -> None:
    session_id = desk.plays().create()
    body, headers = delivery(session_id)
    stamp = "Webhook-Timestamp"
    for wrong_body, wrong_headers in [
        (body + " ", headers),
        (b"\xff" + body.encode(), headers),
        (body, {}),
        (body, {**headers, "Webhook-Signature": "v1,é"}),
        (body, {**headers, stamp: "soon"}),
        (body, {**headers, stamp: str(int(headers[stamp]) - 3600)}),
    ]:
        taken = receive(wrong_body, wrong_headers)
        assert (taken.status, taken.event, taken.served) == (400, None, None)
    assert receive(body, headers, secret="another").status == 400
    assert desk.asked == [] and desk.requests() == ["sessions.create"]


def test_a_webhook_without_a_secret_is_a_mistake_of_the_service(
    desk: Desk, receive: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_WEBHOOK_SECRET", raising=False)
    with pytest.raises(ValueError, match="secret"):
        receive(*delivery("sess_1"), secret=None)


def test_other_events_and_other_services_sessions_are_taken_and_left_alone(
    desk: Desk, receive: Callable[..., Any]
) -> None:
    session_id = desk.plays().create()
    taken = receive(*delivery(session_id), serves=lambda given: given != session_id)
    assert (taken.status, taken.served) == (204, None)
    assert receive(*delivery("sess_gone")).status == 204
    assert desk.asked == []


def test_a_delivery_that_could_not_be_served_is_to_come_again(desk: Desk, receive: Callable[..., Any]) -> None:
    away = [{"kind": "http", "on": "events.create", "status": 503}]
    session_id = desk.plays(faults=away).create()
    taken = receive(*delivery(session_id))
    assert taken.status == 503 and taken.served.error.status_code == 503
    assert receive(*delivery(session_id)).status == 204
    assert sorted(desk.asked) == sorted(set(desk.asked)) and "Lima" in desk.asked


def test_a_delivery_that_cannot_be_kept_is_to_come_again(desk: Desk, receive: Callable[..., Any]) -> None:
    session_id = desk.plays().create()
    closed = desk.part("journal.sqlite").SQLiteJournal(desk.folder / "closed.db")
    closed.close()
    taken = receive(*delivery(session_id), desk.dispatcher(closed))
    assert taken.status == 503 and isinstance(taken.served.error, desk.part("").ResultsNotStored)
    assert desk.asked == []


# ---- turns that are repeated


class Stop(BaseException):
    """Stands for the end of the process."""


def broken_off(desk: Desk, steps: Any, at: int) -> bool:
    """Whether a loop came to its end before its step number `at`; else it was left there for good.

    Events of a stream are not counted, as they are many.
    """
    driver = desk.part("steps")
    dispatcher = desk.dispatcher()

    def counted() -> Any:
        outcome: Any = None
        failure: Exception | None = None
        loop = steps(dispatcher)
        left = at
        while left:
            try:
                step = loop.throw(failure) if failure else loop.send(outcome)
            except StopIteration:
                return True
            outcome, failure = None, None
            left -= not isinstance(step, driver.Next)
            try:
                outcome = yield step
            except Exception as error:
                failure = error
        raise Stop

    try:
        return bool(driver.drive(dispatcher, counted()))
    except Stop:
        return False
    finally:
        dispatcher.close()
        dispatcher.journal.close()


def repeated(desk: Desk, steps: Any, at: int) -> Any:
    """What a second process comes to after a first one that went as far as step number `at`, and whether that ended."""
    ended = broken_off(desk, steps, at)
    dispatcher = desk.dispatcher()
    try:
        return desk.part("steps").drive(dispatcher, steps(dispatcher)), ended
    finally:
        dispatcher.close()
        dispatcher.journal.close()


def test_the_input_of_a_session_goes_in_once(make_desk: Callable[[], Desk]) -> None:
    for at in itertools.count(1):
        desk = make_desk()
        desk.simulator.add(
            {"name": desk.name, "turns": [{"model": [{"say": "Hello."}]}, {"user": "Go on", "model": STEPS}]}
        )
        session_id = desk.create()
        with desk.client() as client:

            def steps(dispatcher: Any, client: Any = client, desk: Desk = desk, session_id: str = session_id) -> Any:
                return desk.loop.converse(dispatcher, client, session_id=session_id, input="Go on", turn_key="m1")

            turn, ended = repeated(desk, steps, at)
            turns = client.beta.agents.sessions.turns.list(session_id).data
        assert turn.text == "Booked." and len(turns) == 2, at
        assert sorted(desk.asked) == ["2 None", "Cusco", "Lima"], at
        assert desk.simulator.report().of(desk.name).problems() == []
        if ended:
            break
    assert at > 10


@pytest.mark.parametrize("stream", [False, True])
def test_a_turn_of_responses_goes_on_where_it_was(make_desk: Callable[[], Desk], stream: bool) -> None:
    for at in itertools.count(1):
        desk = make_desk().plays()
        with desk.client() as client:

            def steps(dispatcher: Any, client: Any = client, desk: Desk = desk) -> Any:
                return desk.part("loops.openai_responses").converse(
                    dispatcher,
                    client,
                    model=desk.name,
                    input="Hello",
                    session_id="chat",
                    turn_key="m1",
                    stream=stream,
                )

            turn, ended = repeated(desk, steps, at)
        assert turn.text == "Booked." and len(turn.calls) == 3 and turn.steps == 3, at
        assert sorted(desk.asked) == ["2 None", "Cusco", "Lima"], at
        assert sorted({item.get("type", "message") for item in turn.history}) == [
            "function_call",
            "function_call_output",
            "message",
        ]
        if ended:
            assert all(result.replayed for result in turn.calls)
            break
    assert at > 5


@pytest.mark.parametrize("stream", [False, True])
def test_a_turn_of_oci_goes_on_from_the_answer_that_was_kept(make_desk: Callable[[], Desk], stream: bool) -> None:
    lost = 0
    for at in itertools.count(1):
        desk = make_desk().plays()
        client = runtime_client(desk.simulator.oci_endpoint)

        def steps(dispatcher: Any, client: Any = client, desk: Desk = desk) -> Any:
            return desk.part("loops.oci_agents").converse(
                dispatcher,
                client,
                agent_endpoint_id=f"ocid1.genaiagentendpoint.oc1..{desk.name}",
                input="Hello",
                turn_key="m1",
                stream=stream,
            )

        try:
            turn, ended = repeated(desk, steps, at)
        except desk.part("").AnswerLost as error:
            assert not desk.asked or stream
            assert error.key[1:] in [("m1", "answer 1"), *([("m1", "answer 2"), ("m1", "answer 3")] if stream else [])]
            lost += 1
            continue
        assert turn.text == "Booked.", at
        assert sorted(desk.asked) == ["2 None", "Cusco", "Lima"], at
        if ended:
            assert turn.calls == [] and turn.steps == 3
            break
    assert 0 < lost < at - 5


def test_a_response_of_a_conversation_is_not_asked_for_twice(make_desk: Callable[[], Desk]) -> None:
    """The service keeps what it was sent: a request whose response was lost would be heard twice."""
    lost = 0
    for at in itertools.count(1):
        desk = make_desk().plays()
        with desk.client() as client:
            conversation = client.conversations.create().id

            def steps(dispatcher: Any, client: Any = client, desk: Desk = desk, own: str = conversation) -> Any:
                loop = desk.part("loops.openai_responses")
                return loop.converse(
                    dispatcher, client, model=desk.name, input="Hello", conversation=own, turn_key="m1"
                )

            try:
                turn, ended = repeated(desk, steps, at)
            except desk.part("").AnswerLost:
                lost += 1
                continue
        assert turn.text == "Booked." and sorted(desk.asked) == ["2 None", "Cusco", "Lima"], at
        if ended:
            break
    assert 3 <= lost < at


def test_a_chain_of_responses_goes_on_where_it_was(make_desk: Callable[[], Desk]) -> None:
    for at in itertools.count(1):
        desk = make_desk().plays()
        with desk.client() as client:

            def steps(dispatcher: Any, client: Any = client, desk: Desk = desk) -> Any:
                loop = desk.part("loops.openai_responses")
                options = {"session_id": "chat", "turn_key": "m1", "chain": True}
                return loop.converse(dispatcher, client, model=desk.name, input="Hello", **options)

            turn, ended = repeated(desk, steps, at)
        assert turn.text == "Booked." and sorted(desk.asked) == ["2 None", "Cusco", "Lima"], at
        if ended:
            break


def test_a_note_keeps_what_it_is_given(desk: Desk) -> None:
    """Also bytes, which some APIs put into what has to be sent back unchanged."""
    notes, dispatcher = desk.part("resumption"), desk.dispatcher()
    given = {"text": "é", "signature": b"\x00\xff", "list": [{"deep": b""}], "number": 1.5, "nothing": None}
    asked: list[str] = []

    def ask() -> Any:
        asked.append("asked")
        return given
        yield  # never: a generator that takes no step

    def turn() -> Any:
        answer = yield from notes.Notes(dispatcher, "s", "t", ["hello"]).answer(
            "answer 1", ask, may_repeat=True, was_refused=lambda error: False
        )
        return answer.value, answer.again

    drive = desk.part("steps").drive
    assert drive(dispatcher, turn()) == (given, False)
    assert drive(dispatcher, turn()) == (given, True)
    assert asked == ["asked"]
    key = desk.part("journal").Key("s", "t", "answer 1")
    (entry,) = asyncio.run(dispatcher.journal.entries())
    assert (entry.key, entry.tool, entry.state) == (key, "(request)", "succeeded")


def test_a_request_that_a_person_knows_did_not_arrive_goes_out_again(desk: Desk) -> None:
    desk.plays()
    runtime = desk.part("")
    client = runtime_client(desk.simulator.oci_endpoint)

    def steps(dispatcher: Any) -> Any:
        return desk.part("loops.oci_agents").converse(
            dispatcher,
            client,
            agent_endpoint_id=f"ocid1.genaiagentendpoint.oc1..{desk.name}",
            input="Hello",
            turn_key="m1",
        )

    # Begun are: the session's note, its creation, its keeping, the answer's note; the chat request is next.
    assert not broken_off(desk, steps, 4)
    dispatcher = desk.dispatcher()
    drive = desk.part("steps").drive
    for _ in range(2):
        with pytest.raises(runtime.AnswerLost, match="answer 1 of the turn 'm1'") as lost:
            drive(dispatcher, steps(dispatcher))
    key = desk.part("journal").Key(*lost.value.key)
    resolve = desk.part("journalled").resolve
    assert asyncio.run(resolve(dispatcher.journal, key, runtime.NotDone()))
    assert drive(dispatcher, steps(dispatcher)).text == "Booked."


def test_a_key_that_is_used_for_another_turn_is_told(desk: Desk) -> None:
    desk.plays()
    runtime, loop = desk.part(""), desk.part("loops.openai_responses")
    options = {"model": desk.name, "session_id": "chat", "turn_key": "m1"}
    with desk.client() as client:
        loop.run_sync(desk.dispatcher(), client, input="Hello", **options)
        with pytest.raises(runtime.LoopError, match="'m1' was used before"):
            loop.run_sync(desk.dispatcher(), client, input="Something else", **options)
        with pytest.raises(ValueError, match="journal"):
            loop.run_sync(desk.package.dispatcher(Town(runtime)), client, input="Hello", **options)
        wrong: list[dict[str, Any]] = [{"session_id": "s"}, {"create": {}, "input": "Hi"}]
        for given in wrong:
            with pytest.raises(ValueError, match="turn_key"):
                desk.loop.run_sync(desk.dispatcher(), client, turn_key="m1", **given)


def test_a_request_that_was_refused_goes_out_again(desk: Desk) -> None:
    desk.plays({"say": "Hi.", "faults": [{"kind": "http", "status": 429}]})
    client = runtime_client(desk.simulator.oci_endpoint)
    options = {"agent_endpoint_id": f"ocid1.genaiagentendpoint.oc1..{desk.name}", "input": "Hello", "turn_key": "m1"}
    dispatcher = desk.dispatcher()
    loop = desk.part("loops.oci_agents")
    with pytest.raises(Exception, match="429"):
        loop.run_sync(dispatcher, client, **options)
    assert loop.run_sync(dispatcher, client, **options).text == "Hi."


async def test_a_cancelled_turn_lets_go_of_its_note(desk: Desk) -> None:
    desk.plays({"say": "Hi.", "faults": [{"kind": "delay", "seconds": 1.0}]})
    loop, dispatcher = desk.part("loops.openai_responses"), desk.dispatcher()
    options = {"model": desk.name, "session_id": "chat", "turn_key": "m1", "input": "Hello"}
    async with desk.client(AsyncOpenAI) as client:
        task = asyncio.create_task(loop.run(dispatcher, client, **options))
        while "responses.create" not in desk.requests():
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await loop.run(dispatcher, client, **options)).text == "Hi."


def test_a_call_that_another_worker_runs_is_waited_for_by_oci(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two workers with one journal take the same turn: both come to the same end, and each call runs once."""
    desk.plays(*STEPS)
    monkeypatch.setattr(desk.part("journalled"), "WAIT", 0.0)
    monkeypatch.setattr(desk.part("turn"), "IN_PROGRESS_PAUSE", 0.01)
    call = desk.part("").Call
    turn = desk.part("turn")
    dispatcher = desk.dispatcher()
    begin = asyncio.Event()

    async def book(args: Any, given: Any) -> str:
        desk.asked.append("book")
        await begin.wait()
        return "booked"

    slow = desk.package.dispatcher(type("Slow", (Town,), {"book": staticmethod(book)})(desk.part("")))
    slow = slow.with_journal(dispatcher.journal)
    one = call("book", {"people": 2}, call_id="c1", turn_id="t1", session_id="s1")
    codes: list[str] = []

    async def both() -> Any:
        first = asyncio.create_task(slow.execute(one))
        await asyncio.sleep(0.05)
        second = await dispatcher.execute(one)
        codes.append(second.error.code)
        steps = turn.run_calls([one], None, dispatcher, wait=True)
        waiting = asyncio.create_task(desk.part("steps").drive_async(dispatcher, steps))
        await asyncio.sleep(0.05)
        begin.set()
        return await first, (await waiting)[0]

    first, second = asyncio.run(both())
    assert codes == ["in_progress"]
    assert first.output == second.output == "booked" and second.replayed
    assert desk.asked == ["book"]


def test_a_redacted_journal_does_not_go_on_with_half_a_history(desk: Desk) -> None:
    desk.plays()
    stored = desk.part("journal.stored")
    journal = desk.part("journal.sqlite").SQLiteJournal(
        desk.folder / "redacted.db", privacy=stored.Privacy(redact=True)
    )
    loop, dispatcher = desk.part("loops.openai_responses"), desk.dispatcher(journal)
    options = {"model": desk.name, "session_id": "chat", "turn_key": "m1", "input": "Hello"}
    with desk.client() as client:
        assert loop.run_sync(dispatcher, client, **options).text == "Booked."
        with pytest.raises(desk.part("").LoopError, match="redacted"):
            loop.run_sync(dispatcher, client, **options)


def test_oci_goes_on_with_a_redacted_journal(desk: Desk) -> None:
    desk.plays()
    stored = desk.part("journal.stored")
    journal = desk.part("journal.sqlite").SQLiteJournal(
        desk.folder / "redacted.db", privacy=stored.Privacy(redact=True)
    )
    client = runtime_client(desk.simulator.oci_endpoint)
    options = {"agent_endpoint_id": f"ocid1.genaiagentendpoint.oc1..{desk.name}", "input": "Hello", "turn_key": "m1"}
    loop, dispatcher = desk.part("loops.oci_agents"), desk.dispatcher(journal)
    assert len(loop.run_sync(dispatcher, client, **options).calls) == 3
    again = loop.run_sync(dispatcher, client, **options)
    assert (again.text, again.calls) == ("Booked.", [])
    dispatcher.close()
    journal.close()
    kept = b"".join(path.read_bytes() for path in desk.folder.glob("redacted.db"))
    assert b"Lima" not in kept
