"""A tool written back as a spec in toolgen's own shape."""

from __future__ import annotations

from typing import Any

from codegen.specs.settings import KEY as SETTINGS
from codegen.specs.settings import Settings, written
from codegen.specs.tool import Effect, Tool


def to_spec(tool: Tool) -> dict[str, Any]:
    """The canonical spec of `tool`: `name`, `title`, `description`, `parameters`, `returns`, `strict`, `annotations`,
    `x-toolgen`.

    Only what is set is written; what equals the default is left out. The effect is written also where the annotations
    say it, so that nobody has to know what follows from them. Reading it gives an equal tool, apart from its
    origin and its Python names. The schemas in it are those of `tool`, not copies.
    """
    spec: dict[str, Any] = {"name": tool.name}
    if tool.title is not None:
        spec["title"] = tool.title
    if tool.description is not None:
        spec["description"] = tool.description
    spec["parameters"] = tool.parameters
    if tool.returns is not None:
        spec["returns"] = tool.returns
    if tool.strict is not None:
        spec["strict"] = tool.strict
    if tool.annotations is not None:
        spec["annotations"] = dict(tool.annotations)
    unsaid = tool.effect is Effect.WRITE and Effect.hinted(tool.annotations) is Effect.WRITE
    settings = written(
        Settings(
            effect=None if unsaid else tool.effect,
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
