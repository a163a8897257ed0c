"""The gate: JSON Schema decides whether arguments reach the handler.

The validator is jsonschema-rs, compiled from the schema that stands in `schemas/`, for the dialect that the schema
names. It never opens a file or the network. `explain.py` puts its refusals into words.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import jsonschema_rs

from .errors import Issue
from .explain import explain

MAX_ISSUES = 5
"""Issues that are reported for one call; a model mends a few at a time."""

MAX_ERRORS = 100
"""Errors of the validator that are looked at for them."""


class Gate:
    """Decides whether a value is valid against one schema."""

    __slots__ = ("_validator", "is_valid", "schema")

    def __init__(self, schema: Any, *, formats: bool = False) -> None:
        """Compiles `schema`; with `formats`, `format` is asserted and not only an annotation.

        Raises `jsonschema_rs.ValidationError` or `jsonschema_rs.ReferencingError` for a schema that does not compile,
        which a build has already ruled out.
        """
        self.schema = schema
        self._validator = jsonschema_rs.validator_for(
            schema, validate_formats=formats, offline=True
        )
        self.is_valid = self._validator.is_valid
        """Whether a plain JSON value is valid."""

    def errors(self, value: Any) -> Iterator[jsonschema_rs.ValidationError]:
        """The validator's own errors."""
        return iter(self._validator.iter_errors(value))

    def issues(self, value: Any) -> tuple[Issue, ...]:
        """Why `value` is refused, at most `MAX_ISSUES` reasons; empty when it is valid."""
        found: dict[Issue, None] = {}
        errors = itertools.islice(self.errors(value), MAX_ERRORS)
        for issue in explain(errors, self.schema):
            found[issue] = None
            if len(found) == MAX_ISSUES:
                break
        return tuple(found)
