"""Publishing: all or nothing, whatever stops it, and nothing at all when there is nothing to do."""

from __future__ import annotations

import json
import locale
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from codegen.publish import BlockedPlan, FolderError, Outcome, Recovery, StalePlan, drift, locked, plan, publish
from tests.publish import crashes
from tests.publish.support import HEADER, build, contents, expected, package, snapshot

STAGING = ".toolgen-staging"


def test_a_fresh_output_holds_the_package_and_nothing_else(tmp_path: Path) -> None:
    made = package({"runtime/loops/deep.py": "", "payloads/x.json": "{}"}, "a", "b")
    build(tmp_path / "src/app/generated", made)
    assert contents(tmp_path / "src/app/generated") == expected(made)


def test_what_was_done_is_told(tmp_path: Path) -> None:
    build(tmp_path, package(None, "a"))
    with locked(tmp_path):
        done = publish(tmp_path, plan(tmp_path, package(None, "b")))
    assert done.written == ("handlers/b.py", "models/b.py", "schemas/b.json", "toolgen.lock")
    assert done.removed == ("models/a.py", "schemas/a.json")


def test_a_second_publication_touches_nothing(tmp_path: Path) -> None:
    made = package(None, "a", "b")
    build(tmp_path, made)
    times = {path: path.stat().st_mtime_ns for path in [tmp_path, *tmp_path.rglob("*")]}
    build(tmp_path, made)
    assert {path: path.stat().st_mtime_ns for path in [tmp_path, *tmp_path.rglob("*")]} == times


def test_files_that_stay_the_same_keep_their_time_when_others_change(tmp_path: Path) -> None:
    build(tmp_path, package({"dispatch.py": "1"}, "a"))
    before = snapshot(tmp_path)
    build(tmp_path, package({"dispatch.py": "2"}, "a"))
    after = snapshot(tmp_path)
    assert {path for path in before if before[path] != after[path]} == {"dispatch.py", "toolgen.lock"}


def test_handlers_are_created_once(tmp_path: Path) -> None:
    build(tmp_path, package(None, "a"))
    handler = tmp_path / "handlers/a.py"
    handler.write_text("mine")
    os.utime(handler, ns=(1, 1))
    for made in (package(None, "a", version="2"), package(None, "b"), package(), package(None, "a")):
        build(tmp_path, made)
        assert (handler.read_text(), handler.stat().st_mtime_ns) == ("mine", 1)


def test_bytes_are_utf_8_with_line_feeds_in_any_locale(tmp_path: Path) -> None:
    text = "# año 日本 😀\nx = 1\n"
    locale_before = locale.setlocale(locale.LC_ALL)
    locale.setlocale(locale.LC_ALL, "C")
    try:
        build(tmp_path, package({"models/obtención.py": text}))
    finally:
        locale.setlocale(locale.LC_ALL, locale_before)
    assert (tmp_path / "models/obtención.py").read_bytes() == (HEADER + text).encode()


def test_the_mode_of_a_file_is_kept(tmp_path: Path) -> None:
    build(tmp_path, package({"models/a.py": "1"}))
    (tmp_path / "models/a.py").chmod(0o440)
    build(tmp_path, package({"models/a.py": "2"}))
    assert (tmp_path / "models/a.py").stat().st_mode & 0o777 == 0o440
    assert (tmp_path / "models/a.py").read_text() == HEADER + "2"


def test_another_name_of_a_file_keeps_its_bytes(tmp_path: Path) -> None:
    build(tmp_path / "out", package({"models/a.py": "1"}))
    (tmp_path / "name").hardlink_to(tmp_path / "out/models/a.py")
    build(tmp_path / "out", package({"models/a.py": "2"}))
    assert (tmp_path / "name").read_text() == HEADER + "1"


def test_emptied_folders_go_with_what_was_compiled_in_them(tmp_path: Path) -> None:
    build(tmp_path, package({"runtime/loops/deep/x.py": "", "payloads/a.json": "{}"}, "a", "b"))
    for cache in ("runtime/loops/deep/__pycache__", "models/__pycache__"):
        (tmp_path / cache).mkdir()
    for compiled in ("runtime/loops/deep/__pycache__/x.cpython-311.pyc", "models/__pycache__/a.cpython-311.pyc"):
        (tmp_path / compiled).write_bytes(b"")
    (tmp_path / "models/__pycache__/b.cpython-311.pyc").write_bytes(b"")
    build(tmp_path, package(None, "b"))
    assert sorted(snapshot(tmp_path)) == [
        "__init__.py",
        "handlers",
        "handlers/a.py",
        "handlers/b.py",
        "models",
        "models/__pycache__",
        "models/__pycache__/b.cpython-311.pyc",
        "models/b.py",
        "schemas",
        "schemas/b.json",
        "toolgen.lock",
    ]


def test_a_folder_with_a_person_s_file_in_it_stays(tmp_path: Path) -> None:
    build(tmp_path, package({"runtime/loops/x.py": ""}))
    (tmp_path / "runtime/loops/notes.txt").write_text("mine")
    (tmp_path / "runtime/empty").mkdir()
    build(tmp_path, package())
    assert (tmp_path / "runtime/loops/notes.txt").read_text() == "mine"
    assert (tmp_path / "runtime/empty").is_dir()


def test_a_plan_with_errors_cannot_be_published(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(BlockedPlan, match="output-refused"):
        publish(tmp_path, plan(tmp_path, package()))
    assert list(tmp_path.iterdir()) == [tmp_path / "notes.txt"]


def test_a_plan_is_good_for_its_own_folder_only(tmp_path: Path) -> None:
    planned = plan(tmp_path / "one", package())
    with pytest.raises(ValueError, match="the plan is for"):
        publish(tmp_path / "other", planned)


@pytest.mark.parametrize("path", ["models/b.py", "models/a.py", "schemas/gone.json", "toolgen.lock", "handlers/b.py"])
def test_a_file_that_changed_since_the_plan_stops_everything(tmp_path: Path, path: str) -> None:
    build(tmp_path, package({"models/a.py": "1"}, "gone"))
    with locked(tmp_path):
        planned = plan(tmp_path, package({"models/a.py": "2"}, "b"))
        (tmp_path / path).write_text("just saved")
        before = snapshot(tmp_path)
        with pytest.raises(StalePlan) as caught:
            publish(tmp_path, planned)
    assert caught.value.path == path
    assert snapshot(tmp_path) == before


def test_a_folder_that_became_a_link_since_the_plan_stops_everything(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    out = tmp_path / "out"
    build(out, package(None, "a"))
    with locked(out):
        planned = plan(out, package({"runtime/x.py": ""}, "a"))
        (out / "runtime").symlink_to(outside)
        before = snapshot(out)
        with pytest.raises(FolderError) as caught:
            publish(out, planned)
    assert caught.value.path.endswith("/runtime")
    assert caught.value.outcome is Outcome.UNTOUCHED
    assert snapshot(out) == before
    assert list(outside.iterdir()) == []


def test_a_build_without_the_lock_does_not_disturb_one_that_has_it(tmp_path: Path) -> None:
    build(tmp_path, package())
    (tmp_path / STAGING).mkdir()
    (tmp_path / STAGING / "new-00000").write_text("half written")
    with pytest.raises(FolderError, match="exists"):
        publish(tmp_path, plan(tmp_path, package(None, "a")))
    assert (tmp_path / STAGING / "new-00000").exists()


# What the system refuses, for real


def run_limited(code: str, folder: Path) -> str:
    """Runs `code` in a process of its own, with `folder` as its argument, and returns what it printed."""
    before = "import sys; sys.path.insert(0, sys.argv[1]); from pathlib import Path\n"
    before += "from codegen.publish import *; from tests.publish.support import *\n"
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "-c", before + code, str(root), str(folder)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("existing", [True, False])
def test_a_file_that_the_system_will_not_hold_leaves_the_folder_as_it_was(tmp_path: Path, existing: bool) -> None:
    out = tmp_path / "new/out"
    if existing:
        build(out, package(None, "a", "gone"))
    before = snapshot(tmp_path)
    code = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    build(Path(sys.argv[2]), package({"models/big.py": "#" * 200_000}, "a", "b", version="2"))
except FolderError as error:
    print(error.path, error.outcome.name, type(error.cause).__name__, sep="\\n")
"""
    path, outcome, cause = run_limited(code, out).split()
    assert (path, outcome, cause) == (str(out / "models/big.py"), "UNTOUCHED", "OSError")
    assert snapshot(tmp_path) == before


@pytest.fixture
def public_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder that a process without privileges can reach."""
    import shutil
    import tempfile

    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    for path in [folder, *folder.rglob("*")]:
        if path.is_dir():
            path.chmod(0o755)
    shutil.rmtree(folder)


@pytest.mark.parametrize("closed", ["out", "out/models"])
def test_a_folder_without_permission_stays_as_it_was(public_folder: Path, closed: str) -> None:
    out = public_folder / "out"
    build(out, package({"models/deep/x.py": "1"}, "a", "gone"))
    (public_folder / closed).chmod(0o555)
    before = snapshot(public_folder)
    code = """
if os.geteuid() == 0:
    for folder, _, files in os.walk(sys.argv[2]):
        for name in [".", *files]:
            os.chown(Path(folder, name), 65534, 65534)
    os.seteuid(65534)
try:
    build(Path(sys.argv[2]), package({"models/deep/x.py": "2"}, "a", "b", version="2"))
except FolderError as error:
    print(error.path, error.outcome.name, type(error.cause).__name__, sep="\\n")
"""
    path, outcome, cause = run_limited(code, out).split()
    assert path.startswith(str(public_folder / closed))
    assert outcome == ("UNTOUCHED" if closed == "out" else "RESTORED")
    assert cause == "PermissionError"
    assert snapshot(public_folder) == before


# Stopped at every step


def run_crashes(mode: str, folder: Path) -> dict[str, str]:
    """What each round said, by the name of its folder."""
    done = subprocess.run([sys.executable, crashes.__file__, mode, str(folder)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    said = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    assert len(said) > 60  # how many operations there are depends on the version of Python
    assert list(said.values())[-1] == "done"
    return said


def is_old(folder: Path, old: Path) -> bool:
    return snapshot(folder) == snapshot(old)


@pytest.mark.parametrize("mode", ["kill", "kill-again"])
def test_a_build_that_was_killed_is_undone_or_finished_by_the_next(tmp_path: Path, mode: str) -> None:
    said = run_crashes(mode, tmp_path)
    seen: set[Recovery] = set()
    for number, name in enumerate(said):
        folder = tmp_path / name
        assert (folder / "handlers/gone.py").read_text() == crashes.HANDLER
        with locked(folder) as recovered:
            seen.add(recovered)
        finished = drift(folder, crashes.NEW).clean
        assert finished or is_old(folder, tmp_path / "old"), name
        assert finished or recovered is not Recovery.FINISHED, name
        if not finished and number % 5:
            continue  # one of five is enough to see that a build carries on from there
        build(folder, crashes.NEW)
        assert contents(folder) == expected(crashes.NEW) | {"handlers/gone.py": crashes.HANDLER.encode()}, name
        assert "models/__pycache__" not in snapshot(folder)
    assert seen == set(Recovery)


def test_an_operation_that_fails_leaves_the_old_output_or_the_new_one(tmp_path: Path) -> None:
    said = run_crashes("full", tmp_path)
    outcomes = {line.split()[0] for line in said.values()}
    assert outcomes == {"UNTOUCHED", "RESTORED", "PUBLISHED", "done"}
    for name, line in said.items():
        if line.split()[0] in ("UNTOUCHED", "RESTORED"):
            assert is_old(tmp_path / name, tmp_path / "old"), name
        else:
            with locked(tmp_path / name):
                assert drift(tmp_path / name, crashes.NEW).clean, name


def test_ctrl_c_leaves_the_old_output_or_the_new_one_and_nothing_beside_it(tmp_path: Path) -> None:
    said = run_crashes("interrupt", tmp_path)
    new = 0
    for name in said:
        folder = tmp_path / name
        if is_old(folder, tmp_path / "old"):
            continue
        assert drift(folder, crashes.NEW).clean, name
        assert not (folder / STAGING).exists()
        new += 1
    assert 1 < new < len(said)


# What a crash left, and what happened since


def crash_half_way(folder: Path) -> None:
    """The old output with the new files in place, the lock excepted, as a process leaves it that dies right then."""
    crashes.prepare(folder)

    code = """
from codegen.publish import plan, publish
from tests.publish import crashes
def hook(event, arguments):
    if event == "os.rename" and str(arguments[1]).endswith("toolgen.lock"):
        crashes.kill()
sys.addaudithook(hook)
publish(sys.argv[2], plan(sys.argv[2], crashes.NEW))
"""
    start = "import sys; sys.path.insert(0, sys.argv[1])\n"
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run([sys.executable, "-c", start + code, str(root), str(folder)], check=False)
    assert done.returncode < 0
    assert (folder / STAGING / "journal.json").exists()


def test_work_done_between_a_crash_and_the_next_build_survives(tmp_path: Path) -> None:
    crash_half_way(tmp_path)
    (tmp_path / "handlers/fresh.py").write_text("filled in meanwhile")
    (tmp_path / "dispatch.py").write_text(HEADER + "edited meanwhile")
    (tmp_path / "models/gone.py").write_text("written meanwhile")
    (tmp_path / "runtime/new/notes.txt").write_text("noted meanwhile")
    with locked(tmp_path) as recovered:
        assert recovered is Recovery.UNDONE
    assert (tmp_path / "handlers/fresh.py").read_text() == "filled in meanwhile"
    assert (tmp_path / "dispatch.py").read_text() == HEADER + "edited meanwhile"
    assert (tmp_path / "models/gone.py").read_text() == "written meanwhile"
    assert (tmp_path / "runtime/new/notes.txt").read_text() == "noted meanwhile"
    assert not (tmp_path / "models/fresh.py").exists()
    assert not (tmp_path / STAGING).exists()


def test_the_rest_of_a_crash_is_invisible_to_git(tmp_path: Path) -> None:
    crash_half_way(tmp_path)
    assert (tmp_path / STAGING / ".gitignore").read_text() == "*\n"


@pytest.mark.parametrize("path", ["../outside.py", "/etc/outside.py", ".git/config", "models/../../outside.py"])
def test_a_journal_that_leads_out_of_the_folder_is_not_followed(tmp_path: Path, path: str) -> None:
    out = tmp_path / "out"
    build(out, package(None, "a"))
    (tmp_path / "outside.py").write_text("safe")
    (out / STAGING).mkdir()
    (out / STAGING / "old-00000").write_text("evil")
    journal = {"version": 1, "steps": [["replace", path, "0" * 64, None]], "made": [], "emptied": []}
    (out / STAGING / "journal.json").write_text(json.dumps(journal))
    with pytest.raises(FolderError, match="damaged"), locked(out):
        pass
    assert (tmp_path / "outside.py").read_text() == "safe"
    assert (out / STAGING / "old-00000").exists()


@pytest.mark.parametrize("name", ["journal.json", "done.json"])
def test_a_journal_does_not_lead_through_a_link(tmp_path: Path, name: str) -> None:
    out, outside = tmp_path / "out", tmp_path / "outside"
    (outside / "__pycache__").mkdir(parents=True)
    (outside / "__pycache__/a.cpython-311.pyc").write_bytes(b"safe")
    build(out, package())
    (out / "models").symlink_to(outside)
    (out / STAGING).mkdir()
    (out / STAGING / "old-00000").write_text("evil")
    journal = {"version": 1, "steps": [["remove", "models/a.py", "0" * 64, None]], "made": [], "emptied": ["models"]}
    (out / STAGING / name).write_text(json.dumps(journal))
    with pytest.raises(FolderError, match="symbolic link"), locked(out):
        pass
    assert [path.name for path in outside.rglob("*")] == ["__pycache__", "a.cpython-311.pyc"]


def test_a_staging_folder_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    out, outside = tmp_path / "out", tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("safe")
    build(out, package())
    (out / STAGING).symlink_to(outside)
    with pytest.raises(FolderError, match="no folder"), locked(out):
        pass
    assert (outside / "precious").read_text() == "safe"
