"""Reading JSON by RFC 8259, strictly.

Two ways lead through a text. The quick one is Python's own decoder with hooks that notice what RFC 8259 or this tool
does not allow; it knows no places. The slow one walks the tokens and knows the line of every value: it explains what
the quick one refused, and it makes the index of lines when a diagnostic first asks for one.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, Final

from codegen.schema.pointers import join
from codegen.specs.faults import MAX_DEPTH, Fault, Parsed, decimal, integer, quoted

_STRING: Final = r'"(?:[^"\\]++|\\.)*+"'
_BRACKETS: Final = re.compile(rf"{_STRING}|([\[{{])|([\]}}])", re.DOTALL)
_TOKENS: Final = re.compile(rf"{_STRING}|[\[\]{{}}:,]|[^\s\[\]{{}}:,\"]++", re.DOTALL)
_SURROGATE_ESCAPE: Final = re.compile(r"\\u[dD][89a-fA-F]")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def read_json(text: str) -> Parsed:
    """The value of the JSON document `text`, or every fault in it."""
    too_deep = _depth_fault(text)
    if too_deep is not None:
        return Parsed(None, (too_deep,))
    try:
        value = _QUICK.decode(text)
    except json.JSONDecodeError as error:
        return Parsed(None, (_syntax_fault(text, error),))
    except ValueError:  # a hook refused something, or Python an integer
        faults = _explain(text)
        if not faults:
            raise
        return Parsed(None, faults)
    if _SURROGATE_ESCAPE.search(text) and (faults := tuple(_Walk(text).faults)):
        return Parsed(None, faults)
    return Parsed(value)


def json_lines(text: str) -> dict[str, int]:
    """The 1-based line of each value of a JSON document, by pointer; a member's line is that of its key."""
    return _Walk(text).lines


class _Refused(ValueError):
    """The quick way met something that only the slow one can place."""


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _Refused
    return members


def _constant(word: str) -> Any:
    raise _Refused(word)


_QUICK: Final = json.JSONDecoder(object_pairs_hook=_members, parse_float=decimal, parse_constant=_constant)
_SYNTAX_ONLY: Final = json.JSONDecoder(parse_float=len, parse_int=len, parse_constant=len)


def _depth_fault(text: str) -> Fault | None:
    """Judged before decoding, because Python's decoder recurses."""
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return None
    depth = 0
    for match in _BRACKETS.finditer(text):
        if match.lastindex == 1:
            depth += 1
            if depth > MAX_DEPTH:
                line = text.count("\n", 0, match.start()) + 1
                message = f"the document nests deeper than {MAX_DEPTH} levels"
                return Fault("nesting", line, "", message, "flatten the schema, or use $defs and $ref")
        elif match.lastindex == 2:
            depth -= 1
    return None


def _explain(text: str) -> tuple[Fault, ...]:
    try:
        _SYNTAX_ONLY.decode(text)
    except json.JSONDecodeError as error:
        return (_syntax_fault(text, error),)
    return tuple(_Walk(text).faults)


def _syntax_fault(text: str, error: json.JSONDecodeError) -> Fault:
    rest = text[error.pos : error.pos + 10]
    before = text[: error.pos].rstrip()[-1:]
    message, hint = error.msg[:1].lower() + error.msg[1:], ""
    if not text.strip():
        message = "the file is empty"
    elif error.msg == "Extra data":
        message, hint = "more text follows the end of the document", "a file holds one value: put several into a list"
    elif error.msg.startswith("Illegal trailing comma") or (before == "," and rest[:1] in ("}", "]")):
        message, hint = "a comma stands before the end of a list or an object", "remove the comma"
    elif rest.startswith(("//", "/*", "#")):
        hint = "JSON has no comments; a YAML file (.yaml) has"
    elif rest.startswith("'"):
        hint = "JSON strings and keys stand in double quotes"
    elif rest.startswith(("True", "False", "None", "undefined")):
        hint = "JSON writes true, false and null"
    return Fault("json-syntax", error.lineno, "", f"{message} (column {error.colno})", hint)


@dataclass(slots=True)
class _Frame:
    """An object or a list that is being walked."""

    pointer: str
    seen: dict[str, int] | None
    """Lines of the keys so far; None for a list."""
    key: str | None = None
    """The key whose value comes next; None where a key comes next."""
    index: int = 0


@dataclass(slots=True)
class _Walk:
    """One pass over the tokens of a text that is well-formed but for words like NaN. Recursion-free."""

    text: str
    lines: dict[str, int] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)

    def __post_init__(self) -> None:
        stack: list[_Frame] = []
        line, last = 1, 0
        for match in _TOKENS.finditer(self.text):
            token, start = match.group(), match.start()
            line, last = line + self.text.count("\n", last, start), start
            if token in ("}", "]"):
                stack.pop()
            elif token == ",":
                if stack[-1].seen is None:
                    stack[-1].index += 1
                else:
                    stack[-1].key = None
            elif token != ":":
                top = stack[-1] if stack else None
                if top is not None and top.seen is not None and top.key is None:
                    self._key(top, token, line)
                else:
                    self._value(top, token, line, stack)

    def _key(self, frame: _Frame, token: str, line: int) -> None:
        assert frame.seen is not None
        key = self._string(token, line, frame.pointer)
        frame.key = key
        first = frame.seen.setdefault(key, line)
        pointer = join(frame.pointer, key)
        if pointer in self.lines:
            message = f"the key {quoted(key)} stands on line {first} and again on line {line}"
            self.faults.append(Fault("duplicate-key", line, pointer, message, "keep one of the two"))
        else:
            self.lines[pointer] = line

    def _value(self, frame: _Frame | None, token: str, line: int, stack: list[_Frame]) -> None:
        if frame is None:
            pointer = ""
        elif frame.seen is None:
            pointer = join(frame.pointer, frame.index)
        else:
            pointer = join(frame.pointer, frame.key or "")
        self.lines.setdefault(pointer, line)
        if token in ("{", "["):
            stack.append(_Frame(pointer, {} if token == "{" else None))
        elif token[0] == '"':
            self._string(token, line, pointer)
        elif token not in ("true", "false", "null"):
            self._number(token, line, pointer)

    def _string(self, token: str, line: int, pointer: str) -> str:
        text: str = json.loads(token)
        if _SURROGATE.search(text):
            message = "a string holds one half of a surrogate pair, which is no character"
            hint = r"write both halves (\ud83d\ude00) or the character itself"
            self.faults.append(Fault("json-syntax", line, pointer, message, hint))
        return text

    def _number(self, token: str, line: int, pointer: str) -> None:
        if token.lstrip("-") in ("NaN", "Infinity"):
            message, hint = f"{token} is no JSON value", "JSON has finite numbers only"
            self.faults.append(Fault("json-syntax", line, pointer, message, hint))
            return
        try:
            if token.lstrip("-").isdigit():
                integer(token)
            else:
                decimal(token)
        except ValueError as error:
            self.faults.append(Fault("json-syntax", line, pointer, str(error)))
