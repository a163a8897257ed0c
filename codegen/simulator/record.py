"""What happened: every request, every play of a scenario, and everything that was not as the scenario expects it."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from codegen.simulator.wire import Api


@dataclass(slots=True)
class Exchange:
    """One request and its answer. Credentials are not kept."""

    number: int
    api: str
    """One of the APIs, or "simulator" for the endpoints that belong to the simulator itself."""
    operation: str
    method: str
    path: str
    scenario: str | None
    request: Any
    """The parsed body; None where there was none."""
    status: int = 0
    """0 until the request has been answered."""
    response: Any = None
    events: list[str] = field(default_factory=list)
    """Names of the events that were sent on a stream."""
    outcome: str = ""
    """"fault" for an error that the scenario asked for, "refused" for one that the client caused, "lost" for a
    connection that was broken, else empty."""


@dataclass(slots=True)
class Run:
    """One play of a scenario."""

    number: int
    scenario: str
    api: Api
    reference: str
    """The session's id, or that of the first response."""
    finished: bool = False
    place: str = ""
    """How far it came, for instance "turn 1, step 2"."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Something that was not as a scenario expects it."""

    scenario: str
    api: Api
    run: int | None
    place: str
    message: str

    def __str__(self) -> str:
        return f"{self.scenario} on {self.api}, {self.place}: {self.message}"


@dataclass(frozen=True, slots=True)
class SimulatorReport:
    """What a simulator saw so far."""

    scenarios: tuple[str, ...]
    """The names of the scenarios that were to be played."""
    runs: tuple[Run, ...]
    failures: tuple[Failure, ...]
    exchanges: tuple[Exchange, ...]

    @property
    def unfinished(self) -> tuple[Run, ...]:
        """Plays that were begun and not played to the end."""
        return tuple(run for run in self.runs if not run.finished)

    @property
    def unplayed(self) -> tuple[str, ...]:
        """Scenarios that nobody began."""
        begun = {run.scenario for run in self.runs}
        return tuple(name for name in self.scenarios if name not in begun)

    @property
    def refused(self) -> tuple[Exchange, ...]:
        """Requests that broke a rule of the API. They are no failures: a client may recover from them."""
        return tuple(exchange for exchange in self.exchanges if exchange.outcome == "refused")

    @property
    def ok(self) -> bool:
        """Whether everything expected was seen: no failure, and every scenario was played to its end."""
        return not (self.failures or self.unfinished or self.unplayed)

    def of(self, scenario: str) -> SimulatorReport:
        """The part of the report that concerns one scenario."""
        return SimulatorReport(
            tuple(name for name in self.scenarios if name == scenario),
            tuple(run for run in self.runs if run.scenario == scenario),
            tuple(failure for failure in self.failures if failure.scenario == scenario),
            tuple(exchange for exchange in self.exchanges if exchange.scenario == scenario),
        )

    def problems(self) -> list[str]:
        """Why the report is not `ok`, one sentence each."""
        return [
            *(str(failure) for failure in self.failures),
            *(f"{run.scenario} on {run.api}: stopped at {run.place} ({run.reference})" for run in self.unfinished),
            *(f"{name}: was not played" for name in self.unplayed),
        ]

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON data."""
        return {
            "ok": self.ok,
            "problems": self.problems(),
            "scenarios": list(self.scenarios),
            "unplayed": list(self.unplayed),
            "runs": [asdict(run) for run in self.runs],
            "failures": [asdict(failure) for failure in self.failures],
            "refused": [exchange.number for exchange in self.refused],
            "requests": len(self.exchanges),
        }

    def transcript(self) -> list[dict[str, Any]]:
        """Every request and its answer as JSON data."""
        return [asdict(exchange) for exchange in self.exchanges]


@dataclass(slots=True)
class Ledger:
    """Where the state machines write down what happens."""

    runs: list[Run] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    exchanges: list[Exchange] = field(default_factory=list)

    def begin(self, scenario: str, api: Api, reference: str) -> Run:
        """A new play of a scenario."""
        run = Run(len(self.runs) + 1, scenario, api, reference)
        self.runs.append(run)
        return run

    def fail(self, scenario: str, api: Api, run: Run | None, place: str, message: str) -> None:
        """Notes that something was not as expected."""
        self.failures.append(Failure(scenario, api, run.number if run else None, place, message))

    def report(self, scenarios: Sequence[str]) -> SimulatorReport:
        """A copy of everything noted so far."""
        return SimulatorReport(
            tuple(scenarios),
            tuple(copy.copy(run) for run in self.runs),
            tuple(self.failures),
            tuple(copy.deepcopy(exchange) for exchange in self.exchanges),
        )
