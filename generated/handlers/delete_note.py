"""Handler of the tool delete_note."""

from __future__ import annotations

from ..models.delete_note import DeleteNoteArguments, DeleteNoteResult
from ..runtime import Call


def delete_note(args: DeleteNoteArguments, call: Call) -> DeleteNoteResult:
    """Delete a note for good."""
    raise NotImplementedError
