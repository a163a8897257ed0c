"""Regular expressions that a model may repeat.

Schemas write patterns in the words of ECMA-262; the gate and Pydantic both run them on Rust's engine, the gate after a
translation that Pydantic does not make. A pattern goes into a model only if every construct in it is one that both
languages read alike; everything else stays with the gate, which checks all of them.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

_MAX_LENGTH: Final = 200

# Literals, escaped punctuation, \d and \w, simple classes, groups, alternatives, anchors and greedy counts. No dot and
# no \s (they differ on line breaks and blanks), no look-around, back reference, boundary, flag or lazy count.
_SAFE: Final = re.compile(
    r"""
    (?: \\[dw.\-/+*?()\[\]{}|^$\\]
      | \[ \^? (?: \\[dw.\-/+*?()\[\]{}|^$\\]
                 | [0-9A-Za-z]-[0-9A-Za-z]
                 | [^\[\]\\&~\-^]
                 | -(?=\])
               )+ \]
      | \( (?: \?: | (?!\?) )
      | \)
      | [|^$]
      | [A-Za-z0-9 _:,;@#%&='"<>!/~\-]
      | [*+?]
      | \{ \d{1,3} (?:,\d{0,3})? \}
    )*
    """,
    re.VERBOSE,
)
_STACKED_COUNTS: Final = re.compile(r"[*+?}][*+?{]")
_ASCII_CLASSES: Final = {"d": "0-9", "w": "A-Za-z0-9_"}


@lru_cache(maxsize=1024)
def portable(pattern: str) -> str | None:
    """`pattern` for a Pydantic model if it surely means there what it means to the gate, else None."""
    if len(pattern) > _MAX_LENGTH or not pattern.isascii() or not _SAFE.fullmatch(pattern):
        return None
    if _STACKED_COUNTS.search(pattern):  # possessive and lazy counts, or a count of a count
        return None
    translated = _translate(pattern)
    return translated if _compiles(translated) else None


def _translate(pattern: str) -> str:
    """Spells out \\d and \\w, which cover only ASCII in ECMA-262 and all of Unicode in Rust."""
    parts: list[str] = []
    in_class = False
    position = 0
    while position < len(pattern):
        character = pattern[position]
        if character == "\\":
            escaped = pattern[position + 1]
            ascii_class = _ASCII_CLASSES.get(escaped)
            if ascii_class is not None:
                parts.append(ascii_class if in_class else f"[{ascii_class}]")
            else:
                parts.append("/" if escaped == "/" else character + escaped)
            position += 2
            continue
        in_class = character == "[" or (in_class and character != "]")
        parts.append(character)
        position += 1
    return "".join(parts)


def _compiles(pattern: str) -> bool:
    """Whether the engine under Pydantic takes the pattern (balanced groups, size limits)."""
    from pydantic_core import SchemaError, SchemaValidator, core_schema

    try:
        SchemaValidator(core_schema.str_schema(pattern=pattern))
    except SchemaError:
        return False
    return True
