"""Handler of the tool get_customer: a look-up in an SQLite file."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from ..models.get_customer import GetCustomerArguments, GetCustomerResult
from ..runtime import Call


def get_customer(args: GetCustomerArguments, call: Call) -> GetCustomerResult:
    """Look up a customer by ID."""
    with closing(sqlite3.connect(call.context.customers)) as database:
        row = database.execute("SELECT name, plan FROM customer WHERE id = ?", (args.customer_id,)).fetchone()
    customer = {"name": row[0], "plan": row[1]} if row else None
    return GetCustomerResult.model_validate({"found": row is not None, "customer": customer})
