"""The command line: one module a command, each thin, loaded when it is used."""

from codegen.cli.main import main

__all__ = ["main"]
