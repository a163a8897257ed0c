"""OpenAI Agents sessions (beta): the entries of `agent.tools`."""

from __future__ import annotations

from typing import Any, Final

from codegen.targets.interface import CallFacts, DescriptionRule, Evidence, Limit, Measure, TargetFacts, TargetOptions
from codegen.targets.openai_rules import DESCRIPTION_LIMIT, TOOLS_LIMIT, function_name
from codegen.targets.passes import run_passes
from codegen.targets.plain_objects import KEYWORDS, plain_object_passes
from codegen.targets.standard import Exposed, Shaped, StandardTarget

_CLIENT: Final = "types of the openai client 3.57"

FACTS: Final = TargetFacts(
    name=function_name(Evidence.WEAK, "not documented here; the rule of the sister APIs keeps names portable"),
    description=DescriptionRule(True, Evidence.DOCUMENTED, _CLIENT, DESCRIPTION_LIMIT),
    calls=CallFacts(
        arguments="either",
        keys=("turn_id", "call_id"),
        output="content",
        failure="field",
        max_output_bytes=4 * 1024 * 1024 - 4096,  # documented are 4 MiB for the whole event
    ),
    limits=(Limit(Measure.LIST, 3_145_728, Evidence.DOCUMENTED, _CLIENT, hard=True), TOOLS_LIMIT),
    keywords=KEYWORDS,
    defer_loading=True,
    runtime=(
        "adapters/openai_agents.py",
        "loops/openai_agents.py",
        "loops/openai_agents_follower.py",
        "loops/openai_agents_visits.py",
        "loops/openai_agents_worker.py",
    ),
)


def _shape(exposed: Exposed, options: TargetOptions) -> Shaped:
    passed = run_passes(exposed.tool, exposed.target, plain_object_passes(exposed.tool), explain=options.explain)
    entry: dict[str, Any] = {
        "type": "function",
        "name": exposed.name,
        "description": exposed.description,
        "parameters": passed.schema,
    }
    if exposed.tool.defer_loading:
        entry["defer_loading"] = True
    return passed.shaped(entry)


def _assemble(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Deferred functions can only be found where the list has a tool that searches them."""
    if any(entry.get("defer_loading") for entry in entries):
        return [*entries, {"type": "tool_search"}]
    return entries


TARGET: Final = StandardTarget("openai_agents", "OpenAI Agents sessions", FACTS, _shape, _assemble)
