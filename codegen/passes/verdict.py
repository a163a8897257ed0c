"""What is found out about a schema: which kinds of values it can have, and why it cannot have the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from codegen.passes import kinds as k

Key: TypeAlias = tuple[str, ...]
"""Pointers of subschemas that hold for a value at once."""


@dataclass(frozen=True, slots=True)
class Reason:
    """Why values of some kinds cannot be."""

    kinds: int
    text: str
    """A clause such as "`minLength` 5 is more than `maxLength` 3"."""
    culprit: str
    """Pointer of the keyword that does it, of the last one where several do."""
    hint: str = ""
    inner: Key = ()
    """The schemas of a required value inside that cannot be, where that is the reason."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is possible."""

    kinds: int
    reasons: tuple[Reason, ...] = ()
    """For the kinds that the schemas speak of and that cannot be."""
    values: tuple[Any, ...] | None = None
    """The values themselves, where they are listed. All of them, and perhaps some that cannot be."""
    intended: bool = False
    """Whether the schema is `false` or the like: whoever wrote it knew that it allows nothing."""

    @property
    def count(self) -> int | None:
        """An upper bound on the number of different values; None where there is none."""
        if self.values is not None:
            return len({k.identity(value) for value in self.values})
        if self.kinds & ~(k.NULL | k.BOOLEAN):
            return None
        return (1 if self.kinds & k.NULL else 0) + (2 if self.kinds & k.BOOLEAN else 0)


EVERYTHING = Verdict(k.ALL)
"""Nothing is ruled out."""
