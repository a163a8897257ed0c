"""A program that publishes over an output again and again, and is stopped at another step each time.

Run as `python crashes.py MODE FOLDER`. In each round a child process publishes a new package over a copy of an old
output. Just before its n-th operation on the file system it is killed (`kill`), or that operation fails (`full`), or
the user presses Ctrl-C (`interrupt`); n grows until a child comes through. `kill-again` takes each sixteenth step,
and kills the recovery, too, at each of its own. The folders of the rounds are left for the test to judge. A line for
each is printed: its name, and what the child said.
"""

from __future__ import annotations

import errno
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from codegen.publish import FolderError, locked
from tests.publish.support import HEADER, build, package

OLD = package({"runtime/old/deep.py": "old", "dispatch.py": "old"}, "gone", "stays")
NEW = package({"runtime/new/deep.py": "new", "dispatch.py": "new", "models/stays.py": "new"}, "stays", "fresh")
HANDLER = "def gone(): return 1\n"

# What Python announces before each operation on files that a publication uses.
OPERATIONS = frozenset(("open", "os.mkdir", "os.rename", "os.link", "os.remove", "os.rmdir", "os.scandir", "os.chmod"))


def prepare(folder: Path) -> None:
    """The output as it stands before the build: hand-edited in places, with a handler that a person wrote."""
    build(folder, OLD)
    (folder / "handlers/gone.py").write_text(HANDLER)
    (folder / "dispatch.py").write_text(HEADER + "edited")
    (folder / "models/stays.py").chmod(0o600)
    (folder / "models/__pycache__").mkdir()
    (folder / "models/__pycache__/gone.cpython-311.pyc").write_bytes(b"compiled")


def at_step(number: int, act: Callable[[], None]) -> None:
    """Lets `act` happen just before the `number`-th operation from now on."""
    left = [number]

    def hook(event: str, _: object) -> None:
        if event in OPERATIONS and left[0] > 0:
            left[0] -= 1
            if left[0] == 0:
                act()

    sys.addaudithook(hook)


def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def fill_disk() -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def press_ctrl_c() -> None:
    raise KeyboardInterrupt


def child(work: Callable[[], None]) -> tuple[int, str]:
    """Runs `work` in a process of its own; its wait status, and what `work` said by raising."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        said = "failed"
        try:
            work()
            said = "done"
        except FolderError as error:
            said = f"{error.outcome.name} {error}"
        except KeyboardInterrupt:
            said = "interrupted"
        finally:
            os.write(writer, said.encode())
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as answer:
        said = answer.read()
    return os.waitpid(pid, 0)[1], said


def recover(folder: Path) -> None:
    with locked(folder):
        pass


def rounds(folder: Path, act: Callable[[], None], again: bool) -> None:
    prepare(folder / "old")
    number = 0
    while True:
        number += 16 if again else 1
        place = folder / f"{number:03d}"
        shutil.copytree(folder / "old", place)

        def work(number: int = number, place: Path = place) -> None:
            at_step(number, act)
            build(place, NEW)

        status, said = child(work)
        print(place.name, said or "killed", flush=True)
        if os.WIFEXITED(status) and said == "done":
            return
        if again:
            recoveries(folder, place)


def recoveries(folder: Path, place: Path) -> None:
    """Kills the recovery of `place` at each of its steps, every time from the state that the first crash left."""
    number = 0
    while True:
        number += 1
        other = folder / f"{place.name}-{number:03d}"
        shutil.copytree(place, other)

        def work(number: int = number, other: Path = other) -> None:
            at_step(number, kill)
            recover(other)

        status, said = child(work)
        print(other.name, said or "killed", flush=True)
        if os.WIFEXITED(status):
            return


MODES = {"kill": kill, "kill-again": kill, "full": fill_disk, "interrupt": press_ctrl_c}

if __name__ == "__main__":
    rounds(Path(sys.argv[2]), MODES[sys.argv[1]], again=sys.argv[1] == "kill-again")
