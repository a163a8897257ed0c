"""Forked processes: they inherit the objects of their parent, but not its threads, and perhaps locks that stay shut."""

from __future__ import annotations

import os
import weakref
from typing import Protocol


class Renewable(Protocol):
    """What holds threads or locks of its own."""

    def renew(self) -> None:
        """Makes it as new: its threads are gone. Nothing else runs yet."""
        ...


_things: weakref.WeakSet[Renewable] = weakref.WeakSet()


def renew_after_fork(thing: Renewable) -> None:
    """Lets `thing.renew()` be called in every child process. Keeps no reference to it."""
    _things.add(thing)


def _renew_all() -> None:
    for thing in list(_things):
        thing.renew()


if hasattr(os, "register_at_fork"):  # there is no fork on Windows
    os.register_at_fork(after_in_child=_renew_all)
