"""Values judged against any subschema of one schema, by the validator that is the gate at run time."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Final
from urllib.parse import quote

import jsonschema_rs

from codegen.passes.vocabulary import KEYWORDS
from codegen.schema.dialects import URIS

_ROOT: Final = "urn:toolgen:schema"
_UNREADABLE: Final = (ValueError, jsonschema_rs.ReferencingError)


class Judge:
    """Judges values against the subschemas of `root`, which has compiled before.

    `is_dynamic` says that the schema has `$dynamicRef` or `$recursiveRef`. What these mean depends on the way that
    leads to them, so nothing is said about a subschema taken by itself. Formats are not checked.
    """

    def __init__(self, root: Any, dialect: str, *, is_dynamic: bool) -> None:
        self._root = {**root, "$schema": URIS[dialect]} if isinstance(root, dict) else root
        self._dialect = dialect
        self._is_dynamic = is_dynamic
        self._alone: dict[str, jsonschema_rs.Validator | None] = {}

    def is_valid(self, pointer: str, value: Any) -> bool | None:
        """Whether `value` is valid against the schema at `pointer`; None where that cannot be told."""
        if self._is_dynamic:
            return None
        validator = self._validators.get(f"#{pointer}") or self._compiled(pointer)
        try:
            return None if validator is None else bool(validator.is_valid(value))
        except ValueError:  # half of a surrogate pair, or a number that is none
            return None

    def refusing(self, pointer: str, value: Any) -> str:
        """The keyword by which the schema at `pointer` refuses `value`; empty where that cannot be told."""
        validator = self._validators.get(f"#{pointer}") or self._compiled(pointer)
        try:
            error = None if validator is None else next(validator.iter_errors(value), None)
        except ValueError:
            return ""
        path = [] if error is None else [step for step in error.schema_path if isinstance(step, str)]
        return path[-1] if path and path[-1] in KEYWORDS else ""

    @cached_property
    def _validators(self) -> Any:
        """Validators by pointer. Some subschemas of resources with an `$id` of their own are missing in it."""
        try:
            return jsonschema_rs.validator_map_for(self._root, validate_formats=False, offline=True)
        except _UNREADABLE:
            return {}

    def _compiled(self, pointer: str) -> jsonschema_rs.Validator | None:
        if pointer not in self._alone:
            there = {"$schema": URIS[self._dialect], "$ref": f"{_ROOT}#{quote(pointer)}"}
            try:
                registry = jsonschema_rs.Registry([(_ROOT, self._root)])
                made = jsonschema_rs.validator_for(there, registry=registry, validate_formats=False, offline=True)
            except _UNREADABLE:
                made = None
            self._alone[pointer] = made
        return self._alone[pointer]


def matches(pattern: str, text: str) -> bool:
    """Whether the gate finds `pattern` in `text`. The pattern has compiled before."""
    return bool(jsonschema_rs.validator_for({"pattern": pattern}, offline=True).is_valid(text))


def compiles(pattern: str) -> bool:
    """Whether the gate can work with a regular expression."""
    try:
        jsonschema_rs.validator_for({"pattern": pattern}, offline=True)
    except _UNREADABLE:
        return False
    return True
