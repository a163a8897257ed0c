"""The code blocks of the pages on loops and adapters do what they say, with the vendors' clients."""

from __future__ import annotations

import ast
import asyncio
import inspect
import json
import re
from pathlib import Path
from typing import Any

import pytest
from llmock.pytest_plugin import LLMock
from oci.generative_ai_inference import models

from codegen.simulator import Simulator
from tests.conftest import ROOT, BuildPackage
from tests.runtime.test_oci_inference_adapter import client_of
from tests.simulator.scripts import say, turn

DOCUMENTS = sorted((ROOT / "docs").glob("*.md"))

SPEC = {
    "name": "get_customer",
    "description": "Looks up a customer.",
    "parameters": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]},
    "x-toolgen": {"effect": "read"},
}
HANDLER = """
def get_customer(args, call):
    return {"name": "Ada", "id": args.id, "for": call.context}
"""
ASKED = {"name": "get_customer", "arguments": {"id": 123}, "result": {"has": {"name": "Ada", "for": "user 7"}}}


def blocks(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def run(source: str, package: str, names: dict[str, Any]) -> None:
    """Runs a block as a reader would paste it: in an event loop, with a package of another name."""
    source = source.replace("generated", package)
    code = compile(source, "block", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)

    async def work() -> None:
        try:
            outcome = eval(code, names)
            if inspect.isawaitable(outcome):
                await outcome
        finally:
            client: Any = names.get("client")
            clients: list[Any] = [client, getattr(client, "aio", None)]
            for one in clients:
                if hasattr(one, "__aexit__"):
                    await one.__aexit__(None, None, None)

    asyncio.run(work())


@pytest.mark.parametrize("page", DOCUMENTS, ids=lambda page: page.stem)
def test_every_block_is_python(page: Path) -> None:
    for block in blocks(page):
        compile(block, page.name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


# Gemini's asynchronous client does so with aiohttp, which dislikes it.
@pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")
@pytest.mark.parametrize(
    ("name", "target", "variables"),
    [
        ("openai-chat", "openai_chat", {"OPENAI_BASE_URL": "{openai}", "OPENAI_API_KEY": "x"}),
        ("anthropic", "anthropic", {"ANTHROPIC_BASE_URL": "{anthropic}", "ANTHROPIC_API_KEY": "x"}),
        (
            "gemini",
            "gemini",
            {
                "GOOGLE_GEMINI_BASE_URL": "{gemini}",
                "GOOGLE_API_KEY": "x",
                "GOOGLE_GENAI_API_VERSION": "v1beta",
            },
        ),
    ],
)
def test_pages_on_loops(
    package: BuildPackage,
    llmock: LLMock,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Any,
    name: str,
    target: str,
    variables: dict[str, str],
) -> None:
    urls = {api: llmock.base_url(api) for api in ("openai", "anthropic", "gemini")}
    for variable, value in variables.items():
        monkeypatch.setenv(variable, value.format(**urls))
    built = package(SPEC, targets=[target], handlers={"get_customer": HANDLER})
    first, adapter_alone = blocks(ROOT / "docs" / f"{name}.md")
    start = [{"role": "user", "parts": [{"text": "hi"}]} if name == "gemini" else {"role": "user", "content": "hi"}]
    names: dict[str, Any] = {"MODEL": "m", "user": "user 7", "messages": start, "contents": start}
    llmock.call_tool("get_customer", {"id": 123}).reply("It is Ada.").reply("Nothing.")
    llmock.call_tool("get_customer", {"id": 123})
    run(first + adapter_alone, built.__name__, names)
    assert capsys.readouterr().out == "It is Ada.\n"
    assert names["turn"].text == "Nothing."
    assert (len(llmock.requests), len(start)) == (4, 3)
    assert "Ada" in json.dumps(start[2]) and "user 7" in json.dumps(start[2])
    names["d"].close()


def test_bedrock(package: BuildPackage, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    built = package(SPEC, targets=["bedrock"], handlers={"get_customer": HANDLER})
    steps = [turn({"calls": [ASKED]}, say("It is Ada.")), turn(say("Nothing."))]
    alone = [turn({"calls": [ASKED]}, say("It is Ada."))]
    with Simulator([{"name": "page", "turns": steps}, {"name": "alone", "turns": alone}]) as simulator:
        for variable, value in {
            "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": simulator.bedrock_endpoint,
            "AWS_ACCESS_KEY_ID": "a",
            "AWS_SECRET_ACCESS_KEY": "b",
            "AWS_DEFAULT_REGION": "eu-central-1",
        }.items():
            monkeypatch.setenv(variable, value)
        first, adapter_alone = blocks(ROOT / "docs" / "bedrock.md")
        names: dict[str, Any] = {"MODEL": "page", "user": "user 7"}
        run(first, built.__name__, names)
        assert capsys.readouterr().out == "It is Ada.\n"
        assert names["turn"].text == "Nothing."
        names |= {"MODEL": "alone", "messages": [{"role": "user", "content": [{"text": "hi"}]}]}
        for _ in range(2):
            run(adapter_alone, built.__name__, names)
        assert names["messages"][-1]["content"] == [{"text": "It is Ada."}]
        names["client"].close()
        names["d"].close()


@pytest.mark.parametrize("encoding", ["generic", "cohere"])
def test_oci_inference(package: BuildPackage, encoding: str, capsys: Any) -> None:
    settings: dict[str, Any] = {"targets": ["oci_inference"], "oci_inference_format": encoding}
    built = package(SPEC, handlers={"get_customer": HANDLER}, **settings)
    generic, cohere = blocks(ROOT / "docs" / "oci-inference.md")
    with Simulator([{"name": "page", "turns": [turn({"calls": [ASKED]}, say("It is Ada."))]}]) as simulator:
        names: dict[str, Any] = {
            "client": client_of(simulator.oci_endpoint),
            "user": "user 7",
            "compartment": "ocid1.compartment.oc1..a",
            "mode": models.OnDemandServingMode(model_id="page"),
        }
        head, loop = generic.split("d = dispatcher()\n")
        for block in (head + "d = dispatcher()\n", loop if encoding == "generic" else cohere):
            block = block.replace("compartment_id=...", "compartment_id=compartment")
            run(block.replace("serving_mode=...", "serving_mode=mode"), built.__name__, names)
    if encoding == "generic":
        assert capsys.readouterr().out == "It is Ada. False\n"
    else:
        assert names["text_of"](names["result"]) == "It is Ada."
    names["d"].close()


def test_mcp(package: BuildPackage) -> None:
    built = package(SPEC, targets=["mcp"], handlers={"get_customer": HANDLER})
    names: dict[str, Any] = {"__name__": "page"}
    for block in blocks(ROOT / "docs" / "mcp.md"):
        run(block, built.__name__, names)
    assert names["app"].routes and callable(names["main"]) and callable(names["key"])
