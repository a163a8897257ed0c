"""Toolsets of the configuration, as the commands see them."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Run, write_spec

TEXT = {"type": "string"}
NAMES = ["get_customer", "order_cancel", "order_status", "pay"]


def test_build_check_and_lint(project: Path, run: Run) -> None:
    config = project / "pyproject.toml"
    config.write_text('[tool.toolgen]\n[tool.toolgen.toolsets]\nsales = ["pay", "order_*"]\n', encoding="utf-8")
    for name in NAMES:
        write_spec(project / "specs", name, a=TEXT)
    run("build")
    assert '"sales": (\n            "order_cancel",' in (project / "generated/dispatch.py").read_text(encoding="utf-8")
    run("check")
    config.write_text(config.read_text(encoding="utf-8").replace("order_*", "order_status"), encoding="utf-8")
    assert "dispatch.py: is out of date" in run("check", exit_code=1).output
    run("build")
    run("check")
    config.write_text(config.read_text(encoding="utf-8").replace('"pay"', '"buy"'), encoding="utf-8")
    for command in ("build", "check", "lint"):
        output = run(command, exit_code=2).output
        assert "pyproject.toml: error[unknown-toolset-tool]" in output
        assert "there is no tool 'buy'" in output
    # Whoever builds a part into another place has the rest of the tools elsewhere.
    output = run("build", "specs/pay.json", "-o", "part").output
    assert "warning[unknown-toolset-tool]" in output


def test_a_part_that_is_built_again_keeps_the_toolset(project: Path, run: Run) -> None:
    (project / "pyproject.toml").write_text('[tool.toolgen.toolsets]\nsales = ["*"]\n', encoding="utf-8")
    for name in NAMES:
        write_spec(project / "specs", name, a=TEXT)
    run("build")
    before = (project / "generated/dispatch.py").read_bytes()
    write_spec(project / "specs", "pay", b=TEXT)
    run("build", "specs/pay.json")
    assert (project / "generated/dispatch.py").read_bytes() == before
