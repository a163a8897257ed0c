"""The templates and their whole vocabulary of filters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from codegen.emit.literals import WIDTH, docstring, literal, py_string
from codegen.resources import templates


def render(template: str, **values: Any) -> str:
    """The text of a template; a name that a template uses and nobody gives is an error."""
    return _environment().get_template(template).render(**values)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(templates(), encoding="utf-8"),
        undefined=StrictUndefined,
        autoescape=False,  # the output is Python, and every text goes through a filter below
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters = {
        "docstring": docstring,
        "keywords": _keywords,
        "number": _number,
        "py_string": py_string,
    }
    environment.globals["fit"] = fit
    return environment


def fit(indent: str, head: str, items: Sequence[str], tail: str, *, explode: bool = False) -> str:
    """`head` + items + `tail` in as few lines as Black would need: one, or the items on one of their own, or each on
    its own. `explode` goes from one line straight to the last form, as Black does for imports.
    """
    inner = ", ".join(items)
    if len(f"{indent}{head}{inner}{tail}") <= WIDTH:
        return f"{indent}{head}{inner}{tail}"
    opening, closing = ("(", ")") if explode else ("", "")
    if not explode and len(f"{indent}    {inner}") <= WIDTH:
        return f"{indent}{head}\n{indent}    {inner}\n{indent}{tail}"
    body = "".join(f"{indent}    {item},\n" for item in items)
    return f"{indent}{head}{opening}\n{body}{indent}{closing}{tail}"


def _keywords(rules: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={literal(value)}" for name, value in rules.items())


def _number(value: float) -> str:
    """A number as Python writes it, without a needless fraction."""
    return repr(int(value)) if float(value).is_integer() else repr(value)
