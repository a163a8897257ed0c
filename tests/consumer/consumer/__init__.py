"""A service that uses the generated package as its users do. Type checkers judge it; nothing runs it."""

from __future__ import annotations

from typing import assert_type

from generated import Dispatcher, Handlers, dispatcher
from generated.models.calcular_descuento import CalcularDescuentoArguments, CalcularDescuentoResult
from generated.models.find_orders import FindOrdersArguments, FindOrdersResult
from generated.models.get_customer import GetCustomerArguments, GetCustomerResult
from generated.models.place_order import PlaceOrderArguments, PlaceOrderPayWithCard
from generated.runtime import Call, Content, Hooks, Image, InvalidArguments, Result, Tool, ToolError, Turn
from generated.runtime.journal.memory import MemoryJournal
from generated.runtime.loops import oci_agents, openai_agents, openai_responses


def look(d: Dispatcher) -> str:
    arguments = d.tool("get_customer").parse('{"customer_id": "C000001"}')
    assert_type(arguments, GetCustomerArguments)
    assert_type(arguments.customer_id, str)
    assert_type(d.only("get_customer").tool("find_orders"), Tool[FindOrdersArguments])
    return arguments.customer_id


def build() -> CalcularDescuentoArguments:
    return CalcularDescuentoArguments(precio=10, porcentaje_descuento=2.5)


def pay(arguments: PlaceOrderArguments) -> str:
    if isinstance(arguments.pay_with, PlaceOrderPayWithCard):
        return arguments.pay_with.card_token
    return f"{arguments.pay_with.days} days"


async def converse(d: Dispatcher, client: object) -> str:
    turn = await openai_responses.run(d, client, model="m", input="hello", context="user")
    assert_type(turn, Turn)
    later = openai_responses.run_sync(d, client, model="m", input=[*turn.history, {"role": "user", "content": "more"}])
    assert_type(later.calls, list[Result])
    assert openai_agents.run is not None
    assert oci_agents.run is not None
    return later.text


class Service:
    """Satisfies the protocol with plain and async methods."""

    def __init__(self, database: str) -> None:
        self.database = database

    def get_customer(self, args: GetCustomerArguments, call: Call) -> GetCustomerResult:
        if not args.customer_id:
            raise ToolError("an empty id")
        return GetCustomerResult(found=False, customer=None)

    async def find_orders(self, args: FindOrdersArguments, call: Call) -> FindOrdersResult:
        raise NotImplementedError

    async def calcular_descuento(self, args: CalcularDescuentoArguments, call: Call) -> CalcularDescuentoResult:
        return CalcularDescuentoResult(precio_original=args.precio, descuento_aplicado=0, precio_final=args.precio)


def approve(call: Call) -> bool:
    return call.name == "cancel_order"


def start(handlers: Handlers) -> Dispatcher:
    return dispatcher(handlers, journal=MemoryJournal(), hooks=Hooks(approve=approve), timeout=5)


def picture() -> Content:
    return Content(["a map", Image.from_bytes(b"", "image/png")])


def explain(error: InvalidArguments) -> list[str]:
    return [f"{issue.pointer} {issue.keyword} {issue.message}" for issue in error.issues]
