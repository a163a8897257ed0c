"""Branches of a union that never count, and parts of a condition without the rest of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from codegen.diagnostics import Diagnostic
from codegen.passes import kinds as k
from codegen.passes.contradictions import unusable
from codegen.passes.possible import GROUPS
from codegen.passes.subject import ToolSchema
from codegen.passes.vocabulary import KEYWORDS
from codegen.schema.dialects import OLD
from codegen.schema.pointers import join

_SILENT: Final = frozenset(word for word, keyword in KEYWORDS.items() if not keyword.asserts)
_BRANCHING: Final = frozenset({*GROUPS, "if", "dependencies", "dependentSchemas"})


def check_branches(subject: ToolSchema) -> Iterator[Diagnostic]:
    """Each branch of `anyOf` and `oneOf` that no value can choose (`unreachable-branch`), and each property that a
    branch describes and the schema around it never allows (`unsatisfiable`)."""
    for pointer, schema in subject.places:
        if _BRANCHING.isdisjoint(schema) or subject.hides(schema) or not subject.document.has(pointer):
            continue
        for keyword in GROUPS:
            branches = schema.get(keyword)
            if isinstance(branches, list) and branches:
                yield from _Union(subject, pointer, keyword, branches).findings()
        for branch in _applied(subject, pointer, schema):
            yield from _unusable_in(subject, pointer, branch)


def _unusable_in(subject: ToolSchema, pointer: str, branch: str) -> Iterator[Diagnostic]:
    """Properties that a branch describes and that the schema around it never allows.

    The other way round is fine: branches may close the object, each with some of the properties described around them.
    """
    possible = subject.possible
    described = possible.members(branch)
    told = {name for each in (pointer, branch) for name, _, _ in possible.unusable(each)}
    for name, _, reason in possible.unusable(pointer, branch):
        own = [place for place in described.get(name, ()) if not place.endswith("/additionalProperties")]
        if own and name not in told:
            yield unusable(subject, branch, name, own[0], reason)


def _applied(subject: ToolSchema, pointer: str, schema: dict[str, Any]) -> Iterator[str]:
    """The schemas that may hold beside this one, for the same value."""
    places = [f"{pointer}/{group}/{index}" for group in GROUPS for index in range(len(schema.get(group) or ()))]
    if "if" in schema:
        places += [f"{pointer}/{keyword}" for keyword in ("then", "else") if keyword in schema]
    keyword = "dependencies" if subject.dialect in OLD else "dependentSchemas"
    members = schema.get(keyword)
    places += [join(pointer, keyword, name) for name in members] if isinstance(members, dict) else []
    return (place for place in places if subject.document.has(place))


class _Union:
    """The branches of one `anyOf` or `oneOf`."""

    def __init__(self, subject: ToolSchema, pointer: str, keyword: str, branches: list[Any]) -> None:
        self._subject = subject
        self._pointer = pointer
        self._keyword = keyword
        self._branches = branches
        self._places = [f"{pointer}/{keyword}/{index}" for index in range(len(branches))]

    def findings(self) -> Iterator[Diagnostic]:
        has = self._subject.document.has
        if not all(map(has, self._places)):
            return
        beside = [self._subject.possible.beside(self._pointer, place) for place in self._places]
        if not any(verdict.kinds for verdict in beside) or not self._subject.possible.of(self._pointer).kinds:
            return  # nothing is valid at all, which another check says
        reachable: list[int] = []
        for index, verdict in enumerate(beside):
            own = self._subject.possible.of(self._places[index])
            if self._branches[index] is False:
                yield self._problem(index, "the branch is false: no value chooses it", "remove the branch")
            elif verdict.kinds:
                reachable.append(index)
            elif own.kinds and verdict.reasons:
                text = f"what stands beside `{self._keyword}` excludes the branch: {verdict.reasons[0].text}"
                yield self._problem(index, text, "remove the branch, or mend what stands beside it")
            elif own.kinds:
                text = f"what stands beside `{self._keyword}` excludes every value of the branch"
                yield self._problem(index, text, "remove the branch, or mend what stands beside it")
        if self._keyword == "anyOf":
            yield from self._repeated(reachable)
        else:
            yield from self._never_alone(reachable)

    def _repeated(self, reachable: Sequence[int]) -> Iterator[Diagnostic]:
        first: dict[str, int] = {}
        for index in reachable:
            earlier = first.setdefault(k.identity(self._branches[index]), index)
            if earlier != index:
                yield self._problem(index, f"the branch is the same as branch {earlier + 1}", "remove one of the two")

    def _never_alone(self, reachable: Sequence[int]) -> Iterator[Diagnostic]:
        """Branches of `oneOf` whose every value fits another branch as well."""
        bare = {index: k.identity(_bare(self._branches[index])) for index in reachable}
        for index in reachable:
            others = [other for other in reachable if other != index]
            same = [other for other in others if bare[other] == bare[index]]
            if same:
                if same[0] < index:
                    text = f"it takes the same values as branch {same[0] + 1}, so neither is ever the only one"
                    yield self._problem(index, text, "remove one of the two, or tell them apart by a `const`")
                continue
            wider = [other for other in others if self._contains(other, index)]
            if wider:
                text = f"whatever fits the branch fits branch {wider[0] + 1} too, so it is never the only one"
                yield self._problem(index, text, "write `anyOf`, or keep the branches apart")

    def _contains(self, other: int, index: int) -> bool:
        """Whether every value of the branch `index` is surely one of the branch `other`."""
        place, verdict = self._places[other], self._subject.possible.of(self._places[index])
        if verdict.values is not None:
            judge = self._subject.judge
            return all(judge.is_valid(place, value) is True for value in verdict.values)
        wide = self._branches[other]
        if isinstance(wide, dict) and not (_SILENT | {"type"}).issuperset(wide):
            return False
        return not verdict.kinds & ~self._subject.possible.of(place).kinds

    def _problem(self, index: int, message: str, hint: str) -> Diagnostic:
        return self._subject.problem("unreachable-branch", self._places[index], message, hint)


def _bare(schema: Any) -> Any:
    """A schema without what only informs, at the top and wherever schemas surely stand inside it."""
    if not isinstance(schema, dict):
        return schema
    kept: dict[str, Any] = {}
    for keyword, member in schema.items():
        if keyword in _SILENT:
            continue
        if keyword in ("properties", "patternProperties", "dependentSchemas") and isinstance(member, dict):
            kept[keyword] = {name: _bare(each) for name, each in member.items()}
        elif keyword in ("allOf", "anyOf", "oneOf", "prefixItems") and isinstance(member, list):
            kept[keyword] = [_bare(each) for each in member]
        elif keyword in ("items", "additionalProperties", "not", "contains", "propertyNames", "if", "then", "else"):
            kept[keyword] = _bare(member)
        else:
            kept[keyword] = member
    return kept
