"""The dispatcher's face: names, parts, payloads, one tool alone, loading, and what it is made with."""

from __future__ import annotations

import asyncio
import gc
import importlib
import json
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conftest import build_folder

Make = Callable[..., Any]

LOOK_UP_NAMES = ["guarded_look", "look_up", "quick_look"]


class TestParts:
    def test_names_are_sorted(self, tools: ModuleType) -> None:
        names = tools.dispatcher().names
        assert names == sorted(names)
        assert "look_up" in names

    def test_by_name_and_by_pattern(self, dispatcher: Make) -> None:
        d = dispatcher()
        assert d.only("look_up", "*_look").names == LOOK_UP_NAMES
        assert d.only("look_up", "look_up").names == ["look_up"]
        assert d.only("[lp]*").names == ["look_up", "pay", "ping"]
        assert d.only("*").names == d.names
        assert d.only().names == []

    @pytest.mark.parametrize("pattern", ["lookup", "x_*", "LOOK_UP", ""])
    def test_what_fits_nothing_is_an_error(self, dispatcher: Make, api: Any, pattern: str) -> None:
        with pytest.raises(api.UnknownTool, match="There is no tool") as unknown:
            dispatcher().only(pattern)
        assert unknown.value.name == pattern

    def test_an_unknown_name_knows_near_ones(self, dispatcher: Make, api: Any) -> None:
        with pytest.raises(api.UnknownTool, match="Did you mean look_up") as unknown:
            dispatcher().tool("lookup")
        assert unknown.value.near[0] == "look_up"

    def test_a_part_of_a_part(self, dispatcher: Make, api: Any) -> None:
        part = dispatcher().only("look_up", "pay")
        assert part.only("l*").names == ["look_up"]
        for refused in (part.only, part.tool):
            with pytest.raises(api.UnknownTool):
                refused("ping")

    def test_a_part_leaves_the_whole_alone(self, dispatcher: Make) -> None:
        d = dispatcher()
        d.only("look_up")
        assert "pay" in d.names

    def test_a_name_with_pattern_characters_is_taken_exactly_first(self, package: Make) -> None:
        spec = {"description": "x", "parameters": {"type": "object"}}
        made = package([{"name": "a[1]", **spec}, {"name": "a1", **spec}], targets=[])
        assert made.dispatcher().only("a[1]").names == ["a[1]"]
        assert made.dispatcher().only("a[12]").names == ["a1"]

    def test_payloads_follow_the_part(self, dispatcher: Make) -> None:
        d = dispatcher()
        whole = d.payload("openai_responses")
        assert [entry["name"] for entry in whole] == d.names
        assert [entry["name"] for entry in d.only("*_look", "look_up").payload("openai_responses")] == LOOK_UP_NAMES
        assert d.only().payload("openai_responses") == []

    def test_payloads_are_fresh_copies(self, dispatcher: Make) -> None:
        d = dispatcher()
        d.payload("openai_responses")[0]["name"] = "changed"
        assert d.payload("openai_responses")[0]["name"] == "anything"

    def test_an_unknown_target_names_the_known_ones(self, dispatcher: Make) -> None:
        with pytest.raises(LookupError, match="no payload for 'nobody'; it has oci_agents, openai_agents, openai_resp"):
            dispatcher().payload("nobody")

    def test_the_search_tool_stays_while_a_deferred_tool_does(self, package: Make) -> None:
        spec = {"description": "x", "parameters": {"type": "object", "properties": {}, "additionalProperties": False}}
        deferred = {"name": "a", **spec, "x-toolgen": {"defer_loading": True}}
        made = package([deferred, {"name": "b", **spec}], targets=["openai_agents"])
        d = made.dispatcher()
        assert {"type": "tool_search"} in d.payload("openai_agents")
        assert {"type": "tool_search"} in d.only("a").payload("openai_agents")
        assert {"type": "tool_search"} not in d.only("b").payload("openai_agents")

    async def test_names_of_a_target_lead_to_the_tool(self, package: Make) -> None:
        spec = {
            "name": "find-customer-by-its-number",
            "description": "x",
            "parameters": {"type": "object", "properties": {}, "additionalProperties": False},
            "x-toolgen": {"targets": {"openai_responses": {"name": "find"}}},
        }
        made = package(spec, targets=["openai_responses"])
        d = made.dispatcher(
            SimpleNamespace(**{made.dispatch.PACKAGE.tools[spec["name"]].function: lambda a, c: c.name})
        )
        call = made.runtime.Call
        assert (await d.execute(call("find", target="openai_responses"))).output == "find"
        assert (await d.execute(call("find"))).error.code == "unknown_tool"
        assert (await d.execute(call("find-customer-by-its-number", target="openai_responses"))).success
        assert d.only("find-*").payload("openai_responses")[0]["name"] == "find"
        # The model reads the names that it knows.
        unknown = await d.execute(call("fnd", target="openai_responses"))
        assert unknown.error.message == 'There is no tool "fnd". Did you mean find? The tools are: find.'
        d.close()


class TestOneTool:
    def test_parse_gives_the_model(self, tools: ModuleType) -> None:
        models = importlib.import_module(f"{tools.__name__}.models.look_up")
        tool = tools.dispatcher().tool("look_up")
        for arguments in ('{"key": "a"}', b'{"key": "a"}', {"key": "a"}):
            args = tool.parse(arguments)
            assert type(args) is models.LookUpArguments
            assert args.key == "a"

    @pytest.mark.parametrize(
        ("arguments", "error", "pointer", "keyword"),
        [
            ('{"key": ', "InvalidJSON", "", "json"),
            ({"key": [float("nan")]}, "InvalidJSON", "/key/0", "json"),
            ("[]", "InvalidArguments", "", "type"),
            ({"key": 5}, "InvalidArguments", "/key", "type"),
            (None, "InvalidArguments", "", "required"),
        ],
    )
    def test_parse_raises_with_issues(
        self, dispatcher: Make, api: Any, arguments: Any, error: str, pointer: str, keyword: str
    ) -> None:
        with pytest.raises(api.InvalidArguments) as refused:
            dispatcher().tool("look_up").parse(arguments)
        assert type(refused.value) is getattr(api, error)
        assert refused.value.tool == "look_up"
        assert (refused.value.issues[0].pointer, refused.value.issues[0].keyword) == (pointer, keyword)
        assert str(refused.value.issues[0]) in str(refused.value)

    def test_serialize(self, dispatcher: Make, api: Any) -> None:
        d = dispatcher()
        assert d.tool("look_up").serialize("Málaga") == "Málaga"
        assert d.tool("look_up").serialize({"a": (1, None)}) == '{"a":[1,null]}'
        assert d.tool("look_up").serialize(api.Content(["a", "b"])) == "a\nb"
        assert d.tool("total").serialize({"total": 1}) == '{"total":1}'
        for name, value, pointer in (("look_up", {"a": object()}, "/a"), ("total", {"total": "1"}, "/total")):
            with pytest.raises(api.UnserializableOutput) as refused:
                d.tool(name).serialize(value)
            assert refused.value.pointer == pointer

    def test_it_knows_its_spec(self, dispatcher: Make) -> None:
        tool = dispatcher().tool("look_up")
        assert (tool.name, tool.description, tool.entry.effect) == ("look_up", "The tool look_up.", "read")
        assert tool.spec["parameters"]["required"] == ["key"]

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        value=st.dictionaries(st.text(), st.none() | st.integers() | st.text() | st.lists(st.booleans()), max_size=4)
    )
    def test_what_was_parsed_dumps_as_it_came(self, tools: ModuleType, value: dict[str, Any]) -> None:
        args = tools.dispatcher().tool("anything").parse(json.dumps(value))
        assert args.model_dump(mode="json", by_alias=True, exclude_unset=True) == value
        assert json.loads(tools.dispatcher().tool("anything").serialize(args)) == value


class TestPreload:
    def test_it_loads_everything(self, package: Make) -> None:
        spec = {"name": "a", "description": "x", "parameters": {"type": "object"}}
        made = package(spec)
        loaded = [name for name in sys.modules if name.startswith(f"{made.__name__}.models.")]
        assert loaded == []
        made.dispatcher().preload()
        assert f"{made.__name__}.models.a" in sys.modules

    def test_it_names_all_that_is_wrong(self, package: Make) -> None:
        names = ["fine", "no_module", "no_function", "no_callable", "broken", "needs_module", "leaves"]
        specs = [{"name": name, "description": "x", "parameters": {"type": "object"}} for name in names]
        sources = {
            "fine": "def fine(args, call): ...\n",
            "no_function": "def other(args, call): ...\n",
            "no_callable": "no_callable = 5\n",
            "broken": "def broken(:\n",
            "needs_module": "import not_installed_anywhere\n",
            "leaves": "raise SystemExit(3)\n",
        }
        made = package(specs, handlers=sources)
        folder = made.dispatch.PACKAGE.directory / "handlers"
        (folder / "no_module.py").unlink()
        with pytest.raises(made.runtime.HandlersMissing) as missing:
            made.dispatcher().preload()
        problems = dict(problem.split(": ", 1) for problem in missing.value.problems)
        assert sorted(problems) == sorted(set(names) - {"fine"})
        assert problems["no_module"] == f"there is no module {made.__name__}.handlers.no_module"
        assert problems["no_function"] == f"there is no function {made.__name__}.handlers.no_function.no_function"
        assert problems["broken"].startswith("SyntaxError: ")
        assert problems["needs_module"] == "ModuleNotFoundError: No module named 'not_installed_anywhere'"
        assert problems["leaves"] == "SystemExit: 3"

    async def test_calls_of_such_tools_are_answered(self, package: Make, caplog: Any) -> None:
        names = ["fine", "no_module", "broken", "leaves"]
        specs = [{"name": name, "description": "x", "parameters": {"type": "object"}} for name in names]
        sources = {
            "fine": "def fine(args, call): return 'fine'\n",
            "broken": "import not_installed_anywhere\n",
            "leaves": "raise SystemExit('secret')\n",
        }
        made = package(specs, handlers=sources)
        (made.dispatch.PACKAGE.directory / "handlers" / "no_module.py").unlink()
        d = made.dispatcher()
        results = await d.execute_all([made.runtime.Call(name) for name in names])
        assert [result.error and result.error.code for result in results] == [
            None,
            "not_implemented",
            "handler_error",
            "handler_error",
        ]
        assert not any(result.ran for result in results[1:2])
        assert "not_installed_anywhere" in caplog.text
        assert not any("secret" in str(result.error) or "anywhere" in str(result.error) for result in results)
        d.close()

    def test_a_part_loads_only_itself(self, package: Make) -> None:
        specs = [{"name": n, "description": "x", "parameters": {"type": "object"}} for n in ("a", "b")]
        made = package(specs, handlers={"b": "raise OSError\n"})
        made.dispatcher().only("a").preload()

    def test_an_object_needs_all_of_them(self, package: Make) -> None:
        spec = {"name": "a", "description": "x", "parameters": {"type": "object"}}
        made = package(spec)
        with pytest.raises(made.runtime.HandlersMissing, match=r"no function SimpleNamespace\.a"):
            made.dispatcher(SimpleNamespace()).preload()
        made.dispatcher(SimpleNamespace(a=print)).preload()

    async def test_a_package_without_stubs_needs_an_object(self, tmp_path: Path, monkeypatch: Any) -> None:
        spec = {"name": "a", "description": "x", "parameters": {"type": "object"}}
        (tmp_path / "specs").mkdir()
        (tmp_path / "specs" / "a.json").write_text(json.dumps(spec), encoding="utf-8")
        build_folder([tmp_path / "specs"], tmp_path / "injected_package", handlers="inject")
        monkeypatch.syspath_prepend(tmp_path)
        made = importlib.import_module("injected_package")
        with pytest.raises(TypeError, match="handlers"):
            made.dispatcher()
        d = made.dispatcher(None)
        with pytest.raises(made.runtime.HandlersMissing, match="pass an object to dispatcher"):
            d.preload()
        assert (await d.execute(made.runtime.Call("a"))).error.code == "not_implemented"
        d = made.dispatcher(SimpleNamespace(a=lambda args, call: "done"))
        assert (await d.execute(made.runtime.Call("a"))).output == "done"
        d.close()
        for loaded in [name for name in sys.modules if name.split(".")[0] == "injected_package"]:
            del sys.modules[loaded]


class TestSettings:
    @pytest.mark.parametrize("setting", ["concurrency", "threads"])
    def test_bounds_are_at_least_one(self, tools: ModuleType, setting: str) -> None:
        for wrong in (0, -1):
            with pytest.raises(ValueError, match="at least"):
                tools.dispatcher(**{setting: wrong})

    async def test_the_timeout_of_the_spec_goes_before_the_dispatchers(self, dispatcher: Make, call: Make) -> None:
        async def slow(args: Any, call: Any) -> str:
            await asyncio.sleep(0.1)
            return "done"

        d = dispatcher(look_up=slow, quick_look=slow, timeout=30)
        results = await d.execute_all([call("look_up", key="a"), call("quick_look", key="a")])
        assert results[0].output == "done"
        assert results[1].error.message == "The tool did not finish within 0.05 seconds."
        d = dispatcher(look_up=slow, quick_look=slow, timeout=None)
        results = await d.execute_all([call("look_up", key="a"), call("quick_look", key="a")])
        assert [result.error and result.error.code for result in results] == [None, "timeout"]

    def test_a_dispatcher_that_is_dropped_leaves_no_loop_behind(self, tools: ModuleType, call: Make) -> None:
        d = tools.dispatcher(SimpleNamespace(ping=lambda args, call: "pong"))
        assert d.execute_sync(call("ping")).output == "pong"
        threads = [t for t in threading.enumerate() if t is d._loop_thread._running.thread]
        gone = weakref.ref(d)
        del d
        gc.collect()
        assert gone() is None
        threads[0].join(10)
        assert not threads[0].is_alive()

    def test_importing_the_package_needs_no_vendor_sdk(self, package: Make) -> None:
        spec = {"name": "a", "description": "x", "parameters": {"type": "object"}}
        made = package(spec)
        root = made.dispatch.PACKAGE.directory.parent
        code = (
            f"import sys; sys.path.insert(0, {str(root)!r}); import {made.__name__} as made\n"
            f"import {made.__name__}.runtime.loops.openai_responses\n"
            "made.dispatcher().names\n"
            "print(sorted({m.split('.')[0] for m in sys.modules} & {'openai', 'oci', 'httpx', 'codegen', 'anyio'}))"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == "[]"


class TestTimes:
    async def test_waiting_for_a_thread_is_no_running(self, dispatcher: Make, call: Make) -> None:
        """A function that gets its thread late still has its whole time."""

        def look_up(args: Any, call: Any) -> str:
            time.sleep(0.5)
            return "done"

        d = dispatcher(look_up=look_up, threads=1, timeout=0.9)
        results = await d.execute_all([call("look_up", key="a"), call("look_up", key="b")])
        assert [result.output for result in results] == ["done", "done"]
