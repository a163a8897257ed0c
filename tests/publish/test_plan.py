"""What a plan finds in a folder: whose files are whose, and what a publication may do to them."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path

import pytest

from codegen.publish import InvalidPackage, LockState, Package, intact, locked, plan, publish
from codegen.publish.plan import _Planner
from tests.publish.support import HEADER, build, contents, expected, package, snapshot


def codes(directory: Path, made: Package) -> list[str]:
    return [found.code for found in plan(directory, made).diagnostics]


def test_a_missing_and_an_empty_folder_are_planned_the_same(tmp_path: Path) -> None:
    made = package(None, "a")
    (tmp_path / "empty").mkdir()
    for name in ("missing", "empty"):
        planned = plan(tmp_path / name, made)
        assert planned.created == ("__init__.py", "models/a.py", "schemas/a.json")
        assert planned.stubs == ("handlers/a.py",)
        assert planned.lock_changed
        assert planned.lock.state is LockState.ABSENT
        assert not planned.diagnostics
    assert not (tmp_path / "missing").exists()


def test_a_plan_changes_nothing(tmp_path: Path) -> None:
    build(tmp_path, package(None, "a", "b"))
    (tmp_path / "models/a.py").write_text("edited")
    before = snapshot(tmp_path)
    plan(tmp_path, package({"dispatch.py": ""}, "b", version="2"))
    assert snapshot(tmp_path) == before


def test_an_output_that_is_right_has_nothing_to_do(tmp_path: Path) -> None:
    made = package(None, "a")
    build(tmp_path, made)
    planned = plan(tmp_path, made)
    assert not planned.changes
    assert planned.unchanged == ("__init__.py", "models/a.py", "schemas/a.json")
    assert not planned.diagnostics


def test_leaves_are_written_before_what_imports_them_and_the_lock_last(tmp_path: Path) -> None:
    paths = [step.path for step in plan(tmp_path, package({"dispatch.py": ""}, "a")).steps]
    assert paths == [
        "handlers/a.py",
        "models/a.py",
        "schemas/a.json",
        "__init__.py",
        "dispatch.py",
        "toolgen.lock",
    ]


def test_old_files_are_told_from_edited_ones(tmp_path: Path) -> None:
    build(tmp_path, package({"models/a.py": "1", "models/b.py": "1"}))
    (tmp_path / "models/b.py").write_text(HEADER + "mine")
    planned = plan(tmp_path, package({"models/a.py": "2", "models/b.py": "2"}))
    assert planned.changed == ("models/a.py",)
    assert planned.edited == ("models/b.py",)
    (found,) = planned.diagnostics
    assert (found.code, found.file) == ("output-edited", (tmp_path / "models/b.py").as_posix())


def test_an_edit_is_named_even_when_the_header_is_gone(tmp_path: Path) -> None:
    made = package(None, "a")
    build(tmp_path, made)
    (tmp_path / "models/a.py").write_text("mine")
    assert plan(tmp_path, made).edited == ("models/a.py",)


def test_an_edit_that_makes_the_file_what_the_build_makes_is_none(tmp_path: Path) -> None:
    build(tmp_path, package({"models/a.py": "1"}))
    (tmp_path / "models/a.py").write_text(HEADER + "2")
    planned = plan(tmp_path, package({"models/a.py": "2"}))
    assert planned.edited == ()
    assert "models/a.py" in planned.unchanged
    assert planned.lock_changed


def test_untouched_orphans_go_and_edited_ones_stay(tmp_path: Path) -> None:
    build(tmp_path, package(None, "a", "b", "c"))
    (tmp_path / "models/b.py").write_text(HEADER + "mine")
    (tmp_path / "schemas/b.json").unlink()
    planned = plan(tmp_path, package(None, "c"))
    assert planned.removed == ("models/a.py", "schemas/a.json")
    assert planned.kept == ("models/b.py",)
    assert planned.orphaned_handlers == ("handlers/a.py", "handlers/b.py")
    assert [found.code for found in planned.diagnostics] == ["handler-orphaned", "handler-orphaned", "output-kept"]


def test_an_edited_orphan_stays_and_is_named_by_every_build(tmp_path: Path) -> None:
    build(tmp_path, package(None, "a", "b"))
    (tmp_path / "models/b.py").write_text(HEADER + "mine")
    for _ in range(3):
        assert build(tmp_path, package(None, "a")).kept == ("models/b.py",)
    assert (tmp_path / "models/b.py").read_text() == HEADER + "mine"


def test_handlers_without_a_tool_are_listed_once_as_orphans_then_as_extras(tmp_path: Path) -> None:
    build(tmp_path, package(None, "a", "b"))
    (tmp_path / "handlers/_database.py").write_text("")
    (tmp_path / "handlers/notes.txt").write_text("")
    planned = build(tmp_path, package(None, "a"))
    assert (planned.orphaned_handlers, planned.extra_handlers) == (("handlers/b.py",), ())
    planned = build(tmp_path, package(None, "a"))
    assert (planned.orphaned_handlers, planned.extra_handlers) == ((), ("handlers/b.py",))
    assert not planned.diagnostics


def test_handlers_of_tools_without_stubs_belong_to_their_tools(tmp_path: Path) -> None:
    build(tmp_path, package(None, "a", "b"))
    planned = build(tmp_path, package(None, "a", stubs=False))
    assert planned.orphaned_handlers == ("handlers/b.py",)
    assert planned.extra_handlers == ()


def test_a_person_s_own_files_in_the_output_are_nobody_s_business(tmp_path: Path) -> None:
    made = package(None, "a")
    build(tmp_path, made)
    for path in ("README.md", "models/mine.py", "extra/more.py", "handlers/deep/helper.py", ".gitignore"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text("mine")
    planned = plan(tmp_path, made)
    assert not planned.changes
    assert not planned.diagnostics


# A folder that toolgen did not make


@pytest.mark.parametrize("path", ["notes.txt", "__init__.py", ".git/HEAD", "models/a.py", "schemas/a.json", "empty/"])
def test_a_folder_that_toolgen_did_not_make_is_refused(tmp_path: Path, path: str) -> None:
    if path.endswith("/"):
        (tmp_path / path).mkdir()
    else:
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text("mine\n")
    planned = plan(tmp_path, package(None, "a"))
    assert planned.blocked
    assert not planned.changes
    assert [found.code for found in planned.diagnostics] == ["output-refused"]
    assert "empty" in planned.diagnostics[0].hint


def test_a_header_outside_of_the_layout_does_not_make_a_folder_ours(tmp_path: Path) -> None:
    (tmp_path / "generated/models").mkdir(parents=True)
    (tmp_path / "generated/models/a.py").write_text(HEADER)
    (tmp_path / "handlers").mkdir()
    (tmp_path / "handlers/a.py").write_text(HEADER)
    assert codes(tmp_path, package(None, "a")) == ["output-refused"]


def test_a_lock_that_cannot_be_read_alone_does_not_make_a_folder_ours(tmp_path: Path) -> None:
    (tmp_path / "toolgen.lock").write_text("some other program's lock")
    assert codes(tmp_path, package(None, "a")) == ["output-refused"]


def test_a_file_where_the_folder_should_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")
    assert codes(tmp_path / "out", package(None, "a")) == ["output-refused"]


# A lock that is no help


@pytest.mark.parametrize("lock", [None, "", "{", "[]", "\xff\x00", '{"version": 1}', '{"version": 1, "files": 3}'])
def test_without_a_lock_the_headers_tell_what_is_ours(tmp_path: Path, lock: str | None) -> None:
    build(tmp_path, package(None, "a", "b"))
    (tmp_path / "models/mine.py").write_text("mine\n")
    if lock is None:
        (tmp_path / "toolgen.lock").unlink()
    else:
        (tmp_path / "toolgen.lock").write_text(lock, encoding="latin-1")
    made = package({"models/a.py": "new"}, "a")
    planned = build(tmp_path, made)
    assert "lock-rebuilt" in [found.code for found in planned.diagnostics]
    assert planned.removed == ()
    assert planned.edited == ()
    assert planned.kept == ("models/b.py", "schemas/b.json")
    gone = package(None, "b")
    left = {path: gone.content[path] for path in planned.kept} | gone.stub_content
    assert contents(tmp_path) == expected(made) | left | {"models/mine.py": b"mine\n"}
    assert plan(tmp_path, made).lock.state is LockState.WHOLE


def test_after_a_merge_conflict_both_sides_vouch_for_orphans(tmp_path: Path) -> None:
    build(tmp_path, package(None, "a", "b", "c"))
    lines = (tmp_path / "toolgen.lock").read_text().splitlines(keepends=True)
    at = next(number for number, line in enumerate(lines) if "models/b.py" in line)
    lines[at : at + 1] = ["<<<<<<< HEAD\n", lines[at], "=======\n", lines[at].replace("b.py", "c.py"), ">>>>>>> x\n"]
    (tmp_path / "toolgen.lock").write_text("".join(lines))
    (tmp_path / "models/c.py").write_text(HEADER + "edited")
    planned = build(tmp_path, package(None, "a"))
    assert planned.lock.state is LockState.CONFLICT
    assert planned.removed == ("models/b.py", "schemas/b.json", "schemas/c.json")
    assert planned.kept == ("models/c.py",)
    assert planned.lock.manifest is not None
    assert planned.lock.manifest.roots == ("../specs",)


def test_a_lock_of_a_newer_toolgen_stops_the_build(tmp_path: Path) -> None:
    build(tmp_path, package(None, "a"))
    lock = tmp_path / "toolgen.lock"
    lock.write_text(lock.read_text().replace('"version": 1', '"version": 2'))
    planned = plan(tmp_path, package(None, "a"))
    assert planned.blocked
    assert [found.code for found in planned.diagnostics] == ["lock-newer"]
    assert planned.diagnostics[0].file.endswith("/toolgen.lock")


def test_a_foreign_file_in_the_place_of_a_generated_one_stops_the_build(tmp_path: Path) -> None:
    build(tmp_path, package(None, "a"))
    (tmp_path / "models/b.py").write_text("mine\n")
    planned = plan(tmp_path, package(None, "a", "b"))
    assert planned.blocked
    assert [(found.code, found.file) for found in planned.diagnostics] == [
        ("output-blocked", (tmp_path / "models/b.py").as_posix())
    ]


def test_json_is_ours_by_position(tmp_path: Path) -> None:
    build(tmp_path, package(None, "a"))
    (tmp_path / "schemas/b.json").write_text("{}")
    (tmp_path / "schemas/stray.json").write_text("{}")
    planned = plan(tmp_path, package(None, "a", "b"))
    assert planned.edited == ("schemas/b.json",)
    assert planned.kept == ("schemas/stray.json",)
    assert not planned.blocked


@pytest.mark.parametrize("kind", ["folder", "pipe"])
def test_other_things_in_the_place_of_a_file_stop_the_build(tmp_path: Path, kind: str) -> None:
    build(tmp_path, package(None, "a"))
    place = tmp_path / "models/b.py"
    place.mkdir() if kind == "folder" else os.mkfifo(place)
    assert codes(tmp_path, package(None, "a", "b")) == ["output-blocked"]


def test_a_file_in_the_place_of_a_folder_stops_the_build(tmp_path: Path) -> None:
    build(tmp_path, package(None, "a"))
    (tmp_path / "runtime").write_text("mine")
    found = plan(tmp_path, package({"runtime/x.py": "", "runtime/y.py": ""}, "a")).diagnostics
    assert [(one.code, one.file) for one in found] == [("output-blocked", (tmp_path / "runtime").as_posix())]


# Links


def test_a_linked_folder_is_not_written_through(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    out = tmp_path / "out"
    build(out, package(None, "a"))
    (out / "runtime").symlink_to(outside)
    made = package({"runtime/x.py": ""}, "a")
    planned = plan(out, made)
    assert [(one.code, one.file) for one in planned.diagnostics] == [("output-link", (out / "runtime").as_posix())]
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("target", ["elsewhere.py", "nowhere.py"])
def test_a_linked_file_is_neither_replaced_nor_written_through(tmp_path: Path, target: str) -> None:
    (tmp_path / "elsewhere.py").write_text(HEADER)
    out = tmp_path / "out"
    build(out, package(None, "a"))
    (out / "models/a.py").unlink()
    (out / "models/a.py").symlink_to(tmp_path / target)
    assert codes(out, package(None, "a", version="2")) == ["output-link"]


def test_a_linked_lock_is_not_replaced(tmp_path: Path) -> None:
    out = tmp_path / "out"
    build(out, package(None, "a"))
    (out / "toolgen.lock").rename(tmp_path / "lock")
    (out / "toolgen.lock").symlink_to(tmp_path / "lock")
    assert not plan(out, package(None, "a")).diagnostics
    assert codes(out, package(None, "a", "b")) == ["output-link"]


def test_a_tree_of_links_to_the_right_files_is_right(tmp_path: Path) -> None:
    made = package(None, "a")
    build(tmp_path / "real", made)
    out = tmp_path / "links"
    (out / "schemas").mkdir(parents=True)
    for path in ("__init__.py", "toolgen.lock", "schemas/a.json", "models", "handlers"):
        (out / path).symlink_to(tmp_path / "real" / path)
    planned = plan(out, made)
    assert not planned.changes
    assert not planned.diagnostics


def test_an_orphan_that_became_a_link_is_kept(tmp_path: Path) -> None:
    out = tmp_path / "out"
    build(out, package(None, "a", "b"))
    (out / "models/b.py").rename(tmp_path / "b.py")
    (out / "models/b.py").symlink_to(tmp_path / "b.py")
    assert build(out, package(None, "a")).kept == ("models/b.py",)
    assert (out / "models/b.py").is_symlink()


def test_a_handler_may_be_a_link_even_one_that_leads_nowhere(tmp_path: Path) -> None:
    out = tmp_path / "out"
    (tmp_path / "mine.py").write_text("mine")
    build(out, package())
    (out / "handlers").mkdir()
    (out / "handlers/a.py").symlink_to(tmp_path / "mine.py")
    (out / "handlers/b.py").symlink_to(tmp_path / "nowhere.py")
    assert build(out, package(None, "a", "b")).stubs == ()
    assert (tmp_path / "mine.py").read_text() == "mine"
    assert not (tmp_path / "nowhere.py").exists()


def test_a_linked_handler_folder_is_read_but_not_written(tmp_path: Path) -> None:
    out = tmp_path / "out"
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "a.py").write_text("mine")
    build(out, package())
    (out / "handlers").symlink_to(mine)
    assert not plan(out, package(None, "a")).blocked
    assert codes(out, package(None, "a", "b")) == ["output-link"]


def test_the_output_folder_itself_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    made = package(None, "a")
    build(tmp_path / "link", made)
    assert contents(tmp_path / "real") == expected(made)


# Names


def test_names_that_differ_in_case_alone_clash(tmp_path: Path) -> None:
    (found,) = plan(tmp_path, package({"models/Foo.py": "", "models/foo.py": ""})).diagnostics
    assert found.code == "output-clash"
    assert "models/Foo.py" in found.message
    assert found.file.endswith("models/foo.py")


def test_names_are_written_in_nfc(tmp_path: Path) -> None:
    name = unicodedata.normalize("NFD", "obtención")
    build(tmp_path, package({f"models/{name}.py": ""}))
    assert [path.name for path in (tmp_path / "models").iterdir()] == ["obtención.py"]


def test_two_unicode_forms_of_one_name_clash(tmp_path: Path) -> None:
    names = [unicodedata.normalize(form, "models/é.py") for form in ("NFC", "NFD")]
    assert codes(tmp_path, package(dict.fromkeys(names, ""))) == ["output-clash"]


def test_a_tool_whose_module_changes_case_keeps_its_output_whole(tmp_path: Path) -> None:
    build(tmp_path, package({"models/Foo.py": "1"}))
    made = package({"models/foo.py": "1"})
    build(tmp_path, made)
    assert contents(tmp_path) == expected(made)


@pytest.mark.parametrize("text", ["same", "other"])
@pytest.mark.parametrize("touched", [False, True])
def test_where_case_does_not_count_the_old_spelling_goes_first(tmp_path: Path, text: str, touched: bool) -> None:
    build(tmp_path, package({"models/Foo.py": "same"}))
    if touched:
        (tmp_path / "models/Foo.py").write_text(HEADER + "mine")
    made = package({"models/foo.py": text})
    planner = _Planner(tmp_path, made)
    # Such a file system lists the one spelling and finds the file under the other, too.
    (tmp_path / "models/foo.py").hardlink_to(tmp_path / "models/Foo.py")
    planned = planner.plan()
    (tmp_path / "models/foo.py").unlink()
    assert [(step.action.value, step.path) for step in planned.steps[:2]] == [
        ("remove", "models/Foo.py"),
        ("create", "models/foo.py"),
    ]
    assert (planned.changed, planned.edited) == ((), ("models/foo.py",)) if touched else (("models/foo.py",), ())
    with locked(tmp_path):
        publish(tmp_path, planned)
    assert contents(tmp_path) == expected(made)


def test_where_case_does_not_count_a_foreign_file_is_in_the_way(tmp_path: Path) -> None:
    build(tmp_path, package())
    (tmp_path / "models").mkdir()
    (tmp_path / "models/FOO.py").write_text("mine")
    planner = _Planner(tmp_path, package({"models/foo.py": ""}))
    (tmp_path / "models/foo.py").hardlink_to(tmp_path / "models/FOO.py")
    (found,) = planner.plan().diagnostics
    assert (found.code, found.file) == ("output-blocked", (tmp_path / "models/FOO.py").as_posix())


@pytest.mark.parametrize(
    "path", ["../a.py", "/a.py", "handlers/a.py", "toolgen.lock", ".git/config", "models/\udc80.py", ""]
)
def test_a_package_with_an_impossible_path_cannot_be_made(path: str) -> None:
    with pytest.raises(InvalidPackage) as caught:
        package({path: ""})
    assert caught.value.path == path


def test_a_stub_outside_of_the_handlers_cannot_be_made() -> None:
    with pytest.raises(InvalidPackage):
        Package({}, {"models/a.py": ""}, "1", (), {}, "", {})


def test_a_file_cannot_be_the_person_s_and_toolgen_s() -> None:
    with pytest.raises(InvalidPackage):
        Package({"handlers/__init__.py": ""}, {"handlers/__init__.py": ""}, "1", (), {}, "", {})


def test_a_file_that_is_also_a_folder_cannot_be_planned(tmp_path: Path) -> None:
    with pytest.raises(InvalidPackage):
        plan(tmp_path, package({"models/a.py": "", "models/a.py/b.py": ""}))


def test_a_text_that_is_no_unicode_cannot_be_planned(tmp_path: Path) -> None:
    with pytest.raises(InvalidPackage) as caught:
        plan(tmp_path, package({"models/a.py": "\ud800"}))
    assert caught.value.path == "models/a.py"


# Knowing beforehand that there is nothing to do


def test_an_output_is_intact_until_anything_in_it_differs(tmp_path: Path) -> None:
    made = package(None, "a")
    stubs = list(made.stubs)
    assert not intact(tmp_path, made.manifest, stubs)
    build(tmp_path, made)
    assert intact(tmp_path, made.manifest, stubs)
    assert not intact(tmp_path, package(None, "a", version="2").manifest, stubs)
    assert not intact(tmp_path, made.manifest, ["handlers/b.py"])
    for path in ("models/a.py", "schemas/a.json", "toolgen.lock", "handlers/a.py"):
        whole = (tmp_path / path).read_bytes()
        (tmp_path / path).unlink()
        assert not intact(tmp_path, made.manifest, stubs)
        (tmp_path / path).write_bytes(whole)
        assert intact(tmp_path, made.manifest, stubs)
    (tmp_path / "models/a.py").write_text(HEADER)
    assert not intact(tmp_path, made.manifest, stubs)


def test_an_output_with_stray_generated_files_is_not_intact(tmp_path: Path) -> None:
    made = package(None, "a")
    build(tmp_path, made)
    (tmp_path / "models/stray.py").write_text(HEADER)
    assert not intact(tmp_path, made.manifest)
