"""A tool written back as a spec in toolgen's own shape."""

from __future__ import annotations

from typing import Any

from codegen.specs.settings import KEY as SETTINGS
from codegen.specs.settings import Settings, written
from codegen.specs.tool import Effect, Tool


def to_spec(tool: Tool) -> dict[str, Any]:
    """The canonical spec of `tool`: `name`, `description`, `parameters`, `returns`, `strict`, `x-toolgen`.

    Only what is set is written; what equals the default is left out. Reading it gives an equal tool, apart from its
    origin and its Python names. The schemas in it are those of `tool`, not copies.
    """
    spec: dict[str, Any] = {"name": tool.name}
    if tool.description is not None:
        spec["description"] = tool.description
    spec["parameters"] = tool.parameters
    if tool.returns is not None:
        spec["returns"] = tool.returns
    if tool.strict is not None:
        spec["strict"] = tool.strict
    settings = written(
        Settings(
            effect=None if tool.effect is Effect.WRITE else tool.effect,
            timeout=tool.timeout,
            defer_loading=tool.defer_loading or None,
            confirm=tool.confirm or None,
            overrides=tool.overrides,
            only_targets=tool.only_targets,
            excluded_targets=tool.excluded_targets,
        )
    )
    if settings:
        spec[SETTINGS] = settings
    return spec
