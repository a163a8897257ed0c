"""`parse` agrees with the JSON Schema Test Suite."""

from __future__ import annotations

from tests.conformance import report, suite
from tests.conformance.product import Workshop
from tests.public_data import PublicData


def test_suite(test_data: PublicData, workshop: Workshop) -> None:
    """In one test, since tests may run in several processes and each would measure anew."""
    results = suite.measure(test_data, workshop)
    assert not results.faults
    # It was really there, and what is set aside needs documents from elsewhere.
    assert all(results.arguments[draft, "required"].tools > 200 for draft in suite.DRAFTS)
    assert all(results.arguments[draft, part].tools > 15 for draft in suite.DRAFTS for part in suite.PARTS)
    aside = [group for groups in results.aside.values() for group in groups]
    assert all("localhost" in repr(group.schema) for group in aside)
    assert not report.differences(report.suite_section(results))
