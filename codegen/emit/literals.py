"""Spec text as Python source: literals and docstrings.

Text from a spec enters generated code through these functions only (or as an `Identifier`). Whatever it holds, quotes,
backslashes, line breaks, null bytes or marks that turn the direction of writing, what comes out is one string token.
"""

from __future__ import annotations

import math
import re
import textwrap
from typing import Any, Final, NewType

PyLiteral = NewType("PyLiteral", str)
"""Source of a Python literal."""

WIDTH: Final = 88
"""Columns of the output: what Black takes without settings, so that it is clean where nothing is set."""
_BULLET: Final = re.compile(r"\s*(?:[-*+]\s+|\d+[.)]\s+)?")
_DECIMAL_BITS: Final = 4096  # Python refuses to read or write decimal integers of more than some thousand digits


def literal(value: Any) -> PyLiteral:
    """A JSON value as source. Raises `ValueError` for what JSON cannot say: NaN, infinities, other types."""
    match value:
        case str():
            return py_string(value)
        case None | bool():
            return PyLiteral(repr(value))
        case int():
            return PyLiteral(repr(value) if value.bit_length() <= _DECIMAL_BITS else hex(value))
        case float() if math.isfinite(value):
            return PyLiteral(repr(value))
        case list():
            return PyLiteral(f"[{', '.join(literal(member) for member in value)}]")
        case dict():
            members = (f"{literal(key)}: {literal(member)}" for key, member in value.items())
            return PyLiteral(f"{{{', '.join(members)}}}")
    raise ValueError(f"not a JSON value: {type(value).__name__}")


def py_string(text: str) -> PyLiteral:
    """A text as source, in double quotes and printable characters."""
    inner = repr(text)
    if inner[0] == '"':
        return PyLiteral(inner)
    return PyLiteral('"' + inner[1:-1].replace("\\'", "'").replace('"', '\\"') + '"')


def docstring(text: str, indent: str = "") -> str:
    """`text` as a docstring, its further lines behind `indent`, long lines wrapped; empty for a blank text.

    The first line stands beside the opening quotes, so it is for the caller to indent.
    """
    lines = _wrapped([_escaped(line) for line in _lines(text)], WIDTH - len(indent))
    if not lines:
        return ""
    if len(lines) == 1 and len(indent) + len(lines[0]) + 7 <= WIDTH:
        closing = " " if lines[0].endswith('"') else ""
        return f'"""{lines[0]}{closing}"""'
    body = "\n".join(indent + line if line else "" for line in lines[1:])
    return f'"""{lines[0]}\n{body}{chr(10) if body else ""}{indent}"""'


def _lines(text: str) -> list[str]:
    """The lines of a text without common indentation, blanks at their ends, and blank lines around them."""
    first, *rest = [line.rstrip() for line in text.strip().splitlines()] or [""]
    lines = [first, *textwrap.dedent("\n".join(rest)).split("\n")] if rest else [first]
    return [line.expandtabs(4) for line in lines] if any(lines) else []


def _escaped(line: str) -> str:
    shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in line.replace("\\", "\\\\"))
    return shown.replace('"""', r"\"\"\"")


def _wrapped(lines: list[str], width: int) -> list[str]:
    wrapped: list[str] = []
    for line in lines:
        room = width if wrapped else width - 3  # the opening quotes
        if len(line) <= room:
            wrapped.append(line)
            continue
        lead = line[: len(line) - len(line.lstrip())]
        bullet = _BULLET.match(line)
        hanging = " " * min(bullet.end() if bullet else 0, 12)
        first = textwrap.wrap(
            line, room, subsequent_indent=hanging or lead, break_long_words=False, break_on_hyphens=False
        )
        wrapped.extend(first)
    return wrapped
