"""Where a request stands in its scenario, for APIs whose history the client keeps and sends with every request.

What was delivered is known by what the client repeats of it, so a request can be sent again, and two conversations can
go on from one answer.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field

from codegen.simulator.play import Mismatch, Outcome, Play, check_result
from codegen.simulator.scenario import ModelCall, Scenario


@dataclass(frozen=True, slots=True)
class Delivered:
    """An answer that the client got: the play as it stood then, and the calls of the answer."""

    play: Play
    calls: Sequence[ModelCall] = ()


@dataclass(slots=True)
class History:
    """The answers of one API that clients may repeat."""

    _delivered: dict[tuple[str, Hashable], Delivered] = field(default_factory=dict)

    def remember(self, keys: Iterable[Hashable], play: Play, calls: Sequence[ModelCall]) -> None:
        """Keeps an answer under what a client may repeat of it; of two answers that are alike the later one counts."""
        for key in keys:
            self._delivered[play.scenario.name, key] = Delivered(play.copy(), tuple(calls))

    def find(self, scenario: Scenario, keys: Iterable[Hashable]) -> Delivered | None:
        """The answer of a scenario that one of these keys is repeated from."""
        return next((found for key in keys if (found := self._delivered.get((scenario.name, key)))), None)


def go_on(play: Play, calls: Sequence[ModelCall], outcomes: Sequence[Outcome], message: str | None) -> None:
    """Moves a play on from an answer: by the results of its calls, else by a new message of the user.

    Raises `Mismatch` for a result or a message that is not expected.
    """
    if calls:
        for call, outcome in zip(calls, outcomes, strict=True):
            check_result(call, outcome)
            play.accept(call, outcome)
        play.next_step()
    elif message is not None:
        play.next_turn(message)
    else:
        raise Mismatch("the turn has ended, and the request has no new user message")
    # Steps that only wait for approvals do not exist on these APIs.
    while not play.current.calls and play.current.approvals and not play.at_last_step:
        play.next_step()
