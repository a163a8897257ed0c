"""`toolgen targets`: what is known about each target, and how well."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from codegen.targets.interface import Limit, Target
from codegen.targets.registry import PluginError, registry


@click.command("targets")
@click.option("--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True)
def targets(form: str) -> None:
    """List the targets with their rules for names, their limits, and the evidence for each."""
    try:
        known = list(registry().values())
    except PluginError as error:
        raise click.ClickException(str(error)) from error
    if form == "json":
        click.echo(json.dumps([target_facts(target) for target in known], indent=2, ensure_ascii=False))
        return
    table = Table("Target", "Rule", "Evidence", "If broken", show_lines=False)
    for target in known:
        for index, row in enumerate(_rows(target)):
            table.add_row(target.id if index == 0 else "", *map(escape, row))
        table.add_section()
    Console().print(table)


def target_facts(target: Target) -> dict[str, Any]:
    """The facts of a target as JSON."""
    facts = target.facts
    description: dict[str, Any] = {
        "required": facts.description.required,
        "evidence": facts.description.evidence.value,
        "source": facts.description.source,
    }
    if facts.description.limit is not None:
        description["limit"] = _limit(facts.description.limit)
    return {
        "id": target.id,
        "title": target.title,
        "name": {
            "pattern": facts.name.pattern,
            "refused": facts.name.hard,
            "evidence": facts.name.evidence.value,
            "source": facts.name.source,
        },
        "description": description,
        "limits": [_limit(limit) for limit in facts.limits],
        "keywords": {
            keyword: {"treatment": rule.treatment.value, "reason": rule.reason}
            for keyword, rule in facts.keywords.items()
        },
        "strict": None if facts.strict is None else [_limit(limit) for limit in facts.strict.limits],
        "defer_loading": facts.defer_loading,
        "options": {option.name: list(option.choices) for option in facts.options},
    }


def _limit(limit: Limit) -> dict[str, Any]:
    return {
        "measure": limit.measure.value,
        "maximum": limit.maximum,
        "refused": limit.hard,
        "evidence": limit.evidence.value,
        "source": limit.source,
    }


def _rows(target: Target) -> Iterator[tuple[str, str, str]]:
    """Rule, evidence, what happens if it is broken."""
    facts = target.facts
    yield f"name {facts.name.pattern}", facts.name.evidence.value, _severity(facts.name.hard)
    description = facts.description
    need = "required" if description.required else "optional"
    yield f"description {need}", description.evidence.value, "error" if description.required else ""
    limits = [] if description.limit is None else [description.limit]
    limits += facts.limits
    for limit in limits:
        broken = _severity(limit.hard) + (" for a toolset" if limit.hard and limit.per_list else "")
        yield f"{limit.maximum:,} {limit.measure.value}", limit.evidence.value, broken
    if facts.strict is not None:
        yield "strict mode", "", ""
        for limit in facts.strict.limits:
            yield f"  {limit.maximum:,} {limit.measure.value}", limit.evidence.value, _severity(limit.hard)
    if facts.defer_loading:
        yield "defer_loading", "", ""
    for option in facts.options:
        yield f"option {option.name} = {' | '.join(option.choices)}", "", ""


def _severity(hard: bool) -> str:
    return "error" if hard else "warning"
