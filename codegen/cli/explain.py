"""`toolgen explain`: how one tool becomes what a target is sent, step by step."""

from __future__ import annotations

import difflib
import enum
import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from codegen.cli.options import Trouble, find_project
from codegen.cli.render import print_diagnostics, printable
from codegen.diagnostics import Diagnostic, Report, Severity
from codegen.specs.tool import Catalog, Tool
from codegen.targets.interface import Lowered, Step, Target

SIDE_BY_SIDE: Final = 100
"""Columns that a terminal needs for two schemas beside each other; else they stand below each other."""
CONTEXT: Final = 2
"""Unchanged lines that are shown around a change."""

_BEFORE, _AFTER, _GONE = "red", "green", "dim"


@dataclass(frozen=True, slots=True)
class Explained:
    """One tool on one target."""

    target: Target
    lowered: Lowered
    description: str | None
    """What the target shows the model."""

    @property
    def aside(self) -> list[Diagnostic]:
        """Problems that no step reported: those of the name, the description, settings and sizes."""
        told = {problem for step in self.lowered.steps for problem in step.problems}
        return [problem for problem in self.lowered.diagnostics if problem not in told]

    @property
    def size(self) -> int:
        """Bytes of the entry as compact JSON."""
        from codegen.targets.standard import compact_size

        return compact_size(self.lowered.entry)


@click.command()
@click.argument("tool")
@click.argument("specs", nargs=-1, type=click.Path(path_type=Path))
@click.option("-t", "--target", "targets", multiple=True, help="API to explain, in place of those of the project.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def explain(tool: str, specs: tuple[Path, ...], targets: tuple[str, ...], form: str) -> None:
    """Show how TOOL becomes what each API is sent: the schema before and after each step, with reasons and losses.

    SPECS are files and folders; without them the project's own are read. Exit codes: 0 shown, 2 usage or spec errors.
    """
    from codegen.targets import PluginError

    project = find_project(specs, None, None, targets, False)
    report = Report()
    try:
        found = _find(tool, _catalog(project.specs, report), project.targets, report)
        explained = [_lower(found, target, project) for target in _targets(found, project.targets, bool(targets))]
    except PluginError as error:
        raise Trouble(str(error)) from error
    if form == "json":
        click.echo(json.dumps(as_json(found, explained), indent=2, ensure_ascii=False))
        return
    write_text(found, explained, Console(highlight=False, soft_wrap=False))


def as_json(tool: Tool, explained: Iterable[Explained]) -> dict[str, Any]:
    """The explanation for machines."""
    return {
        "tool": tool.name,
        "file": tool.origin.source.path,
        "pointer": tool.origin.pointer,
        "source": tool.parameters,
        "targets": [_target_json(one) for one in explained],
    }


def _target_json(one: Explained) -> dict[str, Any]:
    return {
        "target": one.target.id,
        "title": one.target.title,
        "name": one.lowered.name,
        "description": one.description,
        "bytes": one.size,
        "entry": one.lowered.entry,
        "read_back": dict(one.lowered.read_back),
        "problems": [_problem_json(problem) for problem in one.lowered.diagnostics],
        "steps": [
            {
                "name": step.name,
                "reason": step.reason,
                "changed": step.changed,
                "losses": [_problem_json(problem) for problem in step.problems],
                "rewritten": [{"pointer": remark.pointer, "message": remark.message} for remark in step.rewritten],
                "schema": step.schema,
            }
            for step in one.lowered.steps
        ],
    }


def _problem_json(problem: Diagnostic) -> dict[str, Any]:
    return {
        "code": problem.code,
        "severity": problem.severity.value,
        "file": problem.file,
        "pointer": problem.pointer,
        "message": problem.message,
        "hint": problem.hint,
    }


def write_text(tool: Tool, explained: Iterable[Explained], console: Console) -> None:
    """The explanation for people. Two columns on a wide terminal; plain lines, one below the other, elsewhere."""
    paper = _Paper(console)
    paper.source(tool)
    for one in explained:
        paper.target(tool, one)


class _Paper:
    def __init__(self, console: Console) -> None:
        self._console = console
        self._beside = console.is_terminal and console.width >= SIDE_BY_SIDE

    def line(self, text: str, style: str = "") -> None:
        """A line of its own. No markup and no control characters: what comes from a spec is text."""
        self._console.print(Text(printable(text), style), soft_wrap=not self._console.is_terminal)

    def source(self, tool: Tool) -> None:
        self.line(f"{tool.name}  ({tool.origin.source.path})", "bold")
        if not self._beside:
            self.line("  in the spec", "bold")
            self._lines("    ", _lines(tool.parameters))

    def target(self, tool: Tool, one: Explained) -> None:
        lowered = one.lowered
        self.line("")
        self.line(f"{one.target.title} ({one.target.id})", "bold underline")
        self.line(f"  name         {_quoted(lowered.name)}")
        self.line(f"  description  {_quoted(one.description) if one.description else 'none'}")
        self.line(f"  size         {one.size:,} bytes as compact JSON")
        if lowered.read_back:
            self.line(f"  read back    {_compact(lowered.read_back)}")
        losses = sum(problem.code == "loss" for problem in lowered.diagnostics)
        self.line(f"  losses       {losses or 'none'}")
        for problem in one.aside:
            self._problem(problem)
        self.line("")
        if self._beside:
            both = Block(Block.Kind.SAME, _lines(tool.parameters), _lines(lowered.entry))
            self._table("in the spec", "as it is sent", [both])
        else:
            self.line("  as it is sent", "bold")
            self._lines("    ", _lines(lowered.entry))
        if not lowered.steps:
            self.line("")
            self.line("  The schema is sent as it is in the spec.")
        before: Any = tool.parameters
        for number, step in enumerate(lowered.steps, 1):
            self._step(number, step, before)
            before = step.schema

    def _step(self, number: int, step: Step, before: Any) -> None:
        self.line("")
        self.line(f"  step {number}: {step.name}" + ("" if step.changed else " (changes nothing)"), "bold")
        self.line(f"  {step.reason}")
        for problem in step.problems:
            self._problem(problem)
        for remark in step.rewritten:
            self.line(f"  said otherwise {remark.pointer}: {remark.message}")
        if not step.changed:
            return
        blocks = _blocks(_lines(before), _lines(step.schema))
        if self._beside:
            self._table("before", "after", blocks)
            return
        for block in blocks:
            if block.kind is Block.Kind.LEFT_OUT:
                self.line("    …", _GONE)
            elif block.kind is Block.Kind.SAME:
                self._lines("      ", block.left)
            else:
                self._lines("    - ", block.left, _BEFORE)
                self._lines("    + ", block.right, _AFTER)

    def _problem(self, problem: Diagnostic) -> None:
        kind = "loss" if problem.code == "loss" else f"{problem.severity.value}[{problem.code}]"
        self.line(f"  {kind} {problem.pointer}: {problem.message}", "yellow")

    def _lines(self, margin: str, lines: Iterable[str], style: str = "") -> None:
        for line in lines:
            self.line(f"{margin}{line}", style)

    def _table(self, left: str, right: str, blocks: Iterable[Block]) -> None:
        table = Table(left, right, expand=True, pad_edge=False)
        for column in table.columns:
            column.ratio = 1
            column.overflow = "fold"
        for block in blocks:
            if block.kind is Block.Kind.LEFT_OUT:
                table.add_row(Text("…", _GONE), Text("…", _GONE))
                continue
            styles = (_BEFORE, _AFTER) if block.kind is Block.Kind.CHANGED else ("", "")
            for pair in itertools.zip_longest(block.left, block.right, fillvalue=""):
                table.add_row(*(Text(printable(line), style) for line, style in zip(pair, styles, strict=True)))
        self._console.print(table)


@dataclass(frozen=True, slots=True)
class Block:
    """Lines of two texts that stand beside each other."""

    class Kind(enum.Enum):
        SAME = enum.auto()
        CHANGED = enum.auto()
        LEFT_OUT = enum.auto()
        """Same lines, of which there are too many to show."""

    kind: Kind
    left: Sequence[str] = ()
    right: Sequence[str] = ()


def _blocks(left: Sequence[str], right: Sequence[str]) -> Iterator[Block]:
    """What differs between two texts, with `CONTEXT` lines around it."""
    end = 0
    for group in difflib.SequenceMatcher(None, left, right, autojunk=False).get_grouped_opcodes(CONTEXT):
        if group[0][1] > end:
            yield Block(Block.Kind.LEFT_OUT)
        for tag, a, b, c, d in group:
            yield Block(Block.Kind.SAME if tag == "equal" else Block.Kind.CHANGED, left[a:b], right[c:d])
        end = group[-1][2]
    if end < len(left):
        yield Block(Block.Kind.LEFT_OUT)


def _lines(value: Any) -> list[str]:
    return json.dumps(value, indent=2, ensure_ascii=False).split("\n")


def _quoted(text: str) -> str:
    """JSON text, which stays on one line."""
    return json.dumps(text, ensure_ascii=False)


def _compact(value: Any) -> str:
    return json.dumps(dict(value), ensure_ascii=False)


def _catalog(specs: tuple[Path, ...], report: Report) -> Catalog:
    from codegen.passes import run_passes
    from codegen.specs import read_catalog

    return run_passes(read_catalog(specs, base=Path.cwd(), report=report), report)


def _find(name: str, catalog: Catalog, targets: Sequence[str], report: Report) -> Tool:
    """The tool of a wire name, or of the name that one of the targets shows."""
    named = [tool for tool in catalog if tool.name == name]
    named += [tool for tool in catalog if any(name in _shown_names(tool, target) for target in targets)]
    errors = [found for found in report.sorted() if found.severity is Severity.ERROR]
    about = [found for found in errors if found.tool == (named[0].name if named else name)]
    if named and not about:
        return named[0]
    print_diagnostics(about or errors)
    if about:
        raise Trouble(f"the tool {name!r} has errors: nothing can be lowered")
    near = difflib.get_close_matches(name, catalog.names(), n=3)
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are {len(catalog)} tools"
    raise Trouble(f"there is no tool {name!r}: {hint}")


def _shown_names(tool: Tool, target: str) -> tuple[str, ...]:
    """The names that a target may show for a tool: the one of the spec, and what stands for one that it refuses."""
    from codegen.targets import registry

    known, name = registry(), tool.exposed_name(target)
    if target not in known or known[target].facts.name.accepts(name):
        return (name,)
    return name, known[target].facts.name.replacement(name)


def _targets(tool: Tool, ids: Sequence[str], asked: bool) -> list[Target]:
    """The targets to explain: those that the tool is registered with. A mistake in what was asked ends the command."""
    from codegen.targets import registry

    known = registry()
    for name in ids:
        if name not in known:
            near = difflib.get_close_matches(name, list(known), n=3)
            hint = f"did you mean {' or '.join(near)}? " if near else ""
            raise Trouble(f"there is no target {name!r}: {hint}known targets are {', '.join(known)}")
    chosen = [name for name in dict.fromkeys(ids) if tool.is_registered(name)]
    for name in dict.fromkeys(ids):
        if asked and name not in chosen:
            raise Trouble(f"the tool {tool.name!r} is not registered with {name!r}: its x-toolgen.targets says so")
    return [known[name] for name in chosen]


def _lower(tool: Tool, target: Target, project: Any) -> Explained:
    from codegen.pipeline import lowering_options
    from codegen.targets import lower_tool

    lowered = lower_tool(target, tool, lowering_options(project, explain=True))
    return Explained(target, lowered, tool.exposed_description(target.id))
