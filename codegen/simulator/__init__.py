"""A local server that speaks the APIs of OpenAI (Agents sessions, Responses), OCI Generative AI (Agents, inference) and
Amazon Bedrock (Converse).

What the simulated model does, and what it expects back, is a `Scenario`. `Simulator` runs the server; its `report`
says whether everything expected was seen. See `docs/simulator.md`.
"""

from __future__ import annotations

from codegen.simulator.record import Exchange, Failure, Run, SimulatorReport
from codegen.simulator.scenario import Scenario, ScenarioError, load_scenarios, scenario_schema
from codegen.simulator.server import Simulator, SimulatorUnavailable

__all__ = [
    "Exchange",
    "Failure",
    "Run",
    "Scenario",
    "ScenarioError",
    "Simulator",
    "SimulatorReport",
    "SimulatorUnavailable",
    "load_scenarios",
    "scenario_schema",
]
