# Everything starts here: `make run` to use Onus, `make test` to work on it. Needs Python 3.11 or later.

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin

.PHONY: setup browser test lint types run long chaos libreoffice screenshots bench lock clean

setup: .venv/made
	@$(MAKE) --no-print-directory browser || echo "make: no browser, so the browser tests cannot run: install chromium" >&2

.venv/made: requirements.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "make: Python 3.11 or later is needed: install it, or name it with PYTHON=…" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

# The browser tests take the chromium of the PATH; Debian's is installed where that is possible, else Playwright's own.
browser: .venv/made
	@command -v chromium >/dev/null \
		|| { test "$$(id -u)" = 0 && command -v apt-get >/dev/null \
			&& apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null; } \
		|| $(BIN)/playwright install chromium \
		|| { echo "make: install chromium (Debian: apt-get install chromium), then try again" >&2; exit 1; }

test: setup browser lint types
	$(BIN)/python -m pytest -n 2 --dist worksteal

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup
	$(BIN)/mypy

run: setup
	$(BIN)/onus up --demo

# Many more random lives, days and obligations than `make test` has time for.
long: setup
	ONUS_TEST_LIVES=1000 ONUS_TEST_DAYS_APART=53 ONUS_TEST_OBLIGATIONS=10000 \
	ONUS_TEST_YEARS=5 ONUS_TEST_WEEKS_APART=1 $(BIN)/python -m pytest \
		tests/ledger/test_life.py tests/ledger/test_three_years.py tests/ledger/test_year.py \
		tests/scheduler/test_many_scans.py

# For so many minutes everything breaks at random, from one seed: `make chaos MINUTES=60 SEED=7`.
MINUTES ?= 10
SEED ?= 1
chaos: setup
	ONUS_CHAOS_MINUTES=$(MINUTES) ONUS_CHAOS_SEED=$(SEED) $(BIN)/python -m pytest -s tests/chaos/test_random.py

# Reports as LibreOffice opens them. Where it is missing, Debian's is installed if that is possible: half a gigabyte.
libreoffice: setup
	@command -v soffice >/dev/null \
		|| { test "$$(id -u)" = 0 && command -v apt-get >/dev/null && apt-get update -qq \
			&& DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends libreoffice-calc-nogui >/dev/null; } \
		|| { echo "make: install LibreOffice (Debian: libreoffice-calc-nogui), then try again" >&2; exit 1; }
	$(BIN)/python -m pytest -m libreoffice tests/libreoffice

# Twelve pages of the demo on a phone and on a desk, as pictures in var/screenshots, for whoever judges how they look.
screenshots: setup browser
	$(BIN)/python -m bench.screenshots

# Ratios, measured side by side in one run; see docs/operating.md for what they were.
bench: setup
	$(BIN)/python -m bench.import_register
	$(BIN)/python -m bench.first_scan

# Pin the newest of everything; the lock carries hashes and no address.
lock: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
		--no-header --extra test --output-file requirements.lock pyproject.toml

clean:
	rm -rf .venv var .pytest_cache .mypy_cache .ruff_cache .hypothesis tests/.server
