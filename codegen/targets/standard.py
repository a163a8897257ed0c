"""A target made from its facts and one function: all checks that follow from the facts are made here."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from codegen.diagnostics import Diagnostic, Severity
from codegen.specs.tool import Tool
from codegen.targets.interface import (
    Limit,
    Lowered,
    Measure,
    NameRule,
    Payload,
    Step,
    TargetFacts,
    TargetOptions,
)


@dataclass(frozen=True, slots=True)
class Exposed:
    """A tool as one target shows it."""

    tool: Tool
    target: str
    name: str
    description: str
    """Empty where the tool has none."""

    @property
    def strict(self) -> bool | None:
        """What the spec says about strict mode on this target."""
        return strict_of(self.tool, self.target)


@dataclass(frozen=True, slots=True)
class Shaped:
    """What a target's own function makes of a tool."""

    entry: dict[str, Any]
    diagnostics: Sequence[Diagnostic] = ()
    read_back: dict[str, Any] = field(default_factory=dict)
    steps: Sequence[Step] = ()
    sizes: Mapping[Measure, int] = field(default_factory=dict)
    """What the tool adds to measures of the list, as in `Lowered`."""


def strict_of(tool: Tool, target: str) -> bool | None:
    """What the spec says about strict mode on `target`; None where it says nothing."""
    override = tool.overrides.get(target)
    return override.strict if override and override.strict is not None else tool.strict


def compact_size(value: Any) -> int:
    """Bytes of `value` as compact JSON in UTF-8."""
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass"))


def _same(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return entries


@dataclass(frozen=True, slots=True)
class StandardTarget:
    """A `Target` whose `shape` makes one entry and whose `assemble` may add entries that belong to no tool."""

    id: str
    title: str
    facts: TargetFacts
    shape: Callable[[Exposed, TargetOptions], Shaped]
    assemble: Callable[[list[dict[str, Any]]], list[dict[str, Any]]] = _same

    def lower(self, tool: Tool, options: TargetOptions) -> Lowered:
        name, found = self._name(tool, options)
        exposed = Exposed(tool, self.id, name, tool.exposed_description(self.id) or "")
        found += self._description(exposed)
        found += self._settings(exposed)
        shaped = self.shape(exposed, options)
        found += shaped.diagnostics
        for limit in self.facts.limits:
            if limit.measure is Measure.ENTRY:
                found += _over(tool, self.id, limit, compact_size(shaped.entry), "name")
            elif limit.measure is Measure.NAME:
                found += _over(tool, self.id, limit, len(name), "name")
        read_back = ({"name": name} if name != tool.name else {}) | shaped.read_back
        return Lowered(
            tool.name,
            name,
            shaped.entry,
            tuple(dict.fromkeys(found)),
            read_back,
            sizes=shaped.sizes,
            steps=tuple(shaped.steps),
        )

    def payload(self, lowered: Sequence[Lowered], options: TargetOptions) -> Payload:
        entries = self.assemble([one.entry for one in lowered])
        found: list[Diagnostic] = []
        for limit in self.facts.limits:
            if limit.measure is Measure.TOOLS:
                size = len(lowered)
            elif limit.measure is Measure.LIST:
                size = compact_size(entries)
            elif limit.per_list:
                size = sum(one.sizes.get(limit.measure, 0) for one in lowered)
            else:
                continue
            if size > limit.maximum:
                found.append(self._list_problem(limit, size, options))
        return Payload(self.id, entries, tuple(lowered), tuple(found))

    def _name(self, tool: Tool, options: TargetOptions) -> tuple[str, list[Diagnostic]]:
        rule, name = self.facts.name, tool.exposed_name(self.id)
        if rule.accepts(name):
            return name, []
        override = tool.overrides.get(self.id)
        named_here = override is not None and override.name is not None
        part, below = ("x-toolgen", f"/targets/{self.id}/name") if named_here else ("name", "")
        why = _name_fault(rule, name)
        if not rule.hard:
            text = f"the name {name!r} {why}; the target may take it nonetheless"
            hint = f"names that match {rule.pattern} are safe"
            return name, [tool.problem("target-limit-weak", text, hint, part=part, below=below, target=self.id)]
        if options.names == "replace":
            other = rule.replacement(name)
            text = f"the name {name!r} {why}; it is registered as {other!r}"
            hint = f"give the name yourself with x-toolgen.targets.{self.id}.name"
            return other, [tool.problem("name-replaced", text, hint, part=part, below=below, target=self.id)]
        text = f"the name {name!r} {why}"
        hint = (
            f"rename the tool, give it another name there with x-toolgen.targets.{self.id}.name, "
            f'or set names = "replace"; allowed is {rule.pattern}'
        )
        return name, [tool.problem("target-name", text, hint, part=part, below=below, target=self.id)]

    def _description(self, exposed: Exposed) -> list[Diagnostic]:
        rule, tool = self.facts.description, exposed.tool
        if not exposed.description:
            if not rule.required:
                return []
            text = f"{self.title} requires a description and the tool has none"
            hint = f'add "description", or x-toolgen.targets.{self.id}.description'
            return [tool.problem("target-description", text, hint, part="description", target=self.id)]
        if rule.limit is None:
            return []
        return _over(tool, self.id, rule.limit, len(exposed.description), "description")

    def _settings(self, exposed: Exposed) -> list[Diagnostic]:
        """Settings of the spec that the target has no word for."""
        tool, found = exposed.tool, []
        if exposed.strict and not self.facts.has_strict:
            text = (
                "strict: this target has no strict mode; the schema is sent without it and arguments are checked here"
            )
            override = tool.overrides.get(self.id)
            below = "" if override is None or override.strict is None else f"/targets/{self.id}/strict"
            part = "x-toolgen" if below else "strict"
            found.append(tool.problem("loss", text, part=part, below=below, target=self.id))
        if tool.defer_loading and not self.facts.has_defer_loading:
            text = "defer_loading: the tool cannot be deferred on this target; it is registered like any other"
            beside = "defer_loading" in tool.origin.parts
            part, below = ("defer_loading", "") if beside else ("x-toolgen", "/defer_loading")
            found.append(tool.problem("loss", text, part=part, below=below, target=self.id))
        return found

    def _list_problem(self, limit: Limit, size: int, options: TargetOptions) -> Diagnostic:
        certain = limit.hard and not (limit.per_list and not options.toolset)
        about = f"the toolset {options.toolset!r} has" if options.toolset else "the catalog has"
        text = f"{about} {size:,} {limit.measure.value}, {self.title} takes {limit.maximum:,} ({limit.source})"
        hint = "register a part of the tools at a time (toolsets), or limit tools with x-toolgen.targets"
        if limit.measure not in (Measure.TOOLS, Measure.LIST):
            hint = f'{hint}, or take "strict" out of some'
        code, severity = ("target-limit", Severity.ERROR) if certain else ("target-limit-weak", Severity.WARNING)
        place = f"payloads/{self.id}.json"
        return Diagnostic(code, severity, place, None, "", text, hint, target=self.id)


def _name_fault(rule: NameRule, name: str) -> str:
    if not name:
        return "is empty"
    if len(name) > rule.max_length:
        return f"has {len(name)} characters, at most {rule.max_length} are allowed"
    shorter = dataclasses.replace(rule, first=rule.rest)
    if shorter.accepts(name):
        return f"may not start with {name[0]!r}"
    odd = dict.fromkeys(character for character in name if not shorter.accepts(character))
    return "holds " + " ".join(repr(character) for character in odd)


def _over(tool: Tool, target: str, limit: Limit, size: int, part: str) -> list[Diagnostic]:
    if size <= limit.maximum:
        return []
    text = f"{size:,} {limit.measure.value}, the limit is {limit.maximum:,} ({limit.evidence.value}: {limit.source})"
    code = "target-limit" if limit.hard else "target-limit-weak"
    return [tool.problem(code, text, "shorten it", part=part, target=target)]
