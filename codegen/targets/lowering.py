"""Lowers a catalog for the targets of a build, with the checks that need more than one tool."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence

from codegen.diagnostics import Diagnostic, Severity
from codegen.specs.tool import Catalog, Tool
from codegen.targets.interface import Lowered, Payload, Target, TargetOptions
from codegen.targets.registry import registry


def lower_catalog(
    catalog: Catalog,
    target_ids: Sequence[str],
    options: TargetOptions = TargetOptions(),  # noqa: B008  (frozen)
    *,
    targets: Mapping[str, Target] | None = None,
    asked_by: str = "--target",
) -> tuple[dict[str, Payload], list[Diagnostic]]:
    """The payload of each target by its id, and every problem found on the way.

    `target_ids` may be empty: then no payloads are made. `asked_by` says in diagnostics where the ids come from. The
    tools must have passed the checks of their schemas. Raises `codegen.targets.registry.PluginError`.
    """
    known = registry() if targets is None else targets
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
        lowered = [target.lower(tool, options) for tool in tools]
        payloads[name] = target.payload(lowered, options)
        for one in lowered:
            found += one.diagnostics
        found += payloads[name].diagnostics
        found += _clashes(tools, lowered, name)
    return payloads, found


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
