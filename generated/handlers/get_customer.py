"""Handler of the tool get_customer."""

from __future__ import annotations

from ..models.get_customer import GetCustomerArguments, GetCustomerResult
from ..runtime import Call


def get_customer(args: GetCustomerArguments, call: Call) -> GetCustomerResult:
    """Look up a customer by ID."""
    raise NotImplementedError
