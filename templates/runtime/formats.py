"""Texts of a format as Python values: what `formats = "convert"` gives to handlers.

The gate has checked the text before. Python holds less than the formats allow: no leap second, no year 0, nothing finer
than a microsecond. Such a text is refused and not rounded.

Sources: RFC 3339 (section 5.6) for dates and times, RFC 9562 (section 4) for UUIDs.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, time
from typing import Annotated, Any, TypeVar
from uuid import UUID

from pydantic import BeforeValidator

T = TypeVar("T")

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME = re.compile(
    r"([0-9]{2}:[0-9]{2}:[0-9]{2})(\.[0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})"
)
_UUID = re.compile(r"[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")


def read_date_time(text: str) -> datetime:
    """The moment that a `date-time` names, with its offset. Raises `ValueError` where Python has none for it."""
    day, clock = text[:10], text[11:]
    if text[10:11] not in ("T", "t") or not _DATE.fullmatch(day):
        raise ValueError("it is no date and time with an offset")
    return datetime.fromisoformat(f"{day}T{_clock(clock)}")


def read_date(text: str) -> date:
    """The day that a `date` names. Raises `ValueError` where Python has none for it."""
    if not _DATE.fullmatch(text):
        raise ValueError("it is no date")
    return date.fromisoformat(text)


def read_time(text: str) -> time:
    """The time of day that a `time` names, with its offset. Raises `ValueError` where Python has none for it."""
    return time.fromisoformat(_clock(text))


def read_uuid(text: str) -> UUID:
    """The UUID that a `uuid` spells. Raises `ValueError` where it is none."""
    if not _UUID.fullmatch(text):
        raise ValueError("it is no UUID")
    return UUID(text)


def _clock(text: str) -> str:
    """A `time` as `fromisoformat` reads it without loss."""
    match = _TIME.fullmatch(text)
    if match is None:
        raise ValueError("it is no time with an offset")
    fraction = (match[2] or "").rstrip("0")
    if len(fraction) > 7:  # the point and six digits
        raise ValueError("it is finer than a microsecond")
    return match[1] + (fraction if len(fraction) > 1 else "") + match[3].upper()


def _reading(read: Callable[[str], T]) -> BeforeValidator:
    def before(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        try:
            return read(value)
        except ValueError as error:
            raise ValueError(
                f"there is no Python value for {value!r}: {error}"
            ) from None

    return BeforeValidator(before)


WireDateTime = Annotated[datetime, _reading(read_date_time)]
"""A `datetime` that is a text of the format `date-time` on the wire."""
WireDate = Annotated[date, _reading(read_date)]
"""A `date` that is a text of the format `date` on the wire."""
WireTime = Annotated[time, _reading(read_time)]
"""A `time` that is a text of the format `time` on the wire."""
WireUUID = Annotated[UUID, _reading(read_uuid)]
"""A `UUID` that is a text of the format `uuid` on the wire."""
