# HyperFlow: every command a developer or a first-time user needs. `make help` lists them.
.DEFAULT_GOAL := help
SHELL := /bin/sh
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3 python; do \
  $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
VENV := .venv
BIN := $(VENV)/bin
OUT ?= out
TEST_WORKERS ?= 2

.PHONY: help setup demo test lint types layers check oracles golden docs bench clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(VENV)/.installed ## create .venv with all that HyperFlow and its tests need

$(VENV)/.installed: pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "HyperFlow needs Python 3.11 or later on PATH"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,kfp]'
	@touch $@

demo: setup ## compile the two-city example and show its plan and files
	$(BIN)/python -m hyperflow.compile examples/01_two_cities/job.py -o $(OUT)/two_cities

test: setup ## run all tests
	$(BIN)/python -m pytest -n $(TEST_WORKERS)

lint: setup ## formatting and lint rules
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: setup ## pyright in strict mode
	$(BIN)/pyright

layers: setup ## the direction of imports
	$(BIN)/lint-imports

check: lint types layers test ## what CI runs

oracles: setup ## check the installed command against the recordings, where they are
	@if test -f ../shared/tools/oracles.py; then PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python ../shared/tools/oracles.py $(CHECKS); \
	else echo "oracles: ../shared/tools/oracles.py is not here, nothing was checked"; fi

golden: setup ## rewrite the expected outputs of the examples (read the diff as code)
	$(BIN)/python -m tests.golden

docs: setup ## rewrite the generated pages (docs/errors.md)
	$(BIN)/python docs/generate.py

clean: ## remove what the targets made
	rm -rf $(VENV) $(OUT) .pytest_cache .ruff_cache .import_linter_cache .hypothesis
