"""Outputs that are more than text."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes


@dataclass(frozen=True, slots=True)
class Text:
    """A text part."""

    text: str


@dataclass(frozen=True, slots=True)
class Image:
    """An image part, by URL (`https:` or `data:`)."""

    url: str

    @classmethod
    def from_bytes(cls, data: bytes, media_type: str) -> Image:
        """An image that travels inside the message, such as `Image.from_bytes(png, "image/png")`."""
        return cls(f"data:{media_type};base64,{base64.b64encode(data).decode('ascii')}")

    @property
    def inline(self) -> tuple[str, str] | None:
        """Media type and base64 text of an image that travels inside the message; None where `url` is an address."""
        scheme, _, rest = self.url.partition(":")
        head, comma, data = rest.partition(",")
        if scheme.lower() != "data" or not comma:
            return None
        media_type, *parameters = head.split(";")
        if "base64" not in parameters:
            data = base64.b64encode(unquote_to_bytes(data)).decode("ascii")
        return media_type.lower(), data


@dataclass(frozen=True, slots=True)
class Content:
    """Text and image parts, for APIs that take them; elsewhere the text parts alone are sent.

    >>> Content(["The map:", Image("https://example.com/map.png")]).text
    'The map:'
    """

    parts: tuple[Text | Image, ...]

    def __init__(self, parts: Iterable[Text | Image | str]) -> None:
        """Raises `TypeError` for a part that is neither text nor an image."""
        if isinstance(parts, str):
            raise TypeError("Content takes a list of parts")
        object.__setattr__(self, "parts", tuple(map(_part, parts)))

    @property
    def text(self) -> str:
        """The text parts, joined by line breaks."""
        return "\n".join(part.text for part in self.parts if isinstance(part, Text))


def _part(part: object) -> Text | Image:
    if isinstance(part, str):
        return Text(part)
    if isinstance(part, (Text, Image)):
        return part
    raise TypeError(f"a part of Content is text or an Image, not {type(part).__name__}")
