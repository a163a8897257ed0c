"""The whole way: read → passes → lower → emit. What `build` publishes and `check` compares with.

A build of a part of the specs keeps the tools of the others as the last build left them: their canonical specs stand in
the output itself (`schemas/`), so nothing has to be guessed or read again.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from codegen import __version__
from codegen.diagnostics import Report
from codegen.project import DEFAULT_TARGETS, PLUGINS, SETTINGS, Project
from codegen.publish import Lock, LockState, Manifest, Package, ToolRecord, intact, read_lock
from codegen.resources import sources_changed_since
from codegen.specs import discover, read_catalog, read_text, to_spec
from codegen.specs.tool import Catalog, Tool

if TYPE_CHECKING:
    from codegen.targets import Payload, TargetOptions


@dataclass(slots=True)
class Selection:
    """Which part of an output's specs a build reads."""

    named: tuple[Path, ...]
    """What was named, absolute."""
    roots: tuple[str, ...]
    """The roots of the whole output, relative to it."""
    kept: dict[str, ToolRecord] = field(default_factory=dict)
    """Tools of other specs, by wire name, which stay as they are."""

    def folders(self, output: Path) -> list[Path]:
        """The folders that references may lead into: those of the whole output, whatever part is named."""
        roots = [Path(os.path.normpath(output / root)) for root in self.roots]
        return [root if root.is_dir() else root.parent for root in roots]


def is_current(project: Project) -> bool:
    """Whether the output is exactly what a build would make, told from digests alone, without compiling anything."""
    lock = read_lock(project.output)
    manifest = lock.manifest
    if lock.state is not LockState.WHOLE or manifest is None:
        return False
    if manifest.toolgen != __version__ or manifest.options != project.options_digest:
        return False
    if sources_changed_since((project.output / "toolgen.lock").stat().st_mtime) or _has_plugin(project):
        return False
    selection = _select(project, lock)
    if selection.roots != manifest.roots:
        return False
    report = Report()
    found = {_relative(file, project.output) for file in discover(selection.named, report)}
    if report.diagnostics or not found <= manifest.inputs.keys():
        return False
    for source in manifest.inputs:
        inside = source in found or not selection.kept
        if inside and _file_digest(project.output, source) != manifest.inputs[source]:
            return False
    stubs = [f"handlers/{record.module}.py" for record in manifest.tools.values()]
    return intact(project.output, manifest, stubs if project.settings["handlers"] == "stubs" else ())


def _has_plugin(project: Project) -> bool:
    """Whether another distribution brings one of the targets: nothing here tells whether it changed."""
    others = set(project.targets).difference(DEFAULT_TARGETS)
    if not others:
        return False
    from importlib.metadata import entry_points

    return any(point.name in others for point in entry_points(group=PLUGINS))


def compile_package(project: Project, report: Report, base: Path) -> Package | None:
    """The package that a build would publish; None where errors stand against it.

    Problems go to the report, with paths relative to `base`. Raises `FolderError` where the output cannot be read.
    """
    lock = read_lock(project.output)
    selection = _select(project, lock)
    read = read_catalog(selection.named, base=base, report=report, roots=selection.folders(project.output))
    inputs = {_relative(base / file, project.output): digest for file, digest in read.inputs.items()}
    tools = {tool.name: tool for tool in read}
    sources = {tool.name: _relative(base / tool.origin.source.path, project.output) for tool in read}
    if selection.kept and lock.manifest is not None:
        kept = _kept_tools(project, selection, report, base)
        for name, tool in kept.items():
            if name in tools and not (project.output / selection.kept[name].source).exists():
                del selection.kept[name]  # its file was renamed
                continue
            if name in tools:
                other = tool.origin.source.path
                report.add(
                    tools[name].problem(
                        "duplicate-tool",
                        f'the tool "{name}" is also defined in {selection.kept[name].source} (built into {other})',
                        "build the folder with both specs, or give one of them another name",
                        part="name",
                    )
                )
            tools.setdefault(name, tool)
            sources.setdefault(name, selection.kept[name].source)
        inputs = {**_inputs_of(lock.manifest, selection.kept), **inputs}
    catalog = Catalog(tuple(tools[name] for name in sorted(tools)), read.faulty)
    return _build(project, catalog, sources, inputs, selection.roots, lock, report, base)


def lowering_options(project: Project, *, explain: bool = False) -> TargetOptions:
    """What the settings of the project say about lowering."""
    from codegen.targets import TargetOptions

    return TargetOptions(
        names=project.settings["names"],
        settings={name: value for name, value in project.settings.items() if SETTINGS[name].of_target},
        explain=explain,
    )


def lower_project(
    project: Project, catalog: Catalog, report: Report, base: Path
) -> tuple[dict[str, Payload], dict[str, tuple[str, ...]]]:
    """The payload of each target of the project, and the wire names of each toolset.

    Problems go to the report, with paths relative to `base`.
    """
    from codegen.targets import lower_catalog, resolve_toolsets

    file = "pyproject.toml" if project.file is None else _shown(project.file, base)
    # After an error the catalog may lack tools that the toolsets name rightly.
    readable = project.whole and not report.has_errors
    toolsets, problems = resolve_toolsets(project.settings["toolsets"], catalog, file=file, whole=readable)
    report.add(*problems)
    payloads, problems = lower_catalog(catalog, project.targets, lowering_options(project), toolsets=toolsets)
    report.add(*problems)
    return payloads, toolsets


def _build(
    project: Project,
    catalog: Catalog,
    sources: Mapping[str, str],
    inputs: Mapping[str, str],
    roots: tuple[str, ...],
    lock: Lock,
    report: Report,
    base: Path,
) -> Package | None:
    # Reading the lock or a configuration must not pay for these.
    from codegen.emit import Settings, emit
    from codegen.passes import run_passes
    from codegen.targets import registry

    catalog = run_passes(catalog, report)
    payloads, toolsets = lower_project(project, catalog, report, base)
    if report.has_errors:
        return None
    digests = {tool.name: _tool_digest(tool) for tool in catalog}
    targets = registry()
    emitted = emit(
        catalog,
        [(targets[target], payload) for target, payload in payloads.items()],
        Settings(
            project.settings["handlers"],
            project.settings["formats"],
            toolsets,
            project.settings["repair"],
            project.settings["journals"],
            project.settings["engines"],
        ),
        known_model=_known_models(project, lock, digests),
        exists=lambda path: os.path.lexists(project.output / path),
    )
    told = {(found.code, found.file, found.pointer) for found in report.diagnostics}
    # Where a pass has said what is wrong with a default, the model need not say so again.
    report.add(*(found for found in emitted.diagnostics if (found.code, found.file, found.pointer) not in told))
    records = {
        tool.name: ToolRecord(sources[tool.name], tool.names.module, digests[tool.name])
        for tool in catalog
        if tool.names is not None
    }
    return Package(emitted.files, emitted.stubs, __version__, roots, dict(inputs), project.options_digest, records)


def _select(project: Project, lock: Lock) -> Selection:
    """What to read: everything that was named, and whether that is only a part of what the output was made from."""
    named = project.specs
    given = tuple(sorted({_relative(path, project.output) for path in named}))
    manifest = lock.manifest
    if manifest is None or not manifest.roots or not manifest.tools:
        return Selection(named, given)
    inside = [any(_covers(root, path) for root in manifest.roots) for path in given]
    covered = all(any(_covers(path, root) for path in given) for root in manifest.roots)
    if covered or not all(inside):
        return Selection(named, given)
    kept = {
        name: record
        for name, record in manifest.tools.items()
        if not any(_covers(path, record.source) for path in given)
    }
    return Selection(named, manifest.roots, kept)


def _covers(path: str, other: str) -> bool:
    """Whether `other` is `path` or lies below it."""
    return path == other or other.startswith(f"{path}/")


def _kept_tools(project: Project, selection: Selection, report: Report, base: Path) -> dict[str, Tool]:
    """The tools of specs that were not named, as their canonical specs in the output say."""
    tools: dict[str, Tool] = {}
    for name, record in sorted(selection.kept.items()):
        file = project.output / "schemas" / f"{record.module}.json"
        shown = _shown(file, base)
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            text = ""
        found = [tool for tool in read_text(text, shown, report=Report()) if tool.name == name] if text else []
        if found and _tool_digest(found[0]) == record.digest:
            tools[name] = found[0]
            continue
        # The copy in the output was edited or lost: the spec it came from is the next best.
        origin = Path(os.path.normpath(project.output / record.source))
        roots = selection.folders(project.output)
        again = read_catalog([origin], base=base, report=report, roots=roots) if origin.is_file() else ()
        tools.update({tool.name: tool for tool in again if tool.name == name})
    return tools


def _inputs_of(manifest: Manifest, kept: Mapping[str, ToolRecord]) -> dict[str, str]:
    sources = {record.source for record in kept.values()}
    return {source: digest for source, digest in manifest.inputs.items() if source in sources}


def _known_models(project: Project, lock: Lock, digests: Mapping[str, str]) -> Any:
    """Takes over the model of a tool that is as it was in the last build by this version, if nobody edited it."""
    manifest = lock.manifest
    if lock.state is not LockState.WHOLE or manifest is None or manifest.toolgen != __version__:
        return None
    if project.settings["strict"]:  # what a model says about its tool must be heard again
        return None
    if manifest.options != project.options_digest or sources_changed_since(
        (project.output / "toolgen.lock").stat().st_mtime
    ):
        return None

    def known(tool: Tool) -> str | None:
        record = manifest.tools.get(tool.name)
        if record is None or tool.names is None or record.module != tool.names.module:
            return None
        if record.digest != digests[tool.name]:
            return None
        path = f"models/{record.module}.py"
        try:
            data = (project.output / path).read_bytes()
        except OSError:
            return None
        return data.decode() if hashlib.sha256(data).hexdigest() == manifest.files.get(path) else None

    return known


def _tool_digest(tool: Tool) -> str:
    return hashlib.sha256(json.dumps(to_spec(tool), ensure_ascii=True).encode()).hexdigest()[:16]


def _file_digest(output: Path, source: str) -> str:
    try:
        return hashlib.sha256(Path(os.path.normpath(output / source)).read_bytes()).hexdigest()
    except OSError:
        return ""


def _relative(path: Path, output: Path) -> str:
    """A path as the lock has it: relative to the output folder, with forward slashes."""
    return Path(os.path.relpath(os.path.normpath(path), output)).as_posix()


def _shown(path: Path, base: Path) -> str:
    try:
        return path.relative_to(base).as_posix()
    except ValueError:
        return path.as_posix()
