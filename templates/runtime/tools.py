"""One tool at run time: its gate, its model and its handler, each loaded on first use."""

from __future__ import annotations

import importlib
import inspect
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Generic, TypeAlias, TypeVar, cast

from .content import Content
from .errors import InvalidArguments, InvalidJSON, Issue, UnserializableOutput
from .gate import Gate
from .models import NotHeld, ToolModel, instantiate
from .output import content_text, write
from .readback import PLAIN, ReadBack, mend, spell_back
from .values import show
from .wire import Arguments, NotAnObject, NotJSON, read_arguments

Handler = Callable[[Any, Any], Any]
"""Takes the arguments and the call, and gives the result or an awaitable of it."""

R = TypeVar("R")
Reply: TypeAlias = R | Awaitable[R]
"""What a handler gives back: its result, or, from an `async` one, something to await."""

Arguments_co = TypeVar("Arguments_co", bound=ToolModel, covariant=True)


@dataclass(frozen=True, slots=True)
class ToolEntry:
    """A row of the dispatch table: what is known about a tool without loading it."""

    module: str
    """Module of the model and of the handler, and name of the schema file."""
    function: str
    """The handler's name, in its module or on the object with the handlers."""
    prefix: str
    """Prefix of the model classes."""
    effect: str = "write"
    """`read`, `idempotent` or `write`."""
    timeout: float | None = None
    """Seconds, where the spec sets a bound of its own."""
    confirm: bool = False
    """Whether each call needs the `approve` hook's word."""
    exposed: Mapping[str, str] = field(default_factory=dict[str, str])
    """Names that differ from the wire name, by target."""
    read_back: Mapping[str, ReadBack] = field(default_factory=dict[str, ReadBack])
    """What a target does to this tool's arguments, where that differs from what it does to all."""


@dataclass(frozen=True, slots=True)
class Package:
    """What `dispatch.py` knows about the package it stands in."""

    name: str
    """Import name of the package."""
    directory: Path
    tools: Mapping[str, ToolEntry]
    """By wire name, sorted."""
    toolsets: Mapping[str, Sequence[str]] = field(
        default_factory=dict[str, "Sequence[str]"]
    )
    """The wire names of the parts that are registered together, by the part's name."""
    formats: bool = False
    """Whether the gate asserts `format`."""
    repair: bool = False
    """Whether lists and objects that arrive as JSON text are read where no text may stand, whoever sent them."""
    read_back: Mapping[str, ReadBack] = field(default_factory=dict[str, ReadBack])
    """What a target does to the arguments of every tool."""
    output_limits: Mapping[str, int] = field(default_factory=dict[str, int])
    """The longest output a target takes, in bytes of JSON text."""
    stubs: bool = True
    """Whether handlers are modules of this package; else the service gives an object with all of them."""


class HandlerMissing(Exception):
    """A tool has no usable handler; the text says why."""


class Tool(Generic[Arguments_co]):
    """One tool of a dispatcher."""

    def __init__(
        self, name: str, entry: ToolEntry, package: Package, handlers: object | None
    ) -> None:
        self.name = name
        self.entry = entry
        self._package = package
        self._handlers = handlers
        self._gate: Gate | None = None
        self._result_gate: Gate | None = None
        self._model: type[Arguments_co] | None = None
        self.handler: Handler | None = None
        """The function that runs the tool, once it is loaded."""
        self.is_async = False
        """Whether the handler runs on the event loop."""
        self._spec: dict[str, Any] | None = None

    @property
    def spec(self) -> dict[str, Any]:
        """The canonical spec, as it stands in `schemas/`."""
        if self._spec is None:
            path = self._package.directory / "schemas" / f"{self.entry.module}.json"
            self._spec = cast(
                "dict[str, Any]", json.loads(path.read_text(encoding="utf-8"))
            )
        return self._spec

    @property
    def description(self) -> str:
        return str(self.spec.get("description") or "")

    def parse(self, arguments: Arguments, target: str = "") -> Arguments_co:
        """The model instance of arguments as they arrive: JSON text or a mapping.

        `target` names the API they came from, so that what it did to them on the way is undone.

        Raises `InvalidArguments` (`InvalidJSON` where they are no JSON).
        """
        gate = self._gate
        if gate is None:
            gate = self._load_gate()
        try:
            value = read_arguments(arguments)
        except (NotJSON, NotAnObject) as error:
            value = self._read_twice(arguments, target, error)
        if self.entry.read_back:
            table = self._rules(target).table
            if table is not None:
                value = spell_back(value, table)
        if not gate.is_valid(value):
            value = self._mended(value, gate, target)
        try:
            return instantiate(self._model or self._load_model(), value)
        except NotHeld as error:
            raise InvalidArguments(self.name, error.issues) from None

    def serialize(self, value: object) -> str:
        """The text of a handler's return value, checked against `returns` where the spec has one.

        Raises `UnserializableOutput`.
        """
        if self._gate is None:
            self._load_gate()
        if isinstance(value, Content):
            return content_text(value)
        plain, text = write(value)
        gate = self._result_gate
        if gate is not None and not gate.is_valid(plain):
            issues = gate.issues(plain)
            where = f" at {issues[0].pointer}" if issues[0].pointer else ""
            # Without the value, as this is logged: some sentences quote it elsewhere.
            reason, got, _ = issues[0].message.partition(", got ")
            if not got and issues[0].keyword != "required":
                reason = issues[0].keyword
            raise UnserializableOutput(
                f"the output does not fit the spec's returns{where}: {reason}",
                issues[0].pointer,
                issues,
            )
        return text

    def load(self) -> Handler:
        """Loads everything and gives the handler. Raises `HandlerMissing`, and whatever importing a module raises."""
        self._load_gate()
        self._load_model()
        if self.handler is None:
            handler = self._find_handler()
            called = type(handler).__call__  # an object may have an async one
            self.is_async = any(map(inspect.iscoroutinefunction, (handler, called)))
            self.handler = handler
        return self.handler

    def _load_gate(self) -> Gate:
        spec = self.spec
        formats = self._package.formats
        if "returns" in spec:
            self._result_gate = Gate(spec["returns"], formats=formats)
        self._gate = Gate(spec["parameters"], formats=formats)
        return self._gate

    def _load_model(self) -> type[Arguments_co]:
        module = importlib.import_module(
            f"{self._package.name}.models.{self.entry.module}"
        )
        self._model = cast(
            "type[Arguments_co]", getattr(module, f"{self.entry.prefix}Arguments")
        )
        return self._model

    def check(self) -> None:
        """Loads everything, and checks that the handler takes the arguments and the call. Raises as `load`."""
        handler = self.load()
        try:
            inspect.signature(handler).bind(None, None)
        except TypeError as error:
            raise HandlerMissing(
                f"{self.name}: the handler must take the arguments and the call: {error}"
            ) from None
        except ValueError:  # a function that does not tell what it takes
            return

    def _find_handler(self) -> Handler:
        function = self.entry.function
        if self._handlers is not None:
            found = getattr(self._handlers, function, None)
            where = f"{type(self._handlers).__name__}.{function}"
        elif not self._package.stubs:
            raise HandlerMissing(
                f"{self.name}: this package has no handlers of its own; pass an object to dispatcher()"
            )
        else:
            name = f"{self._package.name}.handlers.{self.entry.module}"
            where = f"{name}.{function}"
            try:
                module = importlib.import_module(name)
            except ModuleNotFoundError as error:
                if not f"{name}.".startswith(
                    f"{error.name}."
                ):  # something that the handler itself imports
                    raise
                raise HandlerMissing(
                    f"{self.name}: there is no module {name}"
                ) from None
            found = getattr(module, function, None)
        if not callable(found):
            raise HandlerMissing(f"{self.name}: there is no function {where}")
        return cast("Handler", found)

    def _rules(self, target: str) -> ReadBack:
        rules = self.entry.read_back.get(target)
        return (
            rules if rules is not None else self._package.read_back.get(target, PLAIN)
        )

    def _read_twice(
        self, arguments: Any, target: str, error: NotJSON | NotAnObject
    ) -> dict[str, Any]:
        if self._rules(target).twice and isinstance(error, NotAnObject):
            try:
                inner = json.loads(arguments)
                if isinstance(inner, str):
                    return read_arguments(inner)
            except (TypeError, ValueError):
                pass  # the first reading's complaint is the one that helps
        if isinstance(error, NotJSON):
            raise InvalidJSON(
                self.name, [Issue(error.pointer, "json", str(error))]
            ) from None
        raise InvalidArguments(self.name, [Issue("", "type", str(error))]) from None

    def _mended(self, value: dict[str, Any], gate: Gate, target: str) -> dict[str, Any]:
        rules = self._rules(target)
        if self._package.repair:
            rules = replace(rules, nested=True)
        if rules.mends:
            mended = mend(value, gate, rules)
            if mended is not None:
                return mended
        issues = gate.issues(value) or (
            Issue("", "", f"the arguments {show(value)} are refused"),
        )
        raise InvalidArguments(self.name, issues)
