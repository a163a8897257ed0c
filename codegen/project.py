"""A project: which specs become which package, and how. Read from `[tool.toolgen]` and the command line.

The configuration is that of the nearest pyproject.toml above the first spec, so that a build means the same from every
working directory; its paths are relative to its own folder. `SETTINGS` is the one place that says which settings there
are: reading, checking and the documentation follow it.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import keyword
import os
import string
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

DEFAULT_SPECS = ("specs",)
DEFAULT_OUTPUT = "generated"
DEFAULT_TARGETS = ("openai_agents", "openai_responses", "oci_agents")
NO_TARGETS = "none"
"""The target id that stands for no payloads at all."""
PLUGINS = "toolgen.targets"
"""The group of entry points by which other distributions bring targets."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting of `[tool.toolgen]`."""

    kind: Literal["text", "texts", "choice", "choices", "flag", "sets"]
    default: Any
    meaning: str
    choices: tuple[str, ...] = ()
    shapes_output: bool = True
    """Whether a change of it can change a byte of the output."""
    of_target: bool = False
    """Whether it is the option of a target, which has it under the same name."""


SETTINGS: dict[str, Setting] = {
    "specs": Setting("texts", list(DEFAULT_SPECS), "spec files and folders", shapes_output=False),
    "output": Setting("text", DEFAULT_OUTPUT, "folder of the generated package", shapes_output=False),
    "package": Setting("text", "", "name of the generated package, where it is not the folder's", shapes_output=False),
    "targets": Setting("texts", list(DEFAULT_TARGETS), "APIs to register the tools with, or only `none`"),
    "handlers": Setting(
        "choice", "stubs", "`stubs`: functions in handlers/; `inject`: an object of the service", ("stubs", "inject")
    ),
    "formats": Setting(
        "choice",
        "annotate",
        "`annotate`: format only informs; `check`: the gate asserts it; "
        "`convert`: that too, and handlers get dates, times, UUIDs",
        ("annotate", "check", "convert"),
    ),
    "repair": Setting(
        "flag", False, "whether a list or object that arrives as JSON text is read where no text may stand"
    ),
    "names": Setting(
        "choice",
        "error",
        "a tool name that a target refuses: `error`, or `replace` it",
        ("error", "replace"),
    ),
    "oci_encoding": Setting(
        "choice",
        "json",
        "how OCI's string map is written: every value as JSON, or as the ADK does",
        ("json", "adk"),
        of_target=True,
    ),
    "gemini_schema": Setting(
        "choice",
        "json",
        "Gemini's field for parameters: `json` for parametersJsonSchema, `openapi` for the smaller parameters",
        ("json", "openapi"),
        of_target=True,
    ),
    "oci_inference_format": Setting(
        "choice",
        "generic",
        "the format of OCI's inference models: `generic`, `cohere` or `cohere_v2`",
        ("generic", "cohere", "cohere_v2"),
        of_target=True,
    ),
    "journals": Setting("choices", ["sqlite"], "journal stores to bring along", ("sqlite", "postgres")),
    "engines": Setting("choices", [], "workflow engines to bring an adapter for", ("temporal", "dbos")),
    "toolsets": Setting("sets", {}, "parts of the catalog that are registered together: names and patterns of tools"),
    "strict": Setting("flag", False, "whether warnings stop a build", shapes_output=False),
}


_SET_NAME = frozenset(string.ascii_letters + string.digits + "_-")


class ConfigError(Exception):
    """The configuration or the command line is wrong; the text says where and how to mend it."""


@dataclass(frozen=True, slots=True)
class Project:
    """What a build works on. All paths are absolute."""

    specs: tuple[Path, ...]
    output: Path
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Every setting, defaults included."""
    file: Path | None = None
    """The pyproject.toml with the configuration; None where there is none."""
    whole: bool = True
    """Whether these are all the specs of the configuration, and not a part that the command line names."""

    @property
    def targets(self) -> tuple[str, ...]:
        chosen = tuple(dict.fromkeys(self.settings["targets"]))
        return () if chosen == (NO_TARGETS,) else chosen

    @property
    def options_digest(self) -> str:
        """A digest of the settings that shape the output."""
        shaping = {name: self.settings[name] for name, setting in SETTINGS.items() if setting.shapes_output}
        shaping["targets"] = list(self.targets)
        return hashlib.sha256(json.dumps(shaping, sort_keys=True).encode()).hexdigest()[:16]


def load_project(
    specs: Sequence[Path],
    *,
    output: Path | None = None,
    package: str | None = None,
    targets: Sequence[str] = (),
    cwd: Path | None = None,
) -> Project:
    """The project that the command line means: what it says goes before the configuration, that before the defaults.

    Paths on the command line are relative to `cwd`. Raises `ConfigError`.
    """
    here = (cwd or Path.cwd()).absolute()
    anchor = _normal(here / specs[0]) if specs else here
    file = _nearest_pyproject(anchor)
    configured = _read(file) if file is not None else {}
    home = file.parent if file is not None and configured else here
    values = {name: configured.get(name, setting.default) for name, setting in SETTINGS.items()}
    if targets:
        values["targets"] = list(targets)
    if NO_TARGETS in values["targets"] and len(set(values["targets"])) > 1:
        raise ConfigError(f"the target {NO_TARGETS!r} excludes all others")
    named = tuple(_normal(here / path) for path in specs) or tuple(_normal(home / path) for path in values["specs"])
    folder = _output(here, home, output, package, configured)
    if not _importable(folder.name):
        raise ConfigError(f"the package cannot be imported: {folder.name!r} is no Python name")
    for path in named:
        if folder == path or folder in path.parents:
            raise ConfigError(f"the specs are inside the output folder: {path}")
    configured_specs = {_normal(home / path) for path in values["specs"]}
    return Project(named, folder, values, file if configured else None, not specs or set(named) == configured_specs)


def _output(here: Path, home: Path, output: Path | None, package: str | None, configured: Mapping[str, Any]) -> Path:
    """The folder of the package. A name that is given on its own replaces the folder's last part."""
    if output is not None:
        folder = _normal(here / output)
    else:
        folder = _normal(home / configured.get("output", DEFAULT_OUTPUT))
    name = package or (configured.get("package", "") if output is None else "")
    if not name or folder.name == name:
        return folder
    if not _importable(name):
        raise ConfigError(f"the package cannot be imported: {name!r} is no Python name")
    return folder / name if output is not None else folder.parent / name


def _importable(name: str) -> bool:
    return name.isidentifier() and not keyword.iskeyword(name)


def _normal(path: Path) -> Path:
    return Path(os.path.normpath(path))


def _nearest_pyproject(anchor: Path) -> Path | None:
    """The nearest pyproject.toml at or above `anchor`."""
    start = anchor if anchor.is_dir() else anchor.parent
    for folder in (start, *start.parents):
        file = folder / "pyproject.toml"
        if file.is_file():
            return file
    return None


def _read(file: Path) -> dict[str, Any]:
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{file}: {error}") from error
    tool = document.get("tool", {})
    section = tool.get("toolgen", {}) if isinstance(tool, dict) else {}
    if not isinstance(section, dict):
        raise ConfigError(f"{file}: [tool.toolgen] must be a table")
    problems = [problem for name, value in section.items() if (problem := _problem(name, value))]
    if problems:
        raise ConfigError("\n".join(f"{file}: [tool.toolgen] {problem}" for problem in problems))
    return dict(section)


def _problem(name: str, value: Any) -> str:
    """What is wrong with one setting; empty when nothing is."""
    setting = SETTINGS.get(name)
    if setting is None:
        near = difflib.get_close_matches(name, SETTINGS, 1)
        hint = f", did you mean {near[0]}?" if near else f"; the settings are {', '.join(SETTINGS)}"
        return f"has no setting {name}{hint}"
    if setting.kind == "flag":
        return "" if isinstance(value, bool) else f"{name} must be true or false"
    if setting.kind == "texts":
        fine = isinstance(value, list) and value and all(isinstance(one, str) and one for one in value)
        return "" if fine else f"{name} must be a list of texts"
    if setting.kind == "choices":
        fine = isinstance(value, list) and all(one in setting.choices for one in value)
        return "" if fine else f"{name} must be a list of {', '.join(setting.choices)}"
    if setting.kind == "sets":
        return _sets_problem(name, value)
    if not isinstance(value, str):
        return f"{name} must be a text"
    if setting.kind == "choice" and value not in setting.choices:
        return f"{name} must be one of {', '.join(setting.choices)}, not {value!r}"
    return ""


def _sets_problem(name: str, value: Any) -> str:
    """What is wrong with a table of named lists. Lists are sorted out later, when the tools are known."""
    if not isinstance(value, dict):
        return f"{name} must be a table of lists"
    for key, members in value.items():
        if not key or not set(key) <= _SET_NAME:
            return f"{name}: the name {key!r} may only have letters, digits, `_` and `-`"
        if not isinstance(members, list) or not members or not all(isinstance(one, str) and one for one in members):
            return f"{name}: {key} must be a list of tool names and patterns"
    return ""
