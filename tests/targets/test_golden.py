"""Payloads that people have read stay as they are."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.targets.golden import FOLDER, SPECS, payload_text, variants

_VARIANTS = list(variants())


@pytest.mark.parametrize(("name", "target", "settings"), _VARIANTS, ids=[name for name, _, _ in _VARIANTS])
def test_payloads_are_the_reviewed_ones(name: str, target: str, settings: Mapping[str, str]) -> None:
    """Written anew with `python -m tests.targets.golden`."""
    assert payload_text(target, settings) == (FOLDER / f"{name}.json").read_text(encoding="utf-8")


def test_there_is_no_file_without_a_target() -> None:
    assert {path.stem for path in FOLDER.glob("*.json")} == {SPECS.stem, *(name for name, _, _ in _VARIANTS)}
