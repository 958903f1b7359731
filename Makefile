# Every target makes what it needs, from a fresh clone on: an environment in .venv, with the extra it uses.
# A stamp in .venv says that an extra is installed; it is made again only when pyproject.toml is newer.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help demo test check static format bench docs clean

help:  ## say what each target does
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 16

demo: $(STAMP)-demo  ## run a real program on a real photograph; the results go to build/
	$(BIN)/python examples/edges.py

test: static  ## run everything that must pass: the checks, all tests, all doctests
	$(BIN)/pytest -n auto --maxprocesses 8 --dist worksteal

check: static  ## run the quick part: format, lint, types, doctests, import directions, examples of the docs
	$(BIN)/pytest lamina tests/test_imports.py tests/test_docs.py

static: $(STAMP)-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(STAMP)-dev  ## format the source and mend what the linter can mend
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(STAMP)-bench  ## measure against the peers, side by side (BENCH="--write": keep the tables)
	$(BIN)/python -m benchmarks $(BENCH)

docs: $(STAMP)-docs  ## build the pages into build/docs
	$(BIN)/mkdocs build --quiet --strict

clean:  ## remove what make made
	rm -rf $(VENV) build dist

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(STAMP)-%: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	@touch $@
