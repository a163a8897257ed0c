"""The three example conversations, from specs to answers, through the vendors' own clients.

Builds `specs/` into a scratch folder, puts the handlers of `examples/handlers/` in it, starts the simulator, and plays
a conversation on each API. Everything is real but the model: the simulator plays its part, as `examples/scenarios.yaml`
says, and refuses what the service would refuse. Ends with exit code 0 only if everything went as expected.

Run it with `make demo`; it needs no key and no network beyond this machine.
"""

from __future__ import annotations

import importlib
import json
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codegen.simulator import Simulator

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"


@dataclass(frozen=True)
class Services:
    """What the service hands to its handlers as `call.context`; none of it comes from the model."""

    customers: Path
    """An SQLite file."""
    weather: str
    """Base URL of the weather service."""
    storage: Path
    """Folder of the buckets."""


def main() -> int:
    with scratch_folder() as folder:
        package = build(folder)
        with Simulator([EXAMPLES / "scenarios.yaml"]) as simulator:
            services = Services(
                make_customers(folder / "customers.db"), f"{simulator.base_url}/open-meteo", folder / "buckets"
            )
            dispatcher = package.dispatcher()
            dispatcher.preload()
            problems = [
                *agents_session(package, dispatcher, simulator, services),
                *responses(package, dispatcher, simulator, services),
                *oci_agent(package, dispatcher, simulator, services),
            ]
            dispatcher.close()
            report = simulator.report()
    problems += report.problems()
    heading("Summary")
    played = [run for run in report.runs if run.finished]
    print(
        f"{len(played)} of {len(report.scenarios)} conversations played to their end, {len(report.exchanges)} requests"
    )
    for problem in problems:
        print(f"  not as expected: {problem}")
    print("everything went as expected" if not problems else "the demo failed")
    print("The clients, the requests and the handlers were real; the model was played. See docs/simulator.md.")
    return 1 if problems else 0


# ---- the package


def build(folder: Path) -> Any:
    """Compiles `specs/` into the scratch folder and fills in the handlers."""
    heading("Build: specs/ becomes a package, with the handlers of examples/handlers/")
    command = [sys.executable, "-m", "codegen", "build", str(ROOT / "specs"), "--output", str(folder / "demo_tools")]
    built = subprocess.run(command, check=True, cwd=folder, capture_output=True, text=True)
    print(f"  {built.stdout.splitlines()[0]}")
    for handler in sorted((EXAMPLES / "handlers").glob("*.py")):
        shutil.copy(handler, folder / "demo_tools" / "handlers" / handler.name)
        print(f"  handler   {handler.stem}")
    sys.path.insert(0, str(folder))
    return importlib.import_module("demo_tools")


@contextmanager
def scratch_folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="toolgen-demo-") as name:
        yield Path(name).resolve()


def make_customers(file: Path) -> Path:
    with closing(sqlite3.connect(file)) as database:
        database.execute("CREATE TABLE customer (id TEXT PRIMARY KEY, name TEXT, plan TEXT)")
        database.execute("INSERT INTO customer VALUES ('123', 'Example Customer', 'pro')")
        database.commit()
    return file


# ---- the conversations


def agents_session(package: Any, dispatcher: Any, simulator: Simulator, services: Services) -> Iterator[str]:
    """OpenAI Agents sessions, with a stream that breaks while the call is pending."""
    from openai import OpenAI

    heading("OpenAI Agents sessions: get_customer, and a stream that breaks")
    loops = importlib.import_module(f"{package.__name__}.runtime.loops.openai_agents")
    tools = dispatcher.only("get_customer")
    show("registers", tools.names)
    streams: list[str] = []
    with OpenAI(base_url=simulator.openai_base_url, api_key="demo") as client:
        turn = loops.run_sync(
            tools,
            client,
            create={"agent": {"model": "customer"}},
            input=say("Which plan is customer 123 on?"),
            context=services,
            on_event=lambda event: streams.append(getattr(event, "type", "")),
        )
    answers(turn)
    opened = sum(1 for one in simulator.transcript if one.scenario == "customer" and one.operation == "events.stream")
    print(f"  (the stream broke while the call was pending; it was opened again {opened} time, the call ran once)")
    if not opened:
        yield "the stream did not break"
    if turn.text != "Example Customer is on the pro plan.":
        yield f"answer on Agents sessions: {turn.text!r}"


def responses(package: Any, dispatcher: Any, simulator: Simulator, services: Services) -> Iterator[str]:
    """OpenAI Responses: two calls in one response, then a wrong argument that the model corrects."""
    from openai import OpenAI

    heading("OpenAI Responses: Madrid and Barcelona in one response")
    loops = importlib.import_module(f"{package.__name__}.runtime.loops.openai_responses")
    tools = dispatcher.only("obtener_clima", "calcular_descuento")
    show("registers", tools.names)
    with OpenAI(base_url=simulator.openai_base_url, api_key="demo") as client:
        question = say("Compara el clima entre Madrid (40.4168, -3.7038) y Barcelona (41.3851, 2.1734)")
        first = loops.run_sync(tools, client, model="clima", input=question, context=services, stream=True)
        answers(first)
        if [result.success for result in first.calls] != [True, True] or first.steps != 2:
            yield "the two calls were not made in one response"
        heading("OpenAI Responses: a wrong argument that the model corrects")
        question = say("¿Cuánto cuesta un producto de 80 euros con un 15 % de descuento?")
        history = [*first.history, {"role": "user", "content": question}]
        second = loops.run_sync(tools, client, model="clima", input=history, context=services)
    answers(second)
    if [result.success for result in second.calls] != [False, True]:
        yield "the wrong argument was not refused, or not corrected"
    if "68" not in second.text:
        yield f"answer on Responses: {second.text!r}"


def oci_agent(package: Any, dispatcher: Any, simulator: Simulator, services: Services) -> Iterator[str]:
    """OCI Generative AI Agents: registration, then a side effect."""
    oci = importlib.import_module("oci")
    unsigned = importlib.import_module("unsigned_oci")
    heading("OCI Generative AI Agents: object_storage")
    loops = importlib.import_module(f"{package.__name__}.runtime.loops.oci_agents")
    registration = importlib.import_module(f"{package.__name__}.runtime.registration.oci_agents")
    tools = dispatcher.only("object_storage")
    options = {"service_endpoint": simulator.oci_endpoint, "signer": unsigned.NoSigner()}
    management = oci.generative_ai_agent.GenerativeAiAgentClient(unsigned.CONFIG, **options)
    runtime = oci.generative_ai_agent_runtime.GenerativeAiAgentRuntimeClient(unsigned.CONFIG, **options)
    for attempt in ("registers", "registers again"):
        done = registration.register_sync(
            tools, management, agent_id="ocid1.genaiagent.oc1..bucket", compartment_id="ocid1.compartment.oc1..xxx"
        )
        show(attempt, {"created": done.created, "updated": done.updated, "unchanged": done.unchanged})
    if done.unchanged != ["object_storage"]:
        yield "registering twice changed something"
    turn = loops.run_sync(
        tools,
        runtime,
        agent_endpoint_id="ocid1.genaiagentendpoint.oc1..bucket",
        input=say("Create an Object Store."),
        context=services,
    )
    answers(turn)
    if not (services.storage / "my_object_store").is_dir():
        yield "the bucket was not made"
    if "my_object_store" not in turn.text:
        yield f"answer on OCI: {turn.text!r}"


# ---- the transcript


def heading(text: str) -> None:
    print(f"\n== {text}")


def say(text: str) -> str:
    print(f"  user      {text}")
    return text


def show(what: str, value: Any) -> None:
    text = json.dumps(value, ensure_ascii=False)
    print(f"  {what:<9} {text if len(text) <= 160 else text[:159] + '…'}")


def answers(turn: Any) -> None:
    for result in turn.calls:
        arguments = result.arguments if isinstance(result.arguments, str) else json.dumps(result.arguments)
        print(f"  call      {result.name} {arguments}")
        print(f"  result    {result.output if result.success else f'[{result.error.code}] {result.error.message}'}")
    print(f"  model     {turn.text}")


if __name__ == "__main__":
    sys.exit(main())
