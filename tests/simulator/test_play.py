"""Following a scenario: what results are compared with, and how placeholders are filled in."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegen.simulator.faults import Tally
from codegen.simulator.play import Mismatch, Outcome, Play, check_result, check_user, json_equal, json_has
from codegen.simulator.record import Ledger
from codegen.simulator.scenario import ModelCall, Scenario, TextCheck
from tests.simulator.scripts import call, calls, say, turn

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def play_of(*turns: dict[str, Any]) -> Play:
    return Play(Scenario.parse({"name": "s", "turns": list(turns)}), "openai_agents", Ledger(), Tally())


@given(json_values)
def test_a_json_value_equals_itself_after_the_wire(value: Any) -> None:
    assert json_equal(json.loads(json.dumps(value)), value)
    assert json_has(json.loads(json.dumps(value)), value)


@given(st.dictionaries(st.text(), json_values), st.dictionaries(st.text(), json_values))
def test_an_object_has_what_was_added_to_it(value: dict[str, Any], more: dict[str, Any]) -> None:
    assert json_has(value | more, more)


@pytest.mark.parametrize("left,right", [(1, True), (0, False), ("1", 1), ([], {}), (None, False), ([1], [1, 2])])
def test_json_equality_keeps_types_apart(left: Any, right: Any) -> None:
    assert not json_equal(left, right)
    assert not json_equal(right, left)


def test_one_and_one_point_zero_are_one_number() -> None:
    assert json_equal({"a": [1]}, {"a": [1.0]})


@pytest.mark.parametrize(
    "check,text,success",
    [
        ({"json": {"a": 1}}, '{"a": 1.0}', True),
        ({"json": None}, "null", True),
        ({"has": {"a": {"b": 1}}}, '{"a": {"b": 1, "c": 2}, "d": 3}', True),
        ({"text": "hello"}, "hello", True),
        ({"contains": ["a", "b"]}, "b and a", True),
        ({"success": True}, "anything", True),
        ({"success": False}, "anything", False),
        ({"error": "city"}, "/city: unknown", False),
        ({}, "", True),
    ],
)
def test_a_result_that_is_as_expected(check: dict[str, Any], text: str, success: bool) -> None:
    check_result(ModelCall.model_validate(call(result=check)), Outcome(text, success))


@pytest.mark.parametrize(
    "check,text,success,reason",
    [
        ({"json": {"a": 1}}, '{"a": 1, "b": 2}', True, "should be the JSON"),
        ({"json": None}, "", True, "should be the JSON"),
        ({"json": None}, "not JSON", True, "should be the JSON"),
        ({"has": {"a": 1}}, "{}", True, "should have"),
        ({"text": "hello"}, "Hello", True, "should be «hello»"),
        ({"contains": "a"}, "b", True, "should contain «a»"),
        ({"success": True}, "x", False, "should be a success"),
        ({"error": "city"}, "city", True, "should be a failure"),
        ({"error": "city"}, "town", False, "should contain «city»"),
    ],
)
def test_a_result_that_is_not(check: dict[str, Any], text: str, success: bool, reason: str) -> None:
    with pytest.raises(Mismatch) as caught:
        check_result(ModelCall.model_validate(call(result=check)), Outcome(text, success))
    assert reason in caught.value.message


@pytest.mark.parametrize("text,success", [('{"error": "x"}', False), ('{"errors": 1}', True), ("error", True)])
def test_without_a_flag_an_error_object_is_a_failure(text: str, success: bool) -> None:
    assert Outcome.of_text(text).success is success


def test_user_messages_are_compared() -> None:
    check_user(TextCheck(contains=["Madrid"]), "the weather in Madrid")
    with pytest.raises(Mismatch, match="should contain «Madrid»"):
        check_user(TextCheck(contains=["Madrid"]), "the weather")
    with pytest.raises(Mismatch, match="should be «a»"):
        check_user(TextCheck(text="a"), "b")


def test_placeholders_take_values_out_of_results() -> None:
    play = play_of(turn(calls(call(**{"as": "first"})), say("{{first}}; {{ first.list.1.x }}; {{first.n}}")))
    play.next_turn("hi")
    play.accept(play.current.calls[0], Outcome('{"list": [0, {"x": "é"}], "n": {"a": 1}}', True))
    play.next_step()
    assert play.say(play.current) == '{"list": [0, {"x": "é"}], "n": {"a": 1}}; é; {"a":1}'


def test_a_placeholder_that_is_a_whole_argument_keeps_its_type() -> None:
    second = {"name": "lookup", "arguments": {"n": "{{first.n}}", "text": "n={{first.n}}", "rest": [{"a": 1}]}}
    play = play_of(turn(calls(call(**{"as": "first"})), calls(second), say()))
    play.next_turn("hi")
    play.accept(play.current.calls[0], Outcome('{"n": 7}', True))
    play.next_step()
    assert play.arguments(play.current.calls[0]) == {"n": 7, "text": "n=7", "rest": [{"a": 1}]}


def test_a_placeholder_without_its_value_is_a_mismatch() -> None:
    play = play_of(turn(calls(call(**{"as": "first"})), say("{{first.n}}")))
    play.next_turn("hi")
    play.accept(play.current.calls[0], Outcome("no JSON", True))
    play.next_step()
    with pytest.raises(Mismatch, match='the result of "first" has no n'):
        play.say(play.current)


def test_a_copy_goes_its_own_way() -> None:
    play = play_of(turn(calls(), say()), turn(say()))
    play.next_turn("hi")
    other = play.copy()
    other.next_step()
    assert (play.step, other.step) == (0, 1)


def test_more_turns_or_steps_than_the_scenario_has_are_a_mismatch() -> None:
    play = play_of(turn(say()))
    play.next_turn("hi")
    with pytest.raises(Mismatch, match="only 1 turn"):
        play.next_turn("hi again")
    with pytest.raises(Mismatch, match="after the last step"):
        play.next_step()
