# make validate | test | check | check-theorems | docs | bench | soak | mutation | clean: each makes its own environment
# first. make validate-full and test-full run everything.
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
REPORTS := reports
# Bytecode is kept also where the surroundings say otherwise: a run starts hundreds of processes, and tests are rewritten.
export PYTHONDONTWRITEBYTECODE :=
# Tried in this order for a new environment.
PYTHONS ?= python3.11 python3.12 python3.13 python3

.PHONY: validate validate-full test test-full test-changed check check-theorems docs links power bench-gpu bench soak mutation dist-check constraints clean
.DEFAULT_GOAL := test

$(READY): pyproject.toml constraints.txt
	@if ! test -x $(BIN)/python; then \
	  for python in $(PYTHONS); do \
	    if $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	      echo "Making $(VENV) with $$python and the pinned packages; this takes a few minutes the first time."; \
	      $$python -m venv $(VENV) && break || exit 1; \
	    fi; \
	  done; \
	fi
	@test -x $(BIN)/python || { echo "Python 3.11 or newer is needed: install it, then run make again." >&2; exit 1; }
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt setuptools
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt --no-build-isolation -e '.[dev]'
	@touch $@

# The standard profile: the checks and runs that decide. validate-full: all of them.
validate: $(READY)
	$(BIN)/dpfl-theory reproduce --output $(REPORTS)

validate-full: $(READY)
	$(BIN)/dpfl-theory reproduce --full --output $(REPORTS)

# A sample of each law, and one run of each command. test-full: all cases of all tests, those of the documentation site too.
test: $(READY)
	$(BIN)/python -m pytest -q -n auto --dist worksteal

test-full: $(VENV)/.docs
	$(BIN)/python -m pytest -q -n auto --dist worksteal --exhaustive

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

# Of what 'make test' leaves out the tests that a change since CI_BASE (HEAD~1 where it is not set) concerns, the most
# specific ones first, for a minute. Exit code 5: there is none.
test-changed: $(READY)
	@base=$${CI_BASE:-HEAD~1}; \
	if git rev-parse --verify --quiet --end-of-options "$$base^{commit}" >/dev/null 2>&1 \
	    && git ls-files --error-unmatch dpfl_theory/__init__.py >/dev/null 2>&1; then \
	  $(BIN)/python -m pytest -q -n auto --dist load --maxschedchunk 1 "--left-out-since=$$base" --seconds 60 \
	    || test $$? -eq 5; \
	else \
	  echo "There is no revision $$base here: no test is known to be concerned."; \
	fi

# What rests on files that changed since CI_BASE (HEAD~1 where it is not set): the standard profile to a decision, then all
# checks for some thirty seconds. A check that has begun is finished. Exit code 3 (undecided for lack of time) is
# printed and does not fail. Without that revision: the whole standard profile.
check-theorems: $(READY)
	@run() { echo "$$*"; status=0; "$$@" || status=$$?; \
	  if test $$status -eq 3; then echo "Some checks are undecided for lack of time, which is no failure."; \
	  elif test $$status -ne 0; then exit $$status; fi; }; \
	base=$${CI_BASE:-HEAD~1}; \
	if git rev-parse --verify --quiet --end-of-options "$$base^{commit}" >/dev/null 2>&1 \
	    && git ls-files --error-unmatch dpfl_theory/__init__.py >/dev/null 2>&1; then \
	  run $(BIN)/dpfl-theory check --standard "--changed-since=$$base"; \
	  run $(BIN)/dpfl-theory check "--changed-since=$$base" --budget 30s; \
	else \
	  run $(BIN)/dpfl-theory check --standard; \
	fi

# The documentation site, build/docs/index.html: every example is run, and a false output or a broken link fails.
$(VENV)/.docs: $(READY)
	@$(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt --no-build-isolation -e '.[docs]'
	@touch $@

docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -q -E -W --keep-going -b html -d build/doctrees docs build/docs
	@echo build/docs/index.html

# Asks the addresses of other sites that the documentation names; 'make docs' checks the links within it.
links: $(VENV)/.docs
	$(BIN)/python -m sphinx -q -b linkcheck -d build/doctrees docs build/links

# Measures what the checks of each statement could detect, from a whole check or from one of the statements ID="...", and
# writes their rows of dpfl_theory/statements/evidence.jsonl; after a whole check also where the decimals of errata come from.
power: $(READY)
	@mkdir -p build
	$(BIN)/dpfl-theory check $(ID) --format json --output build/check.json
	$(BIN)/python -m dpfl_theory.checks.record build/check.json

# All cases of all tests, faults against running sweeps, thousands of inputs for everything that reads, implementations with
# planted faults, and how distributed work grows: full counts, written to benchmarks/; some four hours.
soak: $(READY)
	$(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt --no-build-isolation -e '.[fuzz]' \
	  || echo "atheris cannot be installed here: inputs are not guided by coverage." >&2
	$(MAKE) test-full
	$(BIN)/python -m benchmarks.soak
	$(BIN)/python -m benchmarks.fuzz --output benchmarks/fuzz/FUZZ.md
	$(BIN)/python -m benchmarks.conform
	$(BIN)/dpfl-theory reproduce --full --output $(REPORTS)
	$(BIN)/python -m benchmarks.growth $(REPORTS) .dpfl-theory/evidence.sqlite --output benchmarks/growth/GROWTH.md

# Small changes of all code that turns numbers into a verdict or an epsilon, and which tests notice: for each night. It goes
# on where it was interrupted; MUTATION="--fresh decision" runs all mutants of one module again. Fails where one survives.
mutation: $(READY)
	$(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt --no-build-isolation -e '.[mutation]'
	$(BIN)/python -m benchmarks.mutation $(MUTATION)

# Times the package beside batched NumPy and JAX, some half an hour on quiet cores; BENCH="--quick --only a,f" is faster.
bench: $(READY)
	$(BIN)/python -m pip install -qq --disable-pip-version-check -c constraints.txt --no-build-isolation -e '.[bench]' \
	  || echo "JAX cannot be installed here: the benchmarks run without it." >&2
	$(BIN)/python -m benchmarks --output benchmarks/RESULTS.md $(BENCH)

# Tests, agreement and benchmarks of the CUDA engine, in the environment that PYTHON names; needs a GPU.
PYTHON ?= python3
bench-gpu:
	$(PYTHON) -m benchmarks.gpu --output benchmarks/GPU.md

# Builds wheel and sdist, and tries the wheel as a stranger would, with each Python from 3.11 to 3.13 that is on the path:
# in a fresh environment, outside of the repository, by the workflow of 'new ci' and by commands. Some ten minutes each.
dist-check: $(READY)
	$(BIN)/python -m benchmarks.distribution --output benchmarks/distribution/PYTHONS.md

# Resolves everything anew in a fresh environment and writes the versions down.
constraints:
	rm -rf build/constraints && mkdir -p build
	python3.11 -m venv build/constraints
	build/constraints/bin/python -m pip install -qq --upgrade setuptools
	build/constraints/bin/python -m pip install -qq --no-build-isolation -e '.[dev,bench,fuzz,mutation,docs]'
	head -n 1 constraints.txt > build/constraints.txt
	build/constraints/bin/python -m pip freeze --all --exclude-editable --exclude pip >> build/constraints.txt
	mv build/constraints.txt constraints.txt

clean:
	rm -rf build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	rm -rf $(REPORTS)/evidence $(REPORTS)/figures $(REPORTS)/errata $(REPORTS)/maps $(REPORTS)/statements $(REPORTS)/*.html
	find dpfl_theory tests validations benchmarks examples -name __pycache__ -prune -exec rm -rf {} +
