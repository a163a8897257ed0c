"""Targets of this and of other distributions, through real entry points."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from codegen.project import DEFAULT_TARGETS
from codegen.targets import BUILT_IN, GROUP, PluginError, Target, registry
from tests.targets.support import lower_all, make_tool

PLUGIN = """
from codegen.targets.interface import CallFacts, DescriptionRule, Evidence, NameRule, TargetFacts
from codegen.targets.interface import KeywordRule, Treatment
from codegen.targets.nodes import Notes, plain, read_nodes
from codegen.targets.rewriting import apply_keywords, inline_references
from codegen.targets.standard import Shaped, StandardTarget

FACTS = TargetFacts(
    name=NameRule("a-z", "a-z0-9_", 20, Evidence.OBSERVED, "answers of the service"),
    description=DescriptionRule(False, Evidence.DOCUMENTED, "its manual"),
    calls=CallFacts("object", ("id",), "object", "field"),
    keywords={"pattern": KeywordRule(Treatment.DESCRIBED, "unknown there")},
)


def shape(exposed, options):
    notes = Notes(exposed.tool, exposed.target)
    schema = inline_references(read_nodes(exposed.tool.parameters, exposed.tool.dialect), notes)
    entry = {"toolSpec": {"name": exposed.name, "json": plain(apply_keywords(schema, FACTS.keywords, notes))}}
    return Shaped(entry, notes.diagnostics)


TARGET = StandardTarget("acme", "Acme chat", FACTS, shape)
NOT_A_TARGET = object()
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    """Installs a distribution with one entry point."""
    modules = set(sys.modules)

    def install(name: str, value: str, source: str = PLUGIN, distribution: str = "acme-toolgen") -> None:
        module = value.partition(":")[0]
        (tmp_path / f"{module}.py").write_text(source, encoding="utf-8")
        info = tmp_path / f"{distribution.replace('-', '_')}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n", encoding="utf-8")
        (info / "entry_points.txt").write_text(f"[{GROUP}]\n{name} = {value}\n", encoding="utf-8")
        monkeypatch.syspath_prepend(str(tmp_path))

    yield install
    for added in set(sys.modules) - modules:
        if added.startswith("acme"):
            del sys.modules[added]


def test_our_own_targets() -> None:
    known = registry()
    assert list(known)[: len(BUILT_IN)] == list(BUILT_IN)
    assert [known[name].id for name in BUILT_IN] == list(BUILT_IN)
    assert len(known) == len(list(known))
    assert "nowhere" not in known
    with pytest.raises(KeyError):
        known["nowhere"]


def test_each_default_target_names_its_runtime_files() -> None:
    for target in (registry()[name] for name in DEFAULT_TARGETS):
        assert f"adapters/{target.id}.py" in target.facts.runtime
        assert f"loops/{target.id}.py" in target.facts.runtime


def test_each_target_of_ours_names_the_source_of_its_rules() -> None:
    for target in (registry()[name] for name in BUILT_IN):
        assert all(limit.source for limit in target.facts.limits)
        assert target.facts.name.source and target.facts.description.source


def test_a_target_of_another_distribution_is_one_like_ours(install) -> None:  # type: ignore[no-untyped-def]
    install("acme", "acme_plugin:TARGET")
    known = registry()
    assert list(known) == [*BUILT_IN, "acme"]
    assert "acme_plugin" not in sys.modules
    assert isinstance(known["acme"], Target)
    schema = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/A"}},
        "$defs": {"A": {"type": "string", "pattern": "^a"}},
    }
    payloads, problems = lower_all([make_tool(schema, name="search"), make_tool(name="Search")], ["acme"])
    assert payloads["acme"].entries[0] == {
        "toolSpec": {
            "name": "search",
            "json": {"type": "object", "properties": {"a": {"type": "string", "description": 'pattern: "^a"'}}},
        }
    }
    assert [(p.code, p.tool, p.target) for p in problems] == [
        ("loss", "search", "acme"),
        ("target-name", "Search", "acme"),
    ]


@pytest.mark.parametrize(
    ("name", "value", "source", "reason"),
    [
        ("acme", "acme_broken:TARGET", "raise OSError('no licence')", "no licence"),
        ("acme", "acme_plain:TARGET", "TARGET = 5", "is no target"),
        ("acme", "acme_empty:TARGET", "", "has no attribute"),
        ("other", "acme_renamed:TARGET", PLUGIN, "calls itself 'acme'"),
        ("acme", "acme_leaves:TARGET", "import sys; sys.exit(3)", "raised SystemExit"),
        ("acme", "acme_no_facts:TARGET", "class TARGET: id = title = facts = lower = payload = 'acme'", "is no target"),
        ("Acme 2", "acme_odd:TARGET", PLUGIN.replace('"acme"', '"Acme 2"'), "an id has the form"),
    ],
)
def test_a_broken_plugin_is_named(install, name: str, value: str, source: str, reason: str) -> None:  # type: ignore[no-untyped-def]
    install(name, value, source)
    with pytest.raises(PluginError, match=reason) as caught:
        registry()[name]
    assert (caught.value.target, caught.value.origin) == (name, "acme-toolgen")


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        ("{}['missing']", r"lowering the tool 'find_order' raised KeyError\('missing'\) in acme_failing.py, line"),
        ("None", "lowering the tool 'find_order' raised AttributeError"),
        ("Shaped({'name': exposed.name, 'tags': {1, 2}})", "lowering the tool 'find_order' raised TypeError"),
        ("Shaped({'name': exposed.name, 'limit': float('nan')})", "lowering the tool 'find_order' raised ValueError"),
    ],
)
def test_a_plugin_that_fails_on_a_tool_is_named(install, made: str, reason: str) -> None:  # type: ignore[no-untyped-def]
    source = PLUGIN.replace("    notes = Notes", f"    return {made}\n    notes = Notes")
    install("acme", "acme_failing:TARGET", source)
    payloads, (problem,) = lower_all([make_tool()], ["acme"])
    assert payloads == {}
    assert (problem.code, problem.target, problem.hint) == ("broken-target", "acme", "mend or uninstall acme-toolgen")
    assert re.search(reason, problem.message)


def test_a_broken_plugin_that_nobody_asks_for_does_no_harm(install) -> None:  # type: ignore[no-untyped-def]
    install("acme", "acme_broken:TARGET", "raise OSError")
    payloads, problems = lower_all([make_tool()], BUILT_IN)
    assert list(payloads) == list(BUILT_IN)
    assert problems == []


def test_a_plugin_may_not_take_the_id_of_another_target(install) -> None:  # type: ignore[no-untyped-def]
    install("oci_agents", "acme_thief:TARGET")
    with pytest.raises(PluginError, match="another target has this id"):
        list(registry())
