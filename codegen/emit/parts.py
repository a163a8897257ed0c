"""The two parts of a model module, arguments and result, with their views and the names of their classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from codegen.schema.names import ClassNames, Identifier
from codegen.schema.paths import NamePath
from codegen.schema.references import Document
from codegen.schema.typeset import ClassKey, ClassType
from codegen.schema.view import ClassView, View, argument_view, result_view
from codegen.specs.tool import Tool


@dataclass(slots=True)
class Part:
    """The arguments or the result: a schema, its view, and the names of its classes."""

    key: str
    """The part's key in a spec: "parameters" or "returns"."""
    title: Identifier
    """Name of the part itself."""
    prefix: str
    """What the names of its nested classes start with."""
    document: Document
    view: View
    names: dict[ClassKey, Identifier] = field(default_factory=dict)

    def definitions(self) -> list[str]:
        """The names of its definitions, in the order of the spec."""
        root = self.document.root if isinstance(self.document.root, dict) else {}
        groups = (root.get(keyword) for keyword in ("$defs", "definitions"))
        return [name for group in groups if isinstance(group, dict) for name in group]


def parts_of(tool: Tool, *, convert: bool = False) -> tuple[list[Part], Identifier]:
    """The parts of a tool with their classes named, and the name of the result, which may have no part.

    With `convert`, texts of a format that Python has a type for are of that type. Raises `ValueError` for a tool that
    has not been through the naming pass.
    """
    if tool.names is None:
        raise ValueError(f"the tool {tool.name!r} has no names yet")
    prefix = tool.names.prefix
    names = ClassNames()
    arguments, result = names.claim(f"{prefix}Arguments"), names.claim(f"{prefix}Result")
    document = Document(tool.parameters, tool.dialect)
    parts = [Part("parameters", arguments, prefix, document, argument_view(document, convert=convert))]
    if tool.returns is not None:
        document = Document(tool.returns, tool.dialect)
        parts.append(Part("returns", result, result, document, result_view(document, convert=convert)))
    taken: set[str] = set()
    for part in parts:
        _name_classes(part, names, taken)
        taken.update(part.definitions())
    return parts, result


def _name_classes(part: Part, names: ClassNames, taken: AbstractSet[str]) -> None:
    """Names the classes of a part: its definitions, then the others from the outside in.

    So a class that is added further in, or further down, takes no other's name. A definition whose name is among those
    `taken` by the other part is named after its own part.
    """
    order = {name: index for index, name in enumerate(part.definitions())}
    waiting: list[ClassView] = []
    for key, view in part.view.classes.items():
        if part.view.root == ClassType(key):
            part.names[key] = part.title
        else:
            waiting.append(view)
    for view in sorted(waiting, key=lambda view: _rank(view.path, order)):
        part.names[view.key] = names.claim("_".join(_words(view.path, part.prefix, taken)))


def _rank(path: NamePath, order: Mapping[str, int]) -> tuple[int, int]:
    if path.definition is not None and path.definition in order and not path.parts:
        return (0, order[path.definition])
    return (1, len(path.parts))


def _words(path: NamePath, prefix: str, taken: AbstractSet[str]) -> Sequence[str]:
    if path.definition is None:
        return [prefix, *(path.parts or ("Value",))]
    return [*([prefix] if path.definition in taken else []), path.definition, *path.parts]
