"""Toolsets: what their lists mean, what is counted for them, and the part of a package that each gives."""

from __future__ import annotations

import fnmatch
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegen.diagnostics import Diagnostic, Severity
from codegen.project import ConfigError, load_project
from codegen.specs.tool import Catalog
from codegen.targets import resolve_toolsets
from tests.conftest import BuildPackage
from tests.targets.support import codes, lower_all, make_tool

TEXT = {"type": "string"}
NAMES = ["get_customer", "order_cancel", "order_status", "pay"]


def catalog(*names: str, faulty: tuple[str, ...] = ()) -> Catalog:
    return Catalog(
        tuple(make_tool(name=name) for name in sorted(names)), tuple(make_tool(name=name) for name in faulty)
    )


def resolve(members: list[str], **how: Any) -> tuple[tuple[str, ...], list[Diagnostic]]:
    toolsets, problems = resolve_toolsets({"support": members}, catalog(*NAMES), file="pyproject.toml", **how)
    return toolsets["support"], problems


class TestMembers:
    @pytest.mark.parametrize(
        ("members", "tools"),
        [
            (["get_customer"], ("get_customer",)),
            (["order_*"], ("order_cancel", "order_status")),
            (["pay", "order_*", "pay"], ("order_cancel", "order_status", "pay")),
            (["*"], tuple(NAMES)),
            (["[gp]*"], ("get_customer", "pay")),
        ],
    )
    def test_names_and_patterns(self, members: list[str], tools: tuple[str, ...]) -> None:
        assert resolve(members) == (tools, [])

    def test_what_fits_nothing_is_an_error_with_near_names(self) -> None:
        tools, problems = resolve(["get_custommer", "oder_*", "pay"])
        assert tools == ("pay",)
        assert [(one.code, one.severity, one.file) for one in problems] == [
            ("unknown-toolset-tool", Severity.ERROR, "pyproject.toml")
        ] * 2
        assert "[tool.toolgen.toolsets] support: there is no tool 'get_custommer'" in problems[0].message
        assert "get_customer" in problems[0].hint
        assert "no tool fits the pattern 'oder_*'" in problems[1].message
        assert "order_" in problems[1].hint

    def test_only_a_warning_where_a_part_of_the_specs_was_read(self) -> None:
        (problem,) = resolve(["elsewhere"], whole=False)[1]
        assert problem.severity is Severity.WARNING
        assert "only a part" in problem.hint

    def test_a_faulty_tool_is_reported_once_and_not_as_missing(self) -> None:
        tools = catalog("pay", faulty=("broken",))
        assert resolve_toolsets({"a": ["broken", "bro*", "pay"]}, tools, file="p") == ({"a": ("pay",)}, [])

    def test_a_name_goes_before_a_pattern_that_looks_like_it(self) -> None:
        tools = catalog("a[1]", "a1")
        assert resolve_toolsets({"x": ["a[1]"]}, tools, file="p")[0] == {"x": ("a[1]",)}

    @given(st.lists(st.text("ab*?", min_size=1, max_size=4), min_size=1, max_size=4))
    def test_a_toolset_holds_what_any_member_fits(self, members: list[str]) -> None:
        names = ["a", "ab", "b", "ba", "bab"]
        toolsets, problems = resolve_toolsets({"x": members}, catalog(*names), file="p")
        assert toolsets["x"] == tuple(n for n in names if any(fnmatch.fnmatchcase(n, m) for m in members))
        assert len(problems) == sum(not fnmatch.filter(names, m) for m in members)


TOOLS = [make_tool(name=f"tool_{number:02}") for number in range(30)]


class TestLimits:
    def lists(self, **toolsets: range) -> list[Diagnostic]:
        names = {name: tuple(f"tool_{number:02}" for number in members) for name, members in toolsets.items()}
        return lower_all(TOOLS, ["oci_agents"], toolsets=names)[1]

    def test_too_many_in_a_toolset_is_an_error_that_names_it(self) -> None:
        whole, support = self.lists(small=range(20), support=range(5, 26))
        assert (whole.code, whole.severity) == ("target-limit-weak", Severity.WARNING)
        assert (support.code, support.severity) == ("target-limit", Severity.ERROR)
        assert "'support' has 21 tools" in support.message

    def test_where_toolsets_hold_every_tool_nobody_registers_the_whole(self) -> None:
        (whole,) = self.lists(first=range(20), second=range(10, 30))
        assert (whole.code, whole.severity) == ("target-limit-weak", Severity.NOTE)

    def test_tools_that_are_not_registered_with_the_target_do_not_count(self) -> None:
        tools = [make_tool(name=tool.name, excluded_targets=("oci_agents",)) for tool in TOOLS[:15]]
        names = {"all": tuple(tool.name for tool in TOOLS)}
        assert lower_all([*tools, *TOOLS[15:]], ["oci_agents"], toolsets=names)[1] == []

    def test_sums_over_the_tools_of_a_list(self) -> None:
        schema = {
            "type": "object",
            "properties": dict.fromkeys("abc", TEXT),
            "additionalProperties": False,
        }
        tools = [make_tool(schema, name=f"tool_{number}", strict=True) for number in range(10)]
        problems = lower_all(tools, ["anthropic"], toolsets={"eight": tuple(t.name for t in tools[:8])})[1]
        assert [(one.severity, "30 optional" in one.message) for one in problems] == [(Severity.WARNING, True)]
        problems = lower_all(tools, ["anthropic"], toolsets={"nine": tuple(t.name for t in tools[:9])})[1]
        assert codes(problems) == ["target-limit-weak", "target-limit"]
        assert "27 optional" in problems[1].message


class TestConfiguration:
    @pytest.mark.parametrize(
        ("text", "says"),
        [
            ("toolsets = 5", "toolsets must be a table of lists"),
            ('[tool.toolgen.toolsets]\nsupport = "pay"', "support must be a list of tool names and patterns"),
            ("[tool.toolgen.toolsets]\nsupport = []", "support must be a list"),
            ('[tool.toolgen.toolsets]\n"a b" = ["pay"]', "the name 'a b' may only have"),
        ],
    )
    def test_mistakes_are_named(self, tmp_path: Path, text: str, says: str) -> None:
        (tmp_path / "pyproject.toml").write_text(f"[tool.toolgen]\n{text}\n", encoding="utf-8")
        with pytest.raises(ConfigError, match=says):
            load_project([], cwd=tmp_path)


class TestDispatcher:
    @pytest.fixture
    def made(self, package: BuildPackage) -> ModuleType:
        specs = [{"name": name, "description": "x", "parameters": {"type": "object"}} for name in NAMES]
        return package(specs, toolsets={"sales": ["order_*", "pay"], "one": ["pay"]})

    def test_a_toolset_is_a_dispatcher_of_that_part(self, made: ModuleType) -> None:
        d = made.dispatcher()
        assert d.toolsets == ["one", "sales"]
        part = d.toolset("sales")
        assert part.names == ["order_cancel", "order_status", "pay"]
        assert [entry["name"] for entry in part.payload("openai_responses")] == part.names
        assert part.toolset("one").names == ["pay"]

    def test_a_wrong_name_tells_the_near_ones(self, made: ModuleType) -> None:
        runtime = made.runtime
        with pytest.raises(LookupError, match=r"no toolset.*sale'|Did you mean sales") as raised:
            made.dispatcher().toolset("sale")
        assert isinstance(raised.value, runtime.UnknownToolset)
        assert raised.value.near == ("sales",)
        with pytest.raises(runtime.UnknownToolset, match="The toolsets are one, sales"):
            made.dispatcher().toolset("x")

    def test_a_part_without_its_tools_has_no_toolset(self, made: ModuleType) -> None:
        with pytest.raises(made.runtime.UnknownTool):
            made.dispatcher().only("pay").toolset("sales")

    def test_a_package_without_toolsets_says_so(self, package: BuildPackage) -> None:
        made = package({"name": "pay", "description": "x", "parameters": {"type": "object"}})
        with pytest.raises(made.runtime.UnknownToolset, match="There are none"):
            made.dispatcher().toolset("sales")
