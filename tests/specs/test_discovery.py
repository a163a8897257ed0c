from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from codegen.diagnostics import Report
from codegen.specs import discover

Write = Callable[[dict[str, Any]], Path]


def names(paths: list[Path], root: Path, report: Report | None = None) -> list[str]:
    found = discover(paths, report if report is not None else Report(), base=root)
    return [file.relative_to(root).as_posix() for file in found]


def test_folders_are_searched_at_any_depth_in_order(write: Write) -> None:
    root = write({"b/z.yml": "", "a.json": "", "b/c/d.yaml": "", "B.JSON": "", "notes.txt": "", "x.json.bak": ""})
    assert names([root], root) == ["B.JSON", "a.json", "b/c/d.yaml", "b/z.yml"]


def test_hidden_entries_and_outputs_of_toolgen_are_skipped(write: Write) -> None:
    files = {
        ".a.json": "",
        ".git/b.json": "",
        "c.json": "",
        "generated/toolgen.lock": "",
        "generated/schemas/c.json": "",
    }
    root = write(files)
    assert names([root], root) == ["c.json"]


def test_a_file_is_found_once_however_often_it_is_named(write: Write) -> None:
    root = write({"a.json": "", "b/c.json": ""})
    (root / "link.json").symlink_to(root / "a.json")
    assert names([root, root / "b", root / "b" / ".." / "a.json", root / "a.json"], root) == ["a.json", "b/c.json"]


def test_loops_of_links_end(write: Write) -> None:
    root = write({"a/x.json": ""})
    (root / "a" / "up").symlink_to(root)
    (root / "self").symlink_to(root / "self")
    assert names([root], root) == ["a/x.json"]


def test_links_to_nothing_are_told(write: Write, tmp_path: Path) -> None:
    root = write({"a/x.json": ""})
    (root / "a" / "self.json").symlink_to(root / "a" / "self.json")
    (root / "gone.yaml").symlink_to(root / "missing.yaml")
    report = Report()
    assert [file.name for file in discover([root], report, base=tmp_path)] == ["x.json"]
    assert [(d.code, d.file) for d in report.diagnostics] == [
        ("file-not-found", "specs/gone.yaml"),
        ("file-not-found", "specs/a/self.json"),
    ]


def test_order_does_not_depend_on_the_working_directory(write: Write) -> None:
    root = write({"a/x.json": "", "b/y.json": ""})
    before = Path.cwd()
    os.chdir(root / "b")
    try:
        found = discover([Path("y.json"), Path("../a")], Report())
        assert [file.name for file in found] == ["x.json", "y.json"]
    finally:
        os.chdir(before)


def test_paths_without_specs_are_told(write: Write, tmp_path: Path) -> None:
    root = write({"empty/readme.md": "", "spec.txt": ""})
    report = Report()
    assert names([root / "empty", root / "spec.txt", root / "missing"], tmp_path, report) == []
    assert [(d.code, d.file) for d in report.diagnostics] == [
        ("no-specs", "specs/empty"),
        ("file-not-found", "specs/spec.txt"),
        ("file-not-found", "specs/missing"),
    ]
