"""The OpenAI Responses API, played from a scenario.

The API keeps no conversation of its own: where a request stands in its scenario is worked out from the history that
it brings (as items, or by `previous_response_id` or `conversation`). So a request can be sent again, and two
conversations can go on from one response. A response counts only once it has been sent in full: nothing is stored of
one whose connection broke.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from codegen.simulator.faults import DelayFault, shape
from codegen.simulator.openai import openai_refusal, page, require_bearer
from codegen.simulator.play import Mismatch, Outcome, Play, check_result, chunks, half
from codegen.simulator.responses_input import (
    FunctionTool,
    Pairing,
    ResponsesError,
    check_history,
    check_input,
    check_parameters,
    check_tools,
    item_key,
    message_text,
    output_text,
)
from codegen.simulator.scenario import ModelCall, Scenario, Step
from codegen.simulator.stage import Stage, mismatch_refusal, step_fault
from codegen.simulator.strict import complete_strictly
from codegen.simulator.wire import Api, Event, Incoming, Refusal, Reply, Route, Stream, dump_json

Item = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Delivered:
    """What a response of ours gave the client: the play as it stood, and the calls that it made, by call id."""

    play: Play
    calls: Mapping[str, ModelCall]
    extra: bool = False
    """The call was made only because `tool_choice` forced one; the play stands still."""


@dataclass(slots=True)
class _Stored:
    """A response that can be continued: the response, and the whole history with its output at the end."""

    response: dict[str, Any]
    input_items: list[Item]
    history: list[Item]


@dataclass(slots=True)
class _Conversation:
    id: str
    created_at: int
    metadata: dict[str, Any]
    items: list[Item] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Plan:
    """What the model is about to do."""

    play: Play
    calls: list[ModelCall]
    extra: bool = False


class Responses:
    """`/v1/responses` and `/v1/conversations`."""

    api: Api = "openai_responses"

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._stored: dict[str, _Stored] = {}
        self._conversations: dict[str, _Conversation] = {}
        self._delivered: dict[str, _Delivered] = {}
        self._said: dict[tuple[str, str], _Delivered] = {}
        self._follower: dict[str, str] = {}
        self._reasoning: dict[str, str] = {}
        self._kept: dict[str, bool] = {}
        """Reasoning id → whether its response was stored, so that it may come back without its content."""

    def routes(self) -> Sequence[Route]:
        """The operations of the API."""
        one, conversation = "/v1/responses/{response_id}", "/v1/conversations/{conversation_id}"
        return [
            Route("responses.create", "POST", "/v1/responses", self.create),
            Route("responses.retrieve", "GET", one, self.retrieve),
            Route("responses.delete", "DELETE", one, self.delete),
            Route("responses.input_items", "GET", f"{one}/input_items", self.input_items),
            Route("conversations.create", "POST", "/v1/conversations", self.create_conversation),
            Route("conversations.retrieve", "GET", conversation, self.retrieve_conversation),
            Route("conversations.update", "POST", conversation, self.update_conversation),
            Route("conversations.delete", "DELETE", conversation, self.delete_conversation),
            Route("conversations.items.list", "GET", f"{conversation}/items", self.conversation_items),
            Route("conversations.items.create", "POST", f"{conversation}/items", self.add_conversation_items),
        ]

    def scenario_of(self, operation: str, request: Incoming) -> str | None:
        """By the request's `model`."""
        model = request.body.get("model") if isinstance(request.body, dict) else None
        scenario = self._stage.find(model) if isinstance(model, str) else None
        return scenario.name if scenario else None

    def refusal(self, status: int, code: str, message: str) -> Refusal:
        """An error body of the API."""
        return openai_refusal(status, message, code=code)

    # --- creating a response ---

    def create(self, request: Incoming) -> Reply:
        """Plays the next step of the scenario that `model` selects."""
        require_bearer(request.headers)
        try:
            return self._create(request.body)
        except ResponsesError as error:
            raise openai_refusal(error.status, error.message, code=error.code, param=error.param) from error

    def _create(self, body: Any) -> Reply:
        body = check_parameters(body)
        tools = check_tools(body.get("tools"))
        new_items = check_input(body.get("input"))
        scenario = self._scenario(body["model"])
        past, conversation = self._past(body)
        new_items = [self._with_reference(item) for item in new_items]
        self._check_kept(new_items)
        history = past + new_items
        check_history(history, Pairing(self._follower, self._reasoning))
        delivered, after = self._last_delivered(scenario, history)
        play = delivered.play.copy() if delivered else self._stage.play(scenario, self.api)
        try:
            _go_on(play, delivered, after)
            step_fault(self, play, play.turn, play.step)
            plan = self._plan(play, body, tools)
            return self._answer(plan, body, tools, new_items, history, conversation)
        except Mismatch as mismatch:
            raise mismatch_refusal(self, play, mismatch) from mismatch

    def _scenario(self, model: str) -> Scenario:
        scenario = self._stage.find(model)
        if scenario is None:
            raise ResponsesError(
                f"The model '{model}' does not exist or you do not have access to it.", None, "model_not_found", 404
            )
        return scenario

    def _past(self, body: Mapping[str, Any]) -> tuple[list[Item], _Conversation | None]:
        """The items that the request continues, and the conversation they belong to."""
        previous = body.get("previous_response_id")
        if previous is not None:
            stored = self._stored.get(previous)
            if stored is None:
                raise ResponsesError(
                    f"Previous response with id '{previous}' not found.",
                    "previous_response_id",
                    "previous_response_not_found",
                )
            return list(stored.history), None
        chosen = body.get("conversation")
        if chosen is None:
            return [], None
        identifier = chosen.get("id") if isinstance(chosen, dict) else chosen
        conversation = self._conversations.get(str(identifier))
        if conversation is None:
            raise ResponsesError(f"Conversation with id '{identifier}' not found.", "conversation", None, 404)
        return list(conversation.items), conversation

    def _with_reference(self, item: Item) -> Item:
        if item["type"] != "item_reference":
            return item
        for stored in self._stored.values():
            for known in stored.history:
                if known.get("id") == item["id"]:
                    return known
        raise ResponsesError(f"Item with id '{item['id']}' not found.", "input", None, 404)

    def _check_kept(self, items: Sequence[Item]) -> None:
        """Reasoning that the service did not store must come back with its encrypted content, unchanged."""
        for item in items:
            if item["type"] != "reasoning":
                continue
            content = item.get("encrypted_content")
            if content is not None:
                if item["id"] in self._kept and content != _encrypted(item["id"]):
                    raise ResponsesError(
                        f"The encrypted content for item {item['id']} could not be verified.",
                        "input",
                        "invalid_encrypted_content",
                    )
            elif not self._kept.get(item["id"], False):
                raise ResponsesError(
                    f"Item with id '{item['id']}' not found. Items are not persisted when `store` is set to false. "
                    "Try again with `store` set to true, or remove this item from your input.",
                    "input",
                    None,
                    404,
                )

    def _last_delivered(self, scenario: Scenario, history: Sequence[Item]) -> tuple[_Delivered | None, Sequence[Item]]:
        """The last of our own responses in a history, and the items after it."""
        for index in range(len(history) - 1, -1, -1):
            item = history[index]
            key = item_key(item)
            found = self._delivered.get(key) if key is not None else None
            if found is None and item["type"] == "message" and item["role"] == "assistant":
                found = self._said.get((scenario.name, message_text(item)))
            if found is not None and found.play.scenario is scenario:
                return found, history[index + 1 :]
        return None, history

    def _plan(self, play: Play, body: Mapping[str, Any], tools: Sequence[FunctionTool]) -> _Plan:
        """The calls of the answer, as far as `tool_choice` and `parallel_tool_calls` have a say in them."""
        choice = _Choice.of(body.get("tool_choice"), [tool.name for tool in tools])
        calls = play.calls_ahead
        for call in calls:
            play.require_registered(call, [tool.name for tool in tools])
            if not call.invented and not choice.allows(call.name):
                raise Mismatch(f'the model is to call "{call.name}", which tool_choice forbids')
        if body.get("parallel_tool_calls") is False:
            calls = calls[:1]
        if choice.forced and not any(choice.forces(call.name) for call in calls):
            play.fail(
                f"tool_choice {dump_json(body['tool_choice'])} forced a call that the model had no use for; "
                "reset it after the first step"
            )
            return _Plan(play, [_forced_call(play, choice)], extra=True)
        return _Plan(play, calls)

    def _answer(
        self,
        plan: _Plan,
        body: Mapping[str, Any],
        tools: Sequence[FunctionTool],
        new_items: list[Item],
        history: list[Item],
        conversation: _Conversation | None,
    ) -> Reply:
        play, step = plan.play, plan.play.current
        response = self._response(body, conversation)
        made: dict[str, ModelCall] = {}
        if plan.extra or step.end in ("completed", "incomplete"):
            response["output"] = self._output(plan, step, body, tools, history, made)
        end = "completed" if plan.extra else step.end
        if end == "incomplete":
            response["incomplete_details"] = {"reason": "max_output_tokens"}
        elif end != "completed":
            response["error"] = {"code": step.error.code, "message": step.error.message}
        response["status"] = end if end in ("completed", "incomplete") else "failed"
        response["completed_at"] = self._stage.counters.now() if end == "completed" else None
        response["usage"] = _usage(history, response["output"])
        stored_items = history + response["output"]

        def commit() -> None:
            play.begin(response["id"])
            self._remember(plan, response, made)
            stores = body.get("store") is not False
            for item in response["output"]:
                if item["type"] == "reasoning":
                    self._kept[item["id"]] = stores or conversation is not None
            if stores:
                self._stored[response["id"]] = _Stored(response, new_items, stored_items)
            if conversation is not None and response["status"] != "failed":
                conversation.items = stored_items
            if not plan.extra and play.at_last_step:
                play.finish_turn()

        delay = play.tally.first(DelayFault, step.faults, self.api)
        shaped = shape(_events(response), step.faults, self.api, play.tally)
        reply = Reply(delay=delay.seconds if delay else 0.0)
        if body.get("stream"):
            reply.stream = Stream()
            reply.stream.push(*shaped.events)
            reply.stream.end(*([shaped.cut] if shaped.cut else []))
        else:
            reply.body = response
            reply.lost = shaped.cut is not None
        if shaped.cut is None:
            reply.commit = commit
        return reply

    def _response(self, body: Mapping[str, Any], conversation: _Conversation | None) -> dict[str, Any]:
        return {
            "id": self._stage.counters.next("resp"),
            "object": "response",
            "created_at": self._stage.counters.now(),
            "status": "in_progress",
            "background": False,
            "error": None,
            "incomplete_details": None,
            "instructions": body.get("instructions"),
            "max_output_tokens": body.get("max_output_tokens"),
            "metadata": body.get("metadata") or {},
            "model": body["model"],
            "output": [],
            "parallel_tool_calls": body.get("parallel_tool_calls") is not False,
            "previous_response_id": body.get("previous_response_id"),
            "conversation": {"id": conversation.id} if conversation else None,
            "reasoning": {"effort": None, "summary": None, **(body.get("reasoning") or {})},
            "store": body.get("store") is not False,
            "temperature": body.get("temperature", 1.0),
            "text": body.get("text") or {"format": {"type": "text"}},
            "tool_choice": body.get("tool_choice") or "auto",
            "tools": [_echoed(tool) for tool in body.get("tools") or []],
            "top_p": body.get("top_p", 1.0),
            "truncation": body.get("truncation") or "disabled",
            "usage": None,
            "user": body.get("user"),
        }

    def _output(
        self,
        plan: _Plan,
        step: Step,
        body: Mapping[str, Any],
        tools: Sequence[FunctionTool],
        history: Sequence[Item],
        made: dict[str, ModelCall],
    ) -> list[Item]:
        """The output items of a step; the calls among them are noted in `made`, by call id."""
        counters, play = self._stage.counters, plan.play
        items: list[Item] = []
        cut = step.end == "incomplete" and not plan.extra
        if step.reasoning is not None and play.offset == 0 and not plan.extra:
            items.append(_reasoning_item(counters.next("rs"), step.reasoning, body))
        text = play.say(step) if play.offset == 0 and not plan.extra else None
        if text is not None:
            shown = half(text) if cut and not plan.calls else text
            status = "incomplete" if cut and not plan.calls else "completed"
            items.append(
                {
                    "type": "message",
                    "id": counters.next("msg"),
                    "role": "assistant",
                    "status": status,
                    "content": [{"type": "output_text", "text": shown, "annotations": [], "logprobs": []}],
                    "phase": "commentary" if plan.calls else "final_answer",
                }
            )
        by_name = {tool.name: tool for tool in tools}
        for position, call in enumerate(plan.calls):
            tool = by_name.get(call.name)
            if tool is not None and tool.deferred and not _was_found(tool, [*history, *items]):
                items += self._search_items(tool)
            arguments = play.arguments(call)
            if not isinstance(arguments, str):
                if tool is not None and tool.strict and tool.definition.get("parameters"):
                    arguments = complete_strictly(arguments, tool.definition["parameters"])
                arguments = dump_json(arguments)
            truncated = cut and position == len(plan.calls) - 1
            item: Item = {
                "type": "function_call",
                "id": counters.next("fc"),
                "call_id": call.call_id or counters.next("call"),
                "name": call.name,
                "arguments": half(arguments) if truncated and call.raw is None else arguments,
                "status": "incomplete" if truncated else "completed",
            }
            if tool is not None and tool.namespace is not None:
                item["namespace"] = tool.namespace
            items.append(item)
            made[item["call_id"]] = call
        return items

    def _search_items(self, tool: FunctionTool) -> list[Item]:
        """How the service shows that it looked up a deferred tool."""
        shared = {"call_id": None, "execution": "server", "status": "completed"}
        counters = self._stage.counters
        return [
            {"type": "tool_search_call", "id": counters.next("tsc"), "arguments": {"paths": [tool.name]}, **shared},
            {"type": "tool_search_output", "id": counters.next("tso"), "tools": [dict(tool.definition)], **shared},
        ]

    def _remember(self, plan: _Plan, response: Mapping[str, Any], made: Mapping[str, ModelCall]) -> None:
        delivered = _Delivered(plan.play.copy(), dict(made), plan.extra)
        previous: Item | None = None
        for item in response["output"]:
            key = item_key(item)
            if key is not None and item["type"] in ("function_call", "message"):
                self._delivered[key] = delivered
            if item["type"] == "message":
                self._said[plan.play.scenario.name, message_text(item)] = delivered
            if previous is not None and previous["type"] == "reasoning" and key is not None:
                self._follower[previous["id"]] = key
                self._reasoning[key] = previous["id"]
            previous = item

    # --- stored responses and conversations ---

    def _known_response(self, request: Incoming) -> _Stored:
        require_bearer(request.headers)
        identifier = request.params["response_id"]
        stored = self._stored.get(identifier)
        if stored is None:
            raise openai_refusal(404, f"Response with id '{identifier}' not found.")
        return stored

    def retrieve(self, request: Incoming) -> Reply:
        """A stored response."""
        return Reply(body=self._known_response(request).response)

    def delete(self, request: Incoming) -> Reply:
        """Forgets a stored response."""
        stored = self._known_response(request)
        del self._stored[stored.response["id"]]
        return Reply(body={"id": stored.response["id"], "object": "response.deleted", "deleted": True})

    def input_items(self, request: Incoming) -> Reply:
        """The input of a stored response."""
        stored = self._known_response(request)
        return Reply(body=page([self._identified(item) for item in stored.input_items], request.query))

    def _identified(self, item: Item) -> Item:
        if item.get("id") is None:
            item["id"] = self._stage.counters.next({"message": "msg"}.get(item["type"], "item"))
        return item

    def create_conversation(self, request: Incoming) -> Reply:
        """A conversation, with or without first items."""
        require_bearer(request.headers)
        body = _object(request)
        conversation = _Conversation(
            self._stage.counters.next("conv"), self._stage.counters.now(), body.get("metadata") or {}
        )
        conversation.items = self._checked_items(body.get("items"))
        self._conversations[conversation.id] = conversation
        return Reply(body=_shown(conversation))

    def _checked_items(self, items: Any) -> list[Item]:
        try:
            return [self._identified(dict(item)) for item in check_input(items)]
        except ResponsesError as error:
            raise openai_refusal(error.status, error.message, code=error.code, param=error.param) from error

    def _known_conversation(self, request: Incoming) -> _Conversation:
        require_bearer(request.headers)
        identifier = request.params["conversation_id"]
        conversation = self._conversations.get(identifier)
        if conversation is None:
            raise openai_refusal(404, f"Conversation with id '{identifier}' not found.")
        return conversation

    def retrieve_conversation(self, request: Incoming) -> Reply:
        """A conversation without its items."""
        return Reply(body=_shown(self._known_conversation(request)))

    def update_conversation(self, request: Incoming) -> Reply:
        """Replaces the metadata."""
        conversation = self._known_conversation(request)
        conversation.metadata = _object(request).get("metadata") or {}
        return Reply(body=_shown(conversation))

    def delete_conversation(self, request: Incoming) -> Reply:
        """Forgets a conversation."""
        conversation = self._known_conversation(request)
        del self._conversations[conversation.id]
        return Reply(body={"id": conversation.id, "object": "conversation.deleted", "deleted": True})

    def conversation_items(self, request: Incoming) -> Reply:
        """The items of a conversation."""
        conversation = self._known_conversation(request)
        return Reply(body=page([self._identified(item) for item in conversation.items], request.query))

    def add_conversation_items(self, request: Incoming) -> Reply:
        """Adds items to a conversation."""
        conversation = self._known_conversation(request)
        added = self._checked_items(_object(request).get("items"))
        conversation.items += added
        return Reply(body=page(added, {"order": "asc", "limit": "100"}))


@dataclass(frozen=True, slots=True)
class _Choice:
    """What `tool_choice` says: which names are allowed, and whether a call (of one name) is forced."""

    allowed: frozenset[str] | None
    forced: bool = False
    name: str | None = None

    @classmethod
    def of(cls, value: Any, registered: Sequence[str]) -> _Choice:
        """Reads `tool_choice`. Raises `ResponsesError` for a shape that is none."""
        if value is None or value == "auto":
            return cls(None)
        if value == "none":
            return cls(frozenset())
        if value == "required":
            return cls(None, forced=True)
        kind = value.get("type") if isinstance(value, dict) else None
        if kind == "function" and isinstance(value.get("name"), str):
            if value["name"] not in registered:
                raise ResponsesError(
                    f"Tool choice 'function' '{value['name']}' not found in 'tools' parameter.", "tool_choice"
                )
            return cls(frozenset({value["name"]}), forced=True, name=value["name"])
        if kind == "allowed_tools" and isinstance(value.get("tools"), list):
            names = frozenset(str(tool.get("name")) for tool in value["tools"])
            return cls(names, forced=value.get("mode") == "required")
        raise ResponsesError("Invalid value for 'tool_choice'.", "tool_choice", "invalid_value")

    def allows(self, name: str) -> bool:
        """Whether the model may call a tool at all. A forced function is no ban: the model calls it in its place."""
        return self.name is not None or self.allowed is None or name in self.allowed

    def forces(self, name: str) -> bool:
        """Whether a call of this tool satisfies the force."""
        return self.name is None or name == self.name


def _forced_call(play: Play, choice: _Choice) -> ModelCall:
    """What a model does that must call a tool and has no use for one: the same call as the last time."""
    steps = play.scenario.turns[play.turn].model
    made = [call for step in steps for call in step.calls if choice.forces(call.name)]
    if made:
        return ModelCall(name=made[-1].name, arguments=play.arguments(made[-1]))
    if choice.name is None:
        raise Mismatch("tool_choice forces a call, and the turn has none to repeat")
    return ModelCall(name=choice.name)


def _go_on(play: Play, delivered: _Delivered | None, after: Sequence[Item]) -> None:
    """Moves a play to the step that the model does next, given the items that came after our last response."""
    message = next((message_text(i) for i in reversed(after) if _is_user(i)), None)
    if delivered is not None and delivered.calls:
        _take_outputs(
            play, delivered, {i["call_id"]: i["output"] for i in after if i["type"] == "function_call_output"}
        )
    elif delivered is not None and not play.at_last_step:
        play.next_step()
    elif message is not None:
        play.next_turn(message)
    else:
        raise Mismatch("the turn has ended, and the request has no new user message")
    # Steps that only wait for approvals do not exist on this API.
    while not play.current.calls and play.current.approvals and not play.at_last_step:
        play.next_step()


def _take_outputs(play: Play, delivered: _Delivered, outputs: Mapping[str, Any]) -> None:
    """Checks the results of the calls that a response made, and leaves the calls behind."""
    if delivered.extra:
        return
    for call_id, call in delivered.calls.items():
        outcome = Outcome.of_text(output_text(outputs[call_id]))
        check_result(call, outcome)
        play.accept(call, outcome)
    play.offset += len(delivered.calls)
    if not play.calls_ahead:
        play.next_step()


def _object(request: Incoming) -> Mapping[str, Any]:
    """The body of a request; no body means an empty one."""
    if request.body is None:
        return {}
    if not isinstance(request.body, dict):
        raise openai_refusal(400, "We could not parse the JSON body of your request.")
    return request.body


def _is_user(item: Item) -> bool:
    return bool(item["type"] == "message" and item["role"] == "user")


def _was_found(tool: FunctionTool, items: Sequence[Item]) -> bool:
    searches = [item for item in items if item["type"] == "tool_search_output"]
    return any(found.get("name") == tool.name for search in searches for found in search["tools"])


def _encrypted(reasoning_id: str) -> str:
    return f"encrypted-{reasoning_id}"


def _reasoning_item(identifier: str, summary: str, body: Mapping[str, Any]) -> Item:
    wants_summary = (body.get("reasoning") or {}).get("summary") is not None
    item: Item = {
        "type": "reasoning",
        "id": identifier,
        "summary": [{"type": "summary_text", "text": summary}] if wants_summary else [],
    }
    if "reasoning.encrypted_content" in (body.get("include") or []):
        item["encrypted_content"] = _encrypted(identifier)
    return item


def _echoed(tool: Mapping[str, Any]) -> dict[str, Any]:
    """A tool as the response repeats it: what was left out shows what the service made of it."""
    if tool.get("type") != "function":
        return dict(tool)
    strict = next((f.strict for f in check_tools([{**tool, "defer_loading": False}])), False)
    return {"description": None, "parameters": None, **tool, "strict": strict}


def _usage(history: Sequence[Item], output: Sequence[Item]) -> dict[str, Any]:
    """Token counts: a quarter of the characters, so that they are the same every time."""
    before, after = len(dump_json(history)) // 4, len(dump_json(output)) // 4
    return {
        "input_tokens": before,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": after,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": before + after,
    }


def _shown(conversation: _Conversation) -> dict[str, Any]:
    return {
        "id": conversation.id,
        "object": "conversation",
        "created_at": conversation.created_at,
        "metadata": conversation.metadata,
    }


def _events(response: Mapping[str, Any]) -> list[Event]:
    """The events that stream a finished response."""
    began = {**response, "status": "in_progress", "output": [], "usage": None, "error": None}
    began |= {"incomplete_details": None, "completed_at": None}
    plain: list[tuple[dict[str, Any], str]] = [
        ({"type": "response.created", "response": began}, ""),
        ({"type": "response.in_progress", "response": began}, ""),
    ]
    for index, item in enumerate(response["output"]):
        plain += _item_events(index, item)
    plain.append(({"type": f"response.{response['status']}", "response": dict(response)}, "end"))
    return [Event(data["type"], {**data, "sequence_number": number}, mark) for number, (data, mark) in enumerate(plain)]


def _item_events(index: int, item: Item) -> list[tuple[dict[str, Any], str]]:
    at = {"output_index": index}
    inside = {"item_id": item.get("id"), "output_index": index}
    begun, middle, mark = dict(item), list[dict[str, Any]](), ""
    if item["type"] == "function_call":
        begun, mark = {**item, "arguments": "", "status": "in_progress"}, "call"
        kind = "response.function_call_arguments"
        middle = [{"type": f"{kind}.delta", **inside, "delta": part} for part in chunks(item["arguments"])]
        if item["status"] == "completed":
            middle.append({"type": f"{kind}.done", **inside, "arguments": item["arguments"]})
    elif item["type"] == "message":
        begun, mark = {**item, "content": [], "status": "in_progress"}, "answer"
        part = item["content"][0]
        here = {**inside, "content_index": 0}
        text: Item = {**here, "logprobs": []}
        kind = "response.output_text"
        middle = [
            {"type": "response.content_part.added", **here, "part": {**part, "text": ""}},
            *({"type": f"{kind}.delta", **text, "delta": piece} for piece in chunks(part["text"])),
            {"type": f"{kind}.done", **text, "text": part["text"]},
            {"type": "response.content_part.done", **here, "part": part},
        ]
    elif item["type"] == "reasoning":
        # The encrypted content is complete only when the item is done.
        begun = {**item, "summary": []}
        begun.pop("encrypted_content", None)
        for number, part in enumerate(item["summary"]):
            here = {**inside, "summary_index": number}
            kind = "response.reasoning_summary"
            middle += [
                {"type": f"{kind}_part.added", **here, "part": {**part, "text": ""}},
                *({"type": f"{kind}_text.delta", **here, "delta": piece} for piece in chunks(part["text"])),
                {"type": f"{kind}_text.done", **here, "text": part["text"]},
                {"type": f"{kind}_part.done", **here, "part": part},
            ]
    return [
        ({"type": "response.output_item.added", **at, "item": begun}, mark),
        *((data, "") for data in middle),
        ({"type": "response.output_item.done", **at, "item": item}, ""),
    ]
