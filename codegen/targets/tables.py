"""The facts of targets as tables for people: rows for the terminal, a section of Markdown for the documentation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from codegen.targets.interface import KeywordRule, Limit, NameRule, Target, Treatment

OTHERS: Final = "all others"
"""Stands for the keywords that a table does not name."""


class Row(NamedTuple):
    """One rule of a target."""

    rule: str
    evidence: str
    broken: str
    """What happens to a tool that breaks it; empty where nothing can be broken."""
    source: str
    pattern: str = ""
    """The regular expression of a rule for names."""
    strict: bool = False
    """Whether the rule is one of strict mode alone."""

    @property
    def text(self) -> str:
        """The whole rule on one line."""
        return f"{'  ' if self.strict else ''}{self.rule}{f' {self.pattern}' if self.pattern else ''}"


def rules(target: Target) -> Iterator[Row]:
    """All rules of a target but those for keywords."""
    facts = target.facts
    yield _name_row("name", facts.name, _severity(facts.name.hard))
    if facts.properties is not None:
        yield _name_row("property", facts.properties, "renamed")
    description = facts.description
    need, broken = ("required", "error") if description.required else ("optional", "")
    yield Row(f"description {need}", description.evidence.value, broken, description.source)
    if description.limit is not None:
        yield _limit_row(description.limit)
    yield from map(_limit_row, facts.limits)
    if facts.strict is not None:
        yield Row("strict mode", "", "", facts.strict.source)
        for limit in facts.strict.limits:
            yield _limit_row(limit)._replace(strict=True)
    if facts.defer_loading:
        yield Row("defer_loading", "", "", "")
    for option in facts.options:
        yield Row(f"option {option.name} = {' | '.join(option.choices)}", "", "", option.meaning)


def keywords(target: Target) -> Iterator[tuple[KeywordRule, list[str]]]:
    """The keywords of each rule that is more than keeping them, by treatment; kept ones where all others are not."""
    facts = target.facts
    groups: dict[KeywordRule, list[str]] = {}
    for keyword, rule in facts.keywords.items():
        groups.setdefault(rule, []).append(keyword)
    groups.setdefault(facts.other_keywords, []).append(OTHERS)
    whole = facts.other_keywords.treatment is not Treatment.KEPT
    order = list(Treatment)
    for rule in sorted(groups, key=lambda rule: order.index(rule.treatment)):
        if whole or rule.treatment is not Treatment.KEPT:
            yield rule, groups[rule]


def markdown(targets: Iterable[Target]) -> str:
    """A section for each target: its rules, and what becomes of keywords."""
    return "\n".join(line for target in targets for line in _section(target))


def _section(target: Target) -> Iterator[str]:
    yield f"### `{target.id}`: {target.title}"
    yield ""
    yield "| Rule | Evidence | If broken | Source |"
    yield "|---|---|---|---|"
    for row in rules(target):
        rule = ("strict: " if row.strict else "") + row.rule + (f" `{row.pattern}`" if row.pattern else "")
        yield _cells(rule, row.evidence, row.broken, row.source)
    yield ""
    groups = list(keywords(target))
    if not groups:
        yield "All keywords are kept."
    else:
        yield "| Keywords | Treatment | Reason |"
        yield "|---|---|---|"
        for kept, names in groups:
            shown = ", ".join(name if name == OTHERS else f"`{name}`" for name in names)
            yield _cells(shown, kept.treatment.value, kept.reason)
    yield ""


def _cells(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _name_row(what: str, rule: NameRule, broken: str) -> Row:
    return Row(what, rule.evidence.value, broken, rule.source, rule.pattern)


def _limit_row(limit: Limit) -> Row:
    broken = _severity(limit.hard) + (" for a toolset" if limit.hard and limit.per_list else "")
    return Row(f"{limit.maximum:,} {limit.measure.value}", limit.evidence.value, broken, limit.source)


def _severity(hard: bool) -> str:
    return "error" if hard else "warning"
