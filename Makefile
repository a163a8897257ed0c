# Two commands for a fresh machine with Python 3.11+, its venv module and make: `make demo` and `make test`.
# Each makes its own virtual environment and installs what it needs; a second run finds it ready.

PYTHON ?= python3
TEST_VENV := .venv/test
DEMO_VENV := .venv/demo
TEST_BIN := $(TEST_VENV)/bin
DEMO_BIN := $(DEMO_VENV)/bin

.PHONY: demo test lint types generated conformance soak clean

demo: $(DEMO_VENV)/ready
	$(DEMO_BIN)/python examples/demo.py

test: $(TEST_VENV)/ready lint types generated
	$(TEST_BIN)/python -m pytest -q -n auto --dist loadgroup

lint: $(TEST_VENV)/ready
	$(TEST_BIN)/ruff check .
	$(TEST_BIN)/black --quiet --check codegen tests examples benchmarks
	$(TEST_BIN)/black --quiet --check --line-length 88 templates/runtime generated

types: $(TEST_VENV)/ready
	$(TEST_BIN)/mypy codegen templates/runtime examples
	$(TEST_BIN)/mypy --config-file tests/consumer/mypy.ini generated tests/consumer
	$(TEST_BIN)/pyright --pythonpath $(TEST_BIN)/python --project tests/consumer/pyrightconfig.json

generated: $(TEST_VENV)/ready
	$(TEST_BIN)/toolgen check specs/

# Writes docs/conformance.md anew.
conformance: $(TEST_VENV)/ready
	$(TEST_BIN)/python -m tests.conformance.report

# Kills a few hundred workers, and ends with an error where anything is duplicate, lost or unanswered.
soak: $(TEST_VENV)/ready
	$(TEST_BIN)/python -m tests.journal.soak --kills 200 --store sqlite
	$(TEST_BIN)/python -m tests.journal.soak --kills 200 --store postgres
	$(TEST_BIN)/python -m tests.loops.soak --kills 200

$(TEST_VENV)/ready: pyproject.toml
	$(PYTHON) -m venv $(TEST_VENV)
	$(TEST_BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	touch $@

$(DEMO_VENV)/ready: pyproject.toml
	$(PYTHON) -m venv $(DEMO_VENV)
	@echo "installing what the demo needs, which takes a few minutes the first time"
	$(DEMO_BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[demo]'
	touch $@

clean:
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis
