"""Names in generated models."""

from __future__ import annotations

import pytest

from tests.emit.support import CLOSED, Load, arguments, dump


class TestNames:
    """Each property is a field of its own, and wire names are the only ones on the wire."""

    def test_names_that_the_base_class_uses(self, load: Load) -> None:
        wires = [
            "schema",
            "json",
            "copy",
            "model_config",
            "model_dump",
            "model_fields",
            "self",
            "cls",
            "mro",
            "register",
        ]
        made = load(arguments({wire: {"type": "integer"} for wire in wires}, required=["schema"], **CLOSED))
        value = {wire: index for index, wire in enumerate(wires)}
        instance = made.parse(value)
        assert dump(instance) == value
        fields = made.fields()
        assert [getattr(instance, fields[wire]) for wire in wires] == list(value.values())
        assert callable(instance.model_copy) and callable(instance.copy) and made.arguments.model_config["strict"]
        assert not made.is_valid({"schema_": 1})

    def test_names_that_look_alike(self, load: Load) -> None:
        properties = {
            "customerId": {"type": "integer"},
            "customer_id": {"type": "string"},
            "customer-id": {"type": "boolean"},
            "CustomerID": {"type": "array", "items": {"type": "string"}},
        }
        value = {"customerId": 1, "customer_id": "one", "customer-id": True, "CustomerID": ["1"]}
        instance = load(arguments(properties, **CLOSED)).parse(value)
        assert (instance.customerId, instance.customer_id, instance.customer_id_, instance.CustomerID) == (
            1,
            "one",
            True,
            ["1"],
        )
        assert dump(instance) == value

    def test_the_model_namespace_is_free(self, load: Load) -> None:
        made = load(
            arguments({"model_name": {"type": "string"}, "model_id": {}, "model_validate": {"type": "boolean"}})
        )
        instance = made.parse({"model_name": "m", "model_validate": False})
        assert instance.model_name == "m"
        assert instance.model_validate_ is False
        assert made.arguments.model_validate({"model_name": "n"}).model_name == "n"

    def test_names_in_other_scripts(self, load: Load) -> None:
        wires = ["año", "ano", "ﬁn", "fin", "µ", "μ", "名前", "🙂", "e\u0301", "é", "नाम", ""]
        made = load(arguments({wire: {"type": "integer"} for wire in wires}, **CLOSED))
        value = {wire: index for index, wire in enumerate(wires)}
        assert made.round_trip(value) == value
        assert len(made.arguments.model_fields) == len(wires)
        assert made.parse(value).año == 0

    def test_python_names_build_instances_and_wire_names_do_too(self, load: Load) -> None:
        made = load(arguments({"user-id": {"type": "integer"}}))
        assert dump(made.arguments(user_id_=3)) == {"user-id": 3}
        assert made.arguments.model_validate({"user-id": 3}).user_id_ == 3

    @pytest.mark.parametrize("closed", [True, False])
    def test_an_unknown_key_spelled_like_a_python_name_is_no_value_of_the_field(self, load: Load, closed: bool) -> None:
        made = load(arguments({"a-b": {"type": "integer"}, "inner": arguments({"c d": {"type": "string"}})}))
        value = {"a_b_": "other", "inner": {"c_d_": 1}}
        instance = made.parse(value)
        assert instance.a_b_ is None and instance.inner.c_d_ is None
        assert instance.model_fields_set == {"inner"}
        assert instance.model_extra == {"a_b_": "other"}
        assert dump(instance) == value
        both = {"a-b": 1, "a_b_": "other"}
        assert made.parse(both).a_b_ == 1
        assert made.round_trip(both) == both

    def test_a_field_does_not_hide_a_class_of_the_module(self, load: Load) -> None:
        made = load(
            arguments({"Page": {"$ref": "#/$defs/Page"}}, **{"$defs": {"Page": arguments({"n": {"type": "integer"}})}})
        )
        instance = made.parse({"Page": {"n": 1}})
        assert isinstance(instance.Page_, made.module.Page)
        assert dump(instance) == {"Page": {"n": 1}}

    def test_a_property_more_renames_no_class(self, load: Load) -> None:
        part = arguments({"x": {"type": "string"}})
        before = {"address": part, "orders": {"type": "array", "items": part}}
        names = set(load(arguments(before)).module.__all__)
        assert names == {"GetCustomerAddress", "GetCustomerArguments", "GetCustomerOrdersItem", "GetCustomerResult"}
        after = {"address": {**part, "properties": {**part["properties"], "geo": part}}, "orders": before["orders"]}
        assert names < set(load(arguments({**after, "more": part})).module.__all__)

    def test_result_and_arguments_do_not_share_names(self, load: Load) -> None:
        item = {"$defs": {"Item": arguments({"x": {"type": "string"}})}}
        other = {"$defs": {"Item": arguments({"y": {"type": "string"}})}}
        made = load(
            arguments({"item": {"$ref": "#/$defs/Item"}, "result": arguments({"a": {}})}, **item),
            arguments({"item": {"$ref": "#/$defs/Item"}, "list": arguments({"a": {}})}, **other),
        )
        assert set(made.module.__all__) == {
            "GetCustomerArguments",
            "GetCustomerResult",
            "GetCustomerResult2",
            "GetCustomerResultItem",
            "GetCustomerResultList",
            "Item",
        }
        assert set(made.module.GetCustomerResultItem.model_fields) == {"y"}
