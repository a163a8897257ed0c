"""Who is alive, by locks of the operating system: no clock, and no message that could come late.

Every owner has a file of its own and holds a lock on it. The system frees the lock when the process ends, however it
ends, and keeps it while the process is stopped. Whoever wants to know whether an owner is alive tries to take its lock.
"""

from __future__ import annotations

import os
import secrets
import sys
import weakref
from pathlib import Path


class Owner:
    """This owner's own lock, held from now on. Raises `OSError` where the folder cannot be written to."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(mode=0o700, exist_ok=True)
        while True:
            self.name = secrets.token_hex(8)
            path = folder / self.name
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            if _lock(file) and _is_at(file, path):
                break
            # Somebody cleaned up between the two steps.
            os.close(file)
        self._end = weakref.finalize(self, _free, path, file)
        # When the interpreter ends, handlers may still run for a moment: the system frees the lock after the last one.
        self._end.atexit = False
        self._file = file

    def is_alive(self, name: str) -> bool:
        """Whether the owner of that name is alive. The file of one that is not is removed."""
        if name == self.name:
            return True
        path = self._folder / name
        try:
            file = os.open(path, os.O_RDWR)
        except FileNotFoundError:
            return False
        try:
            if not _lock(file, shared=True):
                return True
        finally:
            os.close(file)
        path.unlink(missing_ok=True)
        return False

    def tidy(self) -> None:
        """Removes the files of owners that are gone."""
        for path in self._folder.iterdir():
            self.is_alive(path.name)

    def free(self) -> None:
        """Ends this owner: its calls are interrupted ones from now on."""
        self._end()

    def forget(self) -> None:
        """Lets go of the lock in a forked child; the parent still holds it."""
        if self._end.detach() is not None:
            os.close(self._file)


def _free(path: Path, file: int) -> None:
    os.close(file)
    path.unlink(missing_ok=True)


def _is_at(file: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except FileNotFoundError:
        return False


if sys.platform == "win32":
    import msvcrt

    def _lock(file: int, *, shared: bool = False) -> bool:
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _lock(file: int, *, shared: bool = False) -> bool:
        """Tries to lock. `flock`, because a lock of `lockf` is the whole process's: two journals in one process could
        not tell each other apart, and closing any handle of the file would free it."""
        kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        try:
            fcntl.flock(file, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
