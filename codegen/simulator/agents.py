"""OpenAI Agents sessions (beta, `agents=v1`): the sessions and saved agents of a server, and the requests for them.

What happens inside a session is in `codegen.simulator.agents_session`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from codegen.simulator.agents_input import (
    AGENT_FIELDS,
    AgentsError,
    check_environment,
    check_events,
    check_input,
    check_keys,
    check_metadata,
    check_tools,
    shown_tools,
)
from codegen.simulator.agents_session import INPUT, RegistrationRace, Session, SessionTurn, text_of
from codegen.simulator.openai import openai_refusal, page, require_bearer
from codegen.simulator.play import Mismatch
from codegen.simulator.stage import Stage, mismatch_refusal, step_fault
from codegen.simulator.wire import Api, Incoming, Later, Refusal, Reply, Route


class Agents:
    """`/v1/agents` and `/v1/agents/sessions`."""

    api: Api = "openai_agents"

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._sessions: dict[str, Session] = {}
        self._saved: dict[str, dict[str, Any]] = {}

    def routes(self) -> Sequence[Route]:
        """The operations of the API."""
        sessions = "/v1/agents/sessions"
        one, saved = f"{sessions}/{{session_id}}", "/v1/agents/{agent_id}"
        table = [
            ("sessions.create", "POST", sessions, self.create),
            ("sessions.list", "GET", sessions, self.list_sessions),
            ("sessions.retrieve", "GET", one, self.retrieve),
            ("sessions.update", "POST", one, self.update),
            ("sessions.delete", "DELETE", one, self.delete),
            ("events.create", "POST", f"{one}/events", self.submit),
            ("events.stream", "GET", f"{one}/events", self.stream),
            ("items.list", "GET", f"{one}/items", self.items),
            ("turns.list", "GET", f"{one}/turns", self.turns),
            ("turns.retrieve", "GET", f"{one}/turns/{{turn_id}}", self.turn),
            ("turns.items.list", "GET", f"{one}/turns/{{turn_id}}/items", self.turn_items),
            ("agents.create", "POST", "/v1/agents", self.save_agent),
            ("agents.list", "GET", "/v1/agents", self.list_agents),
            ("agents.retrieve", "GET", saved, self.retrieve_agent),
            ("agents.update", "POST", saved, self.update_agent),
            ("agents.delete", "DELETE", saved, self.delete_agent),
        ]
        return [Route(name, method, path, self._guarded(answer)) for name, method, path, answer in table]

    def _guarded(self, answer: Any) -> Any:
        def guarded(request: Incoming) -> Reply:
            require_bearer(request.headers)
            if request.headers.get("openai-beta") != "agents=v1":
                raise openai_refusal(400, "This API needs the header 'OpenAI-Beta: agents=v1'.", code="invalid_beta")
            try:
                reply: Reply = answer(request)
                return reply
            except AgentsError as error:
                code = "conflict" if error.status == 409 else "invalid_request_error"
                raise openai_refusal(error.status, error.message, code=code, param=error.param) from error

        return guarded

    def scenario_of(self, operation: str, request: Incoming) -> str | None:
        """By the session, or by the model of the session that is to be created."""
        session = self._sessions.get(request.params.get("session_id", ""))
        if session is not None:
            return session.play.scenario.name
        body = request.body if isinstance(request.body, dict) else {}
        saved = self._saved.get(str(body.get("agent_id")), {})
        agent = body.get("agent")
        model = {**saved, **(agent if isinstance(agent, dict) else {})}.get("model")
        scenario = self._stage.find(model) if isinstance(model, str) and operation == "sessions.create" else None
        return scenario.name if scenario else None

    def refusal(self, status: int, code: str, message: str) -> Refusal:
        """An error body of the API."""
        return openai_refusal(status, message, code=code)

    def connect(self, environment_id: str) -> Sequence[Later]:
        """Connects an environment that a session waits for."""
        return [later for session in self._sessions.values() for later in session.connect(environment_id)]

    # --- sessions ---

    def create(self, request: Incoming) -> Reply:
        """A new session, with its first turn when there is input."""
        known = "environment agent agent_id input metadata prompt_cache_options review stream stream_options vault_ids"
        body = check_keys(request.body, frozenset(known.split()))
        environment = check_environment(body.get("environment"))
        agent = self._agent(body)
        streams, given = bool(body.get("stream")), body.get("input")
        if given is None and (environment["type"] == "none" or (streams and environment["type"] != "self_hosted")):
            raise AgentsError("Missing required parameter: 'input'.", "input")
        if body.get("stream_options") is not None and not streams:
            raise AgentsError("'stream_options' is only allowed when 'stream' is true.", "stream_options")
        messages = check_input(given) if given is not None else []
        session = self._new_session(body, agent, environment)
        first = {"type": f"{INPUT}message", "input": messages}
        later: Sequence[Later] = []
        stream = None
        if messages:  # checked before the session counts, so that a refused request leaves none behind
            self._try(session, session.play.copy().next_turn, text_of(messages))
            step_fault(self, session.play, 0, 0)
        self._sessions[session.id] = session
        if streams:
            obfuscation = (body.get("stream_options") or {}).get("include_obfuscation") is not False
            stream = session.open_stream(obfuscation=obfuscation, created=True)
        if messages:
            later = session.submit([first], None)
        return Reply(body=None if streams else session.view(), stream=stream, later=later)

    def _new_session(self, body: Mapping[str, Any], agent: dict[str, Any], environment: dict[str, Any]) -> Session:
        scenario = self._stage.find(agent["model"])
        if scenario is None:
            raise AgentsError(f"The model '{agent['model']}' does not exist.", "agent.model", 404)
        counters = self._stage.counters
        identifier = counters.next("sess")
        settings = {k: body[k] for k in ("prompt_cache_options", "review") if body.get(k) is not None}
        play = self._stage.play(scenario, self.api)
        metadata = check_metadata(body.get("metadata"))
        shown = _shown_environment(environment, counters.next("env"))
        settings["vault_ids"] = list(body.get("vault_ids") or [])
        return Session(self, self._stage, play, identifier, counters.now(), agent, shown, metadata, settings)

    def _agent(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The agent of a new session: the saved one, if named, with what the request says instead."""
        given = body.get("agent")
        given = check_keys({} if given is None else given, AGENT_FIELDS, "agent.")
        identifier = body.get("agent_id")
        saved: dict[str, Any] = {}
        if identifier is not None:
            if identifier not in self._saved:
                raise AgentsError(f"Agent with id '{identifier}' not found.", "agent_id", 404)
            saved = {k: v for k, v in self._saved[identifier].items() if k in AGENT_FIELDS | {"id", "name"}}
        if not isinstance({**saved, **given}.get("model"), str):
            raise AgentsError("Missing required parameter: 'agent.model'.", "agent.model")
        tools = check_tools(given["tools"]) if "tools" in given else saved.get("tools", [])
        merged = {"id": self._stage.counters.next("agent"), "name": None, **_AGENT_DEFAULTS, **saved}
        return {**merged, **{k: v for k, v in given.items() if v is not None}, "tools": tools}

    def _session(self, request: Incoming) -> Session:
        identifier = request.params["session_id"]
        session = self._sessions.get(identifier)
        if session is None:
            raise AgentsError(f"Session with id '{identifier}' not found.", "session_id", 404)
        return session

    def _try(self, session: Session, action: Any, *arguments: Any) -> Any:
        """Does something with a session; what the scenario does not expect becomes an error, and is noted."""
        try:
            return action(*arguments)
        except Mismatch as mismatch:
            raise mismatch_refusal(self, session.play, mismatch) from mismatch
        except RegistrationRace as race:
            refusal = openai_refusal(400, f"Unknown pending tool call: {race.call_id}", code="invalid_request_error")
            refusal.fault = True
            raise refusal from race

    def retrieve(self, request: Incoming) -> Reply:
        """The session with its status and required actions."""
        return Reply(body=self._session(request).retrieved())

    def update(self, request: Incoming) -> Reply:
        """Changes tools, model, metadata and settings; what is left out stays."""
        session = self._session(request)
        body = check_keys(request.body, frozenset({"agent", "metadata", "prompt_cache_options", "review"}))
        fields = frozenset({"model", "reasoning", "service_tier", "tools"})
        given = check_keys(body.get("agent") or {}, fields, "agent.")
        tools = check_tools(given["tools"]) if "tools" in given else session.agent["tools"]
        session.agent = {**session.agent, **{k: v for k, v in given.items() if v is not None}, "tools": tools}
        if "metadata" in body:
            session.metadata = check_metadata(body["metadata"])
        session.settings |= {k: body[k] for k in ("prompt_cache_options", "review") if k in body}
        return Reply(body=session.view())

    def delete(self, request: Incoming) -> Reply:
        """Removes a session that has nothing to do."""
        session = self._session(request)
        if session.busy:
            raise AgentsError("The session has pending work; cancel it first.", None, 409)
        del self._sessions[session.id]
        for stream in session.streams:
            stream.end()
        return Reply(body={"id": session.id, "object": "agent.session.deleted", "deleted": True})

    def list_sessions(self, request: Incoming) -> Reply:
        """The sessions, by agent and metadata."""
        wanted = {k[9:-1]: v for k, v in request.query.items() if k.startswith("metadata[")}
        agent_id = request.query.get("agent_id")
        sessions = [
            s.view()
            for s in self._sessions.values()
            if (agent_id is None or s.agent["id"] == agent_id) and wanted.items() <= s.metadata.items()
        ]
        return Reply(body=page(sessions, request.query))

    def submit(self, request: Incoming) -> Reply:
        """Input events: accepted with 202 and no body; what comes of them is on the stream and in the session."""
        session = self._session(request)
        events = check_events(request.body)
        key = request.headers.get("idempotency-key")
        return Reply(status=202, later=self._try(session, session.submit, events, key))

    def stream(self, request: Incoming) -> Reply:
        """What happens from now on."""
        obfuscation = request.query.get("include_obfuscation") != "false"
        return Reply(stream=self._session(request).open_stream(obfuscation=obfuscation))

    def items(self, request: Incoming) -> Reply:
        """The items of a session."""
        return Reply(body=page(self._session(request).items, request.query))

    def turns(self, request: Incoming) -> Reply:
        """The turns of a session."""
        session = self._session(request)
        return Reply(body=page([session.turn_view(turn) for turn in session.turns], request.query))

    def turn(self, request: Incoming) -> Reply:
        """One turn."""
        session, turn = self._turn(request)
        return Reply(body=session.turn_view(turn))

    def turn_items(self, request: Incoming) -> Reply:
        """The items of one turn."""
        session, turn = self._turn(request)
        return Reply(body=page([item for item in session.items if item["turn_id"] == turn.id], request.query))

    def _turn(self, request: Incoming) -> tuple[Session, SessionTurn]:
        session, identifier = self._session(request), request.params["turn_id"]
        turn = next((t for t in session.turns if t.id == identifier), None)
        if turn is None:
            raise AgentsError(f"Turn with id '{identifier}' not found.", "turn_id", 404)
        return session, turn

    # --- saved agents ---

    def save_agent(self, request: Incoming) -> Reply:
        """A reusable agent."""
        body = check_keys(request.body, AGENT_FIELDS | {"metadata", "name"})
        if not isinstance(body.get("model"), str):
            raise AgentsError("Missing required parameter: 'model'.", "model")
        now = self._stage.counters.now()
        agent: dict[str, Any] = {
            "id": self._stage.counters.next("agent"),
            "object": "agent",
            "created_at": now,
            "updated_at": now,
            "name": body.get("name"),
            "metadata": check_metadata(body.get("metadata")),
            **_AGENT_DEFAULTS,
            **{k: v for k, v in body.items() if k in AGENT_FIELDS and v is not None},
            "tools": check_tools(body.get("tools"), "tools"),
        }
        self._saved[agent["id"]] = agent
        return Reply(body=_shown_agent(agent))

    def _saved_agent(self, request: Incoming) -> dict[str, Any]:
        identifier = request.params["agent_id"]
        if identifier not in self._saved:
            raise AgentsError(f"Agent with id '{identifier}' not found.", "agent_id", 404)
        return self._saved[identifier]

    def retrieve_agent(self, request: Incoming) -> Reply:
        """A saved agent."""
        return Reply(body=_shown_agent(self._saved_agent(request)))

    def update_agent(self, request: Incoming) -> Reply:
        """Changes a saved agent; sessions that exist keep theirs."""
        agent = self._saved_agent(request)
        body = check_keys(request.body, AGENT_FIELDS | {"metadata", "name"})
        changes = dict(body)
        if "tools" in changes:
            changes["tools"] = check_tools(changes["tools"], "tools")
        if "metadata" in changes:
            changes["metadata"] = check_metadata(changes["metadata"])
        agent |= changes
        agent["updated_at"] = self._stage.counters.now()
        return Reply(body=_shown_agent(agent))

    def delete_agent(self, request: Incoming) -> Reply:
        """Removes a saved agent."""
        agent = self._saved_agent(request)
        del self._saved[agent["id"]]
        return Reply(body={"id": agent["id"], "object": "agent.deleted", "deleted": True})

    def list_agents(self, request: Incoming) -> Reply:
        """The saved agents."""
        return Reply(body=page([_shown_agent(agent) for agent in self._saved.values()], request.query))


_AGENT_DEFAULTS: dict[str, Any] = {
    "instructions": None,
    "multi_agent": {"enabled": False},
    "reasoning": {"effort": None, "summary": None},
    "service_tier": "auto",
    "text": {"format": {"type": "text"}, "verbosity": "medium"},
    "tools": [],
}


def _shown_agent(agent: Mapping[str, Any]) -> dict[str, Any]:
    return {**agent, "tools": shown_tools(agent["tools"])}


def _shown_environment(environment: Mapping[str, Any], identifier: str) -> dict[str, Any]:
    """An environment as a session shows it."""
    if environment["type"] == "none":
        return {"type": "none"}
    shown: dict[str, Any] = {"id": identifier, "capability_directories": [], **environment}
    if environment["type"] == "self_hosted":
        return {"remote_url": f"https://environments.invalid/{identifier}", **shown}
    lists: dict[str, Any] = {"files": [], "plugins": [], "skills": []}
    network = {"access": "disabled", "allowed_domains": []}
    return {**lists, "network": network, "packages": {"npm": [], "python": [], "system": []}, **shown}
