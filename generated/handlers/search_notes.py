"""Handler of the tool search_notes."""

from __future__ import annotations

from ..models.search_notes import SearchNotesArguments, SearchNotesResult
from ..runtime import Call


def search_notes(args: SearchNotesArguments, call: Call) -> SearchNotesResult:
    """Search the user's notes by words and tags."""
    raise NotImplementedError
