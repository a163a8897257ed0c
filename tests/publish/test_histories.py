"""Random histories of one output: builds of different packages, and people who edit, delete, add and merge in between.

A small model says what must be on disk after each build. It knows only the rules: what a build makes is there; what
toolgen wrote and nobody touched goes with its tool; everything else stays.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from codegen.publish import Kind, Package, ToolRecord, drift, intact, locked, plan, publish
from tests.publish.support import HEADER, contents, snapshot

CODE = ("__init__.py", "dispatch.py", "models/a.py", "models/b.py", "models/ñ.py", "runtime/x/y.py", "runtime/x.py")
DATA = ("schemas/a.json", "payloads/t.json")
HANDLERS = ("handlers/a.py", "handlers/b.py", "handlers/__init__.py")
FOREIGN = ("README.md", "models/mine.py", "models/b.py", "notes/n.txt", "handlers/helper.py")


@st.composite
def packages(draw: st.DrawFn) -> Package:
    files = {path: HEADER + f"x = {draw(st.integers(0, 2))}\n" for path in draw(st.sets(st.sampled_from(CODE)))}
    files |= {path: f"[{draw(st.integers(0, 2))}]\n" for path in draw(st.sets(st.sampled_from(DATA)))}
    files.setdefault("__init__.py", HEADER)
    stubs = {path: f"stub {draw(st.integers(0, 2))}\n" for path in draw(st.sets(st.sampled_from(HANDLERS)))}
    tools = {
        name: ToolRecord("../specs/x.json", name, "0" * 64) for name in ("a", "b") if f"handlers/{name}.py" in stubs
    }
    return Package(files, stubs, draw(st.sampled_from(["1", "2"])), ("../specs",), {}, "0", tools)


class Histories(RuleBasedStateMachine):
    """The output folder, and `disk`: what the model says is in it."""

    def __init__(self) -> None:
        super().__init__()
        self.base = Path(tempfile.mkdtemp())
        self.out = self.base / "out"
        self.disk: dict[str, bytes] = {}
        self.wrote: dict[str, str] | None = {}
        """What the lock vouches for; None when there is no lock to read."""
        self.broken_lock = False

    def teardown(self) -> None:
        shutil.rmtree(self.base)

    @initialize(made=packages())
    def first_build(self, made: Package) -> None:
        self.build(made)

    @rule(made=packages())
    def build(self, made: Package) -> None:
        after = self.after(made)
        before = snapshot(self.out)
        with locked(self.out):
            planned = plan(self.out, made)
            assert snapshot(self.out) == before
            assert planned.blocked == (after is None)
            if after is None:
                assert not drift(self.out, made).clean
                return
            named = {*planned.created, *planned.changed, *planned.edited, *planned.removed, *planned.stubs}
            lost = self.edits_lost(made)
            publish(self.out, planned)
        assert set(planned.edited) >= lost
        self.disk, self.wrote = after, {path: digest(data) for path, data in made.content.items()}
        self.broken_lock = False
        now = snapshot(self.out)
        touched = {path for path in {*before, *now} if before.get(path) != now.get(path)}
        assert {path for path in touched if (now.get(path) or before[path])[0] == "file"} <= named | {"toolgen.lock"}
        found = drift(self.out, made)
        assert found.clean
        assert intact(self.out, made.manifest, made.stubs) == (not found.of(Kind.KEPT))
        with locked(self.out):
            publish(self.out, plan(self.out, made))
        assert snapshot(self.out) == now

    def after(self, made: Package) -> dict[str, bytes] | None:
        """What is on disk after a build; None when it must be refused."""
        disk = dict(self.disk)
        empty = not disk and not self.broken_lock
        if self.wrote is None and not empty and not any(map(self.is_generated, disk)):
            return None
        for path, data in made.content.items():
            theirs = disk.get(path)
            known = path in (self.wrote or {}) or path in DATA or theirs in (None, data, b"")
            if theirs is not None and not known and not theirs.startswith(HEADER.encode()):
                return None
        for path, known_digest in (self.wrote or {}).items():
            if path not in made.content and path in disk and digest(disk[path]) == known_digest:
                del disk[path]
        disk |= made.content
        for path, data in made.stub_content.items():
            disk.setdefault(path, data)
        return disk

    def is_generated(self, path: str) -> bool:
        inside = "/" not in path or path.startswith(("models/", "runtime/", "schemas/", "payloads/"))
        return inside and self.disk[path].startswith(HEADER.encode())

    def edits_lost(self, made: Package) -> set[str]:
        """Files with a person's bytes in them that this build rewrites, as far as anybody can know."""
        return {
            path
            for path, data in made.content.items()
            if self.wrote is not None
            and path in self.disk
            and self.disk[path] != data
            and digest(self.disk[path]) != self.wrote.get(path)
        }

    @precondition(lambda self: self.disk)
    @rule(data=st.data(), text=st.sampled_from(["mine\n", HEADER + "mine\n", HEADER + "x = 1\n", ""]))
    def edit(self, data: st.DataObject, text: str) -> None:
        self.write(data.draw(st.sampled_from(sorted(self.disk))), text)

    @precondition(lambda self: self.disk)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        path = data.draw(st.sampled_from(sorted(self.disk)))
        (self.out / path).unlink()
        del self.disk[path]
        for folder in (self.out / path).relative_to(self.out).parents[:-1]:
            if not list((self.out / folder).iterdir()):
                (self.out / folder).rmdir()

    @rule(path=st.sampled_from(FOREIGN))
    def add(self, path: str) -> None:
        self.write(path, "mine\n")

    @rule(lock=st.sampled_from([None, "", "{}", "<<<<<<< HEAD\n=======\n>>>>>>> x\n"]))
    def lose_lock(self, lock: str | None) -> None:
        if not self.out.exists():
            return
        (self.out / "toolgen.lock").unlink(missing_ok=True)
        if lock is not None:
            (self.out / "toolgen.lock").write_text(lock)
        self.wrote, self.broken_lock = None, lock is not None

    def write(self, path: str, text: str) -> None:
        (self.out / path).parent.mkdir(parents=True, exist_ok=True)
        (self.out / path).write_text(text)
        self.disk[path] = text.encode()

    @invariant()
    def disk_is_as_modelled(self) -> None:
        present = contents(self.out)
        present.pop("toolgen.lock", None)
        assert present == self.disk


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


Histories.TestCase.settings = settings(max_examples=40, stateful_step_count=12, deadline=None)
test_histories = Histories.TestCase
