# What users, developers and CI run; `make help` lists it.

PYTHON ?= python3
BIN := .venv/bin
# `make lock UPGRADE=--upgrade` takes the newest releases; without it, pins that still fit stay.
UPGRADE ?=
COMPILE := $(BIN)/uv pip compile --quiet --no-config --universal --generate-hashes \
	--python-version 3.11 --no-emit-index-url --no-header --no-annotate $(UPGRADE)
FUZZ_S ?= 3600
SCRIPTS = $(sort $(dir $(wildcard scenarios/*.py scenarios/servers/*/*.py docs/*.py results/reference/*.py)))

.DEFAULT_GOAL := help
.PHONY: help setup run check reference notebooks servers lab browser fuzz lock

help: ## Say what there is
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' Makefile

setup: ## Build .venv with all that the other targets need; does nothing where it is up to date
	@set -eu; \
	want="$$(cat pyproject.toml requirements*.txt | cksum) $(CURDIR)"; \
	if [ -x $(BIN)/python ] && [ "$$(cat .venv/.setup 2>/dev/null)" = "$$want" ]; then exit 0; fi; \
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo 'make setup: $(PYTHON) must be Python 3.11 or newer; name one: make setup PYTHON=…' >&2; \
		exit 2; }; \
	$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			apt-get update -qq && \
			DEBIAN_FRONTEND=noninteractive apt-get install -qq -y python3-venv; \
		else \
			echo 'make setup: $(PYTHON) lacks venv; on Debian: apt-get install python3-venv' >&2; \
			exit 2; \
		fi; }; \
	echo 'make setup: building .venv' >&2; \
	clear=; [ -x $(BIN)/python ] && grep -qsF '$(CURDIR)/.venv' .venv/pyvenv.cfg || clear=--clear; \
	rm -f .venv/.setup; \
	$(PYTHON) -m venv $$clear .venv; \
	$(BIN)/python -m pip install -qq --require-hashes -r requirements-dev.txt; \
	$(BIN)/python -m pip install -qq --no-deps --no-build-isolation -e .; \
	echo "$$want" > .venv/.setup

run: setup ## Measure the ticket server on every transport and era
	$(BIN)/mcp-latency run tickets

servers: setup ## Install every server that a recipe names, outside the source tree
	$(BIN)/python -m bench.needs

lab: setup # The SDKs that the probe is tested on and the oldest pandas, outside the source tree
	$(BIN)/python -m tests.probe.lab

browser: # What the HTML report is tested in
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || \
		command -v google-chrome >/dev/null || { \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
				apt-get install -qq -y --no-install-recommends chromium fonts-dejavu-core; \
		else \
			echo 'make check: no Chromium; on Debian: apt-get install chromium' >&2; \
			exit 2; \
		fi; }

check: setup servers lab browser ## The whole gate, as CI runs it
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	@for folder in $(SCRIPTS); do \
		echo $(BIN)/mypy $$folder; MYPYPATH=$$folder $(BIN)/mypy $$folder || exit 1; \
	done
	$(BIN)/pytest

reference: setup servers ## Measure what results/reference lacks, an hour for all of it; goes on where it stopped
	$(BIN)/python results/reference/make.py

notebooks: setup ## Play the notebooks anew on the runs of results/reference
	$(BIN)/python -m tests.notebooks

fuzz: setup ## Made-up servers against every wire for an hour; another time: make fuzz FUZZ_S=600
	$(BIN)/python -m tests.fuzz $(FUZZ_S)

lock: setup ## Resolve pyproject.toml and the recipes' needs into the lock files
	$(COMPILE) --extra sdk --extra node --extra spans pyproject.toml -o requirements.txt
	$(COMPILE) --extra sdk --extra notebooks pyproject.toml tests/probe/environments/oldest.in \
		-o tests/probe/environments/oldest.txt
	$(COMPILE) --all-extras -c requirements.txt pyproject.toml -o requirements-dev.txt
	COMPILE='$(COMPILE)' $(BIN)/python scenarios/lock.py
