"""`toolgen targets`: what is known about each target, and how well; and how large the tools of a project are there."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from codegen.cli.options import TROUBLE, Trouble, find_project
from codegen.cli.render import printable
from codegen.targets.interface import Limit, NameRule, Target
from codegen.targets.registry import PluginError, registry
from codegen.targets.tables import markdown, rules

if TYPE_CHECKING:
    from codegen.targets.sizes import Size, Sizes


@click.command("targets")
@click.argument("specs", nargs=-1, type=click.Path(path_type=Path))
@click.option("--sizes", is_flag=True, help="Bytes and estimated tokens of each tool; of the project without SPECS.")
@click.option("-t", "--target", "chosen", multiple=True, help="Only this target; may be repeated.")
@click.option("--format", "form", type=click.Choice(["table", "json", "markdown"]), default="table")
@click.pass_context
def targets(ctx: click.Context, specs: tuple[Path, ...], sizes: bool, chosen: tuple[str, ...], form: str) -> None:
    """List the targets with their rules for names, their limits, and the evidence for each.

    With SPECS or --sizes: what the tools take there, in bytes of compact JSON and in tokens. The tokens are an
    estimate, four bytes each: models count otherwise, and most APIs put tools into words of their own. Exit codes: 0
    done, 2 usage or spec errors.
    """
    try:
        if specs or sizes:
            _show_sizes(ctx, specs, chosen, form)
            return
        known = registry()
        unknown = [name for name in chosen if name not in known]
        if unknown:
            raise Trouble(f"there is no target {unknown[0]!r}; known targets: {', '.join(known)}")
        listed = [target for name, target in known.items() if not chosen or name in chosen]
    except PluginError as error:
        raise Trouble(str(error)) from error
    if form == "json":
        click.echo(json.dumps([target_facts(target) for target in listed], indent=2, ensure_ascii=False))
        return
    if form == "markdown":
        click.echo(markdown(listed), nl=False)
        return
    table = Table("Target", "Rule", "Evidence", "If broken", show_lines=False)
    for target in listed:
        for index, row in enumerate(rules(target)):
            cells = map(escape, (row.text, row.evidence, row.broken))
            table.add_row(target.id if index == 0 else "", *cells)
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
        "name": _name(facts.name),
        "properties": None if facts.properties is None else _name(facts.properties),
        "description": description,
        "limits": [_limit(limit) for limit in facts.limits],
        "keywords": {
            keyword: {"treatment": rule.treatment.value, "reason": rule.reason}
            for keyword, rule in facts.keywords.items()
        },
        "other_keywords": {
            "treatment": facts.other_keywords.treatment.value,
            "reason": facts.other_keywords.reason,
        },
        "strict": None if facts.strict is None else [_limit(limit) for limit in facts.strict.limits],
        "defer_loading": facts.defer_loading,
        "options": {option.name: list(option.choices) for option in facts.options},
    }


def _name(rule: NameRule) -> dict[str, Any]:
    return {
        "pattern": rule.pattern,
        "refused": rule.hard,
        "evidence": rule.evidence.value,
        "source": rule.source,
    }


def _limit(limit: Limit) -> dict[str, Any]:
    return {
        "measure": limit.measure.value,
        "maximum": limit.maximum,
        "refused": limit.hard,
        "per_list": limit.per_list,
        "evidence": limit.evidence.value,
        "source": limit.source,
    }


def _show_sizes(ctx: click.Context, specs: tuple[Path, ...], chosen: tuple[str, ...], form: str) -> None:
    """Prints what the tools of the specs take on each target. Errors in the specs end the command."""
    from codegen.cli.render import print_diagnostics
    from codegen.diagnostics import Report
    from codegen.passes import run_passes
    from codegen.pipeline import lower_project
    from codegen.specs import read_catalog
    from codegen.targets.sizes import sizes_of

    project = find_project(specs, None, None, chosen, strict=False)
    base, report = Path.cwd(), Report()
    catalog = run_passes(read_catalog(project.specs, base=base, report=report), report)
    payloads, toolsets = lower_project(project, catalog, report, base)
    if report.has_errors:
        print_diagnostics(report.sorted(), quiet=True)
        ctx.exit(TROUBLE)
    found = {target: sizes_of(payload) for target, payload in payloads.items()}
    if form == "json":
        click.echo(json.dumps(_as_json(found, toolsets), indent=2, ensure_ascii=False))
    else:
        Console().print(_sizes_table(catalog.names(), found, toolsets))


def _as_json(sizes: Mapping[str, Sizes], toolsets: Mapping[str, Sequence[str]]) -> list[dict[str, Any]]:
    return [
        {
            "id": target,
            "total": _size(of_target.total),
            "tools": {name: _size(size) for name, size in of_target.tools.items()},
            "toolsets": {name: _size(of_target.of(members)) for name, members in toolsets.items()},
        }
        for target, of_target in sizes.items()
    ]


def _size(size: Size) -> dict[str, int]:
    return {"bytes": size.bytes, "estimated_tokens": size.tokens}


def _sizes_table(names: Sequence[str], sizes: Mapping[str, Sizes], toolsets: Mapping[str, Sequence[str]]) -> Table:
    table = Table("Tool", *(f"{target}" for target in sizes), caption="bytes, ~estimated tokens (4 bytes each)")
    for column in table.columns[1:]:
        column.justify = "right"
    for name in names:
        cells = [of_target.tools.get(name) for of_target in sizes.values()]
        table.add_row(escape(printable(name)), *("" if size is None else _shown(size) for size in cells))
    table.add_section()
    for toolset, members in toolsets.items():
        table.add_row(escape(f"toolset {toolset}"), *(_shown(one.of(members)) for one in sizes.values()))
    table.add_row("all", *(_shown(one.total) for one in sizes.values()))
    return table


def _shown(size: Size) -> str:
    return f"{size.bytes:,} ~{size.tokens:,}"
