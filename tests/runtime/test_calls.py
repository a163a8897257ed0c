"""Calls, results, and the digests that identify them."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from templates.runtime.calls import Call, CallError, Result, fingerprint
from templates.runtime.errors import InvalidArguments, InvalidJSON, Issue, ToolgenError, UnknownTool


@given(st.lists(st.text()), st.lists(st.text()))
def test_only_the_same_texts_have_the_same_fingerprint(one: list[str], two: list[str]) -> None:
    assert (fingerprint(one) == fingerprint(two)) == (one == two)


@given(st.text(), st.text(), st.text())
def test_the_parts_of_a_fingerprint_do_not_run_together(a: str, b: str, c: str) -> None:
    texts: list[list[str]] = [[a + b, c], [a, b + c], [a, b, c], [a + b + c]]
    different = {tuple(parts) for parts in texts}
    assert len({fingerprint(parts) for parts in different}) == len(different)


def test_the_idempotency_key_is_made_of_the_three_ids_alone() -> None:
    call = Call("pay", {"a": 1}, call_id="c", turn_id="t", session_id="s", target="x", context=object())
    assert call.idempotency_key == Call("other", call_id="c", turn_id="t", session_id="s").idempotency_key
    assert call.idempotency_key == fingerprint(["s", "t", "c"])[:32]


def test_a_result_shows_its_call() -> None:
    call = Call("pay", '{"a": 1}', call_id="c")
    result = Result(call, "done")
    assert (result.success, result.name, result.call_id, result.arguments) == (True, "pay", "c", '{"a": 1}')
    assert not Result(call, error=CallError("timeout", "Too slow.")).success


def test_an_error_as_json_for_apis_without_a_field_for_it() -> None:
    assert CallError("timeout", "Too slow.").as_json() == {"error": "Too slow.", "code": "timeout"}


def test_errors_carry_facts() -> None:
    issue = Issue("/a", "type", "expected an integer, got 5")
    error: Any = InvalidJSON("pay", [issue, Issue("", "required", "something is missing")])
    assert isinstance(error, InvalidArguments)
    assert isinstance(error, ToolgenError)
    assert isinstance(error, ValueError)
    assert (error.code, error.tool, error.issues[0]) == ("invalid_json", "pay", issue)
    assert str(error) == "/a: expected an integer, got 5; something is missing"
    assert str(UnknownTool("pya", ["pay", "play"])) == 'There is no tool "pya". Did you mean pay or play?'
