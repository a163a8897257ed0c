"""Registering the tools of a package with an agent of OCI Generative AI Agents.

Tools are resources of one agent there, made and changed by the management API. A registration looks at what the agent
has and changes what differs, so that it may run at every start of a service: run twice, it changes nothing. It touches
only tools that carry its own tag, and makes its changes one at a time, each awaited, because the service updates the
agent after each of them.
"""

from __future__ import annotations

import importlib
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..adapters.oci_agents import TARGET, decode_parameters
from ..dispatcher import Dispatcher
from ..sdk import get
from ..steps import Invoke, Sleep, Steps, asynchronous, synchronous
from . import Registered, RegistrationFailed, ToolConflict

log = logging.getLogger(__name__)

TAG = "toolgen"
"""The freeform tag that says whose a tool is; its value is the owner."""

LONGEST_GAP = 10.0
"""Seconds between two looks at a work request, once it takes long."""

_FUNCTION_CONFIG = "FUNCTION_CALLING_TOOL_CONFIG"
_UNDER_WAY = ("CREATING", "UPDATING")
_ENDED_BADLY = ("FAILED", "CANCELED", "NEEDS_ATTENTION")
_RETRIED = ("IncorrectState", "LockConflict")
"""Codes of a conflict that passes: the agent is still being updated after the last change."""


def registration(
    dispatcher: Dispatcher,
    client: Any,
    /,
    *,
    agent_id: str,
    compartment_id: str,
    owner: str = "",
    prune: bool = False,
    exact: bool = False,
    timeout: float = 600.0,
    poll: float = 1.0,
    pause: float = 0.0,
) -> Steps[Registered]:
    """Makes the agent's tools what the dispatcher's payload says.

    Args:
        dispatcher: the tools.
        client: a `GenerativeAiAgentClient`, the management client. Under `register` its calls run in a thread.
        agent_id: OCID of the agent.
        compartment_id: OCID of the compartment that the tools are in.
        owner: whose the tools are; tools of other owners are never touched. The import name of the package where it is
            empty. Two packages that register with one agent need different owners.
        prune: whether tools of this owner that the dispatcher does not have are deleted, and those that failed.
        exact: whether a tool is also updated when it means the same and only its texts differ, such as after a change
            of the encoding of `parameters`.
        timeout: seconds that one change may take until its work request has ended.
        poll: seconds until the first look at a work request; the gap then grows up to `LONGEST_GAP`.
        pause: seconds to wait after each change.

    Returns:
        What was created, updated, removed and left as it was.

    Raises:
        ToolConflict: an active tool of somebody else has the name of one of ours; nothing was changed.
        RegistrationFailed: a work request failed, was cancelled, or did not end in time. Earlier changes stay; `done`
            names them, and running again goes on from there.
        LookupError: the package was built without this target.
        Whatever the client raises.
    """
    work = _Work(
        client,
        agent_id,
        compartment_id,
        owner or dispatcher.package_name,
        timeout,
        poll,
        pause,
    )
    wanted = {
        str(entry["toolConfig"]["function"]["name"]): entry
        for entry in dispatcher.payload(TARGET)
    }
    tools = yield from work.tools()
    for tool in tools:
        if (
            _name(tool) in wanted
            and _state(tool) in ("ACTIVE", *_UNDER_WAY)
            and not work.owns(tool)
        ):
            raise ToolConflict(
                _name(tool), _id(tool), str(_tags(tool).get(TAG, "")), work.owner
            )
    ours: dict[str, Any] = {}
    stale: list[Any] = []
    for tool in tools:
        if not work.owns(tool):
            continue
        tool = yield from work.settled(tool)
        if (
            _state(tool) == "ACTIVE"
            and _name(tool) in wanted
            and _name(tool) not in ours
        ):
            ours[_name(tool)] = tool
        elif _state(tool) in ("ACTIVE", "FAILED"):
            stale.append(tool)
    done = work.done
    for name, entry in wanted.items():
        tool = ours.get(name)
        if tool is None:
            yield from work.create(name, entry)
        elif _differs(tool, entry, exact):
            yield from work.update(name, tool, entry)
        else:
            done.unchanged.append(name)
            done.ids[name] = _id(tool)
    for tool in stale:
        if prune:
            yield from work.remove(tool)
        elif _state(tool) == "ACTIVE":
            done.stale.append(_name(tool))
    return done


register = asynchronous(registration)
register_sync = synchronous(registration)


@dataclass(slots=True)
class _Work:
    """One registration: where it goes, and what it has done so far."""

    client: Any
    agent_id: str
    compartment_id: str
    owner: str
    timeout: float
    poll: float
    pause: float
    done: Registered = field(default_factory=Registered)

    def owns(self, tool: Any) -> bool:
        """Whether a tool carries the tag of this owner."""
        return bool(_tags(tool).get(TAG) == self.owner)

    def tools(self) -> Steps[list[Any]]:
        """All tools of the agent that are not gone, from every page of the list."""
        tools: list[Any] = []
        query: dict[str, Any] = {
            "agent_id": self.agent_id,
            "compartment_id": self.compartment_id,
        }
        while True:
            response = yield Invoke(self.client.list_tools, query)
            tools += [
                tool
                for tool in get(response.data, "items", ())
                if _state(tool) not in ("DELETING", "DELETED")
            ]
            page = get(response, "next_page")
            if page is None:
                break
            query["page"] = page
        for i, tool in enumerate(tools):
            if (
                get(tool, "tool_config") is None
            ):  # a summary that leaves out what has to be compared
                tools[i] = (
                    yield Invoke(self.client.get_tool, {"tool_id": _id(tool)})
                ).data
        return tools

    def settled(self, tool: Any) -> Steps[Any]:
        """The tool once nobody changes it any more: another registration may have been interrupted in the middle."""
        if _state(tool) not in _UNDER_WAY:
            return tool
        for gap in self._gaps():
            yield Sleep(gap)
            tool = (yield Invoke(self.client.get_tool, {"tool_id": _id(tool)})).data
            if _state(tool) not in _UNDER_WAY:
                return tool
        raise self._failure(
            "update", _name(tool), _id(tool), _state(tool), [self._late()]
        )

    def create(self, name: str, entry: Mapping[str, Any]) -> Steps[None]:
        models = _models()
        details = models.CreateToolDetails(
            agent_id=self.agent_id,
            compartment_id=self.compartment_id,
            freeform_tags={TAG: self.owner},
            **_fields(models, entry),
        )
        response = yield from self._change(
            self.client.create_tool, {"create_tool_details": details}
        )
        tool_id = _id(response.data)
        yield from self._ended("create", name, tool_id, response)
        self.done.created.append(name)
        self.done.ids[name] = tool_id

    def update(self, name: str, tool: Any, entry: Mapping[str, Any]) -> Steps[None]:
        models = _models()
        # The tags go along as they are: a tool that lost its owner's tag would never be touched again.
        details = models.UpdateToolDetails(
            freeform_tags=dict(_tags(tool)), **_fields(models, entry)
        )
        arguments = {"tool_id": _id(tool), "update_tool_details": details}
        response = yield from self._change(self.client.update_tool, arguments)
        yield from self._ended("update", name, _id(tool), response)
        self.done.updated.append(name)
        self.done.ids[name] = _id(tool)

    def remove(self, tool: Any) -> Steps[None]:
        response = yield from self._change(
            self.client.delete_tool, {"tool_id": _id(tool)}
        )
        yield from self._ended("remove", _name(tool), _id(tool), response)
        self.done.removed.append(_name(tool))

    def _change(
        self, function: Callable[..., Any], arguments: Mapping[str, Any]
    ) -> Steps[Any]:
        """Asks for a change, again while the agent is still busy with the one before."""
        gaps = self._gaps()
        while True:
            try:
                return (yield Invoke(function, arguments))
            except Exception as error:
                passes = get(error, "status") == 409 and get(error, "code") in _RETRIED
                gap = next(gaps, None)
                if gap is None or not passes:
                    raise
            yield Sleep(gap)

    def _ended(
        self, operation: str, name: str, tool_id: str, response: Any
    ) -> Steps[None]:
        """Waits until a change has been carried out."""
        work_request = get(response, "headers", {}).get("opc-work-request-id")
        if work_request is not None:
            yield from self._work_request_ended(
                operation, name, tool_id, str(work_request)
            )
        elif operation != "remove":
            tool = (yield Invoke(self.client.get_tool, {"tool_id": tool_id})).data
            tool = yield from self.settled(tool)
            if _state(tool) != "ACTIVE":
                raise self._failure(operation, name, tool_id, _state(tool), [])
        if self.pause > 0:
            yield Sleep(self.pause)

    def _work_request_ended(
        self, operation: str, name: str, tool_id: str, work_request: str
    ) -> Steps[None]:
        status = ""
        for gap in self._gaps():
            yield Sleep(gap)
            request = (
                yield Invoke(
                    self.client.get_work_request, {"work_request_id": work_request}
                )
            ).data
            status = str(get(request, "status", ""))
            if status == "SUCCEEDED":
                return
            if status in _ENDED_BADLY:
                errors = yield from self._errors(work_request)
                raise self._failure(operation, name, tool_id, status, errors)
        raise self._failure(operation, name, tool_id, status, [self._late()])

    def _errors(self, work_request: str) -> Steps[list[str]]:
        errors: list[str] = []
        query: dict[str, Any] = {"work_request_id": work_request}
        try:
            while True:
                response = yield Invoke(self.client.list_work_request_errors, query)
                errors += [
                    f"{get(e, 'code', '')}: {get(e, 'message', '')}"
                    for e in get(response.data, "items", ())
                ]
                page = get(response, "next_page")
                if page is None:
                    return errors
                query["page"] = page
        except Exception as error:  # that the work request failed is what counts
            log.warning(
                "the errors of the work request %s cannot be read",
                work_request,
                exc_info=True,
            )
            return [*errors, f"its errors cannot be read: {type(error).__name__}"]

    def _gaps(self) -> Iterator[float]:
        """How long to sleep before each look, growing, until the time for a change is over; at least one."""
        end = time.monotonic() + self.timeout
        gap = self.poll
        while True:
            yield gap
            if time.monotonic() >= end:
                return
            gap = min(gap * 1.5, LONGEST_GAP)

    def _late(self) -> str:
        return f"no end after {self.timeout:g} seconds"

    def _failure(
        self, operation: str, name: str, tool_id: str, status: str, errors: list[str]
    ) -> RegistrationFailed:
        return RegistrationFailed(operation, name, tool_id, status, errors, self.done)


def _fields(models: Any, entry: Mapping[str, Any]) -> dict[str, Any]:
    """What a payload entry says, as fields of the SDK's details.

    Always through the SDK's own classes: only they check that `parameters` is a map of texts. A plain dict would send
    a schema that nobody encoded.
    """
    function = entry["toolConfig"]["function"]
    return {
        "display_name": entry["displayName"],
        "description": entry["description"],
        "tool_config": models.FunctionCallingToolConfig(
            function=models.Function(
                name=function["name"],
                description=function.get("description"),
                parameters=dict(function.get("parameters") or {}),
            )
        ),
    }


def _differs(tool: Any, entry: Mapping[str, Any], exact: bool) -> bool:
    wanted, has = entry["toolConfig"]["function"], _function(tool)
    parameters: Any = get(has, "parameters", {})
    wanted_parameters: Any = wanted.get("parameters") or {}
    same_text = (
        get(tool, "display_name") == entry["displayName"]
        and get(tool, "description", "") == entry["description"]
        and get(has, "description", "") == (wanted.get("description") or "")
    )
    if not same_text or exact or parameters == wanted_parameters:
        return not same_text or parameters != wanted_parameters
    return decode_parameters(parameters) != decode_parameters(wanted_parameters)


def _function(tool: Any) -> Any:
    config = get(tool, "tool_config")
    return (
        get(config, "function")
        if get(config, "tool_config_type") == _FUNCTION_CONFIG
        else None
    )


def _name(tool: Any) -> str:
    """The name of a tool's function; of a tool of another kind its display name, in brackets, which no function has."""
    function = _function(tool)
    return (
        str(get(function, "name"))
        if function is not None
        else f"({get(tool, 'display_name', '')})"
    )


def _id(tool: Any) -> str:
    return str(get(tool, "id", ""))


def _state(tool: Any) -> str:
    return str(get(tool, "lifecycle_state", ""))


def _tags(tool: Any) -> dict[str, Any]:
    tags: dict[str, Any] = get(tool, "freeform_tags", {})
    return tags


def _models() -> Any:
    return importlib.import_module("oci.generative_ai_agent.models")
