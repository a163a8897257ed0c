"""How values are spelled: in messages, and as text where they were meant as something else."""

from __future__ import annotations

import json
import math
from typing import Any, Final

_MAX_SHOWN: Final = 60


def shown(value: Any) -> str:
    """A value as a message shows it: as JSON, cut where it is long."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _MAX_SHOWN else text[: _MAX_SHOWN - 1] + "…"


def spelled(text: str) -> str | None:
    """The JSON of the boolean, number or null that `text` spells, with its own digits; None where it spells none."""
    word = text.strip()
    if word.lower() in ("true", "false", "null"):
        return word.lower()
    if word == "None":
        return "null"
    try:
        value = json.loads(word)
    except ValueError:
        return None
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return word if is_number and math.isfinite(value) else None


def unquoted(text: str) -> Any:
    """The value that `text` spells; the text itself where it spells none."""
    found = spelled(text)
    return text if found is None else json.loads(found)
