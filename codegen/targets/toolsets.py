"""Toolsets: named parts of a catalog that are registered together, as the configuration lists them."""

from __future__ import annotations

import difflib
import fnmatch
import re
from collections.abc import Mapping, Sequence

from codegen.diagnostics import CODES, Diagnostic, Severity
from codegen.specs.tool import Catalog

PLACE = "tool.toolgen.toolsets"
"""The table of the configuration, for messages."""


def resolve_toolsets(
    configured: Mapping[str, Sequence[str]], catalog: Catalog, *, file: str, whole: bool = True
) -> tuple[dict[str, tuple[str, ...]], list[Diagnostic]]:
    """The wire names of each toolset, sorted, and what is wrong with the lists.

    A member is an exact wire name or a pattern such as `order_*`, as in `Dispatcher.only` of the runtime. One that fits
    nothing is an error in `file`; only a warning where the catalog is not the `whole` one, for its tool may be in the
    other part. Tools that are left out of the catalog because they are faulty count as known.
    """
    names = catalog.names()
    faulty = [tool.name for tool in catalog.faulty]
    severity = CODES["unknown-toolset-tool"].severity if whole else Severity.WARNING
    toolsets: dict[str, tuple[str, ...]] = {}
    problems: list[Diagnostic] = []
    for toolset in sorted(configured):
        chosen: set[str] = set()
        for member in configured[toolset]:
            fitting = _fitting(member, names)
            chosen.update(fitting)
            if not fitting and not _fitting(member, faulty):
                text = f"[{PLACE}] {toolset}: {_missing(member)}"
                problems.append(
                    Diagnostic("unknown-toolset-tool", severity, file, None, "", text, _hint(member, names, whole))
                )
        toolsets[toolset] = tuple(sorted(chosen))
    return toolsets, problems


def _fitting(member: str, names: Sequence[str]) -> list[str]:
    return [member] if member in names else [name for name in names if fnmatch.fnmatchcase(name, member)]


def _missing(member: str) -> str:
    is_pattern = _head(member) != member
    return f"no tool fits the pattern {member!r}" if is_pattern else f"there is no tool {member!r}"


def _head(member: str) -> str:
    """What stands before the first place where a pattern is open."""
    return re.split(r"[*?\[]", member, maxsplit=1)[0]


def _hint(member: str, names: Sequence[str], whole: bool) -> str:
    head = _head(member)
    starts = {name: name if head == member else name[: len(head) + 1] for name in names}
    wanted = difflib.get_close_matches(head, set(starts.values()), 3)
    near = [name for name, start in starts.items() if start in wanted][:3]
    hint = f"did you mean {' or '.join(near)}?" if near else ""
    return hint if whole else f"{hint} only a part of the specs was read".lstrip()
