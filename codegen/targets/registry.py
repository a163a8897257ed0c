"""The targets that this installation knows: its own, and those that other distributions bring.

A distribution brings one with an entry point of the group `toolgen.targets`, whose name is the target's id and whose
object is a `codegen.targets.interface.Target`. Nothing is imported before it is asked for.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import Final

from codegen.project import PLUGINS
from codegen.resources import templates
from codegen.targets.interface import RUNTIME_FOLDERS, Target, TargetFacts

GROUP: Final = PLUGINS

BUILT_IN: Final = (
    *("openai_agents", "openai_responses", "oci_agents"),
    *("openai_chat", "anthropic", "gemini", "bedrock", "mcp", "oci_inference"),
)
"""Ids of our own targets, each a module of this package with a `TARGET`."""

_ID: Final = re.compile("[a-z][a-z0-9_]*")
_UNKNOWN: Final = "an unknown distribution"


class PluginError(Exception):
    """A target of another distribution cannot be used. `target` is its id, `origin` what brought it."""

    def __init__(self, target: str, origin: str, reason: str) -> None:
        super().__init__(f"the target {target!r} of {origin} cannot be used: {reason}")
        self.target = target
        self.origin = origin
        self.reason = reason


class Registry(Mapping[str, Target]):
    """Targets by id: our own first, then the others by name. Loading one may raise `PluginError`."""

    def __init__(self) -> None:
        self._loaded: dict[str, Target] = {}

    def __getitem__(self, target: str) -> Target:
        if target not in self._loaded:
            self._loaded[target] = self._load(target)
        return self._loaded[target]

    def __contains__(self, target: object) -> bool:
        return target in BUILT_IN or target in self._plugins

    def __iter__(self) -> Iterator[str]:
        return iter((*BUILT_IN, *self._plugins))

    def __len__(self) -> int:
        return len(BUILT_IN) + len(self._plugins)

    @cached_property
    def _plugins(self) -> dict[str, EntryPoint]:
        found: dict[str, EntryPoint] = {}
        for point in sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value)):
            if point.name in BUILT_IN or (point.name in found and found[point.name].value != point.value):
                raise PluginError(point.name, _origin(point), "another target has this id")
            found[point.name] = point
        return found

    def _load(self, name: str) -> Target:
        if name in BUILT_IN:
            built_in: Target = importlib.import_module(f"codegen.targets.{name}").TARGET
            return built_in
        point = self._plugins[name]
        try:
            target = point.load()
        except (Exception, SystemExit) as error:
            raise PluginError(name, _origin(point), f"importing {point.value} raised {error!r}") from error
        if not isinstance(target, Target) or not isinstance(target.facts, TargetFacts):
            raise PluginError(name, _origin(point), f"{point.value} is no target")
        if target.id != name:
            raise PluginError(name, _origin(point), f"{point.value} calls itself {target.id!r}")
        if not _ID.fullmatch(name):
            raise PluginError(name, _origin(point), f"an id has the form {_ID.pattern}")
        if fault := _runtime_fault(target):
            raise PluginError(name, _origin(point), fault)
        return target


def registry() -> Registry:
    """All known targets."""
    return Registry()


def brought_by(target: str) -> str:
    """What brought the target of another distribution, in a few words."""
    return next((_origin(point) for point in entry_points(group=GROUP, name=target)), _UNKNOWN)


def _origin(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else _UNKNOWN


def _runtime_fault(target: Target) -> str:
    """What is wrong with the runtime files of a plugin; empty where nothing is."""
    ours, brought = templates() / "runtime", target.facts.runtime_root
    for path in target.facts.runtime:
        folder, *rest = path.split("/")
        if folder not in RUNTIME_FOLDERS or len(rest) != 1 or not rest[0].removesuffix(".py").isidentifier():
            return f"its runtime file {path} is no module of {', '.join(RUNTIME_FOLDERS)}"
        is_ours = (ours / folder / rest[0]).is_file()
        is_brought = brought is not None and brought.joinpath(folder, rest[0]).is_file()
        if is_ours and is_brought:
            return f"its runtime file {path} has the name of one of ours"
        if not is_ours and not is_brought:
            return f"its runtime file {path} is missing"
    return ""
