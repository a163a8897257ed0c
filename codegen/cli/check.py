"""`toolgen check`: what a build would change, without changing it."""

from __future__ import annotations

import gc
from pathlib import Path

import click

from codegen.cli.options import CLEAN, FINDINGS, Trouble, find_project, project_options
from codegen.cli.render import print_diagnostics, stops, summary
from codegen.diagnostics import Report
from codegen.pipeline import compile_package, is_current
from codegen.publish import Kind, PublishError, drift, locked

_COMPARED = (Kind.CHANGED, Kind.EDITED)
"""What has a difference worth reading; of a missing file all would be new."""


@click.command()
@project_options
@click.option("--diff-lines", default=20, show_default=True, help="Lines of difference shown for a file.")
@click.pass_context
def check(
    ctx: click.Context,
    specs: tuple[Path, ...],
    output: Path | None,
    package: str | None,
    targets: tuple[str, ...],
    strict: bool,
    quiet: bool,
    diff_lines: int,
) -> None:
    """Compare the package with what SPECS would give now, and write nothing.

    Lists files that are missing, out of date, orphaned or edited by hand, each with a short difference. Exit codes: 0
    clean, 1 drift or findings, 2 usage or spec errors.
    """
    gc.disable()  # a short life with many small values: collecting them costs a fifth of the time
    project = find_project(specs, output, package, targets, strict)
    strict = project.settings["strict"]
    shown = _shown(project.output)
    try:
        with locked(project.output, shared=True):
            if not strict and is_current(project):
                if not quiet:
                    click.echo(f"{shown}: up to date")
                ctx.exit(CLEAN)
            report = Report()
            made = compile_package(project, report, Path.cwd())
            found = report.sorted()
            print_diagnostics(found, quiet=quiet)
            if made is None or stops(found, strict):
                raise Trouble(f"the specs do not compile: {summary(found)}")
            difference = drift(project.output, made)
    except PublishError as error:
        raise Trouble(str(error)) from error
    print_diagnostics(difference.diagnostics, quiet=quiet)
    for finding in difference.findings:
        if finding.kind.counts or not quiet:
            click.echo(f"{shown}/{finding.path}: {finding.kind.value}")
        if finding.kind in _COMPARED and not quiet:
            for line in finding.diff(diff_lines):
                click.echo(f"    {line}")
    if difference.clean:
        if not quiet:
            click.echo(f"{shown}: up to date")
        ctx.exit(CLEAN)
    click.echo(f"{shown}: run toolgen build", err=True)
    ctx.exit(FINDINGS)


def _shown(path: Path) -> str:
    try:
        return path.relative_to(Path.cwd()).as_posix()
    except ValueError:
        return path.as_posix()
