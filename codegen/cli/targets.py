"""`toolgen targets`: what is known about each target, and how well."""

from __future__ import annotations

import json
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from codegen.targets.interface import Limit, Target
from codegen.targets.registry import PluginError, registry


@click.command("targets")
@click.option("--format", "form", type=click.Choice(["table", "json"]), default="table", show_default=True)
def targets_command(form: str) -> None:
    """List the targets with their rules for names, their limits, and the evidence for each."""
    try:
        targets = list(registry().values())
    except PluginError as error:
        raise click.ClickException(str(error)) from error
    if form == "json":
        click.echo(json.dumps([target_facts(target) for target in targets], indent=2, ensure_ascii=False))
        return
    table = Table(show_lines=True)
    for title in ("Target", "Names", "Description", "Limits", "Modes"):
        table.add_column(title, overflow="fold")
    for target in targets:
        table.add_row(*_row(target))
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


def _row(target: Target) -> tuple[str, str, str, str, str]:
    facts = target.facts
    limits = list(facts.limits) if facts.strict is None else [*facts.limits, *facts.strict.limits]
    description = ("required" if facts.description.required else "optional") + f" ({facts.description.evidence.value})"
    if facts.description.limit is not None:
        description += "\n" + _line(facts.description.limit)
    modes = [name for name, has in (("strict", facts.has_strict), ("defer_loading", facts.has_defer_loading)) if has]
    modes += [f"{option.name}: {' | '.join(option.choices)}" for option in facts.options]
    return (
        f"{target.id}\n{target.title}",
        f"{facts.name.pattern} ({facts.name.evidence.value})".replace("[", r"\["),
        description,
        "\n".join(map(_line, limits)),
        "\n".join(modes),
    )


def _line(limit: Limit) -> str:
    return f"{limit.maximum:,} {limit.measure.value} ({limit.evidence.value})"
