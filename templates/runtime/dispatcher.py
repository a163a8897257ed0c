"""The dispatcher: one result for each call, whatever happens.

`execute` goes through fixed steps: find the tool, read and check the arguments, ask for approval where the tool needs
it, claim the call in the journal where there is one, run the handler with a time bound, write the output as text. Each
step can end the call with an error that the model can act on; none can touch another call.
"""

from __future__ import annotations

import asyncio
import difflib
import fnmatch
import inspect
import json
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self, cast

from .calls import Call, CallError, Result
from .content import Content
from .errors import HandlersMissing, InvalidArguments, ToolError, UnknownTool, UnserializableOutput
from .hooks import Hooks
from .journal import Journal
from .journal.memory import MemoryJournal
from .journalled import StillRunning, execute_once, key_of
from .loopthread import LoopThread
from .models import ModelRefused, ToolModel
from .threads import ThreadPool
from .tools import HandlerMissing, Package, Tool
from .values import is_object

log = logging.getLogger(__name__)

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
        self._timeout = timeout
        self._tools: dict[str, Tool[ToolModel]] = {}
        self._loop_thread = LoopThread()
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
            fitting = [pattern] if pattern in self._allowed else fnmatch.filter(self._names, pattern)
            if not fitting:
                raise UnknownTool(pattern, self._near(pattern))
            chosen.update(fitting)
        part = self._copy()
        part._names = tuple(sorted(chosen))
        part._allowed = frozenset(chosen)
        return part

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
                self.tool(name).load()
            except HandlerMissing as error:
                problems.append(str(error))
            except Exception as error:  # a handler module that cannot be imported is one problem among others
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
            tool = self._tools[name] = Tool(name, self._package.tools[name], self._package, self._handlers)
        return tool

    def payload(self, target: str) -> list[dict[str, Any]]:
        """What registers the tools of this dispatcher with `target`, in a fresh copy.

        Raises `LookupError` where the package was built without this target.
        """
        path = self._package.directory / "payloads" / f"{target}.json"
        try:
            entries = cast("list[dict[str, Any]]", json.loads(path.read_text(encoding="utf-8")))
        except FileNotFoundError:
            known = sorted(found.stem for found in path.parent.glob("*.json"))
            raise LookupError(
                f"this package has no payload for {target!r}; it has {', '.join(known) or 'none'}"
            ) from None
        if len(self._names) == len(self._package.tools):
            return entries
        wanted = {self._package.tools[name].exposed.get(target, name) for name in self._names}
        return _part(entries, wanted)

    # ---- execution

    async def execute(self, call: Call) -> Result:
        """Runs one call and gives its result.

        Raises nothing but the cancellation of the caller's own task, and `ValueError` for a call without session, turn
        or call id where there is a journal.
        """
        if self._journal is not None:
            key_of(call)
        hooks = self._hooks
        if hooks is None or (hooks.on_start is None and hooks.on_finish is None):
            return await self._execute(call)
        started = time.perf_counter()
        if hooks.on_start is not None:
            _tell(hooks.on_start, call)
        result = await self._execute(call)
        if hooks.on_finish is not None:
            _tell(hooks.on_finish, call, result, time.perf_counter() - started)
        return result

    async def execute_all(self, calls: Iterable[Call]) -> list[Result]:
        """Runs several calls at once, within the bound, and gives one result for each, in their order."""
        calls = list(calls)
        if self._journal is not None:
            for call in calls:
                key_of(call)
        if len(calls) == 1:
            return [await self.execute(calls[0])]
        slots = asyncio.Semaphore(self._concurrency)

        async def one(call: Call) -> Result:
            async with slots:
                return await self.execute(call)

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(call)) for call in calls]
        return [task.result() for task in tasks]

    def execute_sync(self, call: Call) -> Result:
        """`execute` for services without an event loop: runs on one private loop thread."""
        return self._loop_thread.run(self.execute(call))

    def execute_all_sync(self, calls: Iterable[Call]) -> list[Result]:
        """`execute_all` for services without an event loop."""
        return self._loop_thread.run(self.execute_all(calls))

    async def submitted(self, results: Iterable[Result]) -> None:
        """Notes in the journal that these results were sent and accepted."""
        if self._journal is not None:
            for result in results:
                await self._journal.submitted(key_of(result.call))

    def submitted_sync(self, results: Iterable[Result]) -> None:
        """`submitted` for services without an event loop."""
        if self._journal is not None:
            self._loop_thread.run(self.submitted(results))

    def close(self) -> None:
        """Ends the idle threads and the private event loop of this dispatcher, and of those made from it."""
        self._pool.close()
        self._loop_thread.close()

    async def _execute(self, call: Call) -> Result:
        tool = self._find(call)
        if tool is None:
            return Result(call, error=self._unknown(call.name))
        try:
            args = tool.parse(call.arguments, call.target)
            handler = tool.handler
        except InvalidArguments as error:
            return Result(call, error=CallError(error.code, _explain(error), error.issues))
        except HandlerMissing as error:
            log.error("%s", error)
            return _not_implemented(call)
        except ModelRefused:
            log.exception(
                "the model of %s refused arguments that its schema accepts; this is a fault of toolgen", call.name
            )
            return _failed(call)
        except Exception:
            log.exception("loading the tool %s failed", call.name)
            return _failed(call)
        if self._journal is not None:
            return await execute_once(self._journal, self._hooks, tool, call, args, self._run, self._written)
        return await self._run(tool, handler, args, call)

    def _find(self, call: Call) -> Tool[Any] | None:
        name = call.name
        if self._exposed and call.target in self._exposed:
            name = self._exposed[call.target].get(name, name)
        if name not in self._allowed:
            return None
        return self._tools.get(name) or self.tool(name)

    async def _approve(self, call: Call) -> Result | None:
        """The refusal of a call that needs approval, or None when it may run."""
        ask = self._hooks.approve if self._hooks else None
        if ask is None:
            log.warning("the tool %s needs approval and no approve hook is set", call.name)
            return Result(
                call, error=CallError("not_approved", "This call needs approval and nobody can give it here.")
            )
        try:
            answer = ask(call)
            if inspect.isawaitable(answer):
                answer = await answer
        except Exception:
            log.exception("the approve hook failed for %s", call.name)
            return Result(call, error=CallError("not_approved", "This call needs approval, and asking for it failed."))
        if answer is True:
            return None
        return Result(call, error=CallError("not_approved", "This call was not approved."))

    async def _run(self, tool: Tool[Any], handler: Callable[[Any, Any], Any], args: Any, call: Call) -> Result:
        """Runs the handler of a call that may run, within its time bound, and writes its output."""
        if tool.entry.confirm:
            refusal = await self._approve(call)
            if refusal is not None:
                return refusal
        timeout = tool.entry.timeout if tool.entry.timeout is not None else self._timeout
        task = cast("asyncio.Task[Any]", asyncio.current_task())
        before = task.cancelling()
        deadline: _Deadline | None = None
        try:
            if tool.is_async:
                if timeout is not None:
                    deadline = _Deadline(task, timeout)
                value = await handler(args, call)
            else:
                value = await self._run_in_thread(handler, args, call, timeout)
                if inspect.isawaitable(value):  # a plain function that wraps an async one
                    if timeout is not None:
                        deadline = _Deadline(task, timeout)
                    value = await value
        except BaseException as error:
            if deadline is not None:
                deadline.handle.cancel()
                if deadline.expired and task.uncancel() <= before:
                    return _timed_out(call, timeout)
            if isinstance(error, asyncio.CancelledError) and task.cancelling() > before:
                raise
            return _ended_badly(call, error, timeout)
        if deadline is not None:
            deadline.handle.cancel()
            if deadline.expired:
                task.uncancel()  # the handler caught the cancellation and returned all the same: its value counts
        return self._written(tool, call, value)

    async def _run_in_thread(
        self, handler: Callable[[Any, Any], Any], args: Any, call: Call, timeout: float | None
    ) -> Any:
        job = self._pool.submit(handler, args, call)
        future = asyncio.wrap_future(job)
        try:
            done, _ = await asyncio.wait({future}, timeout=timeout)
        except asyncio.CancelledError:
            if job.cancel():
                raise
            job.add_done_callback(_late(call.name))
            raise StillRunning(job) from None
        if done:
            return future.result()
        started = not job.cancel()
        if started:
            job.add_done_callback(_late(call.name))
        raise _TookTooLong(started)

    def _written(self, tool: Tool[Any], call: Call, value: Any) -> Result:
        """The result of a handler that returned `value`."""
        try:
            text = tool.serialize(value)
        except UnserializableOutput as error:
            log.error("the output of %s cannot be sent: %s", call.name, error)
            message = f"The tool ran, but its output cannot be sent: {error}"
            return Result(call, error=CallError("unserializable_output", message), ran=True)
        except Exception:
            log.exception("writing the output of %s failed", call.name)
            message = "The tool ran, but its output cannot be sent."
            return Result(call, error=CallError("unserializable_output", message), ran=True)
        limit = self._package.output_limits.get(call.target)
        # A character takes at most six bytes in JSON text, so short texts need no counting.
        if limit is not None and len(text) * 6 > limit:
            size = len(json.dumps(text, ensure_ascii=False).encode())
            if size > limit:
                message = (
                    f"The tool ran, but its output is too large to send: {size} bytes, at most {limit} are allowed."
                )
                return Result(call, error=CallError("output_too_large", message), ran=True)
        return Result(call, text, value if isinstance(value, Content) else None, ran=True)

    def _near(self, name: str) -> list[str]:
        return difflib.get_close_matches(name, self._names, 3)

    def _unknown(self, name: str) -> CallError:
        message = str(UnknownTool(name, self._near(name)))
        if len(self._names) <= 20:
            message += f" The tools are: {', '.join(self._names)}."
        return CallError("unknown_tool", message)


class _TookTooLong(Exception):
    """A handler in a thread ran into its time bound; `started` tells whether it got a thread at all."""

    def __init__(self, started: bool) -> None:
        self.started = started


class _Deadline:
    """Cancels a task after some seconds, and remembers that it did. Half the cost of `asyncio.timeout`."""

    __slots__ = ("expired", "handle", "task")

    def __init__(self, task: asyncio.Task[Any], seconds: float) -> None:
        self.task = task
        self.expired = False
        self.handle = asyncio.get_running_loop().call_later(seconds, self._expire)

    def _expire(self) -> None:
        self.expired = True
        self.task.cancel()


def _tell(hook: Callable[..., None], *facts: Any) -> None:
    try:
        hook(*facts)
    except Exception:
        log.exception("a hook failed")


def _late(name: str) -> Callable[[Any], None]:
    def note(job: Any) -> None:
        outcome = "failed" if job.cancelled() or job.exception() is not None else "returned"
        log.warning("the handler of %s %s after its call had been answered", name, outcome)

    return note


def _explain(error: InvalidArguments) -> str:
    """The issues as one text for the model."""
    return "Invalid arguments: " + "; ".join(str(issue) for issue in error.issues) + "."


def _ended_badly(call: Call, error: BaseException, timeout: float | None) -> Result:
    """The result of a handler that raised. Raises the error again where it is meant for the whole process."""
    if isinstance(error, ToolError):
        return Result(call, error=CallError("handler_error", str(error) or "The tool failed."), ran=True)
    if isinstance(error, _TookTooLong):
        return _timed_out(call, timeout, ran=error.started)
    if isinstance(error, asyncio.CancelledError):
        return Result(call, error=CallError("cancelled", "The call was cancelled before it ended."), ran=True)
    if isinstance(error, NotImplementedError):
        log.error("the handler of %s is not implemented", call.name, exc_info=error)
        return _not_implemented(call)
    if isinstance(error, (Exception, SystemExit)):  # a handler must not end the service
        log.error("the handler of %s failed", call.name, exc_info=error)
        return _failed(call)
    raise error


def _failed(call: Call) -> Result:
    return Result(call, error=CallError("handler_error", "The tool failed for an internal reason."), ran=True)


def _not_implemented(call: Call) -> Result:
    return Result(call, error=CallError("not_implemented", "This tool is not implemented."))


def _timed_out(call: Call, timeout: float | None, ran: bool = True) -> Result:
    did = "finish" if ran else "start"
    return Result(call, error=CallError("timeout", f"The tool did not {did} within {timeout:g} seconds."), ran=ran)


def _part(entries: Sequence[dict[str, Any]], wanted: set[str]) -> list[dict[str, Any]]:
    """The entries of the wanted tools; entries that are no tools stay while a tool that needs them does."""
    kept = [entry for entry in entries if _exposed_name(entry) in wanted]
    deferred = any(entry.get("defer_loading") for entry in kept)
    return kept + [entry for entry in entries if _exposed_name(entry) is None and deferred]


def _exposed_name(entry: dict[str, Any]) -> str | None:
    """The name that an entry registers, in whatever shape the target gives it; None for an entry that is no tool."""
    for holder in (entry, entry.get("function"), entry.get("toolSpec"), _inner(entry)):
        if is_object(holder) and isinstance(name := holder.get("name"), str):
            return name
    return None


def _inner(entry: dict[str, Any]) -> Any:
    config = entry.get("toolConfig")
    return config.get("function") if is_object(config) else None
