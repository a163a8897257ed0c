"""From a mend of a document to the characters of its text that change.

Each function answers with the edits, or with None where the text is written in a way that it does not touch: then the
finding stays, and a person mends it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from codegen.passes.fixing.outline import Node, Place


@dataclass(frozen=True, slots=True)
class Edit:
    """The characters from `start` to `end` become `text`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Writer:
    """Edits of one text."""

    text: str
    is_yaml: bool

    def replaced(self, place: Place, new: str) -> list[Edit] | None:
        """The scalar becomes the value whose JSON is `new`."""
        node = place.node
        if node.form != "scalar" or not node.is_plain:
            return None
        value = json.loads(new)
        return [Edit(node.start, node.end, self._scalar(value, node.quote) if isinstance(value, str) else new)]

    def renamed(self, place: Place, key: str) -> list[Edit] | None:
        """The member gets another key."""
        member = place.member
        if member is None or member.key is None or not member.key.is_plain or member.key.form != "scalar":
            return None
        return [Edit(member.key.start, member.key.end, self._scalar(key, member.key.quote))]

    def removed(self, place: Place) -> list[Edit] | None:
        """The member of a map goes."""
        parent, member = place.parent, place.member
        if parent is None or member is None or member.key is None or member.value.form != "scalar":
            return None
        if not (member.key.is_plain and member.value.is_plain):
            return None
        edit = self._removed_in_flow(parent, place.index) if parent.is_flow else self._removed_in_block(place)
        return None if edit is None else [edit]

    def required(self, place: Place, names: Sequence[str]) -> list[Edit] | None:
        """The object requires more of its properties."""
        node = place.node
        existing = next((member.value for member in node.members if member.name == "required"), None)
        if existing is not None:
            return self._appended(existing, names) if existing.form == "list" and existing.is_plain else None
        index = next((i for i, member in enumerate(node.members) if member.name == "properties"), None)
        if node.form != "map" or index is None:
            return None
        return (
            self._required_in_flow(node, index, names) if node.is_flow else self._required_in_block(node, index, names)
        )

    # Removing

    def _removed_in_flow(self, parent: Node, index: int) -> Edit | None:
        members = parent.members
        member = members[index]
        assert member.key is not None
        if len(members) == 1:
            edit = Edit(member.key.start, member.value.end, "")
            if parent.is_plain:
                edit = Edit(parent.start + 1, parent.end - 1, "")
        elif index + 1 < len(members):
            following = members[index + 1].key
            edit = Edit(member.key.start, following.start if following is not None else member.value.end, "")
        else:
            edit = Edit(members[index - 1].value.end, member.value.end, "")
        # A remark between the two would go as well.
        return None if self.is_yaml and "#" in self.text[edit.start : edit.end] else edit

    def _removed_in_block(self, place: Place) -> Edit | None:
        parent, member = place.parent, place.member
        assert parent is not None and member is not None and member.key is not None
        start, end = member.key.start, member.value.end
        if "\n" in self.text[start:end]:
            return None
        if len(parent.members) == 1:
            return Edit(start, end, "{}")
        line = self.text.rfind("\n", 0, start) + 1
        stop = self._end_of_line(end)
        rest = self.text[end:stop]
        if self.text[line:start].strip():  # it follows a dash, and the next key takes its place
            following = parent.members[place.index + 1].key if place.index + 1 < len(parent.members) else None
            if following is None or self.text[end : following.start].strip():
                return None
            return Edit(start, following.start, "")
        if rest.strip().startswith("#"):  # the remark stays, on a line of its own
            return Edit(start, end + len(rest) - len(rest.lstrip()), "")
        if rest.strip():
            return None
        if stop < len(self.text):
            return Edit(line, stop + len(self._break_at(stop)), "")
        return Edit(max(line - len(self._break), 0), stop, "")

    # Requiring

    def _appended(self, node: Node, names: Sequence[str]) -> list[Edit] | None:
        """More items for a list of names."""
        if not node.members:
            inside = ", ".join(self._scalar(name, "") for name in names)
            is_empty = node.is_flow and not self.text[node.start + 1 : node.end - 1].strip()
            return [Edit(node.start + 1, node.end - 1, inside)] if is_empty else None
        last = node.members[-1].value
        if last.form != "scalar" or not last.is_plain:
            return None
        words = [self._scalar(name, last.quote) for name in names]
        if node.is_flow:
            return [Edit(last.end, last.end, "".join(self._between(node) + word for word in words))]
        line = self.text.rfind("\n", 0, last.start) + 1
        dash = self.text[line : last.start]
        if not _DASH.fullmatch(dash) or "\n" in self.text[last.start : last.end]:
            return None
        stop = self._end_of_line(last.end)
        return [Edit(stop, stop, "".join(f"{self._break}{dash}{word}" for word in words))]

    def _between(self, node: Node) -> str:
        """What stands between two items of a list in brackets."""
        values = [member.value for member in node.members]
        if len(values) > 1:
            between = self.text[values[-2].end : values[-1].start]
        else:
            before = self.text[node.start + 1 : values[0].start]
            between = "," + before if "\n" in before else ", "
        return ", " if "#" in between else between

    def _required_in_flow(self, node: Node, index: int, names: Sequence[str]) -> list[Edit] | None:
        member = node.members[index]
        assert member.key is not None
        before = node.members[index - 1].value.end if index else node.start
        lead = (
            self.text[before : member.key.start].lstrip(" \r\n\t")[1:]
            if index
            else self.text[before + 1 : member.key.start]
        )
        colon = self.text[member.key.end : member.value.start]
        if lead.strip() or not node.is_plain:
            return None
        if "\n" not in lead:
            lead = " " if colon.endswith(" ") or self.is_yaml else ""
        joined = (", " if lead else ",").join(self._scalar(name, "") for name in names)
        key = self._scalar("required", member.key.quote)
        return [Edit(member.value.end, member.value.end, f",{lead}{key}{colon}[{joined}]")]

    def _required_in_block(self, node: Node, index: int, names: Sequence[str]) -> list[Edit] | None:
        key = node.members[index].key
        assert key is not None
        column = key.start - (self.text.rfind("\n", 0, key.start) + 1)
        joined = ", ".join(self._scalar(name, "") for name in names)
        return [Edit(key.start, key.start, f"required: [{joined}]{self._break}{' ' * column}")]

    # Words

    def _scalar(self, text: str, quote: str) -> str:
        """A text as a scalar, in the quotes that stand around its like."""
        if self.is_yaml and quote == "'":
            return "'" + text.replace("'", "''") + "'"
        if self.is_yaml and not quote and _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
            return text
        return json.dumps(text, ensure_ascii=False)

    @property
    def _break(self) -> str:
        return "\r\n" if "\r\n" in self.text else "\n"

    def _end_of_line(self, position: int) -> int:
        """Where the line of `position` ends, before its break."""
        stop = self.text.find("\n", position)
        if stop < 0:
            return len(self.text)
        return stop - 1 if self.text[stop - 1 : stop] == "\r" else stop

    def _break_at(self, position: int) -> str:
        return "\r\n" if self.text.startswith("\r\n", position) else "\n"


_DASH: Final = re.compile(r" *- +")
_PLAIN: Final = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
"""Text that means itself without quotes, wherever in YAML it stands."""
_WORDS: Final = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})
"""Words that some reader of YAML takes for something else."""


def apply(text: str, edits: Sequence[Edit]) -> str:
    """`text` with the edits made. They do not overlap."""
    parts: list[str] = []
    position = 0
    for edit in sorted(edits, key=lambda each: (each.start, each.end)):
        parts += [text[position : edit.start], edit.text]
        position = edit.end
    return "".join([*parts, text[position:]])


def overlap(one: Edit, other: Edit) -> bool:
    """Whether two edits concern the same characters."""
    return one.start < other.end and other.start < one.end
