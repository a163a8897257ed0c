"""`toolgen lint`: find specs that cannot work, and mend what has only one mend."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from codegen.cli.options import CLEAN, FINDINGS, TROUBLE, Trouble, find_project
from codegen.cli.render import print_diagnostics, stops, summary
from codegen.diagnostics import Diagnostic, Report, Severity
from codegen.pipeline import lower_project
from codegen.project import Project

_MAX_ROUNDS = 20
"""How often --fix looks again: a mend may show what it hid, such as a type behind a misspelt keyword."""


@click.command()
@click.argument("specs", nargs=-1, type=click.Path(path_type=Path))
@click.option("-t", "--target", "targets", multiple=True, help="API to register the tools with, or `none`.")
@click.option("--fix", is_flag=True, help="Make the mends that are certain, in the spec files.")
@click.option("--strict", is_flag=True, help="Warnings count as errors.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("-q", "--quiet", is_flag=True, help="Print errors only.")
@click.pass_context
def lint(
    ctx: click.Context,
    specs: tuple[Path, ...],
    targets: tuple[str, ...],
    fix: bool,
    strict: bool,
    form: str,
    quiet: bool,
) -> None:
    """Check SPECS (files and folders) and write no package.

    Reports everything that a build would report about the specs and their targets. With --fix, misspelt keywords,
    words that are no types, quoted booleans and numbers, and `required` inside a property are mended in the files;
    everything else in them stays as it is, byte for byte. Exit codes: 0 clean (notes aside), 1 warnings, 2 usage or
    spec errors.
    """
    project = find_project(specs, None, None, targets, strict)
    base = Path.cwd()
    mended = _mend(project, base) if fix else []
    report = Report()
    tools = _examine(project, base, report)
    found = report.sorted()
    if form == "json":
        click.echo(json.dumps(_as_json(tools, found, mended), indent=2, ensure_ascii=False))
    else:
        _print(tools, found, mended, quiet)
    if stops(found, project.settings["strict"]):
        ctx.exit(TROUBLE)
    ctx.exit(FINDINGS if any(one.severity is Severity.WARNING for one in found) else CLEAN)


def _examine(project: Project, base: Path, report: Report) -> int:
    """Reads, checks and lowers the specs; the number of tools that came through."""
    from codegen.passes import run_passes
    from codegen.specs import read_catalog

    catalog = run_passes(read_catalog(project.specs, base=base, report=report), report)
    lower_project(project, catalog, report, base)
    return len(catalog)


def _mend(project: Project, base: Path) -> list[Diagnostic]:
    """Makes what mends can be made, until nothing is left to make; the problems that are gone."""
    from codegen.passes import run_passes
    from codegen.passes.fixing import fix_files
    from codegen.specs import read_catalog

    mended: list[Diagnostic] = []
    for _ in range(_MAX_ROUNDS):
        report = Report()
        run_passes(read_catalog(project.specs, base=base, report=report), report)
        try:
            fixed = fix_files(report.sorted(), base)
        except OSError as error:
            raise Trouble(f"{error.filename} cannot be mended: {error.strerror}") from error
        mended += fixed.made
        if not fixed.files:
            break
    return mended


def _print(tools: int, found: Sequence[Diagnostic], mended: Sequence[Diagnostic], quiet: bool) -> None:
    for one in mended:
        if not quiet:
            place = one.file if one.line is None else f"{one.file}:{one.line}"
            done = "; ".join(mend.told for mend in getattr(one, "mends", ()))
            click.echo(f"{place}: mended[{one.code}] {one.pointer}: {one.message}; {done}")
    print_diagnostics(found, quiet=quiet)
    if quiet:
        return
    told = summary(found) or "nothing to say"
    click.echo(f"{tools} tool{'s' if tools != 1 else ''}: {told}")
    mendable = sum(map(_is_mendable, found))
    if mendable and not mended:
        click.echo(f"{mendable} of them can be mended by toolgen lint --fix")


def _is_mendable(found: Diagnostic) -> bool:
    from codegen.passes.mend import Mendable

    return isinstance(found, Mendable)


def _as_json(tools: int, found: Sequence[Diagnostic], mended: Sequence[Diagnostic]) -> dict[str, Any]:
    counts = {f"{severity.value}s": sum(one.severity is severity for one in found) for severity in Severity}
    return {
        "tools": tools,
        "summary": counts,
        "mended": [_facts(one) for one in mended],
        "diagnostics": [{**_facts(one), "mendable": _is_mendable(one)} for one in found],
    }


def _facts(found: Diagnostic) -> dict[str, Any]:
    return {
        "code": found.code,
        "severity": found.severity.value,
        "file": found.file,
        "line": found.line,
        "pointer": found.pointer,
        "message": found.message,
        "hint": found.hint,
        "tool": found.tool,
        "target": found.target,
    }
