"""Following a scenario through one conversation: where it stands, what comes next, whether a result is as expected.

A `Play` knows nothing of any API. The state machines move it on and turn its steps into their own shapes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from codegen.simulator.faults import Tally
from codegen.simulator.record import Ledger, Run
from codegen.simulator.scenario import PLACEHOLDER, ModelCall, ResultCheck, Scenario, Step, TextCheck
from codegen.simulator.wire import Api, dump_json, load_json

_MISSING = object()


class Mismatch(Exception):
    """Something is not as the scenario expects it. `message` says what; the place is the play's."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one call as the model sees it: the output, or the error of a failed call, as text."""

    text: str
    success: bool

    @classmethod
    def of_text(cls, text: str) -> Outcome:
        """For an API without a flag: a JSON object with a member `error` is a failed call."""
        value = _parsed(text)
        return cls(text, not (isinstance(value, dict) and "error" in value))


@dataclass(slots=True)
class Play:
    """One conversation that follows a scenario.

    `turn` and `step` are positions in the script (`turn` is -1 before the first message), `offset` counts the calls of
    the step that have already been made, for APIs that are asked to make one call at a time.
    """

    scenario: Scenario
    api: Api
    ledger: Ledger
    tally: Tally
    run: Run | None = None
    turn: int = -1
    step: int = 0
    offset: int = 0
    results: dict[str, Outcome] = field(default_factory=dict)

    def copy(self) -> Play:
        """A play that can go on from here without changing this one; run and fault counts stay shared."""
        return Play(
            self.scenario,
            self.api,
            self.ledger,
            self.tally,
            self.run,
            self.turn,
            self.step,
            self.offset,
            dict(self.results),
        )

    @property
    def place(self) -> str:
        """Where the play stands, in words; turns and steps count from one."""
        if self.turn < 0:
            return "before the first turn"
        return f"turn {self.turn + 1}, step {self.step + 1}"

    @property
    def current(self) -> Step:
        """The step that the play stands at."""
        return self.scenario.turns[self.turn].model[self.step]

    @property
    def calls_ahead(self) -> list[ModelCall]:
        """The calls of the step that have not been made yet."""
        return self.current.calls[self.offset :]

    @property
    def at_last_step(self) -> bool:
        """Whether the step ends its turn."""
        return self.step == len(self.scenario.turns[self.turn].model) - 1

    def begin(self, reference: str) -> None:
        """Notes the play in the report, once."""
        if self.run is None:
            self.run = self.ledger.begin(self.scenario.name, self.api, reference)
        self.run.place = self.place

    def fail(self, message: str) -> None:
        """Notes that something is not as the scenario expects it."""
        self.ledger.fail(self.scenario.name, self.api, self.run, self.place, message)

    def next_turn(self, message: str) -> None:
        """Goes to the turn that a user message sets off. Raises `Mismatch` when it is not the expected message."""
        if self.turn + 1 >= len(self.scenario.turns):
            raise Mismatch(f"the scenario has only {len(self.scenario.turns)} turn(s), but another message came")
        check_user(self.scenario.turns[self.turn + 1].user, message)
        self.turn, self.step, self.offset = self.turn + 1, 0, 0

    def next_step(self) -> None:
        """Goes to the step after the current one. Raises `Mismatch` when the turn has no further step."""
        if self.at_last_step:
            raise Mismatch("results came after the last step of the turn")
        self.step, self.offset = self.step + 1, 0

    def finish_turn(self) -> None:
        """Notes that the turn was played; the scenario is finished with its last turn."""
        if self.run is not None:
            self.run.place = f"the end of turn {self.turn + 1}"
            if self.turn == len(self.scenario.turns) - 1:
                self.run.finished = True
                self.tally.clear()

    def accept(self, call: ModelCall, outcome: Outcome) -> None:
        """Keeps the result of a call for placeholders."""
        if call.as_ is not None:
            self.results[call.as_] = outcome

    def require_registered(self, call: ModelCall, names: Sequence[str]) -> None:
        """Raises `Mismatch` when the model is to call a tool that nobody registered."""
        if not call.invented and self.scenario.tools == "registered" and call.name not in names:
            known = ", ".join(sorted(names)) or "none"
            raise Mismatch(f'the model is to call "{call.name}", which is not registered (registered: {known})')

    def say(self, step: Step) -> str | None:
        """The text of a step, with its placeholders filled in."""
        return None if step.say is None else str(self._rendered_text(step.say))

    def arguments(self, call: ModelCall) -> Any:
        """The arguments of a call as a value, with placeholders filled in; the raw text where the scenario has one."""
        return call.raw if call.raw is not None else self._rendered(call.arguments)

    def _rendered(self, value: Any) -> Any:
        if isinstance(value, str):
            whole = PLACEHOLDER.fullmatch(value)
            return self._lookup(whole.group(1), whole.group(2)) if whole else self._rendered_text(value)
        if isinstance(value, Mapping):
            return {key: self._rendered(member) for key, member in value.items()}
        if isinstance(value, list):
            return [self._rendered(member) for member in value]
        return value

    def _rendered_text(self, text: str) -> str:
        def fill(match: Any) -> str:
            value = self._lookup(match.group(1), match.group(2))
            return value if isinstance(value, str) else dump_json(value)

        return PLACEHOLDER.sub(fill, text)

    def _lookup(self, name: str, path: str) -> Any:
        outcome = self.results.get(name)
        if outcome is None:
            raise Mismatch(f'placeholder "{name}" has no result yet')
        if not path:
            return outcome.text
        value = _parsed(outcome.text)
        for part in path.strip(".").split("."):
            if isinstance(value, list) and part.isdigit() and int(part) < len(value):
                value = value[int(part)]
            elif isinstance(value, dict) and part in value:
                value = value[part]
            else:
                raise Mismatch(f'the result of "{name}" has no {path.strip(".")}: {_shown(outcome.text)}')
        return value


def check_user(check: TextCheck | None, message: str) -> None:
    """Raises `Mismatch` when a user message is not as expected."""
    if check is None:
        return
    if check.text is not None and message != check.text:
        raise Mismatch(f"the message should be {_shown(check.text)} and is {_shown(message)}")
    for part in check.contains:
        if part not in message:
            raise Mismatch(f"the message should contain {_shown(part)} and is {_shown(message)}")


def check_result(call: ModelCall, outcome: Outcome) -> None:
    """Raises `Mismatch` when the result of a call is not as expected."""
    check = call.result
    if check is None:
        return
    problems = list(_result_problems(check, outcome))
    if problems:
        raise Mismatch(f'the result of "{call.name}" {"; ".join(problems)}; it is {_shown(outcome.text)}')


def _result_problems(check: ResultCheck, outcome: Outcome) -> list[str]:
    problems = []
    value = _parsed(outcome.text)
    wanted = check.success if check.success is not None else (False if check.error is not None else None)
    if wanted is not None and outcome.success is not wanted:
        problems.append(f"should be a {'success' if wanted else 'failure'}")
    if check.expects("json_") and not json_equal(value, check.json_):
        problems.append(f"should be the JSON {_shown(dump_json(check.json_))}")
    if check.expects("has") and not json_has(value, check.has):
        problems.append(f"should have {_shown(dump_json(check.has))}")
    if check.text is not None and outcome.text != check.text:
        problems.append(f"should be {_shown(check.text)}")
    problems += [
        f"should contain {_shown(part)}" for part in [*check.contains, *(check.error or [])] if part not in outcome.text
    ]
    return problems


def json_equal(left: Any, right: Any) -> bool:
    """Equality of JSON values: 1 and 1.0 are one number, true and 1 are not."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(json_equal(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(json_equal, left, right))
    return bool(left == right)


def json_has(value: Any, wanted: Any) -> bool:
    """Whether `value` equals `wanted` except for further members of objects."""
    if isinstance(value, dict) and isinstance(wanted, dict):
        return all(key in value and json_has(value[key], member) for key, member in wanted.items())
    if isinstance(value, list) and isinstance(wanted, list):
        return len(value) == len(wanted) and all(map(json_has, value, wanted))
    return json_equal(value, wanted)


def half(text: str) -> str:
    """The first half of a text, as when an answer was cut off in the middle."""
    return text[: len(text) // 2]


def chunks(text: str, size: int = 12) -> list[str]:
    """A text in pieces, as it is streamed."""
    return [text[i : i + size] for i in range(0, len(text), size)]


@dataclass(slots=True)
class Counters:
    """Ids and times without chance or clock: both count up."""

    _ids: Counter[str] = field(default_factory=Counter)
    _now: int = 1_760_000_000

    def next(self, prefix: str) -> str:
        """The next id of a kind, for instance `call_000001`."""
        self._ids[prefix] += 1
        return f"{prefix}_{self._ids[prefix]:06d}"

    def number(self, kind: str) -> int:
        """The next number of a kind, from one."""
        self._ids[kind] += 1
        return self._ids[kind]

    def now(self) -> int:
        """Seconds since 1970; every look is one second later."""
        self._now += 1
        return self._now


def _parsed(text: str) -> Any:
    try:
        return load_json(text)
    except ValueError:
        return _MISSING


def _shown(text: str) -> str:
    short = text if len(text) <= 200 else text[:197] + "..."
    return f"«{short}»"
