"""`x-toolgen`: what a spec says that no API has a word for.

```
x-toolgen:
  effect: read | idempotent | write     # what running the tool twice would do; write where nothing is said
  timeout: 30                           # seconds, above 0
  defer_loading: true
  confirm: true                         # runs only after the approve hook says so
  targets: [openai_agents]              # registered there only, or:
  targets:
    oci_agents: {name: …, description: …, strict: …}   # shown differently there
    openai_responses: false                            # not registered there
    "*": false                                         # not registered with any target that is not named here
```

Everything else is an error: a setting that is silently without effect would be found in production. Whether a target
exists is for the targets to say.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from codegen.schema.pointers import join
from codegen.specs.faults import did_you_mean, quoted
from codegen.specs.source import Problems
from codegen.specs.tool import Effect, Override

_T = TypeVar("_T")

KEY: Final = "x-toolgen"
EVERYWHERE_ELSE: Final = "*"
_FIELDS: Final = ("effect", "timeout", "defer_loading", "confirm", "targets")
_OVERRIDES: Final = ("name", "description", "strict")


@dataclass(frozen=True, slots=True)
class Settings:
    """What `x-toolgen` said; None where it said nothing."""

    effect: Effect | None = None
    timeout: float | None = None
    defer_loading: bool | None = None
    confirm: bool | None = None
    overrides: Mapping[str, Override] = field(default_factory=dict)
    only_targets: tuple[str, ...] | None = None
    excluded_targets: tuple[str, ...] = ()


def read_settings(value: Any, pointer: str, problems: Problems, tool: str) -> Settings:
    """The settings in `value`, which stands at `pointer`; what is wrong is reported and left out."""
    reader = _Reader(problems, tool)
    if not isinstance(value, dict):
        reader.wrong(pointer, f"{KEY} must be an object", f"its fields are {', '.join(_FIELDS)}")
        return Settings()
    for key in value:
        if key not in _FIELDS:
            reader.wrong(join(pointer, key), f"{quoted(key)} is no setting of {KEY}", did_you_mean(key, _FIELDS))
    overrides, only, excluded = reader.targets(value, pointer)
    return Settings(
        effect=reader.effect(value, pointer),
        timeout=reader.timeout(value, pointer),
        defer_loading=reader.boolean(value, "defer_loading", pointer),
        confirm=reader.boolean(value, "confirm", pointer),
        overrides=overrides,
        only_targets=only,
        excluded_targets=excluded,
    )


def written(settings: Settings) -> dict[str, Any]:
    """The `x-toolgen` value that says `settings`, in the order of the documentation; what is not set is left out."""
    result: dict[str, Any] = {}
    if settings.effect is not None:
        result["effect"] = settings.effect.value
    if settings.timeout is not None:
        result["timeout"] = int(settings.timeout) if settings.timeout.is_integer() else settings.timeout
    for name, flag in (("defer_loading", settings.defer_loading), ("confirm", settings.confirm)):
        if flag is not None:
            result[name] = flag
    targets: dict[str, Any] = {id_: _written_override(override) for id_, override in settings.overrides.items()}
    if settings.only_targets is not None:
        if not targets:
            result["targets"] = list(settings.only_targets)
            return result
        targets = {id_: targets.get(id_, {}) for id_ in settings.only_targets} | {EVERYWHERE_ELSE: False}
    targets |= dict.fromkeys(settings.excluded_targets, False)
    if targets:
        result["targets"] = targets
    return result


def _written_override(override: Override) -> dict[str, Any]:
    return {name: value for name in _OVERRIDES if (value := getattr(override, name)) is not None}


@dataclass(frozen=True, slots=True)
class _Reader:
    problems: Problems
    tool: str

    def wrong(self, pointer: str, message: str, hint: str = "") -> None:
        self.problems.add(pointer, KEY, message, hint, tool=self.tool)

    def effect(self, value: dict[str, Any], pointer: str) -> Effect | None:
        if "effect" not in value:
            return None
        known = [effect.value for effect in Effect]
        if value["effect"] not in known:
            hint = did_you_mean(value["effect"], known) if isinstance(value["effect"], str) else ""
            self.wrong(join(pointer, "effect"), f"effect must be one of {', '.join(known)}", hint)
            return None
        return Effect(value["effect"])

    def timeout(self, value: dict[str, Any], pointer: str) -> float | None:
        if "timeout" not in value:
            return None
        seconds = value["timeout"]
        try:
            if not isinstance(seconds, bool) and isinstance(seconds, (int, float)) and 0 < seconds < math.inf:
                return float(seconds)
        except OverflowError:  # an integer beyond all floats
            pass
        hint = "leave it out to use the dispatcher's own timeout"
        self.wrong(join(pointer, "timeout"), "timeout must be a number of seconds above 0", hint)
        return None

    def boolean(self, value: dict[str, Any], name: str, pointer: str) -> bool | None:
        return self._typed(value, name, pointer, bool, "true or false")

    def targets(
        self, value: dict[str, Any], pointer: str
    ) -> tuple[dict[str, Override], tuple[str, ...] | None, tuple[str, ...]]:
        """Overrides by target, the only targets, the excluded targets."""
        targets, here = value.get("targets"), join(pointer, "targets")
        if "targets" not in value:
            return {}, None, ()
        if isinstance(targets, list):
            return {}, self._listed(targets, here), ()
        if not isinstance(targets, dict):
            hint = "a list of target ids, or an object from target id to overrides or false"
            self.wrong(here, "targets must be a list or an object", hint)
            return {}, None, ()
        overrides: dict[str, Override] = {}
        named: list[str] = []
        excluded: list[str] = []
        for target, entry in targets.items():
            there = join(here, target)
            if entry is False:
                excluded.append(target)
            elif target == EVERYWHERE_ELSE:
                self.wrong(there, f'"{EVERYWHERE_ELSE}" stands for all other targets and takes false only')
            elif not target:
                self.wrong(there, "a target id must not be empty")
            elif isinstance(entry, dict):
                named.append(target)
                override = self._override(entry, there)
                if override != Override():
                    overrides[target] = override
            else:
                hint = "write an object of name, description and strict, or false to leave the target out"
                self.wrong(there, "the entry of a target must be an object or false", hint)
        if EVERYWHERE_ELSE in excluded:
            if not named:
                self.wrong(join(here, EVERYWHERE_ELSE), "the tool would be registered nowhere", "name a target")
                return overrides, None, ()
            return overrides, tuple(named), ()
        return overrides, None, tuple(excluded)

    def _listed(self, targets: list[Any], pointer: str) -> tuple[str, ...] | None:
        for index, target in enumerate(targets):
            if not isinstance(target, str) or target in ("", EVERYWHERE_ELSE):
                self.wrong(join(pointer, index), "a target id must be a text such as openai_responses")
                return None
        if len(set(targets)) < len(targets):
            self.wrong(pointer, "a target is listed twice")
            return None
        if not targets:
            self.wrong(pointer, "the tool would be registered nowhere", "name a target, or remove targets")
            return None
        return tuple(targets)

    def _override(self, entry: dict[str, Any], pointer: str) -> Override:
        for key in entry:
            if key not in _OVERRIDES:
                hint = did_you_mean(key, _OVERRIDES)
                self.wrong(join(pointer, key), f"{quoted(key)} cannot be set for one target", hint)
        name = self._typed(entry, "name", pointer, str, "a text that is not empty", lambda text: text != "")
        description = self._typed(entry, "description", pointer, str, "a text")
        return Override(name, description, self.boolean(entry, "strict", pointer))

    def _typed(
        self,
        value: dict[str, Any],
        name: str,
        pointer: str,
        kind: type[_T],
        wanted: str,
        holds: Callable[[_T], bool] = lambda _: True,
    ) -> _T | None:
        if name not in value:
            return None
        found = value[name]
        if isinstance(found, kind) and holds(found):
            return found
        self.wrong(join(pointer, name), f"{name} must be {wanted}")
        return None
