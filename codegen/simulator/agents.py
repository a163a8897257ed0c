"""OpenAI Agents sessions (beta, `agents=v1`), played from a scenario.

`Session` is the state machine of one session: inputs are checked as a batch, applied, and the next step of the
scenario is played. `Agents` holds the sessions and saved agents of a server and answers the requests for them.

An input is accepted before it is processed, streams are live only, and what is pending is what `required_actions` of
the retrieved session says: the three things that a client of this API has to live with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
    content_text,
    shown_tools,
)
from codegen.simulator.faults import DelayFault, RaceFault, StaleFault, of_kind, shape
from codegen.simulator.openai import openai_refusal, page, require_bearer
from codegen.simulator.play import Mismatch, Outcome, Play, check_result, chunks, half
from codegen.simulator.scenario import Approval, ModelCall, Step
from codegen.simulator.stage import Stage, mismatch_refusal, step_fault
from codegen.simulator.wire import Api, Cut, Event, Incoming, Later, Refusal, Reply, Route, Stream, Surface, dump_json

_INPUT = "agent.session.input."
_USAGE = {
    "input_tokens": 10,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens": 10,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 20,
}


class RegistrationRace(Exception):
    """A result came before the call was registered; `call_id` is the call. The scenario asked for it."""

    def __init__(self, call_id: str) -> None:
        super().__init__(call_id)
        self.call_id = call_id


@dataclass(slots=True)
class _Turn:
    id: str
    created_at: int
    status: str = "queued"
    started_at: int | None = None
    completed_at: int | None = None
    error: dict[str, str] | None = None
    outputs: int = 0
    """How many output items the turn has."""

    @property
    def over(self) -> bool:
        return self.status in ("completed", "failed", "cancelled")


@dataclass(slots=True)
class _Pending:
    """One required action: as it is shown, and what the scenario has for it."""

    shown: dict[str, Any]
    call: ModelCall | None = None
    approval: Approval | None = None
    races: int = 0
    """How many submissions are still refused as if the call were unknown."""


@dataclass(slots=True)
class Session:
    """One session and its state machine."""

    surface: Surface
    stage: Stage
    play: Play
    id: str
    created_at: int
    agent: dict[str, Any]
    environment: dict[str, Any]
    metadata: dict[str, str]
    settings: dict[str, Any] = field(default_factory=dict)
    """`prompt_cache_options`, `review` and `vault_ids`, which have no effect here."""
    status: str = "idle"
    error: str | None = None
    turns: list[_Turn] = field(default_factory=list)
    items: list[dict[str, Any]] = field(default_factory=list)
    streams: list[Stream] = field(default_factory=list)
    _pending: list[_Pending] = field(default_factory=list)
    _issued: set[tuple[str, str]] = field(default_factory=set)
    _answered: dict[tuple[str, str], str] = field(default_factory=dict)
    _keys: dict[str, str] = field(default_factory=dict)
    _queued: list[dict[str, Any]] = field(default_factory=list)
    """Messages of a turn that has not begun yet."""
    _token: int = 0
    """Changes whenever something that was to happen later must not happen any more."""
    _stale_views: list[dict[str, Any]] = field(default_factory=list)
    _staled: set[tuple[int, int]] = field(default_factory=set)
    _out: list[Event] = field(default_factory=list)

    # --- what a client sees ---

    @property
    def turn(self) -> _Turn | None:
        """The turn in progress."""
        return self.turns[-1] if self.turns and not self.turns[-1].over else None

    @property
    def busy(self) -> bool:
        """Whether work is going on or waiting."""
        return self.turn is not None or bool(self._queued)

    def view(self) -> dict[str, Any]:
        """The session as it is."""
        agent = {**self.agent, "tools": shown_tools(self.agent["tools"])}
        return {
            "id": self.id,
            "object": "agent.session",
            "agent": agent,
            "created_at": self.created_at,
            "last_active_at": self.created_at,
            "environment": self.environment,
            "error": self.error,
            "metadata": self.metadata,
            "required_actions": [dict(pending.shown) for pending in self._pending],
            "status": self.status,
            "usage": dict(_USAGE) if self.turns else None,
            "vault_ids": [],
            **self.settings,
        }

    def retrieved(self) -> dict[str, Any]:
        """The session as a read shows it, which a scenario can make lag behind."""
        return self._stale_views.pop() if self._stale_views else self.view()

    def turn_view(self, turn: _Turn) -> dict[str, Any]:
        """A turn as it is."""
        return {
            "id": turn.id,
            "object": "agent.session.turn",
            "agent_id": self.agent["id"],
            "session_id": self.id,
            "subagent_id": None,
            "status": turn.status,
            "error": turn.error,
            "created_at": turn.created_at,
            "started_at": turn.started_at,
            "completed_at": turn.completed_at,
            "usage": dict(_USAGE) if turn.over else None,
        }

    def open_stream(self, *, obfuscation: bool, created: bool = False) -> Stream:
        """A stream of what happens from now on. The first event says that the session is new, idle or failed."""
        padding = {"obfuscation": "x" * 16} if obfuscation else {}
        stream = Stream(decorate=lambda data: {**data, **padding})
        self.streams.append(stream)
        stream.closed = lambda: self.streams.remove(stream) if stream in self.streams else None
        if created:
            stream.push(self._session_event("created"))
        elif self.status == "failed":
            stream.push(self._session_event("failed"))
            stream.end()
        elif self.status == "idle":
            stream.push(self._session_event("idle"))
        return stream

    # --- input ---

    def submit(self, events: Sequence[dict[str, Any]], key: str | None) -> Sequence[Later]:
        """Takes a batch of input events, all or none.

        Raises `AgentsError` for input that the API refuses, `Mismatch` for input that the scenario does not expect,
        `RegistrationRace` and `Refusal` for faults.
        """
        content = dump_json(events)
        if key is not None and key in self._keys:
            if self._keys[key] != content:
                raise AgentsError("The Idempotency-Key was used with other events before.", None, 409)
            return []
        before = self.view()
        target = self._check(events)
        if target is not None:
            step_fault(self.surface, self.play, *target)
            self._go_stale(target, before)
        if key is not None:
            self._keys[key] = content
        later: list[Later] = []
        for event in events:
            later += self._apply(event)
        return later

    def _check(self, events: Sequence[Mapping[str, Any]]) -> tuple[int, int] | None:
        """Checks a batch without any effect; tells the turn and step of the scenario that it leads to."""
        if self.status == "failed":
            raise AgentsError("The session has failed.", None, 409)
        answered: dict[tuple[str, str], str] = {}
        running, target = self.busy, None
        races: list[_Pending] = []
        for event in events:
            kind = event["type"].removeprefix(_INPUT)
            if kind == "cancel":
                running = False
            elif kind == "message" and not running:
                self.play.copy().next_turn(_text_of(event["input"]))
                running, target = True, (self.play.turn + 1, 0)
            elif kind == "tool_result":
                pending = self._check_tool_result(event, answered, running)
                if pending is not None:
                    races += [pending] if pending.races else []
                    target = target or (self.play.turn, self.play.step + 1)
            elif kind != "message":
                self._check_approval(event)
                target = target or (self.play.turn, self.play.step + 1)
        if races:
            races[0].races -= 1
            raise RegistrationRace(races[0].shown["call_id"])
        return target

    def _check_tool_result(
        self, event: Mapping[str, Any], answered: dict[tuple[str, str], str], running: bool
    ) -> _Pending | None:
        """The pending call that a result belongs to; None for a repeated result, which has no effect."""
        turn_id, call_id = event["turn_id"], event["call_id"]
        key, content = (turn_id, call_id), _result_content(event)
        if key in self._issued and (not running or self.turn is None or self.turn.id != turn_id):
            raise AgentsError(f"Turn {turn_id} has ended; no result is accepted for it.", None, 409)
        known = answered.get(key, self._answered.get(key))
        if known is not None:
            if known != content:
                raise AgentsError(f"Tool call {call_id} already has another result.", None, 409)
            return None
        pending = next((p for p in self._pending if p.shown.get("call_id") == call_id), None)
        if pending is None:
            raise AgentsError(f"Unknown pending tool call: {call_id}")
        if pending.shown["turn_id"] != turn_id:
            raise AgentsError(f"Tool call {call_id} does not belong to turn {turn_id}.", "turn_id")
        answered[key] = content
        if pending.call is not None and not pending.races:
            check_result(pending.call, _outcome(event))
        return pending

    def _check_approval(self, event: Mapping[str, Any]) -> None:
        pending = self._pending_request(event)
        if pending is None:
            raise AgentsError(f"Unknown pending request: {event['request_id']}")
        response = event["response"]
        given = response.get("decision", response.get("action"))
        wanted = pending.approval.decision if pending.approval else None
        if wanted is not None and wanted != given:
            raise Mismatch(f"the approval should be answered with {wanted} and was answered with {given}")

    def _pending_request(self, event: Mapping[str, Any]) -> _Pending | None:
        kind = event["type"].removeprefix(_INPUT).removesuffix("_result")
        return next(
            (p for p in self._pending if p.shown["type"] == kind and p.shown.get("request_id") == event["request_id"]),
            None,
        )

    def _go_stale(self, target: tuple[int, int], before: dict[str, Any]) -> None:
        turn, step = target
        steps = self.play.scenario.turns[turn].model
        faults = of_kind(StaleFault, steps[step].faults if step < len(steps) else [], "openai_agents")
        if faults and target not in self._staled:
            self._staled.add(target)
            self._stale_views = [before] * faults[0].times

    def _apply(self, event: Mapping[str, Any]) -> Sequence[Later]:
        kind = event["type"].removeprefix(_INPUT)
        if kind == "cancel":
            self._cancel()
            return []
        if kind == "message":
            return self._message(event["input"])
        if kind == "tool_result":
            return self._tool_result(event)
        pending = self._pending_request(event)
        return self._resolved(pending) if pending is not None else []

    def _message(self, messages: Sequence[dict[str, Any]]) -> Sequence[Later]:
        if self.busy:  # steers the turn that is running; the scenario goes on as it is
            if self._queued:
                self._queued += messages
            else:
                self._add_messages(messages)
                self._deliver()
            return []
        self.play.next_turn(_text_of(messages))
        self._queued = list(messages)
        return self._next_step()

    def _tool_result(self, event: Mapping[str, Any]) -> Sequence[Later]:
        key = event["turn_id"], event["call_id"]
        if key in self._answered:
            return []
        pending = next(p for p in self._pending if p.shown.get("call_id") == event["call_id"])
        self._answered[key] = _result_content(event)
        if pending.call is not None:
            self.play.accept(pending.call, _outcome(event))
        item = {
            "id": self.stage.counters.next("fco"),
            "type": "function_call_output",
            "call_id": event["call_id"],
            "output": event.get("output"),
            "error": event.get("error"),
            "status": "completed" if event["success"] else "failed",
            "turn_id": event["turn_id"],
        }
        self.items.append(item)
        self._emit("turn.item.added", item=item, output_index=None)
        self._deliver()
        return self._resolved(pending)

    def _resolved(self, pending: _Pending) -> Sequence[Later]:
        """One required action is done; the model goes on after the last."""
        self._pending.remove(pending)
        if self._pending:
            return []
        self.status = "in_progress"
        if self.turn is not None:
            self.turn.status = "in_progress"
        self.play.next_step()
        return self._next_step()

    def connect(self, environment_id: str) -> Sequence[Later]:
        """The environment was connected, which is what an `environment_connection` waits for."""
        for pending in self._pending:
            if pending.shown.get("environment_id") == environment_id:
                return self._resolved(pending)
        return []

    def _cancel(self) -> None:
        self._token += 1
        if self._queued:
            self._begin_turn()
        turn = self.turn
        if turn is None:
            return
        self._end_turn(turn, "cancelled")
        if self.play.scenario.turns[self.play.turn].model[-1].end == "cancelled":
            self.play.finish_turn()
        self._deliver()

    # --- the model ---

    def _next_step(self) -> Sequence[Later]:
        """Plays the step that the scenario stands at, now or after its delay."""
        self.play.begin(self.id)
        delay = self.play.tally.first(DelayFault, self.play.current.faults, "openai_agents")
        if delay is None:
            self._play_step()
            return []
        self._token += 1
        token = self._token

        def go_on() -> Sequence[Later]:
            if token == self._token:
                self._play_step()
            return []

        return [Later(delay.seconds, go_on)]

    def _play_step(self) -> None:
        step = self.play.current
        if self._queued:
            self._begin_turn()
        elif (turn := self.turn) is not None:
            turn.status = self.status = "in_progress"
            self._out.append(self._session_event("in_progress"))
        turn = self.turn
        if turn is None:
            return
        try:
            self._speak(turn, step)
        except Mismatch as mismatch:
            self.play.fail(mismatch.message)
            self._pending.clear()
            self._end_turn(turn, "failed", {"code": "invalid_request", "message": mismatch.message})
        self._deliver(step)

    def _begin_turn(self) -> None:
        counters = self.stage.counters
        turn = _Turn(counters.next("turn"), counters.now())
        self.turns.append(turn)
        self._emit_turn(turn, "created")
        turn.status, turn.started_at, self.status = "in_progress", counters.now(), "in_progress"
        self._add_messages(self._queued)
        self._queued = []
        self._out.append(self._session_event("in_progress"))
        self._emit_turn(turn, "in_progress")

    def _add_messages(self, messages: Sequence[Mapping[str, Any]]) -> None:
        turn = self.turn
        assert turn is not None
        for message in messages:
            item = {
                "id": self.stage.counters.next("msg"),
                "type": "message",
                "role": "user",
                "content": message["content"],
                "phase": None,
                "status": "completed",
                "turn_id": turn.id,
            }
            self.items.append(item)
            self._emit("turn.item.added", item=item, output_index=None)

    def _speak(self, turn: _Turn, step: Step) -> None:
        """One answer of the model, as items and events, and what becomes of the turn."""
        cut = step.end == "incomplete"
        if step.reasoning is not None:
            self._add_reasoning(turn, step.reasoning)
        text = self.play.say(step)
        if text is not None:
            self._add_text(turn, half(text) if cut and not step.calls else text, commentary=step.waits)
        functions = [tool["name"] for tool in self.agent["tools"] if tool["type"] == "function"]
        for position, call in enumerate(step.calls):
            self.play.require_registered(call, functions)
            truncated = cut and position == len(step.calls) - 1
            self._add_call(turn, step, position, truncated=truncated)
        for approval in step.approvals:
            self._add_approval(turn, approval)
        if step.end == "completed" and step.waits:
            turn.status, self.status = "waiting", "requires_action"
            self._out.append(self._session_event("requires_action", mark="end"))
            return
        error = {"code": step.error.code, "message": step.error.message}
        if cut:
            error = {"code": "max_output_tokens", "message": "The model reached its output token limit."}
        outcome = {"incomplete": "failed", "session_failed": "failed"}.get(step.end, step.end)
        if step.end == "session_failed":
            self.error = step.error.message
        self._end_turn(turn, outcome, error if outcome == "failed" else None)
        if self.play.at_last_step:
            self.play.finish_turn()

    def _end_turn(self, turn: _Turn, outcome: str, error: dict[str, str] | None = None) -> None:
        turn.status, turn.error, turn.completed_at = outcome, error, self.stage.counters.now()
        self._pending.clear()
        self.status = "failed" if self.error is not None else "idle"
        if error is not None:
            shown = {**error, "param": None, "type": "server_error"}
            self._out.append(self._event("error", {"error": shown, "session_id": self.id}))
        self._emit_turn(turn, outcome, mark="end", usage=dict(_USAGE))
        self._out.append(self._session_event(self.status))

    def _add_call(self, turn: _Turn, step: Step, position: int, *, truncated: bool) -> None:
        call = step.calls[position]
        arguments = self.play.arguments(call)
        if truncated and call.raw is None:
            arguments = half(dump_json(arguments))
        call_id = call.call_id or self.stage.counters.next("call")
        key = (turn.id, call_id)
        while key in self._issued:
            key = (turn.id, self.stage.counters.next("call"))
        shared = {"call_id": key[1], "name": call.name, "arguments": arguments, "turn_id": turn.id}
        item = {"id": self.stage.counters.next("fc"), "type": "function_call", **shared, "status": "in_progress"}
        done = {**item, "status": "incomplete" if truncated else "completed"}
        self._add_output(turn, item, done, [], mark="call")
        if step.end == "completed":
            self._issued.add(key)
            races = sum(
                fault.times
                for fault in of_kind(RaceFault, step.faults, "openai_agents")
                if fault.calls is None or position in fault.calls
            )
            self._pending.append(_Pending({"type": "function_call", **shared}, call=call, races=races))
        elif not truncated:
            self._issued.add(key)

    def _add_approval(self, turn: _Turn, approval: Approval) -> None:
        counters = self.stage.counters
        if approval.kind == "environment":
            identifier = self.environment.get("id") or counters.next("env")
            self._pending.append(
                _Pending({"type": "environment_connection", "environment_id": identifier}, approval=approval)
            )
            return
        request: dict[str, Any]
        if approval.kind == "mcp":
            request = {
                "type": "mcp_tool_call",
                "server_label": approval.server_label,
                "name": approval.name,
                "message": approval.message,
                "arguments": approval.arguments,
            }
        elif approval.kind == "browser_origin":
            request = {"type": "browser_origin_access", "origin": approval.origin, "reason": approval.message}
        else:
            field_ = {"id": "user", "label": "User", "required": True, "type": "text"}
            request = {
                "type": "browser_authentication",
                "credential_origin": approval.origin,
                "fields": [field_],
                "options": [],
                "reason": approval.message,
            }
        kind = "mcp_approval_request" if approval.kind == "mcp" else "computer_use_approval_request"
        shown = {"type": kind, "turn_id": turn.id, "request_id": counters.next("request"), "request": request}
        self._pending.append(_Pending(shown, approval=approval))

    def _add_text(self, turn: _Turn, text: str, *, commentary: bool) -> None:
        part = {"type": "output_text", "text": text}
        item = {
            "id": self.stage.counters.next("msg"),
            "type": "message",
            "role": "assistant",
            "content": [],
            "phase": "commentary" if commentary else "final_answer",
            "status": "in_progress",
            "turn_id": turn.id,
        }
        middle: list[tuple[str, dict[str, Any]]] = [
            ("content_part.added", {"part": {**part, "text": ""}}),
            *(("output_text.delta", {"delta": piece}) for piece in chunks(text)),
            ("output_text.done", {"text": text}),
            ("content_part.done", {"part": part}),
        ]
        inside = [(name, {"content_index": 0, **data}) for name, data in middle]
        self._add_output(turn, item, {**item, "content": [part], "status": "completed"}, inside, mark="answer")

    def _add_reasoning(self, turn: _Turn, text: str) -> None:
        part = {"type": "summary_text", "text": text}
        item = {"id": self.stage.counters.next("rs"), "type": "reasoning", "summary": [], "status": "in_progress"}
        item["turn_id"] = turn.id
        middle: list[tuple[str, dict[str, Any]]] = [
            ("reasoning_summary_part.added", {"part": {**part, "text": ""}}),
            *(("reasoning_summary_text.delta", {"delta": piece}) for piece in chunks(text)),
            ("reasoning_summary_text.done", {"text": text}),
            ("reasoning_summary_part.done", {"part": part}),
        ]
        inside = [(name, {"summary_index": 0, **data}) for name, data in middle]
        self._add_output(turn, item, {**item, "summary": [part], "status": "completed"}, inside)

    def _add_output(
        self,
        turn: _Turn,
        begun: dict[str, Any],
        done: dict[str, Any],
        middle: Sequence[tuple[str, dict[str, Any]]],
        mark: str = "",
    ) -> None:
        """One output item and its events."""
        index = turn.outputs
        turn.outputs += 1
        self._emit("turn.item.added", mark=mark, item=begun, output_index=index)
        for name, data in middle:
            self._emit(f"turn.{name}", item_id=begun["id"], output_index=index, **data)
        self._emit("turn.item.done", item=done, output_index=index)
        self.items.append(done)

    # --- events ---

    def _event(self, kind: str, data: Mapping[str, Any], mark: str = "") -> Event:
        return Event(kind, {"type": kind, "event_id": self.stage.counters.next("event"), **data}, mark)

    def _session_event(self, kind: str, mark: str = "") -> Event:
        return self._event(f"agent.session.{kind}", {"session": self.view()}, mark)

    def _emit(self, name: str, mark: str = "", **data: Any) -> None:
        turn_id = self.turns[-1].id if self.turns else None
        self._out.append(
            self._event(f"agent.session.{name}", {"session_id": self.id, "turn_id": turn_id, **data}, mark)
        )

    def _emit_turn(self, turn: _Turn, kind: str, mark: str = "", **data: Any) -> None:
        self._emit(f"turn.{kind}", mark, turn=self.turn_view(turn), **data)

    def _deliver(self, step: Step | None = None) -> None:
        """Sends what has been emitted to every open stream; a step's faults may lose or repeat some of it."""
        faults = step.faults if step is not None and self.streams else []
        shaped = shape(self._out, faults, "openai_agents", self.play.tally)
        self._out = []
        for stream in list(self.streams):
            stream.push(*shaped.events)
            if shaped.cut is not None:
                stream.end(shaped.cut)
            elif self.status == "failed":
                stream.end(Cut.CLEAN)
        if shaped.cut is not None or self.status == "failed":
            self.streams.clear()


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
        first = {"type": f"{_INPUT}message", "input": messages}
        later: Sequence[Later] = []
        stream = None
        if messages:  # checked before the session counts, so that a refused request leaves none behind
            self._try(session, session.play.copy().next_turn, _text_of(messages))
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

    def _turn(self, request: Incoming) -> tuple[Session, _Turn]:
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


def _text_of(messages: Sequence[Mapping[str, Any]]) -> str:
    return "\n".join(content_text(message["content"]) for message in messages)


def _outcome(event: Mapping[str, Any]) -> Outcome:
    if event["success"]:
        return Outcome(content_text(event["output"]), True)
    return Outcome(event["error"], False)


def _result_content(event: Mapping[str, Any]) -> str:
    """A result in a form that tells equal ones from others."""
    return dump_json([event["success"], event.get("output"), event.get("error")])
