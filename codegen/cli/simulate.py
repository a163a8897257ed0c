"""`toolgen simulate`: runs the simulator until it is interrupted."""

from __future__ import annotations

import contextlib
import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import click

from codegen.simulator import ScenarioError, Simulator, SimulatorUnavailable, scenario_schema


@click.command()
@click.argument("scenarios", nargs=-1, type=click.Path(path_type=Path, dir_okay=False))
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=8765, show_default=True, help="Port to listen on; 0 takes any free one.")
@click.option("--schema", is_flag=True, help="Print the JSON Schema of scenario files and exit.")
def simulate(scenarios: tuple[Path, ...], host: str, port: int, schema: bool) -> None:
    """Run a local server that speaks the APIs of OpenAI (Agents, Responses), OCI (Agents, inference) and Bedrock.

    SCENARIOS are YAML or JSON files that say what the simulated model does. On Ctrl+C or SIGTERM the report is printed;
    the exit code is 1 when something was not as the scenarios expect it, and 2 when the server could not run.
    """
    if schema:
        click.echo(json.dumps(scenario_schema(), indent=2))
        return
    try:
        simulator = Simulator(scenarios, host=host, port=port)
        with simulator, _interruptible(), contextlib.suppress(KeyboardInterrupt):
            click.echo(f"OpenAI base URL:  {simulator.openai_base_url}")
            click.echo(f"OCI endpoint:     {simulator.oci_endpoint}")
            click.echo(f"Bedrock endpoint: {simulator.bedrock_endpoint}")
            click.echo(f"Forecast service: {simulator.weather_url}")
            click.echo(f"Report:           {simulator.base_url}/_simulator/report")
            simulator.wait()
    except (ScenarioError, SimulatorUnavailable) as error:
        click.echo(str(error), err=True)
        raise SystemExit(2) from error
    problems = simulator.report().problems()
    for problem in problems:
        click.echo(problem, err=True)
    raise SystemExit(1 if problems else 0)


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """SIGTERM ends the block like Ctrl+C, and so does SIGINT, which a shell ignores in background jobs."""

    def interrupt(number: int, frame: object) -> NoReturn:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
