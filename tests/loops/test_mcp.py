"""The MCP server, with the official client: in memory, over stdio and over streamable HTTP, at every revision."""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, Protocol, Self

import httpx
import mcp
import pytest
import uvicorn
from mcp.client.stdio import StdioServerParameters
from mcp.server.stdio import stdio_server
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, KNOWN_PROTOCOL_VERSIONS, LATEST_MODERN_VERSION

from tests.conftest import ROOT, build_folder

NAME = "mcp_package"


def _tool(name: str, properties: dict[str, Any], returns: Any = None, **fields: Any) -> dict[str, Any]:
    parameters = {
        "type": "object",
        "properties": properties,
        "required": [key for key in properties if key != "note"],
        "additionalProperties": False,
    }
    spec = {"name": name, "description": f"The tool {name}.", "parameters": parameters}
    return spec | ({} if returns is None else {"returns": returns}) | fields


WEATHER = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "degrees": {"type": ["integer", "null"]}},
    "required": ["city", "degrees"],
}
SPECS = [
    _tool(
        "get_weather",
        {"city": {"type": "string", "minLength": 2}},
        WEATHER,
        title="Weather",
        **{"x-toolgen": {"effect": "read"}},
    ),
    _tool("book", {"people": {"type": "integer"}, "note": {"type": "string"}}),
    _tool("draw_map", {}),
    _tool("count", {}, {"type": "integer"}),
    _tool("spell", {"number": {"type": "integer"}}, {"type": "string"}),
    _tool("look_for", {}, {"type": ["object", "null"]}),
    _tool("write_essay", {"characters": {"type": "integer"}}),
    _tool("fail", {}),
    _tool("give_object", {}, {"type": "object"}),
    _tool("give_content", {}, {"type": "object"}),
    _tool("hang", {}),
    _tool("process_id", {}),
    _tool("dotted", {}, **{"x-toolgen": {"targets": {"mcp": {"name": "town.dotted"}}}}),
]
NAMES = sorted(spec["name"] for spec in SPECS)
EXPOSED = sorted("town.dotted" if name == "dotted" else name for name in NAMES)

HANDLERS = {
    "get_weather": """
        degrees = None if args.city == "Atlantis" else len(args.city)
        return {"city": args.city, "degrees": degrees}
    """,
    "book": """
        if args.people > 8:
            raise ToolError("There are tables for eight at most.")
        return f"booked for {args.people}"
    """,
    "draw_map": """
        return Content(["A map:", Image.from_bytes(b"png", "image/png"), Image("https://example.com/map.png")])
    """,
    "count": "return 3",
    "spell": "return str(args.number)",
    "look_for": "return None",
    "write_essay": 'return "é" * args.characters',
    "fail": 'raise OSError("the password is 1234")',
    "give_object": "return {1.5: object()}",
    "give_content": 'return Content(["no object"])',
    "hang": """
        print("hanging", flush=True)
        threading.Event().wait()
    """,
    "process_id": "return os.getpid()",
    "dotted": 'return "dotted"',
}
HEADER = """
import os
import threading
from typing import Any

from {package}.runtime import Content, Image, ToolError


def {name}(args: Any, call: Any) -> Any:
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the package, with handlers that a child process can run too."""
    root = tmp_path_factory.mktemp("mcp")
    (root / "specs").mkdir()
    (root / "specs" / "town.json").write_text(json.dumps(SPECS), encoding="utf-8")
    build_folder([root / "specs"], root / NAME, targets=["mcp"])
    for name, body in HANDLERS.items():
        lines = (line.strip() if "\n" not in body else line[4:] for line in body.strip("\n").splitlines())
        text = HEADER.format(package=NAME, name=name) + "\n".join(f"    {line}" for line in lines) + "\n"
        (root / NAME / "handlers" / f"{name}.py").write_text(text, encoding="utf-8")
    return root


@pytest.fixture(scope="module")
def package(root: Path) -> Iterator[ModuleType]:
    sys.path.insert(0, str(root))
    yield importlib.import_module(NAME)
    sys.path.remove(str(root))
    for loaded in [loaded for loaded in sys.modules if loaded.split(".")[0] == NAME]:
        del sys.modules[loaded]


@pytest.fixture(scope="module")
def runtime(package: ModuleType) -> ModuleType:
    return importlib.import_module(f"{NAME}.runtime")


@pytest.fixture(scope="module")
def serving(package: ModuleType) -> Any:
    return importlib.import_module(f"{NAME}.runtime.loops.mcp")


@pytest.fixture
def dispatcher(package: ModuleType) -> Iterator[Any]:
    made = package.dispatcher()
    yield made
    made.close()


@asynccontextmanager
async def listening(app: Any) -> AsyncIterator[str]:
    """Serves an ASGI application on a free port while the block runs; gives the URL of the endpoint."""
    with socket.create_server(("127.0.0.1", 0)) as listener:  # it takes connections before the server has started
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, timeout_graceful_shutdown=5))
        running = asyncio.create_task(server.serve([listener]))
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
        finally:
            server.should_exit = True
            await running


class Connect(Protocol):
    def __call__(self, dispatcher: Any, **options: Any) -> AbstractAsyncContextManager[mcp.Client]: ...


IN_PROCESS = {
    "memory, handshake": {"mode": "legacy"},
    "memory": {"mode": "auto"},
    "HTTP, handshake": {"mode": "legacy", "http": {}},
    "HTTP, handshake, stateless": {"mode": "legacy", "http": {"stateless": True}},
    "HTTP": {"mode": "auto", "http": {}},
    "HTTP, plain JSON": {"mode": "auto", "http": {"http": {"json_response": True}}},
}


@pytest.fixture(params=list(IN_PROCESS.values()), ids=list(IN_PROCESS))
def connect(request: pytest.FixtureRequest, serving: Any) -> Connect:
    """Connects the official client to a server for a dispatcher, in each of the ways within one process."""
    mode, http = request.param["mode"], request.param.get("http")

    @asynccontextmanager
    async def connected(dispatcher: Any, **options: Any) -> AsyncIterator[mcp.Client]:
        if http is None:
            async with mcp.Client(serving.server(dispatcher, name="town", **options), mode=mode) as client:
                yield client
        else:
            app = serving.http_app(dispatcher, name="town", **http, **options)
            async with listening(app) as url, mcp.Client(url, mode=mode) as client:
                yield client

    return connected


def command(root: Path, module: str = f"{NAME}.runtime.loops.mcp") -> StdioServerParameters:
    """The package's own server in a child process, or another program."""
    return StdioServerParameters(command=sys.executable, args=["-m", module], cwd=root)


def texts(result: Any) -> list[str]:
    return [part.text for part in result.content]


def meta(**values: str) -> Any:
    return {f"example.com/{name}": value for name, value in values.items()}


async def refused(client: mcp.Client, name: str, arguments: dict[str, Any] | None = None) -> mcp.MCPError:
    with pytest.raises(mcp.MCPError) as caught:
        await client.call_tool(name, arguments or {})
    return caught.value


async def converse(client: mcp.Client) -> None:
    """Everything that may come of a call, all at once; the official client holds each output against its schema."""
    listed = await client.list_tools()
    assert sorted(tool.name for tool in listed.tools) == EXPOSED
    assert client.server_capabilities.tools is not None
    assert not client.server_capabilities.tools.list_changed

    results: list[Any] = await asyncio.gather(
        client.call_tool("get_weather", {"city": "Madrid"}),
        client.call_tool("get_weather", {"city": "Lima"}),
        client.call_tool("get_weather", {"city": "Atlantis"}),
        client.call_tool("book", {"people": 2}),
        client.call_tool("book", {"people": 9}),
        client.call_tool("book", {"people": "2"}),
        refused(client, "get_wether"),
        client.call_tool("give_object", {}),
        client.call_tool("fail"),
        client.call_tool("write_essay", {"characters": 300_000}),
    )
    madrid, lima, atlantis, booked, too_many, wrong, unknown, unsound, failed, long = results
    assert [one.structured_content for one in (madrid, lima, atlantis)] == [
        {"city": "Madrid", "degrees": 6},
        {"city": "Lima", "degrees": 4},
        {"city": "Atlantis", "degrees": None},
    ]
    assert texts(madrid) == ['{"city":"Madrid","degrees":6}']
    assert (texts(booked), booked.structured_content, booked.is_error) == (["booked for 2"], None, False)
    assert (texts(too_many), too_many.is_error) == (["There are tables for eight at most."], True)
    assert wrong.is_error and "/people" in texts(wrong)[0]
    assert unknown.code == -32602 and "get_weather" in unknown.message
    assert unsound.is_error and "cannot be sent" in texts(unsound)[0]
    assert failed.is_error and "1234" not in texts(failed)[0]
    assert texts(long) == ["é" * 300_000]

    assert texts(await client.call_tool("town.dotted")) == ["dotted"]
    drawn = (await client.call_tool("draw_map")).content
    assert [part.type for part in drawn] == ["text", "image", "resource_link"]


class TestConversation:
    async def test_in_one_process(self, connect: Connect, dispatcher: Any) -> None:
        async with connect(dispatcher) as client:
            await converse(client)

    @pytest.mark.parametrize("mode", ["legacy", "auto"])
    async def test_with_a_child_over_stdio(self, root: Path, mode: str) -> None:
        async with mcp.Client(command(root), mode=mode) as client:
            assert (client.protocol_version == LATEST_MODERN_VERSION) == (mode == "auto")
            await converse(client)
            assert texts(await client.call_tool("process_id")) != [str(os.getpid())]

    async def test_the_documented_program(self, root: Path) -> None:
        page = (ROOT / "docs" / "mcp.md").read_text(encoding="utf-8")
        program = page.split("```python\n# my_service/mcp_server.py\n")[1].split("```")[0]
        (root / "mcp_server.py").write_text(program.replace("from generated", f"from {NAME}"), encoding="utf-8")
        async with mcp.Client(command(root, "mcp_server"), mode="legacy") as client:
            assert client.instructions == "Look before you write."
            assert texts(await client.call_tool("count")) == ["3"]

    async def test_what_a_client_is_told_about_the_server(self, connect: Connect, dispatcher: Any) -> None:
        async with connect(dispatcher, version="1.2", instructions="Be brief.") as client:
            assert client.instructions == "Be brief."
            assert client.server_info is not None
            assert (client.server_info.name, client.server_info.version) == ("town", "1.2")

    async def test_output_that_is_no_object_is_structured_on_the_newest_revision(
        self, connect: Connect, dispatcher: Any
    ) -> None:
        async with connect(dispatcher) as client:
            newest = client.protocol_version == LATEST_MODERN_VERSION
            with_schema = {tool.name for tool in (await client.list_tools()).tools if tool.output_schema is not None}
            of_objects = {"get_weather", "give_object", "give_content"}
            assert with_schema == (of_objects | {"count", "spell"} if newest else of_objects)
            counted = await client.call_tool("count")
            spelt = await client.call_tool("spell", {"number": 5})
            nothing = await client.call_tool("look_for")
            assert [texts(one) for one in (counted, spelt, nothing)] == [["3"], ["5"], ["null"]]
            structured = [one.structured_content for one in (counted, spelt, nothing)]
            assert structured == ([3, "5", None] if newest else [None, None, None])

    async def test_content_in_place_of_the_promised_data_is_an_error(
        self, connect: Connect, dispatcher: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        async with connect(dispatcher) as client:
            result = await client.call_tool("give_content")
        assert result.is_error and "does not fit" in texts(result)[0]
        assert "give_content" in caplog.text

    async def test_a_part_of_the_tools(self, connect: Connect, dispatcher: Any) -> None:
        async with connect(dispatcher.only("get_*", "dotted")) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == ["town.dotted", "get_weather"]
            assert (await refused(client, "book", {"people": 2})).code == -32602
            assert not (await client.call_tool("get_weather", {"city": "Lima"})).is_error


class TestList:
    async def test_pages(self, connect: Connect, dispatcher: Any) -> None:
        async with connect(dispatcher, page_size=5) as client:
            pages = [await client.list_tools()]
            while (cursor := pages[-1].next_cursor) is not None:
                pages.append(await client.list_tools(cursor=cursor))
            assert [len(page.tools) for page in pages] == [5, 5, 3]
            assert sorted(tool.name for page in pages for tool in page.tools) == EXPOSED

    async def test_one_full_page_has_no_cursor(self, connect: Connect, dispatcher: Any) -> None:
        async with connect(dispatcher, page_size=len(NAMES)) as client:
            assert (await client.list_tools()).next_cursor is None

    async def test_an_unknown_cursor_is_refused(self, connect: Connect, dispatcher: Any) -> None:
        async with connect(dispatcher) as client:
            with pytest.raises(mcp.MCPError) as caught:
                await client.list_tools(cursor="zzz")
            assert caught.value.code == -32602

    async def test_the_effect_shows_as_hints(self, connect: Connect, dispatcher: Any) -> None:
        async with connect(dispatcher) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            hints = [tools[name].annotations for name in ("get_weather", "book")]
            assert [hint is not None and hint.read_only_hint for hint in hints] == [True, False]
            assert tools["get_weather"].title == "Weather"
            assert tools["get_weather"].input_schema["properties"] == {"city": {"type": "string", "minLength": 2}}


class Waiting:
    """Handlers that run as long as a test wants."""

    def __init__(self) -> None:
        self.started = asyncio.Event()
        self.go_on = asyncio.Event()
        self.cancelled = asyncio.Event()
        self.asked: list[Any] = []

    async def hang(self, args: Any, call: Any) -> str:
        self.asked.append(call)
        self.started.set()
        try:
            await self.go_on.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return "done"

    def get_weather(self, args: Any, call: Any) -> Any:
        self.asked.append(call)
        return {"city": args.city, "degrees": len(self.asked)}


@pytest.fixture
def waiting() -> Waiting:
    return Waiting()


@pytest.fixture
def slow(package: ModuleType, waiting: Waiting) -> Iterator[Any]:
    made = package.dispatcher(waiting)
    yield made
    made.close()


class TestAtOnce:
    async def test_a_slow_call_holds_up_no_other(self, connect: Connect, slow: Any, waiting: Waiting) -> None:
        async with connect(slow) as client:
            pending = asyncio.create_task(client.call_tool("hang"))
            await waiting.started.wait()
            assert not (await client.call_tool("get_weather", {"city": "Lima"})).is_error
            assert not pending.done()
            waiting.go_on.set()
            assert texts(await pending) == ["done"]

    async def test_a_cancelled_call_ends_its_handler(
        self, connect: Connect, slow: Any, waiting: Waiting, request: pytest.FixtureRequest
    ) -> None:
        async with connect(slow) as client:
            pending = asyncio.create_task(client.call_tool("hang"))
            await waiting.started.wait()
            pending.cancel()
            with pytest.raises(asyncio.CancelledError):
                await pending
            if any(words in request.node.name for words in ("plain JSON", "stateless")):
                waiting.go_on.set()  # there the SDK's server cannot tell which call a client has given up
            else:
                await waiting.cancelled.wait()
            assert not (await client.call_tool("get_weather", {"city": "Lima"})).is_error

    async def test_a_handler_in_a_thread_is_left_behind(self, connect: Connect, package: ModuleType) -> None:
        loop, started, ended = asyncio.get_running_loop(), asyncio.Event(), asyncio.Event()
        go_on = threading.Event()

        def hang(args: Any, call: Any) -> str:
            loop.call_soon_threadsafe(started.set)
            go_on.wait()
            loop.call_soon_threadsafe(ended.set)
            return "late"

        d = package.dispatcher(SimpleNamespace(hang=hang, count=lambda args, call: 3))
        async with connect(d) as client:
            pending = asyncio.create_task(client.call_tool("hang"))
            await started.wait()
            pending.cancel()
            with pytest.raises(asyncio.CancelledError):
                await pending
            assert texts(await client.call_tool("count")) == ["3"]
            go_on.set()
            await ended.wait()
        d.close()


class TestContext:
    async def test_it_is_made_for_each_request(self, connect: Connect, slow: Any, waiting: Waiting) -> None:
        async def who(request: Any) -> Any:
            return request.meta["example.com/user"]

        async with connect(slow, context=who) as client:
            for user in ("ada", "bob"):
                await client.call_tool("get_weather", {"city": "Lima"}, meta=meta(user=user))
        assert [(call.context, call.target) for call in waiting.asked] == [("ada", "mcp"), ("bob", "mcp")]
        assert len({call.call_id for call in waiting.asked}) == 2

    async def test_it_may_refuse_a_request(self, connect: Connect, slow: Any, waiting: Waiting) -> None:
        def who(request: Any) -> Any:
            raise mcp.MCPError(-32001, "Sign in first.")

        async with connect(slow, context=who) as client:
            error = await refused(client, "get_weather", {"city": "Lima"})
            assert (error.code, error.message, waiting.asked) == (-32001, "Sign in first.", [])

    async def test_what_else_it_raises_stays_here(
        self, connect: Connect, slow: Any, waiting: Waiting, caplog: pytest.LogCaptureFixture
    ) -> None:
        def who(request: Any) -> Any:
            raise KeyError("secret")

        async with connect(slow, context=who) as client:
            error = await refused(client, "get_weather", {"city": "Lima"})
            assert (error.code, "secret" in error.message, waiting.asked) == (-32603, False, [])
        assert "secret" in caplog.text

    async def test_a_call_knows_the_session_of_http(self, serving: Any, slow: Any, waiting: Waiting) -> None:
        async with listening(serving.http_app(slow, name="town")) as url:
            for _ in range(2):
                async with mcp.Client(url, mode="legacy") as client:
                    await client.call_tool("get_weather", {"city": "Lima"})
        assert len({call.session_id for call in waiting.asked if call.session_id}) == 2


class TestJournal:
    async def test_a_call_that_is_sent_again_runs_once(
        self, connect: Connect, slow: Any, waiting: Waiting, package: ModuleType
    ) -> None:
        memory = importlib.import_module(f"{NAME}.runtime.journal.memory")
        d = slow.with_journal(memory.MemoryJournal())

        def key(request: Any) -> tuple[str, str] | None:
            given = (request.meta or {}).get("example.com/key")
            return ("ada", given) if given else None

        async with connect(d, key=key) as client:

            async def ask(key: str | None) -> Any:
                given = meta(key=key) if key else None
                return (await client.call_tool("get_weather", {"city": "Lima"}, meta=given)).structured_content

            degrees = [(await ask(key))["degrees"] for key in ("a", "a", "b", None, None)]
        assert degrees == [1, 1, 2, 3, 4]

    def test_it_needs_a_key(self, serving: Any, slow: Any) -> None:
        memory = importlib.import_module(f"{NAME}.runtime.journal.memory")
        with pytest.raises(ValueError, match="key"):
            serving.server(slow.with_journal(memory.MemoryJournal()), name="town")


def test_a_page_holds_a_tool_at_least(serving: Any, slow: Any) -> None:
    with pytest.raises(ValueError, match="page_size"):
        serving.server(slow, name="town", page_size=0)


async def test_other_hosts_are_served_when_they_are_named(serving: Any, dispatcher: Any) -> None:
    headers = {"accept": "application/json, text/event-stream", "host": "tools.example.com"}
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello("2025-11-25")}
    for host, status in (("127.0.0.1", 421), ("0.0.0.0", 200)):
        app = serving.http_app(dispatcher, name="town", http={"json_response": True, "host": host})
        async with listening(app) as url, httpx.AsyncClient(headers=headers) as client:
            assert (await client.post(url, json=body)).status_code == status


# The wire itself: lines of JSON at each revision.


def message(id_: int | None, method: str, params: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, **({} if id_ is None else {"id": id_}), "params": params}


def hello(revision: str) -> dict[str, Any]:
    return {"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}


class Lines:
    """Both ends of a connection that carries lines of JSON: `stdin` and `stdout` of a server, and a client's part."""

    def __init__(self) -> None:
        self._asked: asyncio.Queue[str | None] = asyncio.Queue()
        self._answered: asyncio.Queue[str] = asyncio.Queue()
        self._envelope: dict[str, Any] = {}

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        line = await self._asked.get()
        if line is None:
            raise StopAsyncIteration
        return line

    async def write(self, line: str) -> None:
        self._answered.put_nowait(line)

    async def flush(self) -> None:
        pass

    def close(self) -> None:
        self._asked.put_nowait(None)

    async def ask(self, id_: int, method: str, **params: Any) -> dict[str, Any]:
        self._asked.put_nowait(json.dumps(message(id_, method, params | self._envelope)))
        answer: dict[str, Any] = json.loads(await self._answered.get())
        assert answer["id"] == id_
        return answer

    async def begin(self, revision: str) -> None:
        if revision in HANDSHAKE_PROTOCOL_VERSIONS:
            begun = await self.ask(0, "initialize", **hello(revision))
            assert begun["result"]["protocolVersion"] == revision
            assert begun["result"]["capabilities"]["tools"] == {"listChanged": False}
            self._asked.put_nowait(json.dumps(message(None, "notifications/initialized", {})))
        else:
            about = {"protocolVersion": revision, "clientCapabilities": {}}
            self._envelope = {"_meta": {f"io.modelcontextprotocol/{key}": value for key, value in about.items()}}


@pytest.fixture
async def lines(serving: Any, dispatcher: Any) -> AsyncIterator[Lines]:
    made: Any = Lines()
    server = serving.server(dispatcher, name="town")

    async def serve() -> None:
        async with stdio_server(made, made) as streams:
            await server.run(*streams, server.create_initialization_options())

    running = asyncio.create_task(serve())
    yield made
    made.close()
    await running


_FIRST = {"name", "description", "inputSchema"}
_STRUCTURED = _FIRST | {"annotations", "title", "outputSchema"}
FIELDS = {
    "2024-11-05": _FIRST,
    "2025-03-26": _FIRST | {"annotations"},
    "2025-06-18": _STRUCTURED,
    "2025-11-25": _STRUCTURED,
    "2026-07-28": _STRUCTURED,
}


@pytest.mark.parametrize("revision", KNOWN_PROTOCOL_VERSIONS)
async def test_each_revision_sees_what_it_knows(lines: Lines, revision: str) -> None:
    await lines.begin(revision)
    listed = (await lines.ask(1, "tools/list"))["result"]
    weather = next(tool for tool in listed["tools"] if tool["name"] == "get_weather")
    assert set(weather) == FIELDS[revision]
    newest = revision == LATEST_MODERN_VERSION
    assert ("resultType" in listed, "ttlMs" in listed) == (newest, newest)

    result = (await lines.ask(2, "tools/call", name="get_weather", arguments={"city": "Lima"}))["result"]
    text = [{"type": "text", "text": '{"city":"Lima","degrees":4}'}]
    assert (result["content"], result["isError"]) == (text, False)
    structured = {"city": "Lima", "degrees": 4} if "outputSchema" in FIELDS[revision] else None
    assert result.get("structuredContent") == structured

    for arguments in ({"city": ""}, {"city": 5}, {}, {"town": "Lima"}, {"city": float("nan")}, None):
        given = {} if arguments is None else {"arguments": arguments}
        result = (await lines.ask(3, "tools/call", name="get_weather", **given))["result"]
        assert result["isError"] is True and "nvalid" in result["content"][0]["text"]
    assert (await lines.ask(4, "tools/call", name="nothing"))["error"]["code"] == -32602
    assert (await lines.ask(4, "tools/call", name="get_weather", arguments="Lima"))["error"]["code"] == -32602
    drawn = (await lines.ask(5, "tools/call", name="draw_map", arguments={}))["result"]["content"]
    assert drawn[1] == {"type": "image", "data": "cG5n", "mimeType": "image/png"}
    assert drawn[2]["type"] == ("resource_link" if revision >= "2025-06-18" else "text")


# A child process, and its end.


@pytest.fixture
def child(root: Path) -> Iterator[subprocess.Popen[str]]:
    """The package's server, in the middle of a call that never ends. What its handlers print is on stderr."""
    arguments = [sys.executable, "-m", f"{NAME}.runtime.loops.mcp"]
    pipe = subprocess.PIPE
    with subprocess.Popen(arguments, cwd=root, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdin is not None and process.stderr is not None
        begun = message(1, "initialize", hello("2025-11-25")), message(None, "notifications/initialized", {})
        for one in (*begun, message(2, "tools/call", {"name": "hang"})):
            process.stdin.write(json.dumps(one) + "\n")
        process.stdin.flush()
        assert process.stderr.readline() == "hanging\n"
        yield process
        process.kill()


def test_a_server_ends_with_its_client_also_in_the_middle_of_a_call(child: subprocess.Popen[str]) -> None:
    assert child.stdin is not None
    child.stdin.close()
    assert child.wait(60) == 0


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
def test_a_server_that_is_stopped_in_the_middle_of_a_call_is_gone(
    child: subprocess.Popen[str], sent: signal.Signals
) -> None:
    child.send_signal(sent)
    assert child.wait(60) == -sent


async def test_a_client_whose_server_dies_is_told(root: Path) -> None:
    async with mcp.Client(command(root), mode="legacy") as client:
        number = int(texts(await client.call_tool("process_id"))[0])
        pending = asyncio.create_task(client.call_tool("hang"))
        await client.call_tool("count")
        os.kill(number, signal.SIGKILL)
        with pytest.raises(mcp.MCPError):
            await pending


def test_handlers_that_are_missing_are_told_at_the_start(root: Path) -> None:
    handler = root / NAME / "handlers" / "dotted.py"
    kept = handler.read_text(encoding="utf-8")
    handler.write_text("", encoding="utf-8")
    try:
        run = subprocess.run(
            [sys.executable, "-m", f"{NAME}.runtime.loops.mcp"], cwd=root, input="", capture_output=True, text=True
        )
    finally:
        handler.write_text(kept, encoding="utf-8")
    assert run.returncode == 1 and "there is no function" in run.stderr
