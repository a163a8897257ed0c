"""Handler of the tool obtener_clima."""

from __future__ import annotations

from ..models.obtener_clima import ObtenerClimaArguments, ObtenerClimaResult
from ..runtime import Call


def obtener_clima(args: ObtenerClimaArguments, call: Call) -> ObtenerClimaResult:
    """Obtiene información meteorológica actual de una ubicación específica usando coordenadas geográficas."""
    raise NotImplementedError
