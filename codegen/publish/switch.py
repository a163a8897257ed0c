"""Makes an output folder equal to a plan, all of it or none of it.

Everything is first written beside its place, in a staging folder inside the output folder, and read back. Then a
journal is written that says which files are about to change, and only then does the first of them change: the old file
is kept in the staging folder and the new one moved over it in one step, the lock last. Renaming the journal is the
moment that decides. A failure before it undoes what was done; a process that died before it is undone by the next
build, one that died after it is only tidied up. Undoing looks at the bytes, not at how far the process came: a file is
put back only where the new bytes stand, so that whatever a person did in between survives.
"""

from __future__ import annotations

import contextlib
import enum
import errno
import json
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codegen.publish import layout
from codegen.publish.errors import BlockedPlan, FolderError, Outcome, StalePlan
from codegen.publish.plan import Plan
from codegen.publish.steps import Action, Step
from codegen.publish.tree import digest, read_file

_JOURNAL = "journal.json"
_DONE = "done.json"
_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Published:
    """What a publication did; paths are relative to the output folder and sorted."""

    written: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


class Recovery(enum.Enum):
    """What was found of an earlier build that died, and what became of it."""

    NONE = "no build was interrupted"
    UNDONE = "an interrupted build was undone"
    FINISHED = "an interrupted build was finished"


def publish(directory: Path | str, plan: Plan) -> Published:
    """Makes `directory` equal to a plan of it; a plan without changes writes nothing at all.

    The caller holds `locked(directory)` since before the plan was made. Raises `BlockedPlan` for a plan with errors,
    `StalePlan` when a file changed since the plan was made, `FolderError` when the system refuses; in each case the
    folder is as it was, unless `FolderError.outcome` says otherwise. ValueError: the plan is one of another folder.
    """
    if os.path.realpath(directory) != str(plan.directory):
        raise ValueError(f"the plan is for {plan.directory}, not for {directory}")
    if plan.blocked:
        raise BlockedPlan("; ".join(str(found) for found in plan.diagnostics))
    if not plan.steps:
        return Published()
    staging = _Staging(plan.directory)
    staging.make()
    try:
        staging.fill(plan.steps)
        journal = _Journal.of(plan)
        _check(plan, journal)
        staging.write_journal(journal)
    except BaseException:
        with contextlib.suppress(FolderError):  # the first failure is the one to tell; the next build clears away
            staging.discard()
        raise
    try:
        _switch(plan, staging, journal)
        staging.commit()
    except FolderError as error:
        raise error.left(_undo_or_say(staging, journal)) from error
    except BaseException:
        # An interrupt from the keyboard, too, leaves the folder as it was.
        _undo_or_say(staging, journal)
        raise
    try:
        _tidy(staging, journal)
    except FolderError as error:
        raise error.left(Outcome.PUBLISHED) from error
    except BaseException:
        _tidy(staging, journal)
        raise
    return Published(
        written=tuple(sorted(step.path for step in plan.steps if step.action is not Action.REMOVE)),
        removed=tuple(sorted(step.path for step in plan.steps if step.action is Action.REMOVE)),
    )


def recover(directory: Path) -> Recovery:
    """Undoes or finishes what a build that died left in `directory`; called under the lock of the folder.

    Raises `FolderError` when the system refuses, or when the staging folder is not what toolgen left.
    """
    staging = _Staging(directory)
    if not os.path.lexists(staging.path):
        return Recovery.NONE
    if staging.path.is_symlink() or not staging.path.is_dir():
        raise FolderError(str(staging.path), "recover from", "it is no folder; delete it", Outcome.UNTOUCHED)
    done, journal = staging.read_journal(_DONE), staging.read_journal(_JOURNAL)
    try:
        if done is not None:
            _tidy(staging, done)
            return Recovery.FINISHED
        if journal is not None:
            _undo(staging, journal)
        else:
            staging.discard()
    except FolderError as error:
        half_way = done is None and journal is not None
        raise error.left(Outcome.INTERRUPTED if half_way else Outcome.PUBLISHED if done else error.outcome) from error
    return Recovery.UNDONE


@dataclass(frozen=True, slots=True)
class _Entry:
    """One step as the journal remembers it: the bytes by their digests."""

    action: Action
    path: str
    old: str | None
    new: str | None


@dataclass(frozen=True, slots=True)
class _Journal:
    """What a switch is about to do, in order, and the folders it makes and may empty."""

    entries: tuple[_Entry, ...]
    made: tuple[str, ...]
    """Folders that do not exist yet, outermost first."""
    emptied: tuple[str, ...]
    """Folders that lose a file, innermost first."""

    @classmethod
    def of(cls, plan: Plan) -> _Journal:
        entries = tuple(
            _Entry(step.action, step.path, step.old, None if step.data is None else digest(step.data))
            for step in plan.steps
        )
        written = _folders_of(entry.path for entry in entries if entry.action is not Action.REMOVE)
        made = [folder for folder in written if not (plan.directory / folder).exists()]
        emptied = _folders_of(entry.path for entry in entries if entry.action is Action.REMOVE)
        return cls(entries, tuple(made), tuple(reversed(emptied)))

    def render(self) -> str:
        document = {
            "version": _FORMAT,
            "steps": [[entry.action.value, entry.path, entry.old, entry.new] for entry in self.entries],
            "made": self.made,
            "emptied": self.emptied,
        }
        return json.dumps(document)

    @classmethod
    def parse(cls, data: bytes) -> _Journal:
        """Raises ValueError, KeyError or TypeError for anything but a journal with harmless paths."""
        document: Any = json.loads(data)
        if document["version"] != _FORMAT:
            raise ValueError("another version of the journal")
        entries = tuple(
            _Entry(Action(action), _harmless(path), _maybe_text(old), _maybe_text(new))
            for action, path, old, new in document["steps"]
        )
        made = tuple(_harmless(path) for path in document["made"])
        return cls(entries, made, tuple(_harmless(path) for path in document["emptied"]))


class _Staging:
    """The staging folder: new files and old files by the number of their step, and the journal."""

    def __init__(self, directory: Path) -> None:
        self.root = directory
        self.path = directory / layout.STAGING

    def new(self, number: int) -> Path:
        return self.path / f"new-{number:05d}"

    def old(self, number: int) -> Path:
        return self.path / f"old-{number:05d}"

    def make(self) -> None:
        """Makes the folder; one that is there already belongs to a build that did not take the lock."""
        with _attempt("make", self.path):
            self.path.mkdir()

    def fill(self, steps: Iterable[Step]) -> None:
        """Writes every new file, to the disk, and reads it back."""
        with _attempt("write", self.path / ".gitignore"):
            (self.path / ".gitignore").write_bytes(b"*\n")
        written = [(self.new(number), step) for number, step in enumerate(steps) if step.data is not None]
        for staged, step in written:
            with _attempt("write", self.root / step.path), staged.open("xb") as file:
                file.write(step.data or b"")
        # After all of them are written: a file system that keeps a journal then has to wait for it only a few times.
        _sync_files([staged for staged, _ in written])
        for staged, step in written:
            target = self.root / step.path
            if read_file(str(staged)) != step.data:
                raise FolderError(str(target), "write", "the bytes on the disk are not the ones that were written")
            if step.action is Action.REPLACE:
                with _attempt("write", target):
                    mode = stat.S_IMODE(target.lstat().st_mode)
                    if mode != stat.S_IMODE(staged.lstat().st_mode):
                        staged.chmod(mode)

    def write_journal(self, journal: _Journal) -> None:
        with _attempt("write", self.path / _JOURNAL):
            (self.path / "journal.tmp").write_bytes(journal.render().encode())
            _sync_files([self.path / "journal.tmp"])
            (self.path / "journal.tmp").replace(self.path / _JOURNAL)
            _sync_folder(self.path)

    def read_journal(self, name: str) -> _Journal | None:
        """The journal of that name, or None when there is none; raises `FolderError` when it is damaged."""
        data = read_file(str(self.path / name))
        if data is None:
            return None
        try:
            return _Journal.parse(data)
        except (ValueError, KeyError, TypeError) as error:
            raise FolderError(
                str(self.path),
                "recover from",
                "its journal is damaged; compare the old files in it with the output folder, then delete it",
                Outcome.INTERRUPTED,
            ) from error

    def commit(self) -> None:
        """From here on the new files count."""
        with _attempt("commit", self.path):
            (self.path / _JOURNAL).rename(self.path / _DONE)

    def committed(self) -> bool:
        """Whether the new files count already."""
        return (self.path / _DONE).exists()

    def discard(self) -> None:
        """Deletes the staging folder and what is in it."""
        if not os.path.lexists(self.path):
            return
        with _attempt("clear away", self.path):
            with os.scandir(self.path) as entries:
                # The journal goes last: without it, nobody would know what the old files are for.
                names = sorted((entry.name for entry in entries), key=lambda name: (name in (_JOURNAL, _DONE), name))
            for name in names:
                (self.path / name).unlink()
            self.path.rmdir()


def _check(plan: Plan, journal: _Journal) -> None:
    """Raises `StalePlan` unless every file still is what the plan saw, `FolderError` for a folder that is a link."""
    _refuse_links(plan.directory, journal)
    going = {layout.fold(step.path) for step in plan.steps if step.action is Action.REMOVE}
    for step in plan.steps:
        if step.action is Action.CREATE and layout.fold(step.path) in going:
            continue  # the name may still lead to another spelling of it, which goes first
        if _digest_at(plan.directory / step.path) != step.old:
            raise StalePlan(step.path)


def _switch(plan: Plan, staging: _Staging, journal: _Journal) -> None:
    """Takes every step, the lock last."""
    root = plan.directory
    for folder in journal.made:
        with _attempt("make", root / folder):
            (root / folder).mkdir(exist_ok=True)
    folders = _refuse_links(root, journal)
    *rest, last = enumerate(journal.entries)
    for number, entry in rest:
        _take(root, staging, number, entry)
    for folder in folders:
        _sync_folder(root / folder)
    _take(root, staging, *last)
    _sync_folder(root)


def _take(root: Path, staging: _Staging, number: int, entry: _Entry) -> None:
    target = root / entry.path
    with _attempt(entry.action.value, target):
        if entry.action is Action.REMOVE:
            target.rename(staging.old(number))
        elif entry.action is Action.CREATE:
            _move_to_free_name(staging.new(number), target)
        else:
            _keep_a_copy(target, staging.old(number))
            staging.new(number).replace(target)


def _undo_or_say(staging: _Staging, journal: _Journal) -> Outcome:
    """Undoes a switch that failed, and says how the folder was left."""
    if staging.committed():  # interrupted in the very moment: undoing would now be the half way
        return Outcome.PUBLISHED
    try:
        _undo(staging, journal)
    except FolderError:
        # The first failure is the one to tell; the journal is still there, and the next build tries again.
        return Outcome.INTERRUPTED
    return Outcome.RESTORED


def _undo(staging: _Staging, journal: _Journal) -> None:
    """Puts every old file back, removes every new one, and deletes the staging folder. Can be repeated."""
    root = staging.root
    folders = _refuse_links(root, journal)
    for number, entry in reversed(list(enumerate(journal.entries))):
        target, old = root / entry.path, staging.old(number)
        with _attempt("restore", target):
            present = _digest_at(target)
            if entry.action is Action.CREATE:
                # A step that was not reached left nothing; other bytes than ours are a person's.
                if present is not None and present == entry.new and _was_taken(staging.new(number), target):
                    target.unlink()
            elif present in (None, entry.new) and os.path.lexists(old):
                old.replace(target)
    for folder in reversed(journal.made):
        _remove_if_empty(root / folder)
    for folder in folders:
        _sync_folder(root / folder)
    _sync_folder(root)
    staging.discard()


def _tidy(staging: _Staging, journal: _Journal) -> None:
    """After the switch: compiled leftovers of removed modules, emptied folders, the staging folder."""
    root = staging.root
    _refuse_links(root, journal)
    # No old file is deleted before the decision is on the disk.
    _sync_folder(staging.path)
    for entry in journal.entries:
        if entry.action is Action.REMOVE and entry.path.endswith(".py"):
            _remove_compiled(root / entry.path)
    for folder in journal.emptied:
        _remove_if_empty(root / folder)
    staging.discard()


def _remove_compiled(module: Path) -> None:
    """Deletes what Python compiled from a module that is gone, unless a module of that name is there again."""
    cache = module.parent / "__pycache__"
    if cache.is_symlink() or not cache.is_dir() or os.path.lexists(module):
        return
    with _attempt("clear away", cache):
        for compiled in cache.glob("*.pyc"):
            if compiled.name.startswith(f"{module.stem}."):
                compiled.unlink()
        _remove_if_empty(cache)


def _remove_if_empty(folder: Path) -> None:
    """Deletes a folder that holds nothing, or nothing but what Python compiled in it."""
    if folder.is_symlink() or not folder.is_dir():
        return
    with _attempt("clear away", folder):
        inside = list(folder.iterdir())
        if [path.name for path in inside] == ["__pycache__"] and not inside[0].is_symlink() and inside[0].is_dir():
            compiled = list(inside[0].iterdir())
            if all(path.suffix == ".pyc" for path in compiled):
                for path in compiled:
                    path.unlink()
                inside[0].rmdir()
                inside = []
        if not inside:
            folder.rmdir()


def _move_to_free_name(source: Path, target: Path) -> None:
    """Moves a file to a name that must be free: a handler that appears at the last moment is not overwritten."""
    if sys.platform == "win32":
        source.rename(target)  # refuses an existing target there
        return
    try:
        target.hardlink_to(source)
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target)) from error
        source.rename(target)
    else:
        source.unlink()


def _was_taken(staged: Path, target: Path) -> bool:
    """Whether the file at `target` came from `staged`: that is gone, or it is a second name of the same file."""
    try:
        return staged.samefile(target)
    except FileNotFoundError:
        return True


def _keep_a_copy(target: Path, old: Path) -> None:
    """Keeps an old file, with its times and its mode, under a second name; where it stands it stays readable."""
    try:
        old.hardlink_to(target)
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        target.rename(old)


# A file system without hard links, one that forbids them, or a file that has too many.
_NO_HARD_LINKS = frozenset((errno.EPERM, errno.EACCES, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK))


def _refuse_links(root: Path, journal: _Journal) -> list[str]:
    """The folders of the journal; raises `FolderError` when one has become a link, which could lead anywhere."""
    folders = _folders_of(entry.path for entry in journal.entries)
    for folder in folders:
        if (root / folder).is_symlink():
            raise FolderError(str(root / folder), "write into", "it is a symbolic link")
    return folders


def _digest_at(path: Path) -> str | None:
    """Digest of the plain file at `path`; None when nothing is there; empty for anything else."""
    try:
        mode = path.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise FolderError(str(path), "look at", error) from error
    if not stat.S_ISREG(mode):
        return ""
    data = read_file(str(path))
    return None if data is None else digest(data)


def _folders_of(paths: Iterable[str]) -> list[str]:
    """Every folder above the paths, each once, outer ones before inner ones."""
    folders: set[str] = set()
    for path in paths:
        while (path := path.rpartition("/")[0]) and path not in folders:
            folders.add(path)
    return sorted(folders)


_MANY_FILES = 64
_SYNC_THREADS = 8


def _sync_files(paths: list[Path]) -> None:
    """Makes the content of files last through a loss of power."""
    if len(paths) < _MANY_FILES:
        for path in paths:
            _sync_file(path)
        return
    # One wait for the disk serves all files that ask at the same time, so asking together is several times quicker.
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(_SYNC_THREADS) as pool:
        for _ in pool.map(_sync_file, paths):
            pass


def _sync_file(path: Path) -> None:
    with _attempt("write", path), path.open("rb+") as file:
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    """Makes renames in `folder` last through a loss of power, where the platform can."""
    if sys.platform == "win32":
        return
    with _attempt("write", folder):
        try:
            descriptor = os.open(folder, os.O_RDONLY)
        except FileNotFoundError:
            return
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def _attempt(doing: str, path: Path) -> Iterator[None]:
    """Turns an error of the operating system into one that says what was being done, and where."""
    try:
        yield
    except OSError as error:
        raise FolderError(str(path), doing, error) from error


def _harmless(path: object) -> str:
    if not isinstance(path, str) or layout.unsafe(path):
        raise ValueError(path)
    return path


def _maybe_text(value: object) -> str | None:
    if value is not None and not isinstance(value, str):
        raise TypeError(value)
    return value
