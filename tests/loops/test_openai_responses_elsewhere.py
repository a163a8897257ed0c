"""OpenAI Responses against a server that others wrote: the server and its faults are LLMock's."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import openai
import pytest
from llmock.pytest_plugin import LLMock
from llmock.scenarios import Reply, ToolCall

from tests.loops.conftest import openai_clients, run_turn
from tests.loops.town import Town, town_package

NAME = "responses_elsewhere"

Converse = Callable[..., Any]


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    with town_package(tmp_path_factory.mktemp("responses"), NAME, "openai_responses") as package:
        yield package


@pytest.fixture
def town(package: ModuleType) -> Town:
    return Town(importlib.import_module(f"{NAME}.runtime"))


@pytest.fixture
def runner(package: ModuleType, town: Town) -> Iterator[Converse]:
    """Runs a turn in one of the ways there are: `runner(way, url, input, ...)`."""
    loop = importlib.import_module(f"{NAME}.runtime.loops.openai_responses")
    dispatcher = package.dispatcher(town)

    def run(way: str, url: str, input: Any = "hi", *, retries: int = 0, **options: Any) -> Any:
        return run_turn(loop, way, dispatcher, openai_clients(url, retries), model="m", input=input, **options)

    yield run
    dispatcher.close()


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_whatever_goes_wrong_each_is_answered_once_and_in_order(
    converse: Converse, llmock: LLMock, town: Town, stream: bool
) -> None:
    calls = [
        ToolCall("get_weather", {"city": "Madrid"}),
        ToolCall("get_weather", {"city": "X"}),
        ToolCall("get_wether", {"city": "Lima"}),
        ToolCall("get_weather", {"city": "Atlantis"}),
        ToolCall("write_essay", {"characters": 11 * 1024 * 1024}),
        ToolCall("get_weather", {"city": "Quito"}),
    ]
    llmock.add(Reply(text="One moment.", tool_calls=tuple(calls))).reply("done")
    turn = converse(llmock.base_url(), stream=stream)
    assert (turn.text, turn.steps) == ("done", 2)
    codes = [result.error and result.error.code for result in turn.calls]
    assert codes == [None, "invalid_arguments", "unknown_tool", "handler_error", "output_too_large", None]
    items = llmock.last_request.body["input"]
    asked = [item for item in items if item.get("type") == "function_call"]
    answers = [item for item in items if item.get("type") == "function_call_output"]
    assert [(one["name"], json.loads(one["arguments"])) for one in asked] == [
        (one.name, one.arguments) for one in calls
    ]
    assert [one["call_id"] for one in answers] == [one["call_id"] for one in asked]
    assert items[-len(answers) :] == answers
    assert [json.loads(one["output"]).get("code") for one in answers] == codes
    assert "secret" not in json.dumps(answers)


@pytest.mark.parametrize("kind", ["malformed_arguments", "unknown_tool"])
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_a_broken_call_is_the_models_to_mend(
    converse: Converse, llmock: LLMock, town: Town, kind: str, stream: bool
) -> None:
    llmock.call_tool("get_weather", {"city": "Madrid"}).break_tool_call(kind)
    llmock.call_tool("get_weather", {"city": "Lima"}).reply("done")
    turn = converse(llmock.base_url(), stream=stream)
    code = "invalid_json" if kind == "malformed_arguments" else "unknown_tool"
    assert [result.error and result.error.code for result in turn.calls] == [code, None]
    assert (turn.text, town.asked) == ("done", ["Lima"])


def test_errors_that_pass_are_the_clients_to_retry(converse: Converse, llmock: LLMock, town: Town) -> None:
    llmock.call_tool("get_weather", {"city": "Madrid"}).reply("done")
    llmock.rate_limit(times=1, retry_after=0.01).fail(503, times=1, retry_after=0.01)
    assert converse(llmock.base_url(), retries=2).text == "done"
    assert town.asked == ["Madrid"]
    llmock.assert_resilient()


def test_errors_that_stay_reach_the_caller(converse: Converse, llmock: LLMock, town: Town) -> None:
    llmock.outage()
    with pytest.raises(openai.InternalServerError):
        converse(llmock.base_url())
    assert town.asked == []


@pytest.mark.parametrize("fault", ["disconnect", "truncate", "corrupt"])
@pytest.mark.parametrize("after", [1, 3])
def test_a_stream_that_breaks_is_asked_for_again(
    converse: Converse, llmock: LLMock, town: Town, fault: str, after: int
) -> None:
    llmock.call_tool("get_weather", {"city": "Madrid"}, times=2).reply("done")
    getattr(llmock, fault)(after_chunks=after, times=1)
    assert converse(llmock.base_url(), stream=True).text == "done"
    assert town.asked == ["Madrid"]
    assert not llmock.verdict().errors
