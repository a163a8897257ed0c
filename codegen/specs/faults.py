"""What the JSON and the YAML reader share: the fault they report, and the limits they hold documents to."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final

MAX_DEPTH: Final = 128
"""Levels of nesting that a document may have; what generated services hold arguments to as well."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a text is no document; `line` is 1-based, `pointer` is as far as the reader got."""

    code: str
    line: int
    pointer: str
    message: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a text says: a value, or the faults that keep it from having one."""

    value: Any
    faults: tuple[Fault, ...] = ()


def decimal(text: str) -> float:
    """The number that `text` writes with a fraction or an exponent.

    Raises `ValueError` where a double cannot hold it: too large, or so small that it would become zero.
    """
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"the number {shortened(text)} is too large for a 64-bit float")
    if value == 0 and any(digit in "123456789" for digit in re.split("[eE]", text)[0]):
        raise ValueError(f"the number {shortened(text)} is too small for a 64-bit float")
    return value


def integer(text: str, base: int = 10) -> int:
    """The integer that `text` writes, exact at any size that this Python reads.

    Raises `ValueError` where it has more digits than Python converts (`sys.get_int_max_str_digits`, usually 4300).
    """
    try:
        return int(text, base)
    except ValueError:
        raise ValueError(f"an integer of {len(text.lstrip('+-'))} digits is too long to be read") from None


def shortened(text: str, length: int = 40) -> str:
    """`text`, cut in the middle where it is long."""
    return text if len(text) <= length else f"{text[: length - 13]}…{text[-12:]}"


def quoted(text: str) -> str:
    """`text` as a message shows it: on one line, in double quotes, not too long."""
    return json.dumps(shortened(text), ensure_ascii=False)


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that `word` is probably a misspelling of."""
    by_fold = {name.casefold().replace("_", "").replace("-", ""): name for name in known}
    found = get_close_matches(word.casefold().replace("_", "").replace("-", ""), by_fold, n=1, cutoff=0.7)
    return by_fold[found[0]] if found else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A hint for an unknown word: the nearest known one, else all of them."""
    names = list(known)
    near = nearest(word, names)
    if near is not None:
        return f"did you mean {quoted(near)}?"
    return f"known here: {', '.join(names)}" if names else ""
