"""Reading a vendor's objects and plain dicts alike, and the errors of its client."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast


def get(value: Any, name: str, default: Any = None) -> Any:
    """The member `name` of a mapping or an object; `default` where it is absent or None."""
    if isinstance(value, Mapping):
        found: Any = cast("Mapping[str, Any]", value).get(name)
    else:
        found = getattr(value, name, None)
    return default if found is None else found


def get_either(value: Any, name: str, default: Any = None) -> Any:
    """The member of a `snake_case` name, or of the `camelCase` spelling that it has on the wire."""
    found = get(value, name)
    if found is None:
        first, *rest = name.split("_")
        found = get(value, first + "".join(word.capitalize() for word in rest))
    return default if found is None else found


def to_wire(value: Any) -> Any:
    """An object of a Pydantic-based SDK as the dict it was read from; plain values as they are."""
    dump = getattr(value, "model_dump", None)
    if dump is not None:
        return dump(mode="json", by_alias=True, exclude_unset=True, warnings=False)
    return value


def status_of(error: BaseException) -> int:
    """The HTTP status of an error that a vendor's client raised; 0 for any other error."""
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) else 0


def connection_lost(error: BaseException) -> bool:
    """Whether a request or a stream failed on the way, so that nobody knows what the other side made of it.

    The classes are known by name, as no SDK is imported here. A stream that breaks off inside an event leaves text that
    is no JSON.
    """
    if isinstance(error, (ConnectionError, TimeoutError, json.JSONDecodeError)):
        return True
    return any(base.__name__ in _LOST for base in type(error).__mro__)


_LOST = frozenset(
    {
        "APIConnectionError",  # OpenAI, Anthropic; their timeout too
        "TransportError",  # httpx
        "ClientConnectionError",  # aiohttp
        "ClientPayloadError",
        "UnknownApiResponseError",  # google-genai, for a broken event
        "HTTPClientError",  # botocore; its timeouts too
        "ProtocolError",  # urllib3, below botocore
        "ReadTimeoutError",
        "ChecksumMismatch",  # botocore, for a broken event
    }
)
