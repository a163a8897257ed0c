"""Handler of the tool obtener_clima: a real HTTP request to a weather service."""

from __future__ import annotations

import json
from urllib.parse import urlencode
from urllib.request import urlopen

from ..models.obtener_clima import ObtenerClimaArguments, ObtenerClimaResult
from ..runtime import Call


def obtener_clima(args: ObtenerClimaArguments, call: Call) -> ObtenerClimaResult:
    """Obtiene información meteorológica actual de una ubicación específica usando coordenadas geográficas."""
    query = urlencode(
        {"latitude": args.latitud, "longitude": args.longitud, "current": "temperature_2m,wind_speed_10m"}
    )
    with urlopen(f"{call.context.weather}/v1/forecast?{query}", timeout=10) as response:
        current = json.load(response)["current"]
    return ObtenerClimaResult(temperatura=current["temperature_2m"], velocidad_viento=current["wind_speed_10m"])
