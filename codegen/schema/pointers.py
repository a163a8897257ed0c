"""JSON pointers (RFC 6901)."""

from __future__ import annotations

from typing import Any


def join(pointer: str, *parts: str | int) -> str:
    """`pointer` with one escaped reference token a part appended."""
    return pointer + "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


def tokens(pointer: str) -> list[str]:
    """The unescaped reference tokens of `pointer`; none for the whole document."""
    if not pointer:
        return []
    return [token.replace("~1", "/").replace("~0", "~") for token in pointer[1:].split("/")]


def resolve(document: Any, pointer: str) -> Any:
    """The value at `pointer` in `document`.

    Raises `LookupError` where the pointer leads nowhere.
    """
    value = document
    for token in tokens(pointer):
        if isinstance(value, list):
            if not (token.isascii() and token.isdigit()) or (token != "0" and token.startswith("0")):
                raise LookupError(pointer)
            value = value[int(token)]
        elif isinstance(value, dict):
            value = value[token]
        else:
            raise LookupError(pointer)
    return value
