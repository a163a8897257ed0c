"""What stands in an output folder: read once, asked often, never changed.

Only the top level, the folders of generated files and the handler folder are listed. A folder of the person's beside
them costs nothing, and no symbolic link is followed on the way down.
"""

from __future__ import annotations

import enum
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from codegen.publish import layout
from codegen.publish.errors import FolderError

# Not every platform has each of these: files are bytes on Windows too, and a pipe in our place must not make us wait.
_READ = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


class Kind(enum.Enum):
    """What a name in a folder stands for."""

    FILE = "file"
    FOLDER = "folder"
    LINK = "symbolic link"
    OTHER = "special file"


@dataclass(slots=True)
class Tree:
    """The entries of an output folder by relative path, spelt as on disk."""

    root: str
    kinds: dict[str, Kind] = field(default_factory=dict)
    _by_fold: dict[str, list[str]] | None = None

    @classmethod
    def read(cls, root: str, folders: Iterable[str]) -> Tree:
        """Lists `root` and, below it, the top-level `folders`; raises `FolderError`. A missing root has no entries."""
        tree = cls(root)
        tree._list("")
        for folder in sorted({*folders, *layout.FOLDERS, layout.HANDLERS}):
            if tree.kinds.get(folder) is Kind.FOLDER:
                tree._descend(folder)
        return tree

    def _descend(self, folder: str) -> None:
        for name in self._list(folder):
            self._descend(name)

    def _list(self, folder: str) -> list[str]:
        """Notes the entries of one folder and returns those that are folders worth a look."""
        where = f"{self.root}/{folder}" if folder else self.root
        below = f"{folder}/" if folder else ""
        inner: list[str] = []
        try:
            with os.scandir(where) as entries:
                for entry in entries:
                    path = below + entry.name
                    if entry.is_symlink():
                        self.kinds[path] = Kind.LINK
                    elif entry.is_dir(follow_symlinks=False):
                        self.kinds[path] = Kind.FOLDER
                        if entry.name != "__pycache__" and not entry.name.startswith("."):
                            inner.append(path)
                    else:
                        regular = entry.is_file(follow_symlinks=False)
                        self.kinds[path] = Kind.FILE if regular else Kind.OTHER
        except FileNotFoundError:
            return []
        except OSError as error:
            raise FolderError(where, "list", error) from error
        return inner

    def find(self, path: str) -> str | None:
        """The entry that `path` leads to, spelt as on disk, or None.

        The spelling differs from `path` only where the file system takes two spellings for one name.
        """
        if path in self.kinds:
            return path
        if self._by_fold is None:
            self._by_fold = {}
            for known in self.kinds:
                self._by_fold.setdefault(layout.fold(known), []).append(known)
        spellings = self._by_fold.get(layout.fold(path))
        return spellings[0] if spellings and os.path.lexists(f"{self.root}/{path}") else None

    def barrier(self, path: str) -> tuple[str, Kind] | None:
        """The first entry above `path` that is no plain folder, so that nothing may be written through it."""
        at = path.find("/")
        while at != -1:
            kind = self.kinds.get(path[:at])
            if kind is not None and kind is not Kind.FOLDER:
                return path[:at], kind
            at = path.find("/", at + 1)
        return None

    def files(self, folders: Iterable[str]) -> list[str]:
        """The plain files directly at the top level and anywhere below `folders`, sorted."""
        tops = frozenset(folders)
        return sorted(
            path
            for path, kind in self.kinds.items()
            if kind is Kind.FILE and ("/" not in path or path.partition("/")[0] in tops)
        )

    def read_bytes(self, path: str) -> bytes | None:
        """The bytes of the regular file at `path`, through links; None when there is none."""
        return read_file(f"{self.root}/{path}")

    def starts_with_header(self, path: str) -> bool:
        """Whether the file at `path` says in its first line that toolgen made it."""
        start = read_file(f"{self.root}/{path}", limit=64)
        return start is not None and layout.has_header(start)


def read_file(path: str, limit: int | None = None) -> bytes | None:
    """The bytes of a regular file (the first `limit` only), or None when there is none; raises `FolderError`."""
    try:
        descriptor = os.open(path, _READ)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if _no_regular_file(path):
            return None
        raise FolderError(path, "read", error) from error
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return None
        wanted = status.st_size if limit is None else min(limit, status.st_size)
        data = os.read(descriptor, wanted)
        while len(data) < wanted and (more := os.read(descriptor, wanted - len(data))):
            data += more
        return data
    except OSError as error:
        raise FolderError(path, "read", error) from error
    finally:
        os.close(descriptor)


def digest(data: bytes) -> str:
    """SHA-256 as 64 hexadecimal digits."""
    return sha256(data).hexdigest()


def _no_regular_file(path: str) -> bool:
    """Whether what could not be opened is a folder, a socket, a pipe or a link that leads nowhere."""
    try:
        return not stat.S_ISREG(Path(path).stat().st_mode)
    except OSError:
        return Path(path).is_symlink()
