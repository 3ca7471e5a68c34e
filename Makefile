# Everything a developer runs. `make setup` builds .venv; the other targets call it.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

.PHONY: setup demo test truth pictures experiments lint format bench lock clean

setup: $(READY)

# The stamp is written last: an interrupted set-up is begun again, never taken for a finished one.
$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else f"loadrig needs Python 3.11 or later; {sys.executable} is {sys.version.split()[0]}. Name another: make PYTHON=python3.12")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $(READY)

demo: setup
	$(BIN)/rig compare threads threads:threads=400 async --n 400 --runs 5

test: setup
	$(BIN)/python -m pytest

# The findings against servers whose truth is known, in full; writes docs/truth.md. `test` has the short form.
truth: setup
	$(BIN)/python -m tests.truth

# The pictures, sentences and outputs of docs/findings.md, from real runs; ARGS names some of them.
pictures: setup
	$(BIN)/python -m tests.truth.pictures $(ARGS)

# The documents' experiments, each run for real; writes docs/experiments.md. ARGS names some of them.
experiments: setup
	$(BIN)/python -m bench.experiments $(ARGS)

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: setup
	$(BIN)/python -m bench

# Rewrites requirements.lock from pyproject.toml with the newest versions. Needs uv on PATH.
lock:
	uv pip compile pyproject.toml --group dev --universal --python-version 3.11 --generate-hashes --upgrade \
	  --no-emit-index-url --no-emit-find-links --custom-compile-command 'make lock' --quiet --output-file requirements.lock

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
