"""Whether the parameters of a tool are a JSON Schema at all, which every API insists on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jsonschema_rs


def schema_problem(schema: Mapping[str, Any]) -> str | None:
    """Why `schema` breaks the meta-schema of draft 2020-12, with the place; None when it does not."""
    try:
        jsonschema_rs.meta.validate({**schema, "$schema": "https://json-schema.org/draft/2020-12/schema"})
    except jsonschema_rs.ValidationError as error:
        place = "/".join(map(str, error.instance_path))
        return f"/{place}: {error.message}"
    return None
