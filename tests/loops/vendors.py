"""How Chat Completions and Anthropic Messages stream an answer, and what they refuse in a request."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.loops.oci_support import Answer


def pieces(text: str, size: int) -> list[str]:
    """A text in pieces of that many characters."""
    return [text[at : at + size] for at in range(0, len(text), size)]


# ---- Chat Completions


def chat_chunks(completion: dict[str, Any], size: int = 7) -> Iterator[dict[str, Any]]:
    """The chunks in which a completion is streamed: ids and names come once, texts in pieces."""
    shared = {key: value for key, value in completion.items() if key not in ("choices", "usage")}
    (choice,) = completion["choices"]

    def chunk(delta: dict[str, Any], end: str | None = None) -> dict[str, Any]:
        choices = [{"index": 0, "delta": delta, "finish_reason": end}]
        return shared | {"object": "chat.completion.chunk", "choices": choices}

    message = choice["message"]
    yield chunk({"role": "assistant", "content": None})
    for key in ("reasoning_content", "content", "refusal"):
        for piece in pieces(message.get(key) or "", size):
            yield chunk({key: piece})
    for index, call in enumerate(message.get("tool_calls") or ()):
        kind = call["type"]
        text = "arguments" if kind == "function" else "input"
        head = {"index": index, **call, kind: call[kind] | {text: ""}}
        yield chunk({"tool_calls": [head]})
        for piece in pieces(call[kind][text], size):
            yield chunk({"tool_calls": [{"index": index, kind: {text: piece}}]})
    yield chunk({}, choice["finish_reason"])
    if "usage" in completion:
        yield shared | {"object": "chat.completion.chunk", "choices": [], "usage": completion["usage"]}


def chat_stream(completion: dict[str, Any], *, cut: bool = False) -> Answer:
    """The stream of a completion; one that is cut ends inside the last chunks."""
    texts = [json.dumps(chunk) for chunk in chat_chunks(completion)] + ["[DONE]"]
    return _stream([f"data: {text}\n\n" for text in texts], cut)


def chat_complaints(body: Any) -> list[str]:
    """Why Chat Completions would answer 400: the reference's rules on messages, and those its errors tell."""
    complaints: list[str] = []
    waiting: list[str] = []
    for at, message in enumerate(body["messages"]):
        role = message.get("role")
        if role == "tool":
            if message.get("tool_call_id") not in waiting:
                complaints.append(f"{at}: answers no call of the message before")
            else:
                waiting.remove(message["tool_call_id"])
            if not isinstance(message.get("content"), str):
                complaints.append(f"{at}: the content of a tool message is text")
            continue
        if waiting:
            complaints.append(f"{at}: no answer to {waiting}")
        waiting = []
        if role == "assistant":
            calls = message.get("tool_calls", [])
            waiting = [call.get("id") for call in calls]
            if "tool_calls" in message and not calls:
                complaints.append(f"{at}: an empty list of calls")
            if not calls and not isinstance(message.get("content"), str) and not message.get("refusal"):
                complaints.append(f"{at}: neither content nor calls")
            if len(set(waiting)) < len(waiting) or not all(waiting) or any(len(one) > 40 for one in waiting):
                complaints.append(f"{at}: ids must differ and have 1 to 40 characters: {waiting}")
            for call in calls:
                inner = call.get(call.get("type"))
                if not isinstance(inner, dict) or not isinstance(inner.get("arguments", inner.get("input")), str):
                    complaints.append(f"{at}: a call that is none: {call}")
            if unknown := message.keys() - {"role", "content", "refusal", "tool_calls", "audio", "reasoning_content"}:
                complaints.append(f"{at}: unknown members {sorted(unknown)}")
        elif role not in ("user", "system", "developer"):
            complaints.append(f"{at}: the role {role}")
    return complaints + ([f"no answer to {waiting}"] if waiting else [])


# ---- Anthropic Messages


def message_events(message: dict[str, Any], size: int = 7) -> Iterator[dict[str, Any]]:
    """The events in which a message is streamed."""
    start = message | {"content": [], "stop_reason": None, "usage": message["usage"] | {"output_tokens": 1}}
    yield {"type": "message_start", "message": start}
    for index, block in enumerate(message["content"]):
        yield from _block_events(index, block, size)
    delta = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    if "container" in message:
        delta["container"] = message["container"]
    yield {"type": "message_delta", "delta": delta, "usage": {"output_tokens": message["usage"]["output_tokens"]}}
    yield {"type": "message_stop"}


def _block_events(index: int, block: dict[str, Any], size: int) -> Iterator[dict[str, Any]]:
    def delta(**fields: Any) -> dict[str, Any]:
        return {"type": "content_block_delta", "index": index, "delta": fields}

    kind = block["type"]
    if kind in ("tool_use", "server_tool_use"):
        given = block["input"]
        begun = block | {"input": {}}
        text = given if isinstance(given, str) else json.dumps(given)
        deltas = [delta(type="input_json_delta", partial_json=piece) for piece in ["", *pieces(text, size)]]
    elif kind == "thinking":
        begun = {"type": "thinking", "thinking": "", "signature": ""}
        deltas = [delta(type="thinking_delta", thinking=piece) for piece in pieces(block["thinking"], size)]
        deltas.append(delta(type="signature_delta", signature=block["signature"]))
    elif kind == "text":
        begun = {"type": "text", "text": ""}
        deltas = [delta(type="text_delta", text=piece) for piece in pieces(block["text"], size)]
        deltas += [delta(type="citations_delta", citation=one) for one in block.get("citations") or ()]
    else:
        begun, deltas = block, []
    yield {"type": "content_block_start", "index": index, "content_block": begun}
    yield {"type": "ping"}
    yield from deltas
    yield {"type": "content_block_stop", "index": index}


def message_stream(message: dict[str, Any], *, cut: bool = False) -> Answer:
    """The stream of a message; one that is cut ends inside the last events."""
    return _stream([f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in message_events(message)], cut)


def message_complaints(body: Any) -> list[str]:
    """Why Messages would answer 400: the rules of the tool use guide, and those its errors tell."""
    complaints: list[str] = []
    waiting: list[str] = []
    if not body.get("max_tokens"):
        complaints.append("no max_tokens")
    for at, message in enumerate(body["messages"]):
        content = message.get("content")
        if message.keys() != {"role", "content"} or not content:
            complaints.append(f"{at}: a message has a role and a content that is not empty")
            continue
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        results = [block for block in blocks if block["type"] == "tool_result"]
        if blocks[: len(results)] != results:
            complaints.append(f"{at}: results come first")
        if sorted(block["tool_use_id"] for block in results) != sorted(waiting):
            complaints.append(f"{at}: each use has one result: {waiting}")
        waiting = [block["id"] for block in blocks if block["type"] == "tool_use"]
        if len(set(waiting)) < len(waiting) or not all(waiting):
            complaints.append(f"{at}: ids must differ: {waiting}")
        for block in blocks:
            complaints += [f"{at}: {words}" for words in _block_complaints(block, message["role"])]
    return complaints + ([f"no result for {waiting}"] if waiting else [])


_OF_ROLE = {
    "user": {"text", "image", "tool_result"},
    "assistant": {"text", "thinking", "redacted_thinking", "tool_use", "server_tool_use", "web_search_tool_result"},
}


def _block_complaints(block: Any, role: str) -> Iterator[str]:
    if block["type"] not in _OF_ROLE[role]:
        yield f"the {role} has no {block['type']}"
    if block["type"] == "text" and not block["text"].strip():
        yield "a blank text"
    if block["type"] == "tool_use" and not isinstance(block.get("input"), dict):
        yield "an input that is no object"
    if block["type"] == "tool_use" and (unknown := block.keys() - {"type", "id", "name", "input", "caller"}):
        yield f"unknown members {sorted(unknown)}"
    if block["type"] == "tool_result":
        if unknown := block.keys() - {"type", "tool_use_id", "content", "is_error"}:
            yield f"unknown members {sorted(unknown)}"
        inner = block.get("content", "")
        for part in inner if isinstance(inner, list) else ():
            yield from _block_complaints(part, "user")


def _stream(events: list[str], cut: bool) -> Answer:
    if cut:
        events = [*events[:-3], events[-3][:20]]
    return Answer("".join(events), content_type="text/event-stream", cut=cut)
