"""One server for each test module; every test adds a scenario of its own to it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
import pytest_asyncio
from openai import AsyncOpenAI, OpenAI

from codegen.simulator import Simulator, SimulatorReport
from tests.simulator.clients import OciClients, async_openai_client, oci_clients, openai_client


@pytest.fixture(scope="module")
def simulator() -> Iterator[Simulator]:
    # Two scenarios keep the server from taking any name for the only one, whichever test comes first.
    others = [{"name": name, "turns": [{"model": [{"say": "hello"}]}]} for name in ("other", "another")]
    with Simulator(others) as simulator:
        yield simulator


@pytest.fixture
def add(simulator: Simulator, request: pytest.FixtureRequest) -> Callable[..., str]:
    """Adds a scenario under the name of the test: `add(turn, turn, tools="any")`, or steps for a single turn."""

    def add(*turns: Any, **fields: Any) -> str:
        name = "".join(c if c.isalnum() or c in "_-" else "-" for c in request.node.name)
        listed = [turn if "model" in turn else None for turn in turns]
        script = [{"model": list(turns)}] if None in listed else list(turns)
        simulator.add({"name": name, "turns": script, **fields})
        return name

    return add


@pytest.fixture
def report(simulator: Simulator) -> Callable[[str], SimulatorReport]:
    return lambda name: simulator.report().of(name)


@pytest.fixture(scope="module")
def openai(simulator: Simulator) -> Iterator[OpenAI]:
    with openai_client(simulator) as client:
        yield client


@pytest_asyncio.fixture
async def async_openai(simulator: Simulator) -> AsyncIterator[AsyncOpenAI]:
    async with async_openai_client(simulator) as client:
        yield client


@pytest.fixture(scope="module")
def oci(simulator: Simulator) -> OciClients:
    return oci_clients(simulator)
