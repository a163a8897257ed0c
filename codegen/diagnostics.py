"""Problems in specs, as values.

A problem is found once, collected with the others, and printed at the end; nothing in the compiler raises because
a spec is wrong. Exceptions are for our own faults. Every code that can appear stands in `CODES`, with its severity and
the line that explains it in the documentation.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Protocol


class Severity(enum.Enum):
    """How much a problem weighs: an error stops the build, a warning does not, a note only tells."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"

    @property
    def rank(self) -> int:
        """0 for the gravest."""
        return ("error", "warning", "note").index(self.value)


@dataclass(frozen=True, slots=True)
class Code:
    """One kind of problem: its usual severity and a sentence on what it means."""

    severity: Severity
    meaning: str


_ERROR, _WARNING, _NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE

# By the room that finds them. Names are part of the interface (configuration refers to them): add, do not rename.
CODES: dict[str, Code] = {
    # specs: reading files
    "file-not-found": Code(_ERROR, "a path that was named does not exist or cannot be read"),
    "no-specs": Code(_ERROR, "the paths that were named hold no spec"),
    "encoding": Code(_ERROR, "a spec file is not UTF-8"),
    "json-syntax": Code(_ERROR, "a JSON file breaks RFC 8259"),
    "yaml-syntax": Code(_ERROR, "a YAML file breaks YAML 1.2 or uses what JSON has no word for"),
    "duplicate-key": Code(_ERROR, "an object names one key twice"),
    "nesting": Code(_ERROR, "a document nests deeper than 128 levels"),
    # specs: shapes
    "unknown-shape": Code(_ERROR, "an entry is no function definition in any known shape"),
    "hosted-tool": Code(_NOTE, "an entry is a tool that the API runs itself; it is skipped"),
    "spec-field": Code(_ERROR, "a field of the definition has the wrong type or is missing"),
    "unknown-field": Code(_WARNING, "a field of the definition is not known and has no effect"),
    "x-toolgen": Code(_ERROR, "an x-toolgen setting is unknown or has a wrong value"),
    "duplicate-tool": Code(_ERROR, "two definitions give one tool name"),
    # specs: references into other files
    "remote-reference": Code(_ERROR, "a $ref leads out of the spec folder or to the network"),
    "unresolved-reference": Code(_ERROR, "a $ref leads nowhere"),
    # passes
    "schema-invalid": Code(_ERROR, "a schema breaks its own meta-schema or cannot be compiled"),
    "schema-root": Code(_ERROR, "the parameters of a tool must be an object schema"),
    "unknown-dialect": Code(_ERROR, "$schema names a dialect that is not supported"),
    "missing-description": Code(_WARNING, "a tool has no description"),
    "misspelt-keyword": Code(_WARNING, "a word in a schema is no keyword, but close to one"),
    "foreign-keyword": Code(_WARNING, "a keyword of another dialect has no effect in this one"),
    "unknown-keyword": Code(_NOTE, "a word in a schema is no keyword; it only informs"),
    "unknown-format": Code(_NOTE, "a format is none of JSON Schema's, but close to one"),
    "idle-keyword": Code(_WARNING, "a keyword has no effect beside the type, or without its companion"),
    "endless-reference": Code(_WARNING, "a $ref leads back to itself before it comes to a rule"),
    "hidden-keyword": Code(_WARNING, "a $ref makes the keywords beside it void, up to draft 7"),
    "unsatisfiable": Code(_WARNING, "no value can be valid, or none of a type that the schema has rules for"),
    "enum-misfit": Code(_WARNING, "a value of an enum and the rest of its schema exclude each other"),
    "unreachable-branch": Code(_WARNING, "no value can choose a branch of anyOf or oneOf"),
    "default-misfit": Code(_WARNING, "a default does not fit its own schema and is not applied"),
    "example-misfit": Code(_WARNING, "an example does not fit its own schema"),
    "model-widened": Code(_NOTE, "a part of the schema is typed Any in the model; the gate still checks it"),
    # targets
    "unknown-target": Code(_ERROR, "a target id is not known"),
    "broken-target": Code(_ERROR, "a target of another distribution cannot be used"),
    "unknown-toolset-tool": Code(_ERROR, "a toolset of the configuration names a tool or a pattern that fits no tool"),
    "target-name": Code(_ERROR, "a target refuses the tool's name"),
    "name-replaced": Code(_WARNING, "a name was rewritten for a target"),
    "name-clash": Code(_ERROR, "two tools have one exposed name on a target"),
    "target-description": Code(_ERROR, "a target requires a description and the spec has none"),
    "target-limit": Code(_ERROR, "a hard limit of a target is exceeded"),
    "target-limit-weak": Code(_WARNING, "a limit with weak evidence is exceeded"),
    "strict-impossible": Code(_ERROR, "the spec asks for strict mode and the schema cannot be made strict"),
    "loss": Code(_NOTE, "a rule of the spec that a payload cannot express; the gate still enforces it"),
    "respelled": Code(_NOTE, "a name or a value is sent in another spelling and read back as the spec has it"),
    # publish
    "output-refused": Code(_ERROR, "the output folder is not empty and toolgen did not make it"),
    "output-blocked": Code(_ERROR, "something that toolgen did not make stands where an output file belongs"),
    "output-link": Code(_ERROR, "a symbolic link stands where an output file would be written"),
    "output-clash": Code(_ERROR, "two output files have one name where the case of names does not count"),
    "output-edited": Code(_WARNING, "a generated file was edited by hand; the edit is overwritten"),
    "output-kept": Code(_WARNING, "a generated file that nothing needs any more is kept, since it may hold edits"),
    "lock-newer": Code(_ERROR, "the lock was written by a newer toolgen"),
    "lock-rebuilt": Code(_WARNING, "the lock is missing or damaged and is rebuilt from the headers of the files"),
    "handler-orphaned": Code(_NOTE, "a handler file belongs to no tool any more; it is kept"),
}


class Locator(Protocol):
    """Finds the line of a JSON pointer in the file that a spec came from."""

    @property
    def path(self) -> str:
        """The file as it is shown to people: relative, with forward slashes."""
        ...

    def line(self, pointer: str) -> int | None:
        """The 1-based line on which the value at `pointer` (its key, for a member) starts; None when unknown."""
        ...


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One problem: where it is, which kind it is, what is wrong and how to mend it.

    `pointer` is a JSON pointer (RFC 6901) into `file`; the empty text is the whole document. `line` is 1-based.
    `tool` and `target` are set where the problem concerns one tool or one target.
    """

    code: str
    severity: Severity
    file: str
    line: int | None
    pointer: str
    message: str
    hint: str = ""
    tool: str = ""
    target: str = ""

    @classmethod
    def at(
        cls,
        source: Locator,
        pointer: str,
        code: str,
        message: str,
        hint: str = "",
        *,
        severity: Severity | None = None,
        tool: str = "",
        target: str = "",
    ) -> Diagnostic:
        """A problem at `pointer` of `source`, with the code's usual severity unless another is given."""
        usual = CODES[code].severity
        return cls(code, severity or usual, source.path, source.line(pointer), pointer, message, hint, tool, target)

    @property
    def sort_key(self) -> tuple[str, int, str, int, str, str, str]:
        """By place, then by weight, so that a report reads like the files it is about."""
        return (self.file, self.line or 0, self.pointer, self.severity.rank, self.code, self.target, self.message)

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        about = " ".join(part for part in (self.pointer, f"[{self.target}]" if self.target else "") if part)
        text = f"{place}: {self.severity.value}[{self.code}]{' ' + about if about else ''}: {self.message}"
        return f"{text}\n    hint: {self.hint}" if self.hint else text


@dataclass(slots=True)
class Report:
    """The problems of one run, in the order they were found."""

    diagnostics: list[Diagnostic] = field(default_factory=list)

    def add(self, *diagnostics: Diagnostic) -> None:
        self.diagnostics.extend(diagnostics)

    @property
    def has_errors(self) -> bool:
        return any(d.severity is Severity.ERROR for d in self.diagnostics)

    def sorted(self) -> list[Diagnostic]:
        """All problems by place, each once."""
        return sorted(dict.fromkeys(self.diagnostics), key=lambda d: d.sort_key)
