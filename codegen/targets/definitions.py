"""Names for the definitions of a schema that is written anew."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from codegen.schema.pointers import join, tokens
from codegen.targets.nodes import Node


class Definitions:
    """The references of one document: a definition keeps the name that it has in the spec, others get one."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._spec_names = _spec_names(schema)
        self._references: dict[int, str] = {}
        self._kept: list[Node] = []  # nodes are told apart by identity, so they must live as long as their ids

    def __contains__(self, node: Node) -> bool:
        """Whether somebody refers to `node`."""
        return id(node) in self._references

    def take_as_root(self, node: Node) -> None:
        """References to `node` are references to the whole document."""
        self._kept.append(node)
        self._references[id(node)] = "#"

    def reference(self, node: Node) -> str:
        """The reference that leads to `node`."""
        if id(node) not in self._references:
            self._kept.append(node)
            self._references[id(node)] = f"#/$defs/{self._free_name(node)}"
        return self._references[id(node)]

    def name(self, node: Node) -> str:
        """The name of `node` among the definitions."""
        return self.reference(node).rpartition("/")[2]

    def in_order(self, written: Mapping[str, Any]) -> dict[str, Any]:
        """Definitions in the order of the spec; those that have no name there come last."""
        names = list(self._spec_names.values())
        order = {name: index for index, name in enumerate(names)}
        return {name: written[name] for name in sorted(written, key=lambda name: order.get(name, len(order)))}

    def _free_name(self, node: Node) -> str:
        wanted = self._spec_names.get(node.pointer)
        if wanted is None:
            wanted = _safe((tokens(node.pointer) or ["arguments"])[-1])
        taken = {reference.rpartition("/")[2] for reference in self._references.values()}
        taken |= {name for pointer, name in self._spec_names.items() if pointer != node.pointer}
        name, count = wanted, 1
        while name in taken:
            count += 1
            name = f"{wanted}_{count}"
        return name


def in_spec_order(written: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """The keywords of a document in the order that they have in the spec; new ones come last."""
    places = {("$defs" if key == "definitions" else key): index for index, key in enumerate(schema)}
    return dict(sorted(written.items(), key=lambda item: places.get(item[0], len(places))))


def _spec_names(schema: Mapping[str, Any]) -> dict[str, str]:
    """The names of the definitions at the root of the spec by their pointer, made safe for a reference."""
    names: dict[str, str] = {}
    for keyword in ("$defs", "definitions"):
        members = schema.get(keyword)
        for name in members if isinstance(members, dict) else ():
            wanted = safe = _safe(name)
            count = 1
            while safe in names.values():
                count += 1
                safe = f"{wanted}_{count}"
            names[join("", keyword, name)] = safe
    return names


def _safe(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]", "_", name) or "_"
