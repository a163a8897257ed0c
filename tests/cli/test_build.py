"""`toolgen build`: what it writes, what it leaves alone, and what it says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run, contents, spec, state, write_spec

TEXT = {"type": "string"}


def test_a_build_makes_a_package_that_answers_calls(project: Path, run: Run) -> None:
    write_spec(project / "specs", "greet", name=TEXT)
    run("build", "specs")
    (project / "generated/handlers/greet.py").write_text(
        "def greet(args, call):\n    return f'Hello {args.name}'\n", encoding="utf-8"
    )
    script = (
        "import asyncio; from generated import dispatcher; from generated.runtime import Call;"
        "r = asyncio.run(dispatcher().execute(Call('greet', '{\"name\": \"Ada\"}'))); print(r.success, r.output)"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], cwd=project, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("True Hello Ada\n", "")


def test_a_stub_that_nobody_filled_in_does_not_look_like_success(project: Path, run: Run) -> None:
    write_spec(project / "specs", "greet", name=TEXT)
    run("build", "specs")
    script = (
        "import logging; logging.disable(); from generated import dispatcher; from generated.runtime import Call;"
        "r = dispatcher().execute_sync(Call('greet', {'name': 'Ada'})); print(r.success, r.error.code)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=project, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("False not_implemented\n", "")


def test_building_twice_changes_no_byte_and_no_mtime(project: Path, run: Run) -> None:
    write_spec(project / "specs", "one", x=TEXT)
    run("build", "specs")
    before = state(project / "generated")
    assert "up to date" in run("build", "specs").output
    os.utime(project / "generated/toolgen.lock", (1, 1))  # makes the quick way useless: everything is compared
    before["toolgen.lock"] = (before["toolgen.lock"][0], 10**9)
    run("build", "specs")
    assert state(project / "generated") == before


def test_every_problem_is_reported_at_once_and_nothing_is_written(project: Path, run: Run) -> None:
    write_spec(project / "specs", "good", x=TEXT)
    (project / "specs/broken.json").write_text('{"name": "broken",\n  "parameters": }\n', encoding="utf-8")
    bad = spec("bad", x={"type": "strin"})
    (project / "specs/bad.json").write_text(json.dumps(bad, indent=1), encoding="utf-8")
    (project / "specs/clash.yaml").write_text("name: good\ndescription: again\nparameters: {type: object}\n", "utf-8")
    output = run("build", "specs", exit_code=2).output
    assert "specs/broken.json:2: error[json-syntax]" in output
    assert "specs/bad.json:9: error[schema-invalid] /parameters/properties/x/type" in output
    assert 'write "string"' in output
    assert "error[duplicate-tool]" in output
    assert not (project / "generated").exists()


def test_an_error_leaves_the_last_build_as_it_is(project: Path, run: Run) -> None:
    write_spec(project / "specs", "one", x=TEXT)
    run("build", "specs")
    before = state(project / "generated")
    write_spec(project / "specs", "two", x={"type": 5})
    run("build", "specs", exit_code=2)
    assert state(project / "generated") == before


def test_handlers_are_created_once_and_never_touched(project: Path, run: Run) -> None:
    write_spec(project / "specs", "job", a={"type": "integer"})
    run("build", "specs")
    handler = project / "generated/handlers/job.py"
    handler.write_text("def job(args, call):\n    return args.a\n", encoding="utf-8")
    before = state(project / "generated/handlers")["job.py"]
    write_spec(project / "specs", "job", a={"type": "integer"}, b=TEXT)
    write_spec(project / "specs", "job2", a=TEXT)
    run("build", "specs")
    assert state(project / "generated/handlers")["job.py"] == before
    assert (project / "generated/handlers/job2.py").exists()
    assert "b: str" in (project / "generated/models/job.py").read_text(encoding="utf-8")


def test_a_removed_tool_loses_its_files_but_not_its_handler(project: Path, run: Run) -> None:
    write_spec(project / "specs", "stay", a=TEXT)
    gone = write_spec(project / "specs", "gone", a=TEXT)
    run("build", "specs")
    gone.unlink()
    output = run("build", "specs").output
    generated = contents(project / "generated")
    assert "handlers/gone.py" in generated
    assert not {"models/gone.py", "schemas/gone.json"} & generated.keys()
    assert "handlers/gone.py" in output
    assert '"gone"' not in (project / "generated/dispatch.py").read_text(encoding="utf-8")


def test_hand_edited_files_are_rewritten_and_named_and_edited_orphans_stay(project: Path, run: Run) -> None:
    write_spec(project / "specs", "stay", a=TEXT)
    gone = write_spec(project / "specs", "gone", a=TEXT)
    run("build", "specs")
    clean = contents(project / "generated")
    for edited in ("models/stay.py", "models/gone.py"):
        with (project / "generated" / edited).open("a", encoding="utf-8") as file:
            file.write("# mine\n")
    gone.unlink()
    output = run("build", "specs").output
    assert "models/stay.py" in output
    assert "models/gone.py" in output
    after = contents(project / "generated")
    assert after["models/stay.py"] == clean["models/stay.py"]
    assert "models/gone.py" in after


def test_a_folder_that_toolgen_did_not_make_is_refused(project: Path, run: Run) -> None:
    write_spec(project / "specs", "one", a=TEXT)
    (project / "mine").mkdir()
    (project / "mine/work.py").write_text("precious = 1\n", encoding="utf-8")
    before = state(project / "mine")
    run("build", "specs", "-o", "mine", exit_code=2)
    assert state(project / "mine") == before
    (project / "empty").mkdir()
    run("build", "specs", "-o", "empty")


def test_the_repository_itself_is_no_output_folder(project: Path, run: Run) -> None:
    subprocess.run(["git", "init", "-q"], check=True)
    write_spec(project / "specs", "one", a=TEXT)
    before = state(project)
    run("build", "specs", "-o", ".", exit_code=2)
    assert state(project) == before


def test_building_one_spec_of_a_set_keeps_the_others(project: Path, run: Run) -> None:
    one = write_spec(project / "specs", "one", a=TEXT)
    two = write_spec(project / "specs", "two", a=TEXT)
    run("build", "specs")
    kept = {path: digest for path, digest in contents(project / "generated").items() if "two" in path}
    write_spec(project / "specs", "one", a=TEXT, b=TEXT)
    write_spec(project / "specs", "two", a=TEXT, other=TEXT)  # changed too, but nobody asked for it
    run("build", one)
    after = contents(project / "generated")
    assert "b: str" in (project / "generated/models/one.py").read_text(encoding="utf-8")
    assert {path: digest for path, digest in after.items() if "two" in path} == kept
    two.unlink()
    run("build", one)
    assert {path: digest for path, digest in contents(project / "generated").items() if "two" in path} == kept
    payload = json.loads((project / "generated/payloads/openai_responses.json").read_text(encoding="utf-8"))
    assert [entry["name"] for entry in payload] == ["one", "two"]


def test_building_the_folder_after_a_part_of_it_gives_what_a_fresh_build_gives(project: Path, run: Run) -> None:
    one = write_spec(project / "specs", "one", a=TEXT)
    write_spec(project / "specs", "two", a=TEXT)
    run("build", "specs")
    write_spec(project / "specs", "one", a=TEXT, b=TEXT)
    write_spec(project / "specs", "two", a=TEXT, b=TEXT)
    run("build", one)
    run("build", "specs")
    run("build", "specs", "-o", "fresh")
    built, fresh = contents(project / "generated"), contents(project / "fresh")
    assert built == fresh


def test_a_renamed_spec_can_be_built_alone(project: Path, run: Run) -> None:
    old = write_spec(project / "specs", "one", a=TEXT)
    write_spec(project / "specs", "two", a=TEXT)
    run("build", "specs")
    new = old.rename(project / "specs/renamed.json")
    run("build", new)
    run("check", "specs")
    copy = project / "specs/copy.json"
    copy.write_text(new.read_text(encoding="utf-8"), encoding="utf-8")
    assert "error[duplicate-tool]" in run("build", copy, exit_code=2).output


def test_a_part_whose_tool_is_gone_loses_that_tool_only(project: Path, run: Run) -> None:
    write_spec(project / "specs", "two", a=TEXT)
    both = project / "specs/both.json"
    both.write_text(json.dumps([spec("x", a=TEXT), spec("y", a=TEXT)]), encoding="utf-8")
    run("build", "specs")
    both.write_text(json.dumps([spec("y", a=TEXT)]), encoding="utf-8")
    run("build", both)
    models = {path for path in contents(project / "generated") if path.startswith("models/")}
    assert models == {"models/__init__.py", "models/two.py", "models/y.py"}


@pytest.mark.parametrize("damage", ["", "{", "<<<<<<< ours\n{}\n=======\n{}\n>>>>>>> theirs\n", "[]"])
def test_a_damaged_lock_is_rebuilt(project: Path, run: Run, damage: str) -> None:
    write_spec(project / "specs", "one", a=TEXT)
    run("build", "specs")
    before = contents(project / "generated")
    (project / "generated/toolgen.lock").write_text(damage, encoding="utf-8")
    run("build", "specs")
    assert contents(project / "generated") == before


def test_a_lock_with_real_conflict_marks_is_rebuilt(project: Path, run: Run) -> None:
    def git(*arguments: str, check: bool = True) -> None:
        identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]
        subprocess.run(["git", *identity, *arguments], check=check, capture_output=True)

    git("init", "-q")
    write_spec(project / "specs", "base", a=TEXT)
    run("build", "specs")
    git("add", "-A")
    git("commit", "-qm", "base")
    git("checkout", "-qb", "side")
    write_spec(project / "specs", "left", a=TEXT)
    run("build", "specs")
    git("add", "-A")
    git("commit", "-qm", "left")
    git("checkout", "-q", "main")
    write_spec(project / "specs", "right", a=TEXT)
    run("build", "specs")
    git("add", "-A")
    git("commit", "-qm", "right")
    git("merge", "side", check=False)
    assert "<<<<<<<" in (project / "generated/toolgen.lock").read_text(encoding="utf-8")
    run("build", "specs")
    run("build", "specs", "-o", "fresh")
    assert contents(project / "generated") == contents(project / "fresh")


def test_exit_code_is_for_hooks(project: Path, run: Run) -> None:
    write_spec(project / "specs", "one", a=TEXT)
    run("build", "specs", "--exit-code", exit_code=1)
    run("build", "specs", "--exit-code", exit_code=0)
    write_spec(project / "specs", "one", a=TEXT, b=TEXT)
    run("build", "specs", exit_code=0)


def test_strict_makes_warnings_stop_the_build(project: Path, run: Run) -> None:
    write_spec(project / "specs", "one", a={"type": "integer", "default": "many"})
    assert "warning[default-misfit]" in run("build", "specs", "--strict", exit_code=2).output
    assert not (project / "generated").exists()
    assert "warning[default-misfit]" in run("build", "specs").output


def test_the_names_of_the_package(project: Path, run: Run) -> None:
    write_spec(project / "specs", "one", a=TEXT)
    run("build", "specs", "--package", "tools")
    run("build", "specs", "--output", "src/app/functions")
    run("build", "specs", "--output", "lib", "--package", "calls")
    run("build", "specs", "--output", "lib/same", "--package", "same")
    for folder in ("tools", "src/app/functions", "lib/calls", "lib/same"):
        assert (project / folder / "toolgen.lock").is_file()
    for name in ("not-a-name", "class"):
        assert "Python name" in run("build", "specs", "--output", name, exit_code=2).output
        assert "Python name" in run("build", "specs", "--package", name, exit_code=2).output
    assert "inside the output" in run("build", "specs", "--output", "specs", exit_code=2).output


def test_targets_choose_payloads_loops_and_adapters(project: Path, run: Run) -> None:
    write_spec(project / "specs", "one", a=TEXT)
    run("build", "specs", "--target", "openai_responses")
    generated = contents(project / "generated")
    assert {path for path in generated if path.startswith("payloads/")} == {
        "payloads/__init__.py",
        "payloads/openai_responses.json",
    }
    assert "runtime/loops/openai_responses.py" in generated
    assert not [path for path in generated if "oci" in path or "openai_agents" in path]
    run("build", "specs", "--target", "none")
    generated = contents(project / "generated")
    assert not [path for path in generated if path.endswith((".json",)) and path.startswith("payloads/")]
    assert not [path for path in generated if path.startswith(("runtime/loops", "runtime/adapters"))]
    run("build", "specs", "--target", "none", "--target", "oci_agents", exit_code=2)
    assert "openai_responses" in run("build", "specs", "--target", "openai_respones", exit_code=2).output


def test_injected_handlers_need_no_stubs(project: Path, run: Run) -> None:
    (project / "pyproject.toml").write_text('[tool.toolgen]\nhandlers = "inject"\n', encoding="utf-8")
    write_spec(project / "specs", "one", a=TEXT)
    run("build", "specs")
    assert not (project / "generated/handlers").exists()
    script = (
        "from generated import dispatcher; from generated.runtime import Call\n"
        "class Service:\n"
        "    def __init__(self, db): self.db = db\n"
        "    async def one(self, args, call): return {'got': self.db + args.a}\n"
        "print(dispatcher(Service('db:')).execute_sync(Call('one', {'a': 'x'})).output)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=project, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ('{"got":"db:x"}\n', "")


def test_imports_in_the_package_are_relative(project: Path, run: Run) -> None:
    write_spec(project / "specs", "one", a=TEXT)
    run("build", "specs", "--output", "src/app/generated")
    (project / "src/app/__init__.py").write_text("", encoding="utf-8")
    script = "from app.generated import dispatcher; dispatcher().preload(); print('ok')"
    done = subprocess.run([sys.executable, "-c", script], cwd=project / "src", capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("ok\n", "")


def test_two_builds_at_once_leave_a_complete_package(project: Path, run: Run) -> None:
    for number in range(12):
        write_spec(project / "specs", f"tool_{number}", a=TEXT)
    command = [sys.executable, "-m", "codegen", "build", "specs", "-q"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    builds = [subprocess.Popen(command, env=environment) for _ in range(3)]
    assert [build.wait() for build in builds] == [0, 0, 0]
    run("check", "specs")
    script = "from generated import dispatcher; dispatcher().preload()"
    subprocess.run([sys.executable, "-c", script], cwd=project, check=True)


def test_nothing_of_the_machine_gets_into_the_output(project: Path, run: Run) -> None:
    write_spec(project / "specs", "one", a=TEXT)
    run("build", "specs")
    for path in (project / "generated").rglob("*"):
        if path.is_file():
            assert str(project) not in path.read_text(encoding="utf-8")


def test_build_says_what_is_missing(project: Path, run: Run) -> None:
    assert "there is no such file or folder" in run("build", "nowhere", exit_code=2).output
    (project / "specs").mkdir()
    assert "holds no spec" in run("build", exit_code=2).output
