"""What can go wrong while an output folder is read or written.

    PublishError
    ├── InvalidPackage   the map that was given cannot be a folder: our own fault
    ├── BlockedPlan      a plan with errors was published: our own fault
    ├── StalePlan        the folder changed between the plan and the publication
    └── FolderError      the operating system refused something

What a person can mend in the folder (a foreign file in the way, a newer lock) is a `Diagnostic` of the plan instead.
"""

from __future__ import annotations

import enum


class Outcome(enum.Enum):
    """How a failure left the output folder."""

    UNTOUCHED = "nothing was changed"
    RESTORED = "the output folder is as it was"
    PUBLISHED = "the new files are in place; only the staging folder could not be cleared away"
    INTERRUPTED = "the output folder is half way; the next build undoes it"


class PublishError(Exception):
    """Base of all errors of this package."""


class InvalidPackage(PublishError):
    """A path or a text of a package that no output folder can hold.

    Attributes:
        path: the path as it was given.
        reason: what is wrong with it.
    """

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path!r} cannot be published: {reason}")
        self.path = path
        self.reason = reason


class BlockedPlan(PublishError):
    """A plan that has errors among its diagnostics was handed to `publish`."""


class StalePlan(PublishError):
    """A file changed after the plan was made. Nothing was published; plan again.

    Attributes:
        path: the file, relative to the output folder.
    """

    def __init__(self, path: str) -> None:
        super().__init__(f"{path} changed while the build was running; {Outcome.UNTOUCHED.value}")
        self.path = path


class FolderError(PublishError):
    """The operating system refused to read or write (no space, no permission, a file in use).

    Attributes:
        path: the file or folder it happened at.
        doing: what was being done, as a verb phrase.
        cause: the error of the operating system, or a sentence.
        outcome: how the output folder was left.
    """

    def __init__(self, path: str, doing: str, cause: OSError | str, outcome: Outcome = Outcome.UNTOUCHED) -> None:
        said = cause if isinstance(cause, str) else cause.strerror or str(cause)
        super().__init__(f"cannot {doing} {path}: {said}; {outcome.value}")
        self.path = path
        self.doing = doing
        self.cause = cause
        self.outcome = outcome

    def left(self, outcome: Outcome) -> FolderError:
        """The same error with what is known, after undoing, on how the folder was left."""
        return FolderError(self.path, self.doing, self.cause, outcome)
