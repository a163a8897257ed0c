"""Handler of the tool object_storage: a bucket is a folder."""

from __future__ import annotations

import re

from ..models.object_storage import ObjectStorageArguments, ObjectStorageResult
from ..runtime import Call, ToolError


def object_storage(args: ObjectStorageArguments, call: Call) -> ObjectStorageResult:
    """A function to create object storage bucket"""
    if not re.fullmatch(r"[A-Za-z0-9_.-]{1,256}", args.bucket_name) or set(args.bucket_name) == {"."}:
        raise ToolError("bucket_name may hold letters, digits, dots, hyphens and underscores")
    bucket = call.context.storage / args.bucket_name
    if bucket.exists():
        raise ToolError(f"the bucket {args.bucket_name} exists already")
    bucket.mkdir(parents=True)
    return {
        "bucket_name": args.bucket_name,
        "compartment_ocid": args.compartment_ocid,
        "storage_tier": args.storage_tier or "Standard",
    }
