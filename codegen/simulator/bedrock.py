"""Amazon Bedrock Converse, played from a scenario.

The API keeps no conversation: where a request stands in its scenario is worked out from the messages that it brings.
An answer counts only once it has been sent in full.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

from codegen.simulator.bedrock_input import Invalid, Message, check_body, check_messages, check_tool_config
from codegen.simulator.event_stream import AwsStream
from codegen.simulator.faults import DelayFault, shape
from codegen.simulator.history import History, go_on
from codegen.simulator.play import Mismatch, Outcome, Play, chunks, half
from codegen.simulator.scenario import ModelCall, Scenario, Step
from codegen.simulator.stage import Stage, mismatch_refusal, step_fault
from codegen.simulator.wire import Api, Event, Incoming, Refusal, Reply, Route, dump_json

_ERRORS = {
    400: "ValidationException",
    403: "AccessDeniedException",
    404: "ResourceNotFoundException",
    408: "ModelTimeoutException",
    424: "ModelErrorException",
    429: "ThrottlingException",
    503: "ServiceUnavailableException",
}

Block = dict[str, Any]


class Bedrock:
    """`/model/{modelId}/converse` and `/model/{modelId}/converse-stream`."""

    api: Api = "bedrock"

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._history = History()

    def routes(self) -> Sequence[Route]:
        """The operations of the API."""
        model = "/model/{model_id:path}"
        return [
            Route("converse", "POST", f"{model}/converse", self.converse),
            Route("converse_stream", "POST", f"{model}/converse-stream", self.converse_stream),
        ]

    def scenario_of(self, operation: str, request: Incoming) -> str | None:
        """By the model id."""
        scenario = self._stage.find(request.params["model_id"])
        return scenario.name if scenario else None

    def refusal(self, status: int, code: str, message: str) -> Refusal:
        """An error body of the API, whose type is a header. It has types of its own, which follow from the status."""
        kind = _ERRORS.get(status, "InternalServerException" if status >= 500 else "ValidationException")
        return Refusal(status, {"message": message}, {"x-amzn-ErrorType": kind})

    def converse(self, request: Incoming) -> Reply:
        """Plays the next step of the scenario that the model id selects."""
        return self._answer(request, stream=False)

    def converse_stream(self, request: Incoming) -> Reply:
        """The same as a stream of events."""
        return self._answer(request, stream=True)

    def _answer(self, request: Incoming, *, stream: bool) -> Reply:
        if "authorization" not in request.headers:
            raise self.refusal(403, "", "Missing Authentication Token")
        scenario = self._stage.find(request.params["model_id"])
        if scenario is None:
            raise self.refusal(404, "", f"The model {request.params['model_id']} does not exist.")
        try:
            body = check_body(request.body)
            tools = check_tool_config(body.get("toolConfig"))
            messages = check_messages(body.get("messages"), "toolConfig" in body)
            play = self._play(scenario, messages)
        except Invalid as error:
            raise self.refusal(400, "", error.message) from error
        try:
            self._go_on(play, scenario, messages)
            step_fault(self, play, play.turn, play.step)
            _check_choice(play, (body.get("toolConfig") or {}).get("toolChoice"))
            return self._reply(play, tools, body, stream=stream)
        except Mismatch as mismatch:
            raise mismatch_refusal(self, play, mismatch) from mismatch

    def _play(self, scenario: Scenario, messages: Sequence[Message]) -> Play:
        """The play that the last of our answers among the messages belongs to, as it stood then; else a new one."""
        for position in range(len(messages) - 2, 0, -2):
            found = self._history.find(scenario, _keys(messages[position]))
            if found is not None:
                _check_reasoning(found.play.current, messages[position], position)
                return found.play.copy()
        return self._stage.play(scenario, self.api)

    def _go_on(self, play: Play, scenario: Scenario, messages: Sequence[Message]) -> None:
        found = self._history.find(scenario, _keys(messages[-2])) if len(messages) > 1 else None
        results = {
            block["toolResult"]["toolUseId"]: _outcome(block["toolResult"])
            for block in messages[-1]["content"]
            if "toolResult" in block
        }
        asked = (
            [block["toolUse"]["toolUseId"] for block in messages[-2]["content"] if "toolUse" in block] if found else []
        )
        texts = [block["text"] for block in messages[-1]["content"] if "text" in block]
        calls = found.calls if found is not None and asked else ()
        go_on(play, calls, [results[identifier] for identifier in asked], "\n".join(texts) if texts else None)

    def _reply(self, play: Play, tools: Sequence[str], body: Mapping[str, Any], *, stream: bool) -> Reply:
        step = play.current
        identifier = self._stage.counters.next("converse")
        if step.end in ("failed", "cancelled", "session_failed"):
            play.begin(identifier)
            play.finish_turn()
            return self._failed(step, stream=stream)
        content, raw = self._content(play, step, tools)
        before, after = len(dump_json(body)) // 4, len(dump_json(content)) // 4
        cut_off = step.end == "incomplete"
        end = {"stopReason": "max_tokens" if cut_off else "tool_use" if step.calls else "end_turn"}
        figures = {
            "usage": {"inputTokens": before, "outputTokens": after, "totalTokens": before + after},
            "metrics": {"latencyMs": 0},
        }
        message = {"role": "assistant", "content": content}

        def commit() -> None:
            play.begin(identifier)
            self._history.remember(_keys(message), play, step.calls)
            if play.at_last_step:
                play.finish_turn()

        delay = play.tally.first(DelayFault, step.faults, self.api)
        shaped = shape(list(_events(content, raw, end, figures)), step.faults, self.api, play.tally)
        reply = Reply(delay=delay.seconds if delay else 0.0, headers={"x-amzn-RequestId": identifier})
        if stream:
            reply.stream = AwsStream()
            reply.stream.push(*shaped.events)
            reply.stream.end(*([shaped.cut] if shaped.cut else []))
        else:
            reply.body = {"output": {"message": message}, **end, **figures}
            reply.lost = shaped.cut is not None
        if shaped.cut is None:
            reply.commit = commit
        return reply

    def _failed(self, step: Step, *, stream: bool) -> Reply:
        """A model that fails: at once, or in a stream that has begun."""
        if not stream:
            refusal = self.refusal(424, "", step.error.message)
            refusal.fault = True
            raise refusal
        events = AwsStream()
        events.push(Event("messageStart", {"role": "assistant"}))
        events.push(Event("modelStreamErrorException", {"message": step.error.message}, "end"))
        events.end()
        return Reply(stream=events)

    def _content(self, play: Play, step: Step, tools: Sequence[str]) -> tuple[list[Block], dict[str, str]]:
        """The blocks of an answer, and by tool use id the JSON text of its input, as a stream delivers it."""
        content: list[Block] = []
        raw: dict[str, str] = {}
        cut_off = step.end == "incomplete"
        if step.reasoning is not None:
            signed = {"text": step.reasoning, "signature": _signature(step)}
            content.append({"reasoningContent": {"reasoningText": signed}})
        text = play.say(step)
        if text is not None:
            content.append({"text": half(text) if cut_off and not step.calls else text})
        for position, call in enumerate(step.calls):
            play.require_registered(call, tools)
            identifier = call.call_id or self._stage.counters.next("tooluse")
            arguments = play.arguments(call)
            written = arguments if isinstance(arguments, str) else dump_json(arguments)
            if cut_off and position == len(step.calls) - 1:
                arguments, written = {}, half(written)
            raw[identifier] = written
            content.append({"toolUse": {"toolUseId": identifier, "name": call.name, "input": arguments}})
        return content, raw


def _signature(step: Step) -> str:
    return f"signed {step.reasoning}"


def _keys(message: Message) -> list[Hashable]:
    """What tells an answer from others: the ids of its tool uses, else its text."""
    uses = tuple(block["toolUse"]["toolUseId"] for block in message["content"] if "toolUse" in block)
    return [uses or "".join(block.get("text", "") for block in message["content"])]


def _check_reasoning(step: Step, message: Message, position: int) -> None:
    """Reasoning comes back with the tool uses that followed it, unchanged."""
    if step.reasoning is None or not any("toolUse" in block for block in message["content"]):
        return
    wanted = {"reasoningContent": {"reasoningText": {"text": step.reasoning, "signature": _signature(step)}}}
    if message["content"][0] != wanted:
        where = f"messages.{position}.content.0"
        raise Invalid(f"{where}: the reasoning of the latest assistant message must come back, unmodified")


def _outcome(result: Mapping[str, Any]) -> Outcome:
    texts = [block["text"] if "text" in block else dump_json(block.get("json", block)) for block in result["content"]]
    return Outcome("\n".join(texts), result.get("status") != "error")


def _check_choice(play: Play, choice: Mapping[str, Any] | None) -> None:
    calls: Sequence[ModelCall] = play.current.calls
    forced = choice is not None and "auto" not in choice
    name = (choice or {}).get("tool", {}).get("name")
    if forced and not any(name in (None, call.name) for call in calls):
        raise Mismatch(f"toolChoice {dump_json(choice)} forces a call that the model has no use for; reset it")


def _events(
    content: Sequence[Block], raw: Mapping[str, str], end: Mapping[str, Any], figures: Mapping[str, Any]
) -> Iterator[Event]:
    """The events that stream a finished answer."""
    yield Event("messageStart", {"role": "assistant"})
    for index, block in enumerate(content):
        at = {"contentBlockIndex": index}
        if "toolUse" in block:
            use = block["toolUse"]
            start = {"toolUse": {"toolUseId": use["toolUseId"], "name": use["name"]}}
            yield Event("contentBlockStart", {**at, "start": start}, "call")
            for piece in chunks(raw[use["toolUseId"]]):
                yield Event("contentBlockDelta", {**at, "delta": {"toolUse": {"input": piece}}})
        elif "reasoningContent" in block:
            said = block["reasoningContent"]["reasoningText"]
            for piece in chunks(said["text"]):
                yield Event("contentBlockDelta", {**at, "delta": {"reasoningContent": {"text": piece}}})
            yield Event("contentBlockDelta", {**at, "delta": {"reasoningContent": {"signature": said["signature"]}}})
        else:
            for number, piece in enumerate(chunks(block["text"])):
                yield Event("contentBlockDelta", {**at, "delta": {"text": piece}}, "" if number else "answer")
        yield Event("contentBlockStop", at)
    yield Event("messageStop", dict(end), "end")
    yield Event("metadata", dict(figures))
