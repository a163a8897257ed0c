"""Documents written in random styles."""

from __future__ import annotations

import json
import re
from typing import Any

from hypothesis import strategies as st

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_BREAKS = st.sampled_from(["\n", "\r\n"])


@st.composite
def written_json(draw: st.DrawFn, value: Any) -> str:
    """`value` as JSON with any white space."""
    indent = draw(st.sampled_from([None, 0, 2, "\t"]))
    separators = draw(st.sampled_from([(", ", ": "), (",", ":"), (" , ", " :  ")]))
    text = json.dumps(value, indent=indent, separators=separators, ensure_ascii=draw(st.booleans()))
    if indent is not None:
        text = text.replace("\n", draw(_BREAKS))
    return text + draw(st.sampled_from(["", "\n"]))


@st.composite
def written_yaml(draw: st.DrawFn, value: Any) -> str:
    """`value` as YAML: blocks and brackets, quotes and remarks, as they come."""
    writer = _Writer(draw)
    lines = writer.block(value, 0)
    text = draw(_BREAKS).join(lines)
    return text + draw(st.sampled_from(["", "\n"])) if "\r" not in text else text


class _Writer:
    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw
        self._remarks = 0

    def block(self, value: Any, column: int) -> list[str]:
        """The lines of a value that starts on a line of its own."""
        pad = " " * column
        if not isinstance(value, (dict, list)) or not value or self._draw(st.integers(0, 3)) == 0:
            return [pad + self._flow(value) + self._remark()]
        lines: list[str] = []
        if isinstance(value, list):
            for item in value:
                inner = self.block(item, column + 2)
                lines += [f"{pad}- {inner[0][column + 2 :]}", *inner[1:]]
            return lines
        for key, member in value.items():
            head = f"{pad}{self._scalar(key, is_key=True)}:"
            if not isinstance(member, (dict, list)) or not member or self._draw(st.booleans()):
                lines.append(f"{head} {self._flow(member)}{self._remark()}")
            else:
                lines += [head + self._remark(), *self.block(member, column + 2)]
        return lines

    def _flow(self, value: Any) -> str:
        if isinstance(value, dict):
            inner = ", ".join(f"{self._scalar(key, is_key=True)}: {self._flow(each)}" for key, each in value.items())
            return f"{{{inner}}}"
        if isinstance(value, list):
            return f"[{', '.join(map(self._flow, value))}]"
        return self._scalar(value)

    def _scalar(self, value: Any, *, is_key: bool = False) -> str:
        if not isinstance(value, str):
            return json.dumps(value)
        styles = ["double"]
        if "\u2028" not in value:
            styles.append("single")
        if _PLAIN.fullmatch(value) and (is_key or value not in ("null", "true")):
            styles.append("plain")
        match self._draw(st.sampled_from(styles)):
            case "plain":
                return value
            case "single":
                return "'" + value.replace("'", "''") + "'"
            case _:
                return json.dumps(value, ensure_ascii=self._draw(st.booleans()) and "😀" not in value)

    def _remark(self) -> str:
        if self._draw(st.integers(0, 3)):
            return ""
        self._remarks += 1
        return f"  # remark {self._remarks}"
