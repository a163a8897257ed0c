"""What a handler returns, as the text that a model reads."""

from __future__ import annotations

import dataclasses
import enum
import ipaddress
import json
import math
from collections import ChainMap, OrderedDict, UserDict, UserList, defaultdict, deque, namedtuple
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AnyUrl, BaseModel, ConfigDict, Field, RootModel, SecretStr, TypeAdapter, field_serializer
from pydantic.dataclasses import dataclass as pydantic_dataclass

from templates.runtime.content import Content, Image, Text
from templates.runtime.errors import UnserializableOutput
from templates.runtime.models import ToolModel
from templates.runtime.output import MAX_DEPTH, content_text, to_text, write

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


class Color(str, enum.Enum):  # noqa: UP042 - the older form, which is not the same
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


class Mood(enum.Enum):
    GOOD = ("very", "good")


class Point(NamedTuple):
    x: int
    y: int


@dataclasses.dataclass
class Line:
    sku: str
    price: Decimal


class Customer(BaseModel):
    model_config = ConfigDict(populate_by_name=True)

    full_name: str = Field(alias="fullName")
    since: date = date(2024, 2, 29)
    raw: bytes = b"\x00\xff"


class Order(ToolModel):
    number_: int = Field(alias="number")
    note: str | None = None
    lines: Any = None


@pydantic_dataclass
class Priced:
    amount: int = Field(serialization_alias="amountCents")


@dataclasses.dataclass
class Wrapped:
    customer: Customer
    order: Order


class TestText:
    @given(st.text())
    def test_text_goes_as_it_is(self, text: str) -> None:
        assert to_text(text) == text

    @given(values.filter(lambda value: not isinstance(value, str)))
    def test_json_values_read_back_equal(self, value: Any) -> None:
        assert repr(json.loads(to_text(value))) == repr(value)

    def test_it_is_compact_and_without_ascii_escapes(self) -> None:
        assert to_text({"a": [1, 2.5], "ciudad": "Málaga", "nota": "日本 🙂"}) == (
            '{"a":[1,2.5],"ciudad":"Málaga","nota":"日本 🙂"}'
        )

    def test_separators_and_control_characters_stay_valid(self) -> None:
        value = {"a": '\u2028\u2029\x00\x1f\x7f"\\'}
        assert json.loads(to_text(value)) == value

    def test_big_integers_keep_every_digit(self) -> None:
        assert to_text({"a": 10**60, "b": -(2**64)}) == f'{{"a":{10**60},"b":{-(2**64)}}}'


class TestRules:
    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            (None, None),
            (True, True),
            (7, 7),
            (-0.0, -0.0),
            (Decimal("10.50"), "10.50"),
            (Decimal("NaN"), "NaN"),
            (datetime(2024, 5, 1, 10, 0, tzinfo=UTC), "2024-05-01T10:00:00+00:00"),
            (datetime(2024, 5, 1, 10, 0, 0, 5, timezone(timedelta(hours=-3))), "2024-05-01T10:00:00.000005-03:00"),
            (datetime(2024, 5, 1), "2024-05-01T00:00:00"),
            (date(2024, 2, 29), "2024-02-29"),
            (time(9, 30), "09:30:00"),
            (UUID("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"), "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
            (PurePosixPath("/a/b"), "/a/b"),
            (b"\x00\xff", "AP8="),
            (bytearray(b"\x00\xff"), "AP8="),
            (memoryview(b"\x00\x01\xff")[::2], "AP8="),
            (Color.RED, "red"),
            (Level.HIGH, 3),
            (Mood.GOOD, ["very", "good"]),
            ({"b", "a"}, ["a", "b"]),
            (frozenset({10, 9, 2.5}), [2.5, 9, 10]),
            ({None, True, 3, "x", (1, 2), Color.RED}, [None, True, 3, "red", "x", [1, 2]]),
            ((1, "x"), [1, "x"]),
            ((n * n for n in range(3)), [0, 1, 4]),
            (range(3), [0, 1, 2]),
            (iter([1]), [1]),
            (deque([1, 2]), [1, 2]),
            (UserList([1]), [1]),
            (Point(1, 2), {"x": 1, "y": 2}),
            (Line("tea", Decimal("4.20")), {"sku": "tea", "price": "4.20"}),
            (OrderedDict(b=1, a=2), {"b": 1, "a": 2}),
            (defaultdict(list, a=[1]), {"a": [1]}),
            (UserDict({"a": 1}), {"a": 1}),
            (MappingProxyType({"a": 1}), {"a": 1}),
            (ChainMap({"a": 1}), {"a": 1}),
            (
                {1: "a", None: "b", False: "c", Level.HIGH: "d", Color.RED: "e"},
                {"1": "a", "null": "b", "false": "c", "3": "d", "red": "e"},
            ),
            ({"when": date(2024, 2, 29), "tags": ("x", "y")}, {"when": "2024-02-29", "tags": ["x", "y"]}),
            (AnyUrl("https://example.com/a"), "https://example.com/a"),
            (ipaddress.ip_address("192.0.2.1"), "192.0.2.1"),
            (SecretStr("hidden"), "**********"),
            (Customer(fullName="Ada"), {"fullName": "Ada", "since": "2024-02-29", "raw": "AP8="}),
            (RootModel[list[int]]([1, 2]), [1, 2]),
            (Priced(amount=5), {"amountCents": 5}),
            (Order(number=7), {"number": 7}),
            (Order(number=7, note=None, lines=[Point(1, 2)]), {"number": 7, "note": None, "lines": [{"x": 1, "y": 2}]}),
            (
                Order(number=7, lines=[Customer(fullName="Ada"), Order(number=8)]),
                {"number": 7, "lines": [{"fullName": "Ada", "since": "2024-02-29", "raw": "AP8="}, {"number": 8}]},
            ),
            (
                Order.model_validate({"number": 7, "extra": {"a": date(2024, 1, 1)}}),
                {"number": 7, "extra": {"a": "2024-01-01"}},
            ),
            (
                Wrapped(Customer(fullName="Ada"), Order(number=1)),
                {"customer": {"fullName": "Ada", "since": "2024-02-29", "raw": "AP8="}, "order": {"number": 1}},
            ),
        ],
    )
    def test_a_type_becomes(self, value: Any, expected: Any) -> None:
        plain, text = write(value)
        assert json.loads(text) == expected
        assert plain == expected

    @given(st.timedeltas())
    def test_a_duration_reads_back(self, value: timedelta) -> None:
        text = json.loads(to_text(value))
        if abs(value) < timedelta(days=900_000_000):  # beyond, the reader has a bound of its own
            assert TypeAdapter(timedelta).validate_python(text) == value

    @pytest.mark.parametrize(
        ("value", "text"),
        [
            (timedelta(), "PT0S"),
            (timedelta(days=2), "P2D"),
            (timedelta(seconds=-90), "-PT90S"),
            (timedelta(days=1, milliseconds=1500), "P1DT1.5S"),
        ],
    )
    def test_a_duration(self, value: timedelta, text: str) -> None:
        assert json.loads(to_text(value)) == text

    @given(st.frozensets(st.integers() | st.text() | st.booleans() | st.none()))
    def test_a_set_has_one_order(self, value: frozenset[Any]) -> None:
        assert to_text(value) == to_text({*reversed(list(value))})

    def test_only_what_was_set_of_a_generated_model(self) -> None:
        assert to_text([Order(number=1), {"order": Order(number=2, note=None)}]) == (
            '[{"number":1},{"order":{"number":2,"note":null}}]'
        )

    def test_serializers_of_a_model_run(self) -> None:
        class Masked(BaseModel):
            card: str

            @field_serializer("card")
            def mask(self, card: str) -> str:
                return "…" + card[-4:]

        assert to_text({"paid": Masked(card="4111111111111111")}) == '{"paid":{"card":"…1111"}}'

    def test_one_value_may_stand_in_several_places(self) -> None:
        shared = {"a": [1]}
        assert to_text([shared, shared, {"b": shared}]) == '[{"a":[1]},{"a":[1]},{"b":{"a":[1]}}]'


class Circular(BaseModel):
    inner: Any = None


def _circular_model() -> Circular:
    model = Circular()
    model.inner = [model]
    return model


def _circular_list() -> list[Any]:
    value: list[Any] = [1]
    value.append({"b": value})
    return value


def _deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


class TestRefusals:
    @pytest.mark.parametrize(
        ("value", "message", "pointer"),
        [
            (object(), r"type object at \$ ", ""),
            ({"a": [1, {"b": object()}]}, r"type object at \$\.a\[1\]\.b ", "/a/1/b"),
            (print, "type builtin_function_or_method", ""),
            (int, "type type", ""),
            ([Exception("secret")], r"type Exception at \$\[0\]", "/0"),
            (math.nan, "nan at", ""),
            ({"a": {"b": [math.inf]}}, r"inf at \$\.a\.b\[0\]", "/a/b/0"),
            ({"a": (-math.inf,)}, r"-inf at \$\.a\[0\]", "/a/0"),
            ({1.5: 1}, "key at .* of type float", ""),
            ({"a": {(1, 2): 1}}, r"key at \$\.a is of type tuple", "/a"),
            ({b"a": 1}, "of type bytes", ""),
            ({1: "a", "1": "b"}, "two keys at .* become '1'", ""),
            ({"a": "x\ud800"}, r"text at \$\.a holds a lone surrogate", "/a"),
            ({"a": {"\udc00": 1}}, r"text at \$\.a holds a lone surrogate", "/a"),
            ("\ud800", r"text at \$ holds a lone surrogate", ""),
            ([PurePosixPath("\udcff")], r"text at \$\[0\] holds a lone surrogate", "/0"),
            (_circular_list(), r"value at \$\[1\]\.b contains itself", "/1/b"),
            ({"m": _circular_model()}, r"\$\.m.* contains itself", "/m/inner/0/inner/0"),
            (_deep(MAX_DEPTH + 1), "deeper than 200", "/0" * MAX_DEPTH),
            (_deep(100_000), "deeper than 200", "/0" * MAX_DEPTH),
        ],
    )
    def test_what_json_has_no_word_for_names_its_place(self, value: Any, message: str, pointer: str) -> None:
        with pytest.raises(UnserializableOutput, match=message) as refused:
            to_text(value)
        assert refused.value.pointer == pointer

    def test_the_bound_on_nesting_is_exact(self) -> None:
        assert json.loads(to_text(_deep(MAX_DEPTH))) == _deep(MAX_DEPTH)
        rules = [_deep(MAX_DEPTH - 1)]  # by the walk that knows the rules
        rules.append(date(2024, 1, 1))
        assert json.loads(to_text(rules)) == [_deep(MAX_DEPTH - 1), "2024-01-01"]

    def test_a_mapping_that_fails_raises_its_own_error(self) -> None:
        class Broken(UserDict[str, Any]):
            def items(self) -> Any:
                raise OSError("gone")

        with pytest.raises(OSError, match="gone"):
            to_text({"a": Broken()})

    def test_a_generator_that_fails_raises_its_own_error(self) -> None:
        def rows() -> Iterator[int]:
            yield 1
            raise OSError("gone")

        with pytest.raises(OSError, match="gone"):
            to_text({"rows": rows()})

    def test_a_serializer_that_fails_is_not_quoted(self) -> None:
        class Broken(BaseModel):
            card: str

            @field_serializer("card")
            def mask(self, card: str) -> str:
                raise ValueError(f"secret {card}")

        with pytest.raises(UnserializableOutput, match=r"the Broken at \$ cannot be dumped") as refused:
            to_text(Broken(card="4111"))
        assert "secret" not in str(refused.value)
        assert "secret" in str(refused.value.__cause__)


class TestContent:
    def test_the_text_parts_are_joined(self) -> None:
        content = Content(["one", Image("https://example.com/a.png"), Text("two")])
        assert content_text(content) == content.text == "one\ntwo"
        assert content.parts == (Text("one"), Image("https://example.com/a.png"), Text("two"))

    def test_an_image_from_bytes(self) -> None:
        assert Image.from_bytes(b"\x00\xff", "image/png").url == "data:image/png;base64,AP8="

    @pytest.mark.parametrize("parts", [[1], ["a", None], [{"text": "a"}], "text", [b"x"]])
    def test_other_parts_are_refused(self, parts: Any) -> None:
        with pytest.raises(TypeError):
            Content(parts)

    @pytest.mark.parametrize("part", [Text("\ud800"), Image("data:\udfff")])
    def test_a_lone_surrogate_is_refused(self, part: Any) -> None:
        with pytest.raises(UnserializableOutput, match=r"\$\[1\] holds a lone surrogate"):
            content_text(Content(["a", part]))


Old = namedtuple("Old", ["a", "b"])


def test_an_untyped_named_tuple_is_an_object() -> None:
    assert to_text([Old(1, None)]) == '[{"a":1,"b":null}]'
