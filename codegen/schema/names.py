"""The one place where names from specs become Python identifiers.

A wire name that is a legal Python name, hides nothing and does not end in `_` is kept. Every other becomes its slug
plus `_`, which no kept name can be; clashes get `_2`, `_3` in spec order. Names are given out in order and never taken
back, so a name added at the end changes no other.

`Identifier` is made here only: what carries that type may stand in code.
"""

from __future__ import annotations

import hashlib
import keyword
import unicodedata
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Final, NewType

from codegen.schema.reserved import RESERVED_CLASSES, RESERVED_FIELDS, RESERVED_FILES, RESERVED_TOOLS

Identifier = NewType("Identifier", str)
"""A legal Python name, stable under NFKC, that hides nothing it must not hide."""

MAX_LENGTH: Final = 100
"""Longest tool name, in characters, that goes into file and class names as it is."""
_MAX_BYTES: Final = 200  # file systems count bytes: 255 with the ending and a temporary mark


@dataclass(frozen=True, slots=True)
class ToolIdentifiers:
    """The Python names of one tool, each unique in its catalog."""

    module: Identifier
    """Name of its model and handler files, without the ending; unique also where case does not count."""
    function: Identifier
    prefix: Identifier
    """What the names of its classes start with."""


def tool_names(wires: Iterable[str]) -> dict[str, ToolIdentifiers]:
    """The names of each tool of a catalog, by wire name.

    Wire names that can be kept are served first, each group in the order given. No result leads out of a folder, is a
    keyword, or is the name of a standard module or of a file that the generated package has itself.
    """
    ordered = list(dict.fromkeys(wires))
    modules: dict[str, Identifier] = {}
    prefixes: dict[str, Identifier] = {}
    folded: set[str] = set()
    taken: set[str] = set()
    for wire in sorted(ordered, key=lambda wire: not _keeps_tool(wire)):
        name = wire if _keeps_tool(wire) and wire.casefold() not in folded else slug(wire, "tool") + "_"
        module = _first_free(_cut(name, wire), folded, fold=True)
        modules[wire] = module
        prefix = _cut(pascal(wire) or "Tool", wire, separator="")
        prefixes[wire] = _first_free(prefix, taken, separator="")
    return {wire: ToolIdentifiers(modules[wire], modules[wire], prefixes[wire]) for wire in ordered}


def field_names(wires: Iterable[str], hidden: Collection[str] = ()) -> dict[str, Identifier]:
    """The field of each property of one class, by wire name, in the order given.

    `hidden` holds further names that a field must not hide: the classes of its module.
    """
    names: dict[str, Identifier] = {}
    taken: set[str] = set()
    for wire in wires:
        if wire in names:
            continue
        kept = _is_plain(wire) and wire not in RESERVED_FIELDS and wire not in hidden and wire not in taken
        names[wire] = _first_free(wire if kept else slug(wire, "field") + "_", taken, hidden)
    return names


class ClassNames:
    """Gives out the names of the classes of one module."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def claim(self, wish: str) -> Identifier:
        """`wish` as a class name; `2`, `3` follow where it is taken."""
        name = pascal(wish) or "Model"
        if keyword.iskeyword(name) or name in RESERVED_CLASSES:
            self._taken.add(name)
        return _first_free(name, self._taken, separator="")


def slug(text: str, otherwise: str) -> str:
    """`text` as a legal name: NFKC, everything that is no letter or digit as `_`, none of those at the ends.

    `otherwise` stands in where nothing is left. A digit in front gets an `n`.
    """
    cleaned = "".join(character if _is_word(character) else "_" for character in unicodedata.normalize("NFKC", text))
    joined = "_".join(word for word in cleaned.split("_") if word) or otherwise
    return joined if joined.isidentifier() else "n" + joined


def pascal(text: str) -> str:
    """`text` in the form of a class name: `get_customer` and `get-customer` give `GetCustomer`, `2fa` gives `N2fa`.

    Empty where `text` holds no letter and no digit.
    """
    cleaned = "".join(character if _is_word(character) else "_" for character in unicodedata.normalize("NFKC", text))
    joined = unicodedata.normalize("NFKC", "".join(_capitalised(word) for word in cleaned.split("_") if word))
    return joined if not joined or joined.isidentifier() else "N" + joined


def _capitalised(word: str) -> str:
    first = word[0].upper()
    return (first if len(first) == 1 and _is_word(first) else word[0]) + word[1:]


def _is_word(character: str) -> bool:
    """Whether a character may stand in names. Combining marks may not: the model generator replaces them."""
    return character.isalnum() and ("a" + character).isidentifier()


def _is_plain(wire: str) -> bool:
    return (
        wire.isidentifier()
        and not keyword.iskeyword(wire)
        and not wire.startswith("_")
        and not wire.endswith("_")
        and all(character == "_" or _is_word(character) for character in wire)
        and unicodedata.normalize("NFKC", wire) == wire
    )


def _keeps_tool(wire: str) -> bool:
    return _is_plain(wire) and wire not in RESERVED_TOOLS and wire.casefold() not in RESERVED_FILES


def _cut(name: str, wire: str, separator: str = "_") -> str:
    """`name`, with its end replaced by a digest of the wire name where it is too long for a file."""
    if len(name) <= MAX_LENGTH and len(name.encode()) <= _MAX_BYTES:
        return name
    digest = hashlib.sha256(wire.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    head = name[: MAX_LENGTH - 9]
    while len(head.encode()) > _MAX_BYTES - 9:
        head = head[:-1]
    return head.rstrip("_") + separator + digest


def _first_free(
    wish: str, taken: set[str], hidden: Collection[str] = (), *, separator: str = "_", fold: bool = False
) -> Identifier:
    """`wish`, or the first of `wish_2`, `wish_3` that is neither taken nor hidden; it is taken from then on."""
    name, count = wish, 1
    while (name.casefold() if fold else name) in taken or name in hidden:
        count += 1
        name = f"{wish.rstrip('_') if separator else wish}{separator}{count}"
    taken.add(name.casefold() if fold else name)
    return Identifier(name)
