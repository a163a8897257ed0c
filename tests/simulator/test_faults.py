"""Faults as arithmetic on events; how the APIs show them is in the tests of each API."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from codegen.simulator.faults import StepFault, Tally, shape
from codegen.simulator.wire import Cut, Event

FAULT: TypeAdapter[Any] = TypeAdapter(StepFault)
EVENTS = [Event("begin", {}), Event("item", {"n": 1}, "call"), Event("item", {"n": 2}), Event("over", {}, "answer end")]


def fault(**fields: Any) -> Any:
    return FAULT.validate_python(fields)


def shaped(events: list[Event], *faults: Any, tally: Tally | None = None) -> tuple[list[Event], Cut | None]:
    result = shape(events, faults, "openai_agents", tally or Tally())
    return result.events, result.cut


def test_without_faults_events_are_as_they_were() -> None:
    assert shaped(EVENTS) == (EVENTS, None)


@given(st.integers(0, 8))
def test_a_drop_lets_the_first_events_through(after: int) -> None:
    events, cut = shaped(EVENTS, fault(kind="drop", after=after))
    assert (events, cut) == ((EVENTS[:after], Cut.ABORT) if after <= len(EVENTS) else (EVENTS, None))


def test_a_drop_before_an_event_goes_by_name_or_role() -> None:
    assert shaped(EVENTS, fault(kind="drop", before="item"))[0] == EVENTS[:1]
    assert shaped(EVENTS, fault(kind="drop", before="call"))[0] == EVENTS[:1]
    assert shaped(EVENTS, fault(kind="drop", before="end", clean=True)) == (EVENTS[:3], Cut.CLEAN)
    assert shaped(EVENTS, fault(kind="drop", before="other")) == (EVENTS, None)


def test_a_drop_happens_as_often_as_it_says_and_no_more() -> None:
    tally, drop = Tally(), fault(kind="drop", times=2)
    assert [shaped(EVENTS, drop, tally=tally)[1] for _ in range(4)] == [Cut.ABORT, Cut.ABORT, None, None]
    tally.clear()
    assert shaped(EVENTS, drop, tally=tally)[1] is Cut.ABORT


def test_a_drop_that_found_no_place_is_still_to_come() -> None:
    tally, drop = Tally(), fault(kind="drop", before="call")
    assert shaped(EVENTS[2:], drop, tally=tally)[1] is None
    assert shaped(EVENTS, drop, tally=tally)[1] is Cut.ABORT


def test_duplicates_keep_the_order() -> None:
    assert shaped(EVENTS, fault(kind="duplicate"))[0] == [event for event in EVENTS for _ in range(2)]
    first, second, third, last = EVENTS
    assert shaped(EVENTS, fault(kind="duplicate", events=["end"]))[0] == [first, second, third, last, last]
    assert shaped(EVENTS, fault(kind="duplicate", events=["item"]))[0] == [first, second, second, third, third, last]


def test_a_fault_of_another_api_does_nothing() -> None:
    assert shaped(EVENTS, fault(kind="drop", apis=["oci_agents"])) == (EVENTS, None)
