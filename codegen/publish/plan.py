"""Compares what a build made with what stands in the output folder, and says what a publication would do.

A plan is a pure look: it writes nothing. Files are compared before anything else, so that a file that is right already
is never touched; digests are worked out only for files that differ.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePath

from codegen.diagnostics import CODES, Diagnostic, Severity
from codegen.publish import layout
from codegen.publish.errors import InvalidPackage
from codegen.publish.manifest import Lock, LockState, Manifest, ToolRecord, read_lock
from codegen.publish.steps import Action, Step
from codegen.publish.tree import Kind, Tree, digest


@dataclass(frozen=True)
class Package:
    """What a build made: the whole output, as text, and what it was made from.

    Paths are relative to the output folder, with forward slashes. Raises `InvalidPackage` for a path or a text that no
    folder can hold.
    """

    files: Mapping[str, str]
    """The files that toolgen owns."""
    stubs: Mapping[str, str]
    """Handler files, created where there is none and never touched again."""
    toolgen: str
    """Version of the build."""
    roots: tuple[str, ...]
    """The spec files and folders of the output, relative to the output folder."""
    inputs: Mapping[str, str]
    """Each spec file that was read, relative to the output folder, with its SHA-256."""
    options: str
    """Digest of the options that shape the output."""
    tools: Mapping[str, ToolRecord]
    """By wire name."""

    def __post_init__(self) -> None:
        for path in self.files:
            if reason := layout.unsafe(path):
                raise InvalidPackage(path, reason)
            if not layout.may_own(path):
                raise InvalidPackage(path, "the lock and the handlers are not generated files")
        for path in self.stubs:
            if reason := layout.unsafe(path):
                raise InvalidPackage(path, reason)
            if not path.startswith(f"{layout.HANDLERS}/"):
                raise InvalidPackage(path, f"a stub belongs in {layout.HANDLERS}/")
            if path in self.files:
                raise InvalidPackage(path, "it is both a generated file and a stub")

    @cached_property
    def content(self) -> dict[str, bytes]:
        """The owned files as they stand on disk: UTF-8, line ends as in the text, paths in NFC."""
        return _encoded(self.files)

    @cached_property
    def stub_content(self) -> dict[str, bytes]:
        """The stubs as they are created."""
        return _encoded(self.stubs)

    @cached_property
    def manifest(self) -> Manifest:
        """What the lock will say."""
        files = {path: digest(data) for path, data in self.content.items()}
        return Manifest(self.toolgen, self.roots, self.inputs, self.options, self.tools, files)

    @cached_property
    def lock(self) -> bytes:
        """The bytes of the lock."""
        return self.manifest.render().encode()


def _encoded(texts: Mapping[str, str]) -> dict[str, bytes]:
    content: dict[str, bytes] = {}
    for path, text in texts.items():
        try:
            content[layout.nfc(path)] = text.encode()
        except UnicodeEncodeError as error:
            raise InvalidPackage(path, f"its text is no Unicode ({error.reason} at {error.start})") from error
    return content


@dataclass(frozen=True, slots=True)
class Plan:
    """What publishing a package into a folder would do. Paths are relative to the folder and sorted."""

    directory: Path
    """The output folder, resolved."""
    lock: Lock
    """The lock that was found."""
    created: tuple[str, ...] = ()
    """Owned files that are missing."""
    changed: tuple[str, ...] = ()
    """Owned files with other content than the build's, as toolgen left them."""
    edited: tuple[str, ...] = ()
    """Owned files that somebody changed since toolgen wrote them; they are rewritten."""
    unchanged: tuple[str, ...] = ()
    """Owned files that are right already; they are not touched."""
    removed: tuple[str, ...] = ()
    """Files of tools and options that are gone, exactly as toolgen left them."""
    kept: tuple[str, ...] = ()
    """Generated files that nothing needs any more, but that somebody edited or that no digest vouches for."""
    stubs: tuple[str, ...] = ()
    """Handler files that are created."""
    orphaned_handlers: tuple[str, ...] = ()
    """Handler files of tools that this build drops; they are kept."""
    extra_handlers: tuple[str, ...] = ()
    """Other files in the handler folder that belong to no tool."""
    lock_changed: bool = False
    """Whether the lock has to be written."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """What the person should know; an error among them blocks the publication."""
    steps: tuple[Step, ...] = field(default=(), repr=False)
    """What `publish` does, in order; the lock is last."""

    @property
    def blocked(self) -> bool:
        """Whether an error stands against publishing."""
        return any(found.severity is Severity.ERROR for found in self.diagnostics)

    @property
    def changes(self) -> bool:
        """Whether publishing would write or remove anything."""
        return bool(self.steps)


def plan(directory: Path | str, package: Package) -> Plan:
    """What publishing `package` into `directory` would do.

    To publish, hold `locked(directory)` from here on, so that no other build comes between. Raises `FolderError` where
    the system refuses to read.
    """
    return _Planner(directory, package).plan()


def intact(directory: Path | str, manifest: Manifest, stubs: Iterable[str] = ()) -> bool:
    """Whether a build of the same inputs with the same options would find nothing to do or to say.

    True when the lock says exactly `manifest`, each file has the digest it names, each of `stubs` exists, and no stray
    generated file stands beside them. Lets a build stop before it makes anything. Raises `FolderError`.
    """
    root = os.path.realpath(directory)
    if read_lock(root).manifest != manifest:
        return False
    tree = Tree.read(root, _top_folders(manifest.files))
    if layout.STAGING in tree.kinds or not all(os.path.lexists(f"{root}/{stub}") for stub in stubs):
        return False
    for path, known in manifest.files.items():
        data = tree.read_bytes(path)
        if data is None or digest(data) != known:
            return False
    return not any(True for _ in _strays(tree, manifest.files.keys()))


def _top_folders(paths: Iterable[str]) -> set[str]:
    return {path.partition("/")[0] for path in paths if "/" in path}


def _strays(tree: Tree, known: Iterable[str]) -> Iterator[str]:
    """Generated files that neither a build nor a lock accounts for: left behind by a merge or under a lost lock."""
    accounted = frozenset(known)
    for path in tree.files(layout.FOLDERS):
        if path in accounted or layout.nfc(path) in accounted or path == layout.LOCK or layout.unsafe(path):
            continue
        if "__pycache__" in path:
            continue
        if layout.is_data(path) or tree.starts_with_header(path):
            yield path


class _Planner:
    """Works out one plan. Each method judges one group of paths and notes what it finds."""

    def __init__(self, directory: Path | str, package: Package) -> None:
        self.shown = PurePath(directory)
        self.root = os.path.realpath(directory)
        self.package = package
        self.lock = read_lock(self.root)
        folders = _top_folders([*package.content, *package.stub_content, *self.lock.digests])
        self.is_folder = not os.path.lexists(self.root) or Path(self.root).is_dir()
        self.tree = Tree.read(self.root, folders) if self.is_folder else Tree(self.root)
        self.notes: list[Diagnostic] = []
        self.created: list[str] = []
        self.changed: list[str] = []
        self.edited: list[str] = []
        self.unchanged: list[str] = []
        self.removed: list[str] = []
        self.kept: list[str] = []
        self.stubs: list[str] = []
        self.first: list[Step] = []  # spellings that must be out of the way before anything is created
        self.writes: list[Step] = []
        self.removals: list[Step] = []
        self.displaced: set[str] = set()

    def plan(self) -> Plan:
        self.judge_clashes()
        if not self.judge_folder():
            return Plan(Path(self.root), self.lock, diagnostics=tuple(self.notes))
        for path, data in self.package.content.items():
            self.judge_owned(path, data)
        for path, data in self.package.stub_content.items():
            self.judge_stub(path, data)
        self.judge_orphans()
        orphaned, extra = self.judge_handlers()
        lock_step = self.judge_lock()
        # Leaves before the modules that import them, the package itself last of all.
        self.writes.sort(key=lambda step: ("/" not in step.path, step.path))
        steps = (*self.first, *self.writes, *self.removals, *lock_step)
        blocked = any(note.severity is Severity.ERROR for note in self.notes)
        return Plan(
            directory=Path(self.root),
            lock=self.lock,
            created=tuple(sorted(self.created)),
            changed=tuple(sorted(self.changed)),
            edited=tuple(sorted(self.edited)),
            unchanged=tuple(sorted(self.unchanged)),
            removed=tuple(sorted(self.removed)),
            kept=tuple(sorted(self.kept)),
            stubs=tuple(sorted(self.stubs)),
            orphaned_handlers=tuple(orphaned),
            extra_handlers=tuple(extra),
            lock_changed=bool(lock_step),
            diagnostics=tuple(sorted(self.notes, key=lambda note: note.sort_key)),
            steps=() if blocked else steps,
        )

    def say(self, code: str, path: str, message: str, hint: str = "") -> None:
        file = (self.shown / path).as_posix()
        self.notes.append(Diagnostic(code, CODES[code].severity, file, None, "", message, hint))

    def judge_clashes(self) -> None:
        """Two files of the package must not be one file where case or Unicode form does not count."""
        names: dict[str, str] = {}
        for path in [*self.package.files, *self.package.stubs]:
            other = names.setdefault(layout.fold(path), path)
            if other != path:
                self.say(
                    "output-clash",
                    path,
                    f"this file and {other} are one file where the case of names does not count",
                    "rename one of the two tools",
                )
        for folded, path in names.items():
            above = folded.rpartition("/")[0]
            while above:
                if above in names:
                    raise InvalidPackage(path, f"{names[above]} is a file")
                above = above.rpartition("/")[0]

    def judge_folder(self) -> bool:
        """Whether the folder is one that toolgen may write into."""
        if not self.is_folder:
            self.say("output-refused", "", "the output path is a file", "choose a folder with --output")
            return False
        if self.lock.state is LockState.NEWER:
            self.say(
                "lock-newer",
                layout.LOCK,
                "the lock was written by a newer toolgen than this one",
                "install the version of toolgen that the output was built with, or a newer one",
            )
            return False
        if self.lock.state is LockState.WHOLE or not self.tree.kinds.keys() - {layout.STAGING}:
            return True
        if not any(self.tree.starts_with_header(path) for path in self.tree.files(layout.FOLDERS)):
            self.say(
                "output-refused",
                "",
                "the output folder is not empty and toolgen did not make it",
                "choose an empty or a new folder with --output",
            )
            return False
        self.say(
            "lock-rebuilt",
            layout.LOCK,
            f"{self.lock.state.value}; what toolgen owns is told from the headers of the files",
            "commit the new lock together with the generated files",
        )
        return True

    def judge_owned(self, path: str, data: bytes) -> None:
        """A file of the package: missing, right, out of date, edited, or somebody else's."""
        barrier = self.tree.barrier(path)
        if barrier is not None:
            above, kind = barrier
            if kind is Kind.LINK and self.tree.read_bytes(path) == data:
                self.unchanged.append(path)
            else:
                self.say_in_the_way(above, kind)
            return
        spelt = self.tree.find(path)
        if spelt is None:
            self.created.append(path)
            self.writes.append(Step(Action.CREATE, path, None, data))
            return
        kind = self.tree.kinds[spelt]
        if kind in (Kind.FOLDER, Kind.OTHER):
            self.say_in_the_way(spelt, kind)
            return
        present = self.tree.read_bytes(spelt)
        one_name = layout.nfc(spelt) == path
        if present == data and one_name:
            self.unchanged.append(path)
        elif kind is Kind.LINK or present is None:
            self.say_in_the_way(spelt, Kind.LINK)
        else:
            self.judge_difference(path, spelt if not one_name else path, present, data)

    def judge_difference(self, path: str, spelt: str, present: bytes, data: bytes) -> None:
        known = self.lock.digests.get(path) or self.lock.digests.get(spelt)
        old = digest(present)
        if known is None and present and not layout.is_data(path) and not layout.has_header(present):
            self.say(
                "output-blocked",
                spelt,
                "toolgen did not make this file, and the build has a file of this name",
                "move or delete it, or rename the tool",
            )
            return
        # Under a lost lock nobody can say whether a file was edited or is merely old.
        untold = known is None and self.lock.state is not LockState.WHOLE
        if untold or (known is not None and old in known):
            self.changed.append(path)
        else:
            self.edited.append(path)
            self.say("output-edited", path, "this generated file was edited by hand; building it overwrites the edit")
        if spelt == path:
            self.writes.append(Step(Action.REPLACE, path, old, data))
            return
        # The file system takes `spelt` and `path` for one name: the old spelling has to go first.
        self.displaced.add(spelt)
        self.first.append(Step(Action.REMOVE, spelt, old, None))
        self.writes.append(Step(Action.CREATE, path, None, data))

    def judge_stub(self, path: str, data: bytes) -> None:
        """A handler stub: created only where nothing stands, not even a link that leads nowhere."""
        if os.path.lexists(f"{self.root}/{path}"):
            return
        barrier = self.tree.barrier(path)
        if barrier is not None:
            self.say_in_the_way(*barrier)
            return
        self.stubs.append(path)
        self.writes.append(Step(Action.CREATE, path, None, data))

    def judge_orphans(self) -> None:
        """Generated files that the package does not have: removed when untouched, else kept and named."""
        content = self.package.content
        for path, known in sorted(self.lock.digests.items()):
            if path in content or path in self.package.stub_content:
                continue
            spelt = self.tree.find(path)
            if spelt is None or spelt in content or spelt in self.displaced:
                continue
            present = self.tree.read_bytes(spelt)
            plain = self.tree.kinds[spelt] is Kind.FILE and self.tree.barrier(spelt) is None
            if plain and present is not None and digest(present) in known:
                self.removed.append(path)
                self.removals.append(Step(Action.REMOVE, spelt, digest(present), None))
            elif present is not None:
                self.keep(path, "edited by hand")
        for path in _strays(self.tree, [*content, *self.package.stub_content, *self.lock.digests]):
            if path not in self.displaced:
                self.keep(path, "not in the lock")

    def keep(self, path: str, why: str) -> None:
        self.kept.append(path)
        self.say(
            "output-kept",
            path,
            f"no tool needs this generated file any more; it is {why} and therefore kept",
            "delete it, or move it out of the output folder",
        )

    def judge_handlers(self) -> tuple[list[str], list[str]]:
        """Handler files without a tool: those of tools that are just going, and all others."""
        was = self.lock.manifest.tools.values() if self.lock.manifest else ()
        dropped = {layout.nfc(f"{layout.HANDLERS}/{tool.module}.py") for tool in was}
        needed = {layout.nfc(f"{layout.HANDLERS}/{tool.module}.py") for tool in self.package.tools.values()}
        needed |= self.package.stub_content.keys() | self.package.content.keys()
        orphaned: list[str] = []
        extra: list[str] = []
        for path, kind in sorted(self.tree.kinds.items()):
            folder, _, name = path.rpartition("/")
            if folder != layout.HANDLERS or not name.endswith(".py") or kind is Kind.FOLDER:
                continue
            # A leading underscore is how a person says that a module is nobody's handler.
            if layout.nfc(path) in needed or name.startswith("_") or layout.unsafe(path):
                continue
            if layout.nfc(path) not in dropped:
                extra.append(path)
                continue
            orphaned.append(path)
            self.say(
                "handler-orphaned",
                path,
                "the tool of this handler is gone from the specs; the file is kept",
                "delete it when nothing else uses it",
            )
        return orphaned, extra

    def judge_lock(self) -> tuple[Step, ...]:
        """The step that writes the lock, unless it is right already."""
        kind = self.tree.kinds.get(layout.LOCK)
        present = self.tree.read_bytes(layout.LOCK)
        if present == self.package.lock:
            return ()
        if kind is not None and kind is not Kind.FILE:
            self.say_in_the_way(layout.LOCK, kind)
        if present is None:
            return (Step(Action.CREATE, layout.LOCK, None, self.package.lock),)
        return (Step(Action.REPLACE, layout.LOCK, digest(present), self.package.lock),)

    def say_in_the_way(self, path: str, kind: Kind) -> None:
        if kind is Kind.LINK:
            code, hint = "output-link", "replace the link by a plain file or folder, or choose another output folder"
            message = "a symbolic link stands where the build would write; toolgen writes through no link"
        else:
            code, hint = "output-blocked", "move or delete it"
            message = f"a {kind.value} stands where the build has something else to write"
        if not any(note.code == code and note.file == (self.shown / path).as_posix() for note in self.notes):
            self.say(code, path, message, hint)
