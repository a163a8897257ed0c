"""The command line fixtures serve here too."""

from tests.cli.conftest import project, run

__all__ = ["project", "run"]
