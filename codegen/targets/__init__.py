"""Targets: the APIs that tools are registered with.

`registry()` has them by id, `lower_catalog()` makes the payloads of a build. What a target is, for those who write one,
stands in `codegen.targets.interface`.
"""

from __future__ import annotations

from codegen.targets.interface import (
    Lowered,
    Payload,
    Target,
    TargetFacts,
    TargetOption,
    TargetOptionError,
    TargetOptions,
)
from codegen.targets.lowering import lower_catalog, lower_tool
from codegen.targets.registry import BUILT_IN, GROUP, PluginError, registry
from codegen.targets.toolsets import resolve_toolsets

__all__ = [
    "BUILT_IN",
    "GROUP",
    "Lowered",
    "Payload",
    "PluginError",
    "Target",
    "TargetFacts",
    "TargetOption",
    "TargetOptionError",
    "TargetOptions",
    "lower_catalog",
    "lower_tool",
    "registry",
    "resolve_toolsets",
]
