"""What a build would change, told without changing it: for reviews, hooks and continuous integration."""

from __future__ import annotations

import enum
import os
import re
from dataclasses import dataclass
from pathlib import Path

from codegen.diagnostics import Diagnostic, Severity
from codegen.publish import layout
from codegen.publish.plan import Package, Plan, plan
from codegen.publish.tree import read_file


class Kind(enum.Enum):
    """What is the matter with a file, as a sentence about it. The order is the order of a report."""

    INTERRUPTED = "a build was interrupted here"
    MISSING = "is missing"
    CHANGED = "is out of date"
    EDITED = "was edited by hand"
    ORPHANED = "belongs to no tool any more"
    STUB = "has no handler file yet"
    LOCK = "is out of date with the specs"
    KEPT = "belongs to no tool any more and is kept"
    ORPHANED_HANDLER = "is the handler of a tool that is gone"
    EXTRA_HANDLER = "is the handler of no tool"

    @property
    def counts(self) -> bool:
        """Whether a build would mend it. The others only tell: a build leaves them as they are."""
        return self not in (Kind.KEPT, Kind.ORPHANED_HANDLER, Kind.EXTRA_HANDLER)


@dataclass(frozen=True, slots=True)
class Finding:
    """One file that is not as a build would leave it, or that a build leaves but a person should know of."""

    kind: Kind
    path: str
    """Relative to the output folder."""
    before: str | None = None
    """The text on disk, where there is one to compare."""
    after: str | None = None
    """The text that a build would write."""

    def diff(self, lines: int = 20) -> list[str]:
        """A unified diff from what is there to what a build would write, at most `lines` lines and one that says so.

        Empty when there is nothing to compare, such as for a file that would go.
        """
        if self.after is None:
            return []
        return _diff(self.path, self.before or "", self.after, lines)


@dataclass(frozen=True, slots=True)
class Drift:
    """The difference between an output folder and a build."""

    findings: tuple[Finding, ...]
    """By kind, then by path."""
    diagnostics: tuple[Diagnostic, ...]
    """What a build would say, errors that would stop it included."""

    @property
    def clean(self) -> bool:
        """Whether a build would find nothing to do."""
        return not any(finding.kind.counts for finding in self.findings) and not any(
            found.severity is Severity.ERROR for found in self.diagnostics
        )

    def of(self, kind: Kind) -> tuple[str, ...]:
        """The paths of one kind."""
        return tuple(finding.path for finding in self.findings if finding.kind is kind)


def drift(directory: Path | str, package: Package) -> Drift:
    """What publishing `package` into `directory` would change. Writes nothing; raises `FolderError`.

    Hold `locked(directory, shared=True)` around it, so as not to look at a folder that is just being published.
    """
    planned = plan(directory, package)
    findings: list[Finding] = []
    if os.path.lexists(planned.directory / layout.STAGING):
        findings.append(Finding(Kind.INTERRUPTED, layout.STAGING))
    for kind, paths in _groups(planned):
        findings += [_finding(planned, package, kind, path) for path in paths]
    return Drift(tuple(findings), planned.diagnostics)


def _groups(planned: Plan) -> list[tuple[Kind, tuple[str, ...]]]:
    return [
        (Kind.MISSING, planned.created),
        (Kind.CHANGED, planned.changed),
        (Kind.EDITED, planned.edited),
        (Kind.ORPHANED, planned.removed),
        (Kind.STUB, planned.stubs),
        (Kind.LOCK, (layout.LOCK,) if planned.lock_changed else ()),
        (Kind.KEPT, planned.kept),
        (Kind.ORPHANED_HANDLER, planned.orphaned_handlers),
        (Kind.EXTRA_HANDLER, planned.extra_handlers),
    ]


def _finding(planned: Plan, package: Package, kind: Kind, path: str) -> Finding:
    if kind not in (Kind.MISSING, Kind.CHANGED, Kind.EDITED, Kind.LOCK):
        return Finding(kind, path)
    after = package.lock if kind is Kind.LOCK else package.content[path]
    before = read_file(f"{planned.directory}/{path}")
    return Finding(kind, path, None if before is None else before.decode("utf-8", "replace"), after.decode())


_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_CONTEXT = 3
_WINDOW = 400
"""Lines compared on each side from the first difference on: enough for any diff that is shown."""


def _diff(path: str, before: str, after: str, limit: int) -> list[str]:
    import difflib  # takes a while to import, and most runs find nothing to show

    if "\r" in before and before.replace("\r\n", "\n") == after:
        return ["only the line ends differ: the file has CRLF, a build writes LF"]
    # Split at line feeds only, so that any other carriage return shows as the difference that it is.
    old, new = before.split("\n"), after.split("\n")
    same = _common(old, new)
    tail = _common(old[same:][::-1], new[same:][::-1])
    start = max(0, same - _CONTEXT)
    end = max(0, tail - _CONTEXT)
    left, right = old[start : len(old) - end], new[start : len(new) - end]
    cut = max(len(left), len(right)) > _WINDOW
    shown: list[str] = []
    names = (f"{path} (on disk)", f"{path} (as built)")
    for line in difflib.unified_diff(left[:_WINDOW], right[:_WINDOW], *names, n=_CONTEXT, lineterm=""):
        if at := _HUNK.match(line):
            first, second = int(at[1]), int(at[3])
            reach = max(first + int(at[2] or 1), second + int(at[4] or 1))
            if cut and len(shown) > 2 and reach > _WINDOW:
                break  # this hunk ends where the window does, not where the difference does
            line = f"@@ -{_range(first + start, at[2])} +{_range(second + start, at[4])} @@"
        shown.append(line)
    if cut or len(shown) > limit:
        return [*shown[:limit], "… more differences are not shown"]
    return shown


def _range(first: int, length: str | None) -> str:
    return f"{first}" if length is None else f"{first},{length}"


def _common(left: list[str], right: list[str]) -> int:
    """How many lines two texts have in common from the start."""
    count = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        count += 1
    return count
