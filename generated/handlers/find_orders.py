"""Handler of the tool find_orders."""

from __future__ import annotations

from ..models.find_orders import FindOrdersArguments, FindOrdersResult
from ..runtime import Call


def find_orders(args: FindOrdersArguments, call: Call) -> FindOrdersResult:
    """Find orders of one customer, newest first."""
    raise NotImplementedError
