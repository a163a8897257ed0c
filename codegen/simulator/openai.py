"""What the two OpenAI APIs have in common: error bodies, the bearer token, pages of lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from codegen.simulator.wire import Refusal


def openai_refusal(
    status: int,
    message: str,
    *,
    code: str | None = None,
    param: str | None = None,
    kind: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Refusal:
    """An error in OpenAI's shape. `kind` is the error's type, by default the one that goes with the status."""
    usual = {401: "authentication_error", 429: "rate_limit_error"}
    kind = kind or usual.get(status, "server_error" if status >= 500 else "invalid_request_error")
    return Refusal(status, {"error": {"message": message, "type": kind, "param": param, "code": code}}, headers)


def require_bearer(headers: Mapping[str, str]) -> None:
    """Any key will do, but there must be one."""
    if not headers.get("authorization", "").startswith("Bearer "):
        raise openai_refusal(
            401, "You didn't provide an API key. You need to provide your API key in an Authorization header."
        )


def page(items: Sequence[Mapping[str, Any]], query: Mapping[str, str]) -> dict[str, Any]:
    """One page of `items`, which are in ascending order: `after`, `limit` (1 to 100, 20), `order` (desc)."""
    try:
        limit = int(query.get("limit", "20"))
    except ValueError:
        limit = 0
    if not 1 <= limit <= 100:
        raise openai_refusal(400, "Invalid 'limit': expected an integer from 1 to 100.", param="limit")
    order = query.get("order", "desc")
    if order not in ("asc", "desc"):
        raise openai_refusal(400, "Invalid 'order': expected 'asc' or 'desc'.", param="order")
    ordered = list(items) if order == "asc" else list(reversed(items))
    after = query.get("after")
    if after is not None:
        position = next((i for i, item in enumerate(ordered) if item["id"] == after), None)
        if position is None:
            raise openai_refusal(404, f"No such object: '{after}'.", param="after")
        ordered = ordered[position + 1 :]
    shown = ordered[:limit]
    return {
        "object": "list",
        "data": shown,
        "first_id": shown[0]["id"] if shown else None,
        "last_id": shown[-1]["id"] if shown else None,
        "has_more": len(ordered) > limit,
    }
