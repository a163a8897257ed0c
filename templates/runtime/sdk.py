"""Reading a vendor's objects and plain dicts alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast


def get(value: Any, name: str, default: Any = None) -> Any:
    """The member `name` of a mapping or an object; `default` where it is absent or None."""
    if isinstance(value, Mapping):
        found: Any = cast("Mapping[str, Any]", value).get(name)
    else:
        found = getattr(value, name, None)
    return default if found is None else found


def to_wire(value: Any) -> Any:
    """An object of a Pydantic-based SDK as the dict it was read from; plain values as they are."""
    dump = getattr(value, "model_dump", None)
    if dump is not None:
        return dump(mode="json", by_alias=True, exclude_unset=True, warnings=False)
    return value
