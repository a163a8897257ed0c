"""`toolgen journal`: people look into a journal, and decide what nobody else can."""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import sqlite3
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.conftest import build_folder
from tests.journal.crashes import SPECS
from tests.journal.server import Server, running

Run = Callable[..., Any]
NAME = "tools_with_a_journal"


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of a package with both stores. It can be imported."""
    root = tmp_path_factory.mktemp("tools")
    (root / "specs").mkdir()
    (root / "specs" / "tools.json").write_text(json.dumps(SPECS), encoding="utf-8")
    build_folder([root / "specs"], root / NAME, journals=["sqlite", "postgres"])
    (root / "settings_of_a_service.py").write_text(SETTINGS, encoding="utf-8")
    sys.path.insert(0, str(root))
    yield root
    sys.path.remove(str(root))
    for name in [loaded for loaded in sys.modules if loaded.split(".")[0] in (NAME, "settings_of_a_service")]:
        del sys.modules[name]


SETTINGS = """
import os
from tools_with_a_journal.runtime.journal.sqlite import SQLiteJournal
from tools_with_a_journal.runtime.journal.stored import Privacy

def turned(data):
    return bytes(255 - byte for byte in data)

def journal():
    privacy = Privacy(digest_key=b"0123456789abcdef", seal=turned, unseal=turned, keep_arguments=True)
    return SQLiteJournal(os.environ["JOURNAL"], privacy=privacy)

nothing = 5
"""


def module(name: str) -> Any:
    return importlib.import_module(f"{NAME}.runtime{'.' + name if name else ''}")


class Service:
    """A service with a journal."""

    def __init__(self, open_journal: Callable[[], Any]) -> None:
        self.open_journal = open_journal
        self.runs = 0

    def execute(self, tool: str, call_id: str, *, fails: bool = False, dies: bool = False) -> Any:
        """The result of a call. With `dies`, the process does in the middle, and there is none."""

        def handler(args: Any, call: Any) -> Any:
            self.runs += 1
            if dies:
                os._exit(9)
            if fails:
                raise module("").ToolError("no")
            return {"key": args.key}

        def serve() -> Any:
            d = importlib.import_module(NAME).dispatcher(
                SimpleNamespace(**{tool: handler}), journal=self.open_journal()
            )
            call = module("").Call(tool, {"key": "secret"}, call_id, "turn", "session")
            result = asyncio.run(d.execute(call))
            d.shutdown_sync()
            return result

        if not dies:
            return serve()
        child = os.fork()
        if child == 0:
            try:
                serve()
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
        return None


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.xdist_group("postgres"))])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running() as server:
        yield server


@pytest.fixture
def store(kind: str, request: pytest.FixtureRequest, package: Path, tmp_path: Path) -> tuple[list[str], Service]:
    """The options that name a store, and a service that uses it."""
    if kind == "sqlite":
        path = tmp_path / "journal.db"
        return ["--sqlite", str(path)], Service(lambda: module("journal.sqlite").SQLiteJournal(path))
    conninfo = request.getfixturevalue("server").conninfo
    schema = f"journal_{tmp_path.name.lower().replace('[', '_').replace(']', '_').replace('-', '_')}"
    options = ["--postgres", conninfo, "--schema", schema]
    return options, Service(lambda: module("journal.postgres").PostgresJournal(conninfo, schema=schema, lease=0.3))


def listed(run: Run, options: list[str], *more: object) -> dict[str, str]:
    facts = json.loads(run("journal", "list", *options, "--format", "json", *more).stdout)
    return {fact["call"]: fact["state"] for fact in facts}


def settled(run: Run, options: list[str], call_id: str) -> None:
    """Waits until it is seen that the owner of a call is gone: on PostgreSQL its lease has to end."""
    while listed(run, options)[call_id] == "started":
        pass


def test_the_life_of_a_journal(run: Run, store: tuple[list[str], Service]) -> None:
    options, service = store
    assert service.execute("pay", "1").output == '{"key":"secret"}'
    assert service.execute("pay", "2", fails=True).error.code == "handler_error"
    service.execute("pay", "3", dies=True)
    settled(run, options, "3")
    assert listed(run, options) == {"1": "succeeded", "2": "failed", "3": "interrupted"}
    assert listed(run, options, "--state", "failed") == {"2": "failed"}
    assert listed(run, options, "--after", "session", "turn", "1", "--limit", "1") == {"2": "failed"}
    assert service.execute("pay", "3").error.code == "outcome_unknown"
    table = run("journal", "list", *options).stdout
    assert "parked" in table
    assert "secret" not in table

    one = json.loads(run("journal", "show", *options, "session", "turn", "1").stdout)
    assert (one["tool"], one["state"], one["result"]) == ("pay", "succeeded", {"output": '{"key":"secret"}'})
    assert "arguments" not in one
    assert run("journal", "verify", *options).stdout == "No problems found.\n"

    run("journal", "resolve", *options, "session", "turn", "3", "--done", '{"key": "found"}')
    result = service.execute("pay", "3")
    assert (result.output, result.replayed, service.runs) == ('{"key":"found"}', True, 2)

    run("journal", "purge", *options, "--older-than", "1d")
    assert len(listed(run, options)) == 3
    assert run("journal", "purge", *options, "--older-than", "0s", "--keep-unsent").stdout == "0 calls purged.\n"
    assert run("journal", "purge", *options, "--older-than", "0s").stdout == "3 calls purged.\n"
    assert listed(run, options) == {}


def test_a_call_that_had_no_effect_runs(run: Run, store: tuple[list[str], Service]) -> None:
    options, service = store
    service.execute("pay", "1", dies=True)
    settled(run, options, "1")
    run("journal", "resolve", *options, "session", "turn", "1", "--not-done")
    assert listed(run, options) == {"1": "cleared"}
    assert service.execute("pay", "1").output == '{"key":"secret"}'
    assert service.runs == 1


class TestRefusals:
    @pytest.fixture
    def sqlite(self, package: Path, tmp_path: Path) -> list[str]:
        path = tmp_path / "journal.db"
        Service(lambda: module("journal.sqlite").SQLiteJournal(path)).execute("pay", "1")
        return ["--sqlite", str(path)]

    @pytest.mark.parametrize(
        ("arguments", "code", "says"),
        [
            (("show", "session", "turn", "2"), 1, "there is no such call"),
            (("resolve", "session", "turn", "2", "--not-done"), 1, "there is no such call"),
            (("resolve", "session", "turn", "1", "--not-done"), 1, "the call is succeeded; nothing is to be decided"),
            (("resolve", "session", "turn", "1"), 2, "give either --done or --not-done"),
            (("resolve", "session", "turn", "1", "--done", "1", "--not-done"), 2, "give either --done or --not-done"),
            (("resolve", "session", "turn", "1", "--done", "paid"), 2, "a text needs double quotes"),
            (("purge", "--older-than", "soon"), 2, "'soon' is no age"),
            (("list", "--postgres", "host=nowhere"), 2, "give one of --sqlite, --postgres and --use"),
        ],
    )
    def test_what_cannot_be_done(
        self, run: Run, sqlite: list[str], arguments: tuple[str, ...], code: int, says: str
    ) -> None:
        command, *rest = arguments
        assert says in run("journal", command, *sqlite, *rest, exit_code=code).output

    def test_no_store(self, run: Run) -> None:
        assert "give one of" in run("journal", "list", exit_code=2).output

    def test_no_file_is_made(self, run: Run, tmp_path: Path) -> None:
        path = tmp_path / "none.db"
        assert f"there is no file {path}" in run("journal", "list", "--sqlite", path, exit_code=2).output
        assert list(tmp_path.iterdir()) == []

    def test_none_is_made_of_an_empty_file(self, run: Run, tmp_path: Path) -> None:
        path = tmp_path / "empty.db"
        path.touch()
        assert f"{path} is empty" in run("journal", "verify", "--sqlite", path, exit_code=2).output.replace("\n", "")
        assert (list(tmp_path.iterdir()), path.stat().st_size) == ([path], 0)

    def test_a_file_that_is_no_journal_is_left_alone(self, run: Run, tmp_path: Path) -> None:
        path = tmp_path / "other.db"
        with sqlite3.connect(path) as connection:
            connection.execute("create table other (a)")
        connection.close()
        before = path.read_bytes()
        assert run("journal", "verify", "--sqlite", path, exit_code=2).output.startswith("Error: ")
        assert path.read_bytes() == before

    @pytest.mark.xdist_group("postgres")
    def test_no_schema_is_made(self, run: Run, server: Server) -> None:
        options = ["--postgres", server.conninfo, "--schema", "nobody"]
        for _ in range(2):
            assert "there is no schema nobody" in run("journal", "list", *options, exit_code=2).output

    def test_no_database(self, run: Run, tmp_path: Path) -> None:
        options = ["--postgres", f"host={tmp_path} connect_timeout=1"]
        assert "the database cannot be reached" in run("journal", "list", *options, exit_code=2).output


class TestTheServicesOwn:
    @pytest.fixture
    def service(self, package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Service:
        monkeypatch.setenv("JOURNAL", str(tmp_path / "journal.db"))
        return Service(lambda: importlib.import_module("settings_of_a_service").journal())

    def test_a_sealed_journal(self, run: Run, service: Service, tmp_path: Path) -> None:
        service.execute("pay", "1")
        use = ["--use", "settings_of_a_service:journal"]
        shown = json.loads(run("journal", "show", *use, "session", "turn", "1").stdout)
        assert (shown["result"], shown["arguments"]) == ({"output": '{"key":"secret"}'}, {"key": "secret"})
        service.execute("pay", "2", dies=True)
        run("journal", "resolve", *use, "session", "turn", "2", "--done", '"paid"')
        assert service.execute("pay", "2").output == "paid"
        plain = run("journal", "show", "--sqlite", tmp_path / "journal.db", "session", "turn", "1", exit_code=2)
        assert "another digest key" in plain.output

    @pytest.mark.parametrize(
        ("name", "says"),
        [
            ("settings_of_a_service:nobody", "has no attribute 'nobody'"),
            ("no_such_service:journal", "No module named"),
            ("settings_of_a_service:nothing", "int is no journal of a package that toolgen built"),
        ],
    )
    def test_what_is_no_journal(self, run: Run, service: Service, name: str, says: str) -> None:
        assert says in run("journal", "list", "--use", name, exit_code=2).output
