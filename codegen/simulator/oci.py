"""The runtime side of OCI Generative AI Agents: sessions and chat, played from a scenario.

A chat that ends in required actions waits for all of their results in one request. The service keeps the history, so a
request says only what is new. An answer that could not be delivered counts as not given, and the client may ask again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from codegen.simulator.faults import DelayFault, shape
from codegen.simulator.oci_tools import OciTools, check_fields, invalid, not_found, oci_refusal, once, rfc3339
from codegen.simulator.play import Mismatch, Outcome, Play, check_result, half
from codegen.simulator.scenario import Approval, ModelCall, Scenario, Step
from codegen.simulator.stage import Stage, mismatch_refusal, step_fault
from codegen.simulator.wire import Api, Event, Incoming, Refusal, Reply, Route, Stream, dump_json

_CHAT_FIELDS = frozenset(
    ("userMessage", "shouldStream", "sessionId", "toolParameters", "toolInputs", "performedActions")
)
_FUNCTION, _APPROVAL = "FUNCTION_CALLING", "HUMAN_APPROVAL"


@dataclass(frozen=True, slots=True)
class _Action:
    """One required action: as it is shown, and what the scenario has for it."""

    shown: dict[str, Any]
    call: ModelCall | None = None
    approval: Approval | None = None

    @property
    def kind(self) -> str:
        return _FUNCTION if self.call is not None else _APPROVAL


@dataclass(slots=True)
class _Session:
    """A conversation."""

    id: str
    fields: dict[str, Any]
    time_created: str
    time_updated: str
    play: Play
    pending: dict[str, _Action] = field(default_factory=dict)
    first_message: str = ""
    """The message that began the turn."""

    def view(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "displayName": self.fields.get("displayName"),
            "description": self.fields.get("description"),
            "welcomeMessage": "",
            "timeCreated": self.time_created,
            "timeUpdated": self.time_updated,
        }


class Oci:
    """`/20240531/agentEndpoints/…`: sessions and chat."""

    api: Api = "oci_agents"

    def __init__(self, stage: Stage, tools: OciTools) -> None:
        self._stage = stage
        self._tools = tools
        self._sessions: dict[tuple[str, str], _Session] = {}

    def routes(self) -> Sequence[Route]:
        """The operations of the API."""
        endpoint = "/20240531/agentEndpoints/{endpoint_id}"
        one = f"{endpoint}/sessions/{{session_id}}"
        return [
            Route("sessions.create", "POST", f"{endpoint}/sessions", once(self.create_session)),
            Route("sessions.retrieve", "GET", one, self.get_session),
            Route("sessions.update", "PUT", one, self.update_session),
            Route("sessions.delete", "DELETE", one, self.delete_session),
            Route("chat", "POST", f"{endpoint}/actions/chat", once(self.chat)),
        ]

    def scenario_of(self, operation: str, request: Incoming) -> str | None:
        """By the agent endpoint."""
        scenario = self._stage.find(request.params["endpoint_id"])
        return scenario.name if scenario else None

    def refusal(self, status: int, code: str, message: str) -> Refusal:
        """An error body of the API."""
        return self._tools.refusal(status, code, message)

    # --- sessions ---

    def create_session(self, request: Incoming) -> Reply:
        """A new session of an endpoint."""
        endpoint = request.params["endpoint_id"]
        scenario = self._scenario(endpoint)
        fields = check_fields({} if request.body is None else request.body, frozenset({"displayName", "description"}))
        session = self._new_session(endpoint, scenario, fields)
        return Reply(body=session.view())

    def _scenario(self, endpoint: str) -> Scenario:
        scenario = self._stage.find(endpoint)
        if scenario is None:
            raise not_found("agent endpoint", endpoint)
        return scenario

    def _new_session(self, endpoint: str, scenario: Scenario, fields: dict[str, Any]) -> _Session:
        now = rfc3339(self._stage.counters.now())
        identifier = f"ocid1.genaiagentsession.oc1..{self._stage.counters.number('session'):06d}"
        session = _Session(identifier, fields, now, now, self._stage.play(scenario, self.api))
        self._sessions[endpoint, session.id] = session
        return session

    def _session(self, request: Incoming) -> _Session:
        return self._known_session(request.params["endpoint_id"], request.params["session_id"])

    def _known_session(self, endpoint: str, identifier: str) -> _Session:
        session = self._sessions.get((endpoint, identifier))
        if session is None:
            raise not_found("session", identifier)
        return session

    def get_session(self, request: Incoming) -> Reply:
        """A session."""
        return Reply(body=self._session(request).view())

    def update_session(self, request: Incoming) -> Reply:
        """Changes name and description."""
        session = self._session(request)
        session.fields |= check_fields(request.body, frozenset({"displayName", "description"}))
        session.time_updated = rfc3339(self._stage.counters.now())
        return Reply(body=session.view())

    def delete_session(self, request: Incoming) -> Reply:
        """Ends a session; a chat on it is answered with 404 from now on."""
        session = self._session(request)
        del self._sessions[request.params["endpoint_id"], session.id]
        return Reply(status=204)

    # --- chat ---

    def chat(self, request: Incoming) -> Reply:
        """One round: a message or the results of all required actions in, an answer or required actions out."""
        endpoint = request.params["endpoint_id"]
        scenario = self._scenario(endpoint)
        body = check_fields(request.body, _CHAT_FIELDS)
        message, performed = body.get("userMessage"), body.get("performedActions", [])
        if message is not None and not isinstance(message, str):
            raise invalid("userMessage is no text.")
        if not isinstance(performed, list):
            raise invalid("performedActions is no list.")
        identifier = body.get("sessionId")
        if identifier is not None:
            session = self._known_session(endpoint, str(identifier))
        elif performed:
            raise oci_refusal(400, "MissingParameter", "performedActions need the sessionId of the required actions.")
        else:
            session = self._new_session(endpoint, scenario, {})
        results = self._check_performed(session, performed)
        play = session.play.copy()
        try:
            if session.pending:
                self._take_results(session, play, results, message)
            elif not message:
                raise oci_refusal(400, "MissingParameter", "userMessage is required.")
            else:
                play.next_turn(message)
            _skip_environments(play)
            step_fault(self, play, play.turn, play.step)
            return self._answer(session, play, stream=body.get("shouldStream") is True, message=message or "")
        except Mismatch as mismatch:
            raise mismatch_refusal(self, play, mismatch) from mismatch

    def _check_performed(self, session: _Session, performed: Sequence[Any]) -> dict[str, dict[str, Any]]:
        """The performed actions by id: one for each required action, no other, each in the shape of its type."""
        results: dict[str, dict[str, Any]] = {}
        for action in performed:
            known = frozenset({"actionId", "performedActionType", "functionCallOutput", "chosenOption"})
            fields = check_fields(action, known, ("actionId", "performedActionType"))
            identifier = str(fields["actionId"])
            required = session.pending.get(identifier)
            if required is None:
                raise invalid(f"Action {identifier} is not required.")
            if identifier in results:
                raise invalid(f"Action {identifier} is performed twice.")
            if fields["performedActionType"] != f"{required.kind}_PERFORMED_ACTION":
                raise invalid(f"Action {identifier} is no {fields['performedActionType']}.")
            if required.kind == _FUNCTION:
                if not isinstance(fields.get("functionCallOutput"), str):
                    raise invalid(f"functionCallOutput of action {identifier} is no text.")
            elif fields.get("chosenOption") not in ("APPROVE", "DENY"):
                raise invalid(f"chosenOption of action {identifier} is none of APPROVE and DENY.")
            results[identifier] = fields
        for identifier in session.pending:
            if identifier not in results:
                raise invalid(f"Action {identifier} is required and was not performed.")
        return results

    def _take_results(
        self, session: _Session, play: Play, results: Mapping[str, Mapping[str, Any]], message: str | None
    ) -> None:
        _check_follow_up(play.scenario.oci.follow_up, message, session.first_message)
        for identifier, action in session.pending.items():
            fields = results[identifier]
            if action.call is not None:
                outcome = Outcome.of_text(fields["functionCallOutput"])
                check_result(action.call, outcome)
                play.accept(action.call, outcome)
            elif action.approval is not None and action.approval.decision is not None:
                wanted = "APPROVE" if action.approval.decision in ("approve", "submit") else "DENY"
                if fields["chosenOption"] != wanted:
                    raise Mismatch(f"the approval should be {wanted} and is {fields['chosenOption']}")
        play.next_step()

    def _answer(self, session: _Session, play: Play, *, stream: bool, message: str) -> Reply:
        step, quirks = play.current, play.scenario.oci.quirks
        if step.end in ("failed", "cancelled", "session_failed"):
            refusal = oci_refusal(500, "InternalServerError", step.error.message)
            refusal.fault = True
            play.begin(session.id)
            play.finish_turn()
            raise refusal
        # There is no sign for an answer that was cut off: in the last step the text is short, else the last call is.
        actions = [] if step.end == "incomplete" and play.at_last_step else self._actions(play, step)
        waits = bool(actions)
        text = play.say(step) or ""
        if step.end == "incomplete" and not waits:
            text = half(text)
        now = self._stage.counters.now()
        answer = {"role": "AGENT", "content": {"text": text, "citations": [], "paragraphCitations": []}}
        result: dict[str, Any] = {
            "message": None if waits else {**answer, "timeCreated": rfc3339(now)},
            "traces": [_trace(step.reasoning or text, rfc3339(now))] if waits or step.reasoning else [],
            "requiredActions": [a.shown for a in actions] or ([] if "empty_actions" in quirks else None),
            "toolOutputs": [],
            "toolResults": None,
            "guardrailResult": None,
        }

        def commit() -> None:
            if not session.pending:
                session.first_message = message
            session.play = play
            session.pending = {a.shown["actionId"]: a for a in actions}
            play.begin(session.id)
            if not waits and play.at_last_step:
                play.finish_turn()

        delay = play.tally.first(DelayFault, step.faults, self.api)
        shaped = shape(_fragments(result, now), step.faults, self.api, play.tally)
        reply = Reply(delay=delay.seconds if delay else 0.0)
        if stream:
            reply.stream = Stream(named=False)
            reply.stream.push(*shaped.events)
            reply.stream.end(*([shaped.cut] if shaped.cut else []))
        else:
            reply.body, reply.lost = result, shaped.cut is not None
        if shaped.cut is None:
            reply.commit = commit
        return reply

    def _actions(self, play: Play, step: Step) -> list[_Action]:
        registered = self._tools.functions_of(play.scenario.name)
        actions = []
        for position, call in enumerate(step.calls):
            play.require_registered(call, registered)
            arguments = play.arguments(call)
            if step.end == "incomplete" and position == len(step.calls) - 1 and call.raw is None:
                arguments = half(dump_json(arguments))
            function = {"name": call.name, "arguments": _as_model_writes(arguments, play.scenario.oci.quirks)}
            actions.append(_Action(self._shown(_FUNCTION, {"functionCall": function}), call=call))
        for approval in step.approvals:
            if approval.kind != "environment":
                asked = {"message": approval.message, "options": ["APPROVE", "DENY"]}
                actions.append(_Action(self._shown(_APPROVAL, asked), approval=approval))
        return actions

    def _shown(self, kind: str, fields: Mapping[str, Any]) -> dict[str, Any]:
        identifier = f"00000000-0000-4000-8000-{self._stage.counters.number('action'):012d}"
        return {"actionId": identifier, "requiredActionType": f"{kind}_REQUIRED_ACTION", **fields}


def _check_follow_up(practice: str, message: str | None, first: str) -> None:
    wanted = {"repeat": first, "omit": None, "empty": "", "null": "null"}
    if practice != "any" and message != wanted[practice]:
        raise Mismatch(f"userMessage beside results should be {wanted[practice]!r} and is {message!r}")


def _skip_environments(play: Play) -> None:
    """Skips steps that only wait for environments, which this API does not have."""
    while not play.at_last_step:
        step = play.current
        if step.calls or not step.approvals or any(a.kind != "environment" for a in step.approvals):
            return
        play.next_step()


def _as_model_writes(arguments: Any, quirks: Sequence[str]) -> Any:
    """Arguments with the habits of the models on this service."""
    if isinstance(arguments, str):
        return arguments
    if "numbers_as_text" in quirks:
        arguments = _numbers_as_text(arguments)
    if "colon_keys" in quirks:
        arguments = {f"{key}:": value for key, value in arguments.items()}
    if "object_arguments" in quirks:
        return arguments
    text = dump_json(arguments)
    return dump_json(text) if "double_encoded" in quirks else text


def _numbers_as_text(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _numbers_as_text(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_numbers_as_text(member) for member in value]
    return dump_json(value) if isinstance(value, (bool, int, float)) else value


def _trace(text: str, time: str) -> dict[str, Any]:
    return {
        "key": "planning",
        "traceType": "PLANNING_TRACE",
        "input": "",
        "output": text,
        "timeCreated": time,
        "timeFinished": time,
    }


def _fragments(result: Mapping[str, Any], now: int) -> list[Event]:
    """A chat result as the events of a stream: traces, then required actions or the message; times in milliseconds."""
    times = {"timeCreated": now * 1000, "timeFinished": now * 1000}
    fragments = [Event("traces", {"traces": [{**trace, **times}]}) for trace in result["traces"]]
    if result["message"] is None:
        fragments.append(Event("requiredActions", {"requiredActions": result["requiredActions"]}, "call end"))
    else:
        fragments.append(Event("message", {"message": {**result["message"], "timeCreated": now * 1000}}, "answer end"))
    return fragments
