"""The script of a simulated model: what it says and calls, and what it expects to get back.

A `Scenario` is a list of turns; a turn is what one user message sets off: a list of `Step`s, each one answer of the
model. A step that calls tools waits for their results before the next; the last step of a turn is the model's final
answer. Nothing in a scenario belongs to one API, so one conversation plays over all of them.

Scenarios are read strictly: every problem of a file is reported at once (`ScenarioError.problems`), with its place.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator
from ruamel.yaml import YAML
from ruamel.yaml.constructor import SafeConstructor
from ruamel.yaml.error import YAMLError

from codegen.simulator.faults import RaceFault, RequestFault, StepFault
from codegen.simulator.wire import load_json

PLACEHOLDER = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_-]*)((?:\.[A-Za-z0-9_-]+)*)\s*\}\}")
"""`{{madrid.temperature}}`: the name of a call (`as`) and a path into its result."""

Quirk = Literal["numbers_as_text", "double_encoded", "colon_keys", "object_arguments", "empty_actions", "no_call_ids"]
"""Habits of OCI models and of the service, see `Oci.quirks`."""


class ScenarioError(Exception):
    """A scenario that cannot be used. `source` is where it came from, `problems` is one sentence for each problem."""

    def __init__(self, source: str, problems: list[str]) -> None:
        super().__init__("\n".join(f"{source}: {problem}" for problem in problems))
        self.source = source
        self.problems = problems


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def _as_text_check(value: object) -> object:
    return {"text": value} if isinstance(value, str) else value


def _as_list(value: object) -> object:
    return [value] if isinstance(value, str) else value


Texts = Annotated[list[str], BeforeValidator(_as_list)]


class TextCheck(_Part):
    """What a text is expected to be: exactly `text`, or anything that has every one of `contains` in it."""

    text: str | None = None
    contains: Texts = Field(default_factory=list)


class ResultCheck(_Part):
    """What the result of a call is expected to be. Every field that is given must hold."""

    json_: Any = Field(default=None, alias="json")
    """The output is JSON equal to this."""
    has: Any = None
    """The output is JSON that has at least these members, at every level."""
    text: str | None = None
    """The output is exactly this text."""
    contains: Texts = Field(default_factory=list)
    """The output (or the error) has each of these in it."""
    success: bool | None = None
    """Whether the call succeeded. Where an API has no flag for it, a JSON object with a member `error` is a failure."""
    error: Texts | None = None
    """The call failed and its error has each of these in it."""

    def expects(self, name: str) -> bool:
        """Whether the scenario gave this field."""
        return name in self.model_fields_set


class ModelCall(_Part):
    """One tool call that the model makes."""

    name: str
    arguments: Any = Field(default_factory=dict)
    """The arguments as a value; texts in it may hold placeholders."""
    raw: str | None = None
    """The arguments as the text that goes over the wire, for what is no valid JSON."""
    as_: str | None = Field(default=None, alias="as", pattern=r"^[A-Za-z_][A-Za-z0-9_-]*$")
    """The name that placeholders know the result by."""
    result: ResultCheck | None = None
    call_id: str | None = Field(default=None, min_length=1, max_length=64)
    """An id to use instead of the next number. On Agents sessions ids may repeat from turn to turn."""
    invented: bool = False
    """The name belongs to no registered tool; without this the simulator insists that it does."""

    @model_validator(mode="after")
    def _one_form(self) -> ModelCall:
        if self.raw is not None and "arguments" in self.model_fields_set:
            raise ValueError("give `arguments` or `raw`, not both")
        return self


class Approval(_Part):
    """Something other than a function call that the model needs before it goes on.

    Agents sessions show it as the required action of its kind. OCI agents know `mcp`, `browser_login` and
    `browser_origin` as one human approval; Responses know none of them and go on without.
    """

    kind: Literal["mcp", "browser_login", "browser_origin", "environment"]
    message: str = "Please decide."
    server_label: str = "server"
    name: str | None = None
    arguments: Any = None
    origin: str = "https://example.com"
    decision: Literal["approve", "deny", "cancel", "submit"] | None = None
    """The answer that is expected; any when absent."""


class EndError(_Part):
    """Why a turn failed."""

    code: str = "server_error"
    message: str = "The model failed."


class Step(_Part):
    """One answer of the model: it may reason, say something, and call tools; or it ends the turn."""

    say: str | None = None
    """Text. Beside calls it is commentary, in the last step it is the final answer. May hold placeholders."""
    reasoning: str | None = None
    """The summary of a reasoning item that comes before everything else."""
    calls: list[ModelCall] = Field(default_factory=list)
    approvals: list[Approval] = Field(default_factory=list)
    end: Literal["completed", "incomplete", "failed", "cancelled", "session_failed"] = "completed"
    """How this answer ends. `incomplete` cuts the last call, or the text, in the middle."""
    error: EndError = Field(default_factory=EndError)
    faults: list[StepFault] = Field(default_factory=list)

    @property
    def waits(self) -> bool:
        """Whether the model needs results before it goes on."""
        return bool(self.calls or self.approvals)


class Turn(_Part):
    """What one user message sets off."""

    user: Annotated[TextCheck | None, BeforeValidator(_as_text_check)] = None
    """What the message is expected to be; any when absent."""
    model: list[Step] = Field(min_length=1)


class Oci(_Part):
    """What only OCI does."""

    quirks: list[Quirk] = Field(default_factory=list)
    """`numbers_as_text`: numbers and booleans in arguments arrive as text. `double_encoded`: the arguments' JSON is
    itself encoded as a JSON string. `colon_keys`: argument names end in a colon. `object_arguments`: arguments are an
    object instead of text. `empty_actions`: a finished turn has an empty list of required actions instead of null.
    `no_call_ids`: calls of the inference API come without an id."""
    follow_up: Literal["any", "repeat", "omit", "empty", "null"] = "any"
    """The `userMessage` that is expected beside results."""
    work_request_polls: int = Field(default=2, ge=0)
    """How many looks at a work request it takes until it is finished."""
    failing_work_requests: int = Field(default=0, ge=0)
    """How many work requests fail before the others succeed."""


class Scenario(_Part):
    """A conversation, as the model's side plays it."""

    name: str = Field(pattern=r"^[A-Za-z0-9_-]+$")
    """Selects the scenario: as `model` or `modelId`, as the end of the agent or endpoint id on OCI agents."""
    models: list[str] = Field(default_factory=list)
    """Further model names that select it."""
    tools: Literal["registered", "any"] = "registered"
    """Whether the tools that the model calls must have been registered."""
    turns: list[Turn] = Field(min_length=1)
    faults: list[RequestFault] = Field(default_factory=list)
    oci: Oci = Field(default_factory=Oci)

    @classmethod
    def parse(cls, value: object, source: str = "scenario") -> Scenario:
        """A scenario from plain data. Raises `ScenarioError` with everything that is wrong with it."""
        try:
            scenario = cls.model_validate(value)
        except ValidationError as error:
            raise ScenarioError(source, [_problem(value, detail) for detail in error.errors()]) from None
        problems = list(_script_problems(scenario))
        if problems:
            raise ScenarioError(source, problems)
        return scenario

    def calls(self) -> Iterator[tuple[str, ModelCall]]:
        """All calls in the order of the script, each with its JSON pointer."""
        for t, turn in enumerate(self.turns):
            for s, step in enumerate(turn.model):
                for c, call in enumerate(step.calls):
                    yield f"/turns/{t}/model/{s}/calls/{c}", call


def load_scenarios(path: Path) -> list[Scenario]:
    """The scenario, or the list of scenarios, in a YAML 1.2 or JSON file.

    Raises `ScenarioError` when the file cannot be read or a scenario in it is wrong.
    """
    source = path.as_posix()
    try:
        text = path.read_text(encoding="utf-8-sig")
        value = load_json(text) if path.suffix == ".json" else _load_yaml(text)
    except (OSError, ValueError, YAMLError) as error:
        raise ScenarioError(source, [f"cannot be read: {error}"]) from error
    if not isinstance(value, list):
        return [Scenario.parse(value, source)]
    problems: list[str] = []
    scenarios = []
    for index, entry in enumerate(value):
        try:
            scenarios.append(Scenario.parse(entry, source))
        except ScenarioError as error:
            problems += [f"/{index}{problem}" for problem in error.problems]
    if problems:
        raise ScenarioError(source, problems)
    return scenarios


def scenario_schema() -> dict[str, Any]:
    """The JSON Schema of a scenario, for editors."""
    return Scenario.model_json_schema()


class _JsonConstructor(SafeConstructor):
    """YAML with JSON's types only: a date is the text that it was written as."""


_JsonConstructor.add_constructor("tag:yaml.org,2002:timestamp", lambda loader, node: loader.construct_scalar(node))


def _load_yaml(text: str) -> Any:
    yaml = YAML(typ="safe", pure=True)
    yaml.Constructor = _JsonConstructor
    return yaml.load(text)


def _script_problems(scenario: Scenario) -> Iterator[str]:
    """What the types cannot say: where calls may stand, and that placeholders lead somewhere."""
    for t, turn in enumerate(scenario.turns):
        for s, step in enumerate(turn.model):
            place = f"/turns/{t}/model/{s}"
            last = s == len(turn.model) - 1
            if last and step.waits and step.end == "completed":
                yield f"{place}: the last step of a turn waits for nothing; add a step that says the final answer"
            if not last and not step.waits and step.end != "incomplete":
                yield f"{place}: only the last step of a turn may be without calls and approvals"
            if not last and step.end in ("failed", "cancelled", "session_failed"):
                yield f"{place}/end: {step.end} ends the turn, so no step may follow"
            for f, fault in enumerate(step.faults):
                for index in (fault.calls or ()) if isinstance(fault, RaceFault) else ():
                    if not 0 <= index < len(step.calls):
                        yield f"{place}/faults/{f}/calls: the step has no call {index}"
    yield from _placeholder_problems(scenario)


def _placeholder_problems(scenario: Scenario) -> Iterator[str]:
    known: set[str] = set()
    for t, turn in enumerate(scenario.turns):
        for s, step in enumerate(turn.model):
            place = f"/turns/{t}/model/{s}"
            texts: list[tuple[str, object]] = [(f"{place}/say", step.say)]
            texts += [(f"{place}/calls/{c}/arguments", call.arguments) for c, call in enumerate(step.calls)]
            for where, value in texts:
                for name in sorted(_placeholder_names(value) - known):
                    yield f'{where}: placeholder "{name}" names no earlier call (known: {_listed(known)})'
            for c, call in enumerate(step.calls):
                if call.as_ is not None and call.as_ in known:
                    yield f'{place}/calls/{c}/as: "{call.as_}" is already the name of another call'
                known |= {call.as_} if call.as_ is not None else set()


def _placeholder_names(value: object) -> set[str]:
    if isinstance(value, str):
        return {match.group(1) for match in PLACEHOLDER.finditer(value)}
    if isinstance(value, Mapping):
        return set().union(*(_placeholder_names(v) for v in value.values()))
    if isinstance(value, list):
        return set().union(*(_placeholder_names(v) for v in value))
    return set()


def _problem(value: object, detail: Mapping[str, Any]) -> str:
    """One validation error as a sentence: where, what, and what would be right."""
    parts = detail["loc"]
    pointer, at = "", value
    for index, part in enumerate(parts):
        if _holds(at, part):
            at = at[part]  # type: ignore[index]  # _holds has looked
        elif index < len(parts) - 1 or detail["type"] != "missing":
            continue  # the tag of a union, which is no place in the document
        pointer += f"/{part}"
    if detail["type"] == "extra_forbidden":
        return f"{pointer}: unknown key (known here: {_listed(_known_keys(parts[:-1]))})"
    if detail["type"] == "missing":
        return f"{pointer}: required, but missing"
    shown = json.dumps(at, ensure_ascii=False, default=str)
    message = str(detail["msg"]).removeprefix("Value error, ")
    return (
        f"{pointer or '/'}: {message[0].lower()}{message[1:]}, got {shown if len(shown) <= 80 else shown[:77] + '...'}"
    )


def _holds(value: object, part: int | str) -> bool:
    if isinstance(value, list):
        return isinstance(part, int) and part < len(value)
    return isinstance(value, Mapping) and part in value


def _known_keys(parts: tuple[int | str, ...]) -> set[str]:
    """The keys that the scenario's schema knows at a place."""
    schema = scenario_schema()
    at = _resolved(schema, schema)
    for part in parts:
        if isinstance(part, int):
            at = _resolved(schema, at.get("items", {}))
        elif part in at.get("properties", {}):
            at = _resolved(schema, at["properties"][part])
        elif part in at.get("discriminator", {}).get("mapping", {}):
            at = _resolved(schema, {"$ref": at["discriminator"]["mapping"][part]})
    return set(at.get("properties", {}))


def _resolved(schema: Mapping[str, Any], at: Mapping[str, Any]) -> Mapping[str, Any]:
    for branch in at.get("anyOf", ()):
        if branch != {"type": "null"}:
            return _resolved(schema, branch)
    if "$ref" in at:
        target: Mapping[str, Any] = schema["$defs"][str(at["$ref"]).rsplit("/", 1)[-1]]
        return target
    return at


def _listed(names: set[str]) -> str:
    return ", ".join(sorted(names)) or "none"
