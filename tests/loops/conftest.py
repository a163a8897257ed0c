"""The ways to run a turn, for every loop whose tests have a `runner`: it runs a turn in the way that it is told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pytest

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
