"""The ways to run a turn, for every loop whose tests have a `runner`: it runs a turn in the way that it is told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pytest
from openai import AsyncOpenAI, DefaultAsyncHttpxClient, DefaultHttpxClient, OpenAI

WAYS = {
    "run_sync": ("sync", "run_sync"),
    "run with a sync client": ("sync", "run"),
    "run": ("async", "run"),
}
"""The kind of client and the function of the loop."""

Runner = Callable[..., Any]


def run_turn(loop: Any, way: str, dispatcher: Any, clients: Mapping[str, Callable[[], Any]], **given: Any) -> Any:
    """Runs a turn in one of the `WAYS`. `clients` make a client, one of them a `sync` and one an `async` one."""
    kind, function = WAYS[way]
    if function == "run_sync":
        with clients[kind]() as client:
            return loop.run_sync(dispatcher, client, **given)

    async def work() -> Any:
        if kind == "sync":
            with clients[kind]() as client:
                return await loop.run(dispatcher, client, **given)
        async with clients[kind]() as client:
            return await loop.run(dispatcher, client, **given)

    return asyncio.run(work())


@pytest.fixture(params=list(WAYS))
def converse(request: pytest.FixtureRequest, runner: Runner) -> Runner:
    """Runs a turn in each of the ways there are."""
    return partial(runner, request.param)


@pytest.fixture(params=[("run_sync", False), ("run", True)], ids=["whole", "stream"])
def way(request: pytest.FixtureRequest) -> tuple[str, bool]:
    """The two ways that have the least in common; whether the second streams."""
    found: tuple[str, bool] = request.param
    return found


@pytest.fixture
def stream(way: tuple[str, bool]) -> bool:
    return way[1]


@pytest.fixture
def talk(way: tuple[str, bool], runner: Runner) -> Runner:
    """Runs a turn, whole and synchronous or streamed and asynchronous."""
    return partial(runner, way[0], stream=way[1])


def openai_clients(url: str, retries: int = 0) -> dict[str, Callable[[], Any]]:
    """Both clients of OpenAI, for `run_turn`.

    The certificates that a client reads by default are of no use here, and take it a tenth of a second.
    """
    settings: Any = {"base_url": url, "api_key": "x", "max_retries": retries}
    return {
        "sync": lambda: OpenAI(**settings, http_client=DefaultHttpxClient(verify=False)),
        "async": lambda: AsyncOpenAI(**settings, http_client=DefaultAsyncHttpxClient(verify=False)),
    }
