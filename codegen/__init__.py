"""toolgen: compiles JSON Schema function specs into what a Python service needs to let models call its functions."""

__version__ = "0.1.0"
