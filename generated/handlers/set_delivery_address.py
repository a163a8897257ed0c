"""Handler of the tool set_delivery_address."""

from __future__ import annotations

from ..models.set_delivery_address import (
    SetDeliveryAddressArguments,
    SetDeliveryAddressResult,
)
from ..runtime import Call


def set_delivery_address(
    args: SetDeliveryAddressArguments, call: Call
) -> SetDeliveryAddressResult:
    """Change where an order is delivered. Possible until the order is shipped."""
    raise NotImplementedError
