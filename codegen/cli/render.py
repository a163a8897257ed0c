"""Printing problems: in colour on a terminal, plain elsewhere, always complete."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Sequence

import click

from codegen.diagnostics import Diagnostic, Severity

_APART = frozenset({"target-name", "name-replaced"})
"""Problems with a line for each target even in the same words: each has a mend of its own."""

_COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}


def print_diagnostics(diagnostics: Iterable[Diagnostic], *, quiet: bool = False) -> None:
    """Each problem on standard error: place, weight, code, pointer, message, hint. `quiet` leaves errors only.

    What is true of several targets in the same words is said once, at the place of the first; not so for names.
    """
    groups: dict[Diagnostic, list[Diagnostic]] = {}
    for found in diagnostics:
        if found.code in _APART:
            groups[found] = [found]
            continue
        hint = found.hint.replace(f".{found.target}.", ".<id>.") if found.target else found.hint
        groups.setdefault(dataclasses.replace(found, target="", hint=hint), []).append(found)
    for same, group in groups.items():
        found = same if len(group) > 1 else group[0]
        named = [one.target for one in group if one.target]
        if quiet and found.severity is not Severity.ERROR:
            continue
        place = found.file if found.line is None else f"{found.file}:{found.line}"
        kind = click.style(f"{found.severity.value}[{found.code}]", fg=_COLOURS[found.severity], bold=True)
        pointer, message, hint = printable(found.pointer), _printable_lines(found.message), _printable_lines(found.hint)
        about = " ".join(text for text in (pointer, f"({', '.join(named)})" if named else "") if text)
        click.echo(f"{printable(place)}: {kind}{' ' + about if about else ''}: {message}", err=True)
        if hint:
            click.echo(f"    {click.style('hint:', dim=True)} {hint}", err=True)


def printable(text: str) -> str:
    """`text` on one line, with each character as JSON escapes it that a terminal would obey or not show.

    Names and pointers come from specs, which are not always written by friends.
    """
    if text.isprintable():
        return text
    return "".join(character if character.isprintable() else _escaped(character) for character in text)


def _printable_lines(text: str) -> str:
    return "\n".join(map(printable, text.split("\n")))


def _escaped(character: str) -> str:
    return "\\u007f" if character == "\x7f" else json.dumps(character)[1:-1]


def summary(diagnostics: Sequence[Diagnostic]) -> str:
    """`2 errors, 1 warning`; empty when there is nothing."""
    counts = {severity: sum(d.severity is severity for d in diagnostics) for severity in Severity}
    return ", ".join(f"{n} {s.value}{'s' if n > 1 else ''}" for s, n in counts.items() if n)


def stops(diagnostics: Iterable[Diagnostic], strict: bool) -> bool:
    """Whether these problems stop a build."""
    grave = (Severity.ERROR, Severity.WARNING) if strict else (Severity.ERROR,)
    return any(found.severity in grave for found in diagnostics)
