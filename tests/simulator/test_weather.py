"""The forecast service."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegen.simulator import Simulator
from codegen.simulator.weather import current_weather

MADRID = {"latitude": 40.4168, "longitude": -3.7038}
BOTH = "temperature_2m,wind_speed_10m"


def test_the_same_place_has_the_same_weather(simulator: Simulator) -> None:
    answers = [httpx2.get(simulator.weather_url, params={**MADRID, "current": BOTH}).json() for _ in range(2)]
    assert answers[0] == answers[1]
    assert answers[0]["current"] == current_weather(40.4168, -3.7038) == {"temperature_2m": 23.4, "wind_speed_10m": 5.6}


@given(st.floats(-90, 90), st.floats(-180, 180))
def test_weather_is_possible_everywhere(latitude: float, longitude: float) -> None:
    weather = current_weather(latitude, longitude)
    assert -5 <= weather["temperature_2m"] < 35
    assert 0 <= weather["wind_speed_10m"] < 40


def test_only_what_was_asked_for(simulator: Simulator) -> None:
    params: dict[str, Any] = {**MADRID, "current": "wind_speed_10m"}
    assert list(httpx2.get(simulator.weather_url, params=params).json()["current"]) == ["wind_speed_10m"]
    assert "current" not in httpx2.get(simulator.weather_url, params=MADRID).json()


@pytest.mark.parametrize(
    "change", [{"latitude": 91}, {"longitude": "x"}, {"latitude": "nan"}, {"latitude": None}, {"current": "snow"}]
)
def test_what_is_no_question_is_an_error(simulator: Simulator, change: dict[str, Any]) -> None:
    params: dict[str, Any] = {k: v for k, v in ({**MADRID, "current": BOTH} | change).items() if v is not None}
    answer = httpx2.get(simulator.weather_url, params=params)
    assert (answer.status_code, answer.json()["error"]) == (400, True)
