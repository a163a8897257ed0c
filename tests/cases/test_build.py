"""Builds in odd surroundings: what people wrote stays, what is published is whole, and a refusal says why."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from codegen.diagnostics import Report
from codegen.pipeline import compile_package
from codegen.project import load_project
from codegen.publish import locked, plan, publish
from tests.cli.conftest import Run, contents, spec, state, write_spec

TEXT = {"type": "string"}
HANDLER = "def job(args, call):\n    return args.a\n"


def written(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if "__pycache__" not in path.parts}


def call(project: Path, name: str, **arguments: str) -> str:
    """The output of a call in a fresh process, or the code of its error."""
    script = (
        "import logging, sys; logging.disable(); from generated import dispatcher; from generated.runtime import Call;"
        "r = dispatcher().execute_sync(Call(sys.argv[1], sys.argv[2])); print(r.output if r.success else r.error.code)"
    )
    command = [sys.executable, "-W", "error", "-c", script, name, json.dumps(arguments)]
    return subprocess.run(command, cwd=project, capture_output=True, text=True, check=True).stdout.strip()


class TestHandlers:
    def test_a_changed_spec_meets_the_handler_that_is_there(self, project: Path, run: Run) -> None:
        write_spec(project / "specs", "job", a=TEXT)
        run("build", "specs")
        (project / "generated/handlers/job.py").write_text(HANDLER, encoding="utf-8")
        assert call(project, "job", a="1") == "1"
        assert call(project, "job", a="1", b="2") == "invalid_arguments"
        write_spec(project / "specs", "job", a=TEXT, b=TEXT)
        run("build", "specs")
        assert (project / "generated/handlers/job.py").read_text(encoding="utf-8") == HANDLER
        assert call(project, "job", a="1") == "invalid_arguments"
        assert call(project, "job", a="1", b="2") == "1"

    def test_a_handler_that_was_deleted_is_missed_and_made_again(self, project: Path, run: Run) -> None:
        write_spec(project / "specs", "job", a=TEXT)
        write_spec(project / "specs", "other", a=TEXT)
        run("build", "specs")
        (project / "generated/handlers/job.py").unlink()
        assert call(project, "job", a="1") == "not_implemented"
        assert "handlers/job.py" in run("check", "specs", exit_code=1).output
        assert "write the handler: generated/handlers/job.py" in run("build", "specs").output
        for file in (project / "generated/handlers").iterdir():
            if file.is_file():
                file.unlink()
        run("build", "specs")
        assert {"handlers/__init__.py", "handlers/job.py", "handlers/other.py"} <= contents(
            project / "generated"
        ).keys()

    def test_code_beside_the_handlers_stays(self, project: Path, run: Run) -> None:
        gone = write_spec(project / "specs", "gone", a=TEXT)
        write_spec(project / "specs", "job", a=TEXT)
        run("build", "specs")
        mine = {"handlers/gone.py": HANDLER, "handlers/shared/code.py": "x = 1\n", "handlers/notes.txt": "mine\n"}
        for path, text in mine.items():
            (project / "generated" / path).parent.mkdir(exist_ok=True)
            (project / "generated" / path).write_text(text, encoding="utf-8")
        gone.unlink()
        assert "handlers/gone.py" in run("build", "specs").output
        for path, text in mine.items():
            assert (project / "generated" / path).read_text(encoding="utf-8") == text
        assert not (project / "generated/models/gone.py").exists()

    def test_tools_whose_names_differ_only_by_case_have_a_handler_each(self, project: Path, run: Run) -> None:
        for name in ("report", "Report", "REPORT"):
            (project / "specs").mkdir(exist_ok=True)
            text = json.dumps(spec(name, a=TEXT))
            (project / f"specs/{'_'.join(name)}.json").write_text(text, encoding="utf-8")
        run("build", "specs")
        names = [path.name.lower() for path in (project / "generated/handlers").glob("*.py")]
        assert len(names) == len(set(names)) == 4


class TestFolders:
    def test_the_output_may_be_a_link_to_a_folder(self, project: Path, run: Run) -> None:
        write_spec(project / "specs", "job", a=TEXT)
        (project / "real").mkdir()
        (project / "generated").symlink_to("real")
        run("build", "specs")
        assert (project / "generated").is_symlink()
        assert (project / "real/dispatch.py").is_file()
        before = state(project / "real")
        run("build", "specs", "--exit-code")
        run("check", "specs")
        assert state(project / "real") == before

    @pytest.mark.parametrize("part", ["models", "schemas/job.json", "payloads/openai_agents.json"])
    def test_a_link_inside_of_the_output_is_not_written_through(self, project: Path, run: Run, part: str) -> None:
        write_spec(project / "specs", "job", a=TEXT)
        run("build", "specs")
        place, away = project / "generated" / part, project / "away"
        place.rename(away)
        place.symlink_to(away)
        before = state(away) if away.is_dir() else away.read_bytes()
        write_spec(project / "specs", "job", a=TEXT, b=TEXT)
        assert "error[output-link]" in run("build", "specs", exit_code=2).output
        assert (state(away) if away.is_dir() else away.read_bytes()) == before

    def test_specs_may_lie_behind_links(self, project: Path, run: Run) -> None:
        write_spec(project / "library", "job", a=TEXT)
        write_spec(project / "library/deep", "other", a=TEXT)
        (project / "specs").symlink_to("library")
        (project / "library/deep/up").symlink_to("..")
        run("build", "specs")
        assert {"models/job.py", "models/other.py"} <= contents(project / "generated").keys()
        run("check", "specs")
        run("build", "specs", "--exit-code")

    @pytest.mark.parametrize("place", ["file", "link to a file", "/dev/null", "/proc/toolgen/generated"])
    def test_a_place_that_can_hold_no_package_is_named(self, project: Path, run: Run, place: str) -> None:
        write_spec(project / "specs", "job", a=TEXT)
        (project / "file").write_text("mine\n", encoding="utf-8")
        (project / "link").symlink_to("file")
        before = state(project)
        output = run("build", "specs", "-o", place.replace("link to a file", "link"), "--package", "tools", exit_code=2)
        assert "cannot" in output.output and "nothing was changed" in output.output
        assert state(project) == before

    def test_specs_that_are_no_files(self, project: Path, run: Run) -> None:
        write_spec(project / "specs", "job", a=TEXT)
        (project / "specs/folder.json").mkdir()
        write_spec(project / "specs/folder.json", "inner", a=TEXT)
        os.mkfifo(project / "specs/pipe.json")
        (project / "specs/gone.yaml").symlink_to("nowhere.yaml")
        output = run("build", "specs", exit_code=2).output
        assert output.count("error[file-not-found]") == 2
        assert "specs/pipe.json" in output and "specs/gone.yaml" in output

    def test_an_output_among_the_specs_is_not_read_as_one(self, project: Path, run: Run) -> None:
        write_spec(project / "tools", "job", a=TEXT)
        for _ in range(2):
            run("build", "tools", "-o", "tools/generated")
        assert sorted(path.name for path in (project / "tools/generated/schemas").iterdir()) == ["job.json"]

    def test_blanks_and_accents_in_paths(self, project: Path, run: Run) -> None:
        write_spec(project / "mis specs ñ", "job", a=TEXT)
        run("build", "mis specs ñ", "-o", "sáli da/généré")
        run("check", "mis specs ñ", "-o", "sáli da/généré")
        lock = json.loads((project / "sáli da/généré/toolgen.lock").read_text(encoding="utf-8"))
        assert lock["roots"] == ["../../mis specs ñ"]

    def test_one_file_named_in_many_ways_is_one(self, project: Path, run: Run) -> None:
        file = write_spec(project / "specs", "job", a=TEXT)
        (project / "specs/again.json").symlink_to("job.json")
        assert "1 tool" in run("build", "specs", file, "specs/../specs/job.json").output


class TestWhileItRuns:
    def test_a_spec_that_changes_meanwhile_is_noticed_by_the_next_check(self, project: Path, run: Run) -> None:
        file = write_spec(project / "specs", "job", a=TEXT)
        loaded = load_project([Path("specs")])
        made = compile_package(loaded, Report(), project)
        assert made is not None
        write_spec(project / "specs", "job", a=TEXT, b=TEXT)
        with locked(loaded.output):
            publish(loaded.output, plan(loaded.output, made))
        assert "b: str" not in (project / "generated/models/job.py").read_text(encoding="utf-8")
        assert "models/job.py: is out of date" in run("check", file, exit_code=1).output
        run("build", "specs")
        run("check", "specs")

    def test_many_hooks_at_once_on_a_part_each(self, project: Path, run: Run) -> None:
        files = [write_spec(project / "specs", f"tool_{number}", a=TEXT) for number in range(3)]
        run("build", "specs")
        for number, file in enumerate(files):
            write_spec(project / "specs", file.stem, a=TEXT, **{f"b{number}": TEXT})
        outputs: list[int] = []

        def build(file: Path) -> None:
            command = [sys.executable, "-m", "codegen", "build", str(file), "-q"]
            environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
            outputs.append(subprocess.run(command, env=environment, check=False).returncode)

        threads = [threading.Thread(target=build, args=(file,)) for file in files]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert outputs == [0] * 3
        run("check", "specs")
        run("build", "specs", "--exit-code")


class TestUnrelated:
    def test_a_repository_around_the_output_stays_as_it_is(self, project: Path, run: Run) -> None:
        subprocess.run(["git", "init", "-q"], check=True)
        (project / "app").mkdir()
        (project / "app/main.py").write_text("print('mine')\n", encoding="utf-8")
        write_spec(project / "specs", "job", a=TEXT)
        before = written(project)
        run("build", "specs", "-o", "app/generated")
        after = written(project)
        assert {path for path in after - before if not path.startswith("app/generated")} == set()
        assert before <= after
        for place in (".", "app", ".git", "specs"):
            run("build", "specs", "-o", place, exit_code=2)
        assert written(project) == after
