"""Handler of the tool calcular_descuento: plain arithmetic, and an error that the model can act on."""

from __future__ import annotations

from ..models.calcular_descuento import CalcularDescuentoArguments, CalcularDescuentoResult
from ..runtime import Call, ToolError


def calcular_descuento(args: CalcularDescuentoArguments, call: Call) -> CalcularDescuentoResult:
    """Calcula el precio final de un producto después de aplicar un porcentaje de descuento."""
    if not 0 <= args.porcentaje_descuento <= 100:
        raise ToolError("porcentaje_descuento debe estar entre 0 y 100")
    discount = round(args.precio * args.porcentaje_descuento / 100, 2)
    return CalcularDescuentoResult(
        precio_original=args.precio,
        descuento_aplicado=discount,
        precio_final=round(args.precio - discount, 2),
    )
