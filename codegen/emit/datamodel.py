"""Annotations of model classes, made by datamodel-code-generator.

What the generator gets is a small schema of our own making: classes, Python names and types of the closed set of
`codegen.schema.typeset`, never a spec. (A spec could make it emit imports of its choice, through `customTypePath`.)
What it gives back is parsed, held against the plan and taken apart: only an annotation made of known names, with the
planned constraints, is handed on. Anything else is a `GeneratorMismatch`.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from codegen.schema.names import Identifier
from codegen.schema.typeset import BoundValue

if TYPE_CHECKING:
    from datamodel_code_generator.config import GenerateConfig

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_BASE: Final = "ToolModel"

FIELD_ARGUMENTS: Final[dict[str, str]] = {
    "minimum": "ge",
    "exclusiveMinimum": "gt",
    "maximum": "le",
    "exclusiveMaximum": "lt",
    "multipleOf": "multiple_of",
    "minLength": "min_length",
    "maxLength": "max_length",
    "minItems": "min_length",
    "maxItems": "max_length",
    "minProperties": "min_length",
    "maxProperties": "max_length",
    "pattern": "pattern",
}
"""Keywords of JSON Schema that a model carries, and the argument of Pydantic's `Field` for each."""

_TYPE_NAMES: Final = frozenset({"Any", "Literal", "bool", "dict", "float", "int", "list", "str"})


@dataclass(frozen=True, slots=True)
class PlannedField:
    """A field to annotate: its type as a schema, and whether None is to be added to what the type admits."""

    name: Identifier
    schema: dict[str, Any]
    optional: bool
    bounds: dict[str, BoundValue]
    """Arguments of `Field` that have to come out."""


@dataclass(frozen=True, slots=True)
class PlannedClass:
    """A class to annotate."""

    name: Identifier
    closed: bool
    fields: tuple[PlannedField, ...]


@dataclass(frozen=True, slots=True)
class AnnotatedClass:
    """A class with the annotation of each field, constraints apart, as expressions."""

    name: Identifier
    annotations: dict[Identifier, ast.expr]


@dataclass(frozen=True, slots=True)
class Annotated:
    """The classes in the order in which they can be written, and those to rebuild at the end of the module."""

    classes: list[AnnotatedClass]
    rebuilt: list[Identifier]


class GeneratorMismatch(RuntimeError):
    """The model generator did not give what was planned: a fault of toolgen, or a version of the generator it does not
    know.

    `root` is the first class of the module, `what` says where plan and result part.
    """

    def __init__(self, root: str, what: str) -> None:
        self.root = root
        self.what = what
        super().__init__(f"datamodel-code-generator, asked for {root}: {what}")


def annotate(classes: Sequence[PlannedClass]) -> Annotated:
    """The annotations of `classes`, the first of which is the root.

    Raises `GeneratorMismatch` where the generator gives anything but what was asked for.
    """
    from datamodel_code_generator import generate

    root, *others = classes
    schema = {"$schema": _DIALECT, **_schema(root), "$defs": {planned.name: _schema(planned) for planned in others}}
    source = generate(schema, config=_config().model_copy(update={"class_name": root.name}))
    if not isinstance(source, str):
        raise GeneratorMismatch(root.name, "it made several modules")
    return _Reader(classes).read(source)


def _schema(planned: PlannedClass) -> dict[str, Any]:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {field.name: field.schema for field in planned.fields},
        "required": [field.name for field in planned.fields if not field.optional],
    }
    if planned.closed:
        schema["additionalProperties"] = False
    return schema


@cache
def _config() -> GenerateConfig:
    """Every option that shapes the result; nothing is left to configuration files, and no formatter runs."""
    from datamodel_code_generator.config import GenerateConfig
    from datamodel_code_generator.enums import DataModelType, InputFileType, TargetPydanticVersion
    from datamodel_code_generator.format import PythonVersion
    from datamodel_code_generator.parser import LiteralType

    return GenerateConfig(
        input_file_type=InputFileType.JsonSchema,
        output_model_type=DataModelType.PydanticV2BaseModel,
        target_python_version=PythonVersion.PY_311,
        target_pydantic_version=TargetPydanticVersion.V2_11,
        base_class=f"runtime.{_BASE}",
        import_overrides={_BASE: "..runtime.models"},
        use_annotated=True,
        field_constraints=True,
        strict_nullable=True,
        enum_field_as_literal=LiteralType.All,
        use_union_operator=True,
        use_standard_collections=True,
        snake_case_field=False,
        treat_dot_as_module=False,
        allow_remote_refs=False,
        disable_timestamp=True,
        formatters=[],
    )


class _Reader:
    """Reads a generated module and admits nothing that was not planned."""

    def __init__(self, classes: Sequence[PlannedClass]) -> None:
        self._root = classes[0].name
        self._planned = {planned.name: planned for planned in classes}
        self._known = _TYPE_NAMES | self._planned.keys()

    def read(self, source: str) -> Annotated:
        found: list[AnnotatedClass] = []
        rebuilt: list[Identifier] = []
        for statement in ast.parse(source).body:
            match statement:
                case ast.ImportFrom():
                    pass  # imports are written anew, by what the annotations mention
                case ast.ClassDef(bases=[ast.Name(id=base)], keywords=[], decorator_list=[]) if base == _BASE:
                    found.append(self._class(statement))
                case ast.Expr(ast.Call(ast.Attribute(ast.Name(id=name), "model_rebuild"), [], [])):
                    rebuilt.append(self._class_named(name).name)
                case _:
                    raise self._mismatch(statement)
        names = [annotated.name for annotated in found]
        if sorted(names) != sorted(self._planned):
            raise GeneratorMismatch(self._root, f"it made the classes {', '.join(names)}")
        return Annotated(found, rebuilt)

    def _class(self, node: ast.ClassDef) -> AnnotatedClass:
        planned = self._class_named(node.name)
        fields = {field.name: field for field in planned.fields}
        annotations: dict[Identifier, ast.expr] = {}
        closed = False
        for statement in node.body:
            match statement:
                case ast.Pass():
                    pass
                case ast.Assign([ast.Name("model_config")], ast.Call(ast.Name("ConfigDict"), [], [keyword])):
                    closed = keyword.arg == "extra" and _constant(keyword.value) == "forbid"
                case ast.AnnAssign(ast.Name(id=name), annotation, value) if name in fields:
                    field = fields[Identifier(name)]
                    if (value is not None) != field.optional or (value is not None and _constant(value) is not None):
                        raise self._mismatch(statement)
                    annotations[field.name] = self._field(field, annotation)
                case _:
                    raise self._mismatch(statement)
        if closed != planned.closed or list(annotations) != list(fields):
            raise self._mismatch(node)
        return AnnotatedClass(planned.name, annotations)

    def _field(self, field: PlannedField, annotation: ast.expr) -> ast.expr:
        bounds: dict[str, Any] = {}
        match annotation:
            case ast.Subscript(ast.Name("Annotated"), ast.Tuple([inner, ast.Call(ast.Name("Field"), [], keywords)])):
                annotation = inner
                bounds = {keyword.arg or "**": _constant(keyword.value) for keyword in keywords}
            case _:
                pass
        if bounds != field.bounds or not self._is_type(annotation):
            raise self._mismatch(annotation)
        return annotation

    def _is_type(self, node: ast.expr) -> bool:
        match node:
            case ast.Name(id=name):
                return name in self._known
            case ast.Constant(None):
                return True
            case ast.BinOp(left, ast.BitOr(), right):
                return self._is_type(left) and self._is_type(right)
            case ast.Subscript(ast.Name("Literal"), values):
                constants = values.elts if isinstance(values, ast.Tuple) else [values]
                return all(isinstance(_constant(constant), (str, int)) for constant in constants)
            case ast.Subscript(ast.Name("list"), item):
                return self._is_type(item)
            case ast.Subscript(ast.Name("dict"), ast.Tuple([ast.Name("str"), value])):
                return self._is_type(value)
            case _:
                return False

    def _class_named(self, name: str) -> PlannedClass:
        planned = self._planned.get(Identifier(name))
        if planned is None:
            raise GeneratorMismatch(self._root, f"it made the class {name}")
        return planned

    def _mismatch(self, node: ast.AST) -> GeneratorMismatch:
        return GeneratorMismatch(self._root, f"it wrote {ast.unparse(node)}")


def _constant(node: ast.expr) -> Any:
    """The value of a literal; Ellipsis for any other expression."""
    try:
        return ast.literal_eval(node)
    except ValueError:
        return ...
