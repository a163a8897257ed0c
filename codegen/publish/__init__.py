"""Makes a folder equal to a map of path to text: all of it or nothing, and never more than toolgen owns.

`plan` looks, `publish` acts, `locked` keeps other builds out from the one to the other, `drift` tells what a build
would change. `read_lock` and `intact` let a build know what the last one did.
"""

from codegen.publish.drift import Drift, Finding, Kind, drift
from codegen.publish.errors import BlockedPlan, FolderError, InvalidPackage, Outcome, PublishError, StalePlan
from codegen.publish.locking import locked
from codegen.publish.manifest import Lock, LockState, Manifest, ToolRecord, read_lock
from codegen.publish.plan import Package, Plan, intact, plan
from codegen.publish.switch import Published, Recovery, publish

__all__ = [
    "BlockedPlan",
    "Drift",
    "Finding",
    "FolderError",
    "InvalidPackage",
    "Kind",
    "Lock",
    "LockState",
    "Manifest",
    "Outcome",
    "Package",
    "Plan",
    "PublishError",
    "Published",
    "Recovery",
    "StalePlan",
    "ToolRecord",
    "drift",
    "intact",
    "locked",
    "plan",
    "publish",
    "read_lock",
]
