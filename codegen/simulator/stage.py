"""What the APIs of one server share: its scenarios, its counters, and the record of what happened."""

from __future__ import annotations

from dataclasses import dataclass, field

from codegen.simulator.faults import HttpFault, Tally, of_kind
from codegen.simulator.play import Counters, Mismatch, Play
from codegen.simulator.record import Ledger
from codegen.simulator.scenario import Scenario
from codegen.simulator.wire import Api, Refusal, Surface


@dataclass(slots=True)
class Stage:
    """The state of one server."""

    scenarios: dict[str, Scenario] = field(default_factory=dict)
    ledger: Ledger = field(default_factory=Ledger)
    counters: Counters = field(default_factory=Counters)
    _tallies: dict[tuple[str, Api], Tally] = field(default_factory=dict)

    def find(self, selector: str) -> Scenario | None:
        """The scenario that a model name or an OCID selects.

        That is the scenario of that name (with or without `scenario:` before it), the one that lists it under
        `models`, the one named at the end of an OCID; and any selector selects the only scenario of a server.
        """
        if len(self.scenarios) == 1:
            return next(iter(self.scenarios.values()))
        names = [selector.removeprefix("scenario:")]
        if selector.startswith("ocid1."):
            names.append(selector.rsplit(".", 1)[-1])
        for name in names:
            if name in self.scenarios:
                return self.scenarios[name]
        return next((s for s in self.scenarios.values() if selector in s.models), None)

    def tally(self, scenario: Scenario, api: Api) -> Tally:
        """Counts faults over all plays of a scenario on one API, until one of them is finished."""
        return self._tallies.setdefault((scenario.name, api), Tally())

    def play(self, scenario: Scenario, api: Api) -> Play:
        """A new play of a scenario."""
        return Play(scenario, api, self.ledger, self.tally(scenario, api))

    def request_fault(self, surface: Surface, scenario: Scenario, operation: str) -> None:
        """Raises the `Refusal` that the scenario has for requests of an operation, if it still has one."""
        faults = [f for f in scenario.faults if f.on == operation]
        fault = self.tally(scenario, surface.api).first(HttpFault, faults, surface.api)
        if fault is not None:
            raise fault_refusal(surface, fault)


def step_fault(surface: Surface, play: Play, turn: int, step: int) -> None:
    """Raises the `Refusal` that a step has for the requests that lead to it, if it still has one."""
    if turn >= len(play.scenario.turns) or step >= len(play.scenario.turns[turn].model):
        return
    faults = of_kind(HttpFault, play.scenario.turns[turn].model[step].faults, surface.api)
    for fault in faults:
        if play.tally.take(fault):
            raise fault_refusal(surface, fault)


def fault_refusal(surface: Surface, fault: HttpFault) -> Refusal:
    """The error that a fault asks for."""
    limited = fault.status == 429
    code = "rate_limit_exceeded" if limited else "server_error"
    message = "Rate limit reached." if limited else "The server had an error while processing the request."
    refusal = surface.refusal(fault.status, code, message)
    refusal.fault = True
    if fault.retry_after is not None:
        refusal.headers["retry-after"] = f"{fault.retry_after:g}"
    return refusal


def mismatch_refusal(surface: Surface, play: Play, mismatch: Mismatch) -> Refusal:
    """Notes a mismatch and gives the error to answer with."""
    play.fail(mismatch.message)
    return surface.refusal(400, "scenario_expectation_failed", f"{play.place}: {mismatch.message}")
