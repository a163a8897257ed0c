"""The management side of OCI Generative AI Agents: tools, and the work requests that change them.

A change takes time: the tool is CREATING, UPDATING or DELETING until its work request is finished, and the agent takes
no other change meanwhile. Time is counted in looks: every read of the work request or of the tool brings it on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from codegen.simulator.schema import schema_problem
from codegen.simulator.stage import Stage
from codegen.simulator.wire import Api, Incoming, Refusal, Reply, Route, load_json

MAX_TOOLS = 20
"""Tools of one agent."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,254}")
_TOOL_KINDS = {f"{kind}_TOOL_CONFIG" for kind in ("SQL", "RAG", "FUNCTION_CALLING", "HTTP_ENDPOINT", "AGENT")}
_TAGS = frozenset({"metadata", "freeformTags", "definedTags"})
_UPDATE_FIELDS = _TAGS | {"displayName", "description", "toolConfig"}
_CREATE_FIELDS = _UPDATE_FIELDS | {"agentId", "compartmentId"}
_DEFAULT_PAGE = 10


def oci_refusal(status: int, code: str, message: str) -> Refusal:
    """An error in OCI's shape."""
    return Refusal(status, {"code": code, "message": message})


def not_found(what: str, identifier: str) -> Refusal:
    """The service does not say whether something is missing or hidden."""
    return oci_refusal(404, "NotAuthorizedOrNotFound", f"Authorization failed or {what} {identifier} not found.")


def invalid(message: str) -> Refusal:
    """A request with a wrong value."""
    return oci_refusal(400, "InvalidParameter", message)


def check_fields(body: Any, known: frozenset[str], required: Sequence[str] = ()) -> dict[str, Any]:
    """A body that is an object with known fields only; null counts as left out."""
    if not isinstance(body, dict):
        raise oci_refusal(400, "CannotParseRequest", "The body is no JSON object.")
    for name in body:
        if name not in known:
            raise invalid(f"Unrecognized field {name}.")
    for name in required:
        if body.get(name) is None:
            raise oci_refusal(400, "MissingParameter", f"{name} is required.")
    return {name: value for name, value in body.items() if value is not None}


def once(answer: Callable[[Incoming], Reply]) -> Callable[[Incoming], Reply]:
    """Gives a request that is repeated with the same `opc-retry-token` the same answer, without a second effect."""
    answers: dict[str, Reply] = {}

    def answer_once(request: Incoming) -> Reply:
        token = request.headers.get("opc-retry-token")
        key = f"{request.path} {token}"
        if token is not None and key in answers:
            return answers[key]
        reply = answer(request)
        if token is not None and not reply.lost and reply.stream is None:
            commit = reply.commit

            def keep() -> None:
                commit()
                answers[key] = Reply(reply.status, reply.body, reply.headers)

            reply.commit = keep
        return reply

    return answer_once


def decode_parameters(parameters: Any) -> dict[str, Any]:
    """The schema in a function's map of texts.

    Two encodings are in use. In the documented one every value is JSON. In the one of Oracle's agent development kit
    texts stand as they are, objects and arrays are JSON, and everything else is Python text (`True`, `None`). Raises
    `Refusal` for a map that is neither, or whose schema is none.
    """
    if not isinstance(parameters, dict):
        raise invalid("toolConfig.function.parameters is no map.")
    for key, value in parameters.items():
        if not isinstance(value, str):
            raise invalid(f"toolConfig.function.parameters.{key} is no string.")
    try:
        schema = {key: load_json(value) for key, value in parameters.items()}
    except ValueError:
        schema = {key: _plain_value(value) for key, value in parameters.items()}
    if schema.get("type") != "object":
        raise invalid(f"toolConfig.function.parameters.type must be object and is {parameters.get('type')!r}.")
    problem = schema_problem(schema)
    if problem is not None:
        raise invalid(f"toolConfig.function.parameters is no JSON Schema: {problem}")
    return schema


def _plain_value(text: str) -> Any:
    words: dict[str, Any] = {"True": True, "False": False, "None": None}
    if text in words:
        return words[text]
    if text[:1] in ("{", "["):
        try:
            return load_json(text)
        except ValueError:
            return text
    try:
        return int(text)
    except ValueError:
        return text


@dataclass(slots=True)
class WorkRequest:
    """A change under way."""

    id: str
    operation: str
    tool: Tool
    polls: int
    """How many looks it takes until it is finished."""
    fails: bool
    time_accepted: str
    time_finished: str | None = None
    looks: int = 0

    @property
    def status(self) -> str:
        """ACCEPTED, IN_PROGRESS, and in the end SUCCEEDED or FAILED."""
        if self.looks >= self.polls:
            return "FAILED" if self.fails else "SUCCEEDED"
        return "IN_PROGRESS" if self.looks else "ACCEPTED"

    @property
    def finished(self) -> bool:
        """Whether nothing more will happen."""
        return self.time_finished is not None


@dataclass(slots=True)
class Tool:
    """A tool of an agent."""

    id: str
    fields: dict[str, Any]
    state: str
    time_created: str
    time_updated: str
    etag: int = 1
    change: WorkRequest | None = None
    replacement: dict[str, Any] = field(default_factory=dict)
    """The fields that the change under way brings."""

    @property
    def agent(self) -> str:
        """The id of its agent."""
        return str(self.fields["agentId"])

    def view(self) -> dict[str, Any]:
        """The tool as it is."""
        return {
            "displayName": None,
            "metadata": {},
            "freeformTags": {},
            "definedTags": {},
            "systemTags": {},
            **self.fields,
            "id": self.id,
            "lifecycleState": self.state,
            "timeCreated": self.time_created,
            "timeUpdated": self.time_updated,
        }


class OciTools:
    """`/20240531/tools` and `/20240531/workRequests`."""

    api: Api = "oci_agents"

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._tools: dict[str, Tool] = {}
        self._requests: dict[str, WorkRequest] = {}
        self._failed: dict[str, int] = {}

    def routes(self) -> Sequence[Route]:
        """The operations of the API."""
        base = "/20240531"
        one, work = f"{base}/tools/{{tool_id}}", f"{base}/workRequests/{{work_request_id}}"
        return [
            Route("tools.create", "POST", f"{base}/tools", once(self.create)),
            Route("tools.list", "GET", f"{base}/tools", self.list_tools),
            Route("tools.get", "GET", one, self.get),
            Route("tools.update", "PUT", one, self.update),
            Route("tools.delete", "DELETE", one, self.delete),
            Route("work_requests.list", "GET", f"{base}/workRequests", self.list_work_requests),
            Route("work_requests.get", "GET", work, self.work_request),
            Route("work_requests.errors", "GET", f"{work}/errors", self.work_request_errors),
            Route("work_requests.logs", "GET", f"{work}/logs", self.work_request_logs),
        ]

    def scenario_of(self, operation: str, request: Incoming) -> str | None:
        """By the agent of the tool."""
        agent = request.query.get("agentId")
        if isinstance(request.body, dict):
            agent = request.body.get("agentId", agent)
        tool = self._tools.get(request.params.get("tool_id", ""))
        change = self._requests.get(request.params.get("work_request_id", ""))
        if change is not None:
            tool = change.tool
        scenario = self._stage.find(tool.agent if tool else str(agent)) if tool or agent else None
        return scenario.name if scenario else None

    def refusal(self, status: int, code: str, message: str) -> Refusal:
        """An error body of the API."""
        known = {
            "invalid_json": "CannotParseRequest",
            "rate_limit_exceeded": "TooManyRequests",
            "server_error": "InternalServerError",
        }
        return oci_refusal(status, known.get(code, code), message)

    def functions_of(self, scenario: str) -> list[str]:
        """The names of the functions that the agents of a scenario have."""
        tools = [t for t in self._tools.values() if t.state in ("ACTIVE", "UPDATING") and self._belongs(t, scenario)]
        functions = [tool.fields["toolConfig"].get("function", {}) for tool in tools]
        return [str(function["name"]) for function in functions if "name" in function]

    def _belongs(self, tool: Tool, scenario: str) -> bool:
        found = self._stage.find(tool.agent)
        return found is not None and found.name == scenario

    # --- tools ---

    def create(self, request: Incoming) -> Reply:
        """A new tool, which is CREATING at first."""
        required = ("description", "agentId", "compartmentId", "toolConfig")
        fields = check_fields(request.body, _CREATE_FIELDS, required)
        self._check_values(fields)
        self._require_agent(fields["agentId"])
        self._require_free(fields["agentId"])
        living = [t for t in self._tools.values() if t.agent == fields["agentId"] and t.state != "DELETED"]
        if len(living) >= MAX_TOOLS:
            raise oci_refusal(400, "LimitExceeded", f"An agent has at most {MAX_TOOLS} tools.")
        now = self._time()
        identifier = f"ocid1.genaiagenttool.oc1..{self._stage.counters.number('tool'):06d}"
        tool = Tool(identifier, fields, "CREATING", now, now)
        self._tools[tool.id] = tool
        return self._changing(tool, "CREATE_TOOL", tool.view())

    def list_tools(self, request: Incoming) -> Reply:
        """Summaries of tools, page by page; deleted tools are among them."""
        query = request.query
        names = {"agentId": "agentId", "compartmentId": "compartmentId", "displayName": "displayName"}
        found = [
            tool
            for tool in self._tools.values()
            if all(query.get(q) in (None, tool.fields.get(f)) for q, f in names.items())
            and query.get("lifecycleState") in (None, tool.state)
        ]
        key = "displayName" if query.get("sortBy") == "displayName" else "timeCreated"
        views = [tool.view() for tool in found]
        views.sort(key=lambda view: str(view[key]), reverse=query.get("sortOrder") == "DESC")
        for tool in found:
            self._look(tool.change)
        return _page(views, query)

    def get(self, request: Incoming) -> Reply:
        """One tool."""
        tool = self._tool(request)
        reply = Reply(body=tool.view(), headers={"etag": str(tool.etag)})
        self._look(tool.change)
        return reply

    def update(self, request: Incoming) -> Reply:
        """Changes a tool; a field that is given replaces the old one as a whole."""
        tool = self._tool(request)
        fields = check_fields(request.body, _UPDATE_FIELDS)
        self._check_values(fields)
        self._require_unchanged(tool, request)
        self._require_free(tool.agent)
        if tool.state != "ACTIVE":
            raise oci_refusal(409, "IncorrectState", f"Tool {tool.id} is {tool.state}.")
        tool.state, tool.replacement = "UPDATING", fields
        return self._changing(tool, "UPDATE_TOOL")

    def delete(self, request: Incoming) -> Reply:
        """Removes a tool, which stays in lists as DELETED."""
        tool = self._tool(request)
        if tool.state == "DELETED":
            raise not_found("tool", tool.id)
        self._require_unchanged(tool, request)
        self._require_free(tool.agent)
        tool.state = "DELETING"
        return self._changing(tool, "DELETE_TOOL")

    def _tool(self, request: Incoming) -> Tool:
        identifier = request.params["tool_id"]
        tool = self._tools.get(identifier)
        if tool is None:
            raise not_found("tool", identifier)
        return tool

    def _check_values(self, fields: Mapping[str, Any]) -> None:
        name = fields.get("displayName")
        if name is not None and not (isinstance(name, str) and _NAME.fullmatch(name)):
            raise invalid(f"displayName {name!r} does not match {_NAME.pattern}.")
        for text in ("description", "agentId", "compartmentId"):
            if text in fields and not (isinstance(fields[text], str) and fields[text].strip()):
                raise invalid(f"{text} is no text.")
        if "toolConfig" in fields:
            _check_config(fields["toolConfig"])

    def _require_agent(self, agent: str) -> None:
        if self._stage.find(agent) is None:
            raise not_found("agent", agent)

    def _require_unchanged(self, tool: Tool, request: Incoming) -> None:
        wanted = request.headers.get("if-match")
        if wanted is not None and wanted != str(tool.etag):
            raise oci_refusal(412, "NoEtagMatch", f"The etag of tool {tool.id} is {tool.etag}.")

    def _require_free(self, agent: str) -> None:
        """One change of an agent at a time. A refused attempt takes time too, so that no caller waits for ever."""
        for change in self._requests.values():
            if not change.finished and change.tool.agent == agent:
                self._look(change)
                raise oci_refusal(409, "IncorrectState", f"Agent {agent} is being changed by {change.id}.")

    # --- work requests ---

    def _changing(self, tool: Tool, operation: str, body: Any = None) -> Reply:
        scenario = self._stage.find(tool.agent)
        polls = scenario.oci.work_request_polls if scenario else 0
        agent = tool.agent
        fails = scenario is not None and self._failed.get(agent, 0) < scenario.oci.failing_work_requests
        self._failed[agent] = self._failed.get(agent, 0) + 1
        identifier = f"ocid1.genaiagentworkrequest.oc1..{self._stage.counters.number('work_request'):06d}"
        change = WorkRequest(identifier, operation, tool, polls, fails, self._time())
        self._requests[change.id] = tool.change = change
        if polls == 0:
            self._finish(change)
        headers = {"opc-work-request-id": change.id, "etag": str(tool.etag)}
        return Reply(status=200 if body is not None else 204, body=body, headers=headers)

    def _look(self, change: WorkRequest | None) -> None:
        """Somebody looked: time goes on."""
        if change is not None and not change.finished:
            change.looks += 1
            if change.looks >= change.polls:
                self._finish(change)

    def _finish(self, change: WorkRequest) -> None:
        tool = change.tool
        change.time_finished = tool.time_updated = self._time()
        tool.change, tool.etag = None, tool.etag + 1
        outcomes = {"CREATE_TOOL": "ACTIVE", "UPDATE_TOOL": "ACTIVE", "DELETE_TOOL": "DELETED"}
        if change.fails:
            tool.state = "FAILED" if change.operation == "CREATE_TOOL" else "ACTIVE"
        else:
            tool.state = outcomes[change.operation]
            tool.fields = {**tool.fields, **tool.replacement}
        tool.replacement = {}

    def _change(self, request: Incoming) -> WorkRequest:
        identifier = request.params["work_request_id"]
        change = self._requests.get(identifier)
        if change is None:
            raise not_found("work request", identifier)
        return change

    def work_request(self, request: Incoming) -> Reply:
        """A work request as it stands; the look itself brings it on."""
        change = self._change(request)
        view = _work_request_view(change)
        self._look(change)
        return Reply(body=view)

    def work_request_errors(self, request: Incoming) -> Reply:
        """Why a work request failed."""
        change = self._change(request)
        error = {"code": "InternalError", "message": "The change failed.", "timestamp": change.time_finished}
        return Reply(body={"items": [error] if change.finished and change.fails else []})

    def work_request_logs(self, request: Incoming) -> Reply:
        """What a work request did."""
        change = self._change(request)
        entries = [{"message": f"{change.operation} accepted.", "timestamp": change.time_accepted}]
        if change.finished:
            entries.append({"message": f"{change.operation} {change.status}.", "timestamp": change.time_finished or ""})
        return Reply(body={"items": entries})

    def list_work_requests(self, request: Incoming) -> Reply:
        """Work requests of a compartment."""
        wanted = request.query.get("compartmentId")
        changes = [c for c in self._requests.values() if wanted in (None, c.tool.fields["compartmentId"])]
        return _page([_work_request_view(change) for change in changes], request.query)

    def _time(self) -> str:
        return rfc3339(self._stage.counters.now())


def rfc3339(seconds: int) -> str:
    """A time as the service writes it."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def _check_config(config: Any) -> None:
    kind = str(config.get("toolConfigType")) if isinstance(config, dict) else ""
    if kind not in _TOOL_KINDS:
        raise invalid(f"toolConfig.toolConfigType {kind!r} is unknown.")
    if kind != "FUNCTION_CALLING_TOOL_CONFIG":
        return
    if set(config) != {"toolConfigType", "function"} or not isinstance(config["function"], dict):
        raise invalid("toolConfig.function is required.")
    function = check_fields(config["function"], frozenset({"name", "description", "parameters"}), ("name",))
    if not (isinstance(function["name"], str) and _NAME.fullmatch(function["name"])):
        raise invalid(f"toolConfig.function.name {function['name']!r} does not match {_NAME.pattern}.")
    if not isinstance(function.get("description", ""), str):
        raise invalid("toolConfig.function.description is no text.")
    if "parameters" in function:
        decode_parameters(function["parameters"])


def _work_request_view(change: WorkRequest) -> dict[str, Any]:
    acted = {"CREATE_TOOL": "CREATED", "UPDATE_TOOL": "UPDATED", "DELETE_TOOL": "DELETED"}
    tool = change.tool
    resource = {
        "entityType": "Tool",
        "actionType": acted[change.operation] if change.finished else "IN_PROGRESS",
        "identifier": tool.id,
        "entityUri": f"/tools/{tool.id}",
    }
    return {
        "id": change.id,
        "operationType": change.operation,
        "status": change.status,
        "compartmentId": tool.fields["compartmentId"],
        "resources": [resource],
        "percentComplete": 100.0 if change.finished else 0.0,
        "timeAccepted": change.time_accepted,
        "timeStarted": change.time_accepted if change.looks else None,
        "timeFinished": change.time_finished,
    }


def _page(items: Sequence[Any], query: Mapping[str, str]) -> Reply:
    """One page of a list; the header `opc-next-page` leads to the next."""
    try:
        limit, start = int(query.get("limit", _DEFAULT_PAGE)), int(query.get("page", "0").removeprefix("page-"))
    except ValueError as error:
        raise invalid("limit or page is invalid.") from error
    if not 1 <= limit <= 1000:
        raise invalid("limit must be from 1 to 1000.")
    more = {"opc-next-page": f"page-{start + limit}"} if start + limit < len(items) else {}
    return Reply(body={"items": list(items[start : start + limit])}, headers=more)
