# Two commands on a fresh machine; each sets itself up.
#   make train    trains tic-tac-toe to perfect play and prints an evaluation report
#   make test     runs the tests
# And, for minutes to hours: make slow, or make slow TESTS="tests/web ...".

PYTHON ?= python3
BIN := .venv/bin
RUN ?= runs/tic_tac_toe_$(shell date +%Y%m%d_%H%M%S)

.PHONY: train test slow lint docs

train: .venv/ready
	$(BIN)/azjax train configs/tic_tac_toe.toml --run-dir $(RUN)
	$(BIN)/azjax report $(RUN) --against random uct:1000 --games 1000

test: .venv/ready-dev
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal

slow: .venv/ready-dev
	$(BIN)/python -m pytest -m slow --numprocesses auto --dist worksteal $(TESTS)

lint: .venv/ready-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyrefly check --python-interpreter-path $(BIN)/python

# The documentation, into site/. Nothing is fetched from outside while it is built.
docs: .venv/ready-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

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

.venv/ready-docs: .venv/ready
	$(BIN)/python -m pip install --quiet --editable '.[docs]' --constraint constraints.txt
	@touch $@
