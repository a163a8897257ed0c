"""Workers that are really killed, and a judge of what is left.

A round is a handful of calls that some workers serve at once: each worker is a process that runs the calls through a
dispatcher with the journal under test, and sends their results to an API, which is a file that lines are appended to.
What a `write` tool does is a line in another file, outside of the journal. One worker is killed with SIGKILL, at a
named step or at any moment; then another one serves what is still open, and is perhaps killed too. In the end every
call is delivered once more.

The judge then counts, over all calls of the round:

- unanswered: the API got no result.
- lost: a result that says that it was done without its effect being there, or an answer that is not the same each time.
- duplicate: an effect that happened twice.
- missing: with a `reconcile` hook, an effect that did not happen, or an outcome that stayed unknown.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tests.conftest import build_folder

PACKAGE = "crashing_tools"
KEY = {
    "type": "object",
    "properties": {"key": {"type": "string"}},
    "required": ["key"],
    "additionalProperties": False,
}
TOOLS = {"look_up": "read", "set_flag": "idempotent", "pay": "write", "pay_later": "write"}
SPECS = [
    {
        "type": "function",
        "name": name,
        "description": f"The tool {name}.",
        "parameters": KEY,
        "x-toolgen": {"effect": effect},
    }
    for name, effect in TOOLS.items()
]
STEPS = (
    "before the intent",
    "before a commit",
    "after a commit",
    "after the intent",
    "before the effect",
    "after the effect",
    "before the result",
    "after the result",
    "before it is sent",
    "after it was sent",
    "after that was noted",
    "while it asks what happened",
)
ANY = "any moment"
CALLS = 8
"""Calls of a round."""

OpenJournal = Callable[[], Any]
"""Opens the journal under test in a worker; its classes are those of the package."""


@dataclass
class Tally:
    """What the judge counted, for one way to be killed."""

    kills: int = 0
    calls: int = 0
    unknown: int = 0
    """Calls that were answered `outcome_unknown`, in rounds without a `reconcile` hook."""
    duplicate: int = 0
    lost: int = 0
    missing: int = 0
    unanswered: int = 0

    @property
    def wrong(self) -> int:
        return self.duplicate + self.lost + self.missing + self.unanswered


@dataclass
class Plan:
    """How a worker is to end."""

    step: str = ""
    left: int = 0
    """How often it may come to the step before it is killed there."""

    def reached(self, step: str) -> None:
        if step == self.step:
            self.left -= 1
            if self.left <= 0:
                os.kill(os.getpid(), signal.SIGKILL)


@dataclass
class Round:
    """One round's calls and files."""

    folder: Path
    number: int
    reconciles: bool
    calls: list[tuple[str, str]] = field(default_factory=list)
    """Tool and call id."""

    def __post_init__(self) -> None:
        names = list(TOOLS)
        self.calls = [(names[index % len(names)], f"call_{index}") for index in range(CALLS)]

    def append(self, file: str, *words: Any) -> None:
        """Adds a line, in one write: a kill leaves it whole or not at all."""
        handle = os.open(self.folder / f"{file}-{self.number}", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(handle, json.dumps(words).encode() + b"\n")
        os.close(handle)

    def lines(self, file: str) -> list[list[Any]]:
        path = self.folder / f"{file}-{self.number}"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def effects(self) -> Counter[str]:
        return Counter(call_id for (call_id,) in self.lines("effects"))


class Crashes:
    """Rounds over one journal. Make it in a process without threads, which has not opened the journal."""

    def __init__(self, folder: Path, seed: int, open_journal: Callable[[Callable[[str], Any]], Any]) -> None:
        """`open_journal` gets a function that gives the modules of the package's runtime by name."""
        self._folder = folder
        self._random = random.Random(seed)
        self._open_journal = open_journal
        specs = folder / "specs"
        specs.mkdir()
        (specs / "tools.json").write_text(json.dumps(SPECS), encoding="utf-8")
        build_folder([specs], folder / PACKAGE, journals=["sqlite", "postgres"])
        sys.path.insert(0, str(folder))
        package = importlib.import_module(PACKAGE)
        self._dispatcher = package.dispatcher
        for name in ("journal.sqlite", "journal.postgres", "journalled"):  # once here, and not in every worker
            self._module(name)
        package.dispatcher(SimpleNamespace(**dict.fromkeys(TOOLS, lambda args, call: None))).preload()
        self._rounds = 0
        self.tallies: dict[str, Tally] = {}

    def run(self, kills: int) -> None:
        """Goes on until so many workers were killed."""
        ways = [*STEPS, ANY, ANY, ANY, ANY]
        while sum(tally.kills for tally in self.tallies.values()) < kills:
            self._round(ways[self._rounds % len(ways)])

    def _module(self, name: str) -> Any:
        return importlib.import_module(f"{PACKAGE}.runtime.{name}")

    def _round(self, way: str) -> None:
        self._rounds += 1
        asks = way == "while it asks what happened"
        this = Round(self._folder, self._rounds, asks or self._rounds % 2 == 0)
        tally = self.tallies.setdefault(way, Tally())
        if asks:  # there has to be something to ask about
            tally.kills += self._killed(this, "after the effect")
        for _ in range(self._random.choice((1, 1, 2))):
            tally.kills += self._killed(this, way, others=self._random.choice((0, 0, 1, 2)))
        self._wait([self._worker(this, Plan(), again=False)])
        self._wait([self._worker(this, Plan(), again=True)])
        _judge(this, tally)

    def _killed(self, this: Round, way: str, others: int = 0) -> int:
        """Lets a worker be killed while others go on; 1, or 0 where it came to its end before."""
        plan = Plan() if way == ANY else Plan(way, self._random.randint(1, 5))
        victim = self._worker(this, plan, again=False)
        rest = [self._worker(this, Plan(), again=False) for _ in range(others)]
        if way == ANY:
            time.sleep(self._random.uniform(0, 0.12))
            os.kill(victim, signal.SIGKILL)
        killed = os.waitstatus_to_exitcode(os.waitpid(victim, 0)[1]) == -signal.SIGKILL
        self._wait(rest)
        return int(killed)

    def _wait(self, workers: list[int]) -> None:
        for worker in workers:
            code = os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1])
            if code:
                raise RuntimeError(f"a worker that nobody killed ended with {code}")

    def _worker(self, this: Round, plan: Plan, *, again: bool) -> int:
        """Starts a worker. With `again` it serves all calls, else those that have no answer yet."""
        seed = self._random.random()
        child = os.fork()
        if child == 0:
            code = 1
            try:
                asyncio.run(self._serve(this, plan, random.Random(seed), again=again))
                code = 0
            finally:
                os._exit(code)
        return child

    async def _serve(self, this: Round, plan: Plan, chance: random.Random, *, again: bool) -> None:
        runtime = self._module
        api = importlib.import_module(f"{PACKAGE}.runtime")
        journal = Watched(self._open_journal(runtime), plan)

        async def short(args: Any, call: Any) -> dict[str, str]:
            await asyncio.sleep(chance.uniform(0, 0.01))
            return {"found": args.key}

        async def pay(args: Any, call: Any) -> dict[str, str]:
            await asyncio.sleep(chance.uniform(0, 0.01))
            plan.reached("before the effect")
            this.append("effects", call.call_id)
            plan.reached("after the effect")
            await asyncio.sleep(chance.uniform(0, 0.01))
            return {"paid": args.key}

        def pay_later(args: Any, call: Any) -> dict[str, str]:
            time.sleep(chance.uniform(0, 0.01))
            plan.reached("before the effect")
            this.append("effects", call.call_id)
            plan.reached("after the effect")
            time.sleep(chance.uniform(0, 0.01))
            return {"paid": args.key}

        def reconcile(call: Any) -> Any:
            plan.reached("while it asks what happened")
            if not this.reconciles:
                return api.Unknown()
            return api.Done({"paid": call.call_id}) if this.effects()[call.call_id] else api.NotDone()

        dispatcher = self._dispatcher(
            SimpleNamespace(look_up=short, set_flag=short, pay=pay, pay_later=pay_later),
            journal=journal,
            hooks=api.Hooks(reconcile=reconcile),
            concurrency=4,
        )
        answered = {call_id for call_id, *_ in this.lines("answers")}
        calls = [
            api.Call(tool, {"key": call_id}, call_id=call_id, turn_id="turn", session_id=f"round {this.number}")
            for tool, call_id in this.calls
            if again or call_id not in answered
        ]
        chance.shuffle(calls)
        while calls:
            results = await dispatcher.execute_all(calls)
            calls = [result.call for result in results if result.error and result.error.code == "in_progress"]
            for result in results:
                if result.call not in calls:
                    plan.reached("before it is sent")
                    this.append("answers", result.call_id, result.output, result.error and result.error.code)
                    plan.reached("after it was sent")
                    await dispatcher.submitted([result])
                    plan.reached("after that was noted")
        dispatcher.close()
        journal.inner.close()


class Watched:
    """A journal that says where it is."""

    def __init__(self, inner: Any, plan: Plan) -> None:
        self.inner, self._plan = inner, plan
        self.release, self.submitted = inner.release, inner.submitted
        carry_out = getattr(inner, "_carry_out", None)
        if carry_out is not None:

            def watched(operations: list[Any]) -> list[Any]:
                plan.reached("before a commit")
                outcomes: list[Any] = carry_out(operations)
                plan.reached("after a commit")
                return outcomes

            inner._carry_out = watched

    async def begin(self, intent: Any) -> Any:
        self._plan.reached("before the intent")
        begun = await self.inner.begin(intent)
        self._plan.reached("after the intent")
        return begun

    async def finish(self, claim: Any, record: str, how: Any) -> Any:
        self._plan.reached("before the result")
        accepted = await self.inner.finish(claim, record, how)
        self._plan.reached("after the result")
        return accepted


def _judge(this: Round, tally: Tally) -> None:
    effects = this.effects()
    answers: dict[str, list[list[Any]]] = {}
    for call_id, *answer in this.lines("answers"):
        answers.setdefault(call_id, []).append(answer)
    for tool, call_id in this.calls:
        tally.calls += 1
        given = answers.get(call_id, [])
        if not given:
            tally.unanswered += 1
            continue
        output, code = given[0]
        unknown = code == "outcome_unknown"
        is_write = TOOLS[tool] == "write"
        done = code is None and call_id in output
        tally.unknown += unknown
        tally.duplicate += effects[call_id] > 1
        tally.lost += any(answer != given[0] for answer in given)
        tally.lost += not (done or (unknown and is_write and not this.reconciles))
        tally.lost += done and is_write and effects[call_id] == 0
        tally.missing += this.reconciles and is_write and (unknown or effects[call_id] == 0)
