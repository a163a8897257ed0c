"""Where in the text of a document its values stand, for JSON and for YAML alike.

An outline is made of text that the readers of specs have accepted, so it reports nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Literal

from codegen.schema.pointers import tokens

Form = Literal["scalar", "map", "list", "alias"]


@dataclass(slots=True)
class Node:
    """A value. `start` and `end` are positions of characters; those of a block of YAML are its first and last value's.

    An alias has no members: what it stands for is written elsewhere.
    """

    form: Form
    start: int
    end: int
    members: list[Member] = field(default_factory=list)
    is_flow: bool = True
    """Whether a map or list stands in brackets, as it always does in JSON."""
    quote: str = ""
    """The quotes around a scalar; empty where it has none."""
    is_plain: bool = True
    """Whether the text of the node is all there is to it: no tag, no anchor, no block of text."""


@dataclass(slots=True)
class Member:
    """A member of a map, with its key, or of a list."""

    value: Node
    name: str | None = None
    key: Node | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """A value in an outline: the node, and where it stands in the one around it."""

    node: Node
    parent: Node | None = None
    index: int = 0
    through_alias: bool = False
    """Whether an alias lies on the way, or at the end of it: `node` is then that alias."""

    @property
    def member(self) -> Member | None:
        return None if self.parent is None else self.parent.members[self.index]


def find(root: Node, pointer: str) -> Place | None:
    """The place of the value at `pointer`; None where there is none."""
    place = Place(root)
    for token in tokens(pointer):
        if place.node.form == "alias":
            break
        step = _step(place.node, token)
        if step is None:
            return None
        place = Place(place.node.members[step].value, place.node, step)
    if place.node.form == "alias":
        return Place(place.node, place.parent, place.index, through_alias=True)
    return place


def _step(node: Node, token: str) -> int | None:
    if node.form == "map":
        return next((index for index, member in enumerate(node.members) if member.name == token), None)
    if node.form == "list" and token.isascii() and token.isdigit() and int(token) < len(node.members):
        return int(token)
    return None


_TOKENS: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"|[\[\]{}:,]|[^\s\[\]{}:,"]++', re.DOTALL)


def json_outline(text: str) -> Node:
    """The outline of a JSON document."""
    top = Node("list", 0, len(text))
    stack = [top]
    key: Node | None = None
    name = ""
    for match in _TOKENS.finditer(text):
        token, start, end = match.group(), match.start(), match.end()
        if token in (",", ":"):
            continue
        if token in ("}", "]"):
            stack.pop().end = end
            continue
        parent = stack[-1]
        if parent.form == "map" and key is None:
            key, name = Node("scalar", start, end, quote='"'), json.loads(token)
            continue
        opens: dict[str, Form] = {"{": "map", "[": "list"}
        node = Node(opens.get(token, "scalar"), start, end, quote='"' if token[0] == '"' else "")
        parent.members.append(Member(node, name, key) if parent.form == "map" else Member(node))
        key = None
        if token in opens:
            stack.append(node)
    return top.members[0].value


_OLD_BREAKS: Final = dict.fromkeys(map(ord, "\x85\u2028\u2029"), "\ue000")
"""Characters that the scanner ends lines at and YAML 1.2 does not: any other one keeps the positions."""
_NULLS: Final = frozenset({"", "~", "null", "Null", "NULL"})


def yaml_outline(text: str) -> Node | None:
    """The outline of a YAML file, of its one document or of the list of them; None where it holds nothing."""
    documents = [node for node, is_empty in _documents(text) if not is_empty]
    if len(documents) < 2:
        return documents[0] if documents else None
    return Node("list", 0, len(text), [Member(node) for node in documents], is_plain=False)


def _documents(text: str) -> Iterator[tuple[Node, bool]]:
    from ruamel.yaml import YAML
    from ruamel.yaml.events import AliasEvent, CollectionEndEvent, NodeEvent, ScalarEvent

    stack: list[Node] = []
    waiting: list[tuple[Node, str]] = []  # keys whose values come next, one for each open map at most
    for event in YAML(typ="safe", pure=True).parse(text.translate(_OLD_BREAKS)):
        if isinstance(event, CollectionEndEvent):
            node = stack.pop()
            if node.is_flow:
                node.end = event.end_mark.index
            elif node.members:
                node.end = node.members[-1].value.end
            if not stack:
                yield node, False
            continue
        if not isinstance(event, NodeEvent):
            continue
        node = _node(event)
        parent = stack[-1] if stack else None
        if parent is not None and parent.form == "map":
            if not waiting or waiting[-1][0] is not parent:
                waiting.append((parent, getattr(event, "value", "")))
                parent.members.append(Member(node, getattr(event, "value", ""), node))
                continue
            waiting.pop()
            parent.members[-1].value = node
        elif parent is not None:
            parent.members.append(Member(node))
        if not isinstance(event, (ScalarEvent, AliasEvent)):
            stack.append(node)
        elif parent is None:
            yield node, isinstance(event, ScalarEvent) and event.style is None and event.value in _NULLS


def _node(event: object) -> Node:
    """The node of an event that begins one; `event` is a `NodeEvent` of ruamel.yaml."""
    from ruamel.yaml.events import AliasEvent, MappingStartEvent, NodeEvent, ScalarEvent, SequenceStartEvent

    assert isinstance(event, NodeEvent)
    start, end = event.start_mark.index, event.end_mark.index
    bare = event.anchor is None and getattr(event, "tag", None) is None
    if isinstance(event, ScalarEvent):
        quote = event.style if event.style in ("'", '"') else ""
        return Node("scalar", start, end, quote=quote, is_plain=bare and event.style not in ("|", ">"))
    if isinstance(event, AliasEvent):
        return Node("alias", start, end, is_plain=False)
    assert isinstance(event, (MappingStartEvent, SequenceStartEvent))
    form: Form = "map" if isinstance(event, MappingStartEvent) else "list"
    return Node(form, start, end, is_flow=bool(event.flow_style), is_plain=bare)
