"""Annotations of model classes, made by datamodel-code-generator.

What the generator gets is a small schema of our own making: numbered classes, Python names and types of the closed set
of `codegen.schema.typeset`, never a spec. (A spec could make it emit imports of its choice, through `customTypePath`.)
What it gives back is parsed, held against the plan and taken apart: only an annotation made of known names, with the
planned constraints, is handed on. Anything else is a `GeneratorMismatch`.

Most of the time that the generator needs is spent once a call, so the classes of many modules go into one. The
annotations of a module do not depend on the others of its batch.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from codegen.schema.names import Identifier
from codegen.schema.typeset import BoundValue

if TYPE_CHECKING:
    from datamodel_code_generator.config import GenerateConfig

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_BASE: Final = "ToolModel"
_BATCH: Final = 60
"""Modules in one call of the generator; more save nothing."""

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

FORMATTED: Final = {"date-time": "WireDateTime", "date": "WireDate", "time": "WireTime", "uuid": "WireUUID"}
"""The types in the runtime that stand for texts of a format."""

_GENERATED: Final = {"AwareDatetime": "date-time", "date": "date", "time": "time", "UUID": "uuid"}
"""The types that the generator has for these formats."""

_TYPE_NAMES: Final = frozenset({"Any", "Literal", "bool", "dict", "float", "int", "list", "str"})


@dataclass(frozen=True, slots=True)
class PlannedField:
    """A field to annotate: its type as a schema, and whether None is to be added to what the type admits."""

    name: Identifier
    schema: dict[str, Any]
    """Refers to a class by `{"$ref": <its name>}`."""
    optional: bool
    bounds: dict[str, BoundValue]
    """Arguments of `Field` that have to come out."""


@dataclass(frozen=True, slots=True)
class PlannedClass:
    """A class to annotate."""

    name: Identifier
    closed: bool
    fields: tuple[PlannedField, ...]


Plan: TypeAlias = Sequence[PlannedClass]
"""The classes of one module."""

Annotations: TypeAlias = dict[Identifier, dict[Identifier, ast.expr]]
"""The annotation of each field of each class of a module, constraints apart."""


class GeneratorMismatch(RuntimeError):
    """The model generator did not give what was planned: a fault of toolgen, or a version of the generator it does not
    know.

    `model` is the class that it happened at, `what` says where plan and result part.
    """

    def __init__(self, model: str, what: str) -> None:
        self.model = model
        self.what = what
        super().__init__(f"datamodel-code-generator, asked for {model}: {what}")


def annotate(plans: Sequence[Plan]) -> list[Annotations]:
    """The annotations of each plan, in order.

    Raises `GeneratorMismatch` where the generator gives anything but what was asked for.
    """
    found: list[Annotations] = []
    for start in range(0, len(plans), _BATCH):
        found.extend(_annotate_batch(plans[start : start + _BATCH]))
    return found


def _annotate_batch(plans: Sequence[Plan]) -> list[Annotations]:
    numbered = _Numbered(plans)
    definitions = dict(numbered.schemas())
    if not definitions:
        return [{} for _ in plans]
    root = next(iter(definitions))
    source = _generate({"$schema": _DIALECT, **definitions.pop(root), "$defs": definitions}, root)
    classes = {node.name: node for node in _statements(source, numbered)}
    if classes.keys() != numbered.classes.keys():
        raise GeneratorMismatch(plans[0][0].name, f"it made the classes {', '.join(classes)}")
    found: list[Annotations] = [{} for _ in plans]
    for number, (index, planned) in numbered.classes.items():
        found[index][planned.name] = _Reader(planned, numbered.names(index)).read(classes[number])
    return found


def _generate(schema: dict[str, Any], root: str) -> str:
    from datamodel_code_generator import generate

    source = generate(schema, config=_config().model_copy(update={"class_name": root}))
    if not isinstance(source, str):
        raise GeneratorMismatch(root, "it made several modules")
    return source


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


class _Numbered:
    """The classes of a batch under names that clash with nothing: not with each other, and with no field."""

    def __init__(self, plans: Sequence[Plan]) -> None:
        fields = {field.name for plan in plans for planned in plan for field in planned.fields}
        stem = "Numbered"
        while any(name.startswith(stem) for name in fields):
            stem += "X"
        self.classes: dict[str, tuple[int, PlannedClass]] = {}
        """By number: the plan that it belongs to, and the class."""
        self._numbers: list[dict[str, str]] = [{} for _ in plans]
        for index, plan in enumerate(plans):
            for planned in plan:
                number = f"{stem}{len(self.classes)}"
                self.classes[number] = (index, planned)
                self._numbers[index][planned.name] = number
        self._root = next(iter(self.classes), "")

    def names(self, index: int) -> dict[str, str]:
        """The names of the classes of one plan, by number."""
        return {number: name for name, number in self._numbers[index].items()}

    def schemas(self) -> Iterator[tuple[str, dict[str, Any]]]:
        for number, (index, planned) in self.classes.items():
            schema: dict[str, Any] = {
                "type": "object",
                "properties": {field.name: self._placed(field.schema, index) for field in planned.fields},
                "required": [field.name for field in planned.fields if not field.optional],
            }
            if planned.closed:
                schema["additionalProperties"] = False
            yield number, schema

    def _placed(self, schema: Any, index: int) -> Any:
        """A schema with its references leading to the numbered classes."""
        if isinstance(schema, list):
            return [self._placed(member, index) for member in schema]
        if not isinstance(schema, dict):
            return schema
        if "$ref" in schema:
            number = self._numbers[index][schema["$ref"]]
            return {"$ref": "#" if number == self._root else f"#/$defs/{number}"}
        return {keyword: self._placed(member, index) for keyword, member in schema.items()}


def _statements(source: str, numbered: _Numbered) -> Iterator[ast.ClassDef]:
    """The classes of a generated module. Imports and rebuilding are written anew, and nothing else may be there."""
    for statement in ast.parse(source).body:
        match statement:
            case ast.ClassDef(bases=[ast.Name(id=base)], keywords=[], decorator_list=[]) if base == _BASE:
                yield statement
            case ast.ImportFrom():
                pass
            case ast.Expr(ast.Call(ast.Attribute(ast.Name(id=name), "model_rebuild"), [], [])) if (
                name in numbered.classes
            ):
                pass
            case _:
                raise GeneratorMismatch(_BASE, f"it wrote {ast.unparse(statement)}")


class _Reader:
    """Reads one generated class and admits nothing that was not planned."""

    def __init__(self, planned: PlannedClass, names: Mapping[str, str]) -> None:
        self._planned = planned
        self._names = names

    def read(self, node: ast.ClassDef) -> dict[Identifier, ast.expr]:
        fields: dict[str, PlannedField] = {field.name: field for field in self._planned.fields}
        annotations: dict[Identifier, ast.expr] = {}
        closed = False
        for statement in node.body:
            match statement:
                case ast.Pass():
                    pass
                case ast.Assign([ast.Name("model_config")], ast.Call(ast.Name("ConfigDict"), [], [keyword])):
                    closed = keyword.arg == "extra" and _constant(keyword.value) == "forbid"
                case ast.AnnAssign(ast.Name(id=name), annotation, value) if name in fields:
                    field = fields[name]
                    if (value is not None) != field.optional or (value is not None and _constant(value) is not None):
                        raise self._mismatch(statement)
                    annotations[field.name] = self._field(field, annotation)
                case _:
                    raise self._mismatch(statement)
        if closed != self._planned.closed or list(annotations) != list(fields):
            raise self._mismatch(node)
        return annotations

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
        for node in ast.walk(annotation):
            if isinstance(node, ast.Name):
                form = _GENERATED.get(node.id)
                node.id = self._names.get(node.id, node.id) if form is None else FORMATTED[form]
        return annotation

    def _is_type(self, node: ast.expr) -> bool:
        match node:
            case ast.Name(id=name):
                return name in _TYPE_NAMES or name in _GENERATED or name in self._names
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

    def _mismatch(self, node: ast.AST) -> GeneratorMismatch:
        return GeneratorMismatch(self._planned.name, f"it wrote {ast.unparse(node)}")


def _constant(node: ast.expr) -> Any:
    """The value of a literal; Ellipsis for any other expression."""
    try:
        return ast.literal_eval(node)
    except ValueError:
        return ...
