# Everything starts here: `make run` to use Onus, `make test` to work on it. Needs Python 3.11 or later.

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin

.PHONY: setup test lint types run long lock clean

setup: .venv/made

.venv/made: requirements.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "make: Python 3.11 or later is needed: install it, or name it with PYTHON=…" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

test: setup lint types
	$(BIN)/python -m pytest -n 2

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup
	$(BIN)/mypy

run: setup
	$(BIN)/onus up

# Many more random lives than `make test` has time for.
long: setup
	ONUS_TEST_LIVES=1000 $(BIN)/python -m pytest tests/ledger/test_life.py

# Pin the newest of everything; the lock carries hashes and no address.
lock: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
		--no-header --extra test --output-file requirements.lock pyproject.toml

clean:
	rm -rf .venv var .pytest_cache .mypy_cache .ruff_cache .hypothesis tests/.server
