"""Forked processes: they inherit the objects of their parent, but not its threads, and perhaps locks that stay shut."""

from __future__ import annotations

import os
import threading
import weakref
from typing import Protocol


class Renewable(Protocol):
    """What holds threads or locks of its own."""

    def renew(self) -> None:
        """Makes it as new: its threads are gone. Nothing else runs yet."""
        ...


class Pausable(Renewable, Protocol):
    """What must not be in the middle of anything when the process forks, such as a connection to a file."""

    def pause(self) -> None:
        """Waits until nothing is under way, and lets nothing begin until `resume`, or `renew` in the child."""
        ...

    def resume(self) -> None: ...


_things: weakref.WeakSet[Renewable] = weakref.WeakSet()
_pausable: weakref.WeakSet[Pausable] = weakref.WeakSet()
_paused: list[Pausable] = []
_forking = threading.Lock()
"""Held while the process forks: several threads may do so at once."""


def renew_after_fork(thing: Renewable) -> None:
    """Lets `thing.renew()` be called in every child process. Keeps no reference to it."""
    _things.add(thing)


def pause_for_fork(thing: Pausable) -> None:
    """Lets `thing` be at rest while the process forks, and be renewed in the child. Keeps no reference to it."""
    _pausable.add(thing)
    renew_after_fork(thing)


def _pause_all() -> None:
    _forking.acquire()
    _paused[:] = list(_pausable)
    for thing in _paused:
        thing.pause()


def _resume_all() -> None:
    for thing in _paused:
        thing.resume()
    _paused.clear()
    _forking.release()


def _renew_all() -> None:
    global _forking
    _forking = threading.Lock()
    _paused.clear()
    for thing in list(_things):
        thing.renew()


if hasattr(os, "register_at_fork"):  # there is no fork on Windows
    os.register_at_fork(
        before=_pause_all, after_in_parent=_resume_all, after_in_child=_renew_all
    )
