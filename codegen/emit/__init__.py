"""From a catalog to the map of path to text that is the output. Writes nothing."""

from codegen.emit.package import Emitted, Settings, emit

__all__ = ["Emitted", "Settings", "emit"]
