"""What a target is: its facts as data, and two functions that turn tools into what its API is sent.

Built-in targets and those of other distributions (entry-point group `toolgen.targets`) implement the same `Target`.
Most need only the facts and one function and are made with `codegen.targets.standard.StandardTarget`:

    PASSES = (
        READ,
        Pass("object root", "the API documents one plain object at the root", object_root),
        Pass("inline references", "the API takes no $ref", inline_references),
        keyword_pass(FACTS),
    )

    def _shape(exposed: Exposed, options: TargetOptions) -> Shaped:
        passed = run_passes(exposed.tool, exposed.target, PASSES, explain=options.explain)
        return passed.shaped({"name": exposed.name, "input_schema": passed.schema})

    TARGET = StandardTarget("acme", "Acme chat", FACTS, _shape)

The lowering of a schema is such a table of passes (`codegen.targets.passes`): each takes the schema and gives the next
one, and says to its `Notes` what it loses (`loss`), what it says in other words (`rewritten`) and what must be undone
when a call arrives (`read_back`). With `TargetOptions.explain` every pass becomes a `Step` of the `Lowered`.

A rule that an API has is only as good as the proof of it, so every rule carries its `Evidence`, and says with `hard`
whether the API certainly refuses what breaks it: then it stops a build. All other rules warn.
"""

from __future__ import annotations

import enum
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, runtime_checkable

from codegen.diagnostics import Diagnostic
from codegen.specs.tool import Tool

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from codegen.targets.strict_subset import StrictSubset


class Evidence(enum.Enum):
    """How well a rule is known."""

    DOCUMENTED = "documented"
    """The vendor's documentation, API description or client library says so."""
    OBSERVED = "observed"
    """Answers of the API or of the vendor's own tools show it."""
    WEAK = "weak"
    """Seen once, seen on a sister API, or chosen to be safe: the API may well take more."""


@dataclass(frozen=True, slots=True)
class NameRule:
    """Which tool names a target takes. `first` and `rest` are character sets as they stand between regex brackets."""

    first: str
    rest: str
    max_length: int
    evidence: Evidence
    source: str
    """Where the rule comes from, in a few words."""
    hard: bool = True
    """A name that breaks the rule is an error; else it is a warning."""

    @property
    def pattern(self) -> str:
        """The rule as one anchored regular expression."""
        return f"^{self._body}$"

    @property
    def _body(self) -> str:
        if self.first == self.rest:
            return f"[{self.rest}]{{1,{self.max_length}}}"
        return f"[{self.first}][{self.rest}]{{0,{self.max_length - 1}}}"

    def accepts(self, name: str) -> bool:
        return re.fullmatch(self._body, name) is not None

    def replacement(self, name: str) -> str:
        """An accepted name that stands for `name`: the same one for the same name, everywhere.

        Every other character becomes `_`, or another filler where the rule has no `_`; capitals become small where
        there are only small ones. What may not come first gets something before it that may, and a name that is too
        long ends in a digest of the whole.
        """
        small = not re.match(f"[{self.rest}]", "A")
        filler = next((one for one in "_-." if re.match(f"[{self.rest}]", one)), "")
        text = re.sub(f"[^{self.rest}]", filler, name.lower() if small else name) or filler
        if not re.match(f"[{self.first}]", text):
            text = next(one for one in (filler, "t", "T", "0") if one and re.match(f"[{self.first}]", one)) + text
        if len(text) > self.max_length:
            digest = hashlib.sha256(name.encode()).hexdigest()[:8]
            text = text[: self.max_length - 8 - len(filler)] + filler + digest
        return text


class Measure(enum.Enum):
    """What a `Limit` counts."""

    DESCRIPTION = "characters of the description"
    ENTRY = "bytes of one entry as compact JSON"
    TOOLS = "tools of one list"
    LIST = "bytes of the list as compact JSON"
    PROPERTIES = "properties of the whole schema"
    OBJECT_DEPTH = "levels of nested objects"
    DEPTH = "levels of nested objects and arrays"
    ENUM_VALUES = "enum values of the whole schema"
    NAME_TEXT = "characters of property names, definition names, enum and const values"
    NAME = "characters of the name"
    OPTIONAL = "optional properties of strict schemas"
    UNIONS = "schemas with several types or branches in strict schemas"
    STRICT_TOOLS = "tools in strict mode"
    LARGE_ENUM_TEXT = "characters of a string enum with more than 250 values"


@dataclass(frozen=True, slots=True)
class Limit:
    """The most that a target takes of one measure."""

    measure: Measure
    maximum: int
    evidence: Evidence
    source: str
    hard: bool = False
    """More is certainly refused: an error; else more is a warning."""
    per_list: bool = False
    """Counts what is registered together. A whole catalog is often registered in parts, so for it more only warns."""


@dataclass(frozen=True, slots=True)
class DescriptionRule:
    """Whether a tool must have a description, and how long it may be."""

    required: bool
    evidence: Evidence
    source: str
    limit: Limit | None = None


class Treatment(enum.Enum):
    """What a target's lowering does to a schema keyword."""

    KEPT = "kept"
    REWRITTEN = "rewritten"
    """Said with other keywords, exactly where that is possible: a pass of the target's own does it."""
    DESCRIBED = "described"
    """Moved into the text of the description of the schema that it stands in, by `codegen.targets.rewriting`."""
    DROPPED = "dropped"
    """Left out, by `codegen.targets.rewriting`."""


@dataclass(frozen=True, slots=True)
class KeywordRule:
    """What happens to a keyword and why, in a few words that fit into brackets: "the API refuses it"."""

    treatment: Treatment
    reason: str


RUNTIME_FOLDERS: Final = ("adapters", "loops", "registration")
"""Folders of the runtime whose modules belong to targets."""

KEPT: Final = KeywordRule(Treatment.KEPT, "taken as it is")


@dataclass(frozen=True, slots=True)
class CallFacts:
    """How calls of a target look, as far as an adapter and the reading back of arguments depend on it."""

    arguments: Literal["object", "text", "either"]
    """The arguments arrive as a JSON object, as JSON text, or as one or the other."""
    keys: tuple[str, ...]
    """The fields of a call that its result must repeat."""
    output: Literal["text", "content", "object"]
    """The output goes back as text, as text or a list of content parts, or as a JSON object."""
    failure: Literal["field", "text"]
    """A failure has a field of its own, or can only be said in the output."""
    scalars_as_text: bool = False
    """Numbers and booleans may arrive as text and are read back where the schema allows no string."""
    keys_with_colons: bool = False
    """Keys of the arguments may carry a trailing colon or blanks."""
    encoded_twice: bool = False
    """The arguments may be JSON text inside JSON text."""
    max_output_bytes: int | None = None
    """The longest output that is taken, in bytes of JSON text; None where no limit is known."""


@dataclass(frozen=True, slots=True)
class TargetOption:
    """A setting that only one target has; `TargetOptions.settings` holds its value under `name`."""

    name: str
    choices: tuple[str, ...]
    """The first is the default."""
    meaning: str


@dataclass(frozen=True, slots=True)
class TargetFacts:
    """What is known about a target."""

    name: NameRule
    description: DescriptionRule
    calls: CallFacts
    properties: NameRule | None = None
    """Which names of properties the target takes, where it has a rule; others are renamed and read back by a table."""
    limits: tuple[Limit, ...] = ()
    """Limits of an entry and of the list; those of strict mode are part of `strict`."""
    keywords: Mapping[str, KeywordRule] = field(default_factory=dict)
    """What becomes of each keyword; `other_keywords` is for those that are not named.

    The one statement of it: `keyword_pass` carries out what is dropped and described, and `toolgen targets` and the
    documentation print the table.
    """
    other_keywords: KeywordRule = KEPT
    """What becomes of keywords that `keywords` does not name. Another rule than `KEPT` makes the table the whole list
    of what the API takes."""
    strict: StrictSubset | None = None
    """What the strict mode takes; None where there is no such mode."""
    defer_loading: bool = False
    """Whether an entry may say that its tool is loaded on demand."""
    runtime: tuple[str, ...] = ()
    """Files below `runtime/` that a build with this target emits: its adapter (`adapters/ID.py`) and its loop.

    Each stands in one of `RUNTIME_FOLDERS` and imports the rest of the runtime relatively, for it is copied."""
    runtime_root: Traversable | None = None
    """The folder in which a plugin keeps its files of `runtime`, such as `importlib.resources.files(__package__) /
    "runtime"`. What is not there is one of our own files, so that a target may share the adapter of another."""
    options: tuple[TargetOption, ...] = ()

    @property
    def has_strict(self) -> bool:
        return self.strict is not None

    @property
    def has_defer_loading(self) -> bool:
        return self.defer_loading

    def keyword(self, name: str) -> KeywordRule:
        """What becomes of one keyword."""
        return self.keywords.get(name, self.other_keywords)


class TargetOptionError(ValueError):
    """A setting has a value that its target does not know. The configuration is to be checked before it gets here."""

    def __init__(self, option: TargetOption, value: object) -> None:
        super().__init__(f"{option.name} must be one of {', '.join(option.choices)}, not {value!r}")
        self.option = option
        self.value = value


@dataclass(frozen=True, slots=True)
class TargetOptions:
    """What the configuration says about lowering."""

    names: Literal["error", "replace"] = "error"
    """Whether a name that a target refuses stops the build or is rewritten."""
    toolset: str = ""
    """The toolset that a payload is for; empty for the whole catalog."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Values of `TargetFacts.options`, by name."""
    explain: bool = False
    """Whether each pass is recorded in `Lowered.steps`. A build does not ask for it: copies of schemas take time."""

    def choice(self, option: TargetOption) -> str:
        """The value of `option`, its first choice where nothing is set. Raises `TargetOptionError`."""
        value = self.settings.get(option.name, option.choices[0])
        if value not in option.choices:
            raise TargetOptionError(option, value)
        return value


@dataclass(frozen=True, slots=True)
class Remark:
    """Something that is said in other words which admit the same values."""

    pointer: str
    """In the file of the spec."""
    message: str


@dataclass(frozen=True, slots=True)
class Step:
    """One pass of the lowering of one tool."""

    name: str
    reason: str
    """Why the target needs it."""
    schema: Any
    """The schema after the step, as JSON. References that are followed already are shown as `#` and their pointer."""
    changed: bool
    """Whether the schema differs from the one before the step."""
    problems: tuple[Diagnostic, ...] = ()
    """What the step reported: losses mostly, errors too. They are also among the diagnostics of the `Lowered`."""
    rewritten: tuple[Remark, ...] = ()


@dataclass(frozen=True, slots=True)
class Lowered:
    """One tool as one target registers it."""

    tool: str
    """The wire name."""
    name: str
    """The name that the target shows the model."""
    entry: dict[str, Any]
    """The JSON object that registers the tool."""
    diagnostics: tuple[Diagnostic, ...] = ()
    read_back: Mapping[str, Any] = field(default_factory=dict)
    """What the runtime must know to read this target's calls of this tool, as JSON; usually empty.

    `name`: the exposed name, where it is not the wire name. `strict`: true where an optional property was made
    nullable, so that a null may mean that the property is absent. Passes write the rest with `Notes.read_back`.
    """
    sizes: Mapping[Measure, int] = field(default_factory=dict)
    """What the tool adds to the measures of a list that are neither its number of tools nor its bytes."""
    steps: tuple[Step, ...] = ()
    """How the schema came about, in order; empty unless `TargetOptions.explain` asks for it."""


@dataclass(frozen=True, slots=True)
class Payload:
    """Everything that one target is sent to register some tools."""

    target: str
    entries: list[dict[str, Any]]
    """The list exactly as it is sent."""
    lowered: tuple[Lowered, ...]
    diagnostics: tuple[Diagnostic, ...] = ()
    """Problems of the list; those of a tool stand in its `Lowered`."""

    @property
    def read_back(self) -> dict[str, dict[str, Any]]:
        """By wire name, the tools whose calls need reading back."""
        return {one.tool: dict(one.read_back) for one in self.lowered if one.read_back}


@runtime_checkable
class Target(Protocol):
    """One API that tools are registered with."""

    @property
    def id(self) -> str:
        """The name in configuration, specs and file names: `[a-z][a-z0-9_]*`."""
        ...

    @property
    def title(self) -> str:
        """The name for people."""
        ...

    @property
    def facts(self) -> TargetFacts: ...

    def lower(self, tool: Tool, options: TargetOptions) -> Lowered:
        """The entry that registers `tool`, which is never changed, with all problems and losses as diagnostics.

        Gives an entry even where there are errors, so that all of them are found in one run.
        """
        ...

    def payload(self, lowered: Sequence[Lowered], options: TargetOptions) -> Payload:
        """The list for `lowered`, which may be any part of a catalog, with the problems of the list as a whole."""
        ...
