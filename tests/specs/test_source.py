from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from codegen.diagnostics import Report
from codegen.specs import SourceFile
from codegen.specs.source import display_path
from tests.specs.conftest import Read

SPEC = {"name": "obtener_clima", "description": "temperatura máxima — 25 °C", "parameters": {"type": "object"}}


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("name", ["spec.json", "spec.yaml"])
def test_utf_8_with_and_without_bom_and_crlf(read: Read, newline: str, bom: bytes, name: str) -> None:
    text = json.dumps(SPEC, indent=1, ensure_ascii=False).replace("\n", newline)
    assert read({name: bom + text.encode()}).tool.description == SPEC["description"]


@pytest.mark.parametrize(
    ("encoding", "words"),
    [
        ("latin-1", "not UTF-8: byte 0xE1 on line 3"),
        ("utf-16", "UTF-16, not UTF-8"),
        ("utf-16-le", "UTF-16, not UTF-8"),
        ("utf-16-be", "UTF-16, not UTF-8"),
        ("utf-32", "UTF-32, not UTF-8"),
        ("utf-32-be", "UTF-32, not UTF-8"),
    ],
)
def test_other_encodings_are_named(read: Read, encoding: str, words: str) -> None:
    text = json.dumps(SPEC, indent=1, ensure_ascii=False).replace("—", "-")
    problem = read({"spec.json": text.encode(encoding)}).problem
    assert (problem.code, problem.file) == ("encoding", "specs/spec.json")
    assert words in problem.message
    assert "UTF-8" in problem.hint


def test_digest_is_that_of_the_bytes() -> None:
    data = b"\xef\xbb\xbf{}"
    source = SourceFile.of_bytes("a.json", data, Report())
    assert source is not None
    assert source.text == "{}"
    assert source.digest == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize(("path", "text"), [("a.json", '{"a":\n{"b":\n1}}'), ("a.yaml", "a:\n  b: 1\n")])
def test_a_pointer_that_leads_nowhere_has_the_line_of_what_is_around(path: str, text: str) -> None:
    source = SourceFile.of_text(path, text)
    assert source.line("/a/b") == 2
    assert source.line("/a/b/c/d") == 2
    assert source.line("/a/x") == 1
    assert source.line("/x") == 1


def test_a_text_that_is_no_document_has_no_lines() -> None:
    assert SourceFile.of_text("a.yaml", "a: [").line("/a") is None


def test_paths_are_shown_relative_to_the_base(tmp_path: Path) -> None:
    assert display_path(tmp_path / "a" / "b.json", tmp_path) == "a/b.json"
    assert display_path(tmp_path / "x" / ".." / "b.json", tmp_path) == "b.json"
    assert display_path(tmp_path / "b.json", tmp_path / "a") == "../b.json"
    assert display_path(Path("b.json"), Path()) == "b.json"
