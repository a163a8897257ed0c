"""The dispatcher: one result for each call, whatever happens.

`execute` goes through fixed steps: find the tool, read and check the arguments, ask for approval where the tool needs
it, claim the call in the journal where there is one, run the handler with a time bound, write the output as text. Each
step can end the call with an error that the model can act on; none can touch another call.
"""

from __future__ import annotations

import asyncio
import difflib
import fnmatch
import json
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextvars import Token
from typing import Any, Self, TypeVar, cast

from .bounds import CLEAN_UP, NotStarted, StillRunning, concerns_the_caller
from .calls import Call, CallError, Result
from .errors import HandlersMissing, InvalidArguments, UnknownTool, UnknownToolset
from .hooks import Hooks
from .journal import Journal
from .journal.memory import MemoryJournal
from .journalled import execute_once, key_of
from .loopthread import LoopThread
from .models import ModelRefused, ToolModel
from .runner import Runner, cancelled, failed, not_implemented, shutting_down
from .running import CURRENT, RunningCall, RunningCalls, Shutdown
from .threads import ThreadPool
from .tools import HandlerMissing, Package, Tool
from .tracing import Span, telemetry
from .values import is_array, is_object

log = logging.getLogger(__name__)

T = TypeVar("T")

REMEMBERED = 1024
"""Ended calls that a dispatcher without a journal remembers for loops that need one."""

DEFAULT_TIMEOUT = 60.0
"""Seconds that a handler may take where neither the spec nor the service says otherwise."""


class Dispatcher:
    """Executes calls of the tools of one package, or of a part of them."""

    def __init__(
        self,
        package: Package,
        handlers: object | None = None,
        *,
        journal: Journal | None = None,
        hooks: Hooks | None = None,
        concurrency: int = 16,
        threads: int = 16,
        timeout: float | None = DEFAULT_TIMEOUT,
    ) -> None:
        """
        Args:
            package: the dispatch table.
            handlers: an object with a method for each tool; without one, the functions in `handlers/` are used.
            journal: makes execution durable. Calls then need a session, a turn and a call id.
            hooks: callbacks around every call.
            concurrency: how many calls of one `execute_all` run at a time.
            threads: how many handlers that are plain functions run at a time.
            timeout: seconds a handler may take, where its spec sets no bound; None for no bound.
        """
        if concurrency < 1:
            raise ValueError("concurrency must be at least 1")
        self._package = package
        self._handlers = handlers
        self._journal = journal
        self._memory = MemoryJournal(REMEMBERED)
        self._hooks = hooks
        self._concurrency = concurrency
        self._pool = ThreadPool(threads)
        self._runner = Runner(hooks, self._pool, timeout, package.output_limits)
        self._tools: dict[str, Tool[ToolModel]] = {}
        self._loop_thread = LoopThread()
        self._running = RunningCalls()
        self._names: tuple[str, ...] = tuple(sorted(package.tools))
        self._allowed = frozenset(self._names)
        self._exposed: dict[str, dict[str, str]] = {}
        for name, entry in package.tools.items():
            for target, exposed in entry.exposed.items():
                self._exposed.setdefault(target, {})[exposed] = name

    # ---- the tools

    @property
    def names(self) -> list[str]:
        """Wire names, sorted."""
        return list(self._names)

    @property
    def package_name(self) -> str:
        """Import name of the package that the tools come from."""
        return self._package.name

    @property
    def journal(self) -> Journal | None:
        """The journal that execution goes through, if any."""
        return self._journal

    @property
    def busy_threads(self) -> int:
        """Plain-function handlers that run or wait, those past their time bound included."""
        return self._pool.busy

    def only(self, *patterns: str) -> Self:
        """A dispatcher of a part of the tools: exact wire names, or patterns such as `order_*`.

        Raises `UnknownTool` for a name or pattern that fits nothing.
        """
        chosen: set[str] = set()
        for pattern in patterns:
            fitting = (
                [pattern]
                if pattern in self._allowed
                else [
                    name for name in self._names if fnmatch.fnmatchcase(name, pattern)
                ]
            )
            if not fitting:
                raise UnknownTool(pattern, self._near(pattern))
            chosen.update(fitting)
        part = self._copy()
        part._names = tuple(sorted(chosen))
        part._allowed = frozenset(chosen)
        return part

    @property
    def toolsets(self) -> list[str]:
        """Names of the toolsets of the package, sorted."""
        return sorted(self._package.toolsets)

    def toolset(self, name: str) -> Self:
        """A dispatcher of the tools that the configuration registers together as `name`.

        Raises `UnknownToolset`, and `UnknownTool` where this dispatcher is itself a part and lacks one of its tools.
        """
        known = self._package.toolsets
        if name not in known:
            near = difflib.get_close_matches(str(name)[:200], known, 3)
            raise UnknownToolset(str(name), sorted(known), near)
        return self.only(*known[name])

    def with_journal(self, journal: Journal) -> Self:
        """The same tools and handlers, executed through `journal`."""
        other = self._copy()
        other._journal = journal
        return other

    def journalled(self) -> Self:
        """Itself where it has a journal; else the same with one in memory, shared by all dispatchers made from this."""
        return self if self._journal is not None else self.with_journal(self._memory)

    def _copy(self) -> Self:
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    def preload(self) -> None:
        """Loads every tool and checks every handler now. Raises `HandlersMissing` with all that is wrong."""
        problems: list[str] = []
        for name in self._names:
            try:
                self.tool(name).check()
            except HandlerMissing as error:
                problems.append(str(error))
            except (
                Exception,
                SystemExit,
            ) as error:  # a module that cannot be imported is one problem among others
                log.exception("loading the tool %s failed", name)
                problems.append(f"{name}: {type(error).__name__}: {error}")
        if problems:
            raise HandlersMissing(problems)

    def tool(self, name: str) -> Tool[Any]:
        """One tool by its wire name. Raises `UnknownTool`."""
        if name not in self._allowed:
            raise UnknownTool(name, self._near(name))
        tool = self._tools.get(name)
        if tool is None:
            tool = self._tools[name] = Tool(
                name, self._package.tools[name], self._package, self._handlers
            )
        return tool

    def payload(self, target: str) -> list[dict[str, Any]]:
        """What registers the tools of this dispatcher with `target`, in a fresh copy.

        Raises `LookupError` where the package was built without this target.
        """
        path = self._package.directory / "payloads" / f"{target}.json"
        try:
            entries = cast(
                "list[dict[str, Any]]", json.loads(path.read_text(encoding="utf-8"))
            )
        except FileNotFoundError:
            known = sorted(found.stem for found in path.parent.glob("*.json"))
            raise LookupError(
                f"this package has no payload for {target!r}; it has {', '.join(known) or 'none'}"
            ) from None
        if len(self._names) == len(self._package.tools):
            return entries
        others = {
            entry.exposed.get(target, name)
            for name, entry in self._package.tools.items()
            if name not in self._allowed
        }
        return _part(entries, others)

    # ---- execution

    async def execute(self, call: Call) -> Result:
        """Runs one call and gives its result.

        Raises nothing but the cancellation of the caller's own task, and `ValueError` for a call without session, turn
        or call id where there is a journal.
        """
        if self._journal is not None:
            key_of(call)
        calls = self._running
        running = RunningCall()
        outer = CURRENT.set(running)
        # In this order: whoever closes sees the call, or the call sees that it is closed.
        calls.now.add(running)
        refused = calls.closed and not calls.may_begin(outer.old_value)
        hooks = self._hooks
        started = 0.0
        if hooks is not None:
            started = time.perf_counter()
            self._runner.tell(hooks.on_start, call)
        span: Span | None = None
        try:
            tool = self._find(call)
            if (recorder := telemetry()) is not None:
                span = recorder.begin(call, None if tool is None else tool.name)
            if refused:
                result = shutting_down(call, ran=False)
            elif tool is None:
                result = Result(call, error=self._unknown(call))
            else:
                args = tool.parse(call.arguments, call.target)
                if tool.handler is None:
                    tool.load()
                if self._journal is not None:
                    result = await execute_once(
                        self._journal, self._runner, tool, call, args
                    )
                elif (
                    tool.entry.confirm
                    and (refusal := await self._runner.approve(tool, call, args))
                    is not None
                ):
                    result = refusal
                else:
                    result = await self._runner.run(tool, args, call)
        except BaseException as error:
            if not concerns_the_caller(error):
                result = _refused(call, error)
            elif isinstance(error, asyncio.CancelledError) and running.take_back():
                result = shutting_down(call, ran=not isinstance(error, NotStarted))
            else:
                self._ended(cancelled(call), started, span)
                if isinstance(error, (NotStarted, StillRunning)):
                    # They speak of this call's handler. A handler that awaits this call has begun, and may go on.
                    raise asyncio.CancelledError from None
                raise
        finally:
            calls.now.discard(running)
            _leave(outer)
            if calls.closed or running.stopped:
                calls.ended(running)
        if span is not None or hooks is not None:
            self._ended(result, started, span)
        return result

    def _ended(self, result: Result, started: float, span: Span | None) -> None:
        if span is not None:
            span.end(result)
        if self._hooks is not None:
            seconds = time.perf_counter() - started
            self._runner.tell(self._hooks.on_finish, result.call, result, seconds)

    async def execute_all(self, calls: Iterable[Call]) -> list[Result]:
        """Runs several calls at once, within the bound, and gives one result for each, in their order."""
        calls = list(calls)
        if self._journal is not None:
            for call in calls:
                key_of(call)
        slots = asyncio.Semaphore(self._concurrency)

        async def one(call: Call) -> Result:
            async with slots:
                return await self.execute(call)

        tasks = [asyncio.create_task(one(call)) for call in calls]
        try:
            if tasks:
                await asyncio.wait(tasks)
        except asyncio.CancelledError:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            raise
        # A task ends without a result only where a handler cancelled the task that it runs in.
        return [
            cancelled(call) if task.cancelled() else task.result()
            for call, task in zip(calls, tasks, strict=True)
        ]

    def execute_sync(self, call: Call) -> Result:
        """`execute` for services without an event loop: runs on one private loop thread."""
        return self.execute_all_sync([call])[0]

    def execute_all_sync(self, calls: Iterable[Call]) -> list[Result]:
        """`execute_all` for services without an event loop."""
        with self._pool.lending():
            return self._loop_thread.run(self.execute_all(calls))

    async def submitted(self, results: Iterable[Result]) -> None:
        """Notes in the journal that these results were sent and accepted. Raises what the journal raises."""
        if self._journal is not None:
            for result in results:
                await self._journal.submitted(key_of(result.call))

    def submitted_sync(self, results: Iterable[Result]) -> None:
        """`submitted` for services without an event loop."""
        if self._journal is not None:
            self._loop_thread.run(self.submitted(results))

    def wait_for(self, make: Callable[[], Awaitable[T]]) -> T:
        """The outcome of what `make` gives, awaited on the private event loop: for services without one."""

        async def waited() -> T:
            return await make()

        return self._loop_thread.run(waited())

    def close(self) -> None:
        """Ends the threads and the private event loop of this dispatcher, and of those made from it.

        Calls that run go on to their end; a call that comes later starts new threads.
        """
        self._pool.close()
        self._loop_thread.close()

    async def shutdown(self, timeout: float | None = 30.0) -> Shutdown:
        """Ends the calls of this dispatcher, and of those made from it, so that none is lost when the process ends.

        No call begins any more: a new one is answered `shutting_down` and does not run. Calls that run may end within
        `timeout` seconds (None: as long as they take); then they are cancelled, answered `shutting_down` as well, and
        with a journal their outcome is noted as unknown. Loops send nothing of such a batch of results, and raise
        `ResultsNotStored`. In the end the journal is closed, unless a handler is left that could not be stopped.
        """
        began = self._running.close()
        left = await self._running.drained(began, timeout)
        stopped = len(left)
        if left:
            self._running.stop()
            left = await self._running.drained(left, CLEAN_UP)
        running = len(left) + self._pool.running
        await asyncio.to_thread(self._let_go, journal=not running)
        return Shutdown(len(began) - stopped, stopped, running)

    def shutdown_sync(self, timeout: float | None = 30.0) -> Shutdown:
        """`shutdown` for services without an event loop."""
        return asyncio.run(self.shutdown(timeout))

    def _let_go(self, *, journal: bool) -> None:
        self.close()
        # Of a journal's methods, those that execution needs have no `close`.
        close = getattr(self._journal, "close", None) if journal else None
        if close is not None:
            close()

    def _find(self, call: Call) -> Tool[Any] | None:
        name = call.name
        try:
            if self._exposed and call.target in self._exposed:
                name = self._exposed[call.target].get(name, name)
            if name not in self._allowed:
                return None
        except TypeError:  # a list, or something like it: no tool has such a name
            return None
        return self._tools.get(name) or self.tool(name)

    def _near(self, name: str) -> list[str]:
        return difflib.get_close_matches(name[:200], self._names, 3)

    def _unknown(self, call: Call) -> CallError:
        """The names that the model reads are those it knows: the exposed ones of its API."""
        name = str(call.name)
        names = [
            self._package.tools[known].exposed.get(call.target, known)
            for known in self._names
        ]
        message = str(
            UnknownTool(name, difflib.get_close_matches(name[:200], names, 3))
        )
        if len(names) <= 20:
            message += f" The tools are: {', '.join(names)}."
        return CallError("unknown_tool", message)


def _leave(outer: Token[Any]) -> None:
    """Ends what `CURRENT` said about one call."""
    try:
        CURRENT.reset(outer)
    except ValueError:
        return  # a coroutine that was thrown away ends in another context


def _refused(call: Call, error: BaseException) -> Result:
    """The result of a call that did not come as far as its handler."""
    if isinstance(error, InvalidArguments):
        message = (
            "Invalid arguments: "
            + "; ".join(str(issue) for issue in error.issues)
            + "."
        )
        return Result(call, error=CallError(error.code, message, error.issues))
    if isinstance(error, HandlerMissing):
        log.error("%s", error)
        return not_implemented(call)
    if isinstance(error, asyncio.CancelledError):
        return cancelled(call)
    if isinstance(error, ModelRefused):
        reason = "its model refused arguments that its schema accepts, which is a fault of toolgen"
    else:
        reason = "before or after its handler"
    log.error("the call of %s failed: %s", call.label, reason, exc_info=error)
    return failed(call)


def _part(entries: Sequence[dict[str, Any]], others: set[str]) -> list[dict[str, Any]]:
    """The entries without those of other tools.

    An entry that only searches for deferred tools stays while there is one.
    """
    kept = [
        part
        for entry in entries
        if _exposed_name(entry) not in others
        and (part := _some_functions(entry, others)) is not None
    ]
    deferred = any(entry.get("defer_loading") for entry in kept)
    return [
        entry
        for entry in kept
        if deferred or not str(entry.get("type", "")).startswith("tool_search")
    ]


def _some_functions(entry: dict[str, Any], others: set[str]) -> dict[str, Any] | None:
    """An entry that holds the functions of many tools, without those of others; None where none is left."""
    functions: Any = entry.get("functionDeclarations")
    if not is_array(functions):
        return entry
    kept = [function for function in functions if function.get("name") not in others]
    return {**entry, "functionDeclarations": kept} if kept else None


def _exposed_name(entry: dict[str, Any]) -> str | None:
    """The name that an entry registers, in whatever shape the target gives it; None for an entry that is no tool."""
    for holder in (entry, entry.get("function"), entry.get("toolSpec"), _inner(entry)):
        if is_object(holder) and isinstance(name := holder.get("name"), str):
            return name
    return None


def _inner(entry: dict[str, Any]) -> Any:
    config = entry.get("toolConfig")
    return config.get("function") if is_object(config) else None
