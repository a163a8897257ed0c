"""`toolgen journal`: what a service's journal holds, and the calls that a person has to decide."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import importlib.util
import json
import re
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from codegen.cli.options import FINDINGS, Trouble
from codegen.resources import templates

if TYPE_CHECKING:
    from runtime.journal import Entry, Operable

F = TypeVar("F", bound=Callable[..., Any])

RUNTIME = "toolgen_runtime"
"""Name under which the runtime's sources are imported here, where the service's own package is not asked."""

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
"""Seconds of the units of durations."""

STATES = ("started", "interrupted", "cleared", "succeeded", "failed", "parked")


class NothingDone(click.ClickException):
    """Ends a command that showed and changed nothing."""

    exit_code = FINDINGS


@dataclass(frozen=True)
class Opened:
    """A journal, and the runtime that its classes are from."""

    journal: Operable
    runtime: str

    def module(self, name: str) -> Any:
        """A module of that runtime."""
        return importlib.import_module(f"{self.runtime}.{name}")

    def key(self, ids: tuple[str, str, str]) -> Any:
        """A journal key from session, turn and call id."""
        return self.module("journal").Key(*ids)


@click.group("journal")
def journal() -> None:
    """Look into a service's journal, and decide the calls whose outcome nobody knows.

    The journal is a file (--sqlite), a schema in PostgreSQL (--postgres), or the object that the service itself uses
    (--use): the latter where its results are sealed or its digests have a key of their own. Use the version of toolgen
    that built the service's package, and for a file the user that the service runs as.

    Exit codes: 0 done, 1 nothing was changed, or something is wrong, 2 usage, or the journal cannot be read.
    """


def store_options(command: F) -> F:
    """Adds the options that say which journal is meant, and gives the command its `opened` journal."""
    decorators = (
        click.option("--sqlite", type=click.Path(path_type=Path), help="The journal's file."),
        click.option("--postgres", metavar="CONNINFO", help="Where the database is, as libpq understands it."),
        click.option("--schema", default="toolgen", show_default=True, help="Schema of the tables in PostgreSQL."),
        click.option("--use", metavar="MODULE:NAME", help="The journal, or a function that makes it."),
    )

    def run(
        *args: Any, sqlite: Path | None, postgres: str | None, schema: str, use: str | None, **options: Any
    ) -> None:
        if sum(given is not None for given in (sqlite, postgres, use)) != 1:
            raise click.UsageError("give one of --sqlite, --postgres and --use")
        with _opened(sqlite, postgres, schema, use) as opened:
            command(*args, opened=opened, **options)

    run.__name__, run.__doc__ = command.__name__, command.__doc__
    wrapped: Any = run
    for decorate in reversed(decorators):
        wrapped = decorate(wrapped)
    wrapped.__click_params__ = [*getattr(command, "__click_params__", []), *wrapped.__click_params__]
    return wrapped  # type: ignore[no-any-return]


def ids_arguments(command: F) -> F:
    """Adds the three parts of a call's key."""
    for name in ("call", "turn", "session"):
        command = click.argument(name)(command)
    return command


@journal.command("list")
@click.option("--state", type=click.Choice(STATES), help="Only calls in this state.")
@click.option("--limit", type=click.IntRange(min=1), default=100, show_default=True, help="How many calls at most.")
@click.option("--after", nargs=3, metavar="SESSION TURN CALL", help="Go on after this call.")
@click.option("--format", "form", type=click.Choice(["table", "json"]), default="table")
@store_options
def list_(opened: Opened, state: str | None, limit: int, after: tuple[str, str, str] | None, form: str) -> None:
    """List calls in the order of their keys, without arguments and results.

    `interrupted` calls were begun by a worker that is gone; `parked` ones were answered `outcome_unknown`.
    """
    chosen: Any = state
    entries = asyncio.run(
        opened.journal.entries(chosen, limit=limit, after=None if after is None else opened.key(after))
    )
    if form == "json":
        click.echo(json.dumps([_facts(entry) for entry in entries], indent=2, ensure_ascii=False))
        return
    table = Table("Session", "Turn", "Call", "Tool", "State", "Attempt", "Started", "Submitted")
    for entry in entries:
        key = entry.key
        cells = (key.session_id, key.turn_id, key.call_id, entry.tool, entry.state, str(entry.attempt))
        moments = (_moment(entry.started_at), _moment(entry.submitted_at))
        table.add_row(*map(escape, cells), *moments)
    Console(soft_wrap=True).print(table)
    if len(entries) == limit:
        click.echo(f"There may be more after these {limit}: use --limit or --after.", err=True)


@journal.command("show")
@ids_arguments
@store_options
def show(opened: Opened, session: str, turn: str, call: str) -> None:
    """Show all that is kept of one call, as JSON.

    Arguments are shown where the service keeps them (`keep_arguments`), the result until it is redacted.
    """
    entry = asyncio.run(opened.journal.show(opened.key((session, turn, call))))
    if entry is None:
        raise NothingDone("there is no such call")
    facts = _facts(entry)
    try:
        if entry.arguments is not None:
            facts["arguments"] = json.loads(entry.arguments)
        if entry.record is not None:
            facts["result"] = json.loads(entry.record)
    except ValueError:
        raise Trouble("what was stored cannot be read: is it sealed? Then --use the service's own journal") from None
    click.echo(json.dumps(facts, indent=2, ensure_ascii=False))


@journal.command("resolve")
@ids_arguments
@click.option("--done", metavar="VALUE", help="It had its effect; VALUE is what its handler would have given, as JSON.")
@click.option("--not-done", is_flag=True, help="It had no effect: it runs when it comes again.")
@store_options
def resolve(opened: Opened, session: str, turn: str, call: str, done: str | None, not_done: bool) -> None:
    """Decide a call that is parked or was interrupted, with what you found out about it."""
    if (done is None) != not_done:
        raise click.UsageError("give either --done or --not-done")
    hooks, rule = opened.module("hooks"), opened.module("journalled")
    outcome = hooks.NotDone()
    if done is not None:
        try:
            outcome = hooks.Done(json.loads(done))
        except ValueError as error:
            raise Trouble(f"the value of --done is no JSON ({error}); a text needs double quotes") from error
    key = opened.key((session, turn, call))

    async def decide() -> str | None:
        if await rule.resolve(opened.journal, key, outcome):
            return None
        entry = await opened.journal.show(key)
        return "there is no such call" if entry is None else f"the call is {entry.state}; nothing is to be decided"

    if why := asyncio.run(decide()):
        raise NothingDone(why)
    if done is None:
        click.echo("The call runs when it comes again.")
    else:
        click.echo("The call is answered with this value when it comes again.")


@journal.command("purge")
@click.option(
    "--older-than", required=True, metavar="AGE", help="How long ago the calls ended: 90s, 15m, 12h, 30d, 4w."
)
@click.option("--keep-unsent", is_flag=True, help="Keep results that nobody noted as sent.")
@store_options
def purge(opened: Opened, older_than: str, keep_unsent: bool) -> None:
    """Forget calls that ended long ago. One that comes again after that is a new call, and runs.

    Calls that are started, interrupted or parked stay.
    """
    gone = asyncio.run(opened.journal.purge(_seconds(older_than), unsent=not keep_unsent))
    click.echo(f"{gone} calls purged.")


@journal.command("verify")
@store_options
def verify(opened: Opened) -> None:
    """Check the whole store, and that each result can be read."""
    problems = asyncio.run(opened.journal.verify())
    for problem in problems:
        click.echo(problem)
    if problems:
        click.get_current_context().exit(FINDINGS)
    click.echo("No problems found.")


@contextlib.contextmanager
def _opened(sqlite: Path | None, postgres: str | None, schema: str, use: str | None) -> Iterator[Opened]:
    """The journal, closed at the end. What it raises ends the command with one message."""
    if use is not None:
        opened = _used(use)
    else:
        _import_runtime()
        opened = _store(sqlite, postgres, schema)
    error = opened.module("journal").JournalError
    try:
        yield opened
    except error as failure:
        raise Trouble(str(failure)) from failure
    finally:
        opened.journal.close()


def _store(sqlite: Path | None, postgres: str | None, schema: str) -> Opened:
    error = importlib.import_module(f"{RUNTIME}.journal").JournalError
    try:
        if sqlite is not None:
            if not sqlite.is_file():  # opening it would make one
                raise Trouble(f"there is no file {sqlite}")
            if not sqlite.stat().st_size:  # so it would of this
                raise Trouble(f"{sqlite} is empty: it holds no journal, or none any more")
            made: Any = importlib.import_module(f"{RUNTIME}.journal.sqlite").SQLiteJournal(sqlite)
        else:
            module = importlib.import_module(f"{RUNTIME}.journal.postgres")
            _require_schema(postgres or "", schema)
            made = module.PostgresJournal(postgres or "", schema=schema)
    except (error, ValueError) as failure:
        raise Trouble(str(failure)) from failure
    return Opened(made, RUNTIME)


def _require_schema(conninfo: str, schema: str) -> None:
    """Ends the command where the schema is not there: opening it would make one."""
    try:
        import psycopg
    except ImportError as error:
        raise Trouble("psycopg is not installed: pip install 'psycopg[binary]'") from error
    try:
        with psycopg.connect(conninfo) as connection:
            found = connection.execute("select from information_schema.schemata where schema_name = %s", (schema,))
            if found.fetchone() is None:
                raise Trouble(f"there is no schema {schema} in this database")
    except psycopg.Error as error:
        raise Trouble(f"the database cannot be reached: {error}") from error


def _used(name: str) -> Opened:
    """The service's own journal. Importing a service from where the command is run is what Python does, too."""
    module, _, attribute = name.partition(":")
    sys.path.insert(0, "")
    try:
        found: Any = getattr(importlib.import_module(module), attribute)
        if callable(found):
            found = found()
    except Exception as error:
        raise Trouble(f"--use {name}: {type(error).__name__}: {error}") from error
    runtime, inside, _ = type(found).__module__.partition(".journal.")
    if not inside:
        raise Trouble(f"--use {name}: {type(found).__name__} is no journal of a package that toolgen built")
    return Opened(found, runtime)


def _import_runtime() -> None:
    """Makes the runtime's sources a package: the stores are those of the packages that this toolgen builds."""
    if RUNTIME in sys.modules:
        return
    folder = templates() / "runtime"
    spec = importlib.util.spec_from_file_location(
        RUNTIME, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[RUNTIME] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)


def _facts(entry: Entry) -> dict[str, Any]:
    key = entry.key
    return {
        "session": key.session_id,
        "turn": key.turn_id,
        "call": key.call_id,
        "tool": entry.tool,
        "state": entry.state,
        "attempt": entry.attempt,
        "idempotency_key": entry.idempotency_key,
        "owner": entry.owner,
        "started": _moment(entry.started_at),
        "ended": _moment(entry.ended_at) or None,
        "submitted": _moment(entry.submitted_at) or None,
    }


def _moment(seconds: float | None) -> str:
    return "" if seconds is None else time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def _seconds(age: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhdw])", age.strip())
    if found is None:
        raise Trouble(f"{age!r} is no age: use a number and one of s, m, h, d, w, such as 30d")
    return float(found[1]) * UNITS[found[2]]
