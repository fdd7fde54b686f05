# HyperFlow: every command a developer or a first-time user needs. `make help` lists them.
.DEFAULT_GOAL := help
SHELL := /bin/sh
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3 python; do \
  $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
PYTHON312 = $(shell for p in python3.12 "$$HOME"/.pyenv/versions/3.12*/bin/python; do \
  $$p -c 'import sys; sys.exit(sys.version_info[:2] != (3, 12))' 2>/dev/null && { echo $$p; break; }; done)
VENV := .venv
BIN := $(VENV)/bin
OUT ?= out
TEST_WORKERS ?= 2

.PHONY: help setup setup-local demo demo-local test test-other test-frameworks lint types layers wheel check oracles golden docs bench clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(VENV)/.installed ## create .venv with all that HyperFlow and its tests need

$(VENV)/.installed: pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "HyperFlow needs Python 3.11 or later on PATH"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,kfp]'
	@touch $@

setup-local: setup $(VENV)/.installed-local ## add PyTorch, for training on this machine

$(VENV)/.installed-local: pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "HyperFlow needs Python 3.11 or later on PATH"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@# compiling all of PyTorch's files ahead takes longer than the small GPT trains
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -c constraints.txt -e '.[local]'
	@touch $@

demo-local: $(VENV)/.installed-local ## compile the small GPT and train it on this machine as two clusters
	$(BIN)/python -m hyperflow.compile examples/03_tiny_local/job.py -o $(OUT)/tiny
	$(BIN)/hyperflow run-local $(OUT)/tiny --workdir examples/03_tiny_local

demo: setup ## compile the two-city example and show its plan and files
	$(BIN)/python -m hyperflow.compile examples/01_two_cities/job.py -o $(OUT)/two_cities

demo-kfp: setup ## run the example pipelines of Kubeflow on this machine, the jobs as processes
	@$(BIN)/python -c 'import kfp' 2>/dev/null || { echo "pipelines need kfp: pip install 'hyperflow[kfp]'"; exit 1; }
	torch=$$($(BIN)/python -c 'import torch' 2>/dev/null || echo $(CURDIR)/examples/04_kfp_pipeline/without_torch); \
	for name in pipeline sweep fallback; do \
	  PIP_NO_INDEX=1 PIP_NO_DEPS=1 PYTHONPATH="$$torch:$$PYTHONPATH" $(BIN)/python examples/04_kfp_pipeline/$$name.py --local || exit 1; done

test: setup ## run all tests
	$(BIN)/python -m pytest -n $(TEST_WORKERS)

lint: setup ## formatting and lint rules
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: setup ## pyright in strict mode
	$(BIN)/pyright

layers: setup ## the direction of imports
	$(BIN)/lint-imports

wheel: setup ## build the wheel, compile the examples from it and run a pipeline
	rm -rf build/wheel build/out dist
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps -w dist .
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --target build/wheel dist/hyperflow-*.whl
	cd build && PYTHONPATH=wheel PYTHONSAFEPATH=1 ../$(BIN)/python -c "import hyperflow, pathlib; \
	  assert 'wheel' in pathlib.Path(hyperflow.__file__).parts, hyperflow.__file__"
	cd build && for job in ../examples/*/job.py; do \
	  PYTHONPATH=wheel PYTHONSAFEPATH=1 ../$(BIN)/python -m hyperflow.compile $$job --check --format json >/dev/null || exit 1; done
	@echo "the wheel compiles every example"
	@if $(BIN)/python -c 'import kfp' 2>/dev/null; then \
	  cd build && PIP_NO_INDEX=1 PIP_NO_DEPS=1 PYTHONSAFEPATH=1 \
	    PYTHONPATH="$(CURDIR)/build/wheel:$(CURDIR)/examples/04_kfp_pipeline/without_torch" ../$(BIN)/python ../examples/04_kfp_pipeline/pipeline.py --local >pipeline.log 2>&1 || { cat pipeline.log; exit 1; }; \
	  grep -q "COMPLETED" out/kfp/pipeline/*/train-line/status && echo "a pipeline of the wheel trains and evaluates"; \
	else echo "not tested: a pipeline of the wheel, since kfp is absent"; fi

test-other: ## the same tests on Python 3.12 with PuLP 4 and the newest kubernetes client, where 3.12 is at hand
	@if test -n "$(PYTHON312)"; then \
	  test -x .venv-312/bin/pytest || { "$(PYTHON312)" -m venv .venv-312 && .venv-312/bin/python -m pip install --quiet \
	    --disable-pip-version-check -c constraints.txt -e '.[dev]' 'kubernetes>=37,<38'; }; \
	  .venv-312/bin/python -m pytest -n $(TEST_WORKERS); \
	else echo "not tested: Python 3.12 with PuLP 4 and kubernetes 37, since no Python 3.12 is at hand"; fi

test-frameworks: ## the emitted flags and files against the frameworks themselves, on the CPU, in .venv-frameworks
	test -x .venv-frameworks/bin/pytest || { $(PYTHON) -m venv .venv-frameworks && .venv-frameworks/bin/python -m pip install \
	  --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,local]' megatron-core==0.16.1; }
	.venv-frameworks/bin/python -m pytest -m frameworks

check: lint types layers test wheel ## what CI runs

oracles: setup ## check the installed command against the recordings, where they are
	@if test -f ../shared/tools/oracles.py; then PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python ../shared/tools/oracles.py $(CHECKS); \
	else echo "oracles: ../shared/tools/oracles.py is not here, nothing was checked"; fi

golden: setup ## rewrite the expected outputs of the examples (read the diff as code)
	$(BIN)/python -m tests.golden
	$(BIN)/python -m tests.kfp_golden

docs: setup ## rewrite the generated pages (docs/errors.md)
	$(BIN)/python docs/generate.py

clean: ## remove what the targets made
	rm -rf $(VENV) $(OUT) .pytest_cache .ruff_cache .import_linter_cache .hypothesis
