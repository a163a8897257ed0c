"""Using the `oci` client without a key, against a server on this machine.

The client checks the form of its configuration in any case, and signs each request; a signer that does nothing is
enough for a simulator. Never use it against the real service, which refuses what is not signed.
"""

from __future__ import annotations

from typing import Any

import oci

CONFIG = {
    "user": "ocid1.user.oc1..demo",
    "tenancy": "ocid1.tenancy.oc1..demo",
    "fingerprint": ":".join(["00"] * 16),
    "region": "eu-frankfurt-1",
    "key_content": "none",
}


class NoSigner(oci.signer.AbstractBaseSigner):  # type: ignore[misc]  # the client has no types
    """Signs nothing."""

    def __init__(self) -> None:
        pass

    def __call__(self, request: Any, enforce_content_headers: bool = True) -> Any:
        return request
