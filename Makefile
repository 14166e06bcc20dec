# Everything a developer or CI does. `make demo` and `make test` work on a machine with Python 3.10+ and make.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
WORKERS ?= 2
CRANFIELD ?= ../shared/data/cranfield
# Tests start many interpreters; without bytecode on disk each compiles all of ours again.
test test-processes: export PYTHONDONTWRITEBYTECODE :=

.PHONY: help demo test test-processes test-all test-oldest lint format faults bench dashboards eval clean

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 14

$(VENV)/.stamp: pyproject.toml
	@if command -v uv >/dev/null 2>&1; then \
		uv venv --quiet --allow-existing --python $(PYTHON) $(VENV) && \
		uv pip install --quiet --python $(BIN)/python -e '.[dev]'; \
	else \
		$(PYTHON) -m venv $(VENV) && $(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'; \
	fi
	@touch $@

demo: $(VENV)/.stamp  ## the main job on real input: index, search, vote, collect, measure, draw
	$(BIN)/ragledger demo

test: $(VENV)/.stamp  ## everything that needs no outside service; Postgres comes from a wheel
	$(BIN)/python -m pytest -n $(WORKERS) -m 'not faults and not demo and not processes'

test-processes: $(VENV)/.stamp  ## the tests that start applications and servers in interpreters of their own
	$(BIN)/python -m pytest -n $(WORKERS) -m processes

test-all:  ## the tests on every Python 3.10 to 3.14 that is found here
	@$(PYTHON) tests/interpreters.py $(WORKERS)

test-oldest:  ## the adapters' tests on the oldest supported LangChain and LlamaIndex
	@if command -v uv >/dev/null 2>&1; then \
		uv venv --quiet --allow-existing --python $(PYTHON) $(VENV)-oldest && \
		uv pip install --quiet --python $(VENV)-oldest/bin/python -e '.[langchain,llama-index,embedded,otlp]' -r tests/oldest.txt; \
	else \
		$(PYTHON) -m venv $(VENV)-oldest && \
		$(VENV)-oldest/bin/python -m pip install --quiet -e '.[langchain,llama-index,embedded,otlp]' -r tests/oldest.txt; \
	fi
	$(VENV)-oldest/bin/python -m pytest -n $(WORKERS) tests/adapters

lint: $(VENV)/.stamp  ## format, ruff, types, import contracts
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.stamp  ## format and mend what can be mended
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

dashboards: $(VENV)/.stamp  ## Grafana's JSON, from the panels in src/ragledger/panels
	$(BIN)/python -m ragledger.panels dashboards

faults: $(VENV)/.stamp  ## kills, outages, mutants; writes docs/faults.md
	$(BIN)/python -m pytest -n $(WORKERS) -m faults tests/faults --faults-page=docs/faults.md

simulate: $(VENV)/.stamp  ## do the intervals and the comparison hold what they say? seeds from the commit
	$(BIN)/python benchmarks/intervals.py --runs 750
	$(BIN)/python benchmarks/comparison.py --seeds 100 --only same --world "one surface"
	$(BIN)/python benchmarks/comparison.py --seeds 25 --only family
	$(BIN)/python benchmarks/comparison.py --seeds 25 --only voters

bench: $(VENV)/.stamp  ## what every number in the README is produced by
	@for script in benchmarks/*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

eval: $(VENV)/.stamp  ## judged questions through the real retrievers; writes reports/ and the README's relevance section
	$(BIN)/python -m ragledger.demo.evaluation --cranfield $(CRANFIELD)

clean:  ## remove what was built
	rm -rf $(VENV) $(VENV)-oldest .venv-3* .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist
