"""`toolgen check`: it finds every kind of drift and writes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Run, state, write_spec

TEXT = {"type": "string"}


@pytest.fixture
def built(project: Path, run: Run) -> Path:
    write_spec(project / "specs", "one", a=TEXT)
    write_spec(project / "specs", "two", a=TEXT)
    run("build", "specs")
    return project


def test_clean(built: Path, run: Run) -> None:
    before = state(built)
    assert "up to date" in run("check", "specs").output
    assert state(built) == before


def test_a_changed_spec(built: Path, run: Run) -> None:
    write_spec(built / "specs", "one", a=TEXT, b=TEXT)
    before = state(built)
    output = run("check", "specs", exit_code=1).output
    assert "generated/models/one.py: is out of date" in output
    assert "+    b: str" in output
    assert "models/two.py" not in output
    assert state(built) == before


def test_a_new_spec_and_a_removed_one(built: Path, run: Run) -> None:
    write_spec(built / "specs", "three", a=TEXT)
    (built / "specs/two.json").unlink()
    output = run("check", "specs", exit_code=1).output
    assert "generated/models/three.py: is missing" in output
    assert "generated/handlers/three.py: has no handler file yet" in output
    assert "generated/models/two.py: belongs to no tool any more" in output
    assert "generated/handlers/two.py" in output


def test_a_hand_edited_file_and_a_deleted_one(built: Path, run: Run) -> None:
    with (built / "generated/models/one.py").open("a", encoding="utf-8") as file:
        file.write("# mine\n")
    (built / "generated/schemas/two.json").unlink()
    output = run("check", "specs", exit_code=1).output
    assert "generated/models/one.py: was edited by hand" in output
    assert "-# mine" in output
    assert "generated/schemas/two.json: is missing" in output


def test_an_extra_handler_is_listed_and_is_no_drift(built: Path, run: Run) -> None:
    (built / "generated/handlers/shared_code.py").write_text("x = 1\n", encoding="utf-8")
    (built / "generated/toolgen.lock").touch()
    assert "shared_code.py" in run("check", "specs", "--strict").output


def test_spec_errors_are_not_drift(built: Path, run: Run) -> None:
    (built / "specs/one.json").write_text("{", encoding="utf-8")
    run("check", "specs", exit_code=2)


def test_nothing_built_yet(project: Path, run: Run) -> None:
    write_spec(project / "specs", "one", a=TEXT)
    assert "dispatch.py: is missing" in run("check", "specs", exit_code=1).output
    assert not (project / "generated").exists()


def test_usage_errors(project: Path, run: Run) -> None:
    run("check", "--no-such-option", exit_code=2)
