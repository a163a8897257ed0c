"""An MCP server for the tools of a dispatcher, over stdio and streamable HTTP.

The protocol is spoken by the official SDK (`pip install mcp`), whose low-level server checks nothing of a call: that is
the gate's part. Every revision that the SDK negotiates is served, each with what it knows.

`python -m PACKAGE.runtime.loops.mcp` serves the package's own handlers over stdio.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import inspect
import logging
import signal
import sys
import threading
import uuid
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Required, TypeAlias, TypedDict, Unpack

from ..adapters.mcp import TARGET, read_call, tools_at, write_result
from ..dispatcher import Dispatcher
from ..errors import HandlersMissing
from ..gate import Gate

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp.server.lowlevel import Server
    from mcp_types import (
        CallToolRequestParams,
        CallToolResult,
        ListToolsResult,
        PaginatedRequestParams,
    )
    from starlette.applications import Starlette

    Request: TypeAlias = ServerRequestContext[Any, Any]
    """What the SDK knows about a request: `request_id`, `session`, `meta`, and over HTTP the `request` itself."""

log = logging.getLogger(__name__)

PAGE_SIZE = 500
"""Tools of one page of the list. Some clients read the first page alone, so it is large."""

INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
"""JSON-RPC error codes."""


class Options(TypedDict, total=False):
    """What a server is made with."""

    name: Required[str]
    """What the server calls itself."""
    version: str
    """The version of your service."""
    instructions: str
    """How the tools are meant to be used; clients may show it to the model."""
    context: Callable[[Request], Any]
    """Makes of a request what the handlers see as `call.context` (user, tenant); may be async. An `MCPError` that it
    raises refuses the call."""
    key: Callable[[Request], tuple[str, str] | None]
    """For a dispatcher with a journal: what identifies the call of a request, as a session (whose calls they are, such
    as the user's id) and a key in it that is the same whenever the call is sent again; may be async. MCP has no such
    ids: those of JSON-RPC repeat with every connection. None stands for a call that is never sent again."""
    page_size: int
    """Tools of one page of the list."""


def server(dispatcher: Dispatcher, **options: Unpack[Options]) -> Server[Any]:
    """The SDK's own server, for a transport of your own, or for `mcp.Client(server)` in a test.

    Raises:
        ImportError: the SDK is not installed.
        LookupError: the package was built without the target `mcp`.
        ValueError: the dispatcher has a journal and there is no `key`, or `page_size` is below 1.
    """
    from mcp.server.lowlevel import Server

    serving = _Serving(dispatcher, options)
    return Server(
        options["name"],
        version=options.get("version", ""),
        instructions=options.get("instructions"),
        on_list_tools=serving.list_tools,
        on_call_tool=serving.call_tool,
        get_tool_input_schema=serving.input_schemas.get,
    )


async def serve_stdio(dispatcher: Dispatcher, **options: Unpack[Options]) -> None:
    """Serves one client over stdin and stdout until it closes them. Raises as `server`.

    While it runs, what handlers print goes to stderr.
    """
    made = server(dispatcher, **options)
    from mcp.server.stdio import stdio_server

    async with stdio_server() as (incoming, outgoing):
        # The SDK takes file descriptor 1 for itself meanwhile, but what Python buffers would get there after it.
        with contextlib.redirect_stdout(sys.stderr):
            await made.run(incoming, outgoing, made.create_initialization_options())


def serve_stdio_sync(dispatcher: Dispatcher, **options: Unpack[Options]) -> None:
    """`serve_stdio` for the main function of a program.

    Ctrl-C ends the program at once, as SIGTERM does: the SDK waits for stdin in a thread that nothing interrupts.
    """
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    asyncio.run(serve_stdio(dispatcher, **options))


def http_app(
    dispatcher: Dispatcher,
    *,
    path: str = "/mcp",
    stateless: bool = False,
    http: Mapping[str, Any] | None = None,
    **options: Unpack[Options],
) -> Starlette:
    """An ASGI application that serves MCP over streamable HTTP, for uvicorn and the like. Raises as `server`.

    Args:
        dispatcher: the tools.
        path: where it serves.
        stateless: keeps no sessions, so that any process may answer any request. Clients of revision 2026-07-28 have
            none anyway.
        http: further arguments of the SDK's `Server.streamable_http_app`, such as `auth`, `token_verifier`,
            `json_response` and `transport_security`. Requests whose `Host` is no local one are refused unless `host`
            or `transport_security` says otherwise.
        options: as for `server`.
    """
    return server(dispatcher, **options).streamable_http_app(
        streamable_http_path=path, stateless_http=stateless, **(http or {})
    )


class _Serving:
    """The two handlers of a server."""

    def __init__(self, dispatcher: Dispatcher, options: Options) -> None:
        self._dispatcher = dispatcher
        self._context = options.get("context")
        self._key = options.get("key")
        self._page_size = options.get("page_size", PAGE_SIZE)
        if dispatcher.journal is not None and self._key is None:
            raise ValueError(
                "with a journal, give key: MCP has no ids that identify a call"
            )
        if self._page_size < 1:
            raise ValueError("page_size must be at least 1")
        self._entries = dispatcher.payload(TARGET)
        self._tools: dict[str, list[dict[str, Any]]] = {}
        self._gates: dict[str, dict[str, Gate]] = {}
        self.input_schemas: dict[str, dict[str, Any]] = {
            entry["name"]: entry["inputSchema"] for entry in self._entries
        }

    async def list_tools(
        self, request: Request, params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        from mcp_types import ListToolsResult

        tools = self._tools_at(request.protocol_version)
        start = 0
        if params is not None and params.cursor is not None:
            names = [tool["name"] for tool in tools]
            if params.cursor not in names:
                raise _error(INVALID_PARAMS, "There is no such cursor.")
            start = names.index(params.cursor) + 1
        page = tools[start : start + self._page_size]
        more = start + self._page_size < len(tools)
        # The name of the last tool is a cursor that outlives a restart, and a change of other tools.
        return ListToolsResult.model_validate(
            {"tools": page, "nextCursor": page[-1]["name"] if more else None}
        )

    async def call_tool(
        self, request: Request, params: CallToolRequestParams
    ) -> CallToolResult:
        from mcp_types import CallToolResult

        call = read_call(
            params,
            call_id=str(request.request_id),
            session_id=_transport_session(request),
            context=await self._ask(self._context, request),
        )
        if self._dispatcher.journal is not None:
            known = await self._ask(self._key, request)
            call.session_id, call.call_id = known or (TARGET, uuid.uuid4().hex)
            call.turn_id = TARGET
        result = await self._dispatcher.execute(call)
        if result.error is not None and result.error.code == "unknown_tool":
            raise _error(INVALID_PARAMS, result.error.message)
        revision = request.protocol_version
        answer = write_result(
            result, output=self._gates_at(revision).get(call.name), revision=revision
        )
        return CallToolResult.model_validate(answer)

    def _tools_at(self, revision: str) -> list[dict[str, Any]]:
        if revision not in self._tools:
            self._tools[revision] = tools_at(self._entries, revision)
        return self._tools[revision]

    def _gates_at(self, revision: str) -> dict[str, Gate]:
        """The gates of the output schemas, by the names of the tools."""
        if revision not in self._gates:
            self._gates[revision] = {
                tool["name"]: Gate(tool["outputSchema"])
                for tool in self._tools_at(revision)
                if "outputSchema" in tool
            }
        return self._gates[revision]

    async def _ask(
        self, callback: Callable[[Request], Any] | None, request: Request
    ) -> Any:
        """The answer of a callback. What it raises goes to the log: the SDK would send its text to the client."""
        from mcp import MCPError

        if callback is None:
            return None
        try:
            answer = callback(request)
            return await answer if inspect.isawaitable(answer) else answer
        except MCPError:
            raise
        except Exception:
            log.exception("a callback failed for a request of MCP")
            raise _error(
                INTERNAL_ERROR, "The server failed for an internal reason."
            ) from None


def _error(code: int, message: str) -> Exception:
    from mcp import MCPError

    return MCPError(code, message)


def _transport_session(request: Request) -> str:
    """The session of streamable HTTP; the other transports have none."""
    headers = getattr(request.request, "headers", None)
    return "" if headers is None else str(headers.get("mcp-session-id", ""))


if __name__ == "__main__":
    package = str(__package__).rsplit(".", 2)[0]
    try:
        own = importlib.import_module(package).dispatcher()
        own.preload()
        importlib.import_module("mcp")
    except (HandlersMissing, ModuleNotFoundError) as problem:
        sys.exit(f"{package} cannot be served: {problem}")
    serve_stdio_sync(own, name=package)
