"""The bases of generated models, and how a value that the gate approved becomes an instance.

A model types what passed the gate; it does not judge it again. It converts nothing, keeps keys that it does not know,
and `model_dump(mode="json", by_alias=True, exclude_unset=True)` gives back the object that came over the wire.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from pydantic.functional_validators import ModelWrapValidatorHandler

from .errors import Issue
from .values import is_array, is_object, pointer


class ToolModel(BaseModel):
    """Base of the generated models.

    Fields are spelled as Python names where code builds an instance, and as wire names in wire data. Keys that the
    schema does not describe stand in `model_extra`; a closed schema sets `extra="forbid"`.
    """

    model_config = ConfigDict(
        strict=True,
        extra="allow",
        protected_namespaces=(),
        validate_by_name=True,
        validate_by_alias=True,
        hide_input_in_errors=True,
    )


class RenamedModel(ToolModel):
    """Base of the models that keep unknown keys and whose Python names differ from the wire names in places."""

    @model_validator(mode="wrap")
    @classmethod
    def _keep_apart(cls, data: Any, build: ModelWrapValidatorHandler[Self]) -> Self:
        # A key that is spelled like the Python name of a renamed field is an unknown key and no value of that field.
        # Pydantic keeps it in `model_extra`, rightly, but counts the field as set, and a dump would make up a null.
        model = build(data)
        extra = model.__pydantic_extra__
        if extra and is_object(data):
            fields = cls.__pydantic_fields__
            for name in extra.keys() & fields.keys():
                if fields[name].alias not in data:
                    model.__pydantic_fields_set__.discard(name)
        return model


class ModelRefused(RuntimeError):
    """A model refused a value that the gate approved: a fault of the generated code, never of the value's sender.

    `model` is the class; `errors` are Pydantic's error records, without the values.
    """

    def __init__(self, model: type[BaseModel], error: ValidationError) -> None:
        self.model = model
        self.errors = error.errors(
            include_url=False, include_context=False, include_input=False
        )
        places = ", ".join(
            "/".join(map(str, record["loc"])) or "(root)" for record in self.errors
        )
        super().__init__(f"{model.__name__} refused a valid value at {places}")


class NotHeld(ValueError):
    """Texts of a format that Python has no value for, such as a leap second: `issues` names them."""

    def __init__(self, issues: Sequence[Issue]) -> None:
        super().__init__(
            "; ".join(f"{issue.pointer}: {issue.message}" for issue in issues)
        )
        self.issues = tuple(issues)


ModelT = TypeVar("ModelT", bound=BaseModel)


def instantiate(model: type[ModelT], value: Any) -> ModelT:
    """The instance of `model` for a decoded JSON value that the gate approved. `value` is not changed.

    Only wire names are read. JSON Schema counts 5.0 as an integer, a strict model does not: where the model refuses,
    every float without a fraction is made an int, and the model asked once more.

    Raises `ModelRefused` if it refuses again, and `NotHeld` for dates and times that Python does not have.
    """
    validate = model.__pydantic_validator__.validate_python
    try:
        instance: ModelT = validate(value, by_alias=True, by_name=False)
    except ValidationError:
        try:
            instance = validate(integral(value), by_alias=True, by_name=False)
        except ValidationError as error:
            if issues := list(_not_held(error, value)):
                raise NotHeld(issues) from None
            raise ModelRefused(model, error) from error
    return instance


def _not_held(error: ValidationError, value: Any) -> Iterator[Issue]:
    """What the reader of a format refuses (`formats.py`): nothing else in a generated model raises `ValueError`."""
    for record in error.errors(include_url=False, include_input=False):
        if record["type"] != "value_error":
            continue
        path: list[str | int] = []
        here = value
        for token in record["loc"]:  # names of union members stand in it, too
            if is_object(here) and token in here:
                here = here[str(token)]
            elif is_array(here) and isinstance(token, int):
                here = here[token]
            else:
                continue
            path.append(token)
        yield Issue(
            pointer(path), "format", str(record.get("ctx", {}).get("error", ""))
        )


def integral(value: Any) -> Any:
    """A copy of a JSON value in which every float without a fraction is an int."""
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    if is_object(value):
        return {key: integral(member) for key, member in value.items()}
    if is_array(value):
        return [integral(member) for member in value]
    return value
