"""One build at a time on one output folder.

The lock belongs to the operating system and ends with the process that holds it, however that ends. It is taken on the
folder itself where that is possible, so that nothing is left behind in a folder that people commit; elsewhere on a file
in the system's folder for temporary files, named after the output folder.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from codegen.publish.errors import FolderError
from codegen.publish.switch import Recovery, recover
from codegen.publish.tree import digest

ATTEMPTS = 1000
"""How often a missing folder is made before it is clear that it is not other builds that take it away again."""


@contextlib.contextmanager
def locked(
    directory: Path | str, *, shared: bool = False, waiting: Callable[[], None] | None = None
) -> Iterator[Recovery]:
    """Holds the output folder from a plan to its publication, and says what became of a build that died before.

    Makes the folder when it is missing, and takes it away again when it is still empty at the end. `waiting` is called
    once when another build holds the lock. With `shared`, for a look that must not meet a half published set, nothing
    is made, written or recovered. Raises `FolderError`.
    """
    root = Path(os.path.realpath(directory))
    made: list[Path] = []
    descriptor = -1
    attempts = 0
    try:
        while descriptor < 0 and (root.is_dir() or not shared):
            attempts += 1
            if not shared:
                made += _make(root, patient=attempts < ATTEMPTS)
            descriptor = _take(root, shared, waiting)
        yield Recovery.NONE if shared else recover(root)
    finally:
        # Still under the lock, so that nobody else is just starting in the folder.
        for folder in reversed(made):
            with contextlib.suppress(OSError):  # not empty: it is in use, as it should be
                folder.rmdir()
        if descriptor >= 0:
            _release(descriptor)


def _make(root: Path, *, patient: bool) -> list[Path]:
    """Makes `root` and what is missing above it; returns the folders that were made, outermost first."""
    missing: list[Path] = []
    folder = root
    while not folder.exists() and folder != folder.parent:
        missing.append(folder)
        folder = folder.parent
    made: list[Path] = []
    for folder in reversed(missing):
        try:
            folder.mkdir()
        except FileExistsError:
            continue  # another build was quicker
        except OSError as error:
            if patient and isinstance(error, FileNotFoundError):
                break  # another build took the folder above away again; the caller tries once more
            raise FolderError(str(folder), "make", error) from error
        made.append(folder)
    return made


if sys.platform == "win32":
    import msvcrt
    import time

    def _take(root: Path, shared: bool, waiting: Callable[[], None] | None) -> int:
        descriptor = _open_beside(root)
        while True:
            try:
                os.lseek(descriptor, 0, os.SEEK_SET)
                msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
            except OSError:
                if waiting is not None:
                    waiting()
                    waiting = None
                time.sleep(0.05)
            else:
                return descriptor

    def _release(descriptor: int) -> None:
        os.lseek(descriptor, 0, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)
        os.close(descriptor)

else:
    import fcntl

    # Network file systems that lock only files, or only files open for writing.
    _CANNOT_LOCK_FOLDERS = frozenset((errno.EBADF, errno.EINVAL, errno.EISDIR, errno.ENOLCK, errno.ENOTSUP))

    def _take(root: Path, shared: bool, waiting: Callable[[], None] | None) -> int:
        """A descriptor that holds the lock, or -1 when there is no folder, or not the same any more."""
        kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        try:
            descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            if isinstance(error, FileNotFoundError) or (shared and isinstance(error, NotADirectoryError)):
                return -1
            raise FolderError(str(root), "open", error) from error
        try:
            _wait(descriptor, kind, waiting)
        except OSError as error:
            os.close(descriptor)
            if error.errno in _CANNOT_LOCK_FOLDERS:
                return _take_beside(root, kind, waiting)
            raise FolderError(str(root), "lock", error) from error
        with contextlib.suppress(OSError):
            if os.path.samestat(os.fstat(descriptor), root.stat()):
                return descriptor
        _release(descriptor)
        return -1

    def _take_beside(root: Path, kind: int, waiting: Callable[[], None] | None) -> int:
        descriptor = _open_beside(root)
        try:
            _wait(descriptor, kind, waiting)
        except OSError as error:
            os.close(descriptor)
            raise FolderError(str(root), "lock", error) from error
        return descriptor

    def _wait(descriptor: int, kind: int, waiting: Callable[[], None] | None) -> None:
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            if waiting is not None:
                waiting()
            fcntl.flock(descriptor, kind)

    def _release(descriptor: int) -> None:
        # Said aloud, since a child process may have inherited the descriptor.
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)


def _open_beside(root: Path) -> int:
    """A file for locking `root` that does not stand in it. It is never deleted: that would let two builds in."""
    import tempfile

    name = f"toolgen-{digest(os.fsencode(os.path.normcase(root)))[:32]}.lock"
    path = Path(tempfile.gettempdir(), name)
    # A folder for temporary files may be everybody's: no link of a stranger's is followed.
    flags = (os.O_RDWR if sys.platform == "win32" else os.O_RDONLY) | getattr(os, "O_NOFOLLOW", 0)
    try:
        try:
            return os.open(path, flags)
        except FileNotFoundError:
            return os.open(path, flags | os.O_CREAT, 0o666)
    except OSError as error:
        raise FolderError(str(path), "open", error) from error
