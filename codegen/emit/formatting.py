"""Black, in process, with fixed settings: whatever the reader's own configuration says, the bytes are the same."""

from __future__ import annotations

LINE_LENGTH = 120


def black_format(source: str) -> str:
    """`source` as black writes it. Raises `black.InvalidInput` for what is no Python, which is our own fault."""
    import black

    mode = black.Mode(target_versions={black.TargetVersion.PY311}, line_length=LINE_LENGTH)
    try:
        return black.format_file_contents(source, fast=True, mode=mode)
    except black.NothingChanged:
        return source
