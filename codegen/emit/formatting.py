"""Black, in process, with settings of our own: the reader's configuration changes no byte of the output."""

from __future__ import annotations

from codegen.emit.literals import WIDTH


def black_format(source: str) -> str:
    """`source` as Black writes it. Raises `black.InvalidInput` where it is no Python, which is a fault of ours."""
    # Importing takes a tenth of a second, and a build that changes nothing does not need it.
    from black import format_str
    from black.mode import Mode, TargetVersion

    return format_str(source, mode=Mode(target_versions={TargetVersion.PY311}, line_length=WIDTH))
