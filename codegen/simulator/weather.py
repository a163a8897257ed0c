"""A forecast service for demos and tests, in the shape of open-meteo's `/v1/forecast`.

The values are no weather: they follow from the coordinates alone, so that a scenario can expect them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from codegen.simulator.wire import Incoming, Reply, Route

PATH = "/open-meteo/v1/forecast"
_UNITS = {"temperature_2m": "°C", "wind_speed_10m": "km/h"}


def current_weather(latitude: float, longitude: float) -> dict[str, float]:
    """Temperature (-5.0 to 34.9 °C) and wind speed (0.0 to 39.9 km/h) of a place, always the same."""
    north, east = round(latitude * 100), round(longitude * 100)
    return {
        "temperature_2m": ((north * 7 + east * 13) % 400 - 50) / 10,
        "wind_speed_10m": ((north * 3 + east * 11) % 400) / 10,
    }


def weather_routes() -> Sequence[Route]:
    """The operations of the service."""
    return [Route("forecast", "GET", PATH, _forecast)]


def _forecast(request: Incoming) -> Reply:
    try:
        latitude, longitude = (_coordinate(request.query, *bound) for bound in (("latitude", 90), ("longitude", 180)))
        names = [name for name in request.query.get("current", "").split(",") if name]
        unknown = [name for name in names if name not in _UNITS]
        if unknown:
            raise ValueError(f"Data corrupted at path ''. Cannot initialize variable from {unknown[0]}.")
    except ValueError as error:
        return Reply(400, {"error": True, "reason": str(error)})
    weather = current_weather(latitude, longitude)
    body: dict[str, Any] = {"latitude": latitude, "longitude": longitude}
    if names:
        body["current_units"] = {name: _UNITS[name] for name in names}
        body["current"] = {name: weather[name] for name in names}
    return Reply(body=body)


def _coordinate(query: Mapping[str, str], name: str, bound: int) -> float:
    value = float(query[name]) if name in query else math.nan
    if not -bound <= value <= bound:
        raise ValueError(f"{name.capitalize()} must be in range of -{bound} to {bound}°.")
    return value
