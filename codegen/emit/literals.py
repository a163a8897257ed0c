"""Spec text in code: the only ways in which it gets there.

Text from a spec enters generated code as an escaped literal made here, or as an identifier made by
`codegen.schema.names`. Nothing else is ever printed into code.
"""

from __future__ import annotations

import textwrap


def py_string(text: str) -> str:
    """A Python string literal of `text`, in double quotes, in printable characters."""
    inner = repr(text)
    if inner[0] == '"':
        return inner
    return '"' + inner[1:-1].replace("\\'", "'").replace('"', '\\"') + '"'


def docstring(text: str, indent: str = "") -> str:
    """A docstring that reads as `text`, in triple quotes, its further lines indented by `indent`.

    Line ends become `\\n`; what would end the literal or be an escape in it is escaped; control characters are spelled.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    body = "\n".join(_spelled(line.rstrip()) for line in lines).strip("\n")
    body = body.replace('"""', '\\"\\"\\"')
    if body.endswith('"'):
        body = body[:-1] + '\\"'
    if "\n" in body:
        body += "\n"
    return '"""' + textwrap.indent(body, indent, lambda line: bool(line.strip())).removeprefix(indent) + (
        indent if "\n" in body else ""
    ) + '"""'


def _spelled(line: str) -> str:
    out: list[str] = []
    for char in line:
        if char == "\\":
            out.append("\\\\")
        elif char.isprintable() or char == "\t":
            out.append("    " if char == "\t" else char)
        elif ord(char) < 0x100:
            out.append(f"\\x{ord(char):02x}")
        elif ord(char) < 0x10000:
            out.append(f"\\u{ord(char):04x}")
        else:
            out.append(f"\\U{ord(char):08x}")
    return "".join(out)
