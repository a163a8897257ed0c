"""One change to one file of an output folder."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Action(enum.Enum):
    """What happens to a path."""

    CREATE = "create"
    """Nothing stands there; nothing may stand there when the step is done."""
    REPLACE = "replace"
    REMOVE = "remove"


@dataclass(frozen=True, slots=True)
class Step:
    """A change, with what it starts from: a step is taken only while the file is as the plan saw it."""

    action: Action
    path: str
    """Relative to the output folder, spelt as on disk."""
    old: str | None
    """SHA-256 of the bytes that are replaced or removed."""
    data: bytes | None
    """The bytes that are written."""
