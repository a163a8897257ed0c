"""How much of a request each tool takes, in bytes and as an estimate in tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from codegen.targets.interface import Payload
from codegen.targets.standard import compact_size

BYTES_PER_TOKEN: Final = 4
"""A rule of thumb for English text and JSON. Every model counts otherwise, and most APIs put the tools into words of
their own first: an estimate is good for comparing tools, not for a bill."""


@dataclass(frozen=True, slots=True)
class Size:
    """The size of something that is sent as JSON."""

    bytes: int
    """As compact JSON in UTF-8."""

    @property
    def tokens(self) -> int:
        """An estimate, rounded up."""
        return -(-self.bytes // BYTES_PER_TOKEN)


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes of one payload."""

    tools: Mapping[str, Size]
    """Of each entry, by the tool's wire name."""
    total: Size
    """Of the whole list, with what belongs to no tool."""

    def of(self, members: Sequence[str]) -> Size:
        """Of a list of some of the tools, as far as the target has them: its entries, brackets and commas."""
        entries = [self.tools[name].bytes for name in members if name in self.tools]
        return Size(sum(entries) + max(len(entries) - 1, 0) + 2)


def sizes_of(payload: Payload) -> Sizes:
    """The sizes of a payload, entry by entry."""
    tools = {one.tool: Size(compact_size(one.entry)) for one in payload.lowered}
    return Sizes(tools, Size(compact_size(payload.entries)))
