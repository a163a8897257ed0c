"""Mends that a program can make, and the diagnostics that carry them.

A mend is said in terms of the document, not of its text: `codegen.passes.fixing` works out which characters change.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

from codegen.diagnostics import Diagnostic


@dataclass(frozen=True, slots=True)
class Replace:
    """The value becomes another one. `text` is that value as JSON, spelled as it is to stand in the file."""

    text: str
    below: str = ""
    """Pointer of the value, from the place of the diagnostic."""

    @property
    def value(self) -> Any:
        return json.loads(self.text)

    @property
    def told(self) -> str:
        return f"now {self.text}"


@dataclass(frozen=True, slots=True)
class Remove:
    """The member of an object goes."""

    below: str = ""

    @property
    def told(self) -> str:
        return "removed"


@dataclass(frozen=True, slots=True)
class Rename:
    """The member of an object gets another key; its value and its position stay."""

    key: str
    below: str = ""

    @property
    def told(self) -> str:
        return f"now `{self.key}`"


@dataclass(frozen=True, slots=True)
class Require:
    """`required` inside the schema of a property goes; the object around it requires that property instead.

    The place is that of the member `required`, at `…/properties/<name>/required`.
    """

    below: str = ""

    @property
    def told(self) -> str:
        return "now in `required` of the object"


Mend: TypeAlias = Replace | Remove | Rename | Require


@dataclass(frozen=True, slots=True)
class Mendable(Diagnostic):
    """A diagnostic with the mends that make it go away."""

    mends: tuple[Mend, ...] = ()


def with_mends(problem: Diagnostic, *mends: Mend) -> Diagnostic:
    """`problem` with its mends; unchanged where there are none."""
    if not mends:
        return problem
    return Mendable(**{each.name: getattr(problem, each.name) for each in fields(problem)}, mends=mends)
