"""The configuration: where it is found and what it may say."""

from __future__ import annotations

from pathlib import Path

import pytest

from codegen.project import SETTINGS, ConfigError, load_project
from tests.cli.conftest import Run, write_spec

TEXT = {"type": "string"}


def test_defaults_come_from_the_configuration(project: Path, run: Run) -> None:
    (project / "pyproject.toml").write_text(
        '[tool.toolgen]\nspecs = ["api/tools"]\noutput = "src/calls"\ntargets = ["openai_responses"]\n',
        encoding="utf-8",
    )
    write_spec(project / "api/tools", "one", a=TEXT)
    run("build")
    assert (project / "src/calls/payloads/openai_responses.json").is_file()
    assert not (project / "src/calls/payloads/oci_agents.json").exists()


def test_the_configuration_is_the_one_above_the_first_spec(project: Path, run: Run) -> None:
    (project / "pyproject.toml").write_text('[tool.toolgen]\noutput = "wrong"\n', encoding="utf-8")
    service = project / "services/billing"
    write_spec(service / "specs", "one", a=TEXT)
    (service / "pyproject.toml").write_text('[tool.toolgen]\noutput = "right"\n', encoding="utf-8")
    run("build", "services/billing/specs")
    assert (service / "right/dispatch.py").is_file()
    assert not (project / "wrong").exists()


def test_the_command_line_goes_before_the_configuration(project: Path, run: Run) -> None:
    (project / "pyproject.toml").write_text('[tool.toolgen]\noutput = "configured"\n', encoding="utf-8")
    write_spec(project / "specs", "one", a=TEXT)
    run("build", "specs", "-o", "named")
    assert (project / "named/dispatch.py").is_file()
    assert not (project / "configured").exists()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('ouput = "x"', "did you mean output?"),
        ("specs = 5", "specs must be a list of texts"),
        ('handlers = "none"', "handlers must be one of stubs, inject"),
        ("strict = 1", "strict must be true or false"),
        ("output = [", "pyproject.toml"),
    ],
)
def test_mistakes_are_named(project: Path, run: Run, text: str, says: str) -> None:
    (project / "pyproject.toml").write_text(f"[tool.toolgen]\n{text}\n", encoding="utf-8")
    write_spec(project / "specs", "one", a=TEXT)
    assert says in run("build", "specs", exit_code=2).output


def test_several_mistakes_are_named_at_once(project: Path) -> None:
    (project / "pyproject.toml").write_text("[tool.toolgen]\nspecs = 5\nstrict = 1\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"(?s)specs must be.*strict must be"):
        load_project([])


def test_the_documentation_names_every_setting() -> None:
    text = (Path(__file__).resolve().parents[2] / "docs/configuration.md").read_text(encoding="utf-8")
    for name, setting in SETTINGS.items():
        assert f"| `{name}` |" in text
        assert setting.meaning in text
