"""What `build` and `check` have in common: their arguments, the project they mean, and exit codes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from codegen.project import ConfigError, Project, load_project

CLEAN, FINDINGS, TROUBLE = 0, 1, 2
"""Exit codes: nothing to say; drift or findings; usage or spec errors."""

F = TypeVar("F", bound=Callable[..., Any])


def project_options(command: F) -> F:
    """Adds the arguments that say what to compile, and to where."""
    decorators = (
        click.argument("specs", nargs=-1, type=click.Path(path_type=Path)),
        click.option("-o", "--output", type=click.Path(path_type=Path), help="Folder of the package."),
        click.option("--package", help="Import name of the package, where it is not the folder's."),
        click.option("-t", "--target", "targets", multiple=True, help="API to register the tools with, or `none`."),
        click.option("--strict", is_flag=True, help="Warnings count as errors."),
        click.option("-q", "--quiet", is_flag=True, help="Print errors only."),
    )
    for decorate in reversed(decorators):
        command = decorate(command)
    return command


def find_project(
    specs: tuple[Path, ...], output: Path | None, package: str | None, targets: tuple[str, ...], strict: bool
) -> Project:
    """The project that the arguments mean. A mistake in them or in the configuration ends the command."""
    try:
        project = load_project(specs, output=output, package=package, targets=targets)
    except ConfigError as error:
        raise Trouble(str(error)) from error
    if strict:
        return dataclasses.replace(project, settings={**project.settings, "strict": True})
    return project


class Trouble(click.ClickException):
    """Ends a command with exit code 2 and one message."""

    exit_code = TROUBLE
