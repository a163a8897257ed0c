"""Names from specs as identifiers."""

from __future__ import annotations

import keyword
import sys
import unicodedata

import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codegen.schema.names import MAX_LENGTH, ClassNames, field_names, pascal, slug, tool_names
from codegen.schema.reserved import RESERVED_FIELDS, RESERVED_FILES, RESERVED_TOOLS

unhurried = settings(deadline=None)

wires = st.lists(
    st.one_of(
        st.text(max_size=6),
        st.text(alphabet="ab_-2 .", max_size=4),
        st.sampled_from(["schema", "class", "self", "user-id", "user_id_", "user_id_2", "ﬁn", "fin", "µ", "μ", "_x"]),
    ),
    unique=True,
    max_size=12,
)


def is_sound(name: str) -> bool:
    return (
        name.isidentifier()
        and not keyword.iskeyword(name)
        and not name.startswith("_")
        and unicodedata.normalize("NFKC", name) == name
    )


class TestFields:
    @pytest.mark.parametrize(
        "wire",
        [
            "user_id",
            "userId",
            "UserID",
            "id",
            "type",
            "format",
            "model_name",
            "model_id",
            "año",
            "名前",
            "cls",
            "match",
        ],
    )
    def test_a_legal_name_that_hides_nothing_is_kept(self, wire: str) -> None:
        assert field_names([wire]) == {wire: wire}

    @pytest.mark.parametrize(
        ("wire", "name"),
        [
            ("user-id", "user_id_"),
            ("schema", "schema_"),
            ("2fa", "n2fa_"),
            ("", "field_"),
            ("class", "class_"),
            ("None", "None_"),
            ("model_config", "model_config_"),
            ("model_copy", "model_copy_"),
            ("self", "self_"),
            ("list", "list_"),
            ("Any", "Any_"),
            ("_private", "private_"),
            ("__", "field_"),
            ("a b.c", "a_b_c_"),
            ("ﬁn", "fin_"),
            ("🙂", "field_"),
            ("kept_", "kept_"),
            ("e\u0301", "é_"),
            ("mro", "mro_"),
        ],
    )
    def test_every_other_becomes_its_slug_and_an_underscore(self, wire: str, name: str) -> None:
        assert field_names([wire]) == {wire: name}

    def test_clashes_are_counted_in_spec_order(self) -> None:
        names = field_names(["user-id", "user_id", "user id", "user.id", "userId"])
        assert names == {
            "user-id": "user_id_",
            "user_id": "user_id",
            "user id": "user_id_2",
            "user.id": "user_id_3",
            "userId": "userId",
        }

    def test_names_that_python_reads_as_one_stay_two(self) -> None:
        assert len(set(field_names(["ﬁn", "fin", "µ", "μ", "é", "e\u0301"]).values())) == 6

    def test_a_class_of_the_module_is_not_hidden(self) -> None:
        assert field_names(["Address", "street"], hidden={"Address"}) == {"Address": "Address_", "street": "street"}

    @unhurried
    @given(wires)
    def test_names_are_sound_and_unique(self, given_wires: list[str]) -> None:
        names = field_names(given_wires)
        assert list(names) == given_wires
        assert all(map(is_sound, names.values()))
        assert len(set(names.values())) == len(names)
        assert RESERVED_FIELDS.isdisjoint(names.values())

    @unhurried
    @given(wires, st.text(max_size=6))
    def test_a_property_at_the_end_renames_no_other(self, given_wires: list[str], added: str) -> None:
        before = field_names(given_wires)
        assert {wire: field_names([*given_wires, added])[wire] for wire in given_wires} == before

    def test_what_pydantic_has_is_reserved(self) -> None:
        class Model(pydantic.BaseModel):
            pass

        own = {*dir(Model), *dir(type(Model)), *vars(Model), *pydantic.BaseModel.__annotations__}
        missing = {name for name in own if not name.startswith("_")} - RESERVED_FIELDS
        assert not missing


class TestTools:
    @pytest.mark.parametrize(
        ("wire", "module", "prefix"),
        [
            ("get_customer", "get_customer", "GetCustomer"),
            ("getCustomer", "getCustomer", "GetCustomer"),
            ("get-customer", "get_customer_", "GetCustomer"),
            ("señal", "señal", "Señal"),
            ("名前", "名前", "名前"),
            ("2fa", "n2fa_", "N2fa"),
            ("json", "json_", "Json"),
            ("typing", "typing_", "Typing"),
            ("pydantic", "pydantic_", "Pydantic"),
            ("class", "class_", "Class"),
            ("__init__", "init_", "Init"),
            ("runtime", "runtime_", "Runtime"),
            ("Models", "Models_", "Models"),
            ("CON", "CON_", "CON"),
            ("Call", "Call_", "Call"),
            ("../escape", "escape_", "Escape"),
            ("a/b", "a_b_", "AB"),
            ("..", "tool_", "Tool"),
            ("", "tool_", "Tool"),
            ("tool.", "tool_", "Tool"),
        ],
    )
    def test_one_tool(self, wire: str, module: str, prefix: str) -> None:
        names = tool_names([wire])[wire]
        assert (names.module, names.function, names.prefix) == (module, module, prefix)

    def test_modules_are_apart_where_case_does_not_count(self) -> None:
        names = tool_names(["getUser", "GetUser", "get-user", "get_user", "get user"])
        modules = [given.module.casefold() for given in names.values()]
        assert len(set(modules)) == len(modules)
        assert names["getUser"].module == "getUser"
        assert names["get_user"].module == "get_user"
        assert len({given.prefix for given in names.values()}) == len(names)

    def test_a_name_that_can_be_kept_goes_before_one_that_cannot(self) -> None:
        names = tool_names(["a b", "a-b", "a_b_2"])
        assert names["a_b_2"].module == "a_b_2"
        assert [names["a b"].module, names["a-b"].module] == ["a_b_", "a_b_3"]

    @pytest.mark.parametrize("wire", ["x" * 500, "名" * 200, "x-" * 300])
    def test_long_names_are_cut_and_kept_apart(self, wire: str) -> None:
        names = tool_names([wire, wire + "y"])
        modules = [given.module for given in names.values()]
        assert all(len(module) <= MAX_LENGTH and len(module.encode()) <= 200 for module in modules)
        assert len(set(modules)) == 2
        assert len({given.prefix for given in names.values()}) == 2

    @unhurried
    @given(wires)
    def test_names_are_sound_and_unique(self, given_wires: list[str]) -> None:
        names = tool_names(given_wires)
        modules = [given.module for given in names.values()]
        assert all(map(is_sound, modules))
        assert all(is_sound(given.prefix + "Arguments") for given in names.values())
        assert len({unicodedata.normalize("NFKC", module).casefold() for module in modules}) == len(modules)
        assert len({given.prefix for given in names.values()}) == len(names)
        assert RESERVED_TOOLS.isdisjoint(modules)
        assert RESERVED_FILES.isdisjoint(module.casefold() for module in modules)

    def test_the_standard_library_is_reserved(self) -> None:
        public = {name for name in sys.stdlib_module_names if not name.startswith("_")}
        assert public <= RESERVED_TOOLS


class TestClasses:
    def test_forms(self) -> None:
        names = ClassNames()
        wishes = ["address", "Address", "a-b", "3d", "None", "ToolModel", "🙂", "GetHTTP", "ñandú"]
        assert [names.claim(wish) for wish in wishes] == [
            "Address",
            "Address2",
            "AB",
            "N3d",
            "None2",
            "ToolModel2",
            "Model",
            "GetHTTP",
            "Ñandú",
        ]

    @unhurried
    @given(st.lists(st.text(max_size=5), max_size=8))
    def test_names_are_sound_and_unique(self, wishes: list[str]) -> None:
        names = ClassNames()
        given_out = [names.claim(wish) for wish in wishes]
        assert all(map(is_sound, given_out))
        assert len(set(given_out)) == len(given_out)


@unhurried
@given(st.text(max_size=8))
def test_slugs_and_class_forms_are_identifiers(text: str) -> None:
    assert is_sound(slug(text, "field") + "_")
    assert pascal(text) == "" or pascal(text).isidentifier()
    assert pascal(pascal(text)) == pascal(text)
