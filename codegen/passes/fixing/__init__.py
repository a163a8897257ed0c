"""Mends made in spec files: the few characters that change, and nothing else.

This is the face of the room: `fix_files` for files, `fix_text` for one text.
"""

from __future__ import annotations

from codegen.passes.fixing.files import Fixed, fix_files
from codegen.passes.fixing.text import FixedText, fix_text

__all__ = ["Fixed", "FixedText", "fix_files", "fix_text"]
