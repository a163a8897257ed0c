"""Reading YAML 1.2 with the core schema, as far as JSON has a word for it.

ruamel.yaml parses the text into events; values are resolved here, by the tables of the YAML 1.2.2 specification
(section 10.3.2) and nothing else: no dates, no sexagesimals, no `yes` and `no`, no octal by a leading zero. A key is a
string, spelled as in the text. Working on events keeps deep nesting and alias bombs away from any recursion.

Kept out, because JSON has no word for it or because it surprises: `.inf` and `.nan`, tags beyond the core ones, keys
that are lists or mappings, recursive aliases, and the merge key `<<` of YAML 1.1 (quoted, it is an ordinary key).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    DocumentStartEvent,
    Event,
    MappingStartEvent,
    ScalarEvent,
    SequenceStartEvent,
)
from ruamel.yaml.reader import ReaderError

from codegen.schema.pointers import join
from codegen.specs.faults import MAX_DEPTH, Fault, Parsed, decimal, integer, quoted, shortened

MAX_ALIASED: Final = 100_000
"""Values that the aliases of one file may stand for altogether."""

_NULL: Final = frozenset({"", "~", "null", "Null", "NULL"})
_BOOL: Final = {**dict.fromkeys(("true", "True", "TRUE"), True), **dict.fromkeys(("false", "False", "FALSE"), False)}
_INT: Final = re.compile(r"[-+]?[0-9]+")
_OCTAL: Final = re.compile(r"0o[0-7]+")
_HEX: Final = re.compile(r"0x[0-9a-fA-F]+")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NOT_FINITE: Final = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_TAG: Final = "tag:yaml.org,2002:"
_SCALAR_TAGS: Final = frozenset({"str", "int", "float", "bool", "null"})
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_OLD_BREAKS: Final = "\x85\u2028\u2029"


def read_yaml(text: str) -> Parsed:
    """The value of the YAML file `text`, or the faults in it.

    A file of several documents is the list of them; documents without content are left out.
    """
    file = _compose(text)
    if file.faults or file.root is None:
        return Parsed(None, tuple(file.faults))
    return Parsed(_value(file.root))


def yaml_lines(text: str) -> dict[str, int]:
    """The 1-based line of each value, by pointer; a member's line is that of its key, also below an alias."""
    file = _compose(text)
    return dict(_lines("", 1, file.root)) if file.root is not None else {}


@dataclass(slots=True)
class _Node:
    """A value and its place. `children` is None for a scalar; keys are None for the items of a list."""

    line: int
    scalar: Any = None
    children: list[tuple[str | None, int, _Node]] | None = None
    is_map: bool = False
    closed: bool = True
    size: int = 1
    """Values it stands for, with its aliases written out."""
    height: int = 0
    """Levels of nesting below it, with its aliases written out."""
    keys: dict[str, int] = field(default_factory=dict)
    pending: tuple[str, int] | None = None
    """The key whose value comes next."""


def _value(node: _Node) -> Any:
    """The plain value; each use of an alias gets a copy of its own."""
    if node.children is None:
        return node.scalar
    if node.is_map:
        return {key: _value(child) for key, _, child in node.children}
    return [_value(child) for _, _, child in node.children]


def _lines(pointer: str, line: int, node: _Node) -> Iterator[tuple[str, int]]:
    yield pointer, line
    for index, (key, place, child) in enumerate(node.children or ()):
        yield from _lines(join(pointer, index if key is None else key), place, child)


class _Stop(Exception):
    """Nothing sensible can be read after this fault."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault


def _compose(text: str) -> _Builder:
    plain, restore = _hide_old_breaks(text)
    builder = _Builder(restore)
    try:
        for event in _events(plain):
            builder.take(event)
    except _Stop as stop:
        builder.faults.append(stop.fault)
    if not builder.faults:
        builder.finish()
    return builder


def _events(text: str) -> Iterator[Event]:
    try:
        yield from YAML(typ="safe", pure=True).parse(text)
    except ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        character = error.character if isinstance(error.character, int) else ord(error.character)
        message = f"the character U+{character:04X} may not stand in YAML"
        raise _Stop(Fault("yaml-syntax", line, "", message, "escape it in a double-quoted string")) from None
    except MarkedYAMLError as error:
        raise _Stop(_syntax_fault(error)) from None
    except (YAMLError, ValueError, OverflowError) as error:  # the latter two: an escape beyond Unicode
        raise _Stop(Fault("yaml-syntax", 1, "", f"the YAML cannot be read: {error}")) from None


def _hide_old_breaks(text: str) -> tuple[str, dict[int, str]]:
    """`text` with the line breaks of YAML 1.1 as private characters, and the table that brings them back.

    YAML 1.2 takes NEL, LS and PS for ordinary characters; the scanner would still end lines at them.
    """
    present = [character for character in _OLD_BREAKS if character in text]
    if not present:
        return text, {}
    free = (chr(code) for code in range(0xE000, 0xF8FF) if chr(code) not in text)
    stand_ins = dict(zip(present, free, strict=False))
    hidden = text.translate({ord(old): new for old, new in stand_ins.items()})
    return hidden, {ord(new): old for old, new in stand_ins.items()}


def _syntax_fault(error: MarkedYAMLError) -> Fault:
    mark = error.problem_mark or error.context_mark
    problem = str(error.problem or error.context)
    message = f"{problem} ({error.context})" if error.context and error.problem else problem
    hint = ""
    if r"'\t'" in problem:
        hint = "YAML is indented with spaces"
    elif "mapping values are not allowed" in problem or "could not find expected ':'" in problem:
        hint = "check the indentation, and quote text that holds a colon"
    elif "duplicate" in problem and "directive" in problem:
        hint = "keep one of the directives"
    return Fault("yaml-syntax", mark.line + 1 if mark is not None else 1, "", message, hint)


class _Builder:
    """Builds nodes from events; keeps going after faults that leave the structure whole."""

    def __init__(self, restore: dict[int, str]) -> None:
        self.root: _Node | None = None
        self.faults: list[Fault] = []
        self._restore = restore
        self._documents: list[_Node] = []
        self._stack: list[_Node] = []
        self._anchors: dict[str, _Node] = {}
        self._aliased = 0

    def take(self, event: Event) -> None:
        line = event.start_mark.line + 1
        if isinstance(event, ScalarEvent):
            self._scalar(event, line)
        elif isinstance(event, AliasEvent):
            self._alias(event.anchor, line)
        elif isinstance(event, (MappingStartEvent, SequenceStartEvent)):
            self._open(event, line)
        elif isinstance(event, CollectionEndEvent):
            node = self._stack.pop()
            node.closed = True
            if self._stack:
                self._grow(self._stack[-1], node)
        elif isinstance(event, DocumentStartEvent):
            self._anchors.clear()
            if event.version is not None and tuple(event.version) != (1, 2):
                written = ".".join(str(part) for part in event.version)
                hint = "remove the %YAML directive; mind that yes, no, on and off are text in YAML 1.2"
                self._fault(line, f"the file says YAML {written}, and specs are YAML 1.2", hint)

    def finish(self) -> None:
        """Takes the documents that were read for the file's value."""
        documents = [node for node in self._documents if node.children is not None or node.scalar is not None]
        if len(documents) == 1:
            self.root = documents[0]
        elif documents:
            self.root = _Node(1, children=[(None, node.line, node) for node in documents])
        else:
            self.faults.append(Fault("yaml-syntax", 1, "", "the file is empty"))

    # Structure

    def _open(self, event: MappingStartEvent | SequenceStartEvent, line: int) -> None:
        is_map = isinstance(event, MappingStartEvent)
        if event.tag is not None and event.tag != _TAG + ("map" if is_map else "seq"):
            self._tag_fault(event.tag, line)
        node = _Node(line, children=[], is_map=is_map, closed=False)
        self._place(node, line)
        self._stack.append(node)
        if len(self._stack) > MAX_DEPTH:
            raise _Stop(self._nesting(line))
        if event.anchor is not None:
            self._anchors[event.anchor] = node

    def _place(self, node: _Node, line: int) -> None:
        """Makes `node` the next value of what is open."""
        if not self._stack:
            self._documents.append(node)
            return
        parent = self._stack[-1]
        assert parent.children is not None
        if not parent.is_map:
            parent.children.append((None, line, node))
        elif parent.pending is None:
            self._stop(line, "a key is a list or a mapping", "JSON keys are text: quote the key")
        else:
            key, key_line = parent.pending
            parent.pending = None
            parent.children.append((key, key_line, node))
        if node.closed:
            self._grow(parent, node)

    def _grow(self, parent: _Node, child: _Node) -> None:
        parent.size += child.size
        parent.height = max(parent.height, child.height + (child.children is not None))

    def _alias(self, name: str, line: int) -> None:
        node = self._anchors.get(name)
        if node is None:
            self._stop(line, f"the alias *{name} has no anchor", f"write &{name} at the value that is meant, before it")
        elif not node.closed:
            self._stop(line, f"the alias *{name} stands inside what it stands for", "write it out, or use $ref")
        elif self._awaits_key():
            if node.children is not None or not isinstance(node.scalar, str):
                self._stop(line, "a key is an alias of something that is no text", "write the key out")
            else:
                self._key(node.scalar, line)
        else:
            self._aliased += node.size
            if self._aliased > MAX_ALIASED:
                self._stop(line, f"the aliases stand for more than {MAX_ALIASED:,} values", "use $defs and $ref")
            if len(self._stack) + node.height + (node.children is not None) > MAX_DEPTH:
                raise _Stop(self._nesting(line))
            self._place(node, line)

    def _awaits_key(self) -> bool:
        return bool(self._stack) and self._stack[-1].is_map and self._stack[-1].pending is None

    def _key(self, key: str, line: int) -> None:
        parent = self._stack[-1]
        parent.pending = (key, line)
        first = parent.keys.get(key)
        if first is None:
            parent.keys[key] = line
        else:
            message = f"the key {quoted(key)} stands on line {first} and again on line {line}"
            self.faults.append(Fault("duplicate-key", line, self._pointer(), message, "keep one of the two"))

    # Scalars

    def _scalar(self, event: ScalarEvent, line: int) -> None:
        text = self._text(event, line)
        if self._awaits_key():
            if event.tag is not None and event.tag.removeprefix(_TAG) not in _SCALAR_TAGS:
                self._tag_fault(event.tag, line)
            if text == "<<" and event.style is None and event.tag is None:
                hint = 'write the members out, or use $ref; a property of that name is written "<<"'
                self._fault(line, "the merge key << is no part of YAML 1.2", hint)
            self._key(text, line)
            node = _Node(line, text)
        else:
            node = _Node(line, self._resolve(event, text, line))
            self._place(node, line)
        if event.anchor is not None:
            self._anchors[event.anchor] = node

    def _text(self, event: ScalarEvent, line: int) -> str:
        text: str = event.value
        if self._restore:
            text = text.translate(self._restore)
        if _SURROGATE.search(text):  # escapes for the halves of one character arrive as two
            try:
                return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
            except UnicodeDecodeError:
                message = "a string holds one half of a surrogate pair, which is no character"
                self._fault(line, message, "write the character itself")
        return text

    def _resolve(self, event: ScalarEvent, text: str, line: int) -> Any:
        if event.tag is None:
            return self._plain(text, line) if event.style is None else text
        kind = event.tag.removeprefix(_TAG) if event.tag.startswith(_TAG) else ""
        if kind not in _SCALAR_TAGS:
            self._tag_fault(event.tag, line)
            return text
        if kind == "str":
            return text
        value = self._plain(text, line)
        fits = {"int": type(value) is int, "float": type(value) in (int, float), "bool": type(value) is bool}
        if not fits.get(kind, value is None):
            self._fault(line, f"{shortened(text)!r} is no !!{kind}", "remove the tag or mend the value")
            return value
        return float(value) if kind == "float" else value

    def _plain(self, text: str, line: int) -> Any:
        if text in _NULL:
            return None
        if text in _BOOL:
            return _BOOL[text]
        try:
            if _INT.fullmatch(text):
                return integer(text)
            if _OCTAL.fullmatch(text):
                return integer(text[2:], 8)
            if _HEX.fullmatch(text):
                return integer(text[2:], 16)
            if _FLOAT.fullmatch(text):
                return decimal(text)
        except ValueError as error:
            self._fault(line, str(error), "quote it if text is meant")
        if _NOT_FINITE.fullmatch(text):
            self._fault(line, f"{text} is no JSON value", "JSON has finite numbers only; quote it if text is meant")
        return text

    # Faults

    def _fault(self, line: int, message: str, hint: str = "") -> None:
        self.faults.append(Fault("yaml-syntax", line, self._pointer(), message, hint))

    def _stop(self, line: int, message: str, hint: str) -> NoReturn:
        raise _Stop(Fault("yaml-syntax", line, self._pointer(), message, hint))

    def _tag_fault(self, tag: str, line: int) -> None:
        shown = f"!!{tag.removeprefix(_TAG)}" if tag.startswith(_TAG) else tag
        known = "!!str, !!int, !!float, !!bool, !!null, !!map and !!seq"
        self._fault(line, f"the tag {shown} has no meaning in a spec", f"remove it; known are {known}")

    def _nesting(self, line: int) -> Fault:
        message = f"the document nests deeper than {MAX_DEPTH} levels"
        return Fault("nesting", line, self._pointer(), message, "flatten the schema, or use $defs and $ref")

    def _pointer(self) -> str:
        """Of the value that comes next, inside its document."""
        pointer = ""
        for depth, parent in enumerate(self._stack, 1):
            children = parent.children or []
            is_open = depth < len(self._stack)  # its last child is still being read
            if parent.pending is not None:
                pointer = join(pointer, parent.pending[0])
            elif not parent.is_map:
                pointer = join(pointer, len(children) - is_open)
            elif is_open:
                pointer = join(pointer, children[-1][0] or "")
        return pointer
