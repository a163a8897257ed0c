"""Handler of the tool place_order."""

from __future__ import annotations

from ..models.place_order import PlaceOrderArguments, PlaceOrderResult
from ..runtime import Call


def place_order(args: PlaceOrderArguments, call: Call) -> PlaceOrderResult:
    """Place an order for a customer and charge it.

    Ask the customer for the delivery address and the way of payment before calling this.
    """
    raise NotImplementedError
