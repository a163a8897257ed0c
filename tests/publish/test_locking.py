"""One build at a time: with real processes, and with nothing left behind."""

from __future__ import annotations

import fcntl
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from subprocess import PIPE

import pytest

from codegen.publish import FolderError, Recovery, drift, locked, locking, plan, publish
from tests.publish.support import build, contents, expected, package, snapshot

ROOT = Path(__file__).resolve().parents[2]
START = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from codegen.publish import drift, locked, plan, publish
from tests.publish.support import build, package, snapshot
folder, name = Path(sys.argv[2]), sys.argv[3]
"""
TOOLS = ("a", "b", "c", "d")


def start(code: str, folder: Path, name: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", START + code, str(ROOT), str(folder), name]
    return subprocess.Popen(command, stdin=PIPE, stdout=PIPE, stderr=PIPE, text=True)


def finish(*processes: subprocess.Popen[str]) -> list[str]:
    told = [process.communicate() for process in processes]
    assert all(process.returncode == 0 for process in processes), told
    return [out for out, _ in told]


def test_builds_at_once_leave_one_whole_output(tmp_path: Path) -> None:
    out = tmp_path / "new/generated"
    code = """
for version in range(12):
    build(folder, package({"dispatch.py": f"from .models import {name}"}, name, "all", version=f"{name}{version}"))
"""
    finish(*[start(code, out, name) for name in TOOLS])
    outcomes = {
        name: package({"dispatch.py": f"from .models import {name}"}, name, "all", version=f"{name}11")
        for name in TOOLS
    }
    last = [name for name, made in outcomes.items() if drift(out, made).clean]
    assert len(last) == 1
    handlers = {path: data for name in TOOLS for path, data in outcomes[name].stub_content.items()}
    assert contents(out) == handlers | expected(outcomes[last[0]])


def test_first_builds_that_fail_and_succeed_at_once_do_not_lose_the_folder(tmp_path: Path) -> None:
    out = tmp_path / "new/generated"
    code = """
for number in range(30):
    with locked(folder):
        if name == "fails" or number < 29:
            continue
        planned = plan(folder, package(None, "a"))
        publish(folder, planned)
"""
    finish(*[start(code, out, name) for name in ("fails", "fails", "succeeds")])
    assert contents(out) == expected(package(None, "a"))


def test_a_look_meets_no_half_published_output(tmp_path: Path) -> None:
    one, other = package({"models/x.py": "1"}, "a"), package({"models/y.py": "2"}, "b", version="2")
    build(tmp_path, one)
    code = """
one, other = package({"models/x.py": "1"}, "a"), package({"models/y.py": "2"}, "b", version="2")
for _ in range(15):
    build(folder, other)
    build(folder, one)
"""
    writer = start(code, tmp_path, "")
    looks = 0
    while writer.poll() is None or looks == 0:
        with locked(tmp_path, shared=True):
            assert drift(tmp_path, one).clean or drift(tmp_path, other).clean
        looks += 1
    finish(writer)


def test_a_build_waits_and_says_so_once(tmp_path: Path) -> None:
    build(tmp_path, package())
    said: list[str] = []
    waits = threading.Event()

    def other() -> None:
        def waiting() -> None:
            said.append("waiting")
            waits.set()

        with locked(tmp_path, waiting=waiting):
            said.append("building")

    thread = threading.Thread(target=other)
    with locked(tmp_path):
        thread.start()
        waits.wait()
        said.append("done")
    thread.join()
    assert said == ["waiting", "done", "building"]


def test_looks_do_not_wait_for_each_other(tmp_path: Path) -> None:
    build(tmp_path, package())
    with locked(tmp_path, shared=True), locked(tmp_path, shared=True, waiting=lambda: pytest.fail("waited")):
        pass


def test_the_lock_goes_with_its_process(tmp_path: Path) -> None:
    build(tmp_path, package())
    process = start("with locked(folder):\n    print('locked', flush=True)\n    sys.stdin.read()", tmp_path, "")
    assert process.stdout is not None
    assert process.stdout.readline() == "locked\n"
    process.kill()
    process.communicate()
    with locked(tmp_path, waiting=lambda: pytest.fail("waited")) as recovered:
        assert recovered is Recovery.NONE


def test_a_folder_that_was_made_for_nothing_goes_again(tmp_path: Path) -> None:
    with locked(tmp_path / "a/b/generated"):
        assert (tmp_path / "a/b/generated").is_dir()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(KeyError), locked(tmp_path / "a/b/generated"):
        raise KeyError
    assert list(tmp_path.iterdir()) == []


def test_an_empty_folder_of_a_person_stays(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with locked(tmp_path / "out"):
        pass
    assert (tmp_path / "out").is_dir()


def test_a_look_makes_and_writes_nothing(tmp_path: Path) -> None:
    made = package(None, "a")
    with locked(tmp_path / "missing", shared=True):
        assert not drift(tmp_path / "missing", made).clean
    build(tmp_path / "out", made)
    (tmp_path / "out/.toolgen-staging").mkdir()
    before = snapshot(tmp_path)
    with locked(tmp_path / "out", shared=True) as recovered:
        assert recovered is Recovery.NONE
    assert snapshot(tmp_path) == before


def test_nothing_is_left_in_the_folder_but_the_output(tmp_path: Path) -> None:
    made = package(None, "a")
    with locked(tmp_path):
        publish(tmp_path, plan(tmp_path, made))
        assert contents(tmp_path) == expected(made)
    assert contents(tmp_path) == expected(made)


def test_a_file_cannot_be_locked_as_an_output(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")
    with pytest.raises(FolderError) as caught, locked(tmp_path / "out"):
        pass
    assert caught.value.path == str(tmp_path / "out")
    with pytest.raises(FolderError), locked(tmp_path / "out/below"):
        pass


def test_the_lock_is_released_when_it_is_left_even_if_a_child_process_has_it_too(tmp_path: Path) -> None:
    code = """
import os
with locked(folder):
    if os.fork() == 0:
        sys.stdin.read()
        os._exit(0)
with locked(folder, waiting=lambda: print("waited")):
    print("locked again")
"""
    assert finish(start(code, tmp_path, "")) == ["locked again\n"]


def test_where_folders_cannot_be_locked_a_file_elsewhere_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    said: list[str] = []
    waits = threading.Event()

    def other() -> None:
        descriptor = locking._take_beside(tmp_path / "out", fcntl.LOCK_EX, waits.set)
        said.append("other")
        locking._release(descriptor)

    thread = threading.Thread(target=other)
    descriptor = locking._take_beside(tmp_path / "out", fcntl.LOCK_EX, None)
    thread.start()
    waits.wait()
    said.append("first")
    locking._release(descriptor)
    thread.join()
    assert said == ["first", "other"]
    (file,) = tmp_path.iterdir()
    assert file.name.startswith("toolgen-")


def test_a_place_that_takes_no_folders_is_an_error_and_no_endless_wait() -> None:
    with pytest.raises(FolderError, match="cannot make /proc/toolgen"), locked(Path("/proc/toolgen/generated")):
        pass
