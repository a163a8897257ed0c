"""Text of a spec stays text: whatever it is, in every place, it is compiled and imported and never run."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conformance.at_random import EFFORT
from tests.conformance.judges import Tally
from tests.conformance.product import Product, Workshop, tool

MARK: Final = "toolgen_text_was_run"
_CALL: Final = f'setattr(__import__("sys"), "{MARK}", True)'
_STATEMENT: Final = f"import sys; sys.{MARK} = True"
# What ends a literal, a docstring, a comment, a line or a template's tag, and what would run behind it.
_PIECES: Final = (
    *('"', "'", '"""', "'''", "\\", "\\\\", "\n", "\r", "\r\n", "\n\n    ", "\t", "\0", "\f", "\x1b", "\x85", "\u2028"),
    *(
        "#",
        "# ",
        "(",
        ")",
        "]",
        "}",
        "{",
        "{{",
        "}}",
        "{%",
        "%}",
        "{#",
        ",",
        ":",
        "=",
        " ",
        "`",
        "$",
        "%s",
        "\\N{DASH}",
    ),
    *(
        "\\x4",
        "\\u12",
        "\ufeff",
        "\u202e",
        "é",
        "😀",
        "# type: ignore",
        "# noqa",
        "raise SystemExit",
        "__import__",
        "]]>",
    ),
    *(_CALL, f"{{{_CALL}}}", f"{{{{ {_CALL} }}}}", f'" + str({_CALL}) + "', f"' + str({_CALL}) + '", f"\n{_CALL}\n"),
    *(
        _STATEMENT,
        f"\n{_STATEMENT}\n",
        f'"""\n{_STATEMENT}\n"""',
        f"\\\n{_STATEMENT}",
        f"\r{_STATEMENT}\r",
        f"pass\n{_CALL}",
    ),
)
_characters = st.characters(exclude_categories=["Cs"])
texts = st.one_of(
    st.lists(st.sampled_from(_PIECES), min_size=1, max_size=5).map("".join),
    st.lists(st.one_of(st.sampled_from(_PIECES), st.text(_characters, max_size=3)), max_size=6).map("".join),
)

packages = settings(
    max_examples=4 * EFFORT, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


def everywhere(name: str, text: str) -> dict[str, Any]:
    """A spec with `text` in every place that takes one."""
    said = {"description": text, "title": text, "$comment": text, "format": text, "examples": [text], text: text}
    inner = {
        "type": "object",
        "properties": {text: {**said, "enum": [text, None, 1], "default": text}, "other": {"const": text}},
        "required": [text],
        "dependentRequired": {text: [text]},
        "additionalProperties": {**said, "type": ["string", "null"]},
        **said,
    }
    parameters = {
        "type": "object",
        "properties": {
            "inner": {"$ref": "#/$defs/Named"},
            "one": {"anyOf": [inner, {"type": "array", "items": inner}, {"const": {text: [text]}}], **said},
            "default": {"type": "object", "properties": {text: {"type": "string"}}, "default": {text: text}},
            f"{text}!": {"type": "string", **said},
        },
        "patternProperties": {"^x-": {"type": "string", "description": text}},
        "$defs": {"Named": inner, f"{text}?": inner},
        **said,
    }
    return {**tool(name, parameters, text or "Without text."), "returns": {"type": "array", "items": inner, **said}}


def import_all(product: Product) -> None:
    package = importlib.import_module(product.folder.name)
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        importlib.import_module(module.name)


@packages
@given(st.lists(texts, min_size=6, max_size=8))
def test_any_text_in_every_place(workshop: Workshop, drawn: list[str]) -> None:
    names = [f"tool_{number}" for number in range(len(drawn))]
    product = workshop.build([everywhere(*each) for each in zip(names, drawn, strict=True)], handlers="stubs")
    import_all(product)
    tally = Tally()
    for name, text in zip(names, drawn, strict=True):
        value = {text: text, "other": text}
        tally.call(product, name, {"inner": value, "one": [value], f"{text}!": text}, True, "text as it is")
        tally.call(product, name, {"inner": {**value, text: f"{text}."}}, False, "another text")
        tally.call(product, name, {"one": {text: [text]}, "x-": text}, True, "text in a constant")
        assert product.parse(name, {"inner": value}).inner.model_dump(by_alias=True) == value
    workshop.forget()
    assert not tally.faults
    assert not hasattr(sys, MARK)


@packages
@given(
    st.lists(
        st.lists(st.one_of(texts, st.text(_characters, max_size=6)), min_size=1, max_size=8, unique=True),
        min_size=6,
        max_size=8,
    ),
    st.randoms(use_true_random=False),
)
def test_any_names_of_properties(workshop: Workshop, drawn: list[list[str]], random: Any) -> None:
    closed = {"additionalProperties": False}
    schemas = [
        {"type": "object", "properties": {name: {"type": "integer"} for name in names}, **random.choice(({}, closed))}
        for names in drawn
    ]
    product = workshop.build([tool(f"tool_{number}", schema) for number, schema in enumerate(schemas)])
    tally = Tally()
    for number, names in enumerate(drawn):
        value: dict[str, Any] = dict.fromkeys(names, 1)
        tally.call(product, f"tool_{number}", value, True, "every name")
        tally.call(product, f"tool_{number}", {names[0]: 2.0}, True, "one name")
        tally.call(product, f"tool_{number}", {**value, names[-1]: "1"}, False, "a wrong value")
        # The Python name of a field is no name of its property.
        fields = type(product.parse(f"tool_{number}", value)).model_fields
        for field in fields.keys() - set(names):
            is_open = "additionalProperties" not in schemas[number]
            tally.call(product, f"tool_{number}", {**value, field: "x"}, is_open, "a Python name")
    workshop.forget()
    assert not tally.faults
    assert not hasattr(sys, MARK)


@packages
@given(
    st.lists(
        st.one_of(texts, st.text(_characters, min_size=1, max_size=8)), min_size=6, max_size=8, unique=True
    ).filter(lambda names: all(name.strip() for name in names))
)
def test_any_names_of_tools(workshop: Workshop, names: list[str]) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "object", "properties": {"b": {"type": "integer"}}}}}
    product = workshop.build([{**tool(name, schema), "returns": schema} for name in names], handlers="stubs")
    import_all(product)
    assert list(product.names) == sorted(names)
    tally = Tally()
    for name in names:
        tally.call(product, name, {"a": {"b": 1}}, True, name)
        tally.call(product, name, {"a": {"b": "1"}}, False, name)
    workshop.forget()
    assert not tally.faults
    assert not hasattr(sys, MARK)


@pytest.mark.parametrize(
    "name", ["json", "typing", "runtime", "class", "__init__", "../escape", "/tmp/x", "dispatch", "."]
)
def test_names_that_lead_elsewhere(workshop: Workshop, name: str) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    product = workshop.build([tool(name, schema), tool("beside", schema)], handlers="stubs")
    import_all(product)
    tally = Tally()
    for each in (name, "beside"):
        tally.call(product, each, {"a": 1}, True, each)
        tally.call(product, each, {"a": "1"}, False, each)
    workshop.forget()
    assert not tally.faults
