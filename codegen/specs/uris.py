"""Resolving URI references (RFC 3986, section 5.2).

The standard library's `urljoin` knows a fixed list of schemes, and schemas are named by `urn:`, `tag:` and others.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote, unquote

_PARTS: Final = re.compile(
    r"(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.DOTALL
)
_POINTER_SAFE: Final = "/~!$&'()*+,;=:@?-._"
"""What may stand in a fragment as it is."""


def resolve_uri(base: str, reference: str) -> str:
    """The absolute URI of `reference` as it is meant in a document at `base`, without its fragment."""
    scheme, authority, path, query, _ = _split(reference)
    if scheme is not None:
        return _join(scheme, authority, _without_dots(path), query)
    base_scheme, base_authority, base_path, base_query, _ = _split(base)
    if authority is not None:
        return _join(base_scheme, authority, _without_dots(path), query)
    if not path:
        return _join(base_scheme, base_authority, base_path, query if query is not None else base_query)
    if not path.startswith("/"):
        folder = "/" if base_authority is not None and not base_path else base_path[: base_path.rfind("/") + 1]
        path = folder + path
    return _join(base_scheme, base_authority, _without_dots(path), query)


def fragment_of(reference: str) -> str:
    """The fragment of `reference`, unquoted; empty where it has none."""
    return unquote(_split(reference)[4] or "")


def has_scheme(reference: str) -> bool:
    return _split(reference)[0] is not None or reference.startswith("//")


def pointer_fragment(pointer: str) -> str:
    """A JSON pointer as the reference to it inside a document: `#/$defs/a%20b`."""
    return "#" + quote(pointer, safe=_POINTER_SAFE)


def _split(uri: str) -> tuple[str | None, str | None, str, str | None, str | None]:
    match = _PARTS.fullmatch(uri)
    assert match is not None  # every part is optional
    scheme, authority, path, query, fragment = match.groups()
    return scheme, authority, path, query, fragment


def _join(scheme: str | None, authority: str | None, path: str, query: str | None) -> str:
    start = f"{scheme.lower()}:" if scheme is not None else ""
    host = f"//{authority}" if authority is not None else ""
    return f"{start}{host}{path}{'' if query is None else '?' + query}"


def _without_dots(path: str) -> str:
    if "." not in path:
        return path
    result: list[str] = []
    segments = path.split("/")
    for segment in segments:
        if segment == "..":
            if len(result) > 1 or (result and result[0] != ""):
                result.pop()
        elif segment != ".":
            result.append(segment)
    if segments[-1] in (".", ".."):
        result.append("")
    return "/".join(result)
