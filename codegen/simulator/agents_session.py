"""The state machine of one Agents session: input is checked as a batch, applied, and the scenario's next step played.

An input is accepted before it is processed, streams are live only, and what is pending is what `required_actions` of
the retrieved session says: the three things that a client of this API has to live with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from codegen.simulator.agents_input import AgentsError, content_text, shown_tools
from codegen.simulator.faults import DelayFault, RaceFault, StaleFault, of_kind, shape
from codegen.simulator.play import Mismatch, Outcome, Play, check_result, chunks, half
from codegen.simulator.scenario import Approval, ModelCall, Step
from codegen.simulator.stage import Stage, step_fault
from codegen.simulator.wire import Cut, Event, Later, Stream, Surface, dump_json

INPUT = "agent.session.input."
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
class SessionTurn:
    """One turn."""

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
        """Whether it has ended, one way or another."""
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
    turns: list[SessionTurn] = field(default_factory=list)
    items: list[dict[str, Any]] = field(default_factory=list)
    streams: list[Stream] = field(default_factory=list)
    _pending: list[_Pending] = field(default_factory=list)
    _issued: set[tuple[str, str]] = field(default_factory=set)
    _answered: dict[tuple[str, str], str] = field(default_factory=dict)
    _keys: dict[str, str] = field(default_factory=dict)
    _queued: list[dict[str, Any]] = field(default_factory=list)
    """Messages of a turn that has not begun yet."""
    _due: bool = False
    """Whether the model has something to go on with."""
    _token: int = 0
    """Changes whenever something that was to happen later must not happen any more."""
    _stale_views: list[dict[str, Any]] = field(default_factory=list)
    _staled: set[tuple[int, int]] = field(default_factory=set)
    _out: list[Event] = field(default_factory=list)

    # --- what a client sees ---

    @property
    def turn(self) -> SessionTurn | None:
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

    def turn_view(self, turn: SessionTurn) -> dict[str, Any]:
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
        for event in events:
            self._apply(event)
        return self._go_on()

    def _check(self, events: Sequence[Mapping[str, Any]]) -> tuple[int, int] | None:
        """Checks a batch without any effect; tells the turn and step of the scenario that it leads to."""
        if self.status == "failed":
            raise AgentsError("The session has failed.", None, 409)
        answered: dict[tuple[str, str], str] = {}
        running, target, ahead = self.busy, None, self.play.copy()
        live = self.turn.id if self.turn is not None else None
        races: list[_Pending] = []
        for event in events:
            kind = event["type"].removeprefix(INPUT)
            if kind == "cancel":
                running, live = False, None
            elif kind == "message" and not running:
                ahead.next_turn(text_of(event["input"]))
                running, target = True, (ahead.turn, 0)
            elif kind == "tool_result":
                pending = self._check_tool_result(event, answered, live)
                if pending is not None:
                    races += [pending] if pending.races else []
                    target = target or (self.play.turn, self.play.step + 1)
            elif kind != "message":
                self._check_approval(event, live)
                target = target or (self.play.turn, self.play.step + 1)
        if races:
            races[0].races -= 1
            raise RegistrationRace(races[0].shown["call_id"])
        return target

    def _check_tool_result(
        self, event: Mapping[str, Any], answered: dict[tuple[str, str], str], live: str | None
    ) -> _Pending | None:
        """The pending call that a result belongs to; None for a repeated result, which has no effect."""
        turn_id, call_id = event["turn_id"], event["call_id"]
        key, content = (turn_id, call_id), _result_content(event)
        if key in self._issued and turn_id != live:
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

    def _check_approval(self, event: Mapping[str, Any], live: str | None) -> None:
        pending = self._pending_request(event)
        if pending is None or live is None:
            raise AgentsError(f"Unknown pending request: {event['request_id']}")
        response = event["response"]
        given = response.get("decision", response.get("action"))
        wanted = pending.approval.decision if pending.approval else None
        if wanted is not None and wanted != given:
            raise Mismatch(f"the approval should be answered with {wanted} and was answered with {given}")

    def _pending_request(self, event: Mapping[str, Any]) -> _Pending | None:
        kind = event["type"].removeprefix(INPUT).removesuffix("_result")
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

    def _apply(self, event: Mapping[str, Any]) -> None:
        """What one input changes at once. The model goes on only after the whole batch."""
        kind = event["type"].removeprefix(INPUT)
        if kind == "cancel":
            self._cancel()
        elif kind == "message":
            self._message(event["input"])
        elif kind == "tool_result":
            self._tool_result(event)
        elif (pending := self._pending_request(event)) is not None:
            self._resolved(pending)

    def _message(self, messages: Sequence[dict[str, Any]]) -> None:
        if self.busy:  # steers the turn that is running; the scenario goes on as it is
            if self._queued:
                self._queued += messages
            else:
                self._add_messages(messages)
                self._deliver()
            return
        self.play.next_turn(text_of(messages))
        self._queued, self._due = list(messages), True

    def _tool_result(self, event: Mapping[str, Any]) -> None:
        key = event["turn_id"], event["call_id"]
        if key in self._answered:
            return
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
        self._resolved(pending)

    def _resolved(self, pending: _Pending) -> None:
        """One required action is done; the model goes on after the last."""
        self._pending.remove(pending)
        if self._pending:
            return
        self.status = "in_progress"
        if self.turn is not None:
            self.turn.status = "in_progress"
        self.play.next_step()
        self._due = True

    def connect(self, environment_id: str) -> Sequence[Later]:
        """The environment was connected, which is what an `environment_connection` waits for."""
        for pending in self._pending:
            if pending.shown.get("environment_id") == environment_id:
                self._resolved(pending)
                return self._go_on()
        return []

    def _cancel(self) -> None:
        self._token += 1
        self._due = False
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

    def _go_on(self) -> Sequence[Later]:
        """Plays the step that is due, now or after its delay."""
        if not self._due:
            return []
        self._due = False
        self.play.begin(self.id)
        delay = self.play.tally.first(DelayFault, self.play.current.faults, "openai_agents")
        if delay is None:
            self._play_step()
            return []
        self._token += 1
        token = self._token

        def play_later() -> Sequence[Later]:
            if token == self._token:
                self._play_step()
            return []

        return [Later(delay.seconds, play_later)]

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
        turn = SessionTurn(counters.next("turn"), counters.now())
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

    def _speak(self, turn: SessionTurn, step: Step) -> None:
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

    def _end_turn(self, turn: SessionTurn, outcome: str, error: dict[str, str] | None = None) -> None:
        turn.status, turn.error, turn.completed_at = outcome, error, self.stage.counters.now()
        self._pending.clear()
        self.status = "failed" if self.error is not None else "idle"
        if error is not None:
            shown = {**error, "param": None, "type": "server_error"}
            self._out.append(self._event("error", {"error": shown, "session_id": self.id}))
        self._emit_turn(turn, outcome, mark="end", usage=dict(_USAGE))
        self._out.append(self._session_event(self.status))

    def _add_call(self, turn: SessionTurn, step: Step, position: int, *, truncated: bool) -> None:
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

    def _add_approval(self, turn: SessionTurn, approval: Approval) -> None:
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

    def _add_text(self, turn: SessionTurn, text: str, *, commentary: bool) -> None:
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

    def _add_reasoning(self, turn: SessionTurn, text: str) -> None:
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
        turn: SessionTurn,
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

    def _emit_turn(self, turn: SessionTurn, kind: str, mark: str = "", **data: Any) -> None:
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


def text_of(messages: Sequence[Mapping[str, Any]]) -> str:
    """The text of the messages of one input."""
    return "\n".join(content_text(message["content"]) for message in messages)


def _outcome(event: Mapping[str, Any]) -> Outcome:
    if event["success"]:
        return Outcome(content_text(event["output"]), True)
    return Outcome(event["error"], False)


def _result_content(event: Mapping[str, Any]) -> str:
    """A result in a form that tells equal ones from others."""
    return dump_json([event["success"], event.get("output"), event.get("error")])
