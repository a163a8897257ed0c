"""Starting and stopping, choosing a scenario, and what the report says."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import httpx2
import pytest
from openai import APIConnectionError, OpenAI

from codegen.simulator import Scenario, ScenarioError, Simulator, SimulatorUnavailable
from tests.simulator.clients import openai_client
from tests.simulator.scripts import call, calls, fault, function, say, turn

HELLO: dict[str, Any] = {"name": "hello", "models": ["gpt-hello"], "turns": [turn(say("hello"))]}
BYE: dict[str, Any] = {"name": "bye", "turns": [turn(say("bye"))]}


def ask(client: OpenAI, model: str) -> str:
    return client.responses.create(model=model, input="hi").output_text


def test_scenarios_come_as_values_data_or_files(tmp_path: Path) -> None:
    path = tmp_path / "more.json"
    path.write_text(json.dumps([{**HELLO, "name": "a"}, {**HELLO, "name": "b"}]), encoding="utf-8")
    simulator = Simulator([Scenario.parse(HELLO), BYE, path])
    assert simulator.report().scenarios == ("hello", "bye", "a", "b")
    with pytest.raises(ScenarioError, match="already there"):
        simulator.add(BYE)


def test_the_only_scenario_is_played_for_every_model() -> None:
    with Simulator([HELLO]) as simulator, openai_client(simulator) as client:
        assert ask(client, "gpt-anything") == "hello"


def test_a_model_selects_a_scenario() -> None:
    with Simulator([HELLO, BYE]) as simulator, openai_client(simulator) as client:
        assert [ask(client, model) for model in ("hello", "scenario:hello", "gpt-hello", "bye")] == [
            *("hello", "hello", "hello", "bye")
        ]
        with pytest.raises(Exception, match="does not exist"):
            ask(client, "gpt-anything")
        simulator.add({**HELLO, "name": "late"})
        assert ask(client, "late") == "hello"


def test_it_can_be_stopped_and_started_again() -> None:
    simulator = Simulator([HELLO])
    with pytest.raises(RuntimeError, match="not running"):
        simulator.base_url  # noqa: B018  # the property raises
    for _ in range(2):
        simulator.start()
        with openai_client(simulator) as client:
            ask(client, "hello")
        with pytest.raises(RuntimeError, match="already running"):
            simulator.start()
        simulator.stop()
    simulator.stop()
    assert len(simulator.report().runs) == 2


def test_stopping_ends_streams_and_waits() -> None:
    slow = {"name": "slow", "turns": [turn(calls(faults=[fault("delay", seconds=600)]), say())]}
    before = threading.active_count()
    with Simulator([slow]) as simulator, openai_client(simulator) as client:
        agent: Any = {"model": "slow", "tools": [function()]}
        stream = client.beta.agents.sessions.create(environment={"type": "none"}, agent=agent, input="x", stream=True)
        assert next(stream).type == "agent.session.created"

        def wait_for_nothing() -> None:
            with pytest.raises(APIConnectionError):
                client.responses.create(model="slow", input="hi", tools=[function()])  # type: ignore[list-item]

        waiting = threading.Thread(target=wait_for_nothing)
        waiting.start()
        while len(simulator.transcript) < 2:
            pass
        simulator.stop()
        waiting.join()
        assert [event.type for event in stream] == []
    assert threading.active_count() == before


def test_a_port_that_is_taken_is_told() -> None:
    with Simulator() as first:
        port = int(first.base_url.rpartition(":")[2])
        with pytest.raises(SimulatorUnavailable, match="cannot listen"):
            Simulator(port=port).start()


def test_without_the_extra_it_says_which() -> None:
    """In a process of its own, because the libraries are already imported here."""
    code = (
        "import sys; sys.modules['starlette'] = None\n"
        "from codegen.simulator import Simulator, SimulatorUnavailable\n"
        "try: Simulator().start()\n"
        "except SimulatorUnavailable as error: print(error.missing, '|', error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("starlette | ") and "pip install 'toolgen[simulator]'" in done.stdout


def test_importing_it_needs_no_extra() -> None:
    code = "import sys, codegen.simulator; print({'starlette', 'uvicorn'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


class TestReport:
    def test_over_http_and_in_python(self) -> None:
        with Simulator([HELLO, BYE]) as simulator, openai_client(simulator) as client:
            ask(client, "hello")
            shown = httpx2.get(f"{simulator.base_url}/_simulator/report").json()
            assert shown == simulator.report().to_dict()
            transcript = httpx2.get(f"{simulator.base_url}/_simulator/transcript").json()
        assert (shown["ok"], shown["unplayed"], shown["problems"]) == (False, ["bye"], ["bye: was not played"])
        assert simulator.report().of("hello").ok
        (entry,) = transcript
        assert (entry["operation"], entry["scenario"], entry["status"]) == ("responses.create", "hello", 200)
        assert entry["request"] == {"model": "hello", "input": "hi"}
        assert entry["response"]["output"][0]["content"][0]["text"] == "hello"

    def test_a_play_that_stopped_half_way(self) -> None:
        half = {"name": "half", "turns": [turn(calls(call()), say())]}
        with Simulator([half]) as simulator, openai_client(simulator) as client:
            client.responses.create(model="half", input="hi", tools=[function()])  # type: ignore[list-item]
        (run,) = simulator.report().unfinished
        assert (run.api, run.place) == ("openai_responses", "turn 1, step 1")
        assert simulator.report().problems() == [
            f"half on openai_responses: stopped at turn 1, step 1 ({run.reference})"
        ]

    def test_refused_requests_and_faults_are_told_apart(self) -> None:
        flaky = {**HELLO, "turns": [turn(say("hello", faults=[fault("http", status=500), fault("drop")]))]}
        with Simulator([flaky, BYE]) as simulator, openai_client(simulator) as client:
            for _ in range(2):
                with pytest.raises(Exception, match=r"(?i)error"):
                    ask(client, "hello")
            ask(client, "hello")
            with pytest.raises(Exception, match="Unknown parameter"):
                client.post("/responses", body={"model": "hello", "x": 1}, cast_to=object)
            with client.responses.create(model="bye", input="hi", stream=True) as stream:
                list(stream)
        assert [e.outcome for e in simulator.transcript] == ["fault", "lost", "", "refused", ""]
        assert [e.number for e in simulator.report().refused] == [4]
        assert simulator.transcript[4].events[0] == "response.created"
        assert simulator.report().ok

    def test_no_credentials_are_kept(self) -> None:
        with Simulator([HELLO]) as simulator, OpenAI(base_url=simulator.openai_base_url, api_key="sesame") as client:
            ask(client, "hello")
        assert "sesame" not in json.dumps(simulator.report().transcript())


def test_scenarios_can_be_added_over_http() -> None:
    with Simulator() as simulator, openai_client(simulator) as client:
        url = f"{simulator.base_url}/_simulator/scenarios"
        assert httpx2.post(url, json=HELLO).status_code == 201
        assert ask(client, "hello") == "hello"
        assert httpx2.post(url, json=HELLO).json()["problems"] == ["a scenario of this name is already there"]
        assert "/turns: required" in httpx2.post(url, json={"name": "x"}).json()["problems"][0]


@pytest.mark.parametrize("body", [b"{", b'{"model": NaN}', b'{"a": 1, "a": 2}', b"\xff", b"[" * 100_000])
def test_a_body_that_is_no_json_is_refused(body: bytes) -> None:
    with Simulator([HELLO]) as simulator:
        for path in ("/v1/responses", "/20240531/tools", "/_simulator/scenarios"):
            assert httpx2.post(simulator.base_url + path, content=body).status_code == 400


def test_two_servers_do_not_know_of_each_other() -> None:
    with Simulator([HELLO]) as first, Simulator([BYE]) as second:
        with openai_client(first) as client:
            ask(client, "hello")
        assert (len(first.transcript), len(second.transcript)) == (1, 0)


def test_ids_are_the_same_every_time() -> None:
    def ids() -> list[str]:
        with Simulator([HELLO]) as simulator, openai_client(simulator) as client:
            return [client.responses.create(model="hello", input="hi").to_json() for _ in range(2)]

    assert ids() == ids()
