"""Dates, times and UUIDs for handlers, where the settings ask for them."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, date, datetime, time, timedelta, timezone
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from templates.runtime.formats import read_date, read_date_time, read_time, read_uuid
from tests.conformance.product import Product, Workshop, tool

TEXT = {"type": "string"}
DAY = {**TEXT, "format": "date"}

offsets = st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@pytest.fixture
def workshop() -> Any:
    with Workshop() as made:
        yield made


def build(workshop: Workshop, properties: dict[str, Any], **settings: Any) -> Product:
    spec = tool("plan", {"type": "object", "properties": properties})
    return workshop.build([spec], **{"formats": "convert", "handlers": "stubs"} | settings)


@given(st.datetimes(timezones=offsets))
def test_a_moment_is_read_as_it_was_written(moment: datetime) -> None:
    assert read_date_time(moment.isoformat()) == moment
    assert read_date_time(moment.isoformat().replace("T", "t")).utcoffset() == moment.utcoffset()


@given(st.dates())
def test_a_day_is_read_as_it_was_written(day: date) -> None:
    assert read_date(day.isoformat()) == day


@given(st.times(timezones=offsets))
def test_a_time_is_read_as_it_was_written(clock: time) -> None:
    assert read_time(clock.isoformat()) == clock


@given(st.uuids())
def test_a_uuid_is_read_as_it_was_written(uuid: UUID) -> None:
    assert read_uuid(str(uuid)) == read_uuid(str(uuid).upper()) == uuid


def test_zeros_beyond_a_microsecond_say_nothing() -> None:
    assert read_time("12:00:00.1234560000z").microsecond == 123456
    assert read_time("12:00:00.000000000Z").microsecond == 0


@pytest.mark.parametrize(
    ("format", "text"),
    [
        ("date-time", "1998-12-31T23:59:60Z"),
        ("date-time", "0000-01-01T00:00:00Z"),
        ("date-time", "2024-01-01T00:00:00.1234567Z"),
        ("date", "0000-01-01"),
        ("time", "23:59:60Z"),
        ("time", "12:00:00.0000001+01:00"),
    ],
)
def test_what_python_cannot_hold_is_refused_and_not_rounded(workshop: Workshop, format: str, text: str) -> None:
    inner = {**TEXT, "format": format}
    product = build(workshop, {"a": inner, "b": {"type": "array", "items": {"anyOf": [inner, {"type": "integer"}]}}})
    for arguments, place in (({"a": text}, "/a"), ({"b": [1, text]}, "/b/1")):
        with pytest.raises(Exception, match="there is no Python value") as caught:
            product.parse("plan", arguments)
        assert type(caught.value).__name__ == "InvalidArguments"
        issues: Any = caught.value
        assert [(issue.pointer, issue.keyword) for issue in issues.issues] == [(place, "format")]


def test_every_place_of_a_text(workshop: Workshop, tmp_path: Path) -> None:
    product = build(
        workshop,
        {
            "moment": {**TEXT, "format": "date-time", "minLength": 3},
            "id": {"type": ["string", "null"], "format": "uuid"},
            "days": {"type": "array", "items": DAY},
            "by": {"type": "object", "additionalProperties": {**TEXT, "format": "time"}},
            "either": {"anyOf": [DAY, {"type": "integer"}]},
            "day": {"allOf": [{"$ref": "#/properties/either/anyOf/0"}]},
            "email": {**TEXT, "format": "email"},
        }
        | {"inner": {"type": "object", "properties": {"day": DAY}, "additionalProperties": False}},
        targets=["none"],
    )
    assert product.diagnostics == []
    given = {
        "moment": "2024-02-29T12:00:00Z",
        "id": "2eb8aa08-aa98-11ea-b4aa-73b441d16380",
        "days": ["2024-02-29"],
        "by": {"x": "12:00:00+01:00"},
        "either": "2024-02-29",
        "day": "2024-02-29",
        "email": "a@example.com",
        "inner": {"day": "2024-02-29"},
    }
    args = product.parse("plan", given)
    day = date(2024, 2, 29)
    assert (args.days, args.either, args.day, args.inner.day) == ([day], day, day, day)
    assert args.moment == datetime(2024, 2, 29, 12, tzinfo=UTC)
    assert args.id == UUID(given["id"])
    assert args.by["x"].utcoffset() == timedelta(hours=1)
    assert args.email == "a@example.com"
    assert args.model_dump(mode="json", by_alias=True, exclude_unset=True) == given
    assert product.parse("plan", {"id": None, "either": 5}).either == 5
    with pytest.raises(Exception, match="format date"):
        product.parse("plan", {"inner": {"day": "2023-02-29"}})
    # Code that builds arguments gives values, or texts as they come over the wire.
    assert type(args)(days=[day]).days == type(args)(days=["2024-02-29"]).days == [day]
    mypy = [sys.executable, "-m", "mypy", "--strict", "--config-file=", f"--cache-dir={tmp_path}"]
    run = subprocess.run(
        [*mypy, "--package", product.folder.name], cwd=product.folder.parent, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stdout


@pytest.mark.parametrize(
    "other", [TEXT, {**TEXT, "format": "time"}, {"enum": ["today", None]}, {**TEXT, "enum": ["x"]}]
)
def test_a_text_that_may_be_something_else_stays_text(workshop: Workshop, other: dict[str, Any]) -> None:
    product = build(workshop, {"when": {"anyOf": [DAY, other]}})
    assert product.parse("plan", {"when": "2024-02-29"}).when == "2024-02-29"
    if other == {"enum": ["today", None]}:
        assert product.parse("plan", {"when": "today"}).when == "today"


def test_defaults_become_values(workshop: Workshop) -> None:
    product = build(
        workshop,
        {
            "day": {**DAY, "default": "2024-02-29"},
            "read_date": {"type": "array", "items": DAY, "default": ["2024-02-29"]},
            "later": {**DAY, "default": "2024-03-01"},
            "vague": {**DAY, "default": "tomorrow"},
        },
    )
    args = product.parse("plan", {})
    assert (args.day, args.read_date, args.later) == (date(2024, 2, 29), [date(2024, 2, 29)], date(2024, 3, 1))
    assert args.vague is None
    assert [(problem.code, problem.pointer) for problem in product.diagnostics] == [
        ("default-misfit", "/0/parameters/properties/vague/default")
    ]


def test_classes_do_not_take_the_types_names(workshop: Workshop) -> None:
    inner = {"type": "object", "properties": {"day": DAY}, "required": ["day"]}
    spec = tool(
        "plan", {"type": "object", "properties": {"a": {"$ref": "#/$defs/WireDate"}}, "$defs": {"WireDate": inner}}
    )
    product = workshop.build([spec], formats="convert")
    assert product.parse("plan", {"a": {"day": "2024-02-29"}}).a.day == date(2024, 2, 29)


@pytest.mark.parametrize("formats", ["annotate", "check"])
def test_else_texts_stay_texts(workshop: Workshop, formats: str) -> None:
    product = build(workshop, {"day": DAY}, formats=formats)
    assert product.parse("plan", {"day": "2024-02-29"}).day == "2024-02-29"
