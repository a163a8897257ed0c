"""Handler of the tool cancel_order."""

from __future__ import annotations

from ..models.cancel_order import CancelOrderArguments, CancelOrderResult
from ..runtime import Call


def cancel_order(args: CancelOrderArguments, call: Call) -> CancelOrderResult:
    """Cancel an order that is not shipped yet, and pay the money back."""
    raise NotImplementedError
