# Two commands on a fresh machine; each sets itself up.
#   make train    trains tic-tac-toe to perfect play and prints an evaluation report
#   make test     runs the tests
#   make test-all   runs the tests that take longer, too

PYTHON ?= python3
version := $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')
# The versions of packages: `pinned` and `newest` are those of two files, `lowest` those that
# pyproject.toml declares, `latest` whatever the registry has today.
STACK ?= $(if $(filter 3.11,$(version)),pinned,newest)
# Each Python and stack that is asked for has an environment of its own.
VENV ?= .venv$(if $(filter-out file,$(origin PYTHON) $(origin STACK)),-$(version)-$(STACK))
pinned := constraints.txt
newest := constraints-newest.txt
lowest := $(VENV)/lowest.txt
latest := /dev/null
CONSTRAINTS := $(or $($(filter pinned newest lowest latest,$(STACK))),\
  $(error STACK is pinned, newest, lowest or latest, not $(STACK)))
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --constraint $(CONSTRAINTS)
# Tests wait for processes that they start, so one more worker than cores is busy.
workers := $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
# A test that takes ten minutes hangs: this tells where.
PYTEST := $(BIN)/python -m pytest --numprocesses $(workers) --dist worksteal --durations 10\
  -o faulthandler_timeout=600
# Tests that compile much and compute little are faster without LLVM's optimizations: 178 s instead of
# 255 for four modules. Without fusions by MLIR, which jax 0.12 always has, compiling a cycle of
# training takes 3.4 s instead of 6.7. Tests that compute much, or that measure, keep both.
unoptimized := --xla_backend_optimization_level=0\
  $(if $(filter pinned,$(STACK)),--xla_cpu_use_fusion_emitters=false)
UNOPTIMIZED := XLA_FLAGS="$(unoptimized) $$XLA_FLAGS" $(PYTEST)
# Processes that tests start, and the next start of pytest, read what Python has compiled.
export PYTHONDONTWRITEBYTECODE :=
RUN ?= runs/tic_tac_toe_$(shell date +%Y%m%d_%H%M%S)

# A virtual environment without pip, which Debian makes where python3-venv is missing, is made again.
.DELETE_ON_ERROR:

.PHONY: venv train test test-all test-lowest slow lint docs demo plan

# Everything that tests need.
venv: $(VENV)/ready-dev

train: $(VENV)/ready
	$(BIN)/azjax train configs/tic_tac_toe.toml --run-dir $(RUN)
	$(BIN)/azjax report $(RUN) --against random uct:1000 --own-games 0 --baselines

# All of the first tier, or TESTS.
test: $(VENV)/ready-dev
	$(UNOPTIMIZED) $(TESTS)

# With the lowest versions. Before 0.10.2 jax prints an error about the CPU for each program that it
# reads from the cache, although nothing is wrong; so none is kept.
test-lowest:
	JAX_ENABLE_COMPILATION_CACHE=0 $(MAKE) test STACK=lowest

# The second tier, too. What compiles much is with the first, because each start of pytest takes a
# while and leaves cores idle at its end.
test-all: $(VENV)/ready-dev
	$(UNOPTIMIZED) -m "not slow and not optimized"
	$(PYTEST) -m "optimized and not slow"

# Tests that take minutes each, of the files in TESTS or all of them.
slow: $(VENV)/ready-dev
	$(PYTEST) -m slow $(TESTS)

lint: $(VENV)/ready-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyrefly check --python-interpreter-path $(BIN)/python

# The documentation, into site/. Nothing is fetched from outside while it is built.
docs: $(VENV)/ready-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# A gallery of the players that come with azjax, next to the documentation. npm fetches the runtime.
demo: docs
	$(INSTALL) --editable '.[web]'
	$(BIN)/azjax web --all --out site/play

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "azjax needs Python 3.11 or newer: make PYTHON=python3.12 ..." >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/lowest.txt: $(BIN)/python pyproject.toml
	@[ "$(version)" = 3.11 ] || { echo "STACK=lowest needs Python 3.11: make PYTHON=python3.11 ..." >&2; exit 2; }
	sed '/^docs = /,$$d' pyproject.toml | grep -oE '[A-Za-z0-9_-]+>=[0-9.]+' | sed 's/>=/==/' > $@

$(VENV)/ready: $(BIN)/python pyproject.toml $(filter-out /dev/null,$(CONSTRAINTS))
	$(INSTALL) --editable .
	@touch $@

$(VENV)/ready-dev: $(VENV)/ready
	$(INSTALL) --editable '.[dev]'
	@touch $@

# What compiles for TPUs and GPUs that are not here, for the tests of `azjax plan`. It has a folder of
# its own, because every process that finds it would look for a TPU and a GPU when JAX starts.
# Under continuous integration a missing wheel is a failure.
plan: $(VENV)/ready-plan

$(VENV)/ready-plan: $(VENV)/ready-dev
	for part in "libtpu" "jax-cuda12-plugin jax-cuda12-pjrt nvidia-cuda-nvcc-cu12"; do \
	  $(INSTALL) --no-deps --no-compile --upgrade --target $(VENV)/plan $$part || \
	    { echo "not installed, so that some tests of azjax plan are skipped: $$part" >&2; \
	      [ -z "$$CI" ] || exit 1; }; \
	done
	@touch $@

$(VENV)/ready-docs: $(VENV)/ready
	$(INSTALL) --editable '.[docs]'
	@touch $@
