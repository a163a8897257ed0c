"""Registering tools with an OCI agent: the real management client, a real server, the payload of a built package."""

from __future__ import annotations

import asyncio
import functools
import importlib
import json
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest
from oci.generative_ai_agent import models

from codegen.simulator import Simulator
from tests.conftest import build_folder
from tests.loops.oci_support import (
    AGENT,
    COMPARTMENT,
    Answer,
    Canned,
    canned,
    drive_without_sleep,
    management_client,
)

FIND: dict[str, Any] = {
    "name": "find_rooms",
    "description": "Finds free rooms.",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}, "guests": {"type": "integer", "minimum": 1}},
        "required": ["city"],
        "additionalProperties": False,
    },
}
BOOK: dict[str, Any] = {
    "name": "book_room",
    "description": "Books a room, with «accents» too.",
    "parameters": {"type": "object", "properties": {"room": {"type": "string"}}, "required": ["room"]},
}
SCENARIO: dict[str, Any] = {"name": "hotel", "turns": [{"model": [{"say": "Hi."}]}]}

Build = Callable[..., ModuleType]
Register = Callable[..., Any]


def run_registration(mode: str, package: ModuleType, client: Any, **options: Any) -> Any:
    """Registers the tools of a package with the driver of that name."""
    module = importlib.import_module(f"{package.__name__}.runtime.registration.oci_agents")
    arguments = {"agent_id": AGENT, "compartment_id": COMPARTMENT, "owner": "hotel", "poll": 0.001} | options
    dispatcher = arguments.pop("dispatcher", None) or package.dispatcher()
    if mode == "sync":
        return module.register_sync(dispatcher, client, **arguments)
    return asyncio.run(module.register(dispatcher, client, **arguments))


@pytest.fixture(params=["sync", "async"])
def register_either(request: pytest.FixtureRequest) -> Register:
    """With both drivers. What one generator does is told with one of them."""
    return functools.partial(run_registration, request.param)


@pytest.fixture
def register() -> Register:
    return functools.partial(run_registration, "sync")


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Build]:
    """Builds and imports a package of specs; the same specs and settings give the same package again."""
    folder = tmp_path_factory.mktemp("packages")
    made: dict[str, ModuleType] = {}
    sys.path.insert(0, str(folder))

    def build(specs: list[Any], **settings: Any) -> ModuleType:
        key = json.dumps([specs, settings])
        if key not in made:
            name = f"registered_{len(made)}"
            (folder / f"{name}_specs").mkdir()
            (folder / f"{name}_specs" / "tools.json").write_text(json.dumps(specs), encoding="utf-8")
            build_folder([folder / f"{name}_specs"], folder / name, **{"targets": ["oci_agents"]} | settings)
            importlib.invalidate_caches()
            made[key] = importlib.import_module(name)
        return made[key]

    yield build
    sys.path.remove(str(folder))
    for name in [loaded for loaded in sys.modules if loaded.split(".")[0].startswith("registered_")]:
        del sys.modules[name]


@pytest.fixture
def simulator() -> Iterator[Simulator]:
    with Simulator([SCENARIO]) as running:
        yield running


@pytest.fixture
def client(simulator: Simulator) -> Any:
    return management_client(simulator.oci_endpoint)


@pytest.fixture
def hotel(package: Build) -> ModuleType:
    return package([FIND, BOOK])


def registration(package: ModuleType) -> ModuleType:
    return importlib.import_module(f"{package.__name__}.runtime.registration")


def changes(simulator: Simulator) -> list[str]:
    """The operations that changed something."""
    changing = ("tools.create", "tools.update", "tools.delete")
    return [exchange.operation for exchange in simulator.transcript if exchange.operation in changing]


def active(client: Any) -> dict[str, Any]:
    """The agent's active tools by name."""
    items = client.list_tools(agent_id=AGENT, limit=100).data.items
    return {tool.display_name: tool for tool in items if tool.lifecycle_state == "ACTIVE"}


def make_tool(client: Any, function: str, tags: dict[str, str], *, settle: bool = True, **more: Any) -> str:
    """A tool that somebody else made."""
    details = models.CreateToolDetails(
        agent_id=AGENT,
        compartment_id=COMPARTMENT,
        display_name=function,
        description="Somebody else's.",
        freeform_tags=tags,
        tool_config=models.FunctionCallingToolConfig(
            function=models.Function(name=function, description="", parameters={"type": '"object"'})
        ),
    )
    tool_id = str(client.create_tool(details).data.id)
    while settle and client.get_tool(tool_id).data.lifecycle_state == "CREATING":
        pass
    return tool_id


def test_tools_are_created_one_at_a_time_and_awaited(
    register_either: Register, hotel: ModuleType, client: Any, simulator: Simulator
) -> None:
    done = register_either(hotel, client)
    assert (done.created, done.updated, done.unchanged, done.removed, done.stale) == (
        ["book_room", "find_rooms"],
        [],
        [],
        [],
        [],
    )
    assert done.changed
    tools = active(client)
    assert {name: tool.id for name, tool in tools.items()} == done.ids
    assert {json.dumps(tool.freeform_tags) for tool in tools.values()} == {'{"toolgen": "hotel"}'}
    sent = tools["book_room"].tool_config.function
    assert sent.name == "book_room"
    assert sent.parameters["required"] == '["room"]'
    assert [exchange.status for exchange in simulator.transcript] == [200] * len(simulator.transcript)
    operations = [exchange.operation for exchange in simulator.transcript if exchange.operation != "work_requests.get"]
    assert operations[:3] == ["tools.list", "tools.create", "tools.create"]


def test_running_it_again_changes_nothing(
    register_either: Register, hotel: ModuleType, client: Any, simulator: Simulator
) -> None:
    first = register_either(hotel, client)
    again = register_either(hotel, client)
    assert (again.unchanged, again.changed, again.ids) == (["book_room", "find_rooms"], False, first.ids)
    assert changes(simulator) == ["tools.create"] * 2


@pytest.mark.parametrize(
    "changed",
    [
        BOOK | {"description": "Books one room."},
        BOOK | {"parameters": {"type": "object", "properties": {"room": {"type": "integer"}}, "required": ["room"]}},
        BOOK | {"parameters": BOOK["parameters"] | {"additionalProperties": False}},
        BOOK | {"parameters": {key: value for key, value in BOOK["parameters"].items() if key != "required"}},
    ],
    ids=["description", "type", "keyword added", "keyword gone"],
)
def test_a_tool_that_differs_is_updated_in_place(
    register_either: Register, package: Build, hotel: ModuleType, client: Any, simulator: Simulator, changed: Any
) -> None:
    before = register_either(hotel, client)
    other = package([FIND, changed])
    after = register_either(other, client)
    assert (after.updated, after.unchanged, after.created) == (["book_room"], ["find_rooms"], [])
    assert after.ids == before.ids
    assert register_either(other, client).changed is False
    assert changes(simulator) == ["tools.create", "tools.create", "tools.update"]
    assert active(client)["book_room"].freeform_tags == {"toolgen": "hotel"}


def test_what_means_the_same_is_left_alone_unless_texts_are_to_be_exact(
    register: Register, package: Build, hotel: ModuleType, client: Any, simulator: Simulator
) -> None:
    register(hotel, client)
    other = package([FIND, BOOK], oci_encoding="adk")
    assert other.dispatcher().payload("oci_agents") != hotel.dispatcher().payload("oci_agents")
    assert register(other, client).unchanged == ["book_room", "find_rooms"]
    assert register(other, client, exact=True).updated == ["book_room", "find_rooms"]
    assert register(other, client, exact=True).changed is False
    assert active(client)["find_rooms"].tool_config.function.parameters["additionalProperties"] == "False"
    assert register(hotel, client).changed is False


def test_tools_that_are_gone_stay_until_pruned(
    register_either: Register, package: Build, hotel: ModuleType, client: Any, simulator: Simulator
) -> None:
    register_either(hotel, client)
    smaller = package([FIND])
    kept = register_either(smaller, client)
    assert (kept.stale, kept.removed, kept.unchanged) == (["book_room"], [], ["find_rooms"])
    pruned = register_either(smaller, client, prune=True)
    assert (pruned.removed, pruned.stale) == (["book_room"], [])
    assert set(active(client)) == {"find_rooms"}
    back = register_either(hotel, client, prune=True)
    assert (back.created, back.removed) == (["book_room"], []), "deleted tools are still listed, and are none"


def test_tools_of_others_are_never_touched(
    register: Register, hotel: ModuleType, client: Any, simulator: Simulator
) -> None:
    ids = [
        make_tool(client, "weather", {}),
        make_tool(client, "support", {"toolgen": "support"}),
        make_tool(client, "by_the_kit", {"ConfiguredByADK": "ADK-Python"}),
    ]
    register(hotel, client, prune=True)
    register(hotel, client, prune=True)
    assert set(active(client)) == {"weather", "support", "by_the_kit", "find_rooms", "book_room"}
    touched = [exchange.path for exchange in simulator.transcript if exchange.method in ("PUT", "DELETE")]
    assert touched == []
    assert all(tool_id in {tool.id for tool in active(client).values()} for tool_id in ids)


@pytest.mark.parametrize(
    ("tags", "says"), [({}, "was not made by toolgen"), ({"toolgen": "support"}, "belongs to 'support'")]
)
@pytest.mark.parametrize("settle", [True, False])
def test_a_name_that_somebody_else_has_is_an_error_before_any_change(
    register_either: Register, hotel: ModuleType, client: Any, simulator: Simulator, tags: Any, says: str, settle: bool
) -> None:
    tool_id = make_tool(client, "book_room", tags, settle=settle)
    with pytest.raises(registration(hotel).ToolConflict, match=says) as caught:
        register_either(hotel, client, prune=True)
    assert (caught.value.name, caught.value.tool_id) == ("book_room", tool_id)
    assert changes(simulator) == ["tools.create"]


def test_a_name_of_somebody_elses_deleted_tool_is_free(register: Register, hotel: ModuleType, client: Any) -> None:
    tool_id = make_tool(client, "book_room", {})
    client.delete_tool(tool_id)
    while client.get_tool(tool_id).data.lifecycle_state != "DELETED":
        pass
    assert register(hotel, client).created == ["book_room", "find_rooms"]


def test_the_owner_is_the_package_unless_told_otherwise(register: Register, hotel: ModuleType, client: Any) -> None:
    register(hotel, client, owner="")
    assert active(client)["find_rooms"].freeform_tags == {"toolgen": hotel.__name__}


def test_other_tags_survive_an_update(
    register: Register, package: Build, hotel: ModuleType, client: Any, simulator: Simulator
) -> None:
    make_tool(client, "book_room", {"toolgen": "hotel", "cost-center": "42"})
    assert register(hotel, client).updated == ["book_room"]
    assert active(client)["book_room"].freeform_tags == {"toolgen": "hotel", "cost-center": "42"}


def test_every_page_is_read(register: Register, package: Build, client: Any, simulator: Simulator) -> None:
    many = [FIND | {"name": f"tool_{number}"} for number in range(15)]
    big = package(many)
    assert len(register(big, client).created) == 15
    assert len(register(big, client).unchanged) == 15
    assert changes(simulator) == ["tools.create"] * 15
    assert any("page=" in exchange.path for exchange in simulator.transcript)


def test_a_part_of_the_tools(register: Register, hotel: ModuleType, client: Any) -> None:
    part = hotel.dispatcher().only("find_*")
    assert register(hotel, client, dispatcher=part).created == ["find_rooms"]


def test_a_failed_work_request(register_either: Register, hotel: ModuleType) -> None:
    with Simulator([SCENARIO | {"oci": {"failing_work_requests": 1}}]) as simulator:
        client = management_client(simulator.oci_endpoint)
        with pytest.raises(registration(hotel).RegistrationFailed, match=r"create the tool 'book_room'") as caught:
            register_either(hotel, client)
        error = caught.value
        assert (error.operation, error.name, error.status) == ("create", "book_room", "FAILED")
        assert error.errors == ("InternalError: The change failed.",)
        assert error.done.created == []
        assert register_either(hotel, client).created == ["book_room", "find_rooms"], "running again goes on"
        assert set(active(client)) == {"find_rooms", "book_room"}
        again = register_either(hotel, client, prune=True)
        assert (again.unchanged, again.removed) == (["book_room", "find_rooms"], ["book_room"])
        states = [tool.lifecycle_state for tool in client.list_tools(agent_id=AGENT).data.items]
        assert sorted(states) == ["ACTIVE", "ACTIVE", "DELETED"]


def test_a_registration_that_was_interrupted_is_gone_on_with(
    register: Register, hotel: ModuleType, client: Any, simulator: Simulator
) -> None:
    make_tool(client, "book_room", {"toolgen": "hotel"}, settle=False)
    done = register(hotel, client)
    assert (done.updated, done.created) == (["book_room"], ["find_rooms"])


def test_an_agent_that_is_busy_is_asked_again(register: Register, hotel: ModuleType, client: Any) -> None:
    make_tool(client, "weather", {}, settle=False)
    assert register(hotel, client).created == ["book_room", "find_rooms"]


def test_two_of_our_tools_with_one_name(
    register: Register, hotel: ModuleType, client: Any, simulator: Simulator
) -> None:
    first = register(hotel, client)
    make_tool(client, "book_room", {"toolgen": "hotel"})
    assert register(hotel, client).stale == ["book_room"]
    assert register(hotel, client, prune=True).removed == ["book_room"]
    assert register(hotel, client).ids == first.ids


# What the simulator does not do, from a server that says it in so many words.

TOOL: dict[str, Any] = {
    "id": "t1",
    "displayName": "find_rooms",
    "description": "Finds free rooms.",
    "agentId": AGENT,
    "compartmentId": COMPARTMENT,
    "lifecycleState": "ACTIVE",
    "freeformTags": {"toolgen": "hotel"},
    "timeCreated": "2026-01-01T00:00:00Z",
}
WORK = {"opc-work-request-id": "w1"}


def work_request(status: str) -> dict[str, Any]:
    return {"id": "w1", "operationType": "CREATE_TOOL", "status": status}


def paths(server: Canned) -> list[str]:
    return [f"{method} {path.split('?')[0].removeprefix('/20240531')}" for method, path, _ in server.requests]


@pytest.fixture
def small(package: Build) -> ModuleType:
    return package([FIND])


@pytest.mark.parametrize("status", ["FAILED", "CANCELED", "NEEDS_ATTENTION"])
def test_every_bad_end_is_one(register: Register, small: ModuleType, status: str) -> None:
    reasons = {"items": [{"code": "Quota", "message": "Too many tools."}, {"code": "Other", "message": "And more."}]}
    answers: list[Any] = [
        {"items": []},
        Answer(TOOL, headers=WORK),
        work_request("ACCEPTED"),
        work_request(status),
        reasons,
    ]
    with canned(answers) as server:
        with pytest.raises(registration(small).RegistrationFailed, match=f"{status}: Quota: Too many tools") as caught:
            register(small, management_client(server.url))
        assert paths(server)[-3:] == ["GET /workRequests/w1"] * 2 + ["GET /workRequests/w1/errors"]
    assert caught.value.errors == ("Quota: Too many tools.", "Other: And more.")


def test_errors_that_cannot_be_read_do_not_hide_the_failure(register: Register, small: ModuleType) -> None:
    answers: list[Any] = [
        {"items": []},
        Answer(TOOL, headers=WORK),
        work_request("FAILED"),
        Answer({"code": "InternalServerError", "message": "Gone."}, status=500),
    ]
    with canned(answers) as server, pytest.raises(registration(small).RegistrationFailed, match="cannot be read"):
        register(small, management_client(server.url))


def test_a_work_request_that_does_not_end(register: Register, small: ModuleType) -> None:
    with canned([{"items": []}, Answer(TOOL, headers=WORK), work_request("IN_PROGRESS")]) as server:
        raises = pytest.raises(registration(small).RegistrationFailed, match=r"IN_PROGRESS: no end after 0\.05 seconds")
        with raises as caught:
            register(small, management_client(server.url), timeout=0.05)
    assert caught.value.tool_id == "t1"


def test_gaps_grow_up_to_a_bound(small: ModuleType) -> None:
    module = importlib.import_module(f"{small.__name__}.runtime.registration.oci_agents")
    slept: list[float] = []
    answers: list[Any] = [{"items": []}, Answer(TOOL, headers=WORK), *[work_request("WAITING")] * 8]
    with canned([*answers, work_request("SUCCEEDED")]) as server:
        dispatcher, client = small.dispatcher(), management_client(server.url)
        steps = module.registration(dispatcher, client, agent_id=AGENT, compartment_id=COMPARTMENT, poll=1.0, pause=3.0)
        assert drive_without_sleep(small.__name__, dispatcher, steps, slept).created == ["find_rooms"]
    assert slept == [*sorted(slept[:-1]), 3.0]
    assert slept[:3] == [1.0, 1.5, 2.25]
    assert max(slept) == module.LONGEST_GAP


def test_a_change_without_a_work_request_is_followed_by_the_tools_state(register: Register, small: ModuleType) -> None:
    answers: list[Any] = [{"items": []}, TOOL, TOOL | {"lifecycleState": "CREATING"}, TOOL]
    with canned(answers) as server:
        assert register(small, management_client(server.url)).created == ["find_rooms"]
        assert paths(server) == ["GET /tools", "POST /tools", "GET /tools/t1", "GET /tools/t1"]
    raises = pytest.raises(registration(small).RegistrationFailed, match="FAILED")
    with canned([{"items": []}, TOOL, TOOL | {"lifecycleState": "FAILED"}]) as server, raises:
        register(small, management_client(server.url))


def test_a_summary_without_its_config_is_looked_up(register: Register, small: ModuleType) -> None:
    function = small.dispatcher().payload("oci_agents")[0]["toolConfig"]
    with canned([{"items": [TOOL]}, TOOL | {"toolConfig": function}]) as server:
        assert register(small, management_client(server.url)).unchanged == ["find_rooms"]
        assert paths(server) == ["GET /tools", "GET /tools/t1"]


def test_tools_of_other_kinds_are_no_functions(register: Register, small: ModuleType) -> None:
    rag = TOOL | {"id": "r1", "freeformTags": {}, "toolConfig": {"toolConfigType": "RAG_TOOL_CONFIG"}}
    function = TOOL | {"toolConfig": small.dispatcher().payload("oci_agents")[0]["toolConfig"]}
    with canned([{"items": [rag, function]}]) as server:
        assert register(small, management_client(server.url), prune=True).unchanged == ["find_rooms"]


@pytest.mark.parametrize(("status", "code"), [(409, "IncorrectState"), (409, "LockConflict")])
def test_conflicts_that_pass_are_retried_until_the_time_is_over(
    register_either: Register, small: ModuleType, status: int, code: str
) -> None:
    busy = Answer({"code": code, "message": "Busy."}, status=status)
    answers: list[Any] = [{"items": []}, busy, busy, Answer(TOOL, headers=WORK), work_request("SUCCEEDED")]
    with canned(answers) as server:
        assert register_either(small, management_client(server.url)).created == ["find_rooms"]
    with canned([{"items": []}, busy]) as server:
        with pytest.raises(Exception, match="Busy") as caught:
            register_either(small, management_client(server.url), timeout=0.02)
        assert len(server.requests) > 2
    assert type(caught.value).__name__ == "ServiceError"


@pytest.mark.parametrize(
    ("status", "code"), [(409, "InvalidatedRetryToken"), (400, "LimitExceeded"), (404, "NotFound")]
)
def test_other_errors_are_the_services_own(register: Register, small: ModuleType, status: int, code: str) -> None:
    with canned([{"items": []}, Answer({"code": code, "message": "No."}, status=status)]) as server:
        with pytest.raises(Exception, match=code):
            register(small, management_client(server.url))
        assert len(server.requests) == 2


def test_a_package_without_this_target(register: Register, package: Build, hotel: ModuleType, client: Any) -> None:
    other = package([FIND], targets=["openai_responses"])
    with pytest.raises(LookupError, match="oci_agents"):
        register(hotel, client, dispatcher=other.dispatcher())
