"""`toolgen simulate`, as a process of its own."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest
from click.testing import CliRunner

from codegen.cli.simulate import simulate
from codegen.simulator import scenario_schema

HELLO = "name: hello\nturns: [{model: [{say: hello}]}]\n"
COMMAND = [sys.executable, "-c", "from codegen.cli.simulate import simulate; simulate()"]


@pytest.mark.parametrize("play,code", [(True, 0), (False, 1)])
def test_it_prints_its_addresses_and_in_the_end_what_was_missing(tmp_path: Path, play: bool, code: int) -> None:
    path = tmp_path / "hello.yaml"
    path.write_text(HELLO, encoding="utf-8")
    server = subprocess.Popen(
        [*COMMAND, str(path), "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with server:
        assert server.stdout is not None and server.stderr is not None
        lines = [server.stdout.readline() for _ in range(5)]
        assert [line.split(":")[0] for line in lines] == [
            "OpenAI base URL",
            "OCI endpoint",
            "Bedrock endpoint",
            "Forecast service",
            "Report",
        ]
        url = re.findall(r"http\S+", lines[0])[0]
        if play:
            body = {"model": "hello", "input": "hi"}
            answer = httpx2.post(f"{url}/responses", json=body, headers={"authorization": "Bearer x"})
            assert answer.json()["status"] == "completed"
        server.send_signal(signal.SIGINT)
        errors = server.stderr.read()
    assert server.returncode == code
    assert errors == ("" if play else "hello: was not played\n")


def test_the_schema_of_scenario_files() -> None:
    result = CliRunner().invoke(simulate, ["--schema"])
    assert json.loads(result.output) == scenario_schema()


def test_a_wrong_scenario_is_told(tmp_path: Path) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text("name: wrong\nturn: []\n", encoding="utf-8")
    result = CliRunner().invoke(simulate, [str(path)])
    assert result.exit_code == 2
    assert "/turn: unknown key" in result.output and "/turns: required" in result.output
