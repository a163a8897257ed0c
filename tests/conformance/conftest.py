"""The measurements, each made once and shared by the tests that look at it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conformance import documents, real, report, suite
from tests.conformance.judges import Tally
from tests.conformance.product import Workshop
from tests.conformance.real import RealResults
from tests.conformance.suite import SuiteResults
from tests.public_data import PublicData, find


@pytest.fixture(scope="session")
def test_data() -> PublicData:
    return find()


@pytest.fixture(scope="session")
def workshop() -> Iterator[Workshop]:
    with Workshop() as made:
        yield made


@pytest.fixture(scope="session")
def suite_results(test_data: PublicData, workshop: Workshop) -> SuiteResults:
    return suite.measure(test_data, workshop)


@pytest.fixture(scope="session")
def real_results(test_data: PublicData, workshop: Workshop) -> RealResults:
    return real.measure(test_data, workshop)


@pytest.fixture(scope="session")
def document_results(workshop: Workshop) -> Tally:
    return documents.measure(workshop, report.DOCUMENT_ROUNDS)
