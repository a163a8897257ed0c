"""The two values everything else is about: a call and its one result."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from .content import Content
from .errors import Issue

T = TypeVar("T")


def fingerprint(parts: Iterable[str]) -> str:
    """A hex digest of some texts that no other list of texts shares: each goes in with its length."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(b"%d:" % len(data) + data)
    return digest.hexdigest()


def key_of_calls(calls: Iterable[tuple[str, str, Any]]) -> str:
    """A turn id for the journal, from id, name and arguments of the calls that came in one answer.

    For APIs whose answers have no id: it is the same when the same answer is read again, in whatever order and process.
    Names and arguments belong to it, because nothing promises that a conversation uses an id only once.
    """
    parts = sorted((own, name, _argument_text(given)) for own, name, given in calls)
    return fingerprint(part for call in parts for part in call)[:32]


def _argument_text(arguments: Any) -> str:
    if isinstance(arguments, str):
        return arguments
    try:
        return json.dumps(arguments, sort_keys=True)
    except (
        TypeError,
        ValueError,
        RecursionError,
    ):  # the dispatcher will refuse them; here the id has to do
        return ""


def without_repeats(
    calls: Iterable[T], read: Callable[[T], tuple[Any, str, Any]]
) -> list[T]:
    """The calls of one response, each once: one that comes again with its id, name and arguments is the same call.

    `read` gives id, name and arguments; calls without an id are all different.
    """
    kept: list[T] = []
    seen: set[tuple[str, str, str]] = set()
    for call in calls:
        own, name, arguments = read(call)
        key = (str(own), name, _argument_text(arguments))
        if not own or key not in seen:
            kept.append(call)
        seen.add(key)
    return kept


def call_ids(given: Iterable[Any], turn_id: str) -> list[str]:
    """An id for each call of one response, in order, each of them different.

    It is the API's own, unless that is missing or an earlier call of the response has it already; then one is made from
    the response's id and the call's position, the same whenever the response is read.
    """
    ids: list[str] = []
    for position, own in enumerate(given):
        known = isinstance(own, str) and own and own not in ids
        ids.append(
            own if known else f"call_{fingerprint((turn_id, str(position)))[:24]}"
        )
    return ids


def name_in_history(name: str, longest: int = 64) -> str:
    """The name of a called tool as a request may hold it: ASCII letters, digits, `_` and `-`, no more than `longest`.

    A model may call a tool by any words. The answer says that there is none such, but many APIs refuse a history with
    such a name, and would refuse every request from then on.
    """
    return re.sub("[^A-Za-z0-9_-]", "_", name)[:longest] or "_"


# Neither class is frozen: freezing costs a microsecond a call, a tenth of what a whole call takes.
@dataclass(slots=True)
class Call:
    """One request to run a tool.

    `session_id`, `turn_id` and `call_id` identify the call for the journal; `target` names the API it came from and
    selects how its arguments are read back. `context` is what the service passes to its handlers (user, tenant,
    request): it never comes from the model.
    """

    name: str
    arguments: str | bytes | Mapping[str, Any] | None = None
    call_id: str = ""
    turn_id: str = ""
    session_id: str = ""
    target: str = ""
    context: Any = None

    @property
    def label(self) -> str:
        """The call for people and logs: its tool and its ids, none of its arguments."""
        ids = (
            ("call", self.call_id),
            ("turn", self.turn_id),
            ("session", self.session_id),
        )
        known = ", ".join(f"{word} {value}" for word, value in ids if value)
        return f"{self.name} ({known})" if known else self.name

    @property
    def idempotency_key(self) -> str:
        """A key for other systems that is the same for every attempt at this call, in any process."""
        return fingerprint((self.session_id, self.turn_id, self.call_id))[:32]


@dataclass(slots=True)
class CallError:
    """Why a call has no output."""

    code: str
    """`unknown_tool`, `invalid_json`, `invalid_arguments`, `not_approved`, `handler_error`,
    `timeout`, `cancelled`, `not_implemented`, `unserializable_output`, `output_too_large`,
    `shutting_down`;
    with a journal also `call_conflict`, `in_progress`, `outcome_unknown` and
    `journal_unavailable`."""
    message: str
    """What the model reads."""
    issues: tuple[Issue, ...] = ()

    def as_json(self) -> dict[str, str]:
        """The object that stands in for the output on APIs that have no field for errors."""
        return {"error": self.message, "code": self.code}


@dataclass(slots=True)
class Result:
    """The one answer to a call."""

    call: Call
    output: str = ""
    """The text for the model; empty when the call failed."""
    content: Content | None = None
    """Text and image parts, where the handler returned `Content`; `output` then holds the text alone."""
    error: CallError | None = None
    ran: bool = False
    """Whether the handler was started: False for a call that was refused before."""
    replayed: bool = False
    """True when the journal had this result and the handler did not run again."""

    @property
    def success(self) -> bool:
        return self.error is None

    @property
    def name(self) -> str:
        return self.call.name

    @property
    def call_id(self) -> str:
        return self.call.call_id

    @property
    def arguments(self) -> str | bytes | Mapping[str, Any] | None:
        return self.call.arguments
