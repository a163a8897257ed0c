"""What runs the tools of this package: calls, validation, execution, and one adapter and one loop for each API.

The names below are the ones that services use; the modules of this package hold the rest.
"""

from .calls import Call, CallError, Result
from .content import Content, Image, Text
from .dispatcher import Dispatcher
from .errors import (
    AnswerLost,
    HandlersMissing,
    InvalidArguments,
    InvalidJSON,
    Issue,
    LoopError,
    ResultsNotStored,
    StepLimit,
    ToolError,
    ToolgenError,
    TurnFailed,
    UnhandledAction,
    UnknownTool,
    UnknownToolset,
    UnserializableOutput,
)
from .hooks import Done, Hooks, NotDone, Unknown
from .models import ToolModel
from .running import Shutdown
from .tools import Package, Reply, Tool, ToolEntry
from .turn import CallsReceived, ResultsReady, Turn

__all__ = [
    "AnswerLost",
    "Call",
    "CallError",
    "CallsReceived",
    "Content",
    "Dispatcher",
    "Done",
    "HandlersMissing",
    "Hooks",
    "Image",
    "InvalidArguments",
    "InvalidJSON",
    "Issue",
    "LoopError",
    "NotDone",
    "Package",
    "Reply",
    "Result",
    "ResultsNotStored",
    "ResultsReady",
    "Shutdown",
    "StepLimit",
    "Text",
    "Tool",
    "ToolEntry",
    "ToolError",
    "ToolModel",
    "ToolgenError",
    "Turn",
    "TurnFailed",
    "UnhandledAction",
    "Unknown",
    "UnknownTool",
    "UnknownToolset",
    "UnserializableOutput",
]
