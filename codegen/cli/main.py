"""The group of all commands."""

from __future__ import annotations

import importlib

import click

from codegen import __version__

_COMMANDS = {
    "build": "Compile specs into a package.",
    "check": "Say what a build would change, and write nothing.",
    "explain": "Show how a tool becomes what an API is sent, step by step.",
    "journal": "Look into a service's journal, and decide calls whose outcome is unknown.",
    "lint": "Find specs that cannot work, and mend what is certain.",
    "simulate": "Run local servers that speak the APIs.",
    "targets": "List the APIs that tools can be registered with.",
}
"""By name, with the line for the overview, so that showing it loads none of them."""


class _LazyGroup(click.Group):
    """A group that imports a command's module when the command is used: checking must start fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(f"codegen.cli.{cmd_name}")
        command = getattr(module, cmd_name)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="toolgen")
def main() -> None:
    """Compile JSON Schema function specs into typed, validated tool calls for LLM APIs."""
