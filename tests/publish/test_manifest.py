"""The lock: what is written is read back, and what is damaged is read as far as it is whole."""

from __future__ import annotations

import json
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegen.publish import LockState, Manifest, ToolRecord
from codegen.publish.manifest import parse_lock

_digests = st.text("0123456789abcdef", min_size=64, max_size=64)
_names = st.text(string.ascii_letters + "áéñ日_", min_size=1, max_size=12)
_owned = st.builds("{}/{}.py".format, st.sampled_from(["models", "runtime"]), _names)
_texts = st.text(max_size=20)
_manifests = st.builds(
    Manifest,
    toolgen=_texts,
    roots=st.lists(_texts, max_size=3).map(tuple),
    inputs=st.dictionaries(_texts, _digests, max_size=4),
    options=_digests,
    tools=st.dictionaries(_texts, st.builds(ToolRecord, _texts, _names, _digests), max_size=4),
    files=st.dictionaries(_owned, _digests, max_size=6),
)


def manifest(files: dict[str, str], roots: tuple[str, ...] = ("../specs",)) -> Manifest:
    return Manifest("1.0", roots, {"../specs/a.json": "a" * 64}, "0" * 64, {}, files)


@given(_manifests)
def test_a_lock_reads_back_as_it_was_written(written: Manifest) -> None:
    lock = parse_lock(written.render().encode())
    assert lock.state is LockState.WHOLE
    assert lock.manifest == written
    assert lock.digests == {path: {digest} for path, digest in written.files.items()}


def test_a_lock_has_one_entry_on_a_line_in_sorted_order() -> None:
    text = manifest({"models/b.py": "b" * 64, "__init__.py": "c" * 64, "models/a.py": "a" * 64}).render()
    lines = [line.strip().split('"')[1] for line in text.splitlines() if '.py"' in line]
    assert lines == ["__init__.py", "models/a.py", "models/b.py"]
    assert text.endswith("}\n")
    assert json.loads(text)["version"] == 1


def test_the_order_of_mappings_and_roots_does_not_show() -> None:
    one = manifest({"models/a.py": "a" * 64, "models/b.py": "b" * 64}, ("../x", "../y"))
    other = manifest({"models/b.py": "b" * 64, "models/a.py": "a" * 64}, ("../y", "../x", "../y"))
    assert one.render() == other.render()
    assert one == other


def test_names_that_are_no_unicode_are_kept() -> None:
    written = manifest({}, ("../sp\udce9cs",))
    assert parse_lock(written.render().encode()).manifest == written


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_no_bytes_make_reading_fail(data: bytes) -> None:
    assert parse_lock(data).state in (LockState.DAMAGED, LockState.CONFLICT)


@pytest.mark.parametrize("version", [2, 99])
def test_a_newer_format_is_not_read(version: int) -> None:
    lock = parse_lock(json.dumps({"version": version, "all": "different"}).encode())
    assert (lock.state, lock.manifest, lock.digests) == (LockState.NEWER, None, {})


@pytest.mark.parametrize("version", [True, "1", None, 0, 1.5])
def test_a_version_that_is_none_is_damage(version: object) -> None:
    document = json.loads(manifest({}).render()) | {"version": version}
    assert parse_lock(json.dumps(document).encode()).state is LockState.DAMAGED


@pytest.mark.parametrize(
    "path", ["../outside.py", "/etc/passwd", "handlers/mine.py", ".git/config", "toolgen.lock", "a\\..\\..\\b.py"]
)
def test_a_claim_on_what_cannot_be_ours_is_not_believed(path: str) -> None:
    text = manifest({"models/a.py": "a" * 64}).render().replace("models/a.py", path.replace("\\", "\\\\"))
    lock = parse_lock(text.encode())
    assert lock.state is LockState.DAMAGED
    assert lock.digests == {}
    assert lock.manifest is not None
    assert lock.manifest.roots == ("../specs",)


@given(_manifests, st.data())
def test_a_lock_that_was_cut_short_keeps_its_whole_lines(written: Manifest, data: st.DataObject) -> None:
    whole = written.render().encode()
    lock = parse_lock(whole[: data.draw(st.integers(0, len(whole) - 3))])
    assert lock.state is LockState.DAMAGED
    assert lock.manifest is not None
    assert set(lock.manifest.roots) <= set(written.roots)
    assert lock.manifest.files.items() <= written.files.items()
    assert lock.manifest.tools.items() <= written.tools.items()


CONFLICT = """\
{
  "version": 1,
  "toolgen": "1.0",
  "options": "00",
  "roots": [
<<<<<<< HEAD
    "../extra",
||||||| base
    "../old",
=======
>>>>>>> branch
    "../specs"
  ],
  "inputs": {},
  "tools": {
    "a": {"source": "../specs/a.json", "module": "a", "digest": "11"}
  },
  "files": {
    "__init__.py": "aa",
<<<<<<< HEAD
    "dispatch.py": "b1",
    "models/ours.py": "c1"
||||||| base
    "dispatch.py": "b0"
=======
    "dispatch.py": "b2",
    "models/theirs.py": "c2"
>>>>>>> branch
  }
}
"""


def test_both_sides_of_a_conflict_count_and_their_base_does_not() -> None:
    lock = parse_lock(CONFLICT.encode())
    assert lock.state is LockState.CONFLICT
    assert lock.digests == {
        "__init__.py": {"aa"},
        "dispatch.py": {"b1", "b2"},
        "models/ours.py": {"c1"},
        "models/theirs.py": {"c2"},
    }
    assert lock.manifest is not None
    assert lock.manifest.roots == ("../extra", "../specs")
    assert lock.manifest.tools == {"a": ToolRecord("../specs/a.json", "a", "11")}


def test_a_conflict_with_windows_line_ends_is_read_the_same() -> None:
    assert parse_lock(CONFLICT.replace("\n", "\r\n").encode()) == parse_lock(CONFLICT.encode())
