"""Fixtures of the measurements."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conformance.product import Workshop
from tests.public_data import PublicData, find


@pytest.fixture(scope="session")
def test_data() -> PublicData:
    return find()


@pytest.fixture
def workshop() -> Iterator[Workshop]:
    with Workshop() as made:
        yield made
