# Two commands on a fresh machine; each sets itself up.
#   make train    trains tic-tac-toe to perfect play and prints an evaluation report
#   make test     runs the tests
#   make test-all   runs the tests that take longer, too

PYTHON ?= python3
BIN := .venv/bin
PYTEST := $(BIN)/python -m pytest --numprocesses auto --dist worksteal --durations 10
# Tests that compile much and compute little are faster without LLVM's optimizations: 178 s instead of
# 255 for four modules. Tests that compute much would be slower, so they keep the optimizations.
UNOPTIMIZED := XLA_FLAGS="--xla_backend_optimization_level=0 $$XLA_FLAGS" $(PYTEST)
COMPILING := $(addprefix tests/,cli learning network notebook replay runs search selfplay training)
RUN ?= runs/tic_tac_toe_$(shell date +%Y%m%d_%H%M%S)

.PHONY: train test test-rest test-all slow lint docs demo plan

train: .venv/ready
	$(BIN)/azjax train configs/tic_tac_toe.toml --run-dir $(RUN)
	$(BIN)/azjax report $(RUN) --against random uct:1000 --games 1000

test: .venv/ready-dev
	$(UNOPTIMIZED)

# What `make test` leaves out: the second tier, and the slow tests of protocols, docs and notebooks.
test-rest: .venv/ready-dev
	$(UNOPTIMIZED) -m "second_tier and not slow" $(COMPILING)
	$(PYTEST) -m "second_tier and not slow" tests $(addprefix --ignore=,$(COMPILING))
	$(PYTEST) -m slow tests/play tests/test_docs.py tests/test_notebooks.py

test-all: test test-rest

# Tests that take minutes each, of the files in TESTS or all of them.
slow: .venv/ready-dev
	$(PYTEST) -m slow $(TESTS)

lint: .venv/ready-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyrefly check --python-interpreter-path $(BIN)/python

# The documentation, into site/. Nothing is fetched from outside while it is built.
docs: .venv/ready-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# A gallery of the players that come with azjax, next to the documentation. npm fetches the runtime.
demo: docs
	$(BIN)/python -m pip install --quiet --editable '.[web]' --constraint constraints.txt
	$(BIN)/azjax web --all --out site/play

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "azjax needs Python 3.11 or newer: make PYTHON=python3.12 ..." >&2; exit 2; }
	$(PYTHON) -m venv .venv

.venv/ready: .venv/bin/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --editable . --constraint constraints.txt
	@touch $@

.venv/ready-dev: .venv/ready
	$(BIN)/python -m pip install --quiet --editable '.[dev]' --constraint constraints.txt
	@touch $@

# What compiles for TPUs and GPUs that are not here, for the tests of `azjax plan`. It has a folder of
# its own, because every process that finds it would look for a TPU and a GPU when JAX starts.
plan: .venv/ready-plan

.venv/ready-plan: .venv/ready-dev
	for part in "libtpu" "jax-cuda12-plugin jax-cuda12-pjrt nvidia-cuda-nvcc-cu12"; do \
	  $(BIN)/python -m pip install --quiet --no-deps --no-compile --upgrade \
	    --target .venv/plan --constraint constraints.txt $$part || \
	    echo "not installed, so that some tests of azjax plan are skipped: $$part" >&2; \
	done
	@touch $@

.venv/ready-docs: .venv/ready
	$(BIN)/python -m pip install --quiet --editable '.[docs]' --constraint constraints.txt
	@touch $@
