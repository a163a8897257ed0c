"""Handler of the tool object_storage."""

from __future__ import annotations

from ..models.object_storage import ObjectStorageArguments, ObjectStorageResult
from ..runtime import Call


def object_storage(args: ObjectStorageArguments, call: Call) -> ObjectStorageResult:
    """A function to create object storage bucket"""
    raise NotImplementedError
