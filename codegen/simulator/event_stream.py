"""The binary event streams of AWS: length-prefixed messages with headers and two checksums.

Source: the description of `application/vnd.amazon.eventstream` in the AWS documentation.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping

from codegen.simulator.wire import Event, Stream, dump_json

_TEXT = 7
"""The type of a header whose value is text."""


class AwsStream(Stream):
    """A stream whose events are such messages; an event whose name ends in `Exception` ends the stream as an error."""

    content_type = "application/vnd.amazon.eventstream"

    def frame(self, event: Event) -> bytes:
        """An event as it goes over the wire."""
        kind = "exception" if event.name.endswith("Exception") else "event"
        headers = {
            f":{kind}-type": event.name,
            ":content-type": "application/json",
            ":message-type": kind,
        }
        return encode_message(headers, dump_json(event.data).encode())


def encode_message(headers: Mapping[str, str], payload: bytes) -> bytes:
    """One message: lengths, their checksum, headers, payload, and the checksum of everything before."""
    packed = b"".join(_header(name.encode(), value.encode()) for name, value in headers.items())
    lengths = struct.pack(">II", 16 + len(packed) + len(payload), len(packed))
    body = lengths + struct.pack(">I", zlib.crc32(lengths)) + packed + payload
    return body + struct.pack(">I", zlib.crc32(body))


def _header(name: bytes, value: bytes) -> bytes:
    return struct.pack(">B", len(name)) + name + struct.pack(">BH", _TEXT, len(value)) + value
