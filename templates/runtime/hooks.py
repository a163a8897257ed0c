"""What a service can plug into the execution of calls."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from .calls import Call, Result


@dataclass(frozen=True, slots=True)
class Done:
    """The interrupted call did have its effect; `value` is what its handler would have returned."""

    value: Any


@dataclass(frozen=True, slots=True)
class NotDone:
    """The interrupted call had no effect; it may run again."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nobody can tell; the call is answered `outcome_unknown`."""


Outcome = Done | NotDone | Unknown


@dataclass(frozen=True, slots=True)
class Hooks:
    """Callbacks around every call. Each may be left out; `approve` and `reconcile` may be async.

    `on_start` and `on_finish` see every call, also those that are refused; what they raise is logged and changes
    nothing. They run on the event loop: keep them short.
    """

    on_start: Callable[[Call], None] | None = None
    on_finish: Callable[[Call, Result, float], None] | None = None
    """Gets the result and the seconds from the start of the call to its end."""
    approve: Callable[[Call], bool | Awaitable[bool]] | None = None
    """Says whether a call of a tool with `confirm` may run. Without it such calls are refused."""
    reconcile: Callable[[Call], Outcome | Awaitable[Outcome]] | None = None
    """Finds out what became of a `write` call that was interrupted. Without it that stays unknown."""
