"""What of a call and of a result travels through an engine."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from types import MappingProxyType, ModuleType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from templates.runtime import Call, CallError, Content, Image, Issue, Result, Text
from templates.runtime.engines import TryAgain, call_from_wire, call_to_wire, result_from_wire, result_to_wire

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
ARGUMENTS = st.none() | st.text() | st.dictionaries(st.text(), VALUES, max_size=3)
CALLS = st.builds(Call, st.text(), ARGUMENTS, st.text(), st.text(), st.text(), st.text(), VALUES)
ISSUES = st.builds(Issue, st.text(), st.text(), st.text())
ERRORS = st.builds(CallError, st.text(), st.text(), st.lists(ISSUES, max_size=2).map(tuple))
RESULTS = st.builds(Result, CALLS, st.text(), st.none(), st.none() | ERRORS, st.booleans(), st.booleans())


def travel(wire: dict[str, Any]) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(json.dumps(wire))
    return data


@given(CALLS)
def test_a_call_arrives_as_it_was(call: Call) -> None:
    assert call_from_wire(travel(call_to_wire(call, call.context))) == call
    arrived = call_from_wire(travel(call_to_wire(call)))
    assert arrived.context is None  # unless it was put there on purpose
    assert arrived.idempotency_key == call.idempotency_key


@given(RESULTS)
def test_a_result_arrives_as_it_was(result: Result) -> None:
    assert result_from_wire(result.call, travel(result_to_wire(result))) == result


def test_content_arrives_as_it_was() -> None:
    content = Content([Text("a"), Image("data:image/png;base64,AA==")])
    result = Result(Call("a"), "a", content, None, True)
    assert result_from_wire(result.call, travel(result_to_wire(result))) == result


def test_a_context_is_made_of_what_travelled() -> None:
    wire = travel(call_to_wire(Call("a"), {"user": 7}))
    assert call_from_wire(wire, lambda given: given["user"]).context == 7


def test_what_the_gate_refuses_travels_all_the_same() -> None:
    assert call_from_wire(travel(call_to_wire(Call("a", b'{"a": "\xff"}')))).arguments == '{"a": "\udcff"}'
    assert str(call_from_wire(travel(call_to_wire(Call("a", {"a": float("nan")})))).arguments) == "{'a': nan}"
    assert call_from_wire(travel(call_to_wire(Call("a", {"a": "\ud800"})))).arguments == {"a": "\ud800"}


def test_any_mapping_travels_and_nothing_else() -> None:
    assert call_to_wire(Call("a", MappingProxyType({"b": MappingProxyType({})})))["arguments"] == {"b": {}}
    with pytest.raises(TypeError, match="a value of type object is no JSON value"):
        call_to_wire(Call("a", {"b": object()}))
    with pytest.raises(TypeError, match="a value of type SimpleNamespace is no JSON value"):
        call_to_wire(Call("a"), SimpleNamespace())


def test_the_wish_to_be_called_again_can_be_pickled() -> None:
    error = pickle.loads(pickle.dumps(TryAgain("in_progress")))
    assert (type(error), error.code) == (TryAgain, "in_progress")


def test_only_what_was_chosen_is_in_a_package(folder: Path, tools: ModuleType, tmp_path: Path) -> None:
    from tests.conftest import build_folder

    build_folder([folder / "specs"], tmp_path / "none")
    assert not (tmp_path / "none" / "runtime" / "engines").exists()
    build_folder([folder / "specs"], tmp_path / "one", engines=["dbos"])
    found = sorted(path.name for path in (tmp_path / "one" / "runtime" / "engines").glob("*.py"))
    assert found == ["__init__.py", "dbos.py"]
