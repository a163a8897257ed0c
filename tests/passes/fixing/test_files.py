"""Mends in files: nothing but the mended characters changes on disk."""

from __future__ import annotations

import codecs
import stat
from pathlib import Path

import pytest

from codegen.diagnostics import Diagnostic, Severity
from codegen.passes.fixing import Fixed, fix_files
from codegen.passes.mend import Mendable, Replace, with_mends


def problem(file: str, pointer: str, *texts: str) -> Diagnostic:
    found = Diagnostic("schema-invalid", Severity.ERROR, file, 1, pointer, "wrong")
    return with_mends(
        found, *(Replace(text, f"/{index}" if len(texts) > 1 else "") for index, text in enumerate(texts))
    )


def test_files_are_mended_and_the_problems_named(tmp_path: Path) -> None:
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs/a.json").write_text('{"a": "dict", "b": 1}', encoding="utf-8")
    (tmp_path / "specs/b.yaml").write_text("a: dict # what\n", encoding="utf-8")
    found = [problem("specs/a.json", "/a", '"object"'), problem("specs/b.yaml", "/a", '"object"')]
    fixed = fix_files([*found, problem("specs/b.yaml", "/a")], tmp_path)
    assert fixed == Fixed(tuple(one for one in found if isinstance(one, Mendable)), ("specs/a.json", "specs/b.yaml"))
    assert (tmp_path / "specs/a.json").read_text(encoding="utf-8") == '{"a": "object", "b": 1}'
    assert (tmp_path / "specs/b.yaml").read_text(encoding="utf-8") == "a: object # what\n"


def test_a_problem_counts_as_mended_when_all_its_mends_were_made(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"a": ["1", "2"], "b": ["1", []]}', encoding="utf-8")
    whole, part = problem("a.json", "/a", "1", "2"), problem("a.json", "/b", "1", "2")
    fixed = fix_files([whole, part], tmp_path)
    assert fixed.made == (whole,)
    assert (tmp_path / "a.json").read_text(encoding="utf-8") == '{"a": [1, 2], "b": [1, []]}'


def test_byte_order_mark_line_breaks_and_permissions_stay(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_bytes(codecs.BOM_UTF8 + '{\r\n "é": 1,\r\n "a": "dict"\r\n}'.encode())
    file.chmod(0o640)
    fix_files([problem("a.json", "/a", '"object"')], tmp_path)
    assert file.read_bytes() == codecs.BOM_UTF8 + '{\r\n "é": 1,\r\n "a": "object"\r\n}'.encode()
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert [each.name for each in tmp_path.iterdir()] == ["a.json"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real.json").write_text('{"a": "dict"}', encoding="utf-8")
    (tmp_path / "link.json").symlink_to("real.json")
    fix_files([problem("link.json", "/a", '"object"')], tmp_path)
    assert (tmp_path / "link.json").is_symlink()
    assert (tmp_path / "real.json").read_text(encoding="utf-8") == '{"a": "object"}'


@pytest.mark.parametrize("data", [b'{"a": "d\xefct"}', b'{"a": ', b'{"a": ["dict"]}', b"\xff\xfe{"])
def test_a_file_that_is_something_else_by_now_is_left_alone(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.json").write_bytes(data)
    before = (tmp_path / "a.json").stat()
    assert fix_files([problem("a.json", "/a", '"object"')], tmp_path) == Fixed()
    assert (tmp_path / "a.json").read_bytes() == data
    assert (tmp_path / "a.json").stat().st_ino == before.st_ino


def test_a_file_that_is_gone_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        fix_files([problem("a.json", "/a", '"object"')], tmp_path)
