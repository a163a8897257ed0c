"""`python -m codegen` is `toolgen`."""

from codegen.cli import main

main()
