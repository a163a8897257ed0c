"""Lowers a catalog for the targets of a build, with the checks that need more than one tool."""

from __future__ import annotations

import dataclasses
import difflib
import json
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from codegen.diagnostics import Diagnostic, Severity
from codegen.specs.tool import Catalog, Tool
from codegen.targets.interface import Lowered, Payload, Target, TargetOptions
from codegen.targets.registry import BUILT_IN, PluginError, brought_by, registry


def lower_catalog(
    catalog: Catalog,
    target_ids: Sequence[str],
    options: TargetOptions = TargetOptions(),  # noqa: B008  (frozen)
    *,
    toolsets: Mapping[str, Sequence[str]] | None = None,
    targets: Mapping[str, Target] | None = None,
    asked_by: str = "--target",
) -> tuple[dict[str, Payload], list[Diagnostic]]:
    """The payload of each target by its id, and every problem found on the way.

    `target_ids` may be empty: then no payloads are made. `toolsets` has the wire names of the parts that are registered
    together: what a target refuses as a list is an error for those, and a warning for the whole. `asked_by` says in
    diagnostics where the ids come from. The tools must have passed the checks of their schemas.
    """
    known = registry() if targets is None else targets
    try:
        return _lower(catalog, target_ids, options, toolsets or {}, known, asked_by)
    except PluginError as error:
        hint = f"mend or uninstall {error.origin}"
        return {}, [
            Diagnostic("broken-target", Severity.ERROR, asked_by, None, "", str(error), hint, target=error.target)
        ]


def lower_tool(target: Target, tool: Tool, options: TargetOptions) -> Lowered:
    """What `target` makes of `tool`. Raises `PluginError` where that of another distribution fails or gives no JSON."""
    with _blaming(target, f"lowering the tool {tool.name!r}"):
        lowered = target.lower(tool, options)
        if target.id not in BUILT_IN:
            json.dumps([lowered.entry, dict(lowered.read_back)], allow_nan=False)
        return lowered


def _payload(target: Target, lowered: Sequence[Lowered], options: TargetOptions) -> Payload:
    with _blaming(target, "making the payload"):
        payload = target.payload(lowered, options)
        if target.id not in BUILT_IN:
            json.dumps(payload.entries, allow_nan=False)
        return payload


@contextmanager
def _blaming(target: Target, deed: str) -> Iterator[None]:
    """What is raised within is the fault of what brought `target`, unless that is one of our own."""
    try:
        yield
    except Exception as error:
        if target.id in BUILT_IN:
            raise
        *_, at = traceback.extract_tb(error.__traceback__)
        reason = f"{deed} raised {error!r} in {Path(at.filename).name}, line {at.lineno}"
        raise PluginError(target.id, brought_by(target.id), reason) from error


def _lower(
    catalog: Catalog,
    target_ids: Sequence[str],
    options: TargetOptions,
    toolsets: Mapping[str, Sequence[str]],
    known: Mapping[str, Target],
    asked_by: str,
) -> tuple[dict[str, Payload], list[Diagnostic]]:
    found = [
        Diagnostic("unknown-target", Severity.ERROR, asked_by, None, "", *_unknown(name, known))
        for name in dict.fromkeys(target_ids)
        if name not in known
    ]
    for tool in catalog:
        found += _named_targets(tool, known)
    payloads: dict[str, Payload] = {}
    for name in dict.fromkeys(target_ids):
        if name not in known:
            continue
        target = known[name]
        tools = [tool for tool in catalog if tool.is_registered(name)]
        lowered = [lower_tool(target, tool, options) for tool in tools]
        payloads[name] = _payload(target, lowered, options)
        for one in lowered:
            found += one.diagnostics
        found += _of_lists(target, payloads[name], options, toolsets)
        found += _clashes(tools, lowered, name)
    return payloads, found


def _of_lists(
    target: Target, payload: Payload, options: TargetOptions, toolsets: Mapping[str, Sequence[str]]
) -> Iterable[Diagnostic]:
    """The problems of the whole list, and of each toolset.

    Where the toolsets hold every tool, the whole list is not what is registered: its warnings become notes.
    """
    grouped = {name for members in toolsets.values() for name in members}
    apart = bool(grouped) and all(one.tool in grouped for one in payload.lowered)
    for problem in payload.diagnostics:
        noted = apart and problem.severity is Severity.WARNING
        yield dataclasses.replace(problem, severity=Severity.NOTE) if noted else problem
    for toolset, members in toolsets.items():
        part = [one for one in payload.lowered if one.tool in set(members)]
        yield from _payload(target, part, dataclasses.replace(options, toolset=toolset)).diagnostics


def _named_targets(tool: Tool, known: Mapping[str, Target]) -> Iterable[Diagnostic]:
    """Ids of targets in the spec that nobody knows."""
    named = [(name, f"/targets/{name}") for name in tool.overrides]
    listed = [*(tool.only_targets or ()), *tool.excluded_targets]
    named += [(name, "/targets") for name in listed if name not in tool.overrides]
    for name, below in named:
        if name not in known:
            message, hint = _unknown(name, known)
            yield tool.problem("unknown-target", message, hint, part="x-toolgen", below=below, target=name)


def _unknown(name: str, known: Mapping[str, Target]) -> tuple[str, str]:
    near = difflib.get_close_matches(name, list(known), n=1)
    hint = f"did you mean {near[0]}? " if near else ""
    return f"there is no target {name!r}", f"{hint}known targets: {', '.join(known)}"


def _clashes(tools: Sequence[Tool], lowered: Sequence[Lowered], target: str) -> Iterable[Diagnostic]:
    first: dict[str, Tool] = {}
    for tool, one in zip(tools, lowered, strict=True):
        other = first.setdefault(one.name, tool)
        if other is not tool:
            message = f"the tools {other.name!r} and {tool.name!r} are both called {one.name!r} here"
            hint = f"give one of them another name with x-toolgen.targets.{target}.name"
            yield tool.problem("name-clash", message, hint, part="name", target=target)
