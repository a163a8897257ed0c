"""The examples of docs/simulator.md do what the page says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from codegen.simulator import load_scenarios
from codegen.simulator.faults import Operation
from codegen.simulator.scenario import Approval, ModelCall, Oci, ResultCheck, Scenario, Step

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "simulator.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_the_example_plays_its_scenario(tmp_path: Path) -> None:
    (scenario,) = blocks("yaml")
    (tmp_path / "weather.yaml").write_text(scenario, encoding="utf-8")
    assert load_scenarios(tmp_path / "weather.yaml")[0].name == "weather"
    (tmp_path / "example.py").write_text(blocks("python")[0], encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "example.py"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PYTHONUTF8": "1", "PATH": ""},
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert (done.returncode, done.stdout) == (0, "Madrid: 7 °C, Barcelona: 7 °C.\n"), done.stderr


@pytest.mark.parametrize("part", [Scenario, Step, ModelCall, ResultCheck, Oci, Approval])
def test_every_key_is_explained(part: type[Scenario]) -> None:
    for name, field in part.model_fields.items():
        assert f"`{field.alias or name}`" in PAGE or f"{field.alias or name}:" in PAGE, f"{part.__name__}.{name}"


@pytest.mark.parametrize("operation", Operation.__args__)  # type: ignore[attr-defined]  # a Literal has its values there
def test_every_operation_is_listed(operation: str) -> None:
    assert f"`{operation}`" in PAGE or f"`.{operation.split('.')[1]}`" in PAGE
