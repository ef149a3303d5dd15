PYTHON ?= python3
VENV ?= .venv

# Several trials run side by side, one process each: more threads would fight over the same cores.
OMP_NUM_THREADS ?= 1
export OMP_NUM_THREADS

INSTALLED := $(VENV)/.installed

.PHONY: help quickstart test test-slow chaos evidence lock clean

help:  ## show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20

quickstart: $(INSTALLED)  ## train RIDE and the same learner without a bonus, side by side
	@$(VENV)/bin/rllib-ride run tune_configs/quickstart.yaml $(if $(wildcard runs/quickstart/trials.json),--resume)

test: $(INSTALLED)  ## every check: ruff, mypy and the test suite
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/pytest -q --timeout 600

test-slow: $(INSTALLED)  ## the tests that take more than a few minutes each
	$(VENV)/bin/pytest -q -m slow

chaos: $(INSTALLED)  ## break real trainings and check what is left: FAULTS=20 SEED=0
	$(VENV)/bin/python tests/chaos/run.py --faults $(or $(FAULTS),20) --seed $(or $(SEED),0)

evidence: $(INSTALLED)  ## measure parts of results/ again: PARTS="n7s4_ride ...", see results/commands.txt
	tools/evidence.sh $(PARTS)

lock:  ## resolve the dependencies anew into constraints.txt (PYTHON: the oldest supported)
	$(PYTHON) tools/lock.py

clean:  ## remove the environment and all caches, never runs/
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(INSTALLED): setup.cfg pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(v < (3, 11) and f"rllib-ride needs Python 3.11 or newer, this is {v[0]}.{v[1]}: make PYTHON=python3.12 ...")'
	@echo "Installing into $(VENV) (a minute or more) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(VENV)/bin/pip install --quiet --disable-pip-version-check -c constraints.txt --config-settings editable_mode=compat -e '.[dev]'
	@touch $@
