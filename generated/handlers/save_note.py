"""Handler of the tool save_note."""

from __future__ import annotations

from ..models.save_note import SaveNoteArguments, SaveNoteResult
from ..runtime import Call


def save_note(args: SaveNoteArguments, call: Call) -> SaveNoteResult:
    """Save a note under an ID of the caller's choice; an existing note is replaced."""
    raise NotImplementedError
