"""`toolgen build`: compile specs and publish the package."""

from __future__ import annotations

import gc
from pathlib import Path

import click

from codegen.cli.options import CLEAN, FINDINGS, TROUBLE, Trouble, find_project, project_options
from codegen.cli.render import print_diagnostics, stops, summary
from codegen.diagnostics import Report
from codegen.pipeline import compile_package, is_current
from codegen.publish import PublishError, locked, plan, publish


@click.command()
@project_options
@click.option("--exit-code", is_flag=True, help="Exit with 1 when files changed, for hooks.")
@click.pass_context
def build(
    ctx: click.Context,
    specs: tuple[Path, ...],
    output: Path | None,
    package: str | None,
    targets: tuple[str, ...],
    strict: bool,
    quiet: bool,
    exit_code: bool,
) -> None:
    """Compile SPECS (files and folders) into a Python package.

    Everything is checked first and every problem is reported at once; with an error, nothing is written. Exit codes: 0
    done, 1 files changed and --exit-code was given, 2 usage or spec errors.
    """
    gc.disable()  # a short life with many small values: collecting them costs a fifth of the time
    project = find_project(specs, output, package, targets, strict)
    base = Path.cwd()
    strict = project.settings["strict"]
    try:
        # From the first look at the last build on: a build of a part takes over what the others left.
        with locked(project.output, waiting=_waiting):
            if not strict and is_current(project):
                if not quiet:
                    click.echo(f"{_shown(project.output)}: up to date")
                ctx.exit(CLEAN)
            report = Report()
            made = compile_package(project, report, base)
            found = report.sorted()
            print_diagnostics(found, quiet=quiet)
            if made is None or stops(found, strict):
                raise Trouble(f"nothing was written: {summary(found)}")
            planned = plan(project.output, made)
            print_diagnostics(planned.diagnostics, quiet=quiet)
            if planned.blocked:
                ctx.exit(TROUBLE)
            publish(project.output, planned)
    except PublishError as error:
        raise Trouble(str(error)) from error
    if not quiet:
        _tell(project.output, len(made.tools), planned)
    ctx.exit(FINDINGS if exit_code and planned.changes else CLEAN)


def _waiting() -> None:
    click.echo("waiting for another build of the same package", err=True)


def _tell(output: Path, tools: int, planned: object) -> None:
    from codegen.publish import Plan

    assert isinstance(planned, Plan)
    counts = {
        "created": len(planned.created) + len(planned.stubs),
        "changed": len(planned.changed) + len(planned.edited),
        "removed": len(planned.removed),
        "unchanged": len(planned.unchanged),
    }
    words = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    click.echo(f"{_shown(output)}: {tools} tool{'s' if tools != 1 else ''}; files: {words}")
    for stub in planned.stubs:
        if not stub.endswith("__init__.py"):
            click.echo(f"  write the handler: {_shown(output / stub)}")


def _shown(path: Path) -> str:
    try:
        return path.relative_to(Path.cwd()).as_posix()
    except ValueError:
        return path.as_posix()
