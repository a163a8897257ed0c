"""Handler of the tool calcular_descuento."""

from __future__ import annotations

from ..models.calcular_descuento import (
    CalcularDescuentoArguments,
    CalcularDescuentoResult,
)
from ..runtime import Call


def calcular_descuento(
    args: CalcularDescuentoArguments, call: Call
) -> CalcularDescuentoResult:
    """Calcula el precio final de un producto después de aplicar un porcentaje de descuento."""
    raise NotImplementedError
