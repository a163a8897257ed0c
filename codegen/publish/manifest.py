"""`toolgen.lock`: what an output folder was made from, and the digest of each file that toolgen owns in it.

The lock is JSON, sorted, with one entry on a line, so that merges of two branches rarely conflict and a conflict is
easy to read. A lock that is damaged, cut short or full of conflict marks is never an error: whatever lines of it are
whole still count, and the headers of the generated files say the rest.
"""

from __future__ import annotations

import enum
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from codegen.publish import layout
from codegen.publish.tree import read_file

FORMAT = 1
"""Version of the lock's format. A lock with a higher one is not read."""


@dataclass(frozen=True, slots=True)
class ToolRecord:
    """One tool of an output: where it came from and what it was."""

    source: str
    """Its spec file, relative to the output folder, with forward slashes."""
    module: str
    """Name of its modules."""
    digest: str
    """Digest of its canonical spec."""

    def as_json(self) -> dict[str, str]:
        return {"source": self.source, "module": self.module, "digest": self.digest}


@dataclass(frozen=True, slots=True)
class Manifest:
    """The content of a lock. All paths are relative to the output folder, with forward slashes."""

    toolgen: str
    """Version that made the output."""
    roots: tuple[str, ...]
    """The spec files and folders that were named for the build."""
    inputs: Mapping[str, str]
    """Each spec file that was read, with the SHA-256 of its bytes."""
    options: str
    """Digest of the options that shape the output."""
    tools: Mapping[str, ToolRecord]
    """By wire name."""
    files: Mapping[str, str]
    """Each owned file, with the SHA-256 of its bytes."""

    def __post_init__(self) -> None:
        # One order and no doubles, so that two manifests of the same build are equal.
        object.__setattr__(self, "roots", tuple(sorted(set(self.roots))))

    def render(self) -> str:
        """The text of the lock."""
        sections = [
            f'  "version": {FORMAT}',
            f'  "toolgen": {_json(self.toolgen)}',
            f'  "options": {_json(self.options)}',
            _block("roots", "[]", [_json(root) for root in self.roots]),
            _block("inputs", "{}", _members(self.inputs)),
            _block("tools", "{}", _members({name: tool.as_json() for name, tool in self.tools.items()})),
            _block("files", "{}", _members(self.files)),
        ]
        return "{\n" + ",\n".join(sections) + "\n}\n"


class LockState(enum.Enum):
    """What was found where the lock should be."""

    ABSENT = "there is no lock"
    WHOLE = "the lock is whole"
    DAMAGED = "the lock cannot be read"
    CONFLICT = "the lock has conflict marks"
    NEWER = "the lock was written by a newer toolgen"


@dataclass(frozen=True, slots=True)
class Lock:
    """The lock of an output folder, as far as it could be read.

    With `WHOLE` the manifest is what the last build wrote. With `DAMAGED` and `CONFLICT` it holds what the whole lines
    say, both sides of a conflict included: enough to know the spec roots, not to be relied on. Otherwise it is None.
    """

    state: LockState
    manifest: Manifest | None
    digests: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Owned file to the digests that toolgen is known to have written there (two after a conflict)."""


def read_lock(directory: Path | str) -> Lock:
    """Reads the lock of an output folder; raises `FolderError` when the system refuses to read it."""
    data = read_file(f"{directory}/{layout.LOCK}")
    return Lock(LockState.ABSENT, None) if data is None else parse_lock(data)


def parse_lock(data: bytes) -> Lock:
    """Reads the bytes of a lock, whatever they are."""
    text = data.decode("utf-8", errors="replace")
    try:
        document = json.loads(text)
        version = document["version"]
        if type(version) is int and version > FORMAT:
            return Lock(LockState.NEWER, None)
        if type(version) is int and version == FORMAT:
            manifest = _manifest(document)
            digests = {path: frozenset((digest,)) for path, digest in manifest.files.items()}
            return Lock(LockState.WHOLE, manifest, digests)
    except (ValueError, KeyError, TypeError, RecursionError):
        pass  # not a lock of ours: what can be told from its lines is told below
    return _salvage(text)


def _manifest(document: Any) -> Manifest:
    """The manifest in a parsed lock; raises KeyError, TypeError or ValueError for anything unexpected in it."""
    return Manifest(
        toolgen=_text(document["toolgen"]),
        roots=tuple(_text(root) for root in _list(document["roots"])),
        inputs={name: _text(value) for name, value in _dict(document["inputs"]).items()},
        options=_text(document["options"]),
        tools={name: _tool(value) for name, value in _dict(document["tools"]).items()},
        files={_owned(path): _text(value) for path, value in _dict(document["files"]).items()},
    )


_MARKS = ("<<<<<<<", "=======", ">>>>>>>")
_BASE_MARK = "|||||||"
_SECTION = re.compile(r'"(roots|inputs|tools|files)": [\[{]')


def _salvage(text: str) -> Lock:
    """Reads a lock line by line and keeps each line that is whole.

    The base part of a three-way conflict is skipped: it is what neither side has any more.
    """
    roots: dict[str, None] = {}
    inputs: dict[str, str] = {}
    tools: dict[str, ToolRecord] = {}
    files: dict[str, str] = {}
    digests: dict[str, set[str]] = {}
    conflict = False
    for section, line, marked in _entries(text):
        conflict = conflict or marked
        try:
            if section == "roots":
                roots[_text(json.loads(line))] = None
                continue
            ((key, value),) = _dict(json.loads("{" + line + "}")).items()
            if section == "inputs":
                inputs[key] = _text(value)
            elif section == "tools":
                tools[key] = _tool(value)
            elif section == "files":
                files[_owned(key)] = _text(value)
                digests.setdefault(key, set()).add(value)
        except (ValueError, KeyError, TypeError, RecursionError):
            continue  # half a line, or no line of ours
    manifest = Manifest("", tuple(roots), inputs, "", tools, files)
    state = LockState.CONFLICT if conflict else LockState.DAMAGED
    return Lock(state, manifest, {path: frozenset(known) for path, known in digests.items()})


def _entries(text: str) -> Iterator[tuple[str, str, bool]]:
    """Each line with the section it stands in, and whether a conflict mark has just been passed."""
    section, in_base = "", False
    for raw in text.split("\n"):
        line = raw.strip().rstrip(",")
        if raw.startswith(_MARKS):
            in_base = False
            yield "", "", True
        elif raw.startswith(_BASE_MARK):
            in_base = True
        elif opened := _SECTION.match(line):
            section = opened.group(1)
        elif not in_base and line:
            yield section, line, False


def _json(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value)  # the path of a spec file may hold bytes that are no UTF-8
    return text


def _members(mapping: Mapping[str, object]) -> list[str]:
    return [f"{_json(key)}: {_json(mapping[key])}" for key in sorted(mapping)]


def _block(name: str, brackets: str, lines: list[str]) -> str:
    start, end = brackets[0], brackets[1]
    if not lines:
        return f'  "{name}": {brackets}'
    body = ",\n".join(f"    {line}" for line in lines)
    return f'  "{name}": {start}\n{body}\n  {end}'


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError(value)
    return value


def _dict(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError(value)
    return value


def _tool(value: object) -> ToolRecord:
    record = _dict(value)
    return ToolRecord(_text(record["source"]), _text(record["module"]), _text(record["digest"]))


def _owned(path: str) -> str:
    """A path that a lock claims; a claim on anything that cannot be ours makes the whole claim worthless."""
    if not layout.may_own(path):
        raise ValueError(path)
    return path
